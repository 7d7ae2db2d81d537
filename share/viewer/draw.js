// SPDX-License-Identifier: MIT
// @ts-check
// Draw boxes and labels on the canvas, and choose their colours. Fills are grouped by colour,
// because changing the colour is the most expensive operation.

import {Labels} from './label.js';
import {neighbours, snapLeft, snapWidth} from './layout.js';

const LABEL_PADDING_PX = 5;
const LABELLED_MIN_PX = 24;

/**
 * @typedef {object} Theme
 * @property {boolean} dark
 * @property {string[]} colors by index in the palette
 * @property {string} ink
 * @property {string} match fill of boxes that match the search
 * @property {string} matchInk
 * @property {string} background
 * @property {string} edge colour of edges if more contrast is wanted; "" for none
 * @property {string} font of labels, as CSS
 */

/** Fades of a box: none; it does not match the search; it is an ancestor of the zoomed box. */
export const PLAIN = 0;
export const UNMATCHED = 1;
export const ABOVE = 2;
const BOX_ALPHA = [1, 0.3, 0.6];
const LABEL_ALPHA = [1, 0.6, 0.7];
const FADES = BOX_ALPHA.length;
/** The dashed line between an inlined box and its parent; see render/drawing.c. */
export const DASHES = [3, 2];
export const DASH_ALPHA = 0.6;
const DASHED_MIN_PX = 8;
/** Boxes narrower than this are filled with the colour of edges, except matches. */
const EDGED_MIN_PX = 3;

/**
 * Compute the offset of a label's baseline in its box.
 * @param {number} rowPx @param {number} fontPx
 */
function labelPlace(rowPx, fontPx) {
	return {x: LABEL_PADDING_PX, y: Math.round(((rowPx - 1) / 2 + fontPx * 0.36) * 2) / 2};
}

/**
 * Returns the boxes that are at least `least` wide and are not merged from several nodes.
 * @param {import('./layout.js').BoxList} boxes @param {number} width of the view
 * @param {number} least width of a box, in px
 */
function wideBoxes({count, left, right, merged}, width, least) {
	/** @type {number[]} */
	const wide = [];
	for (let i = 0; i < count; i++)
		if (!merged[i] && snapWidth(left[i], right[i], width) >= least)
			wide.push(i);
	return wide;
}

export class Painter {
	/** @param {HTMLCanvasElement} canvas @param {{rowPx: number, fontPx: number,
	 * wholeNames: boolean}} sizes */
	constructor(canvas, sizes) {
		const context = canvas.getContext('2d');
		if (!context)
			throw new Error('no canvas');
		this.canvas = canvas;
		this.context = context;
		this.sizes = sizes;
		this.place = labelPlace(sizes.rowPx, sizes.fontPx);
		this.ratio = 1;
		/**
		 * @type {Int32Array} by group (see group()), index of its first box; -1 for none
		 */
		this.heads = new Int32Array(0);
		/** @type {Int32Array} by box, index of the next box of its group */
		this.next = new Int32Array(0);
	}

	/** @param {Theme} theme */
	dress(theme) {
		this.theme = theme;
		/** @type {string[]} the palette's colours, then the one of matches */
		this.fills = [...theme.colors, theme.match];
		this.heads = new Int32Array(this.fills.length * FADES);
		this.context.font = theme.font;
		this.labels = new Labels(text => this.context.measureText(text).width,
			this.sizes.wholeNames);
	}

	/** @param {number} width @param {number} height in CSS pixels */
	resize(width, height) {
		const {canvas} = this;
		this.ratio = window.devicePixelRatio || 1;
		canvas.width = Math.round(width * this.ratio);
		canvas.height = Math.round(height * this.ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}

	/**
	 * Returns one number for a box's colour and fade.
	 * @param {number} place index in the palette, -1 for a match
	 * @param {number} fade
	 */
	group(place, fade) {
		return (place < 0 ? this.heads.length / FADES - 1 : place) * FADES + fade;
	}

	/**
	 * @param {import('./layout.js').BoxList} boxes
	 * @param {(box: number) => number} groupOf see group()
	 * @param {(row: number) => number} topOf top edge of a row
	 * @param {(node: number) => string} nameOf @param {number} width of the view
	 * @param {{has: (node: number) => boolean, isAbove: boolean}} inlined is a node inlined; is
	 * the box that it is inlined into above it
	 */
	draw(boxes, groupOf, topOf, nameOf, width, inlined) {
		const {context, heads, ratio, canvas} = this;
		if (this.next.length < boxes.count)
			this.next = new Int32Array(boxes.node.length);
		heads.fill(-1);
		for (let i = boxes.count - 1; i >= 0; i--) {
			const group = groupOf(i);
			this.next[i] = heads[group];
			heads[group] = i;
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
		this.fillBoxes(boxes, topOf, width);
		context.globalAlpha = 1;
		this.drawEdges(boxes, topOf, width);
		this.drawDashes(boxes, topOf, width, inlined);
		this.writeLabels(boxes, groupOf, topOf, nameOf, width);
		context.globalAlpha = 1;
	}

	/**
	 * @param {import('./layout.js').BoxList} boxes @param {(row: number) => number} topOf
	 * @param {number} width
	 */
	drawEdges({left, right, row}, topOf, width) {
		const {context, heads, next} = this;
		const {edge} = /** @type {Theme} */ (this.theme);
		const height = this.sizes.rowPx - 1;
		if (!edge)
			return;
		context.fillStyle = context.strokeStyle = edge;
		context.lineWidth = 1;
		for (let group = 0; group < heads.length; group++) {
			const isMatch = group >= heads.length - FADES;
			for (let i = heads[group]; i >= 0; i = next[i]) {
				const x = snapLeft(left[i], right[i], width);
				const wide = snapWidth(left[i], right[i], width);
				if (wide >= EDGED_MIN_PX)
					context.strokeRect(x + 0.5, topOf(row[i]) + 0.5, wide - 1,
						height - 1);
				else if (!isMatch)
					context.fillRect(x, topOf(row[i]), wide, height);
			}
		}
	}

	/**
	 * @param {import('./layout.js').BoxList} boxes @param {(row: number) => number} topOf
	 * @param {number} width @param {{has: (node: number) => boolean, isAbove: boolean}} inlined
	 */
	drawDashes(boxes, topOf, width, {has, isAbove}) {
		const {context} = this;
		const {node, left, right, row} = boxes;
		const down = isAbove ? 0.5 : this.sizes.rowPx - 1.5;
		context.beginPath();
		for (const i of wideBoxes(boxes, width, DASHED_MIN_PX)) {
			if (!has(node[i]))
				continue;
			const x = snapLeft(left[i], right[i], width);
			const y = topOf(row[i]) + down;
			context.moveTo(x, y);
			context.lineTo(x + snapWidth(left[i], right[i], width), y);
		}
		context.globalAlpha = DASH_ALPHA;
		context.strokeStyle = /** @type {Theme} */ (this.theme).ink;
		context.lineWidth = 1;
		context.setLineDash(DASHES);
		context.stroke();
		context.setLineDash([]);
		context.globalAlpha = 1;
	}

	/**
	 * @param {import('./layout.js').BoxList} boxes @param {(row: number) => number} topOf
	 * @param {number} width
	 */
	fillBoxes({left, right, row}, topOf, width) {
		const {context, heads, next} = this;
		const height = this.sizes.rowPx - 1;
		for (let group = 0; group < heads.length; group++) {
			if (heads[group] < 0)
				continue;
			context.globalAlpha = BOX_ALPHA[group % FADES];
			context.fillStyle = /** @type {string[]} */ (this.fills)[group / FADES | 0];
			for (let i = heads[group]; i >= 0; i = next[i])
				context.fillRect(snapLeft(left[i], right[i], width), topOf(row[i]),
					snapWidth(left[i], right[i], width), height);
		}
	}

	/**
	 * @param {import('./layout.js').BoxList} boxes @param {(box: number) => number} groupOf
	 * @param {(row: number) => number} topOf @param {(node: number) => string} nameOf
	 * @param {number} width
	 */
	writeLabels(boxes, groupOf, topOf, nameOf, width) {
		const {left, right, row, node} = boxes;
		const {context, heads, place} = this;
		const theme = /** @type {Theme} */ (this.theme);
		const labels = /** @type {Labels} */ (this.labels);
		const labelled = wideBoxes(boxes, width, LABELLED_MIN_PX);
		const beside = neighbours(boxes, labelled);
		/** @type {number[][]} */
		const groups = [];
		for (const i of labelled)
			(groups[groupOf(i)] ||= []).push(i);
		context.font = theme.font;
		context.textBaseline = 'alphabetic';
		groups.forEach((members, group) => {
			context.globalAlpha = theme.edge ? 1 : LABEL_ALPHA[group % FADES];
			context.fillStyle = group >= heads.length - FADES ? theme.matchInk : theme.ink;
			for (const i of members) {
				const name = nameOf(node[i]);
				const room = snapWidth(left[i], right[i], width) - 2 * place.x;
				const text = !node[i] ? labels.fitText(name, room)
					: labels.fit(name, room, beside(i).map(other => nameOf(node[other])));
				if (text)
					context.fillText(text, snapLeft(left[i], right[i], width) + place.x,
						topOf(row[i]) + place.y);
			}
		});
	}
}

// ---- colours ------------------------------------------------------------------------------------

// Light or dark: by the user's choice, else by the browser's preference. Higher contrast and forced
// colours: by the browser's settings. The colours are in viewer.css and in the file's data.

const DARK = '(prefers-color-scheme: dark)';
const CONTRAST = '(prefers-contrast: more)';
const FORCED = '(forced-colors: active)';

/** @param {string} chosen "", "light" or "dark" */
export function isDark(chosen) {
	return chosen ? chosen === 'dark' : matchMedia(DARK).matches;
}

/** @param {() => void} changed */
export function watchTheme(changed) {
	for (const query of [DARK, CONTRAST, FORCED])
		matchMedia(query).addEventListener('change', changed);
}

/**
 * @param {import('./page.js').Page} page @param {import('./decode.js').Profile} profile
 * @param {string} chosen @returns {import('./draw.js').Theme}
 */
export function applyTheme(page, profile, chosen) {
	const dark = isDark(chosen);
	page.ui.dataset.theme = dark ? 'dark' : 'light';
	page.dark.setAttribute('aria-pressed', String(dark));
	const style = getComputedStyle(page.ui);
	const read = (/** @type {string} */ name) => style.getPropertyValue(name);
	const background = read('--background');
	const ink = read('--box-ink');
	const colors = dark ? profile.dark : profile.light;
	const isForced = matchMedia(FORCED).matches;
	page.svg.style.background = background;
	return {
		dark,
		colors: isForced ? colors.map(() => background) : colors,
		ink,
		match: read('--match'),
		matchInk: read('--match-ink'),
		background,
		edge: isForced || matchMedia(CONTRAST).matches ? ink : '',
		font: `${profile.fontPx}px ${profile.font || style.fontFamily}`,
	};
}
