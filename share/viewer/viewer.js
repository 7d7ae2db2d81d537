// SPDX-License-Identifier: MIT
// @ts-check
// The interactive picture: what is shown, and drawing it. What a person does to it: control.js.

import {buildTree, nodeAt, nodeCovering} from './tree.js';
import {invertTree} from './invert.js';
import {nodesWithin, stretchesOf} from './marks.js';
import {BoxList, snapLeft, snapWidth, visibleBoxes} from './layout.js';
import {Camera} from './camera.js';
import {ABOVE, PLAIN, Painter, UNMATCHED} from './draw.js';
import {buildPage, showPage} from './page.js';
import {applyTheme} from './theme.js';
import {labelOf, sentence} from './describe.js';
import {fillDetails, fillTooltip, placeTooltip} from './details.js';
import {fillCrumbs} from './crumbs.js';
import {Finder} from './finder.js';

/** What finding out children may cost of a frame; the next frame goes on. */
const EXPANDING_MS = 5;

export class Viewer {
	/** @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile */
	constructor(svg, profile) {
		this.profile = profile;
		/** @type {import('./tree.js').Tree} */
		this.base = this.whole = buildTree(profile.tree);
		this.stretches = stretchesOf(profile.marks, profile.samples);
		this.stretch = -1;  // the one shown, -1 for all of the time
		/** @type {import('./tree.js').Tree | null} */
		this.inverted = null;
		this.tree = this.base;
		this.finder = new Finder(profile, this.base);
		this.page = buildPage(svg, profile);
		this.painter = new Painter(this.page.canvas, profile);
		this.camera = new Camera(this.tree.total[0], moving => this.moved(moving));
		this.boxes = new BoxList();
		this.icicle = profile.icicle;
		this.bottomUp = profile.reversed;
		/** @type {'' | 'light' | 'dark'} */
		this.chosenTheme = '';
		this.zoomed = 0;
		this.free = false;  // the camera shows no node's span but one chosen by hand
		this.hovered = -1;
		this.selected = -1;
		this.described = -2;
		/** @type {{x: number, y: number} | null} */
		this.pointer = null;
		this.origin = {left: 0, top: 0};
		this.width = 0;
		this.height = 0;
		this.scrollTop = 0;
		this.frameRequest = 0;
		/** Until everything is in place: nothing is drawn twice before it is seen once. */
		this.held = true;
		this.onZoom = (/** @type {number} */ _node) => {};
		this.onAllTime = () => {};
	}

	show() {
		showPage(this.page);
		this.recolor();
		this.resize();
		this.toRoot();
		this.describe();
	}

	/** From now on what changes is drawn. */
	release() {
		this.held = false;
		this.draw();
	}

	recolor() {
		this.theme = applyTheme(this.page, this.profile, this.chosenTheme);
		this.painter.dress(this.theme);
		this.draw();
	}

	resize() {
		const {scroller, sheet} = this.page;
		if (!scroller.clientWidth)
			return;
		const {rowPx} = this.profile;
		const fromEnd = scroller.scrollHeight - this.height - this.scrollTop;
		sheet.style.height = `${this.tree.rows * rowPx}px`;
		this.width = scroller.clientWidth;
		this.height = Math.max(scroller.clientHeight, 1);
		this.painter.resize(this.width, this.height);
		// A flame stands on its root: that end stays.
		if (!this.icicle)
			scroller.scrollTop =
				scroller.scrollHeight - this.height - Math.max(fromEnd, 0);
		const area = scroller.getBoundingClientRect();
		this.origin = {left: area.left, top: area.top};
		this.scrolled();
		this.leave();
		this.draw();
	}

	scrolled() {
		this.scrollTop = this.page.scroller.scrollTop;
		this.redraw();
	}

	/** Scroll to where the root is. */
	toRoot() {
		const {scroller} = this.page;
		scroller.scrollTop = this.icicle ? 0 : scroller.scrollHeight;
		this.scrollTop = scroller.scrollTop;
		this.redraw();
	}

	/** Top edge of a row within the canvas. @param {number} row */
	topOf(row) {
		const {rowPx} = this.profile;
		const rows = this.icicle ? row : this.tree.rows - 1 - row;
		return rows * rowPx - this.scrollTop;
	}

	/** @param {number} y within the canvas */
	rowAt(y) {
		const rows = Math.floor((y + this.scrollTop) / this.profile.rowPx);
		return this.icicle ? rows : this.tree.rows - 1 - rows;
	}

	redraw() {
		this.frameRequest ||= requestAnimationFrame(() => this.draw());
	}

	draw() {
		cancelAnimationFrame(this.frameRequest);
		this.frameRequest = 0;
		if (!this.width || this.held)
			return;
		const ends = [this.rowAt(0), this.rowAt(this.height)];
		const complete = visibleBoxes(this.tree, {...this.camera.span, width: this.width,
			firstRow: Math.max(Math.min(...ends), 0), lastRow: Math.max(...ends),
			narrowest: this.profile.narrowestPx,
			isMarked: this.finder.markIn(this.tree),
			until: performance.now() + EXPANDING_MS}, this.boxes);
		this.painter.draw(this.boxes, i => this.groupOf(this.boxes, i),
			row => this.topOf(row), node => labelOf(this, node), this.width);
		this.placeFrames();
		if (!complete && !this.camera.moving)
			this.redraw();
	}

	/** @param {BoxList} boxes @param {number} i */
	groupOf({node, merged, marked}, i) {
		const {profile, tree, painter, finder} = this;
		const {matches} = finder;
		if (merged[i])
			return marked[i] ? painter.group(-1, PLAIN)
				: painter.group(profile.mergedColor, matches ? UNMATCHED : PLAIN);
		const frame = tree.frame[node[i]];
		if (matches && node[i] > 0 && matches[frame])
			return painter.group(-1, PLAIN);
		const place = node[i] === 0 ? profile.rootColor : profile.frameColor[frame];
		const above = tree.depth[node[i]] < tree.depth[this.zoomed];
		return painter.group(place, matches ? UNMATCHED : above ? ABOVE : PLAIN);
	}

	/** The camera has another span. @param {boolean} moving */
	moved(moving) {
		this.page.ui.classList.toggle('moving', moving);
		this.draw();
		if (!moving)
			this.hover();
	}

	/** @param {number} x @param {number} y in the window @returns {number} -1 for none */
	nodeUnder(x, y) {
		const share = (x - this.origin.left) / this.width;
		const down = y - this.origin.top;
		if (share < 0 || share >= 1 || down < 0 || down >= this.height)
			return -1;
		const {from, to} = this.camera.span;
		const row = this.rowAt(down);
		return row < 0 ? -1 : nodeAt(this.tree, row, from + share * (to - from));
	}

	/** Find out anew what is under the pointer: it or the picture has moved. */
	hover() {
		this.hovered = this.pointer ? this.nodeUnder(this.pointer.x, this.pointer.y) : -1;
		const {tooltip, canvas, ui} = this.page;
		canvas.classList.toggle('over', this.hovered >= 0);
		tooltip.style.display = this.hovered >= 0 ? 'block' : 'none';
		if (this.pointer && this.hovered >= 0) {
			fillTooltip(tooltip, this, this.hovered);
			placeTooltip(tooltip, ui, this.pointer);
		}
		this.placeFrames();
		this.describe();
	}

	leave() {
		this.pointer = null;
		this.hover();
	}

	/** What keys and the line at the bottom are about. */
	get current() {
		return this.hovered >= 0 ? this.hovered : this.selected;
	}

	/** Write the line at the bottom, if it would say something else. */
	describe() {
		if (this.described === this.current)
			return;
		this.described = this.current;
		fillDetails(this.page.details, this, this.current);
	}

	/** The frames around what is pointed at and what is selected. */
	placeFrames() {
		this.frameAround(this.page.outline, this.hovered);
		this.frameAround(this.page.ring, this.selected);
	}

	/** @param {HTMLElement} frame @param {number} node */
	frameAround(frame, node) {
		const span = node < 0 ? null : this.edgesOf(node);
		frame.style.display = span ? 'block' : 'none';
		if (!span)
			return;
		const {left, right} = span;
		const inner = snapLeft(left, right, this.width);
		const x = Math.max(inner - 1, 0);
		const end = inner + Math.max(snapWidth(left, right, this.width), 1) + 1;
		const y = this.topOf(this.tree.depth[node]) - 1;
		frame.style.width = `${Math.min(end, this.width) - x}px`;
		frame.style.height = `${this.profile.rowPx + 1}px`;
		frame.style.transform = `translate(${x}px,${y}px)`;
	}

	/** In CSS pixels within the canvas, null when out of sight. @param {number} node */
	edgesOf(node) {
		const {from, to} = this.camera.span;
		const scale = this.width / (to - from);
		const left = (this.tree.from[node] - from) * scale;
		const right = left + this.tree.total[node] * scale;
		return right <= 0 || left >= this.width ? null : {left, right};
	}

	/** @param {number} node -1 for none */
	select(node) {
		this.selected = node;
		if (node >= 0)
			this.page.spoken.textContent = sentence(this, node);
		this.placeFrames();
		this.describe();
	}

	/** What fills the view has changed, or what that is called. */
	describeZoom() {
		const {page, zoomed} = this;
		page.reset.disabled = zoomed === 0 && !this.free && !this.part;
		fillCrumbs(page.crumbs, this, node => this.onZoom(node), () => this.onAllTime());
		this.described = -2;
		this.describe();
	}

	/** The deepest node that covers all that is seen. */
	covering() {
		const {from, to} = this.camera.span;
		return nodeCovering(this.tree, from, to);
	}

	/** @param {boolean} bottomUp */
	setOrder(bottomUp) {
		this.bottomUp = bottomUp;
		if (bottomUp !== this.profile.reversed)
			this.inverted ||= invertTree(this.base);
		this.tree = bottomUp !== this.profile.reversed && this.inverted || this.base;
		this.zoomed = 0;
		this.free = false;
		this.selected = this.hovered = -1;
		this.finder.forget();
	}

	/** The part of the time shown, if not all. */
	get part() {
		return this.stretches[this.stretch];
	}

	/** Needs a zoom and resize() afterwards. @param {number} stretch one with weight, or -1 */
	setStretch(stretch) {
		const {profile, finder} = this;
		this.stretch = stretch;
		this.base = this.part
			? buildTree(nodesWithin(profile.tree, profile.samples, this.part))
			: this.whole;
		this.inverted = null;
		this.camera.total = this.base.total[0];
		this.setOrder(this.bottomUp);
		finder.base = this.base;
		finder.search(finder.query);
	}
}
