// SPDX-License-Identifier: MIT
// @ts-check
// The current view as vectors, for paper: made before printing, removed after it.

import {labelOf, sentence} from './describe.js';
import {labelPlace} from './draw.js';
import {svgElement} from './icons.js';
import {Labels} from './label.js';
import {timeText} from './marks.js';
import {fillWindow} from './page.js';
import {BoxList, snapLeft, snapWidth, visibleBoxes} from './layout.js';

const WIDTH = 1200;
const MARGIN = 24;
const HEAD = 62;
// More than these would be too small to read on one page: then the rows on screen are printed.
const MOST_ROWS = 44;

/**
 * @typedef {object} Sheet
 * @property {string} title
 * @property {string[]} lines below the title
 * @property {string[]} notes below the graph
 * @property {import('./tree.js').Tree} tree
 * @property {import('./camera.js').Span} span
 * @property {number} firstRow on screen, counted from the root
 * @property {boolean} icicle
 * @property {number} rowPx
 * @property {number} fontPx
 * @property {number} narrowestPx
 * @property {((node: number) => boolean) | null} isMarked see layout.js
 * @property {string} family
 * @property {(boxes: BoxList, i: number) => {fill: string, ink: string}} colorsOf
 * @property {(node: number) => string} nameOf
 */

/**
 * @param {string} content @param {number} x @param {number} y
 * @param {Record<string, string>} [attributes]
 */
function text(content, x, y, attributes = {}) {
	const made = svgElement('text', {x: String(x), y: String(y), ...attributes});
	made.textContent = content;
	return made;
}

/** @param {Sheet} sheet @returns {{group: SVGElement, width: number, height: number}} */
export function printView(sheet) {
	const {tree, rowPx, fontPx} = sheet;
	const inner = WIDTH - 2 * MARGIN;
	const boxes = new BoxList();
	const view = {...sheet.span, width: inner, narrowest: sheet.narrowestPx,
		isMarked: sheet.isMarked};
	visibleBoxes(tree, {...view, firstRow: 0, lastRow: tree.rows}, boxes);
	const all = highestRow(boxes) + 1;
	const first = all > MOST_ROWS ? Math.min(sheet.firstRow, all - MOST_ROWS) : 0;
	const rows = Math.min(all, MOST_ROWS);
	if (rows < all) {
		visibleBoxes(tree, {...view, firstRow: first, lastRow: first + rows - 1}, boxes);
		sheet.lines.push(`Rows ${first + 1} to ${first + rows} of ${all}`);
	}
	const top = HEAD + 18 * Math.max(sheet.lines.length - 1, 0);
	const {labels, place} = printLabels(sheet);
	const group = /** @type {SVGElement} */ (svgElement('g', {id: 'flamerun-print',
		'font-family': sheet.family, 'font-size': String(fontPx)}));
	group.append(text(sheet.title, MARGIN, 36, {'font-size': '17', 'font-weight': 'bold'}));
	sheet.lines.forEach((line, i) =>
		group.append(text(line, MARGIN, 54 + 18 * i,
			{'font-size': '12', fill: '#59636e'})));
	for (let i = 0; i < boxes.count; i++) {
		const up = boxes.row[i] - first;
		const row = sheet.icicle ? up : rows - 1 - up;
		const x = MARGIN + snapLeft(boxes.left[i], boxes.right[i], inner);
		const width = snapWidth(boxes.left[i], boxes.right[i], inner);
		const {fill, ink} = sheet.colorsOf(boxes, i);
		const y = top + row * rowPx;
		group.append(svgElement('rect', {x: x.toFixed(2), y: String(y),
			width: width.toFixed(2), height: String(rowPx - 1), fill}));
		const label = boxes.merged[i] || width < 24 ? ''
			: labels.fit(sheet.nameOf(boxes.node[i]), width - 2 * place.x);
		if (label)
			group.append(text(label, x + place.x, y + place.y, {fill: ink}));
	}
	const end = top + rows * rowPx;
	sheet.notes.forEach((line, i) =>
		group.append(text(line, MARGIN, end + 20 + 16 * i, {fill: '#59636e'})));
	return {group, width: WIDTH, height: end + 24 + 16 * sheet.notes.length};
}

/** @param {BoxList} boxes */
function highestRow(boxes) {
	let highest = 0;
	for (let i = 0; i < boxes.count; i++)
		highest = Math.max(highest, boxes.row[i]);
	return highest;
}

/** @param {Sheet} sheet */
function printLabels({rowPx, fontPx, family}) {
	const context = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
	const measuring = /** @type {HTMLCanvasElement} */ (context).getContext('2d');
	if (!measuring)
		throw new Error('no canvas');
	measuring.font = `${fontPx}px ${family}`;
	return {labels: new Labels(character => measuring.measureText(character).width),
		place: labelPlace(rowPx, fontPx)};
}

/**
 * The view as it is, always on white.
 * @param {import('./viewer.js').Viewer} viewer @returns {Sheet}
 */
function sheetOf(viewer) {
	const {profile, tree, camera, icicle, finder, page, zoomed} = viewer;
	const lines = [profile.subtitle];
	if (viewer.part)
		lines.push(`${viewer.part.text}: ${timeText(viewer.part)}`);
	if (zoomed)
		lines.push(`Zoomed into ${sentence(viewer, zoomed)}`);
	if (finder.matches)
		lines.push(`\u201c${finder.query.text}\u201d: ${page.matched.textContent}`);
	return {
		...profile, lines, tree, span: camera.span, icicle,
		isMarked: finder.markIn(tree),
		firstRow: Math.max(viewer.rowAt(icicle ? 0 : viewer.height - 1), 0),
		family: profile.font || getComputedStyle(page.ui).fontFamily,
		nameOf: node => labelOf(viewer, node),
		colorsOf: ({node, merged, marked}, i) => {
			const frame = tree.frame[node[i]];
			const isMatch = merged[i] ? marked[i]
				: node[i] > 0 && finder.matches?.[frame];
			if (isMatch)
				return {fill: '#a371f7', ink: '#160b2b'};
			const place = merged[i] ? profile.mergedColor
				: node[i] ? profile.frameColor[frame] : profile.rootColor;
			return {fill: profile.light[place], ink: '#1f2328'};
		},
	};
}

/** @param {import('./viewer.js').Viewer} viewer */
export function listenToPrinting(viewer) {
	const {svg} = viewer.page;
	window.addEventListener('beforeprint', () => {
		const {group, width, height} = printView(sheetOf(viewer));
		svg.querySelector('#flamerun-print')?.remove();
		svg.insertBefore(group, viewer.page.object);
		svg.classList.add('flamerun-printing');
		svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	});
	window.addEventListener('afterprint', () => {
		svg.classList.remove('flamerun-printing');
		svg.querySelector('#flamerun-print')?.remove();
		fillWindow(svg);
		viewer.resize();
	});
}
