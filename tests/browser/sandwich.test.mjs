// SPDX-License-Identifier: MIT
// A function's callers and callees, and the table of functions, compared with results computed
// stack by stack.

import assert from 'node:assert/strict';
import test from 'node:test';

import {BoxList, NONE, calleesOf, childrenOf, follow, followWay, framesTo, functionsShown, invertTree,
	markStacks, matchesIn, nodeAt, pathTo, randomStacks, sandwichOf, term, treeOf,
	visibleBoxes, wayOf, weighFunctions} from './viewer.mjs';

const NAMES = 'abcdefg';

function sandwich(stacks, name) {
	const {tree, frames} = treeOf(stacks);
	const has = Uint8Array.from([...frames, ''], one => one === name ? 1 : 0);
	return {base: tree, frames, tree: sandwichOf(calleesOf(tree, has, false), tree)};
}

/**
 * Return the weights of all nodes below the function (@below) or above it, by their lists of names.
 */
function weightsOf(tree, frames, below) {
	const weights = {};
	const visit = node => {
		for (const child of childrenOf(tree, node, below)) {
			weights[pathTo(tree, child).map(one => frames[tree.frame[one]]).join(';')] = tree.total[child];
			visit(child);
		}
	};
	visit(0);
	return weights;
}

/**
 * Compute the same weights from the stacks: callers before the function's outermost call, callees
 * after it.
 */
function expected(stacks, name) {
	const made = {above: {}, below: {}, total: 0, self: 0};
	const add = (weights, path, weight) => path.forEach((_, i) => {
		const key = path.slice(0, i + 1).join(';');
		weights[key] = (weights[key] || 0) + weight;
	});
	for (const [stack, weight] of Object.entries(stacks)) {
		const names = stack.split(';');
		const at = names.indexOf(name);
		if (at < 0)
			continue;
		add(made.above, names.slice(0, at).reverse(), weight);
		add(made.below, names.slice(at + 1), weight);
		made.total += weight;
		made.self += names[names.length - 1] === name ? weight : 0;
	}
	return made;
}

const sorted = weights => Object.entries(weights).sort();

/** All nodes of a tree, in any order. */
function everyNode(tree) {
	const all = [0];
	for (const node of all)
		all.push(...childrenOf(tree, node), ...node ? [] : tree.callees === NONE ? [] : childrenOf(tree, 0, true));
	return all;
}

test('callers and callees are those of the outermost calls', () => {
	for (let seed = 1; seed < 30; seed++) {
		const stacks = randomStacks(seed, 15 * seed);
		for (const name of [...NAMES, 'none']) {
			const {tree, frames} = sandwich(stacks, name);
			const {above, below, total, self} = expected(stacks, name);
			assert.deepEqual(sorted(weightsOf(tree, frames, false)), sorted(above));
			assert.deepEqual(sorted(weightsOf(tree, frames, true)), sorted(below));
			assert.equal(tree.total[0], total);
			assert.equal(tree.self[0], self);
		}
	}
});

test('stacks of a box are those that it is on, of callers and of callees', () => {
	const stacks = randomStacks(5, 300);
	const {tree, base, frames} = sandwich(stacks, 'c');
	const matches = Uint8Array.from([...frames, ''], name => name === 'e' ? 1 : 0);
	const marks = markStacks(base, matches);
	const isOn = (names, node) => {
		const at = names.indexOf('c');
		const path = pathTo(tree, node).map(one => frames[tree.frame[one]]);
		const side = node >= tree.callers ? names.slice(0, at).reverse() : names.slice(at + 1);
		return at >= 0 && path.every((name, i) => name === side[i]);
	};
	for (const node of everyNode(tree)) {
		let [all, marked] = [0, 0];
		for (const [stack, weight] of Object.entries(stacks))
			if (isOn(stack.split(';'), node)) {
				all += weight;
				marked += stack.split(';').includes('e') ? weight : 0;
			}
		assert.equal(tree.total[node], all);
		assert.equal(tree.markedWeight(node, marks.stacks), marked);
		const sums = new Float64Array(2);
		tree.addWeights(node, marks.stacks, sums);
		assert.deepEqual([...sums], [all - marked, marked]);
	}
	const inOne = node => node > 0 && (frames[tree.frame[node]] === 'e'
		|| childrenOf(tree, node).some(inOne));
	for (const node of everyNode(tree).slice(1))
		assert.equal(tree.hasMatch(node, marks), inOne(node));
	const found = matchesIn(tree, marks, 9999);
	const byNumber = (a, b) => a - b;
	assert.deepEqual(found.sort(byNumber), everyNode(tree).filter(node => node
		&& frames[tree.frame[node]] === 'e').sort(byNumber));
});

test('callers are in the rows above, callees below, each box where it is found', () => {
	const {tree} = sandwich(randomStacks(3, 200), 'd');
	const boxes = new BoxList();
	const all = {from: 0, to: tree.total[0], width: 1e6, narrowest: 0, firstRow: 0, lastRow: tree.rows};
	assert.ok(visibleBoxes(tree, all, boxes));
	assert.deepEqual([...boxes.node.subarray(0, boxes.count)].sort((a, b) => a - b),
		everyNode(tree).sort((a, b) => a - b));
	const rows = new Set();
	for (let i = 0; i < boxes.count; i++) {
		const node = boxes.node[i];
		rows.add(boxes.row[i]);
		assert.equal(Math.sign(boxes.row[i] - tree.rootRow), !node ? 0 : node < tree.callers ? 1 : -1);
		assert.equal(nodeAt(tree, boxes.row[i], tree.from[node] + tree.total[node] / 2), node);
	}
	assert.deepEqual([...rows].sort((a, b) => a - b), [...Array(tree.rows).keys()]);
	for (const [firstRow, lastRow] of [[0, 1], [tree.rootRow, tree.rootRow], [tree.rootRow + 1, tree.rows],
		[1, tree.rootRow - 1], [tree.rootRow - 1, tree.rootRow + 2]]) {
		const some = new BoxList();
		visibleBoxes(tree, {...all, firstRow, lastRow}, some);
		const inRows = [...boxes.row.subarray(0, boxes.count)].filter(row => row >= firstRow && row <= lastRow);
		assert.deepEqual([...some.row.subarray(0, some.count)].sort(), inRows.sort());
	}
});

test('ways lead to callers and to callees of one name', () => {
	const {tree, frames} = sandwich({'g;f;g;x': 4, 'g;f;x': 3, 'h;g;f;g': 2, 'f': 1}, 'f');
	const nameOf = node => frames[tree.frame[node]];
	for (const node of everyNode(tree)) {
		assert.equal(follow(tree, framesTo(tree, node)), node);
		assert.equal(follow(tree, framesTo(tree, node)), node);
		const names = pathTo(tree, node).map(nameOf);
		const way = wayOf(node && node < tree.callers ? ['', ...names] : names);
		assert.deepEqual(followWay(tree, way, nameOf), {node, missing: 0});
	}
	assert.equal(tree.total[follow(tree, [frames.indexOf('g')])], 9);
	assert.equal(tree.total[follow(tree, [frames.length, frames.indexOf('g')])], 6);
});

test('a file that begins with what ran has its callers below', () => {
	const reversed = {};
	const stacks = randomStacks(9, 100);
	for (const [stack, weight] of Object.entries(stacks))
		reversed[stack.split(';').reverse().join(';')] = weight;
	const {tree: base, frames} = treeOf(reversed);
	const columns = calleesOf(base, Uint8Array.from([...frames, ''], name => name === 'b' ? 1 : 0), true);
	assert.equal(columns.self[0], expected(stacks, 'b').self);
	assert.equal(columns.total[0], expected(stacks, 'b').total);
	assert.equal(sandwichOf(columns, base).total[0], columns.total[0]);
});

test('the table has each function once, and each stack once in its total', () => {
	// Frames with the same name: f of x.so, f inlined there, and f of another module.
	const parts = {f0: ['f', 'x.so', 0], f1: ['f', 'x.so', 6], f2: ['f', 'y.so', 0]};
	const part = name => parts[name] || [name, '', 0];
	for (let seed = 1; seed < 20; seed++) {
		const stacks = Object.fromEntries(Object.entries(randomStacks(seed, 100))
			.map(([stack, weight]) => [stack.replace(/[abc]/g, one => `f${'abc'.indexOf(one)}`), weight]));
		for (const reversed of [false, true]) {
			const {tree, frames} = treeOf(reversed ? Object.fromEntries(Object.entries(stacks)
				.map(([stack, weight]) => [stack.split(';').reverse().join(';'), weight])) : stacks);
			const modules = ['', 'x.so', 'y.so'];
			const {frame, self, total} = weighFunctions({frames: frames.length, modules, reversed,
				name: one => part(frames[one])[0],
				frameModule: Uint32Array.from(frames, name => modules.indexOf(part(name)[1])),
				frameKind: Uint32Array.from(frames, name => part(name)[2])}, tree);
			const wanted = {};
			for (const [stack, weight] of Object.entries(stacks)) {
				const keys = stack.split(';').map(name => part(name).slice(0, 2).join(' '));
				for (const key of new Set(keys)) {
					wanted[key] ||= [0, 0];
					wanted[key][1] += weight;
				}
				wanted[keys[keys.length - 1]][0] += weight;
			}
			assert.deepEqual(sorted(Object.fromEntries([...frame].map((one, i) =>
				[part(frames[one]).slice(0, 2).join(' '), [self[i], total[i]]]))), sorted(wanted));
		}
	}
});

test('rows are in the order asked for, and only those that are', () => {
	const functions = {frame: Uint32Array.of(4, 5, 6, 7), self: Float64Array.of(1, 9, 9, 0),
		total: Float64Array.of(20, 9, 10, 20)};
	const order = (by, rises, isKept = () => true, terms = []) =>
		[...functionsShown({functions, sort: `${by}-${rises ? 'rising' : 'falling'}`,
			profile: {name: frame => 'dbca'[frame - 4]}, filter: {terms}, upright: {total: [100]}},
		{matches: Uint8Array.from({length: 8}, (_, frame) => isKept(frame - 4) ? 1 : 0)})];
	assert.deepEqual(order('self', false), [2, 1, 0, 3]);
	assert.deepEqual(order('self', true), [3, 0, 2, 1]);
	assert.deepEqual(order('total', false), [0, 3, 2, 1]);
	assert.deepEqual(order('name', true), [3, 1, 2, 0]);
	assert.deepEqual(order('name', false, i => i !== 2), [0, 1, 3]);
	assert.deepEqual(order('name', true, () => false), []);
	assert.deepEqual(order('total', false, () => true, [term('least', '10')]), [0, 3, 2]);
});

test('a plain inversion is as it was', () => {
	const {tree} = treeOf(randomStacks(2, 50));
	const inverted = invertTree(tree);
	assert.deepEqual([inverted.rootRow, inverted.callees, inverted.callers], [0, NONE, Infinity]);
	assert.deepEqual(childrenOf(inverted, 0, true), childrenOf(inverted, 0));
});
