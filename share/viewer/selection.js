// SPDX-License-Identifier: MIT
// @ts-check
// The box that is pointed at and the one that is selected: the frames around them, the tooltip at
// the pointer and the line at the bottom, which does not move.

import {snapLeft, snapWidth} from './layout.js';
import {outline} from './outline.js';
import {element, isTouched} from './page.js';
import {amountsOf, formatPercent, linesOf, nodeName, originOf, sentence, sharesOf, whenOf}
	from './text.js';
import {rowOf} from './tree.js';
import {holdersOf, partsOf} from './waits.js';

const HINT = 'Click a box to zoom, right-click for more \u00b7 / to search \u00b7 ? for all keys';
const TOUCH_HINT = 'Tap a box, again to zoom \u00b7 two fingers zoom freely \u00b7 hold for more';

/** Lines that are told without being asked for: the key for all is among the keys. */
const MOST_LINES = 3;
const MOST_HOLDERS = 4;

/** What no node is: the line at the bottom is to be written anew. */
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
		/** @type {{x: number, y: number} | null} in the window's pixels */
		this.pointer = null;
		this.state.onTree(() => {
			this.selected = this.hovered = -1;
		});
		viewer.onDrawn = () => this.placeFrames();
		viewer.onStill = () => this.hover();
		viewer.onResized = () => this.leave();
	}

	/** What keys and the line at the bottom are about. */
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

	/** Find out anew what is under the pointer: it or the picture has moved. */
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
		// Who is in the graph hears its item.
		if (node >= 0 && document.activeElement !== this.page.canvas)
			this.page.spoken.textContent = sentence(this.state, node);
		this.placeFrames();
		this.describe();
	}

	/** Write the line at the bottom, if it would say something else. */
	describe() {
		// A table has its own.
		if (this.described === this.current || this.state.functions)
			return;
		this.described = this.current;
		fillDetails(this.page.details, this.state, this.current);
	}

	/** What is said of a node has changed. */
	describeAnew() {
		outline(this.page.canvas, this.state, this.selected);
		this.described = NOTHING_SAID;
		this.describe();
	}

	placeFrames() {
		this.frameAround(this.page.outline, this.hovered);
		this.frameAround(this.page.ring, this.selected);
	}

	/** Where a box begins on the screen. @param {number} node */
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
function row(title, cells) {
	return element('tr', {}, [element('th', {scope: 'row'}, [title]),
		...cells.map(cell => element('td', {}, [cell]))]);
}

/**
 * Who had the locks that a node waited for, in words. @param {import('./state.js').State} state
 * @param {number} node @returns {string[]}
 */
function holdersText(state, node) {
	const holders = holdersOf(state, node);
	const more = holders.length - MOST_HOLDERS;
	return [...holders.slice(0, MOST_HOLDERS)
		.map(({name, share}) => `${name || 'unknown'} ${formatPercent(share, 1)}`),
	...more > 0 ? [`${more} more`] : []];
}

/**
 * @param {HTMLElement} tooltip @param {import('./state.js').State} state
 * @param {number} node
 */
function fillTooltip(tooltip, state, node) {
	const {tree} = state;
	const weightRow = (/** @type {string} */ title, /** @type {number} */ weight) => {
		const [first, ...time] = amountsOf(state, weight);
		return row(title, [first, formatPercent(weight, tree.total[0]), ...time]);
	};
	const shares = sharesOf(state, node);
	const table = element('table', {}, [
		weightRow('Total', tree.total[node]),
		weightRow('Self', tree.self[node]),
		...shares.view ? [row('Of view', ['', shares.view])] : [],
		...shares.parent ? [row('Of parent', ['', shares.parent])] : [],
	]);
	const origin = node > 0 ? originOf(state.profile, tree.frame[node]) : '';
	const parts = partsOf(state, node);
	const holders = holdersText(state, node);
	const change = state.profile.texts[tree.frame[node]];
	const known = linesOf(state, node);
	const lines = known ? known.lines.slice(0, MOST_LINES) : [];
	tooltip.replaceChildren(
		element('div', {class: 'name'}, [nodeName(state, node)]),
		...origin ? [element('div', {class: 'module'}, [origin])] : [],
		...known?.file ? [element('div', {class: 'module'}, [known.file])] : [],
		...tree.chart ? [element('div', {class: 'module'}, [whenOf(state, node)])] : [],
		table,
		...change ? [element('div', {class: 'change'}, [change])] : [],
		...parts.length ? [element('table', {class: 'parts'}, parts.map(({name, weight}) =>
			row(name, amountsOf(state, weight, 'waits'))))] : [],
		...holders.length ? [element('div', {class: 'holders'},
			[`Locks held by ${holders.join(', ')}`])] : [],
		...lines.length ? [element('table', {class: 'lines'},
			lines.map(({place, share}) => row(place, [share])))] : []);
}

/**
 * Below the pointer, or above it where there is no room; always whole within `ui`.
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

/** The line at the bottom. @param {string} name @param {string} origin @param {HTMLElement[]} facts */
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
			element('div', {class: 'hint'}, [notes.join(' \u00b7 ')]));
		details.lastElementChild?.setAttribute('title', notes.join('\n'));
		return;
	}
	const {tree} = state;
	const shares = sharesOf(state, node);
	const origin = node > 0 ? originOf(state.profile, tree.frame[node]) : '';
	const holders = holdersText(state, node);
	const change = state.profile.texts[tree.frame[node]];
	const known = linesOf(state, node);
	details.replaceChildren(...describeAs(nodeName(state, node), origin, [
		fact('Total', ...amountsOf(state, tree.total[node])),
		fact('Self', ...amountsOf(state, tree.self[node])),
		...tree.chart ? [fact('Time', whenOf(state, node))] : [],
		fact('Of all', shares.all),
		...shares.view ? [fact('Of view', shares.view)] : [],
		...shares.parent ? [fact('Of parent', shares.parent)] : [],
		...partsOf(state, node).map(({name, weight}) =>
			fact(name, ...amountsOf(state, weight, 'waits'))),
		...change ? [fact('Change', change)] : [],
		...holders.length ? [fact('Locks held by', holders.join(', '))] : [],
		...known ? [fact('Lines', ...known.lines.slice(0, MOST_LINES)
			.map(({place, share}) => `${place} ${share}`))] : [],
	]));
}
