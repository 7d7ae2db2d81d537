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

export class More {
	/** @param {import('./viewer.js').Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		this.boxes = new BoxList();
		this.ends = [0, 0];  // rows
		this.isKnown = true;
		/** @type {unknown[]} what the highest row is asked for, and was found for */
		this.wanted = this.of = [];
		this.lookSoon = whenResting(() => this.look(), REST_MS);
		viewer.page.more.forEach((button, i) =>
			button.addEventListener('click', () => this.goOn(i ? 1 : -1)));
	}

	/** The view is another one, or another part of it is seen. */
	tell() {
		const {state, camera, width} = this.viewer;
		const {from, to} = camera.span;
		this.wanted = [state.tree, state.tree.nodes, state.zoomed, from, to, width];
		if (camera.moving || !width)
			return;
		if (this.wanted.every((one, i) => one === this.of[i]))
			this.write();
		else
			this.lookSoon();
	}

	look() {
		this.of = this.wanted;
		this.isKnown = this.findEnds();
		this.write();
		if (!this.isKnown)
			this.tell();
	}

	/**
	 * The first and last row with a box within what is seen from left to right.
	 * @returns {boolean} whether there are no more of them
	 */
	findEnds() {
		const {state, camera, width} = this.viewer;
		const isKnown = visibleBoxes(state.tree, {...camera.span, width, firstRow: 0, lastRow: state.tree.rows,
			narrowest: state.profile.narrowestPx, isClosed: node => state.isClosed(node),
			until: performance.now() + LOOKING_MS}, this.boxes);
		this.ends = rowsOf(this.boxes);
		return isKnown;
	}

	write() {
		const {page, state, height} = this.viewer;
		const rows = [this.viewer.rowAt(0), this.viewer.rowAt(height - 1)];
		const past = this.ends[1] - Math.max(...rows);
		const before = Math.max(Math.min(...rows), 0) - this.ends[0];
		(state.rootOnTop ? [before, past] : [past, before]).forEach((count, i) => {
			const button = page.more[i];
			button.hidden = count <= 0;
			button.textContent =
				`${i ? '\u2193' : '\u2191'} ${count}${this.isKnown ? '' : '+'} more row${count === 1 ? '' : 's'}`;
		});
	}

	/** @param {1 | -1} down */
	goOn(down) {
		const {page, height, state} = this.viewer;
		page.scroller.scrollBy({top: down * (height - KEPT_ROWS * state.profile.rowPx),
			behavior: isStill() ? 'auto' : 'smooth'});
	}
}
