// SPDX-License-Identifier: MIT
// @ts-check
// Boxes and labels on the canvas. Fills are grouped by colour; setting a colour is what costs.

import {fitLabel} from './label.js';
import {snapBox} from './layout.js';

export const ROW_PX = 18;
const BOX_PX = ROW_PX - 1;
const LABEL_PADDING_PX = 5;
const LABEL_BASE_PX = 12.5;
const LABELLED_MIN_PX = 24;
const LABEL_FONT_PX = 11;

/**
 * @typedef {object} Theme
 * @property {string[]} colors by place in the palette
 * @property {string} ink
 * @property {string} match fill of what was searched for
 * @property {string} matchInk
 * @property {string} background
 * @property {string} family of fonts
 */

/**
 * What to show a box as: its colour, how faded, its text.
 * @typedef {object} Look
 * @property {string} fill
 * @property {string} ink
 * @property {number} alpha
 * @property {string} label "" for none
 */

/** Widths of characters in one font, remembered. @param {CanvasRenderingContext2D} context */
export function measurer(context) {
	/** @type {Map<string, number>} */
	const known = new Map();
	return (/** @type {string} */ character) => {
		let width = known.get(character);
		if (width === undefined) {
			width = context.measureText(character).width;
			known.set(character, width);
		}
		return width;
	};
}

/** @param {Theme} theme */
export function labelFont(theme) {
	return `${LABEL_FONT_PX}px ${theme.family}`;
}

/**
 * @param {CanvasRenderingContext2D} context its units are CSS pixels
 * @param {import('./layout.js').Box[]} boxes
 * @param {(box: import('./layout.js').Box) => Look} lookOf
 * @param {(row: number) => number} topOf top edge of a row
 * @param {number} width of the view
 * @param {(text: string) => number} measure
 */
export function drawBoxes(context, boxes, lookOf, topOf, width, measure) {
	/**
	 * @type {Map<string, {look: Look, boxes: {x: number, width: number, y: number, label:
	 *         string}[]}>}
	 */
	const groups = new Map();
	for (const box of boxes) {
		const look = lookOf(box);
		const place = snapBox(box, width);
		const key = look.fill + look.alpha;
		let group = groups.get(key);
		if (!group)
			groups.set(key, group = {look, boxes: []});
		group.boxes.push({...place, y: topOf(box.row), label: look.label});
	}
	for (const group of groups.values()) {
		context.globalAlpha = group.look.alpha;
		context.fillStyle = group.look.fill;
		for (const box of group.boxes)
			context.fillRect(box.x, box.y, box.width, BOX_PX);
	}
	for (const group of groups.values()) {
		context.globalAlpha = Math.max(group.look.alpha, 0.6);
		context.fillStyle = group.look.ink;
		for (const box of group.boxes) {
			if (!box.label || box.width < LABELLED_MIN_PX)
				continue;
			const label =
				fitLabel(box.label, box.width - 2 * LABEL_PADDING_PX, measure);
			if (label)
				context.fillText(
					label, box.x + LABEL_PADDING_PX, box.y + LABEL_BASE_PX);
		}
	}
	context.globalAlpha = 1;
}
