// SPDX-License-Identifier: MIT
// @ts-check
// The tree every other file walks, by parent, first child and next sibling; columns of it, as they go
// from one thread to another, and the tree of them. Children may be found only when asked for: see
// invert.js.

/**
 * Node 0 is the root. A node's children follow each other from left to right.
 * @typedef {object} Tree
 * @property {number} nodes known so far
 * @property {number} rows levels, the root's included
 * @property {Uint32Array} parent
 * @property {Uint32Array} depth
 * @property {Int32Array} child the first one, NONE, or UNKNOWN before expand()
 * @property {Int32Array} sibling the next one, or NONE
 * @property {Uint32Array} frame
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} from weight to the left of it
 * @property {import('./chart.js').Chart} [chart] its weights are microseconds, its places times
 * @property {number} rootRow where node 0 is; of a sandwich that has callers in the rows before it
 * @property {number} callees of a sandwich the first child of the other kind of node 0, else NONE:
 *         callers are its children as in an inverted tree
 * @property {number} callers of a sandwich the first number that callers have, else Infinity
 * @property {(node: number) => void} expand find a node's children; the arrays may be other ones
 *         afterwards
 * @property {(node: number, marks: Uint8Array) => number} markedWeight of the stacks of a node
 *         that end at a marked node of the tree the columns gave
 * @property {(node: number, groups: Uint8Array | Uint32Array, sums: Float64Array) => void} addWeights of the same
 *         stacks, to the sums of the groups that the nodes they end at are in
 * @property {(node: number, marks: Marks) => boolean} hasMatch in a node or below it
 */

/**
 * What a search has found, see search.js.
 * @typedef {object} Marks
 * @property {Uint8Array} frames by frame, 1 when it matches
 * @property {Uint8Array} stacks by node of the tree the columns gave, 1 when it matches or one
 *         above it
 * @property {Uint32Array} own nodes of it that match themselves, in their order
 */

export const NONE = -1;
export const UNKNOWN = -2;

/**
 * A tree in depth-first order, without what it can do: the subtree of `i` is `i` to `end[i]`.
 * @typedef {Pick<Tree, 'nodes' | 'rows' | 'parent' | 'depth' | 'child' | 'sibling' | 'frame' | 'self' |
 *           'total' | 'from' | 'chart'> & {end: Uint32Array}} TreeColumns
 */

/** @param {import('./decode.js').Nodes} nodes in depth-first order @returns {TreeColumns} */
export function layOut({frame, self, parent}) {
	const nodes = self.length;
	const depth = new Uint32Array(nodes);
	const end = new Uint32Array(nodes);
	const child = new Int32Array(nodes).fill(NONE);
	const sibling = new Int32Array(nodes).fill(NONE);
	const total = self.slice();
	const from = new Float64Array(nodes);
	const next = new Float64Array(nodes);  // where the next child of a node begins
	let rows = 0;
	for (let i = nodes - 1; i > 0; i--) {
		const above = parent[i];
		end[i] ||= i + 1;
		if (end[above] < end[i])
			end[above] = end[i];
		// From the right: what was the first child so far is the next one's sibling.
		sibling[i] = child[above];
		child[above] = i;
		total[above] += total[i];
	}
	end[0] = nodes;
	for (let i = 1; i < nodes; i++) {
		const above = parent[i];
		const row = depth[above] + 1;
		depth[i] = row;
		if (row > rows)
			rows = row;
		from[i] = next[i] = next[above];
		next[above] += total[i];
	}
	return {nodes, rows: rows + 1, parent, depth, child, sibling, frame, self, end, total, from};
}

/** What grows to one side of its root alone. */
export const ONE_WAY = {rootRow: 0, callees: NONE, callers: Infinity};

/** @param {Tree} tree @param {number} node */
export function rowOf({depth, rootRow, callers}, node) {
	return node < callers ? rootRow + depth[node] : rootRow - depth[node];
}

/** @param {Tree} tree @param {number} node */
export function isCallee({callees, callers}, node) {
	return callees !== NONE && node > 0 && node < callers;
}

/** @param {TreeColumns} columns @returns {Tree} */
export function treeOf(columns) {
	const {self, end} = columns;
	return {
		...columns, ...ONE_WAY,
		expand() {},
		markedWeight(node, marks) {
			let weight = 0;
			for (let i = node; i < end[node]; i++)
				weight += marks[i] ? self[i] : 0;
			return weight;
		},
		addWeights(node, groups, sums) {
			for (let i = node; i < end[node]; i++)
				sums[groups[i]] += self[i];
		},
		hasMatch(node, {own}) {
			const next = firstNot(own.length, i => own[i] < node);
			return next < own.length && own[next] < end[node];
		},
	};
}

/** @param {import('./decode.js').Nodes} nodes @returns {Tree} */
export function buildTree(nodes) {
	return treeOf(layOut(nodes));
}

/**
 * Numbers in the order of their keys, alike ones in their own; and where those of each key begin.
 * @param {ArrayLike<number>} keys by number, NONE: left out @param {number} most of keys
 */
export function sortByKey(keys, most) {
	const first = new Uint32Array(most + 1);
	for (let i = 0; i < keys.length; i++)
		if (keys[i] >= 0)
			first[keys[i] + 1]++;
	for (let key = 0; key < most; key++)
		first[key + 1] += first[key];
	const next = first.slice();
	const sorted = new Uint32Array(first[most]);
	for (let i = 0; i < keys.length; i++)
		if (keys[i] >= 0)
			sorted[next[keys[i]]++] = i;
	return {first, sorted};
}

/** @param {number} value @param {number} least @param {number} most */
export function clamp(value, least, most) {
	return Math.min(Math.max(value, least), most);
}

/** Room for twice as many in each column of an object. @param {any} columns */
export function widen(columns) {
	for (const [name, column] of Object.entries(columns))
		if (ArrayBuffer.isView(column))
			(columns[name] = new (/** @type {any} */ (column).constructor)(2 * columns[name].length)).set(column);
}

/**
 * The first number that is not one of those at the beginning; `count` when all are.
 * @param {number} count @param {(number: number) => boolean} isOne
 */
export function firstNot(count, isOne) {
	let first = 0;
	for (let last = count; first < last;) {
		const middle = first + last >>> 1;
		if (isOne(middle))
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

/** The first child, or NONE. @param {Tree} tree @param {number} node */
export function firstChild(tree, node) {
	if (tree.child[node] === UNKNOWN)
		tree.expand(node);
	return tree.child[node];
}

/**
 * @param {Tree} tree @param {number} node @param {boolean} [below] the callees of a sandwich's node 0
 * @returns {number[]}
 */
export function childrenOf(tree, node, below = false) {
	const children = [];
	const isOther = below && node === 0 && tree.callers < Infinity;
	for (let i = isOther ? tree.callees : firstChild(tree, node); i !== NONE; i = tree.sibling[i])
		children.push(i);
	return children;
}

/**
 * The child with the most weight, or NONE.
 * @param {Tree} tree @param {number} node @param {boolean} [below] see childrenOf()
 */
export function widestChild(tree, node, below) {
	let widest = NONE;
	for (const child of childrenOf(tree, node, below))
		if (tree.total[child] > (widest === NONE ? 0 : tree.total[widest]))
			widest = child;
	return widest;
}

/** What comes after a node and all below it, in order; NONE: nothing. @param {Tree} tree @param {number} node */
export function nodeAfter({parent, sibling}, node) {
	while (node > 0 && sibling[node] === NONE)
		node = parent[node];
	return sibling[node];
}

/** Nodes from the root's child down to `node`. @param {Tree} tree @param {number} node */
export function pathTo(tree, node) {
	const path = [];
	for (let i = node; i > 0; i = tree.parent[i])
		path.push(i);
	return path.reverse();
}

/**
 * Their frames; to a sandwich's callees that of its node 0 comes first, which tells them from callers.
 * @param {Tree} tree @param {number} node
 */
export function framesTo(tree, node) {
	return [...isCallee(tree, node) ? [tree.frame[0]] : [],
		...pathTo(tree, node).map(one => tree.frame[one])];
}

/** @param {Tree} tree @param {number} node @param {number} ancestor */
export function isWithin(tree, node, ancestor) {
	while (tree.depth[node] > tree.depth[ancestor])
		node = tree.parent[node];
	return node === ancestor;
}

/**
 * The node that a path of frames leads to, past those that are not there.
 * @param {Tree} tree @param {number[]} frames see framesTo()
 */
export function follow(tree, frames) {
	let node = 0;
	const below = tree.callees !== NONE && frames[0] === tree.frame[0];
	for (const frame of frames)
		node = childrenOf(tree, node, below).find(child => tree.frame[child] === frame) ?? node;
	return node;
}

/**
 * The first node in order that a way of levels leads to, where siblings may be alike; or the deepest
 * one on it. @param {Tree} tree in depth-first order @param {number} levels
 * @param {(node: number, level: number) => boolean} isLevel the outermost is level 0
 */
export function firstAlong({nodes, depth, parent}, levels, isLevel) {
	const way = new Uint32Array(levels + 1);  // by depth
	let best = 0;
	for (let i = 1; i < nodes && depth[best] < levels; i++) {
		const above = depth[i] - 1;
		if (above < levels && way[above] === parent[i] && isLevel(i, above)) {
			way[above + 1] = i;
			if (depth[i] > depth[best])
				best = i;
		}
	}
	return best;
}

/**
 * The deepest node, at most `depth`, that covers all weights from `from` to `to`.
 * @param {Tree} tree @param {number} from @param {number} to @param {number} [depth]
 * @param {boolean} [below] among the callees of a sandwich
 */
export function nodeCovering(tree, from, to, depth = Infinity, below = false) {
	let node = 0;
	while (tree.depth[node] < depth) {
		let child = below && !node ? tree.callees : firstChild(tree, node);
		while (child !== NONE && tree.from[child] + tree.total[child] <= from)
			child = tree.sibling[child];
		if (child === NONE || tree.from[child] > from ||
			tree.from[child] + tree.total[child] < to)
			break;
		node = child;
	}
	return node;
}

/**
 * The node in a row that covers a weight, or -1.
 * @param {Tree} tree @param {number} row @param {number} weight
 */
export function nodeAt(tree, row, weight) {
	if (weight < 0 || weight >= tree.total[0])
		return -1;
	const node = nodeCovering(tree, weight, weight, Math.abs(row - tree.rootRow),
		tree.callees !== NONE && row > tree.rootRow);
	return rowOf(tree, node) === row ? node : -1;
}

/**
 * Weight of the stacks in which each frame is, each stack once.
 * @param {TreeColumns} tree @param {number} frames @returns {Float64Array} by frame
 */
export function frameTotals({nodes, parent, frame, total}, frames) {
	const totals = new Float64Array(frames);
	const at = new Int32Array(frames).fill(NONE);  // the outermost node of each on the way here
	const path = new Uint32Array(nodes);
	let depth = 0;
	for (let i = 1; i < nodes; i++) {
		while (depth && path[depth - 1] !== parent[i]) {
			const left = path[--depth];
			if (at[frame[left]] === left)
				at[frame[left]] = NONE;
		}
		path[depth++] = i;
		if (at[frame[i]] === NONE) {
			at[frame[i]] = i;
			totals[frame[i]] += total[i];
		}
	}
	return totals;
}
