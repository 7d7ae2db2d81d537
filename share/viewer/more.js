// SPDX-License-Identifier: MIT
// @ts-check
// Buttons at the upper and lower edge of the view that show how many rows are out of sight there,
// and scroll to them.

import {whenResting} from './input.js';
import {BoxList, rowsOf, visibleBoxes} from './layout.js';
import {isStill} from './page.js';

/**
 * Maximum time in ms of one search for the outermost rows. If children are still unknown, another
 * search continues later.
 */
const LOOKING_MS = 20;
/** Count rows after this time in ms without a change, because that costs more than drawing. */
const REST_MS = 100;
/** Number of rows that stay in sight when a button scrolls. */
const KEPT_ROWS = 2;

/** @param {import('./viewer.js').Viewer} viewer */
export function tellMore(viewer) {
	const {page, state, camera} = viewer;
	const boxes = new BoxList();
	let ends = [0, 0];  // first and last row
	let isKnown = true;
	/** @type {unknown[]} the view whose rows are to be counted */
	let wanted = [];
	/** @type {unknown[]} the view for which `ends` holds */
	let of = [];

	const write = () => {
		const {height} = viewer;
		const rows = [viewer.rowAt(0), viewer.rowAt(height - 1)];
		const past = ends[1] - Math.max(...rows);
		const before = Math.max(Math.min(...rows), 0) - ends[0];
		(state.rootOnTop ? [before, past] : [past, before]).forEach((count, i) => {
			const button = page.more[i];
			button.hidden = count <= 0;
			button.textContent =
				`${i ? '\u2193' : '\u2191'} ${count}${isKnown ? '' : '+'} more row${count === 1 ? '' : 's'}`;
		});
	};
	/** Update the buttons when the view has changed or scrolled. */
	const tell = () => {
		const {from, to} = camera.span;
		wanted = [state.tree, state.tree.nodes, state.zoomed, from, to, viewer.width];
		if (camera.moving || !viewer.width)
			return;
		if (wanted.every((one, i) => one === of[i]))
			write();
		else
			checkSoon();
	};
	const checkSoon = whenResting(() => {
		of = wanted;
		isKnown = visibleBoxes(state.tree, {...camera.span, width: viewer.width, firstRow: 0,
			lastRow: state.tree.rows, narrowest: state.profile.narrowestPx, isClosed: node => state.isClosed(node),
			until: performance.now() + LOOKING_MS}, boxes);
		ends = rowsOf(boxes);
		write();
		if (!isKnown)
			tell();
	}, REST_MS);

	page.more.forEach((button, i) => button.addEventListener('click', () => page.scroller.scrollBy({
		top: (i ? 1 : -1) * (viewer.height - KEPT_ROWS * state.profile.rowPx),
		behavior: isStill() ? 'auto' : 'smooth'})));
	viewer.onRest = tell;
}
