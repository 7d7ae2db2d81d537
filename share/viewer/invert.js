// SPDX-License-Identifier: MIT
// @ts-check
// Merge the stacks of a tree from their other end: the inverted tree. Only the nodes that are
// needed are built, because the inverted tree can have as many nodes as all stacks have frames.
//
// A node is a range of stacks; the stacks of a node at depth N have N frames in common. expand()
// sorts the range by the next frame, which makes the children. Stacks outside of the range do not
// move.

import {NONE, ONE_WAY, UNKNOWN, widen} from './tree.js';

/** @typedef {import('./tree.js').Tree} Tree */
/**
 * @typedef {{frame: number, first: number, count: number, weight: number}} Group a range of stacks
 * whose next frames are equal
 */

/** Make arrays with room for a number of nodes. @param {number} room */
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
		first: new Uint32Array(room),  // its first stack
		last: new Uint32Array(room),   // after its last stack
	};
}

/**
 * Where the inversion starts, if not at the leaves: see sandwich.js.
 * @typedef {object} Start
 * @property {Uint32Array} ends nodes of the base; all stacks through such a node count as one stack
 * that ends there
 * @property {import('./tree.js').TreeColumns} columns nodes that the tree has from the start
 */

/**
 * Invert a tree: callers become children. The nodes are added by expand() when they are needed.
 * @param {Tree} base @param {Start} [start] @returns {Tree}
 */
export function invertTree(base, start) {
	// By stack: the node at which the stack ends, and the node that its inversion has reached.
	const ends = start ? start.ends.slice()
		: Uint32Array.from(base.self, (_, node) => node).filter(node => base.self[node] > 0);
	const reached = start ? ends.map(node => base.parent[node]) : ends.slice();
	const weights = start ? base.total : base.self;
	// By frame: the index of its group in groupStacks(). The array's length is the number of
	// frames, which is the root's frame number.
	const placeOf = new Int32Array(base.frame[0]).fill(NONE);
	const columns = makeColumns(1024);
	/** @type {Tree} */
	const tree = {
		...columns, ...ONE_WAY, nodes: 0, rows: base.rows,
		expand: node => expandNode(node),
		markedWeight(node, marks) {
			let weight = 0;
			for (let k = columns.first[node]; k < columns.last[node]; k++)
				weight += start ? base.markedWeight(ends[k], marks)
					: marks[ends[k]] ? base.self[ends[k]] : 0;
			return weight;
		},
		addWeights(node, groups, sums) {
			for (let k = columns.first[node]; k < columns.last[node]; k++)
				if (start)
					base.addWeights(ends[k], groups, sums);
				else
					sums[groups[ends[k]]] += base.self[ends[k]];
		},
		hasMatch(node, marks) {
			const {frames, stacks} = marks;
			if (node > 0 && frames[columns.frame[node]])
				return true;
			for (let i = columns.child[node]; i >= 0; i = columns.sibling[i])
				if (tree.hasMatch(i, marks))
					return true;
			// If the children are not known yet, check the remaining frames of the
			// stacks through this node.
			for (let k = columns.first[node]; columns.child[node] === UNKNOWN && k < columns.last[node]; k++)
				if (stacks[reached[k]])
					return true;
			return false;
		},
	};

	function add(/** @type {number} */ parent, /** @type {number} */ first) {
		if (tree.nodes === columns.parent.length) {
			widen(columns);
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
		for (const group of groupStacks(first, stacks))
			addChild(node, group);
	}

	/** Add the nodes that the tree has from the start; their root becomes the tree's root. */
	function addKnown(/** @type {any} */ known) {
		while (tree.nodes < known.nodes)
			add(0, 0);
		for (const [name, column] of Object.entries(columns))
			column.set(known[name] || []);
		columns.child[root] = UNKNOWN;
	}

	/** Add a child after the node's last child. */
	function addChild(/** @type {number} */ node, /** @type {Group} */ group) {
		const child = add(node, group.first);
		const left = columns.child[node] === NONE ? NONE : child - 1;
		if (left === NONE)
			columns.child[node] = child;
		else
			columns.sibling[left] = child;
		columns.from[child] = left === NONE ? columns.from[node]
			: columns.from[left] + columns.total[left];
		columns.frame[child] = group.frame;
		columns.last[child] = group.first + group.count;
		columns.total[child] = group.weight;
		// Only the root's children have self weight: they are the leaves of the stacks.
		// Deeper nodes are their callers.
		columns.self[child] = node === 0 && !start ? group.weight : 0;
	}

	/**
	 * Group a range of stacks by the frame that their inversion has reached, and reorder the
	 * range: the heaviest group first, stacks without further frames last.
	 * @returns {Group[]}
	 */
	function groupStacks(/** @type {number} */ first, /** @type {number} */ count) {
		/** @type {Group[]} */
		const groups = [];
		const oldEnds = ends.slice(first, first + count);
		const oldReached = reached.slice(first, first + count);
		let more = 0;
		for (let k = 0; k < count; k++) {
			if (oldReached[k] === 0)
				continue;
			const frame = base.frame[oldReached[k]];
			if (placeOf[frame] === NONE)
				placeOf[frame] = groups.push({frame, first: 0, count: 0, weight: 0}) - 1;
			const group = groups[placeOf[frame]];
			group.count++;
			group.weight += weights[oldEnds[k]];
			more++;
		}
		groups.sort((a, b) => b.weight - a.weight || a.frame - b.frame);
		groups.reduce((at, group, place) => {
			placeOf[group.frame] = place;
			group.first = at;
			return at + group.count;
		}, first);
		// Move each stack to the next index of its group. Stacks of a group keep their
		// order.
		const next = Uint32Array.from(groups, group => group.first);
		let ended = first + more;
		for (let k = 0; k < count; k++) {
			const node = oldReached[k];
			const to = node === 0 ? ended++ : next[placeOf[base.frame[node]]]++;
			ends[to] = oldEnds[k];
			reached[to] = node;
		}
		for (const {frame} of groups)
			placeOf[frame] = NONE;
		return groups;
	}

	const root = add(0, 0);
	columns.last[root] = ends.length;
	columns.total[root] = base.total[0];
	if (start)
		addKnown(start.columns);
	return tree;
}
