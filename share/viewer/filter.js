// SPDX-License-Identifier: MIT
// @ts-check
// The filter, a list of terms that says which part of a profile is shown. Each term is one chip
// beside the crumbs, one part of the link and one step of the browser's history. Terms name
// functions, modules and threads by their texts, so that a link works in another run's picture.

import {formatSeconds} from './text.js';

/**
 * The kinds of a filter's terms. A filter keeps a sample that matches at least one of the terms for
 * threads and processes, and all other terms.
 *   time       samples from one time to another
 *   thread     samples of threads of that name, with or without pid and tid
 *   process    samples of processes of that name, with or without pid
 *   focus      stacks with a function
 *   module     stacks with a frame of a module
 *   ignore     stacks without a function
 *   hide       remove a function's frames
 *   hidemodule remove a module's frames
 *   collapse   keep the outermost of consecutive frames of a module
 *   recursion  keep a function once on a stack
 *   inlined    remove inlined frames
 *   least      do not show what has less than this percentage of all weight; it keeps all samples
 * @typedef {'time' | 'thread' | 'process' | 'focus' | 'module' | 'ignore' | 'hide' | 'hidemodule' |
 * 'collapse' | 'recursion' | 'inlined' | 'least'} Kind
 */

/**
 * @typedef {object} Term
 * @property {Kind} kind
 * @property {string} value the name; for a time, the text of the mark at which it begins, or ""
 * @property {number} from begin in microseconds, inclusive; for times only
 * @property {number} to end in microseconds, exclusive
 */

/**
 * How the kept samples are shown: `tree` shows the boxes of the graph as rows that unfold, a sandwich
 * a function's callers and callees, `time` one thread's samples in order of time.
 * @typedef {'graph' | 'tree' | 'sandwich' | 'table' | 'time'} View
 */
export const VIEWS = /** @type {View[]} */ (['graph', 'tree', 'sandwich', 'table', 'time']);

/**
 * In a comparison, the version whose weights are shown; "": both. @typedef {'' | 'old' | 'new'}
 * Side
 */
export const SIDES = /** @type {Side[]} */ (['', 'old', 'new']);

/**
 * @typedef {object} Filter
 * @property {import('./state.js').Times} times
 * @property {Term[]} terms
 * @property {View} view
 * @property {string} of name of the function or thread that the view is of, "" for none
 * @property {Side} [side] the version that is shown, in a comparison
 */

/** A filter has at most one term of each of these kinds. */
const SINGLE = ['time', 'recursion', 'inlined', 'least'];

/** @type {Record<Kind, string>} text before the name */
const WORDS = {
	time: '', thread: 'thread', process: 'process', focus: 'with', module: 'with module',
	ignore: 'without stacks of', hide: 'hidden:', hidemodule: 'hidden:', collapse: 'collapsed:',
	recursion: 'recursion merged', inlined: 'inlined folded', least: 'hidden: below',
};

/** @param {Kind} kind @param {string} [value] @returns {Term} */
export function term(kind, value = '') {
	return {kind, value, from: 0, to: 0};
}

/** Returns the weight below which nothing is shown. @param {Filter} filter @param {number} all */
export function leastOf({terms}, all) {
	return Number(terms.find(({kind}) => kind === 'least')?.value || 0) / 100 * all;
}

/** Percentages that a key offers, one after the other. */
const LEAST = [0.1, 0.5, 1, 2, 5];

/**
 * Returns the filter that hides what is below the next larger percentage, or nothing after the
 * largest one. @param {Filter} filter @returns {Filter}
 */
export function withNextLeast(filter) {
	const now = leastOf(filter, 100);
	const next = LEAST.find(one => one > now);
	return next ? withTerm(filter, term('least', String(next))) : withoutTerms(filter, ({kind}) => kind === 'least');
}

/** @param {number} from @param {number} to microseconds @param {string} [value] @returns {Term} */
export function timeTerm(from, to, value = '') {
	return {kind: 'time', value, from, to};
}

/** @param {Term} a @param {Term} b */
export function isSame(a, b) {
	return a.kind === b.kind && a.value === b.value && a.from === b.from && a.to === b.to;
}

/** Do two filters keep the same samples, whatever the view? @param {Filter} a @param {Filter} b */
export function keepSame(a, b) {
	return a.times === b.times && a.side === b.side && a.terms.length === b.terms.length
		&& a.terms.every((one, i) => isSame(one, b.terms[i]));
}

/** @param {Filter} a @param {Filter} b */
export function isSameFilter(a, b) {
	return a.view === b.view && a.of === b.of && keepSame(a, b);
}

/**
 * Returns the filter with a term added; it replaces a term of the same kind if there may be only
 * one. @param {Filter} filter @param {Term} added
 */
export function withTerm(filter, added) {
	return {...filter, terms: [...filter.terms.filter(one => !isSame(one, added)
		&& !(SINGLE.includes(added.kind) && one.kind === added.kind)), added]};
}

/** @param {Filter} filter @param {(term: Term) => boolean} isLeft @returns {Filter} */
export function withoutTerms(filter, isLeft) {
	return {...filter, terms: filter.terms.filter(one => !isLeft(one))};
}

/** Write "1.00 s to 2.00 s". @param {{from: number, to: number}} time */
export function timeText({from, to}) {
	const [begin, end] = [from, to].map(us => formatSeconds(us / 1e6));
	return from < 0 ? `to ${end}` : to === Infinity ? `from ${begin}` : `${begin} to ${end}`;
}

/** @param {Term} one */
export function termText(one) {
	const value = one.kind === 'least' ? `${one.value}\u202f%` : one.kind !== 'time' ? one.value
		: one.value ? `${one.value}, ${timeText(one)}` : timeText(one);
	return [WORDS[one.kind], value].filter(Boolean).join(' ');
}
