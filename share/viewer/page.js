// SPDX-License-Identifier: MIT
// @ts-check
// Make the elements of the interactive picture, and switch between it and the static picture.

import {WAIT} from './aggregate.js';
import {press} from './search.js';

const XHTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';

/** Icons of buttons: paths on a field of 16 by 16. */
const SHAPES = {
	icicle: 'M2 3h12M4 8h8M6 13h4',
	bottomUp: 'M8 2v12M4 10l4 4 4-4M3 2h10',
	theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 1 1 0 12',
	colors: 'M2.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 4.5h4M9.5 11.5h4',
	help: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.2 8 10M8 13v.1',
	previous: 'M4 10l4-4 4 4',
	next: 'M4 6l4 4 4-4',
	close: 'M4 4l8 8M12 4l-8 8',
	search: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M10.5 10.5L14 14',
};

/**
 * @param {string} namespace @param {string} name @param {Record<string, any>} attributes
 * @param {(Node | string)[]} children @returns {any}
 */
function elementOf(namespace, name, attributes, children) {
	const made = document.createElementNS(namespace, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	made.append(...children);
	return made;
}

/**
 * @param {string} name @param {Record<string, any>} attributes @param {Node[]} [children]
 * @returns {SVGElement}
 */
export function svgElement(name, attributes, children = []) {
	return elementOf(SVG, name, attributes, children);
}

/** @param {keyof typeof SHAPES} name */
export function icon(name) {
	return svgElement('svg', {viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': true, class: 'icon'},
		[svgElement('path', {d: SHAPES[name]})]);
}

/**
 * @param {string} name @param {Record<string, any>} [attributes]
 * @param {(Node | string)[]} [children] @returns {any}
 */
export function element(name, attributes = {}, children = []) {
	return elementOf(XHTML, name, attributes, children);
}

/**
 * Make a button that calls `act` when it is pressed.
 * @param {Record<string, any>} attributes @param {(Node | string)[]} children
 * @param {() => void} act @returns {HTMLButtonElement}
 */
export function actingButton(attributes, children, act) {
	const made = element('button', attributes, children);
	made.addEventListener('click', act);
	return made;
}

/**
 * @param {string} name class
 * @param {string} title what it does, two spaces, and its key
 * @param {(Node | string)[]} children @returns {HTMLButtonElement}
 */
export function button(name, title, children) {
	return element('button', {class: name, title, 'aria-label': title.replace(/ {2}.*/, '')}, children);
}

function buildSearch() {
	const input = element('input', {inputmode: 'search', placeholder: 'Search',
		spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', role: 'searchbox',
		'aria-label': 'Search functions', title: 'Search functions  ( / )'});
	const parts = {
		input,
		count: element('span', {class: 'count', 'aria-hidden': 'true'}),
		matchCase: button('case', 'Match case  (Alt+C)', ['Aa']),
		regex: button('regex', 'Regular expression  (Alt+R)', ['.*']),
		previous: button('previous', 'Previous match  (N, Shift+Enter)',
			[icon('previous')]),
		next: button('next', 'Next match  (n, Enter)', [icon('next')]),
	};
	const field = element('div', {class: 'search', role: 'search'}, [icon('search'), input,
		parts.count, parts.matchCase, parts.regex, parts.previous, parts.next]);
	return {field, ...parts};
}

function buildTools() {
	return {
		bottomUp: button('bottom-up', 'Bottom-up: from what ran to its callers  (b)',
			[icon('bottomUp'), element('span', {}, ['Bottom-up'])]),
		icicle: button('icicle', 'Icicle: roots on top  (i)',
			[icon('icicle'), element('span', {}, ['Icicle'])]),
		colors: button('colors', 'What the colours mean  (k)', [icon('colors')]),
		dark: button('dark', 'Dark or light  (d)', [icon('theme')]),
		help: button('help', 'Keys  (?)', [icon('help')]),
	};
}

/** @type {Record<import('./filter.js').View, [string, string]>} text and title of the button */
const VIEWS_TEXT = {
	graph: ['Graph', 'Graph of stacks  (g)'],
	tree: ['Tree', 'Calls as a tree that unfolds  (y)'],
	table: ['Table', 'Functions in a table  (t)'],
	sandwich: ['Callers', 'Callers and callees of the selected function  (s)'],
	time: ['Time', 'A thread\u2019s samples in order of time  (o)'],
};

/** @type {Record<import('./state.js').Times, [string, string]>} */
const TIMES_BUTTONS = {
	cpu: ['CPU', 'CPU time  (w)'],
	waits: ['Waits', 'Waiting time  (w)'],
	both: ['Both', 'CPU and waiting time  (w)'],
};

/**
 * Make a group of buttons, one for each choice. pressChoice() presses that of the current choice.
 * @param {string} name class
 * @param {string} label @param {Record<string, [string, string]>} choices
 */
export function buildChoice(name, label, choices) {
	const buttons = Object.fromEntries(Object.entries(choices).map(([one, [text, title]]) =>
		[one, element('button', {class: `${name}-${one}`, title}, [text])]));
	return {buttons, group: element('div', {class: `choice ${name}`, role: 'group', 'aria-label': label},
		Object.values(buttons))};
}

/** @param {{buttons: Record<string, HTMLElement>}} choice @param {string} chosen */
export function pressChoice({buttons}, chosen) {
	for (const [name, one] of Object.entries(buttons))
		press(one, name === chosen);
}

/**
 * Update the buttons and elements that depend on the filter's view and kind of time. @param {Page}
 * page @param {import('./state.js').State} state
 */
export function showChoices({scroller, table, calls, views, times, icicle, bottomUp, canvas}, {filter, choices}) {
	const {view} = filter;
	scroller.hidden = view === 'table' || view === 'tree';
	table.main.hidden = view !== 'table';
	calls.main.hidden = view !== 'tree';
	pressChoice(views, view);
	pressChoice(times, filter.times);
	for (const [name, one] of Object.entries(times.buttons))
		one.disabled = !choices.some(choice => choice === name);
	// Tables and sandwiches have no choice of order.
	icicle.disabled = scroller.hidden || view === 'sandwich';
	bottomUp.disabled = view !== 'graph' && view !== 'tree';
	canvas.setAttribute('aria-label', view === 'sandwich' ? 'Callers and callees' : 'Flame graph');
}

/** Make the graph and the elements that lie over it. */
function buildGraph() {
	const canvas = element('canvas', {'tabindex': '0', 'role': 'tree',
		'aria-orientation': 'horizontal', 'aria-label': 'Flame graph',
		'aria-description': 'Left and right are siblings, up and down caller and callee as the '
			+ 'graph stands; question mark lists all keys.'});
	const outline = element('div', {class: 'outline', hidden: ''});
	const ring = element('div', {class: 'ring', hidden: ''});
	const more = ['above', 'below'].map(side => element('button',
		{class: `more ${side}`, hidden: ''}));
	const stage = element('div', {class: 'stage'}, [canvas, ring, outline, ...more]);
	// The sheet is as high as the whole graph, so that the scroller can scroll; the stage stays
	// in the visible part.
	const sheet = element('div', {class: 'sheet'}, [stage]);
	return {canvas, outline, ring, stage, sheet, more,
		scroller: element('main', {class: 'scroller', tabindex: '-1'}, [sheet])};
}

/**
 * Make an empty grid, see rows.js.
 * @param {string} role @param {string} label @param {string} description
 */
function buildGrid(role, label, description) {
	const head = element('div', {role: 'row', class: 'row', 'aria-rowindex': '1'});
	const body = element('div', {role: 'rowgroup', class: 'rows'});
	const grid = element('div', {role, class: 'table', 'aria-label': label,
		'aria-description': `${description}; question mark lists all keys.`},
		[element('div', {role: 'rowgroup', class: 'table-head'}, [head]), body]);
	return {grid, head, body, main: element('main', {class: 'functions', hidden: ''}, [grid])};
}

/** @typedef {ReturnType<typeof buildGrid>} Grid */

/** @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile */
export function buildPage(svg, profile) {
	const search = buildSearch();
	const tools = buildTools();
	const graph = buildGraph();
	const table = buildGrid('grid', 'Functions', 'Up and down are functions, left and right sort');
	const calls = buildGrid('treegrid', 'Calls', 'Up and down are rows, right unfolds, left folds');
	const matched = element('output', {class: 'matched'});
	const reset = button('reset', 'Reset zoom  (0)', ['Reset zoom']);
	const marked = `${profile.marks.length} mark${profile.marks.length === 1 ? '' : 's'}`;
	const marks = button('marks', `${marked} the program made  (m)`, [marked]);
	const times = buildChoice('times', 'Time that is shown', TIMES_BUTTONS);
	const views = buildChoice('views', 'View', VIEWS_TEXT);
	const legend = element('div', {class: 'legend', hidden: ''});
	const compared = element('div', {class: 'compared', role: 'group', hidden: '', 'aria-label': 'Comparison'});
	const chips = element('div', {class: 'chips', role: 'group', hidden: '',
		'aria-label': 'What is shown'});
	const crumbs = element('nav', {class: 'crumbs', 'aria-label': 'Zoomed into'});
	const details = element('footer', {class: 'details'});
	const tooltip = element('div', {class: 'tooltip', role: 'tooltip', hidden: ''});
	const toast = element('div', {class: 'toast', 'aria-hidden': 'true'});
	const spoken = element('div', {class: 'spoken', role: 'status', 'aria-live': 'polite'});
	const heading = element('div', {class: 'heading'}, [
		element('h1', {title: profile.title}, [profile.title]),
		element('p', {title: profile.subtitle}, [profile.subtitle])]);
	const ui = element('div', {class: 'flamerun'}, [
		element('header', {}, [heading, element('div', {class: 'tools'},
			[search.field, tools.bottomUp, tools.icicle, tools.colors, tools.dark, tools.help])]),
		element('div', {class: 'bar'}, [views.group, chips, crumbs, matched, reset,
			...profile.marks.length ? [marks] : [],
			...profile.frameKind.includes(WAIT) ? [times.group] : []]),
		compared, legend, graph.scroller, table.main, calls.main, details, tooltip, toast, spoken,
	]);
	// The attribute `display` hides the element, and a style of the viewer overrides it, so
	// that a saved page shows only the static picture if scripts are disabled.
	const object = svgElement('foreignObject',
		{id: 'flamerun-ui', x: '0', y: '0', width: '100%', height: '100%',
			display: 'none'});
	object.append(ui);
	return {svg, object, ui, search, ...tools, ...graph, table, calls, matched, reset, marks, times, views, compared, legend,
		chips, crumbs, details, tooltip, toast, spoken};
}

/** @typedef {ReturnType<typeof buildPage>} Page */

/** The svg element's attributes that the static picture needs and the interactive must not have. */
const STATIC = ['width', 'height', 'viewBox', 'role'];

/** @param {SVGSVGElement} svg */
function staticOf(svg) {
	return svg.querySelector('#flamerun-static');
}

/** Is the pointer a finger? Fingers cannot hover, and need larger boxes. */
export function isTouched() {
	return matchMedia('(pointer: coarse)').matches;
}

/** Does the user prefer no animations? */
export function isStill() {
	return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/**
 * Let the viewer fill the window. The static picture's attributes are kept as data- attributes.
 * @param {Page} page
 */
export function showPage(page) {
	const {svg} = page;
	for (const name of STATIC)
		svg.setAttribute(`data-${name}`, svg.getAttribute(name) || '');
	// Insert before the data: when a saved page is opened, hidePage() must find and remove
	// these elements, and at that moment elements after the script do not exist yet.
	svg.insertBefore(page.object, svg.querySelector('#flamerun'));
	// Without this element, phones lay out the page as wide as on a desktop and show it small.
	page.object.before(element('meta', {id: 'flamerun-viewport', name: 'viewport',
		content: 'width=device-width,initial-scale=1'}));
	// Remove the role and hide the static picture from screen readers: they skip the contents
	// of an element whose role is an image.
	svg.removeAttribute('role');
	staticOf(svg)?.setAttribute('aria-hidden', 'true');
	fillWindow(svg);
}

/** @param {SVGSVGElement} svg */
export function fillWindow(svg) {
	svg.setAttribute('width', '100%');
	svg.setAttribute('height', '100%');
	svg.removeAttribute('viewBox');
}

/**
 * Remove the elements that showPage() added, now or before the page was saved. @param
 * {SVGSVGElement} svg
 */
export function hidePage(svg) {
	svg.querySelectorAll('#flamerun-ui, #flamerun-viewport, #flamerun-print, .flamerun-why')
		.forEach(one => one.remove());
	svg.classList.remove('flamerun-printing');
	svg.style.removeProperty('background');
	staticOf(svg)?.removeAttribute('aria-hidden');
	for (const name of STATIC)
		if (svg.hasAttribute(`data-${name}`))
			svg.setAttribute(name, svg.getAttribute(`data-${name}`) || '');
}
