// SPDX-License-Identifier: MIT
// @ts-check
// The sandwich: a function between its callers and its callees, summed over all its calls. It is
// one tree whose root is the function: callees are below the root, and callers, merged as in an
// inverted tree, above. If the function is on a stack more than once, the outermost call counts.
//
// The callees are merged in the worker, which has the filter's samples. The callers are computed
// when they are shown, because there may be very many: one for each frame above each call.

import {nodesWithout} from './aggregate.js';
import {selfAt} from './functions.js';
import {invertTree} from './invert.js';
import {NONE, layOut, sortByKey} from './tree.js';

/** @typedef {import('./tree.js').Tree} Tree */

/**
 * A function's callees as ranges of the base, which is the tree of the filter's stacks.
 * @typedef {object} Below
 * @property {Uint32Array} calls the function's outermost calls: nodes of the base in depth-first
 * order
 * @property {Uint32Array} ends leaves of the stacks within the calls: nodes of the base, sorted by
 * the callee at which they end
 * @property {Uint32Array} first by callee, and one more: index of its first leaf in `ends`
 */

/** @typedef {import('./tree.js').TreeColumns & {below?: Below}} SandwichColumns */

/**
 * Merge a function's callees.
 * @param {import('./tree.js').TreeColumns} base stacks that are shown
 * @param {Uint8Array} has by frame, 1 for the function's
 * @param {boolean} isReversed the base was merged from the leaf, so its callees are in fact callers
 * @returns {SandwichColumns}
 */
export function calleesOf(base, has, isReversed) {
	const {frame, self, parent} = base;
	const known = new Int32Array(frame.length).fill(NONE);  // by node: its number in `below`
	const below = {frame: new Uint32Array(frame.length), self: new Float64Array(frame.length),
		parent: new Uint32Array(frame.length)};
	const calls = [];
	let count = 1;
	let own = 0;
	below.frame[0] = frame[0];
	for (let node = 1; node < frame.length; node++) {
		const above = known[parent[node]];
		if (above >= 0) {
			below.frame[count] = frame[node];
			below.parent[count] = above;
			known[node] = count++;
		} else if (has[frame[node]]) {
			known[node] = 0;
			calls.push(node);
		}
		if (known[node] >= 0)
			below.self[known[node]] += self[node];
		own += has[frame[node]] ? selfAt(base, node, isReversed) : 0;
	}
	const {place, ...merged} = nodesWithout({frame: below.frame.subarray(0, count),
		self: below.self.subarray(0, count), parent: below.parent.subarray(0, count)}, null);
	const columns = layOut(merged);
	// The root's self weight is that of all calls, not only of the outermost ones, as in the
	// table of functions.
	columns.self[0] = own;
	const {sorted, first} = sortByKey(known.map((one, node) => one >= 0 && self[node] > 0 ? place[one] : NONE),
		columns.nodes);
	return {...columns, below: {calls: Uint32Array.from(calls), ends: sorted, first}};
}

/**
 * Make the tree of a sandwich.
 * @param {SandwichColumns} columns @param {Tree} base the tree to whose nodes `below` refers
 * @returns {Tree}
 */
export function sandwichOf({below, ...columns}, base) {
	const {calls, ends, first} = /** @type {Below} */ (below);
	const {nodes, end, frame} = columns;
	const tree = invertTree(base, {ends: calls, columns});
	const {markedWeight, addWeights, hasMatch} = tree;
	const isBelow = (/** @type {number} */ node) => node > 0 && node < nodes;
	tree.rootRow = calls.reduce((most, node) => Math.max(most, base.depth[node] - 1), 0);
	tree.rows = tree.rootRow + columns.rows;
	tree.callees = nodes > 1 ? columns.child[0] : NONE;
	tree.callers = nodes;
	tree.markedWeight = (node, marks) => {
		if (!isBelow(node))
			return markedWeight(node, marks);
		let weight = 0;
		for (let k = first[node]; k < first[end[node]]; k++)
			weight += marks[ends[k]] ? base.self[ends[k]] : 0;
		return weight;
	};
	tree.addWeights = (node, groups, sums) => {
		if (!isBelow(node))
			return addWeights(node, groups, sums);
		for (let k = first[node]; k < first[end[node]]; k++)
			sums[groups[ends[k]]] += base.self[ends[k]];
	};
	tree.hasMatch = (node, marks) => {
		if (!isBelow(node))
			return hasMatch(node, marks);
		return frame.subarray(node, end[node]).some(one => marks.frames[one] === 1);
	};
	return tree;
}
