// SPDX-License-Identifier: MIT
// @ts-check
// Write the state of the view to the fragment of the URL and restore it, so that a view can be
// shared and reloaded, and the Back button works. The browser's history is the viewer's only
// history. Only differences from the file's defaults are written, at most 2,000 characters:
//
//   #times=waits&mark=Zk1&inlined=folded&focus=main&hide=memcpy&thread=worker&time=1.5-2.25
//   #box=aB3xY2Zk1&span=0.25-0.5&order=bottom-up&layout=icicle&theme=dark&search=text&regex&case
//   #view=table&sort=total-falling&strip=lanes
//
// A link names boxes and marks by hashes of their names, three digits for each level, so that it is
// short and leads to the same function in another run's picture. If that picture lacks some of the
// levels, the deepest box that was found is shown and the user is informed.

import {commOf} from './aggregate.js';
import {TIMES} from './decode.js';
import {VIEWS, isSameFilter, term, timeTerm} from './filter.js';
import {FIRST_SORT, SORTS} from './functions.js';
import {OPENED} from './strip.js';
import {nodeName} from './text.js';
import {childrenOf, firstAlong, isCallee, nodeAt, pathTo, rowOf} from './tree.js';

/** Visible ranges that differ by less than this are equal, because links have nine digits. */
const LEAST_SPAN = 3e-9;

/** Maximum number of zooms in an entry of the browser's history, whose size browsers limit. */
const LONGEST_TRAIL = 100;

/**
 * Maximum number of levels of a box's path that a link contains as hashes. For deeper levels the
 * link contains only their number, which is followed while each box has a single child.
 */
const MOST_LEVELS = 280;
/** A search text that is longer than this in the URL is left out of the link. */
const LONGEST_QUERY = 600;

/**
 * @typedef {{levels: string[], more: number}} Way path to a box: hashes of names, and the number of
 * deeper levels
 */

/**
 * The state of the view as a link contains it.
 * @typedef {object} Place
 * @property {'' | import('./state.js').Times} times kind of time that is shown, "" for the default
 * @property {string} mark hash of the mark at which the shown stretch begins, "" for none
 * @property {import('./filter.js').Term[]} terms without the term of time that `mark` stands for
 * @property {'' | import('./filter.js').View} view
 * @property {string} of text or hash of the function or thread that the view is of
 * @property {string} sort order of a table, "" for the first one
 * @property {Way} way path to the zoomed box
 * @property {{from: number, to: number} | null} span visible range as shares of all weight, null if
 * the zoomed box determines it
 * @property {'' | 'top-down' | 'bottom-up'} order
 * @property {'' | 'flame' | 'icicle'} layout
 * @property {'' | 'light' | 'dark'} theme
 * @property {import('./strip.js').Opened} opened panel below the strip of time
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

/** If the terms' texts together are longer than this in the URL, the link contains their hashes. */
const LONGEST_TEXTS = 300;
const LONGEST_OF = 60;
/**
 * @type {import('./filter.js').Kind[]} kinds of terms that a link contains as kind and text; a time
 * is two numbers instead
 */
const NAMED = ['thread', 'process', 'focus', 'module', 'ignore', 'hide', 'hidemodule', 'collapse', 'recursion',
	'inlined', 'least'];
/** Value in a link for kinds of terms that have no name. @type {Record<string, string>} */
const DONE = {recursion: 'merged', inlined: 'folded'};

/** @type {string[]} */
const NAMES_OF_MODULES = ['module', 'hidemodule', 'collapse'];
const MOST_TERMS = 20;
/**
 * By view, the kind of its function or thread. @type {Record<string, import('./filter.js').Kind>}
 */
const VIEW_OF = {sandwich: 'focus', time: 'thread'};

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Hash a name to three characters. The first is a letter, so that no hash looks like a number.
 * @param {string} name
 */
export function nameDigits(name) {
	let hash = 0x811c9dc5;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	hash ^= hash >>> 15;
	return DIGITS[(hash >>> 12 & 63) % 52] + DIGITS[hash >>> 6 & 63] + DIGITS[hash & 63];
}

/**
 * First level of a path among the callees of a sandwich; paths among its callers have no such
 * level. No box has an empty name.
 */
const BELOW = nameDigits('');

/** @param {string[]} names of the boxes along the path @returns {Way} */
export function wayOf(names) {
	return {levels: names.slice(0, MOST_LEVELS).map(nameDigits),
		more: Math.max(names.length - MOST_LEVELS, 0)};
}

/** @param {Way} way */
function formatWay({levels, more}) {
	return levels.join('') + (more ? `.${more}` : '');
}

/** @param {string} text @returns {Way} */
function parseWay(text) {
	const [, digits, more] = text.match(/^((?:[\w-]{3})*)(?:\.(\d{1,7}))?$/) || ['', '', ''];
	return {levels: digits.match(/.../g) || [], more: digits && Number(more) || 0};
}

/**
 * Follow a path. Returns the deepest box of the path that exists, and how many levels of the path
 * do not exist.
 * @param {import('./tree.js').Tree} tree @param {Way} way @param {(node: number) => string} nameOf
 */
export function followWay(tree, {levels, more}, nameOf) {
	let node = 0;
	const below = levels[0] === BELOW && tree.callers < Infinity;
	let left = levels.length + more - (below ? 1 : 0);
	for (; left; left--) {
		const level = levels[levels.length + more - left];
		const children = childrenOf(tree, node, below);
		const next = level ? children.find(child => nameDigits(nameOf(child)) === level)
			: children.length === 1 ? children[0] : undefined;
		if (next === undefined)
			break;
		node = next;
	}
	return {node, missing: left};
}

/**
 * Follow a path in a chart of time, where siblings may have the same function: prefer the box that
 * covers the link's span, else use the first box along the path.
 * @param {import('./tree.js').Tree} tree @param {Way} way @param {Place['span']} span
 * @param {(node: number) => string} nameOf
 */
function followInTime(tree, {levels, more}, span, nameOf) {
	const digits = new Map();  // by frame
	const digitsOf = (/** @type {number} */ node) => {
		if (!digits.has(tree.frame[node]))
			digits.set(tree.frame[node], nameDigits(nameOf(node)));
		return digits.get(tree.frame[node]);
	};
	const depth = levels.length + more;
	const seen = span ? nodeAt(tree, depth, (span.from + span.to) / 2 * tree.total[0]) : -1;
	if (seen > 0 && isSpan(tree, seen, span))
		return {node: seen, missing: 0};
	const node = firstAlong(tree, depth, (one, level) =>
		!levels[level] || digitsOf(one) === levels[level]);
	return {node, missing: depth - tree.depth[node]};
}

/** @param {import('./tree.js').Tree} tree @param {number} node */
function spanOf({from, total}, node) {
	return {from: from[node] / total[0], to: (from[node] + total[node]) / total[0]};
}

/**
 * Does a box cover exactly a link's span?
 * @param {import('./tree.js').Tree} tree @param {number} node @param {Place['span']} span
 */
function isSpan(tree, node, span) {
	const {from, to} = spanOf(tree, node);
	return span !== null && Math.abs(span.from - from) + Math.abs(span.to - to) < LEAST_SPAN;
}

/**
 * Returns the index of the stretch that begins at the mark with this hash, or -1 if there is none.
 * @param {import('./state.js').Stretch[]} stretches @param {string} mark
 */
export function findMark(stretches, mark) {
	const [name, nth] = mark.split('.');
	return stretches.map((_, i) => i).filter(i => nameDigits(stretches[i].text) === name)
		[Number(nth) || 0] ?? -1;
}

/**
 * Returns the hash of the text of the stretch's mark. If earlier marks have the same text, their
 * number follows.
 * @param {import('./state.js').Stretch[]} stretches @param {number} stretch index or -1
 */
export function markDigits(stretches, stretch) {
	if (stretch < 0)
		return '';
	const {text} = stretches[stretch];
	const nth = stretches.slice(0, stretch).filter(one => one.text === text).length;
	return nameDigits(text) + (nth ? `.${nth}` : '');
}

/**
 * Hash a long text to six characters, enough for the texts of a picture to have different hashes.
 * @param {string} text
 */
function longDigits(text) {
	return `~${nameDigits(text)}${nameDigits(`${text}~`)}`;
}

/**
 * @param {import('./filter.js').Term} one @param {boolean} isBrief write a hash instead of the text
 * @returns {string[]} its part of a link: key and value
 */
function formatTerm({kind, value, from, to}, isBrief) {
	return [kind, kind === 'least' ? value : kind === 'time' ? [from, to].map(us => Number.isFinite(us) ? us / 1e6 : '').join('-')
		: DONE[kind] || (isBrief ? longDigits(value) : encodeURIComponent(value))];
}

/** @param {string} key @param {string} value @returns {import('./filter.js').Term[]} one or none */
function parseTerm(key, value) {
	const [, from, to] = key === 'time' && value.match(/^(\d*\.?\d*)-(\d*\.?\d*)$/) || [];
	if (from || to)
		return [timeTerm(from ? Math.round(Number(from) * 1e6) : -Infinity,
			to ? Math.round(Number(to) * 1e6) : Infinity)];
	const kind = NAMED.find(one => one === key);
	return !kind || !value || DONE[key] && DONE[key] !== value ? [] : [term(kind, DONE[key] ? '' : value)];
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

/** Parse a fragment; ignore invalid parts. @param {string} fragment @returns {Place} */
export function parsePlace(fragment) {
	/** @type {Map<string, string>} */
	const values = new Map();
	/** @type {import('./filter.js').Term[]} */
	const terms = [];
	for (const part of fragment.replace(/^#/, '').split('&')) {
		const [key, ...rest] = part.split('=');
		const value = decode(rest.join('='));
		values.set(key, value);
		terms.push(...parseTerm(key, value));
	}
	return {
		mark: values.get('mark')?.match(/^[\w-]{3}(\.\d+)?$/)?.[0] || '',
		times: oneOf(values.get('times'), [...TIMES]),
		terms: terms.slice(0, MOST_TERMS),
		view: oneOf(values.get('view'), VIEWS),
		of: values.get('of') || '',
		sort: oneOf(values.get('sort'), SORTS),
		way: parseWay(values.get('box') || ''),
		span: parseSpan(values.get('span') || ''),
		order: oneOf(values.get('order'), ['top-down', 'bottom-up']),
		layout: oneOf(values.get('layout'), ['flame', 'icicle']),
		theme: oneOf(values.get('theme'), ['light', 'dark']),
		opened: oneOf(values.get('strip'), OPENED),
		query: {
			text: values.get('search') || '',
			regex: values.has('regex'),
			matchCase: values.has('case'),
		},
	};
}

/** @param {Place} place @returns {string} with its "#", or "" for the file's defaults */
export function formatPlace({times, mark, terms, view, of, sort, way, span, order, layout, theme, opened,
	query}) {
	const long = terms.reduce((sum, {value}) => sum + encodeURIComponent(value).length, 0);
	const text = encodeURIComponent(query.text);
	const parts = [['times', times], ['mark', mark],
		...terms.map(one => formatTerm(one, long > LONGEST_TEXTS)),
		['view', view], ['of', encodeURIComponent(of.length > LONGEST_OF ? longDigits(of) : of)],
		['sort', sort], ['box', way.levels.length ? formatWay(way) : ''],
		['span', span ? [span.from, span.to].map(n => n.toFixed(9)).join('-') : ''],
		['order', order], ['layout', layout], ['theme', theme], ['strip', opened],
		['search', text.length <= LONGEST_QUERY ? text : '']].filter(([, value]) => value)
		.map(part => part.join('='));
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

	/** @returns {string[]} earlier zooms, from the entry of the browser's history */
	trail() {
		return [...history.state?.trail || []];
	}

	/** @returns {Place} */
	place() {
		const {state} = this;
		const {tree, profile, stretches, part, filter} = state;
		const {span} = this.viewer.camera;
		const total = tree.total[0];
		const stretch = stretches.findIndex(one => part && one.text === part.value
			&& one.from === part.from);
		return {
			times: state.times === state.initial.times ? '' : state.times,
			mark: markDigits(stretches, stretch),
			terms: filter.terms.filter(one => stretch < 0 || one !== part),
			view: filter.view === 'graph' ? '' : filter.view,
			of: filter.of,
			sort: state.functions && !profile.sides && state.sort !== FIRST_SORT ? state.sort : '',
			way: wayOf([...isCallee(tree, state.zoomed) ? [''] : [],
				...pathTo(tree, state.zoomed).map(node => nodeName(state, node))]),
			span: state.free ? {from: span.from / total, to: span.to / total}
				: tree.chart && state.zoomed ? spanOf(tree, state.zoomed) : null,
			order: state.bottomUp === profile.reversed ? ''
				: state.bottomUp ? 'bottom-up' : 'top-down',
			layout: state.icicle === profile.icicle ? '' : state.icicle ? 'icicle' : 'flame',
			theme: state.theme,
			opened: state.opened,
			query: this.searchBox.finder.query,
		};
	}

	/**
	 * Write the view's state into the URL.
	 * @param {boolean} [asNew] as a new entry of the history, so that the Back button undoes it
	 * @param {string[]} [trail]
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
			// The browser may refuse: for data: URLs, in sandboxes, after too many
			// changes in a short time.
		}
	}

	/** Show the URL's state. @param {boolean} first the page has just been loaded */
	async restore(first) {
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
		if (place.opened !== state.opened)
			navigator.openStrip(place.opened);
		if (place.view === 'table')
			state.sort = place.sort || FIRST_SORT;
		const {filter, lacks} = this.filterOf(place);
		const found = isSameFilter(filter, state.filter) || await navigator.show(filter, false, []);
		// The URL has changed meanwhile, and another call of restore() shows the new state.
		if (fragment !== location.hash)
			return;
		const bottomUp = place.order ? place.order === 'bottom-up' : profile.reversed;
		if (first || bottomUp !== state.bottomUp)
			navigator.reorder(bottomUp);
		const icicle = place.layout ? place.layout === 'icicle' : profile.icicle;
		if (first || icicle !== state.icicle)
			navigator.turn(icicle);
		this.searchBox.fill(place.query);
		const missing = this.restoreZoom(place, first);
		if (missing)
			lacks.unshift(missing);
		viewer.page.spoken.textContent = '';
		this.restoring = false;
		if (lacks.length || !found)
			navigator.say(`Not in this picture of the link: ${
				(found ? lacks : ['what it selects']).join(', ')}`);
	}

	/**
	 * Make the filter of a link from the names that this picture has, and list what the picture
	 * lacks.
	 * @param {Place} place
	 */
	filterOf({times, mark, terms, view, of}) {
		const {stretches, profile, choices, initial, filter} = this.state;
		const lacks = [];
		const stretch = stretches[findMark(stretches, mark)];
		if (mark && !stretch)
			lacks.push('its mark');
		const chosen = choices.find(one => one === times) || initial.times;
		if (times && chosen !== times)
			lacks.push('its kind of time');
		const wanted = stretch ? [...terms, timeTerm(stretch.from, stretch.to, stretch.text)] : terms;
		const there = wanted.flatMap(one => {
			const known = this.knownTerm(one);
			if (!known && one.kind !== 'inlined')
				lacks.push(one.value || 'its time');
			return known || [];
		});
		const kind = of && VIEW_OF[view];
		const known = kind ? this.knownTerm(term(kind, of)) : undefined;
		const isThere = (known || !kind) && (view !== 'time' || profile.sampleCount > 0);
		if (!isThere)
			lacks.push(of || 'its times');
		return {filter: {times: chosen, side: filter.side, terms: there, of: known?.value || '',
			view: isThere && view || initial.view}, lacks};
	}

	/**
	 * Returns a link's term with the name as it is in this picture; undefined if the picture
	 * has no such name.
	 * @param {import('./filter.js').Term} one
	 */
	knownTerm(one) {
		const {profile, hasInlined} = this.state;
		const {kind, value} = one;
		const ofSamples = kind === 'thread' ? profile.threads : kind === 'process' ? profile.processes : null;
		if (ofSamples || kind === 'time' ? !profile.sampleCount : kind === 'inlined' && !hasInlined)
			return undefined;
		if (kind === 'least' && !(Number(value) > 0 && Number(value) < 100))
			return undefined;
		if (kind === 'time' || kind === 'least' || DONE[kind])
			return one;
		const names = ofSamples || (NAMES_OF_MODULES.includes(kind) ? profile.modules
			: Array.from({length: profile.frames}, (_, frame) => profile.name(frame)));
		const known = names.find(name => (value.startsWith('~') ? longDigits(name) : name) === value)
			// Compare without pids and tids, because threads of another run have
			// others.
			?? ofSamples?.map(commOf).find(name => name === commOf(value));
		return known === undefined ? undefined : term(kind, known);
	}

	/**
	 * @param {Place} place @param {boolean} first
	 * @returns {string} a message about the levels that the picture lacks, "" for none
	 */
	restoreZoom({way, span}, first) {
		const {viewer, state, navigator} = this;
		const total = state.tree.total[0];
		const nameOf = (/** @type {number} */ one) => nodeName(state, one);
		const {node, missing} = state.tree.chart ? followInTime(state.tree, way, span, nameOf)
			: followWay(state.tree, way, nameOf);
		if (first)
			viewer.toRoot();
		if (span && !(state.tree.chart && isSpan(state.tree, node, span)))
			navigator.freely(() =>
				viewer.camera.set({from: span.from * total, to: span.to * total}));
		else if (node !== state.zoomed || state.free)
			navigator.fill(node, first);
		if (first && node)
			navigator.scrollTo(rowOf(state.tree, node));
		return missing ? `${missing} of its ${way.levels.length + way.more} levels` : '';
	}
}
