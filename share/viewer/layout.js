// SPDX-License-Identifier: MIT
// @ts-check
// Find the boxes that are on screen and their positions. The cost depends on the number of pixels,
// not of nodes, because subtrees that are narrow or out of sight are skipped. The list of boxes is
// reused, so that an animation makes no garbage.

import {NONE, UNKNOWN, nodeAfter, rowOf, widen} from './tree.js';

/**
 * @typedef {object} View
 * @property {number} from weight at the left edge
 * @property {number} to weight at the right edge
 * @property {number} width in CSS pixels
 * @property {number} firstRow
 * @property {number} lastRow
 * @property {number} narrowest least width of a box drawn by itself, in CSS pixels
 * @property {((node: number) => boolean) | null} [isMarked] must the node or something below it be
 * visible even if it is too narrow?
 * @property {((node: number) => boolean) | null} [isClosed] is everything below it hidden?
 * @property {number} [until] performance.now() after which unknown children are not expanded
 */

/** Initial room of a list, in boxes. */
const ROOM = 2048;

export class BoxList {
	constructor() {
		this.count = 0;
		/** The box's node; the first node of a merged box. */
		this.node = new Uint32Array(ROOM);
		this.row = new Uint32Array(ROOM);
		/** Edges in CSS pixels; they may be outside of the view. */
		this.left = new Float64Array(ROOM);
		this.right = new Float64Array(ROOM);
		/** 1 for a merged box: neighbours that are too narrow to be drawn. */
		this.merged = new Uint8Array(ROOM);
		/** 1 for a merged box that contains a marked node. */
		this.marked = new Uint8Array(ROOM);
	}

	/**
	 * @param {number} node @param {number} row @param {number} left @param {number} right
	 * @param {number} merged @param {number} marked
	 */
	add(node, row, left, right, merged, marked) {
		if (this.count === this.node.length)
			widen(this);
		const i = this.count++;
		this.node[i] = node;
		this.row[i] = row;
		this.left[i] = left;
		this.right[i] = right;
		this.merged[i] = merged;
		this.marked[i] = marked;
	}
}

/**
 * For each row, the merged box that narrow boxes form at the current end of the row; `right` is
 * -Infinity if there is none.
 */
class Runs {
	/**
	 * @param {number} rows @param {BoxList} boxes @param {number} narrowest
	 * @param {number} width
	 * @param {boolean} isSparse boxes have gaps between them, so a narrow box is drawn even if
	 * it has no narrow neighbours
	 */
	constructor(rows, boxes, narrowest, width, isSparse) {
		this.node = new Uint32Array(rows);
		this.left = new Float64Array(rows);
		this.right = new Float64Array(rows).fill(-Infinity);
		this.marked = new Uint8Array(rows);
		this.boxes = boxes;
		this.narrowest = isSparse ? 0 : narrowest;
		this.apart = isSparse ? narrowest : 1e-3;
		this.least = isSparse ? narrowest : 0;
		this.rightmost = isSparse ? width - narrowest : Infinity;
	}

	/**
	 * Add a narrow box to the merged box of its row. If there is a gap before the narrow box,
	 * begin a new merged box.
	 * @param {number} row @param {number} node @param {number} left @param {number} right
	 * @param {boolean} marked
	 */
	extend(row, node, left, right, marked) {
		if (left - this.right[row] >= this.apart) {
			this.end(row);
			this.node[row] = node;
			this.left[row] = left;
		}
		this.right[row] = right;
		if (marked)
			this.marked[row] = 1;
	}

	/** @param {number} row */
	end(row) {
		if (this.right[row] - this.left[row] >= this.narrowest)
			this.boxes.add(this.node[row], row, Math.min(this.left[row], this.rightmost),
				Math.max(this.right[row], this.left[row] + this.least), 1, this.marked[row]);
		this.right[row] = -Infinity;
		this.marked[row] = 0;
	}
}

/**
 * List the boxes on screen.
 * @param {import('./tree.js').Tree} tree @param {View} view
 * @param {BoxList} boxes output, overwritten: rows interleaved, each row from left to right
 * @returns {boolean} false if time ran out before all children on screen were known
 */
export function visibleBoxes(tree, view, boxes) {
	const {width, firstRow, lastRow, narrowest, isMarked = null, isClosed = null, until = Infinity} = view;
	const scale = width / (view.to - view.from);
	const runs = new Runs(tree.rows, boxes, narrowest, width, Boolean(tree.chart));
	let complete = true;
	// Node 0 of a sandwich has two lists of children: callers, in the rows before its own, and
	// callees, in the rows after it.
	const {rootRow, callers, callees} = tree;
	let rest = rootRow < lastRow ? callees : NONE;
	boxes.count = 0;
	for (let i = 0; i !== NONE;) {
		const row = rowOf(tree, i);
		const isBefore = i >= callers || (i === 0 && callers < Infinity);
		const left = (tree.from[i] - view.from) * scale;
		const right = left + tree.total[i] * scale;
		let next = NONE;
		if (right > 0 && left < width && tree.total[i] > 0 && tree.total[i] >= tree.least) {
			if (right - left < narrowest) {
				if (row >= firstRow && row <= lastRow)
					runs.extend(row, i, left, right,
						isMarked !== null && isMarked(i));
			} else {
				if (row >= firstRow && row <= lastRow) {
					runs.end(row);
					boxes.add(i, row, left, right, 0, 0);
				}
				if ((isBefore ? row > firstRow : row < lastRow) && !(isClosed && isClosed(i))) {
					if (tree.child[i] === UNKNOWN && performance.now() < until)
						tree.expand(i);
					next = tree.child[i];
					if (next === UNKNOWN) {
						complete = false;
						next = NONE;
					}
				}
			}
		}
		// If a box begins beyond the right edge, so do its siblings to the right: skip
		// them.
		if (next === NONE)
			next = nodeAfter(tree, left < width ? i : tree.parent[i]);
		if (next === NONE) {
			next = rest;
			rest = NONE;
		}
		i = next;
	}
	for (let row = 0; row < tree.rows; row++)
		runs.end(row);
	return complete;
}

/**
 * Returns a function that finds the neighbours of a box in its row.
 * @param {BoxList} boxes @param {number[]} among boxes that can be neighbours, from left to right
 * in each row
 * @returns {(box: number) => number[]} for one of these boxes, the nearest ones to its left and
 * right
 */
export function neighbours({row}, among) {
	/** @type {number[][]} by row */
	const rows = [];
	/** @type {Map<number, number>} by box, its index in its row */
	const places = new Map();
	for (const i of among) {
		const inRow = rows[row[i]] ||= [];
		places.set(i, inRow.push(i) - 1);
	}
	return box => {
		const place = /** @type {number} */ (places.get(box));
		return [place - 1, place + 1].flatMap(at => rows[row[box]][at] ?? []);
	};
}

/** Returns the first and last row with boxes. @param {BoxList} boxes @returns {[number, number]} */
export function rowsOf({count, row}) {
	let first = count ? row[0] : 0;
	let last = first;
	for (let i = 1; i < count; i++) {
		first = Math.min(first, row[i]);
		last = Math.max(last, row[i]);
	}
	return [first, last];
}

/**
 * Returns a box's left edge on screen, limited to the view. Edges of wide boxes are on whole
 * pixels, with one pixel between neighbours; edges of narrow boxes are not rounded.
 * @param {number} left @param {number} right @param {number} width of the view
 */
export function snapLeft(left, right, width) {
	const cut = Math.max(left, 0);
	return Math.min(right, width) - cut < 3 ? cut : Math.round(cut);
}

/**
 * Returns a box's width on screen, rounded as in snapLeft().
 * @param {number} left @param {number} right @param {number} width of the view
 */
export function snapWidth(left, right, width) {
	const cut = Math.max(left, 0);
	const end = Math.min(right, width);
	if (end - cut < 3)
		return end - cut;
	return Math.round(end) - Math.round(cut) - (right > width ? 0 : 1);
}
