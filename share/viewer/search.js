// SPDX-License-Identifier: MIT
// @ts-check
// The search: find the frames that match, their boxes, their share of the time, and the current
// match; and the search field, its buttons, and the text about the result.

import {whenResting} from './input.js';
import {element} from './page.js';
import {formatPercent} from './text.js';
import {NONE, firstChild, nodeAfter} from './tree.js';

export const MOST_MATCHES = 9999;
/** A search is shown as running if it takes longer than this, in ms. */
const NOTICED_MS = 150;

/**
 * @typedef {object} Query
 * @property {string} text
 * @property {boolean} regex the text is a regular expression, not literal
 * @property {boolean} matchCase
 */

/**
 * Returns a function that tests whether a name matches.
 * @param {Query} query
 * @returns {{test: ((name: string) => boolean) | null, error: string}} no test if there is no text
 * or the expression is not valid
 */
export function compileQuery({text, regex, matchCase}) {
	if (!text)
		return {test: null, error: ''};
	if (regex) {
		try {
			const expression = new RegExp(text, matchCase ? '' : 'i');
			return {test: name => expression.test(name), error: ''};
		} catch (error) {
			// Keep the last part of "Invalid regular expression: /(/: Unterminated
			// group".
			const why = String(/** @type {Error} */ (error).message).split(': ').pop();
			return {test: null, error: why || 'no regular expression'};
		}
	}
	if (matchCase)
		return {test: name => name.includes(text), error: ''};
	const lowered = text.toLowerCase();
	return {test: name => name.toLowerCase().includes(lowered), error: ''};
}

/**
 * @param {number} end one after the last frame @param {(frame: number) => string} nameOf
 * @param {(name: string) => boolean} test @param {number} [first]
 * @returns {Uint8Array} by frame, beginning at `first`: 1 if it matches, else 0
 */
export function matchFrames(end, nameOf, test, first = 0) {
	const matches = new Uint8Array(end - first);
	for (let frame = first; frame < end; frame++)
		matches[frame - first] = test(nameOf(frame)) ? 1 : 0;
	return matches;
}

/**
 * Mark each node that matches or has a matching ancestor, so that weight below several matches is
 * counted once; and list the nodes that match themselves.
 * @param {import('./tree.js').Tree} tree in depth-first order
 * @param {Uint8Array} matches @returns {import('./tree.js').Marks}
 */
export function markStacks({nodes, parent, frame}, matches) {
	const stacks = new Uint8Array(nodes);
	const own = new Uint32Array(nodes);
	let count = 0;
	for (let i = 1; i < nodes; i++) {
		if (matches[frame[i]]) {
			stacks[i] = 1;
			own[count++] = i;
		} else {
			stacks[i] = stacks[parent[i]];
		}
	}
	return {frames: matches, stacks, own: own.subarray(0, count)};
}

/**
 * Returns the matching nodes in the order of drawing, callers before the callees that match, too.
 * @param {import('./tree.js').Tree} tree @param {import('./tree.js').Marks} marks of its base
 * @param {number} most @returns {number[]}
 */
export function matchesIn(tree, marks, most) {
	const found = [];
	let visits = 100 * most;
	let rest = tree.callees;
	for (let i = 0; i !== NONE && found.length < most && visits > 0; visits--) {
		const isShown = tree.total[i] >= tree.least;
		if (i > 0 && isShown && marks.frames[tree.frame[i]])
			found.push(i);
		// An inverted tree is built on demand, so expand only nodes with matches below them.
		let next = i === 0 || isShown && tree.hasMatch(i, marks) ? firstChild(tree, i) : NONE;
		if (next === NONE)
			next = nodeAfter(tree, i);
		if (next === NONE) {
			next = rest;
			rest = NONE;
		}
		i = next;
	}
	return found;
}

export class Finder {
	/**
	 * @param {import('./state.js').State} state
	 * @param {import('./matcher.js').Matcher} matcher
	 */
	constructor(state, matcher) {
		this.state = state;
		this.matcher = matcher;
		/** @type {Query} */
		this.query = {text: '', regex: false, matchCase: false};
		/** Is the result still that of an earlier query? */
		this.searching = false;
		/** Called when `searching` becomes false. */
		this.onFound = () => {};
		this.error = '';
		this.note = '';  // how the query was interpreted, if not literally
		/** @type {Uint8Array | null} by frame */
		this.matches = null;
		/** @type {import('./tree.js').Marks | null} of the base */
		this.marks = null;
		/** @type {import('./tree.js').Tree | null} the tree to which `marks` belongs */
		this.base = null;
		/** @type {number[] | null} matching nodes of the tree that is shown */
		this.found = null;
		this.at = -1;
		this.rows = 0;  // number of matching rows of the table of functions
		/** Called when the matches have changed. */
		this.onMarked = () => {};
		state.onTree(() => this.forget());
	}

	/**
	 * Search. The result for a plain text is known at once; for a regular expression, onFound()
	 * is called later.
	 * @param {Query} query
	 */
	search(query) {
		const {frames, name} = this.state.profile;
		const {test, error} = compileQuery(query);
		this.query = query;
		this.searching = query.regex && test !== null;
		if (this.searching)
			this.searchLonger(query);
		else
			this.keep({matches: test && matchFrames(frames, name, test), error, note: ''});
	}

	/** @param {Query} query */
	async searchLonger(query) {
		const found = await this.matcher.match(query);
		if (query !== this.query)
			return;
		this.searching = false;
		this.keep(found);
		this.onFound();
	}

	/** @param {import('./matcher.js').Found} found */
	keep({matches, error, note}) {
		this.matches = matches;
		this.error = error;
		this.note = note;
		this.markBase();
		this.onMarked();
	}

	markBase() {
		this.base = this.state.searched;
		this.marks = this.matches && markStacks(this.base, this.matches);
		this.found = null;
		this.at = -1;
	}

	/** Update the matches after a change of the tree that is shown, and maybe of its base. */
	forget() {
		if (this.base !== this.state.searched)
			this.markBase();
		this.found = null;
		this.at = -1;
	}

	/** Returns a test whether a node or one below it matches; null if there is no search. */
	markIn() {
		const {marks} = this;
		const {tree} = this.state;
		return marks && ((/** @type {number} */ node) => tree.hasMatch(node, marks));
	}

	/** Compute the share of the matches in the whole tree, and in the zoomed box. */
	shares() {
		const {marks} = this;
		const {tree, zoomed, isSandwich, base} = this.state;
		if (!marks)
			return {all: 0, view: 0};
		const share = (/** @type {number} */ node, of = tree) =>
			of.markedWeight(node, marks.stacks) / of.total[node];
		const all = share(0, isSandwich ? base : tree);
		return {all, view: zoomed || isSandwich ? share(zoomed) : all};
	}

	list() {
		if (!this.matches || !this.marks)
			return [];
		this.found ||= matchesIn(this.state.tree, this.marks, MOST_MATCHES);
		return this.found;
	}

	/**
	 * Step to the next or the previous match; after the last match comes the first.
	 * @param {1 | -1} step @returns {number} a node, -1 when nothing matches
	 */
	step(step) {
		const found = this.list();
		if (!found.length)
			return -1;
		this.at = this.at < 0 ? (step > 0 ? 0 : found.length - 1)
			: (this.at + step + found.length) % found.length;
		return found[this.at];
	}

	/** Returns "3/17", or only the number of matches if there is no current match. */
	countText() {
		if (!this.matches)
			return '';
		if (this.state.functions)
			return String(this.rows);
		const found = this.list();
		const count = `${found.length}${found.length === MOST_MATCHES ? '+' : ''}`;
		return this.at < 0 ? count : `${this.at + 1}/${count}`;
	}
}

// ---- the field ----------------------------------------------------------------------------------

/** @param {HTMLElement} button */
function isPressed(button) {
	return button.getAttribute('aria-pressed') === 'true';
}

/** @param {HTMLElement} button @param {boolean} pressed */
export function press(button, pressed) {
	button.setAttribute('aria-pressed', String(pressed));
}

export class SearchBox {
	/** @param {import('./page.js').Page} page @param {Finder} finder */
	constructor(page, finder) {
		this.page = page;
		this.finder = finder;
		/** Called when the query has changed. */
		this.onChange = () => {};
		/** Called when the search field loses the focus. */
		this.onLeft = () => {};
		this.describeLater = whenResting(() => this.describe(), NOTICED_MS);
		finder.onFound = () => this.describe();
	}

	/** @param {Query} query */
	fill({text, regex, matchCase}) {
		const {search} = this.page;
		search.input.value = text;
		press(search.regex, regex);
		press(search.matchCase, matchCase);
		this.search();
	}

	/** @param {HTMLElement} button */
	toggle(button) {
		press(button, !isPressed(button));
		this.search();
	}

	focus() {
		this.page.search.input.focus();
		this.page.search.input.select();
	}

	/** Search for the field's text and describe the result. The view does not move. */
	search() {
		const {search} = this.page;
		this.finder.search({text: search.input.value, regex: isPressed(search.regex),
			matchCase: isPressed(search.matchCase)});
		if (this.finder.searching)
			this.describeLater();
		else
			this.describe();
		this.onChange();
	}

	leave() {
		const {input} = this.page.search;
		if (input.value) {
			input.value = '';
			this.search();
		} else {
			input.blur();
			this.page.canvas.focus({preventScroll: true});
			this.onLeft();
		}
	}

	describe() {
		const {page, finder} = this;
		const {matches, note} = finder;
		const error = finder.searching ? '' : finder.error;
		const shares = finder.shares();
		const text = [`${formatPercent(shares.all, 1)} of all`];
		if (finder.state.zoomed || finder.state.isSandwich)
			text.unshift(`${formatPercent(shares.view, 1)} of view`);
		page.matched.replaceChildren(...finder.searching ? ['Searching\u2026'] : error ? [error]
			: matches ? [note, note && ' ', 'Matched ',
				element('b', {}, [text.join(' \u00b7 ')])] : []);
		page.matched.classList.toggle('wrong', Boolean(error));
		page.search.input.setAttribute('aria-invalid', String(Boolean(error)));
		page.search.count.textContent = finder.countText();
		page.search.previous.disabled = page.search.next.disabled = !finder.list().length;
	}
}
