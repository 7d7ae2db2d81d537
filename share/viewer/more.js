// SPDX-License-Identifier: MIT
// @ts-check
// How many rows of what is shown are out of sight above and below it: said at the edges, by buttons
// that lead there.

import {whenResting} from './input.js';
import {BoxList, rowsOf, visibleBoxes} from './layout.js';
import {isStill} from './page.js';

/** What looking for the highest row may cost at a time: where children are still unknown it goes on. */
const LOOKING_MS = 20;
/** All rows are looked at when the view rests: that costs more than drawing those in sight. */
const REST_MS = 100;
/** Of what is seen, how much stays in sight when one goes on. */
const KEPT_ROWS = 2;

/** @param {import('./viewer.js').Viewer} viewer */
export function tellMore(viewer) {
	const {page, state, camera} = viewer;
	const boxes = new BoxList();
	let ends = [0, 0];  // rows
	let isKnown = true;
	/** @type {unknown[]} what the first and the last row are asked for */
	let wanted = [];
	/** @type {unknown[]} and were found for */
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
	/** The view is another one, or another part of it is seen. */
	const tell = () => {
		const {from, to} = camera.span;
		wanted = [state.tree, state.tree.nodes, state.zoomed, from, to, viewer.width];
		if (camera.moving || !viewer.width)
			return;
		if (wanted.every((one, i) => one === of[i]))
			write();
		else
			lookSoon();
	};
	const lookSoon = whenResting(() => {
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
