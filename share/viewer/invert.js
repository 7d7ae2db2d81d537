// SPDX-License-Identifier: MIT
// @ts-check
// The same stacks merged from their other end, without building more of that tree than is looked
// at: it can have as many nodes as all stacks have frames.
//
// A node is a range of the stacks, sorted by as many frames as the node is deep. Finding its
// children sorts the range by one frame more; what lies outside of the range does not move.

import {NONE, UNKNOWN} from './tree.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {{first: number, count: number, weight: number}} Group of stacks */

/** Arrays with room for a number of nodes. @param {number} room */
function makeColumns(room) {
	return {
		parent: new Uint32Array(room),
		depth: new Uint32Array(room),
		child: new Int32Array(room),
		sibling: new Int32Array(room),
		frame: new Uint32Array(room),
		self: new Float64Array(room),
		total: new Float64Array(room),
		from: new Float64Array(room),
		first: new Uint32Array(room),  // of its stacks
		last: new Uint32Array(room),   // one after them
	};
}

/** The nodes with weight of their own. @param {Tree} base */
function stackEnds({self}) {
	const ends = new Uint32Array(self.length);
	let count = 0;
	for (let i = 0; i < self.length; i++)
		if (self[i] > 0)
			ends[count++] = i;
	return ends.slice(0, count);
}

/**
 * The places 0 to keys.length - 1, by the keys at them; equal keys keep their order.
 * @param {Uint32Array} keys @param {number} most key
 * @returns {Uint32Array}
 */
export function sortedPlaces(keys, most) {
	const count = keys.length;
	const places = new Uint32Array(count);
	if (count > most / 8) {
		const starts = new Uint32Array(most + 2);
		for (let k = 0; k < count; k++)
			starts[keys[k] + 1]++;
		for (let key = 0; key <= most; key++)
			starts[key + 1] += starts[key];
		for (let k = 0; k < count; k++)
			places[starts[keys[k]]++] = k;
	} else {
		// One number holds key and place: exact below 2^53.
		const both = new Float64Array(count);
		for (let k = 0; k < count; k++)
			both[k] = keys[k] * count + k;
		both.sort();
		for (let k = 0; k < count; k++)
			places[k] = both[k] % count;
	}
	return places;
}

/** @param {Tree} base @returns {Tree} */
export function invertTree(base) {
	// By stack: the node it ends at, and the node its last sorted frame belongs to.
	const ends = stackEnds(base);
	const reached = ends.slice();
	const beyond = base.frame.reduce((most, frame) => Math.max(most, frame), 0) + 1;
	let columns = makeColumns(1024);
	/** @type {Tree} */
	const tree = {
		...columns, nodes: 0, rows: base.rows,
		expand: node => expandNode(node),
		markedWeight(node, marks) {
			let weight = 0;
			for (let k = columns.first[node]; k < columns.last[node]; k++)
				weight += marks[ends[k]] ? base.self[ends[k]] : 0;
			return weight;
		},
		addWeights(node, groups, sums) {
			for (let k = columns.first[node]; k < columns.last[node]; k++)
				sums[groups[ends[k]]] += base.self[ends[k]];
		},
		hasMatch(node, {frames, stacks}) {
			if (node > 0 && frames[columns.frame[node]])
				return true;
			// What is left of its stacks.
			for (let k = columns.first[node]; k < columns.last[node]; k++)
				if (stacks[reached[k]])
					return true;
			return false;
		},
	};

	function add(/** @type {number} */ parent, /** @type {number} */ first) {
		if (tree.nodes === columns.parent.length) {
			const wider = makeColumns(2 * tree.nodes);
			/** @type {any[]} */
			const old = Object.values(columns);
			Object.values(wider).forEach((column, i) => column.set(old[i]));
			columns = wider;
			Object.assign(tree, columns);
		}
		const node = tree.nodes++;
		columns.parent[node] = parent;
		columns.depth[node] = node && columns.depth[parent] + 1;
		columns.child[node] = UNKNOWN;
		columns.sibling[node] = NONE;
		columns.first[node] = columns.last[node] = first;
		return node;
	}

	function expandNode(/** @type {number} */ node) {
		columns.child[node] = NONE;
		const stacks = columns.last[node] - columns.first[node];
		const first = columns.first[node];
		if (columns.depth[node] > 0)
			for (let k = first; k < first + stacks; k++)
				reached[k] = base.parent[reached[k]];
		sortStacks(first, stacks);
		for (const group of heaviestFirst(first, stacks))
			addChild(node, group);
	}

	/** A child to the right of those a node has. */
	function addChild(/** @type {number} */ node, /** @type {Group} */ group) {
		const child = add(node, group.first);
		const left = columns.child[node] === NONE ? NONE : child - 1;
		if (left === NONE)
			columns.child[node] = child;
		else
			columns.sibling[left] = child;
		columns.from[child] = left === NONE ? columns.from[node]
			: columns.from[left] + columns.total[left];
		columns.frame[child] = base.frame[reached[group.first]];
		columns.last[child] = group.first + group.count;
		columns.total[child] = group.weight;
		// What ran is where a stack ends: callers have no time of their own.
		columns.self[child] = node === 0 ? group.weight : 0;
	}

	/**
	 * Groups of stacks with the same frame, moved so that the heaviest are first: what the time
	 * went to is what one looks for here. @returns {Group[]}
	 */
	function heaviestFirst(/** @type {number} */ first, /** @type {number} */ count) {
		/** @type {Group[]} */
		const groups = [];
		let end = first;
		for (; end < first + count && reached[end] > 0; end++) {
			const last = groups[groups.length - 1];
			if (!last || base.frame[reached[last.first]] !== base.frame[reached[end]])
				groups.push({first: end, count: 1, weight: base.self[ends[end]]});
			else {
				last.count++;
				last.weight += base.self[ends[end]];
			}
		}
		if (groups.length < 2)
			return groups;
		groups.sort((a, b) => b.weight - a.weight || a.first - b.first);
		const oldEnds = ends.slice(first, end);
		const oldReached = reached.slice(first, end);
		let to = first;
		for (const group of groups) {
			const at = group.first - first;
			ends.set(oldEnds.subarray(at, at + group.count), to);
			reached.set(oldReached.subarray(at, at + group.count), to);
			group.first = to;
			to += group.count;
		}
		return groups;
	}

	/** By the frame reached; stacks that have no more of them come last. */
	function sortStacks(/** @type {number} */ first, /** @type {number} */ count) {
		const keys = new Uint32Array(count);
		let sorted = true;
		for (let k = 0; k < count; k++) {
			const node = reached[first + k];
			keys[k] = node > 0 ? base.frame[node] : beyond;
			sorted = sorted && (k === 0 || keys[k - 1] <= keys[k]);
		}
		if (sorted)
			return;
		const places = sortedPlaces(keys, beyond);
		const oldEnds = ends.slice(first, first + count);
		const oldReached = reached.slice(first, first + count);
		for (let k = 0; k < count; k++) {
			ends[first + k] = oldEnds[places[k]];
			reached[first + k] = oldReached[places[k]];
		}
	}

	const root = add(0, 0);
	columns.last[root] = ends.length;
	columns.total[root] = base.total[0];
	return tree;
}
