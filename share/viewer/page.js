// SPDX-License-Identifier: MIT
// @ts-check
// The elements of the interactive picture, made beside the static one.

const XHTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';

/**
 * @typedef {object} Page
 * @property {SVGSVGElement} svg
 * @property {Element} object the foreignObject
 * @property {HTMLElement} ui
 * @property {HTMLInputElement} search
 * @property {HTMLElement} matched
 * @property {HTMLButtonElement} reset
 * @property {HTMLElement} scroller
 * @property {HTMLElement} sheet as high as the whole graph; the canvas sticks to what is seen of it
 * @property {HTMLCanvasElement} canvas
 * @property {HTMLElement} outline around the box under the pointer
 * @property {HTMLElement} tooltip
 * @property {HTMLElement} spoken for screen readers
 */

/**
 * @param {string} name @param {Record<string, string>} [attributes] @param {(Node | string)[]}
 *         [children]
 * @returns {any}
 */
export function element(name, attributes = {}, children = []) {
	const made = document.createElementNS(XHTML, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	made.append(...children);
	return made;
}

/** @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile @returns {Page} */
export function buildPage(svg, profile) {
	const search = element('input', {
		type: 'search',
		placeholder: 'Search',
		spellcheck: 'false',
		autocomplete: 'off',
		'aria-label': 'Search functions',
		title: 'Search functions  ( / )'
	});
	const matched = element('output', {class: 'matched'});
	const reset = element('button',
		{type: 'button', class: 'reset', title: 'Show everything  (Esc)'}, ['Reset zoom']);
	const canvas = element('canvas', {role: 'img', 'aria-label': 'Flame graph'});
	const outline = element('div', {class: 'outline'});
	const sheet = element('div', {class: 'sheet'}, [canvas]);
	const scroller = element('div', {class: 'scroller'}, [sheet]);
	const tooltip = element('div', {class: 'tooltip', role: 'tooltip'});
	const spoken = element('div', {class: 'spoken', 'aria-live': 'polite'});
	const heading = element('div', {class: 'heading'}, [element('h1', {}, [profile.title])]);
	if (profile.subtitle)
		heading.append(element('p', {}, [profile.subtitle]));
	const ui = element('div', {class: 'flamerun'}, [
		element('header', {},
			[heading, element('div', {class: 'tools'}, [matched, reset, search])]),
		scroller,
		element('footer', {},
			['Click a box to zoom \u00b7 Esc to reset \u00b7 / to search']),
		outline,
		tooltip,
		spoken,
	]);
	const object = document.createElementNS(SVG, 'foreignObject');
	for (const [key, value] of Object.entries(
		     {id: 'flamerun-ui', x: '0', y: '0', width: '100%', height: '100%'}))
		object.setAttribute(key, value);
	object.append(ui);
	return {
		svg,
		object,
		ui,
		search,
		matched,
		reset,
		scroller,
		sheet,
		canvas,
		outline,
		tooltip,
		spoken
	};
}

const SIZES = ['width', 'height', 'viewBox'];

/**
 * Give the window to the viewer; what the static picture needs is kept in
 * attributes. @param {Page} page
 */
export function showPage(page) {
	const {svg} = page;
	for (const name of SIZES)
		if (!svg.hasAttribute(`data-${name}`))
			svg.setAttribute(`data-${name}`, svg.getAttribute(name) || '');
	// Before the data: when a saved page is read again, the script finds what it left behind.
	svg.insertBefore(page.object, svg.querySelector('#flamerun'));
	fillWindow(svg);
	svg.classList.add('flamerun-live');
}

/** @param {SVGSVGElement} svg */
export function fillWindow(svg) {
	svg.setAttribute('width', '100%');
	svg.setAttribute('height', '100%');
	svg.removeAttribute('viewBox');
}

/** Back to the static picture's size, for paper and after a failure. @param {SVGSVGElement} svg */
export function restoreSize(svg) {
	for (const name of SIZES)
		if (svg.hasAttribute(`data-${name}`))
			svg.setAttribute(name, svg.getAttribute(`data-${name}`) || '');
}

/** Remove what an earlier run left in a saved page. @param {SVGSVGElement} svg */
export function hidePage(svg) {
	svg.querySelector('#flamerun-ui')?.remove();
	svg.classList.remove('flamerun-live');
	restoreSize(svg);
}

/**
 * @param {Page} page @param {import('./decode.js').Profile}
 *         profile @returns {import('./draw.js').Theme}
 */
export function readTheme(page, profile) {
	const style = getComputedStyle(page.ui);
	const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
	const dark = value('--palette') === 'dark';
	return {
		colors: dark ? profile.dark : profile.light,
		ink: value('--box-ink'),
		match: value('--match'),
		matchInk: value('--match-ink'),
		background: value('--background'),
		family: style.fontFamily,
	};
}
