// SPDX-License-Identifier: MIT
// @ts-check
// Takes over from the static picture when everything it needs is there; until then, and on any
// failure, nothing of the picture is touched.

import {decodeProfile} from './decode.js';
import {buildTree, nodeAt} from './tree.js';
import {visibleBoxes, snapBox} from './layout.js';
import {matchFrames, matchedWeight} from './search.js';
import {drawBoxes, labelFont, measurer, ROW_PX} from './draw.js';
import {buildPage, element, fillWindow, hidePage, readTheme, restoreSize, showPage} from './page.js';
import {formatCount, formatPercent, formatSeconds} from './format.js';
import {listen} from './input.js';

const ZOOM_MS = 280;
const KINDS = ['', 'compiled at run time', 'no symbol', '', 'process', 'thread', 'inlined'];

class Viewer {
	/** @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile */
	constructor(svg, profile) {
		this.profile = profile;
		this.tree = buildTree(profile.nodeSelf, profile.nodePops);
		this.page = buildPage(svg, profile);
		this.context = /** @type {CanvasRenderingContext2D} */ (this.page.canvas.getContext('2d'));
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
		this.pointer = {x: 0, y: 0};
		this.frameRequest = 0;
		this.animation = 0;
	}

	start() {
		showPage(this.page);
		this.recolor();
		this.resize();
		this.page.scroller.scrollTop = this.page.scroller.scrollHeight;
		this.draw();
		this.describeZoom();
		listen(this.page, {
			point: (x, y) => { this.pointer = {x, y}; this.hover(); },
			leave: () => this.showHovered(-1),
			pick: (x, y) => { const node = this.nodeUnder(x, y); if (node >= 0) this.zoom(node); },
			reset: () => this.zoom(0),
			search: text => this.search(text),
			resize: () => { this.resize(); this.draw(); },
			scroll: () => this.redraw(),
			recolor: () => { this.recolor(); this.draw(); },
			print: printing => printing ? restoreSize(this.page.svg) : fillWindow(this.page.svg),
		});
	}

	recolor() {
		this.theme = readTheme(this.page, this.profile);
		this.context.font = labelFont(this.theme);
		this.measure = measurer(this.context);
	}

	resize() {
		const {scroller, canvas, sheet} = this.page;
		sheet.style.height = `${this.tree.rows * ROW_PX}px`;
		const atBottom = scroller.scrollTop + this.height >= scroller.scrollHeight - ROW_PX;
		this.width = Math.max(scroller.clientWidth, 1);
		this.height = Math.max(scroller.clientHeight, 1);
		const ratio = window.devicePixelRatio || 1;
		canvas.width = Math.round(this.width * ratio);
		canvas.height = Math.round(this.height * ratio);
		canvas.style.width = `${this.width}px`;
		canvas.style.height = `${this.height}px`;
		if (atBottom)
			scroller.scrollTop = scroller.scrollHeight;
		this.showHovered(-1);
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
		if (!this.frameRequest)
			this.frameRequest = requestAnimationFrame(() => { this.frameRequest = 0; this.draw(); });
	}

	draw() {
		const {context, width, height} = this;
		const ratio = this.page.canvas.width / width;
		this.boxes = visibleBoxes(this.tree, {...this.view, width,
			firstRow: Math.max(0, this.rowAt(height)), lastRow: this.rowAt(0)});
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = labelFont(this.theme);
		drawBoxes(context, this.boxes, box => this.lookOf(box), row => this.topOf(row), width,
			this.measure);
		this.hover();
	}

	/** @param {import('./layout.js').Box} box @returns {import('./draw.js').Look} */
	lookOf(box) {
		const {profile, theme, matches, tree} = this;
		const frame = profile.nodeFrame[box.node];
		const place = box.merged ? profile.mergedColor
			: box.node === 0 ? profile.rootColor : profile.frameColor[frame];
		const label = box.merged ? '' : this.nameOf(box.node);
		if (matches && box.node > 0 && !box.merged && matches[frame])
			return {fill: theme.match, ink: theme.matchInk, alpha: 1, label};
		const above = tree.depth[box.node] < tree.depth[this.zoomed];
		return {fill: theme.colors[place], ink: theme.ink, alpha: matches ? 0.35 : above ? 0.6 : 1,
			label};
	}

	/** @param {number} node */
	nameOf(node) {
		if (node > 0)
			return this.profile.name(this.profile.nodeFrame[node]);
		const total = this.tree.total[0];
		const time = this.profile.periodNs ? `, ${formatSeconds(total * this.profile.periodNs / 1e9)}` : '';
		return `all: ${formatCount(total)} samples${time}`;
	}

	/** @param {number} x @param {number} y in the window @returns {number} -1 for none */
	nodeUnder(x, y) {
		const area = this.page.canvas.getBoundingClientRect();
		const share = (x - area.left) / this.width;
		if (share < 0 || share >= 1 || y < area.top || y >= area.bottom)
			return -1;
		const row = this.rowAt(y - area.top);
		return row < 0 ? -1
			: nodeAt(this.tree, row, this.view.from + share * (this.view.to - this.view.from));
	}

	hover() {
		if (this.hovered >= 0 || this.pointer.x)
			this.showHovered(this.nodeUnder(this.pointer.x, this.pointer.y));
	}

	/** @param {number} node */
	showHovered(node) {
		const {outline, tooltip, canvas, ui} = this.page;
		if (node < 0) {
			this.pointer = {x: 0, y: 0};
			outline.style.display = tooltip.style.display = 'none';
			canvas.classList.remove('over');
			this.hovered = -1;
			return;
		}
		const area = canvas.getBoundingClientRect();
		const scale = this.width / (this.view.to - this.view.from);
		const left = (this.tree.from[node] - this.view.from) * scale;
		const place = snapBox({node, row: 0, left, right: left + this.tree.total[node] * scale,
			merged: false}, this.width);
		Object.assign(outline.style, {display: 'block', left: `${area.left + place.x - 1}px`,
			top: `${area.top + this.topOf(this.tree.depth[node]) - 1}px`,
			width: `${Math.max(place.width, 1) + 2}px`, height: `${ROW_PX + 1}px`});
		canvas.classList.add('over');
		if (node !== this.hovered)
			this.fillTooltip(node);
		this.hovered = node;
		tooltip.style.display = 'block';
		const right = ui.clientWidth - tooltip.offsetWidth - 12;
		const below = this.pointer.y + 18;
		const fits = below + tooltip.offsetHeight < ui.clientHeight - 8;
		tooltip.style.transform = `translate(${Math.max(12, Math.min(this.pointer.x + 14, right))}px,`
			+ `${Math.max(8, fits ? below : this.pointer.y - tooltip.offsetHeight - 12)}px)`;
	}

	/** @param {number} node */
	fillTooltip(node) {
		const {profile, tree} = this;
		const frame = profile.nodeFrame[node];
		const name = element('div', {class: 'name'}, [node > 0 ? this.nameOf(node) || '(no name)' : 'all']);
		const about = node > 0 ? [profile.modules[profile.frameModule[frame]],
			KINDS[profile.frameKind[frame]]].filter(Boolean).join(' \u00b7 ') : '';
		const row = (/** @type {string} */ title, /** @type {number} */ weight) =>
			element('tr', {}, [element('th', {}, [title]),
				element('td', {}, [`${formatCount(weight)} samples`]),
				element('td', {}, [formatPercent(weight, tree.total[0])]),
				...profile.periodNs ? [element('td', {},
					[formatSeconds(weight * profile.periodNs / 1e9)])] : []]);
		const table = element('table', {}, [row('Total', tree.total[node]), row('Self', tree.self[node])]);
		if (this.zoomed > 0)
			table.append(element('tr', {}, [element('th', {}, ['Of zoomed']), element('td', {}),
				element('td', {}, [formatPercent(Math.min(tree.total[node], tree.total[this.zoomed]),
					tree.total[this.zoomed])])]));
		this.page.tooltip.replaceChildren(name,
			...about ? [element('div', {class: 'module'}, [about])] : [], table);
	}

	/** @param {number} node */
	zoom(node) {
		const from = {...this.view};
		const to = {from: this.tree.from[node], to: this.tree.from[node] + this.tree.total[node]};
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
		const begun = performance.now();
		this.zoomed = node;
		this.describeZoom();
		this.describeMatches();
		cancelAnimationFrame(this.animation);
		const step = (/** @type {number} */ now) => {
			const done = still ? 1 : Math.min(Math.max((now - begun) / ZOOM_MS, 0), 1);
			const eased = 1 - (1 - done) ** 3;
			this.view = done === 1 ? to : {from: from.from + (to.from - from.from) * eased,
				to: from.to + (to.to - from.to) * eased};
			this.draw();
			this.animation = done < 1 ? requestAnimationFrame(step) : 0;
		};
		step(begun);
	}

	describeZoom() {
		this.page.reset.disabled = this.zoomed === 0;
		this.hovered = -1;
		this.page.spoken.textContent = this.zoomed === 0 ? ''
			: `${this.nameOf(this.zoomed)}, ${formatPercent(this.tree.total[this.zoomed], this.tree.total[0])}`;
	}

	/** @param {string} text */
	search(text) {
		const {profile} = this;
		if (!this.lowered)
			this.lowered = Array.from({length: profile.frames}, (_, i) => profile.name(i).toLowerCase());
		this.matches = matchFrames(this.lowered, text);
		this.describeMatches();
		this.draw();
	}

	/** Matched weight of everything and of the zoomed node. @returns {{all: number, view: number}} */
	matchedWeights() {
		const {tree, profile, matches} = this;
		if (!matches)
			return {all: 0, view: 0};
		const all = matchedWeight(tree, profile.nodeFrame, matches, 0);
		return {all, view: this.zoomed ? matchedWeight(tree, profile.nodeFrame, matches, this.zoomed) : all};
	}

	describeMatches() {
		const {tree, page} = this;
		const weights = this.matchedWeights();
		const text = [`${formatPercent(weights.all, tree.total[0])} of total`];
		if (this.zoomed)
			text.push(`${formatPercent(weights.view, tree.total[this.zoomed])} of zoomed`);
		page.matched.replaceChildren(...this.matches
			? ['Matched ', element('b', {}, [text.join(' \u00b7 ')])] : []);
	}

	/** What tests read. */
	facts() {
		const viewer = this;
		return Object.freeze({
			get zoomed() { return viewer.nameOf(viewer.zoomed); },
			get animating() { return viewer.animation !== 0; },
			get nodes() { return viewer.tree.nodes; },
			get total() { return viewer.tree.total[0]; },
			get matched() {
				const weights = viewer.matchedWeights();
				return {all: weights.all / viewer.tree.total[0],
					view: weights.view / viewer.tree.total[viewer.zoomed]};
			},
			get boxes() {
				const area = viewer.page.canvas.getBoundingClientRect();
				return viewer.boxes.map(box => ({name: box.merged ? '' : viewer.nameOf(box.node),
					merged: box.merged, row: box.row, left: area.left + Math.max(box.left, 0),
					right: area.left + Math.min(box.right, viewer.width),
					top: area.top + viewer.topOf(box.row), height: ROW_PX}));
			},
		});
	}
}

async function main() {
	const svg = /** @type {any} */ (document.documentElement);
	const metadata = document.getElementById('flamerun');
	if (svg.localName !== 'svg' || !metadata)
		return;
	hidePage(svg);
	try {
		const profile = await decodeProfile(metadata);
		if (profile.nodes < 2 || !profile.nodeSelf.some(weight => weight > 0))
			return;
		const viewer = new Viewer(svg, profile);
		viewer.start();
		Object.defineProperty(window, 'flamerun', {value: viewer.facts()});
	} catch (error) {
		hidePage(svg);
		console.warn('flamerun: the picture stays static:', error);
	}
}

main();
