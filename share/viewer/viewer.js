// SPDX-License-Identifier: MIT
// @ts-check
// The interactive picture's state, and what changes it.

import {buildTree, nodeAt} from './tree.js';
import {visibleBoxes, snapBox} from './layout.js';
import {matchFrames, matchedWeight} from './search.js';
import {drawBoxes, labelFont, measurer, ROW_PX} from './draw.js';
import {buildPage, element, fillWindow, readTheme, restoreSize, showPage} from './page.js';
import {formatCount, formatPercent, formatSeconds} from './format.js';
import {fillTooltip, nodeName, placeTooltip} from './tooltip.js';
import {listen} from './input.js';

const ZOOM_MS = 280;
const UNMATCHED_ALPHA = 0.35;
const ANCESTOR_ALPHA = 0.6;

export class Viewer {
	/** @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile */
	constructor(svg, profile) {
		this.profile = profile;
		this.tree = buildTree(profile.nodeSelf, profile.nodePops);
		this.page = buildPage(svg, profile);
		const context = this.page.canvas.getContext('2d');
		if (!context)
			throw new Error('no canvas');
		this.context = context;
		this.zoomed = 0;
		this.view = {from: 0, to: this.tree.total[0]};
		this.width = 0;
		this.height = 0;
		/** @type {Uint8Array | null} */
		this.matches = null;
		/** @type {string[] | null} */
		this.lowered = null;
		/** @type {import('./layout.js').Box[]} */
		this.boxes = [];
		this.hovered = -1;
		/** @type {{x: number, y: number} | null} */
		this.pointer = null;
		this.frameRequest = 0;
		this.animation = 0;
	}

	start() {
		const {scroller} = this.page;
		showPage(this.page);
		this.recolor();
		this.resize();
		scroller.scrollTop = scroller.scrollHeight;
		this.draw();
		this.describeZoom();
		listen(this.page, {
			point: (x, y) => {
				this.pointer = {x, y};
				this.hover();
			},
			leave: () => this.leave(),
			pick: (x, y) => {
				const node = this.nodeUnder(x, y);
				if (node >= 0)
					this.zoom(node);
			},
			reset: () => this.zoom(0),
			search: text => this.search(text),
			resize: () => {
				this.resize();
				this.draw();
			},
			scroll: () => this.redraw(),
			recolor: () => {
				this.recolor();
				this.draw();
			},
			print: printing => (printing ? restoreSize : fillWindow)(this.page.svg),
		});
	}

	recolor() {
		this.theme = readTheme(this.page, this.profile);
		this.context.font = labelFont(this.theme);
		this.measure = measurer(this.context);
	}

	resize() {
		const {scroller, canvas, sheet} = this.page;
		const atBottom = scroller.scrollTop + this.height >= scroller.scrollHeight - ROW_PX;
		const ratio = window.devicePixelRatio || 1;
		sheet.style.height = `${this.tree.rows * ROW_PX}px`;
		this.width = Math.max(scroller.clientWidth, 1);
		this.height = Math.max(scroller.clientHeight, 1);
		canvas.width = Math.round(this.width * ratio);
		canvas.height = Math.round(this.height * ratio);
		canvas.style.width = `${this.width}px`;
		canvas.style.height = `${this.height}px`;
		if (atBottom)
			scroller.scrollTop = scroller.scrollHeight;
		this.leave();
	}

	/** Top edge of a row within the canvas. @param {number} row */
	topOf(row) {
		return (this.tree.rows - 1 - row) * ROW_PX - this.page.scroller.scrollTop;
	}

	/** @param {number} y within the canvas */
	rowAt(y) {
		return this.tree.rows - 1 - Math.floor((y + this.page.scroller.scrollTop) / ROW_PX);
	}

	redraw() {
		this.frameRequest ||= requestAnimationFrame(() => {
			this.frameRequest = 0;
			this.draw();
		});
	}

	draw() {
		const {context, width, height} = this;
		const ratio = this.page.canvas.width / width;
		this.boxes = visibleBoxes(this.tree, {...this.view, width,
			firstRow: Math.max(0, this.rowAt(height)), lastRow: this.rowAt(0)});
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = labelFont(this.theme);
		drawBoxes(context, this.boxes, box => this.lookOf(box), row => this.topOf(row),
			width, this.measure);
		this.hover();
	}

	/** @param {import('./layout.js').Box} box @returns {import('./draw.js').Look} */
	lookOf(box) {
		const {profile, theme, matches, tree} = this;
		const {ink} = theme;
		if (box.merged)
			return {fill: theme.colors[profile.mergedColor], ink, label: '',
				alpha: matches ? UNMATCHED_ALPHA : 1};
		const frame = profile.nodeFrame[box.node];
		const label = this.labelOf(box.node);
		if (matches && box.node > 0 && matches[frame])
			return {fill: theme.match, ink: theme.matchInk, alpha: 1, label};
		const place = box.node === 0 ? profile.rootColor : profile.frameColor[frame];
		const above = tree.depth[box.node] < tree.depth[this.zoomed];
		return {fill: theme.colors[place], ink, label,
			alpha: matches ? UNMATCHED_ALPHA : above ? ANCESTOR_ALPHA : 1};
	}

	/** @param {number} node */
	labelOf(node) {
		if (node > 0)
			return nodeName(this.profile, node);
		const {profile, tree} = this;
		const time = profile.periodNs
			? `, ${formatSeconds(tree.total[0] * profile.periodNs / 1e9)}` : '';
		return `all: ${formatCount(tree.total[0])} samples${time}`;
	}

	/** @param {number} x @param {number} y in the window @returns {number} -1 for none */
	nodeUnder(x, y) {
		const area = this.page.canvas.getBoundingClientRect();
		const share = (x - area.left) / this.width;
		if (share < 0 || share >= 1 || y < area.top || y >= area.bottom)
			return -1;
		const row = this.rowAt(y - area.top);
		const weight = this.view.from + share * (this.view.to - this.view.from);
		return row < 0 ? -1 : nodeAt(this.tree, row, weight);
	}

	/** Find out anew what is under the pointer: it or the picture has moved. */
	hover() {
		if (!this.pointer)
			return;
		const node = this.nodeUnder(this.pointer.x, this.pointer.y);
		const {outline, tooltip, canvas, ui} = this.page;
		const shown = node < 0 ? 'none' : 'block';
		outline.style.display = tooltip.style.display = shown;
		canvas.classList.toggle('over', node >= 0);
		if (node >= 0) {
			this.outlineNode(node);
			if (node !== this.hovered)
				fillTooltip(tooltip, this.profile, this.tree, node, this.zoomed);
			placeTooltip(tooltip, ui, this.pointer);
		}
		this.hovered = node;
	}

	leave() {
		this.pointer = null;
		this.hovered = -1;
		this.page.outline.style.display = this.page.tooltip.style.display = 'none';
	}

	/** @param {number} node */
	outlineNode(node) {
		const {tree, view} = this;
		const area = this.page.canvas.getBoundingClientRect();
		const scale = this.width / (view.to - view.from);
		const left = (tree.from[node] - view.from) * scale;
		const right = left + tree.total[node] * scale;
		const place = snapBox({node, row: 0, left, right, merged: false}, this.width);
		Object.assign(this.page.outline.style, {
			left: `${area.left + place.x - 1}px`,
			top: `${area.top + this.topOf(tree.depth[node]) - 1}px`,
			width: `${Math.max(place.width, 1) + 2}px`,
			height: `${ROW_PX + 1}px`,
		});
	}

	/** @param {number} node */
	zoom(node) {
		const from = {...this.view};
		const {tree} = this;
		const to = {from: tree.from[node], to: tree.from[node] + tree.total[node]};
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
		const begun = performance.now();
		this.zoomed = node;
		this.describeZoom();
		this.describeMatches();
		cancelAnimationFrame(this.animation);
		const step = (/** @type {number} */ now) => {
			const done = still ? 1 : Math.min(Math.max((now - begun) / ZOOM_MS, 0), 1);
			const eased = 1 - (1 - done) ** 3;
			this.view = done === 1 ? to : {
				from: from.from + (to.from - from.from) * eased,
				to: from.to + (to.to - from.to) * eased,
			};
			this.draw();
			this.animation = done < 1 ? requestAnimationFrame(step) : 0;
		};
		step(begun);
	}

	describeZoom() {
		const {tree, page, zoomed} = this;
		const share = formatPercent(tree.total[zoomed], tree.total[0]);
		page.reset.disabled = zoomed === 0;
		page.spoken.textContent = zoomed === 0 ? '' : `${this.labelOf(zoomed)}, ${share}`;
		this.hovered = -1;
	}

	/** @param {string} text */
	search(text) {
		const {profile} = this;
		this.lowered ||= Array.from({length: profile.frames},
			(_, frame) => profile.name(frame).toLowerCase());
		this.matches = matchFrames(this.lowered, text);
		this.describeMatches();
		this.draw();
	}

	/**
	 * Matched shares of everything and of the zoomed node.
	 * @returns {{all: number, view: number}}
	 */
	matchedShares() {
		const {tree, profile, matches, zoomed} = this;
		if (!matches)
			return {all: 0, view: 0};
		const share = (/** @type {number} */ node) =>
			matchedWeight(tree, profile.nodeFrame, matches, node) / tree.total[node];
		return {all: share(0), view: share(zoomed)};
	}

	describeMatches() {
		const {page, matches, zoomed} = this;
		const shares = this.matchedShares();
		const text = [`${formatPercent(shares.all, 1)} of total`];
		if (zoomed)
			text.push(`${formatPercent(shares.view, 1)} of zoomed`);
		page.matched.replaceChildren(
			...matches ? ['Matched ', element('b', {}, [text.join(' \u00b7 ')])] : []);
	}

	/** Boxes on screen, in the window's pixels. */
	boxesShown() {
		const area = this.page.canvas.getBoundingClientRect();
		return this.boxes.map(box => ({
			name: box.merged ? '' : this.labelOf(box.node),
			merged: box.merged,
			row: box.row,
			left: area.left + Math.max(box.left, 0),
			right: area.left + Math.min(box.right, this.width),
			top: area.top + this.topOf(box.row),
			height: ROW_PX,
		}));
	}
}
