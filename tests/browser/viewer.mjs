// SPDX-License-Identifier: MIT
// The modules of the viewer that need no document, and trees and profiles to test them with.

export * from '../../share/viewer/activity.js';
export * from '../../share/viewer/address.js';
export * from '../../share/viewer/aggregate.js';
export {heaviestFirst, rowsUnfolded, unfoldAll} from '../../share/viewer/calls.js';
export * from '../../share/viewer/decode.js';
export * from '../../share/viewer/filter.js';
export * from '../../share/viewer/inflate.js';
export * from '../../share/viewer/input.js';
export * from '../../share/viewer/invert.js';
export * from '../../share/viewer/label.js';
export * from '../../share/viewer/layout.js';
export * from '../../share/viewer/matcher.js';
export * from '../../share/viewer/navigate.js';
export * from '../../share/viewer/renumbered.js';
export * from '../../share/viewer/sandwich.js';
export * from '../../share/viewer/search.js';
export {stretchesOf} from '../../share/viewer/state.js';
export {roundStep, withLane} from '../../share/viewer/strip.js';
export * from '../../share/viewer/functions.js';
export * from '../../share/viewer/text.js';
export {NONE, buildTree, childrenOf, firstAlong, firstChild, follow, frameTotals, framesTo, isWithin,
	layOut, nodeAt, nodeCovering, pathTo, widestChild} from '../../share/viewer/tree.js';

import {buildTree, pathTo} from '../../share/viewer/tree.js';

/**
 * Returns a function that returns random numbers below `most`. An equal seed gives equal numbers.
 */
export function randomOf(seed) {
	return most => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 65536) % most;
	};
}

/**
 * Make a tree of stacks such as {'a;b': 3}. Frames are numbered in order of their names, and so are
 * siblings.
 */
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

/** Kinds of the frames that tests use. */
const KINDS = {'[w]': 7, 'f': 6, '[idle]': 9};

/**
 * Return the profile of a file that has the samples [{stack, us, thread, weight, kind}], in order
 * of time.
 */
export function profileOf(raw, {tickUs = 1, moduleOf = {}, ...facts}) {
	const stacks = {};
	for (const {stack, weight} of raw)
		stacks[stack.join(';')] = (stacks[stack.join(';')] || 0) + weight;
	const {tree, frames} = treeOf(stacks);
	const ends = new Map([...tree.frame.keys()].map(node =>
		[pathTo(tree, node).map(one => frames[tree.frame[one]]).join(';'), node]));
	return {tree, nodes: tree.nodes, frames: frames.length, name: frame => frames[frame], modules: [''],
		frameModule: Uint32Array.from(frames, name => moduleOf[name] || 0),
		frameKind: Uint32Array.from(frames, name => KINDS[name] || 0), marks: [], sampleCount: raw.length,
		samples: {count: raw.length, tickUs, time: Uint32Array.from(raw, one => Math.floor(one.us / tickUs)),
			node: Uint32Array.from(raw, one => ends.get(one.stack.join(';'))),
			thread: Uint16Array.from(raw, one => one.thread),
			weight: Float64Array.from(raw, one => one.weight),
			kind: Uint8Array.from(raw, one => one.kind || 0)}, ...facts};
}

/** Return random stacks that share prefixes and suffixes and have recursion. */
export function randomStacks(seed, count) {
	const stacks = {};
	const random = randomOf(seed);
	for (let i = 0; i < count; i++) {
		const stack = Array.from({length: 1 + random(9)}, () => 'abcdefg'[random(7)]).join(';');
		stacks[stack] = (stacks[stack] || 0) + 1 + random(9);
	}
	return stacks;
}
