// SPDX-License-Identifier: MIT
// @ts-check
// Output of the current view: an SVG drawing for paper, which is made before printing and removed
// afterwards; and names and stacks for the clipboard.

import {DASHES, DASH_ALPHA, Painter} from './draw.js';
import {termText} from './filter.js';
import {cellsOf, columnsOf, functionsShown} from './functions.js';
import {BoxList, rowsOf, visibleBoxes} from './layout.js';
import {fillWindow, isTouched, svgElement} from './page.js';
import {textTree} from './save.js';
import {labelOf, nodeName, sentence} from './text.js';
import {isCallee, pathTo} from './tree.js';

// ---- paper --------------------------------------------------------------------------------------

const WIDTH = 1200;
const MARGIN = 24;
const HEAD = 62;

/** Columns of the printed table: begins of text columns, ends of number columns; text widths. */
const TABLE_X = [0, 560, 870, 930, 1092, 1152];
const TABLE_ROOM = [540, 160];
const TABLE_ROW_PX = 16;
/** Number of rows that fill a sheet of A4. */
const TABLE_ROWS = 96;

/** @typedef {import('./viewer.js').Viewer} Viewer */

/**
 * @param {string} content @param {number} x @param {number} y
 * @param {Record<string, string | number>} [attributes]
 */
function text(content, x, y, attributes = {}) {
	const made = svgElement('text', {x, y, ...attributes});
	made.textContent = content;
	return made;
}

/** @typedef {{group: SVGElement, width: number, height: number}} Printed */

/**
 * Make the lines of text above the printed view. Returns them, and the offset at which the view
 * begins.
 * @param {Viewer} viewer @param {string} rows which rows are printed, "": all
 */
function printHead({state, finder, page}, rows) {
	const {profile, filter, zoomed, functions} = state;
	const lines = [profile.subtitle, ...filter.terms.map(termText),
		...zoomed && !functions ? [`Zoomed into ${sentence(state, zoomed)}`] : [],
		...finder.matches ? [`\u201c${finder.query.text}\u201d: ${page.matched.textContent}`] : [],
		...rows ? [rows] : []];
	const group = /** @type {SVGElement} */ (svgElement('g', {id: 'flamerun-print',
		'font-family': profile.font || getComputedStyle(page.ui).fontFamily, 'font-size': profile.fontPx}));
	group.append(text(profile.title, MARGIN, 36, {'font-size': '17', 'font-weight': 'bold'}),
		...lines.map((line, i) => text(line, MARGIN, 54 + 18 * i, {'font-size': '12', fill: '#59636e'})));
	return {group, top: HEAD + 18 * (lines.length - 1)};
}

/** Make a printed page of the table, of text elements. @param {Viewer} viewer @returns {Printed} */
function printTable(viewer) {
	const {state, finder, painter} = viewer;
	const labels = /** @type {import('./label.js').Labels} */ (painter.labels);
	const rows = functionsShown(state, finder);
	const shown = rows.subarray(0, TABLE_ROWS);
	const {group, top} = printHead(viewer,
		shown.length < rows.length ? `Rows 1 to ${shown.length} of ${rows.length}` : '');
	[columnsOf(state).map(([title]) => [title]), ...Array.from(shown, i => cellsOf(state, i))].forEach((cells, row) =>
		cells.forEach((texts, column) => {
			const content = column in TABLE_ROOM ? labels.fit(texts[0], TABLE_ROOM[column]) : texts.join(' ');
			group.append(text(content, MARGIN + TABLE_X[column], top + 12 + TABLE_ROW_PX * row, {
				'fill': row ? '#1f2328' : '#59636e', 'text-anchor': column in TABLE_ROOM ? 'start' : 'end'}));
		}));
	return {group, width: WIDTH, height: top + 24 + TABLE_ROW_PX * (shown.length + 1)};
}

/**
 * Returns an object with the methods of a canvas context that Painter calls. They append SVG
 * elements to `group` instead of drawing, and ignore transparency.
 * @param {SVGElement} group @returns {any}
 */
function contextOn(group) {
	let path = '';
	return {
		setTransform() {},
		clearRect() {},
		setLineDash() {},
		fillRect(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width,
			/** @type {number} */ height) {
			group.append(svgElement('rect', {x: (MARGIN + x).toFixed(2), y, width: width.toFixed(2), height,
				fill: this.fillStyle}));
		},
		fillText(/** @type {string} */ content, /** @type {number} */ x, /** @type {number} */ y) {
			group.append(text(content, MARGIN + x, y, {fill: this.fillStyle}));
		},
		beginPath() {},
		moveTo(/** @type {number} */ x, /** @type {number} */ y) {
			path += `M${(MARGIN + x).toFixed(2)} ${y}`;
		},
		lineTo(/** @type {number} */ x) {
			path += `H${(MARGIN + x).toFixed(2)}`;
		},
		stroke() {
			group.append(svgElement('path', {d: path, 'stroke': this.strokeStyle,
				'stroke-opacity': DASH_ALPHA, 'stroke-dasharray': DASHES.join(' ')}));
		},
	};
}

/**
 * Draw the view on white, from its left to its right edge. All rows are drawn, because a printed
 * page is scaled to its paper, and a file can be enlarged.
 * @param {Viewer} viewer @param {boolean} isScreen draw only the rows on screen
 * @returns {Printed}
 */
function printView(viewer, isScreen) {
	const {state, camera, finder} = viewer;
	const {profile, tree, rootOnTop} = state;
	const {rowPx, notes} = profile;
	const inner = WIDTH - 2 * MARGIN;
	const boxes = new BoxList();
	const view = {...camera.span, width: inner, narrowest: profile.narrowestPx, isMarked: finder.markIn()};
	visibleBoxes(tree, {...view, firstRow: 0, lastRow: tree.rows}, boxes);
	const [begin, end] = rowsOf(boxes);
	const seen = isScreen ? [viewer.rowAt(0), viewer.rowAt(viewer.height - 1)] : [begin, end];
	const firstRow = Math.max(Math.min(...seen), begin);
	const lastRow = Math.min(Math.max(...seen), end);
	const isPart = firstRow > begin || lastRow < end;
	if (isPart)
		visibleBoxes(tree, {...view, firstRow, lastRow}, boxes);
	const {group, top} = printHead(viewer,
		isPart ? `Rows ${firstRow - begin + 1} to ${lastRow - begin + 1} of ${end + 1 - begin}` : '');
	const context = contextOn(group);
	const painter = new Painter(/** @type {any} */ ({getContext: () => context}), profile);
	painter.dress({.../** @type {import('./draw.js').Theme} */ (viewer.painter.theme), colors: profile.light,
		ink: '#1f2328', match: '#a371f7', matchInk: '#160b2b', edge: ''});
	painter.labels = viewer.painter.labels;
	painter.draw(boxes, i => viewer.groupOf(boxes, i),
		row => top + (rootOnTop ? row - firstRow : lastRow - row) * rowPx, node => labelOf(state, node), inner,
		state.inlined());
	const bottom = top + (lastRow + 1 - firstRow) * rowPx;
	notes.forEach((line, i) =>
		group.append(text(line, MARGIN, bottom + 20 + 16 * i, {fill: '#59636e'})));
	return {group, width: WIDTH, height: bottom + 24 + 16 * notes.length};
}

/** @param {Viewer} viewer @param {boolean} [isScreen] */
function print(viewer, isScreen = false) {
	return viewer.state.functions ? printTable(viewer) : printView(viewer, isScreen);
}

/** Make an SVG file of the view. @param {Viewer} viewer */
export function drawingOf(viewer) {
	const {group, width, height} = print(viewer);
	const svg = svgElement('svg', {width, height,
		viewBox: `0 0 ${width} ${height}`});
	svg.append(svgElement('rect', {width: '100%', height: '100%', fill: '#ffffff'}), group);
	return new XMLSerializer().serializeToString(svg);
}

/**
 * Draw the view for paper whenever the browser prints.
 * @param {Viewer} viewer @returns {() => void} function that prints only the rows on screen
 */
export function listenToPrinting(viewer) {
	const {svg} = viewer.page;
	let isScreen = false;
	window.addEventListener('beforeprint', () => {
		const {group, width, height} = print(viewer, isScreen);
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
	return () => {
		isScreen = true;
		window.print();
		isScreen = false;
	};
}

// ---- the clipboard ------------------------------------------------------------------------------

/**
 * Returns the actions that copy to the clipboard. If the clipboard's API is not allowed, as over
 * plain http, ask the user to press the browser's own key for copying.
 * @param {import('./selection.js').Selection} selection
 * @param {(text: string) => void} say shows a message to the user
 * @param {() => string} nameOfRow the name in the row of a table under the pointer, or in the chosen
 * row; "" for none
 */
export function copying(selection, say, nameOfRow) {
	const {state, page} = selection;
	let refused = '';
	/** The box to copy: that under the pointer, or the selected, or the zoomed one. */
	const subject = () => selection.current >= 0 ? selection.current : state.zoomed;
	const name = () => nameOfRow() || nodeName(state, subject());
	/** @param {string} text @param {string} done message after success */
	const write = async (text, done) => {
		refused = '';
		try {
			await navigator.clipboard.writeText(text);
			say(done);
		} catch {
			refused = text;
			// Focus the canvas, because the browser sends its copy event to the element
			// that has the focus.
			page.canvas.focus({preventScroll: true});
			say(isTouched() ? 'Copying is not allowed here' : 'Not allowed here; press Ctrl+C now');
		}
	};
	document.addEventListener('copy', event => {
		const field = document.activeElement?.localName === 'input';
		if (field || String(window.getSelection()) || !event.clipboardData)
			return;
		const crumb = page.crumbs.querySelector('.crumb:hover')?.title;
		const text = refused || crumb || name();
		event.clipboardData.setData('text/plain', text);
		if (!refused)
			say(`Copied ${text}`);
		refused = '';
		event.preventDefault();
	});
	return {
		copyName: () => write(name(), `Copied ${name()}`),
		/** Copy the stack with callers first, even if the tree is merged from the leaf. */
		copyStack() {
			const path = pathTo(state.tree, subject()).map(one => nodeName(state, one));
			const isBelow = isCallee(state.tree, subject());
			if (state.isSandwich)
				path.unshift(state.filter.of);
			if (state.isSandwich ? isBelow === state.profile.reversed : state.bottomUp)
				path.reverse();
			return write(path.join('\n'), `Copied a stack of ${path.length}`);
		},
		/** Copy the box and its callees as text. */
		copyTree: () => write(textTree(state, subject()), `Copied ${name()} as text`),
	};
}
