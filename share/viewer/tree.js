// SPDX-License-Identifier: MIT
// @ts-check
// What follows from the columns: where each node's subtree ends, its total, where it begins.

/**
 * Nodes are in depth-first order, so the subtree of `i` is `i` to `end[i]`.
 * @typedef {object} Tree
 * @property {number} nodes
 * @property {number} rows levels, the root's included
 * @property {Uint32Array} parent
 * @property {Uint32Array} depth
 * @property {Uint32Array} end
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} from weight to the left of it
 */

/**
 * @param {ArrayLike<number>} self weight by node
 * @param {ArrayLike<number>} pops levels to leave before each node but the root
 * @returns {Tree}
 */
export function buildTree(self, pops) {
	const nodes = self.length;
	const parent = new Uint32Array(nodes);
	const depth = new Uint32Array(nodes);
	const end = new Uint32Array(nodes).fill(nodes);
	const total = Float64Array.from(self);
	const from = new Float64Array(nodes);
	const next = new Float64Array(nodes);  // where the next child of a node begins
	let rows = 1;
	for (let i = 1; i < nodes; i++) {
		let above = i - 1;
		for (let n = pops[i - 1]; n > 0; n--) {
			if (above === 0)
				throw new RangeError('a node above the root');
			end[above] = i;
			above = parent[above];
		}
		parent[i] = above;
		depth[i] = depth[above] + 1;
		if (depth[i] >= rows)
			rows = depth[i] + 1;
	}
	for (let i = nodes - 1; i > 0; i--)
		total[parent[i]] += total[i];
	for (let i = 1; i < nodes; i++) {
		from[i] = next[parent[i]];
		next[parent[i]] += total[i];
		next[i] = from[i];
	}
	return {nodes, rows, parent, depth, end, self: Float64Array.from(self), total, from};
}

/**
 * The node at a depth that covers a weight, or -1.
 * @param {Tree} tree @param {number} depth @param {number} weight
 */
export function nodeAt(tree, depth, weight) {
	const covers = (/** @type {number} */ i) =>
		weight >= tree.from[i] && weight < tree.from[i] + tree.total[i];
	if (!covers(0))
		return -1;
	let i = 0;
	while (tree.depth[i] < depth) {
		let child = i + 1;
		while (child < tree.end[i] && !covers(child))
			child = tree.end[child];
		if (child >= tree.end[i])
			return -1;
		i = child;
	}
	return i;
}
