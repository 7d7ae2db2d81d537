// SPDX-License-Identifier: MIT
// What of the viewer needs no document, and trees to try it on.

export * from '../../share/viewer/activity.js';
export * from '../../share/viewer/address.js';
export * from '../../share/viewer/aggregate.js';
export * from '../../share/viewer/columns.js';
export * from '../../share/viewer/decode.js';
export * from '../../share/viewer/filter.js';
export * from '../../share/viewer/input.js';
export * from '../../share/viewer/invert.js';
export * from '../../share/viewer/label.js';
export * from '../../share/viewer/layout.js';
export * from '../../share/viewer/matcher.js';
export * from '../../share/viewer/navigate.js';
export * from '../../share/viewer/samples.js';
export * from '../../share/viewer/sandwich.js';
export * from '../../share/viewer/search.js';
export {stretchesOf} from '../../share/viewer/state.js';
export {roundStep} from '../../share/viewer/strip.js';
export * from '../../share/viewer/table.js';
export * from '../../share/viewer/text.js';
export {NONE, buildTree, childrenOf, firstAlong, firstChild, follow, followLoosely, frameTotals, framesTo, isWithin,
	layOut, nodeAt, nodeCovering, pathTo, widestChild} from '../../share/viewer/tree.js';
export * from '../../share/viewer/unpack.js';

import {buildTree} from '../../share/viewer/tree.js';

/** A tree from stacks: {'a;b': 3}. Frames are numbered by name, siblings follow that order. */
export function treeOf(stacks) {
	const frames = [...new Set(Object.keys(stacks).flatMap(stack => stack.split(';')))].sort();
	const root = {self: 0, children: new Map()};
	for (const [stack, weight] of Object.entries(stacks)) {
		let node = root;
		for (const name of stack.split(';')) {
			if (!node.children.has(name))
				node.children.set(name, {self: 0, children: new Map()});
			node = node.children.get(name);
		}
		node.self += weight;
	}
	const columns = {frame: [frames.length], self: [root.self], parent: [0]};
	const visit = (node, number) => {
		for (const name of [...node.children.keys()].sort()) {
			const child = node.children.get(name);
			columns.frame.push(frames.indexOf(name));
			columns.self.push(child.self);
			columns.parent.push(number);
			visit(child, columns.frame.length - 1);
		}
	};
	visit(root, 0);
	const tree = buildTree({frame: Uint32Array.from(columns.frame),
		self: Float64Array.from(columns.self), parent: Uint32Array.from(columns.parent)});
	return {tree, frames};
}

/** Stacks that share prefixes and suffixes, and recursion. */
export function randomStacks(seed, count) {
	const stacks = {};
	const random = most => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 65536) % most;
	};
	for (let i = 0; i < count; i++) {
		const stack = Array.from({length: 1 + random(9)}, () => 'abcdefg'[random(7)]).join(';');
		stacks[stack] = (stacks[stack] || 0) + 1 + random(9);
	}
	return stacks;
}
