// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at, as the fragment of the URL, so that it can be sent, reloaded and gone back to;
// and the browser's history, the only one there is. Only what differs from the file's own defaults
// is written:
//
//   #times=waits&mark=2&inlined=folded&zoom=1.1a.2f&span=0.25-0.5&order=bottom-up&layout=icicle&theme=dark
//   #search=text&regex&case

import {formatPath, parsePath} from './navigate.js';
import {TIMES, follow, framesTo} from './tree.js';

/** Browsers keep only so much with an entry of the history. */
const LONGEST_TRAIL = 100;

/**
 * @typedef {object} Place
 * @property {number} mark from which to the next is shown, 0 before the first, -1 all
 * @property {'' | import('./state.js').Times} times that are shown
 * @property {boolean} folded what was inlined is not shown
 * @property {number[]} path frames from the outermost box to the one zoomed into
 * @property {{from: number, to: number} | null} span shares of all weight, when not the node's
 * @property {'' | 'top-down' | 'bottom-up'} order
 * @property {'' | 'flame' | 'icicle'} layout
 * @property {'' | 'light' | 'dark'} theme
 * @property {import('./search.js').Query} query
 */

/** @param {string} text */
function decode(text) {
	try {
		return decodeURIComponent(text.replace(/\+/g, ' '));
	} catch {
		return '';
	}
}

/** @param {string} text @returns {Place['span']} */
function parseSpan(text) {
	const [from, to] = text.split('-').map(Number);
	return from >= 0 && from < to && to <= 1 ? {from, to} : null;
}

/** @template {string} T @param {string | undefined} text @param {T[]} known @returns {T | ''} */
function oneOf(text, known) {
	return known.find(one => one === text) || '';
}

/** Anything is understood as far as it makes sense. @param {string} fragment @returns {Place} */
export function parsePlace(fragment) {
	/** @type {Map<string, string>} */
	const values = new Map();
	for (const part of fragment.replace(/^#/, '').split('&')) {
		const [key, ...rest] = part.split('=');
		values.set(key, decode(rest.join('=')));
	}
	return {
		mark: parseInt((values.get('mark') || '').match(/^\d+$/)?.[0] || '-1', 10),
		times: oneOf(values.get('times'), [...TIMES]),
		folded: values.get('inlined') === 'folded',
		path: parsePath(values.get('zoom') || ''),
		span: parseSpan(values.get('span') || ''),
		order: oneOf(values.get('order'), ['top-down', 'bottom-up']),
		layout: oneOf(values.get('layout'), ['flame', 'icicle']),
		theme: oneOf(values.get('theme'), ['light', 'dark']),
		query: {
			text: values.get('search') || '',
			regex: values.has('regex'),
			matchCase: values.has('case'),
		},
	};
}

/** @param {Place} place @returns {string} with its "#", or "" for the beginning */
export function formatPlace({times, mark, folded, path, span, order, layout, theme, query}) {
	const parts = [];
	if (times)
		parts.push(`times=${times}`);
	if (mark >= 0)
		parts.push(`mark=${mark}`);
	if (folded)
		parts.push('inlined=folded');
	if (path.length)
		parts.push(`zoom=${formatPath(path)}`);
	if (span)
		parts.push(`span=${[span.from, span.to].map(n => n.toFixed(9)).join('-')}`);
	if (order)
		parts.push(`order=${order}`);
	if (layout)
		parts.push(`layout=${layout}`);
	if (theme)
		parts.push(`theme=${theme}`);
	if (query.text)
		parts.push(`search=${encodeURIComponent(query.text)}`);
	if (query.regex)
		parts.push('regex');
	if (query.matchCase)
		parts.push('case');
	return parts.length ? `#${parts.join('&')}` : '';
}

export class Address {
	/**
	 * @param {import('./navigate.js').Navigator} navigator
	 * @param {import('./search.js').SearchBox} searchBox
	 */
	constructor(navigator, searchBox) {
		this.navigator = navigator;
		this.searchBox = searchBox;
		this.viewer = navigator.viewer;
		this.state = navigator.state;
		this.restoring = false;
		window.addEventListener('hashchange', () => this.restore(false));
	}

	/** @returns {string[]} what was zoomed into before, as the entry of the history has it */
	trail() {
		const trail = history.state?.trail;
		return Array.isArray(trail) ? trail.map(String) : [];
	}

	/** @returns {Place} */
	place() {
		const {state} = this;
		const {tree, profile} = state;
		const {span} = this.viewer.camera;
		const total = tree.total[0];
		return {
			times: state.times === state.initialTimes ? '' : state.times,
			mark: state.stretch,
			folded: state.folded,
			path: framesTo(tree, state.zoomed),
			span: state.free ? {from: span.from / total, to: span.to / total} : null,
			order: state.bottomUp === profile.reversed ? ''
				: state.bottomUp ? 'bottom-up' : 'top-down',
			layout: state.icicle === profile.icicle ? '' : state.icicle ? 'icicle' : 'flame',
			theme: state.theme,
			query: this.searchBox.finder.query,
		};
	}

	/**
	 * Write the place into the URL.
	 * @param {boolean} [asNew] the Back button undoes it @param {string[]} [trail]
	 */
	keep(asNew = false, trail = this.trail()) {
		const fragment = formatPlace(this.place());
		if (this.restoring || fragment === location.hash)
			return;
		try {
			const url = fragment || location.pathname + location.search;
			history[asNew ? 'pushState' : 'replaceState'](
				{trail: trail.slice(-LONGEST_TRAIL)}, '', url);
		} catch {
			// Some documents may not: data: URLs, sandboxes, many changes at a time.
		}
	}

	/** @param {boolean} first at the beginning */
	restore(first) {
		const fragment = location.hash;
		if (!first && fragment === formatPlace(this.place()))
			return;
		const {viewer, state, navigator} = this;
		const {profile} = state;
		const place = parsePlace(fragment);
		this.restoring = true;
		if (place.theme !== state.theme) {
			state.theme = place.theme;
			viewer.recolor();
		}
		const times = state.choices.find(one => one === place.times) || state.initialTimes;
		if (times !== state.times)
			navigator.showTimes(times);
		const folded = place.folded && state.hasInlined;
		if (folded !== state.folded)
			navigator.fold(folded);
		const bottomUp = place.order ? place.order === 'bottom-up' : profile.reversed;
		if (first || bottomUp !== state.bottomUp)
			navigator.reorder(bottomUp);
		const stretch = state.stretches[place.mark]?.weight ? place.mark : -1;
		if (stretch !== state.stretch)
			navigator.showStretch(stretch);
		const icicle = place.layout ? place.layout === 'icicle' : profile.icicle;
		if (first || icicle !== state.icicle)
			navigator.turn(icicle);
		this.searchBox.fill(place.query);
		this.restoreZoom(place, first);
		viewer.page.spoken.textContent = '';
		this.restoring = false;
	}

	/** @param {Place} place @param {boolean} first */
	restoreZoom({path, span}, first) {
		const {viewer, state, navigator} = this;
		const total = state.tree.total[0];
		const node = follow(state.tree, path);
		if (first)
			viewer.toRoot();
		if (span)
			navigator.freely(() =>
				viewer.camera.set({from: span.from * total, to: span.to * total}));
		else if (node !== state.zoomed || state.free)
			navigator.fill(node, first);
		if (first && node)
			navigator.scrollTo(state.tree.depth[node]);
	}
}
