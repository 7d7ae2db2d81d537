// SPDX-License-Identifier: MIT
// @ts-check
// What leaves the picture: the current view as vectors, for paper, made before printing and removed
// after it; and names and stacks, for the clipboard.

import {DASHED_MIN_PX, DASHES, DASH_ALPHA, labelFitter, labelPlace} from './draw.js';
import {termText} from './filter.js';
import {COLUMNS, cellsOf, functionsShown} from './functions.js';
import {Labels} from './label.js';
import {BoxList, rowsOf, snapLeft, snapWidth, visibleBoxes} from './layout.js';
import {fillWindow, isTouched, svgElement} from './page.js';
import {textTree} from './save.js';
import {labelOf, nodeName, sentence} from './text.js';
import {isCallee, pathTo} from './tree.js';

// ---- paper --------------------------------------------------------------------------------------

const WIDTH = 1200;
const MARGIN = 24;
const HEAD = 62;

/** Where columns of a table begin, numbers end; and what room there is for names. */
const TABLE_X = [0, 560, 870, 930, 1092, 1152];
const TABLE_ROOM = [540, 160];
const TABLE_ROW_PX = 16;
/** They fill a sheet of A4. */
const TABLE_ROWS = 96;

/** @typedef {import('./viewer.js').Viewer} Viewer */

/**
 * @typedef {object} Paper
 * @property {string} title
 * @property {string[]} lines below the title
 * @property {string[]} notes below the graph
 * @property {import('./tree.js').Tree} tree
 * @property {import('./navigate.js').Span} span
 * @property {[number, number] | null} rows the first and last one, counted from the root; null: all
 * @property {boolean} icicle
 * @property {number} rowPx
 * @property {number} fontPx
 * @property {boolean} wholeNames
 * @property {number} narrowestPx
 * @property {((node: number) => boolean) | null} isMarked see layout.js
 * @property {string} family
 * @property {(boxes: BoxList, i: number) => {fill: string, ink: string}} colorsOf
 * @property {(node: number) => string} nameOf
 * @property {ReturnType<import('./state.js').State['inlined']>} inlined
 */

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

/** What stands above all else, and where that begins. @param {Paper} paper */
function printHead({family, fontPx, title, lines}) {
	const group = /** @type {SVGElement} */ (svgElement('g', {id: 'flamerun-print',
		'font-family': family, 'font-size': fontPx}));
	group.append(text(title, MARGIN, 36, {'font-size': '17', 'font-weight': 'bold'}),
		...lines.map((line, i) => text(line, MARGIN, 54 + 18 * i, {'font-size': '12', fill: '#59636e'})));
	return {group, top: HEAD + 18 * Math.max(lines.length - 1, 0)};
}

/** A table as text, as much as there is room for on a page. @param {Viewer} viewer @returns {Printed} */
function printTable(viewer) {
	const {state, finder} = viewer;
	const paper = paperOf(viewer, false);
	const rows = functionsShown(state, finder);
	const shown = rows.subarray(0, TABLE_ROWS);
	if (shown.length < rows.length)
		paper.lines.push(`Rows 1 to ${shown.length} of ${rows.length}`);
	const {group, top} = printHead(paper);
	const {labels} = printLabels(paper);
	[COLUMNS.map(([title]) => [title]), ...Array.from(shown, i => cellsOf(state, i))].forEach((cells, row) =>
		cells.forEach((texts, column) => {
			const content = column in TABLE_ROOM ? labels.fit(texts[0], TABLE_ROOM[column]) : texts.join(' ');
			group.append(text(content, MARGIN + TABLE_X[column], top + 12 + TABLE_ROW_PX * row, {
				'fill': row ? '#1f2328' : '#59636e', 'text-anchor': column in TABLE_ROOM ? 'start' : 'end'}));
		}));
	return {group, width: WIDTH, height: top + 24 + TABLE_ROW_PX * (shown.length + 1)};
}

/** @param {Paper} paper @returns {Printed} */
function printView(paper) {
	const {tree, rowPx} = paper;
	const inner = WIDTH - 2 * MARGIN;
	const boxes = new BoxList();
	const view = {...paper.span, width: inner, narrowest: paper.narrowestPx,
		isMarked: paper.isMarked};
	visibleBoxes(tree, {...view, firstRow: 0, lastRow: tree.rows}, boxes);
	const [begin, end] = rowsOf(boxes);
	const all = end + 1 - begin;
	const first = Math.max(paper.rows ? paper.rows[0] : begin, begin);
	const rows = Math.min(paper.rows ? paper.rows[1] : end, end) + 1 - first;
	if (rows < all) {
		visibleBoxes(tree, {...view, firstRow: first, lastRow: first + rows - 1}, boxes);
		paper.lines.push(`Rows ${first - begin + 1} to ${first - begin + rows} of ${all}`);
	}
	const {group, top} = printHead(paper);
	const {labels, place} = printLabels(paper);
	const fit = labelFitter(labels, boxes, paper.nameOf, inner, place.x);
	for (let i = 0; i < boxes.count; i++) {
		const up = boxes.row[i] - first;
		const row = paper.icicle ? up : rows - 1 - up;
		const x = MARGIN + snapLeft(boxes.left[i], boxes.right[i], inner);
		const width = snapWidth(boxes.left[i], boxes.right[i], inner);
		const {fill, ink} = paper.colorsOf(boxes, i);
		const y = top + row * rowPx;
		group.append(svgElement('rect', {x: x.toFixed(2), y,
			width: width.toFixed(2), height: rowPx - 1, fill}));
		if (!boxes.merged[i] && width >= DASHED_MIN_PX && paper.inlined.has(boxes.node[i]))
			group.append(svgElement('path', {
				d: `M${x.toFixed(2)} ${y + (paper.inlined.isAbove ? 0.5 : rowPx - 1.5)}`
					+ `h${width.toFixed(2)}`,
				'stroke': ink, 'stroke-opacity': DASH_ALPHA,
				'stroke-dasharray': DASHES.join(' ')}));
		const label = fit(i);
		if (label)
			group.append(text(label, x + place.x, y + place.y, {fill: ink}));
	}
	const bottom = top + rows * rowPx;
	paper.notes.forEach((line, i) =>
		group.append(text(line, MARGIN, bottom + 20 + 16 * i, {fill: '#59636e'})));
	return {group, width: WIDTH, height: bottom + 24 + 16 * paper.notes.length};
}

/** @param {Paper} paper */
function printLabels({rowPx, fontPx, family, wholeNames}) {
	const context = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
	const measuring = /** @type {HTMLCanvasElement} */ (context).getContext('2d');
	if (!measuring)
		throw new Error('no canvas');
	measuring.font = `${fontPx}px ${family}`;
	return {labels: new Labels(character => measuring.measureText(character).width, wholeNames),
		place: labelPlace(rowPx, fontPx)};
}

/**
 * The view from left to right as it is, always on white. A page is scaled to its paper: all rows are
 * on it, however small; of a file they are vectors.
 * @param {Viewer} viewer @param {boolean} isScreen only the rows on screen @returns {Paper}
 */
function paperOf(viewer, isScreen) {
	const {state, camera, finder, page} = viewer;
	const {profile, tree, rootOnTop, zoomed, filter} = state;
	const lines = [profile.subtitle];
	lines.push(...filter.terms.map(termText));
	if (zoomed && !state.functions)
		lines.push(`Zoomed into ${sentence(state, zoomed)}`);
	if (finder.matches)
		lines.push(`\u201c${finder.query.text}\u201d: ${page.matched.textContent}`);
	return {
		...profile, lines, tree, span: camera.span, icicle: rootOnTop,
		isMarked: finder.markIn(),
		inlined: state.inlined(),
		rows: isScreen ? [viewer.rowAt(rootOnTop ? 0 : viewer.height - 1),
			viewer.rowAt(rootOnTop ? viewer.height - 1 : 0)] : null,
		family: profile.font || getComputedStyle(page.ui).fontFamily,
		nameOf: node => labelOf(state, node),
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

/** @param {Viewer} viewer @param {boolean} [isScreen] */
function print(viewer, isScreen = false) {
	return viewer.state.functions ? printTable(viewer) : printView(paperOf(viewer, isScreen));
}

/** The view as a file of its own. @param {Viewer} viewer */
export function drawingOf(viewer) {
	const {group, width, height} = print(viewer);
	const svg = svgElement('svg', {width, height,
		viewBox: `0 0 ${width} ${height}`});
	svg.append(svgElement('rect', {width: '100%', height: '100%', fill: '#ffffff'}), group);
	return new XMLSerializer().serializeToString(svg);
}

/**
 * @param {Viewer} viewer
 * @returns {() => void} prints only the rows on screen
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

/** Copying by our keys, and by the browser's own where ours are not allowed: over plain http. */
export class Clipboard {
	/**
	 * @param {import('./selection.js').Selection} selection
	 * @param {(text: string) => void} say what came of it
	 */
	constructor(selection, say) {
		this.selection = selection;
		this.state = selection.state;
		this.say = say;
		this.refused = '';
		document.addEventListener('copy', event => {
			const field = document.activeElement?.localName === 'input';
			if (field || String(window.getSelection()) || !event.clipboardData)
				return;
			event.clipboardData.setData('text/plain',
				this.refused || nodeName(this.state, this.subject));
			this.refused = '';
			event.preventDefault();
		});
	}

	/** What is copied: the box pointed at or selected, else the one that fills the view. */
	get subject() {
		const {current} = this.selection;
		return current >= 0 ? current : this.state.zoomed;
	}

	copyName() {
		const name = nodeName(this.state, this.subject);
		return this.write(name, `Copied ${name}`);
	}

	/** Callers first, whichever way the tree was merged. */
	copyStack() {
		const {state} = this;
		const path = pathTo(state.tree, this.subject).map(one => nodeName(state, one));
		const isBelow = isCallee(state.tree, this.subject);
		if (state.isSandwich)
			path.unshift(state.filter.of);
		if (state.isSandwich ? isBelow === state.profile.reversed : state.bottomUp)
			path.reverse();
		return this.write(path.join('\n'), `Copied a stack of ${path.length}`);
	}

	/** The box and what it is made of, as text. */
	copyTree() {
		const {state} = this;
		return this.write(textTree(state, this.subject), `Copied ${nodeName(state, this.subject)} as text`);
	}

	/** @param {string} text @param {string} done what to say then */
	async write(text, done) {
		this.refused = '';
		try {
			await navigator.clipboard.writeText(text);
			this.say(done);
		} catch {
			this.refused = text;
			// The browser's own copying tells only what has the focus.
			this.selection.page.canvas.focus({preventScroll: true});
			this.say(isTouched() ? 'Copying is not allowed here'
				: 'Not allowed here; press Ctrl+C now');
		}
	}
}
