// SPDX-License-Identifier: MIT
// Trees, their inversion, and which of their boxes are visible.

import assert from 'node:assert/strict';
import test from 'node:test';

import {NONE, BoxList, buildTree, childrenOf, follow, frameTotals, invertTree, isWithin, markStacks, matchesIn, nodeAt,
	nodeCovering, nodesWeighing, nodesWithout, pathTo, waitingNodes, randomStacks, snapLeft,
	snapWidth, term, timeText, treeOf, visibleBoxes, widestChild, withNextLeast} from './viewer.mjs';

const STACKS = {
	'main;parse;read;cmp': 100, 'main;parse;read': 100, 'main;parse;find': 100,
	'main;compile;emit;cmp': 300, 'main;compile;emit;write': 200, 'main;compile': 100, 'start;x': 100,
};

/**
 * Return all stacks of a tree, by their names, with the weight of the samples that ended in them.
 */
function stacksOf({tree, frames}, selfOf) {
	const stacks = {};
	const visit = (node, path) => {
		const weight = selfOf(tree, node);
		if (weight)
			stacks[path.join(';')] = weight;
		for (const child of childrenOf(tree, node))
			visit(child, [...path, frames[tree.frame[child]]]);
	};
	visit(0, []);
	return stacks;
}

const restOf = (tree, node) => childrenOf(tree, node).reduce(
	(rest, child) => rest - tree.total[child], tree.total[node]);

test('a tree gives back its stacks', () => {
	for (const stacks of [STACKS, randomStacks(1, 200)]) {
		const made = treeOf(stacks);
		assert.deepEqual(sorted(stacksOf(made, (tree, node) => tree.self[node])), sorted(stacks));
		assert.deepEqual(sorted(stacksOf(made, restOf)), sorted(stacks));
	}
});

function sorted(stacks) {
	return Object.entries(stacks).sort();
}

test('an inverted tree has the same stacks from their other end', () => {
	for (let seed = 1; seed < 20; seed++) {
		const stacks = randomStacks(seed, 20 * seed);
		const {tree, frames} = treeOf(stacks);
		const inverted = {tree: invertTree(tree), frames};
		const turned = Object.fromEntries(Object.entries(stacks)
			.map(([stack, weight]) => [stack.split(';').reverse().join(';'), weight]));
		assert.deepEqual(sorted(stacksOf(inverted, restOf)), sorted(turned));
	}
});

test('children of an inverted tree lie side by side, the heaviest first', () => {
	const {tree} = treeOf(randomStacks(7, 300));
	const inverted = invertTree(tree);
	for (let node = 0; node < inverted.nodes; node++) {
		let from = inverted.from[node];
		let before = Infinity;
		for (const child of childrenOf(inverted, node)) {
			assert.equal(inverted.from[child], from);
			assert.equal(inverted.parent[child], node);
			assert.equal(inverted.depth[child], inverted.depth[node] + 1);
			assert.ok(inverted.total[child] <= before);
			before = inverted.total[child];
			from += before;
		}
		assert.ok(from <= inverted.from[node] + inverted.total[node]);
	}
	assert.equal(restOf(inverted, 0), 0);
});

test('an inverted tree is built only where one looks', () => {
	const {tree} = treeOf(randomStacks(3, 2000));
	const inverted = invertTree(tree);
	assert.equal(inverted.nodes, 1);
	childrenOf(inverted, 0);
	assert.equal(inverted.nodes, 8);
});

test('finding nodes', () => {
	const {tree, frames} = treeOf(STACKS);
	const names = node => pathTo(tree, node).map(one => frames[tree.frame[one]]).join(';');
	assert.equal(names(nodeAt(tree, 3, 0)), 'main;compile;emit');
	assert.equal(nodeAt(tree, 3, 550), NONE);  // compile's own time
	assert.equal(nodeAt(tree, 1, 1000), NONE);
	assert.equal(nodeAt(tree, 1, -1), NONE);
	assert.equal(names(nodeCovering(tree, 0, 600)), 'main;compile');
	assert.equal(names(nodeCovering(tree, 0, 601)), 'main');
	const path = ['main', 'parse', 'find'].map(name => frames.indexOf(name));
	assert.equal(names(follow(tree, path)), 'main;parse;find');
	assert.equal(names(follow(tree, [path[0], 99, path[1]])), 'main;parse');
	assert.equal(names(widestChild(tree, follow(tree, path.slice(0, 1)))), 'main;compile');
	assert.equal(widestChild(tree, follow(tree, path)), NONE);
	assert.ok(isWithin(tree, follow(tree, path), follow(tree, path.slice(0, 2))));
	assert.ok(!isWithin(tree, follow(tree, path.slice(0, 2)), follow(tree, path)));
});

function seen(tree, view) {
	const boxes = new BoxList();
	visibleBoxes(tree, {firstRow: 0, lastRow: 1e9, narrowest: 0.5, ...view}, boxes);
	return Array.from({length: boxes.count}, (_, i) => ({row: boxes.row[i], left: boxes.left[i],
		right: boxes.right[i], merged: boxes.merged[i], node: boxes.node[i]}));
}

test('boxes are where their weight is', () => {
	const {tree} = treeOf(STACKS);
	const boxes = seen(tree, {from: 0, to: 1000, width: 500});
	assert.equal(boxes.length, 12);
	for (const box of boxes) {
		assert.equal(box.left, tree.from[box.node] / 2);
		assert.equal(box.right - box.left, tree.total[box.node] / 2);
	}
});

test('what is beside the view, above or below it, is left out', () => {
	const {tree, frames} = treeOf(STACKS);
	const parse = follow(tree, [frames.indexOf('main'), frames.indexOf('parse')]);
	const view = {from: tree.from[parse], to: tree.from[parse] + tree.total[parse], width: 300};
	assert.equal(seen(tree, view).length, 6);
	assert.deepEqual(seen(tree, {...view, firstRow: 2, lastRow: 2}).map(box => box.node), [parse]);
});

test('narrow neighbours are one box, and their weight is not lost', () => {
	const stacks = {};
	for (let i = 0; i < 1000; i++)
		stacks[`main;f${i}`] = 1;
	const {tree} = treeOf(stacks);
	const row = seen(tree, {from: 0, to: 1000, width: 100}).filter(box => box.row === 2);
	assert.equal(row.length, 1);
	assert.equal(row[0].merged, 1);
	assert.ok(Math.abs(row[0].right - row[0].left - 100) < 1e-6);
	assert.equal(seen(tree, {from: 0, to: 1000, width: 1000}).length, 1002);
});

test('what takes too long is asked for again', () => {
	const inverted = invertTree(treeOf(randomStacks(5, 100)).tree);
	const view = {from: 0, to: inverted.total[0], width: 1000, firstRow: 0, lastRow: 99,
		narrowest: 0.5};
	const boxes = new BoxList();
	assert.equal(visibleBoxes(inverted, {...view, until: 0}, boxes), false);
	assert.equal(boxes.count, 1);
	assert.equal(visibleBoxes(inverted, view, boxes), true);
	assert.ok(boxes.count > 8);
});

test('edges are whole pixels with one between neighbours', () => {
	assert.equal(snapLeft(10.4, 50.2, 100), 10);
	assert.equal(snapWidth(10.4, 50.2, 100), 39);
	assert.equal(snapWidth(-30, 170, 100), 100);
	assert.equal(snapLeft(10.4, 11.6, 100), 10.4);
});

test('a tree without some frames has the other stacks, their weight and order', () => {
	for (let seed = 1; seed < 30; seed++) {
		const stacks = randomStacks(seed, 15 * seed);
		const {tree, frames} = treeOf(stacks);
		const leavesOut = frame => 'bdf'.includes(frames[frame]);
		const made = nodesWithout(tree, leavesOut);
		const wanted = {};
		let root = 0;
		for (const [stack, weight] of Object.entries(stacks)) {
			const kept = stack.split(';').filter(name => !'bdf'.includes(name)).join(';');
			if (kept)
				wanted[kept] = (wanted[kept] || 0) + weight;
			else
				root += weight;
		}
		const small = buildTree(made);
		assert.equal(small.self[0], root);
		small.self[0] = 0;
		assert.deepEqual(sorted(stacksOf({tree: small, frames}, (one, node) => one.self[node])),
			sorted(wanted));
		// Nodes are in depth-first order. The children of a node have different frames, in
		// order.
		for (let node = 1; node < small.nodes; node++)
			assert.ok(node - 1 === small.parent[node] ||
				pathTo(small, node - 1).includes(small.parent[node]) || !small.parent[node]);
		for (let node = 0; node < small.nodes; node++) {
			const children = childrenOf(small, node).map(child => small.frame[child]);
			assert.deepEqual(children, [...new Set(children)].sort((a, b) => a - b));
		}
	}
	const {tree} = treeOf(STACKS);
	const same = nodesWithout(tree, () => false);
	assert.deepEqual([same.frame, same.self, same.parent], [tree.frame, tree.self, tree.parent]);
});

test('a frame weighs each stack once', () => {
	for (let seed = 1; seed < 10; seed++) {
		const stacks = randomStacks(seed, 40 * seed);
		const {tree, frames} = treeOf(stacks);
		const wanted = frames.map(name => Object.entries(stacks).reduce((sum, [stack, weight]) =>
			sum + (stack.split(';').includes(name) ? weight : 0), 0));
		assert.deepEqual([...frameTotals(tree, frames.length)], wanted);
	}
});

test('a stretch says when it was', () => {
	const text = (from, to) => timeText({from, to}).replaceAll('\u202f', ' ');
	assert.equal(text(-Infinity, 2e6), 'to 2.00 s');
	assert.equal(text(0, 2e6), '0 s to 2.00 s');
	assert.equal(text(2e6, Infinity), 'from 2.00 s');
});

test('stacks that wait are told from both ends', () => {
	const {tree, frames} = treeOf({'a;b': 1, 'a;b;[w]': 2, '[w];b;c': 4, '[w]': 8, 'd': 16});
	const waits = waitingNodes(tree, frames.map(name => name === '[w]' ? 7 : 0));
	const weigh = wanted => {
		const made = nodesWeighing(tree, tree.self.map((w, i) => waits[i] === wanted ? w : 0));
		return stacksOf({tree: buildTree(made), frames}, (one, node) => one.self[node]);
	};
	assert.deepEqual(weigh(0), {'a;b': 1, 'd': 16});
	assert.deepEqual(sorted(weigh(1)), sorted({'a;b;[w]': 2, '[w];b;c': 4, '[w]': 8}));
});

test('frames can be moved behind their stacks', () => {
	for (const [stacks, moved] of [
		[{'[i];a;b': 3, 'a;b': 5, 'p;[i];a': 7, 'p;a;b': 11},
			{'a;b;[i]': 3, 'a;b': 5, 'p;a;[i]': 7, 'p;a;b': 11}],
		[{'[i]': 2, 'a': 1}, {'[i]': 2, 'a': 1}]]) {
		const {tree, frames} = treeOf(stacks);
		const made = buildTree(nodesWithout(tree, frame => frames[frame] === '[i]', {trails: true}));
		assert.deepEqual(sorted(stacksOf({tree: made, frames}, (one, node) => one.self[node])),
			sorted(moved));
		for (let node = 1; node < made.nodes; node++)
			assert.ok(made.parent[node] < node);
	}
});

test('weights are told by groups, in either order', () => {
	const {tree, frames} = treeOf({'a;b': 1, 'a;c': 2, 'd;b': 4, 'b': 8});
	const groups = Uint8Array.from(tree.frame, frame => frames[frame] === 'b' ? 1 : 2);
	for (const one of [tree, invertTree(tree)]) {
		const sums = new Float64Array(3);
		one.addWeights(0, groups, sums);
		assert.deepEqual([...sums], [0, 13, 2]);
	}
	const part = new Float64Array(3);
	tree.addWeights(follow(tree, [frames.indexOf('a')]), groups, part);
	assert.deepEqual([...part], [0, 1, 2]);
});

test('what has less than a percentage is hidden: boxes, children and matches', () => {
	const {tree, frames} = treeOf(STACKS);
	const matches = Uint8Array.from([...frames, ''], name => name === 'cmp' ? 1 : 0);
	for (const made of [tree, invertTree(tree)])
		for (const percent of [0, 10, 15, 31]) {
			const one = made === tree ? {...tree} : invertTree(tree);
			const shown = new Set();
			one.least = 0;
			const visit = node => {
				if (one.total[node] >= percent / 100 * one.total[0]) {
					shown.add(node);
					childrenOf(one, node).forEach(visit);
				}
			};
			visit(0);
			one.least = percent / 100 * one.total[0];
			for (const node of shown)
				assert.deepEqual(childrenOf(one, node).filter(child => !shown.has(child)), []);
			const boxes = new BoxList();
			visibleBoxes(one, {from: 0, to: one.total[0], width: 1e4, narrowest: 0, firstRow: 0, lastRow: one.rows}, boxes);
			assert.deepEqual(new Set(boxes.node.subarray(0, boxes.count)), shown);
			const found = matchesIn(one, markStacks(tree, matches), 99);
			assert.deepEqual(new Set(found), new Set([...shown].filter(node => node && matches[one.frame[node]])));
			for (let node = 0; node < one.nodes; node++)
				assert.equal(nodeAt(one, one.depth[node], one.from[node] + one.total[node] / 2),
					shown.has(node) ? node : -1);
		}
});

test('a key hides what is below larger and larger percentages, then nothing', () => {
	let filter = {times: 'cpu', terms: [term('focus', 'a')], view: 'graph', of: ''};
	const seen = [];
	for (let i = 0; i < 7; i++) {
		filter = withNextLeast(filter);
		seen.push(filter.terms.slice(1).map(({kind, value}) => kind + value).join());
	}
	assert.deepEqual(seen, ['least0.1', 'least0.5', 'least1', 'least2', 'least5', '', 'least0.1']);
	assert.equal(withNextLeast({...filter, terms: [term('least', '1.7')]}).terms[0].value, '2');
});
