// SPDX-License-Identifier: MIT
// @ts-check
// Which boxes are on screen and where. Costs pixels, not nodes: subtrees that are narrow or out of
// sight are stepped over whole.

/**
 * @typedef {object} View
 * @property {number} from weight at the left edge
 * @property {number} to weight at the right edge
 * @property {number} width in CSS pixels
 * @property {number} firstRow
 * @property {number} lastRow
 */

/**
 * @typedef {object} Box
 * @property {number} node the first one of a merged run
 * @property {number} row
 * @property {number} left in CSS pixels, may be outside of the view
 * @property {number} right
 * @property {boolean} merged stands for a run of boxes too narrow to be drawn
 */

export const NARROWEST_PX = 0.5;

/**
 * @param {import('./tree.js').Tree} tree @param {View} view
 * @returns {Box[]} rows interleaved, each row from left to right
 */
export function visibleBoxes(tree, view) {
	const {from, total, end, depth} = tree;
	const scale = view.width / (view.to - view.from);
	/** @type {Box[]} */
	const boxes = [];
	/** @type {(Box | undefined)[]} */
	const runs = [];
	const flush = (/** @type {number} */ row) => {
		const run = runs[row];
		if (run && run.right - run.left >= NARROWEST_PX)
			boxes.push(run);
		runs[row] = undefined;
	};
	for (let i = 0; i < tree.nodes;) {
		const row = depth[i];
		const left = (from[i] - view.from) * scale;
		const right = (from[i] + total[i] - view.from) * scale;
		if (row > view.lastRow || right <= 0 || left >= view.width || total[i] === 0) {
			i = end[i];
		} else if (right - left < NARROWEST_PX) {
			const run = runs[row];
			if (row < view.firstRow) {
				// Below what is shown, and nothing above it is wide enough.
			} else if (run && left - run.right < 1e-3) {
				run.right = right;
			} else {
				flush(row);
				runs[row] = {node: i, row, left, right, merged: true};
			}
			i = end[i];
		} else {
			if (row >= view.firstRow) {
				flush(row);
				boxes.push({node: i, row, left, right, merged: false});
			}
			i++;
		}
	}
	for (let row = 0; row < runs.length; row++)
		flush(row);
	return boxes;
}

/**
 * Edges on whole pixels with one pixel between neighbours when wide, as they are when narrow; cut
 * to the view. @param {Box} box @param {number} width of the view
 * @returns {{x: number, width: number}}
 */
export function snapBox(box, width) {
	const left = Math.max(box.left, 0);
	const right = Math.min(box.right, width);
	if (right - left < 3)
		return {x: left, width: right - left};
	const x = Math.round(left);
	return {x, width: Math.round(right) - x - (box.right > width ? 0 : 1)};
}
