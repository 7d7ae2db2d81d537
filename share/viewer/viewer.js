// SPDX-License-Identifier: MIT
// @ts-check
// The graph on the canvas: which boxes are drawn in which colours, and which box is at a position
// in the window. Callbacks report that the graph was drawn or has another size.

import {BoxList, visibleBoxes} from './layout.js';
import {ABOVE, PLAIN, Painter, UNMATCHED, applyTheme} from './draw.js';
import {Camera} from './navigate.js';
import {labelOf} from './text.js';
import {isCallee, nodeAt} from './tree.js';

/** Maximum time in ms for expanding children in one frame; the next frame continues. */
const EXPANDING_MS = 5;

export class Viewer {
	/**
	 * @param {import('./page.js').Page} page @param {import('./state.js').State} state
	 * @param {import('./search.js').Finder} finder
	 */
	constructor(page, state, finder) {
		this.page = page;
		this.state = state;
		this.finder = finder;
		this.painter = new Painter(page.canvas, state.profile);
		this.camera = new Camera(state.tree.total[0], () => this.redraw());
		this.boxes = new BoxList();
		this.origin = {left: 0, top: 0};
		this.width = 0;
		this.height = 0;
		this.scrollTop = 0;
		this.frameRequest = 0;
		/** While this is true, nothing is drawn: not all parts of the viewer are ready. */
		this.held = true;
		this.onDrawn = () => {};
		this.onStill = () => {};
		this.onRest = () => {};
		this.onSpan = () => {};
		this.onResized = () => {};
		state.onTree(() => {
			this.camera.total = state.tree.total[0];
		});
	}

	/** Allow drawing: all parts of the viewer are ready. */
	release() {
		this.held = false;
		this.draw();
	}

	recolor() {
		this.painter.dress(applyTheme(this.page, this.state.profile, this.state.theme));
		this.draw();
	}

	resize() {
		const {scroller, sheet} = this.page;
		if (!scroller.clientWidth)
			return;
		const {tree, profile, rootOnTop} = this.state;
		const fromEnd = scroller.scrollHeight - this.height - this.scrollTop;
		sheet.style.height = `${tree.rows * profile.rowPx}px`;
		this.width = scroller.clientWidth;
		this.height = Math.max(scroller.clientHeight, 1);
		this.painter.resize(this.width, this.height);
		// A flame has its root at the bottom, so keep the scrolling distance from the
		// bottom.
		if (!rootOnTop)
			scroller.scrollTop =
				scroller.scrollHeight - this.height - Math.max(fromEnd, 0);
		const area = scroller.getBoundingClientRect();
		this.origin = {left: area.left, top: area.top};
		this.scrolled();
		this.onResized();
		this.draw();
	}

	scrolled() {
		this.scrollTop = this.page.scroller.scrollTop;
		this.redraw();
	}

	/** Scroll to the root. */
	toRoot() {
		const {scroller} = this.page;
		const {tree, profile, rootOnTop, isSandwich} = this.state;
		scroller.scrollTop = !isSandwich ? (rootOnTop ? 0 : scroller.scrollHeight)
			: this.topOf(tree.rootRow) + this.scrollTop - (this.height - profile.rowPx) / 2;
		this.scrollTop = scroller.scrollTop;
		this.redraw();
	}

	/** Compute the top edge of a row within the canvas. @param {number} row */
	topOf(row) {
		const {tree, profile, rootOnTop} = this.state;
		const rows = rootOnTop ? row : tree.rows - 1 - row;
		return rows * profile.rowPx - this.scrollTop;
	}

	/** @param {number} y within the canvas */
	rowAt(y) {
		const {tree, profile, rootOnTop} = this.state;
		const rows = Math.floor((y + this.scrollTop) / profile.rowPx);
		return rootOnTop ? rows : tree.rows - 1 - rows;
	}

	redraw() {
		this.frameRequest ||= requestAnimationFrame(now => this.frame(now));
	}

	/**
	 * Advance the camera and draw. If the camera only starts, draw in the next frame. @param
	 * {number} now
	 */
	frame(now) {
		const {camera, page} = this;
		const wasMoving = camera.moving;
		const isChanged = camera.advance(now);
		page.ui.classList.toggle('moving', camera.moving);
		if (isChanged)
			this.draw();
		else
			this.frameRequest = requestAnimationFrame(next => this.frame(next));
		if (wasMoving && !camera.moving)
			this.onStill();
	}

	draw() {
		cancelAnimationFrame(this.frameRequest);
		this.frameRequest = 0;
		if (!this.width || this.held)
			return;
		this.onSpan();
		const {state} = this;
		const ends = [this.rowAt(0), this.rowAt(this.height)];
		const complete = visibleBoxes(state.tree, {...this.camera.span, width: this.width,
			firstRow: Math.max(Math.min(...ends), 0), lastRow: Math.max(...ends),
			narrowest: state.profile.narrowestPx,
			isMarked: this.finder.markIn(),
			isClosed: state.hasWaits ? node => state.isClosed(node) : null,
			until: performance.now() + EXPANDING_MS}, this.boxes);
		this.painter.draw(this.boxes, i => this.groupOf(this.boxes, i),
			row => this.topOf(row), node => labelOf(state, node), this.width,
			state.inlined());
		this.onDrawn();
		if (!complete || this.camera.moving)
			this.redraw();
		else
			this.onRest();
	}

	/** @param {BoxList} boxes @param {number} i */
	groupOf({node, merged, marked}, i) {
		const {painter} = this;
		const {profile, tree, zoomed} = this.state;
		const {matches} = this.finder;
		if (merged[i])
			return marked[i] ? painter.group(-1, PLAIN)
				: painter.group(profile.mergedColor, matches ? UNMATCHED : PLAIN);
		const frame = tree.frame[node[i]];
		if (matches && node[i] > 0 && matches[frame])
			return painter.group(-1, PLAIN);
		const place = node[i] === 0 ? profile.rootColor : profile.frameColor[frame];
		const above = tree.depth[node[i]] < tree.depth[zoomed]
			|| (zoomed > 0 && isCallee(tree, node[i]) !== isCallee(tree, zoomed));
		return painter.group(place, matches ? UNMATCHED : above ? ABOVE : PLAIN);
	}

	/** @param {number} x @param {number} y in the window @returns {number} -1 for none */
	nodeUnder(x, y) {
		const share = (x - this.origin.left) / this.width;
		const down = y - this.origin.top;
		if (share < 0 || share >= 1 || down < 0 || down >= this.height)
			return -1;
		const {from, to} = this.camera.span;
		const row = this.rowAt(down);
		const node = row < 0 ? -1 : nodeAt(this.state.tree, row, from + share * (to - from));
		return this.state.closedBelow(node) < 0 ? node : -1;
	}

	/** Returns a box's edges in canvas pixels; null: out of sight. @param {number} node */
	edgesOf(node) {
		const {from, to} = this.camera.span;
		const scale = this.width / (to - from);
		const {tree} = this.state;
		const left = (tree.from[node] - from) * scale;
		const right = left + tree.total[node] * scale;
		return right <= 0 || left >= this.width ? null : {left, right};
	}
}
