// SPDX-License-Identifier: MIT
// @ts-check
// The tree that all other files use, with parent, first child and next sibling; and its columns,
// which the worker sends to the page. Children may be found on demand: see invert.js.
//
// The "base" of a tree is the tree of the columns: the tree itself, or the tree from which it was
// inverted.

/**
 * Node 0 is the root. A node's children are in order from left to right.
 * @typedef {object} Tree
 * @property {number} nodes number of nodes known so far
 * @property {number} rows number of levels, including the root's
 * @property {Uint32Array} parent
 * @property {Uint32Array} depth
 * @property {Int32Array} child the first one, NONE, or UNKNOWN before expand()
 * @property {Int32Array} sibling the next one, or NONE
 * @property {Uint32Array} frame
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} from weight to the left of the node
 * @property {import('./chart.js').Chart} [chart] its weights are microseconds and `from` are times
 * @property {number} rootRow row of node 0; a sandwich has callers in the rows before it
 * @property {number} callees in a sandwich the first callee of node 0, else NONE; callers are
 * children of node 0
 * @property {number} callers in a sandwich the lowest number of a caller, else Infinity
 * @property {number} least nodes with less weight are hidden
 * @property {(node: number) => void} expand find a node's children; may replace the arrays
 * @property {(node: number, marks: Uint8Array) => number} markedWeight weight of a node's stacks
 * that end at a marked node of the base
 * @property {(node: number, groups: Uint8Array | Uint32Array, sums: Float64Array) => void}
 * addWeights add the weight of each of a node's stacks to the sum of its group; `groups` has the
 * group of each node of the base at which a stack ends
 * @property {(node: number, marks: Marks) => boolean} hasMatch does a node match, or one below it?
 */

/**
 * Result of a search, see search.js.
 * @typedef {object} Marks
 * @property {Uint8Array} frames by frame, 1 when it matches
 * @property {Uint8Array} stacks by node of the base, 1 if the node or an ancestor matches
 * @property {Uint32Array} own nodes of the base that match themselves, in rising order
 */

export const NONE = -1;
export const UNKNOWN = -2;

/**
 * Columns of a tree in depth-first order, without the functions of a Tree. The subtree of node `i`
 * is the range from `i` up to, but not including, `end[i]`.
 * @typedef {Pick<Tree, 'nodes' | 'rows' | 'parent' | 'depth' | 'child' | 'sibling' | 'frame' |
 * 'self' | 'total' | 'from' | 'chart'> & {end: Uint32Array}} TreeColumns
 */

/**
 * Compute the columns of a tree.
 * @param {import('./decode.js').Nodes} nodes in depth-first order
 * @returns {TreeColumns}
 */
export function layOut({frame, self, parent}) {
	const nodes = self.length;
	const depth = new Uint32Array(nodes);
	const end = new Uint32Array(nodes);
	const child = new Int32Array(nodes).fill(NONE);
	const sibling = new Int32Array(nodes).fill(NONE);
	const total = self.slice();
	const from = new Float64Array(nodes);
	const next = new Float64Array(nodes);  // left edge of a node's next child
	let rows = 0;
	for (let i = nodes - 1; i > 0; i--) {
		const above = parent[i];
		end[i] ||= i + 1;
		if (end[above] < end[i])
			end[above] = end[i];
		// The loop runs from right to left, so the parent's first child so far is the next
		// sibling of this node.
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

/** Members of a tree that is not a sandwich, in addition to its columns. */
export const ONE_WAY = {rootRow: 0, callees: NONE, callers: Infinity, least: 0};

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
 * Sort numbers by their keys, and those with equal keys by number. Returns the sorted numbers, and
 * for each key the index of its first number.
 * @param {ArrayLike<number>} keys by number, NONE: left out
 * @param {number} most number of keys
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

/** Double the length of each array in an object. @param {any} columns */
export function widen(columns) {
	for (const [name, column] of Object.entries(columns))
		if (ArrayBuffer.isView(column))
			(columns[name] = new (/** @type {any} */ (column).constructor)(2 * columns[name].length)).set(column);
}

/**
 * Returns the first number for which `isOne` is false, found by bisection; `count` if there is
 * none.
 * @param {number} count
 * @param {(number: number) => boolean} isOne true below some number, false from that number on
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

/** Returns the first child, or NONE; may expand(). @param {Tree} tree @param {number} node */
export function firstChild(tree, node) {
	if (tree.child[node] === UNKNOWN)
		tree.expand(node);
	return tree.child[node];
}

/**
 * Returns the children that are not hidden.
 * @param {Tree} tree @param {number} node
 * @param {boolean} [below] list the callees of a sandwich's node 0
 * @returns {number[]}
 */
export function childrenOf(tree, node, below = false) {
	const children = [];
	const isOther = below && node === 0 && tree.callers < Infinity;
	for (let i = isOther ? tree.callees : firstChild(tree, node); i !== NONE; i = tree.sibling[i])
		if (tree.total[i] >= tree.least)
			children.push(i);
	return children;
}

/**
 * Returns the child with the most weight, or NONE.
 * @param {Tree} tree @param {number} node @param {boolean} [below] see childrenOf()
 */
export function widestChild(tree, node, below) {
	let widest = NONE;
	for (const child of childrenOf(tree, node, below))
		if (tree.total[child] > (widest === NONE ? 0 : tree.total[widest]))
			widest = child;
	return widest;
}

/**
 * Returns the next node, in depth-first order, after the subtree of `node`, or NONE. @param {Tree}
 * tree @param {number} node
 */
export function nodeAfter({parent, sibling}, node) {
	while (node > 0 && sibling[node] === NONE)
		node = parent[node];
	return sibling[node];
}

/** Returns the nodes from the root's child to `node`. @param {Tree} tree @param {number} node */
export function pathTo(tree, node) {
	const path = [];
	for (let i = node; i > 0; i = tree.parent[i])
		path.push(i);
	return path.reverse();
}

/**
 * Returns the frames of the path to a node. A path to a sandwich's callee begins with the frame of
 * node 0, which distinguishes it from a path to a caller.
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
 * Returns the node at the end of a path of frames. Frames that do not exist there are skipped.
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
 * Returns the first node at the end of a path in a tree whose siblings may have the same function;
 * if no node is at the end, the deepest node on the path.
 * @param {Tree} tree in depth-first order
 * @param {number} levels length of the path
 * @param {(node: number, level: number) => boolean} isLevel is a node on the path at a level? The
 * outermost level is 0
 */
export function firstAlong({nodes, depth, parent}, levels, isLevel) {
	const way = new Uint32Array(levels + 1);  // by depth: last node found on the path
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
 * Returns the deepest node, at most at `depth`, that covers all weights from `from` to `to`.
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
 * Returns the node in a row that covers a weight, or -1 if there is none or it is hidden.
 * @param {Tree} tree @param {number} row @param {number} weight
 */
export function nodeAt(tree, row, weight) {
	if (weight < 0 || weight >= tree.total[0])
		return -1;
	const node = nodeCovering(tree, weight, weight, Math.abs(row - tree.rootRow),
		tree.callees !== NONE && row > tree.rootRow);
	return rowOf(tree, node) === row && tree.total[node] >= tree.least ? node : -1;
}

/**
 * Returns, for each frame, the weight of the stacks that contain it, each stack counted once.
 * @param {TreeColumns} tree @param {number} frames @returns {Float64Array} by frame
 */
export function frameTotals({nodes, parent, frame, total}, frames) {
	const totals = new Float64Array(frames);
	const at = new Int32Array(frames).fill(NONE);  // by frame: outermost node on the path
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
