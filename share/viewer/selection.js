// SPDX-License-Identifier: MIT
// @ts-check
// The box under the pointer and the selected box: the outlines around them, the tooltip at the
// pointer, and the line of details at the bottom.

import {snapLeft, snapWidth} from './layout.js';
import {outline} from './outline.js';
import {element, isTouched} from './page.js';
import {amountsOf, formatPercent, linesOf, nodeName, originOf, sentence, sharesOf, whenOf}
	from './text.js';
import {rowOf} from './tree.js';
import {holdersOf, partsOf} from './waits.js';

const HINT = 'Click a box to zoom, right-click for more \u00b7 / to search \u00b7 ? for all keys';
const TOUCH_HINT = 'Tap a box, again to zoom \u00b7 hold for more';

/** Maximum number of source lines in a tooltip; a key shows all of them. */
const MOST_LINES = 3;
const MOST_HOLDERS = 4;

/** Not a node's number: the details at the bottom must be written again. */
const NOTHING_SAID = -2;

export class Selection {
	/** @param {import('./viewer.js').Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		this.page = viewer.page;
		this.state = viewer.state;
		this.hovered = -1;
		this.selected = -1;
		this.described = NOTHING_SAID;
		this.onSelect = (/** @type {number} */ _node) => {};
		/** @type {{x: number, y: number} | null} in the window's pixels */
		this.pointer = null;
		this.state.onTree(() => {
			this.selected = this.hovered = -1;
		});
		viewer.onDrawn = () => this.placeFrames();
		viewer.onStill = () => this.hover();
		viewer.onResized = () => this.leave();
	}

	/** The box on which keys act and which the details at the bottom describe. */
	get current() {
		return this.hovered >= 0 ? this.hovered : this.selected;
	}

	/** @param {number} x @param {number} y in the window's pixels */
	point(x, y) {
		this.pointer = {x, y};
		if (!this.viewer.camera.moving)
			this.hover();
	}

	leave() {
		this.pointer = null;
		this.hover();
	}

	/** Find the box under the pointer, after the pointer or the picture has moved. */
	hover() {
		const {viewer, pointer} = this;
		const {tooltip, canvas, ui} = this.page;
		this.hovered = pointer ? viewer.nodeUnder(pointer.x, pointer.y) : -1;
		canvas.classList.toggle('over', this.hovered >= 0);
		tooltip.hidden = this.hovered < 0;
		if (pointer && this.hovered >= 0) {
			fillTooltip(tooltip, this.state, this.hovered);
			placeTooltip(tooltip, ui, pointer);
		}
		this.placeFrames();
		this.describe();
	}

	/** @param {number} node -1 for none */
	select(node) {
		this.selected = node;
		outline(this.page.canvas, this.state, node);
		// If the graph has the focus, a screen reader reads the box's item instead.
		// In the tree of calls, the row gets the focus.
		if (node >= 0 && document.activeElement !== this.page.canvas && this.state.filter.view !== 'tree')
			this.page.spoken.textContent = sentence(this.state, node);
		this.placeFrames();
		this.describe();
		this.onSelect(node);
	}

	/** Write the details at the bottom if the current box has changed. */
	describe() {
		// The table writes its own details.
		if (this.described === this.current || this.state.functions)
			return;
		this.described = this.current;
		fillDetails(this.page.details, this.state, this.current);
	}

	/** Write the texts about the current box again. */
	describeAnew() {
		outline(this.page.canvas, this.state, this.selected);
		this.described = NOTHING_SAID;
		this.describe();
	}

	placeFrames() {
		this.frameAround(this.page.outline, this.hovered);
		this.frameAround(this.page.ring, this.selected);
	}

	/** Returns the lower left corner of a box on the screen. @param {number} node */
	cornerOf(node) {
		const {viewer, state} = this;
		return {x: viewer.origin.left + Math.max(viewer.edgesOf(node)?.left || 0, 0),
			y: viewer.origin.top + Math.max(viewer.topOf(rowOf(state.tree, node)), 0) + state.profile.rowPx};
	}

	/** @param {HTMLElement} frame @param {number} node */
	frameAround(frame, node) {
		const {viewer, state} = this;
		const edges = node < 0 ? null : viewer.edgesOf(node);
		frame.hidden = !edges;
		if (!edges)
			return;
		const {left, right} = edges;
		const inner = snapLeft(left, right, viewer.width);
		const x = Math.max(inner - 1, 0);
		const end = inner + Math.max(snapWidth(left, right, viewer.width), 1) + 1;
		const y = viewer.topOf(rowOf(state.tree, node)) - 1;
		frame.style.width = `${Math.min(end, viewer.width) - x}px`;
		frame.style.height = `${state.profile.rowPx + 1}px`;
		frame.style.transform = `translate(${x}px,${y}px)`;
	}
}

/** @param {string} title @param {string[]} cells */
function row(title, ...cells) {
	return element('tr', {}, [element('th', {scope: 'row'}, [title]),
		...cells.map(cell => element('td', {}, [cell]))]);
}

/**
 * Returns a text with the functions that held the locks for which a node waited, and their shares;
 * "" if none is known.
 * @param {import('./state.js').State} state @param {number} node
 */
function holdersText(state, node) {
	const holders = holdersOf(state, node);
	const more = holders.length - MOST_HOLDERS;
	return [...holders.slice(0, MOST_HOLDERS)
		.map(({name, share}) => `${name || 'unknown'} ${formatPercent(share, 1)}`),
	...more > 0 ? [`${more} more`] : []].join(', ');
}

/**
 * Returns the texts about a node, for the tooltip and the details at the bottom.
 * @param {import('./state.js').State} state @param {number} node
 */
function said(state, node) {
	const {profile, tree} = state;
	const {all, view, parent} = sharesOf(state, node);
	const known = linesOf(state, node);
	return {
		name: nodeName(state, node),
		origin: node > 0 ? originOf(profile, tree.frame[node]) : '',
		file: known?.file,
		when: whenOf(state, node),
		all,
		shares: [['Of view', view], ['Of parent', parent]].filter(([, share]) => share),
		parts: partsOf(state, node).map(({name, weight}) => [name, ...amountsOf(state, weight, 'waits')]),
		change: profile.texts[tree.frame[node]],
		holders: holdersText(state, node),
		lines: (known?.lines.slice(0, MOST_LINES) || []).map(({place, share}) => [place, share]),
	};
}

/**
 * @param {HTMLElement} tooltip @param {import('./state.js').State} state
 * @param {number} node
 */
function fillTooltip(tooltip, state, node) {
	const {total, self} = state.tree;
	const {name, origin, file, when, shares, parts, change, holders, lines} = said(state, node);
	const weightRow = (/** @type {string} */ title, /** @type {number} */ weight) => {
		const [first, ...time] = amountsOf(state, weight);
		return row(title, first, formatPercent(weight, total[0]), ...time);
	};
	const line = (/** @type {string} */ kind, /** @type {string | undefined} */ text) =>
		text ? [element('div', {class: kind}, [text])] : [];
	const table = (/** @type {string} */ kind, /** @type {string[][]} */ rows) =>
		rows.length ? [element('table', {class: kind}, rows.map(([title, ...cells]) => row(title, ...cells)))] : [];
	tooltip.replaceChildren(...line('name', name), ...line('module', origin), ...line('module', file),
		...line('module', when),
		element('table', {}, [weightRow('Total', total[node]), weightRow('Self', self[node]),
			...shares.map(([title, share]) => row(title, '', share))]),
		...line('change', change), ...table('parts', parts), ...line('holders', holders && `Locks held by ${holders}`),
		...table('lines', lines));
}

/**
 * Put the tooltip below the pointer, or above the pointer if there is no room below, and completely
 * within `ui`.
 * @param {HTMLElement} tooltip @param {HTMLElement} ui @param {{x: number, y: number}} pointer
 */
export function placeTooltip(tooltip, ui, pointer) {
	const rightmost = ui.clientWidth - tooltip.offsetWidth - 12;
	const below = pointer.y + 18;
	const above = pointer.y - tooltip.offsetHeight - 12;
	const fits = below + tooltip.offsetHeight < ui.clientHeight - 8;
	const x = Math.max(12, Math.min(pointer.x + 14, rightmost));
	const y = Math.max(8, fits ? below : above);
	tooltip.style.transform = `translate(${x}px,${y}px)`;
}

/** @param {string} label @param {string[]} values */
export function fact(label, ...values) {
	return element('span', {class: 'fact'}, [element('span', {class: 'label'}, [label]), ' ',
		values.filter(Boolean).join(' \u00b7 ')]);
}

/**
 * Returns the elements of the details at the bottom. @param {string} name @param {string} origin
 * @param {HTMLElement[]} facts
 */
export function describeAs(name, origin, facts) {
	return [element('div', {class: 'what'}, [element('span', {class: 'name', title: name}, [name]),
		element('span', {class: 'module', title: origin}, [origin])]),
	element('div', {class: 'facts'}, facts)];
}

/**
 * @param {HTMLElement} details @param {import('./state.js').State} state
 * @param {number} node -1 for none
 */
function fillDetails(details, state, node) {
	if (node < 0) {
		const {notes} = state.profile;
		details.replaceChildren(element('div', {class: 'hint'}, [isTouched() ? TOUCH_HINT : HINT]),
			element('div', {class: 'hint', title: notes.join('\n')}, [notes.join(' \u00b7 ')]));
		return;
	}
	const {total, self} = state.tree;
	const {name, origin, when, all, shares, parts, change, holders, lines} = said(state, node);
	/** @type {string[][]} */
	const facts = [['Total', ...amountsOf(state, total[node])], ['Self', ...amountsOf(state, self[node])],
		['Time', when], ['Of all', all], ...shares, ...parts, ['Change', change], ['Locks held by', holders],
		['Lines', ...lines.map(one => one.join(' '))]];
	details.replaceChildren(...describeAs(name, origin, facts.filter(([, value]) => value)
		.map(([label, ...values]) => fact(label, ...values))));
}
