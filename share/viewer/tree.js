// SPDX-License-Identifier: MIT
// @ts-check
// The tree every other file walks, by parent, first child and next sibling; and the one built from
// the columns. Children may be found only when asked for: see invert.js.

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
 * @property {(node: number) => void} expand find a node's children; the arrays may be other ones
 *         afterwards
 * @property {(node: number, marks: Uint8Array) => number} markedWeight of the stacks of a node
 *         that end at a marked node of the tree the columns gave
 */

export const NONE = -1;
export const UNKNOWN = -2;

/**
 * Nodes in depth-first order: the subtree of `i` is `i` to `end[i]`.
 * @param {Uint32Array} frame by node
 * @param {ArrayLike<number>} self weight by node
 * @param {ArrayLike<number>} pops levels to leave before each node but the root
 * @returns {Tree}
 */
export function buildTree(frame, self, pops) {
	const nodes = self.length;
	const parent = new Uint32Array(nodes);
	const depth = new Uint32Array(nodes);
	const end = new Uint32Array(nodes).fill(nodes);
	const child = new Int32Array(nodes).fill(NONE);
	const sibling = new Int32Array(nodes).fill(NONE);
	let rows = 1;
	for (let i = 1; i < nodes; i++) {
		let above = i - 1;
		let left = NONE;
		for (let n = pops[i - 1]; n > 0; n--) {
			if (above === 0)
				throw new RangeError('a node above the root');
			end[above] = i;
			left = above;
			above = parent[above];
		}
		if (left === NONE)
			child[above] = i;
		else
			sibling[left] = i;
		parent[i] = above;
		depth[i] = depth[above] + 1;
		if (depth[i] >= rows)
			rows = depth[i] + 1;
	}
	const weights = Float64Array.from(self);
	const {total, from} = sumUp(weights, parent);
	return {
		nodes, rows, parent, depth, child, sibling, frame, self: weights, total, from,
		expand() {},
		markedWeight(node, marks) {
			let weight = 0;
			for (let i = node; i < end[node]; i++)
				weight += marks[i] ? weights[i] : 0;
			return weight;
		},
	};
}

/** @param {Float64Array} self @param {Uint32Array} parent in depth-first order */
function sumUp(self, parent) {
	const total = self.slice();
	const from = new Float64Array(self.length);
	const next = new Float64Array(self.length);  // where the next child of a node begins
	for (let i = self.length - 1; i > 0; i--)
		total[parent[i]] += total[i];
	for (let i = 1; i < self.length; i++) {
		from[i] = next[parent[i]];
		next[parent[i]] += total[i];
		next[i] = from[i];
	}
	return {total, from};
}

/** The first child, or NONE. @param {Tree} tree @param {number} node */
export function firstChild(tree, node) {
	if (tree.child[node] === UNKNOWN)
		tree.expand(node);
	return tree.child[node];
}

/** @param {Tree} tree @param {number} node @returns {number[]} */
export function childrenOf(tree, node) {
	const children = [];
	for (let i = firstChild(tree, node); i !== NONE; i = tree.sibling[i])
		children.push(i);
	return children;
}

/** The child with the most weight, or NONE. @param {Tree} tree @param {number} node */
export function widestChild(tree, node) {
	let widest = NONE;
	for (const child of childrenOf(tree, node))
		if (tree.total[child] > (widest === NONE ? 0 : tree.total[widest]))
			widest = child;
	return widest;
}

/** Nodes from the root's child down to `node`. @param {Tree} tree @param {number} node */
export function pathTo(tree, node) {
	const path = [];
	for (let i = node; i > 0; i = tree.parent[i])
		path.push(i);
	return path.reverse();
}

/** @param {Tree} tree @param {number} node @param {number} ancestor */
export function isWithin(tree, node, ancestor) {
	while (tree.depth[node] > tree.depth[ancestor])
		node = tree.parent[node];
	return node === ancestor;
}

/**
 * The deepest node that a path of frames leads to. @param {Tree} tree @param {number[]} frames
 */
export function follow(tree, frames) {
	let node = 0;
	for (const frame of frames) {
		const next = childrenOf(tree, node).find(child => tree.frame[child] === frame);
		if (next === undefined)
			break;
		node = next;
	}
	return node;
}

/**
 * The deepest node, at most `depth`, that covers all weights from `from` to `to`.
 * @param {Tree} tree @param {number} from @param {number} to @param {number} [depth]
 */
export function nodeCovering(tree, from, to, depth = Infinity) {
	let node = 0;
	while (tree.depth[node] < depth) {
		let child = firstChild(tree, node);
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
 * The node at a depth that covers a weight, or -1.
 * @param {Tree} tree @param {number} depth @param {number} weight
 */
export function nodeAt(tree, depth, weight) {
	if (weight < 0 || weight >= tree.total[0])
		return -1;
	const node = nodeCovering(tree, weight, weight, depth);
	return tree.depth[node] === depth ? node : -1;
}
