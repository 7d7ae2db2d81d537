// SPDX-License-Identifier: MIT
// @ts-check
// What of a profile is shown, as a list of terms: each is one chip beside the crumbs, one part of the
// link and one step of the browser's history. They name functions, modules and threads by their texts,
// so that a link says the same of another run's picture.

import {formatSeconds} from './text.js';

/**
 * Of several threads and processes any, of all other terms each.
 *   time       samples from one time to another
 *   thread     of threads of that name, with or without their numbers; process likewise
 *   focus      stacks with a function; module: with one of a module
 *   ignore     stacks without a function
 *   hide       stacks lose a function's frames, hidemodule: a module's
 *   collapse   of each run of a module's frames the first one stays: what was called of it
 *   recursion  a function stands once on a stack
 *   inlined    what was inlined is not shown
 * @typedef {'time' | 'thread' | 'process' | 'focus' | 'module' | 'ignore' | 'hide' | 'hidemodule' |
 *           'collapse' | 'recursion' | 'inlined'} Kind
 */

/**
 * @typedef {object} Term
 * @property {Kind} kind
 * @property {string} value text of what it names; of a time that of the mark it begins with, or ""
 * @property {number} from microseconds, included; of times
 * @property {number} to not included
 */

/**
 * How the samples that are kept are shown, and of what: a sandwich is a function's callers and callees,
 * time order one thread's samples as they came.
 * @typedef {'graph' | 'sandwich' | 'table' | 'time'} View
 */
export const VIEWS = /** @type {View[]} */ (['graph', 'sandwich', 'table', 'time']);

/** "": of both. @typedef {'' | 'old' | 'new'} Side */
export const SIDES = /** @type {Side[]} */ (['', 'old', 'new']);

/**
 * @typedef {object} Filter
 * @property {import('./state.js').Times} times
 * @property {Term[]} terms
 * @property {View} view
 * @property {string} of name of the function or thread that the view is of, "" for none
 * @property {Side} [side] whose weights, where versions are compared
 */

/** Of which there is at most one. */
const SINGLE = ['time', 'recursion', 'inlined'];

/** @type {Record<Kind, string>} before what it names */
const WORDS = {
	time: '', thread: 'thread', process: 'process', focus: 'with', module: 'with module',
	ignore: 'without stacks of', hide: 'hidden:', hidemodule: 'hidden:', collapse: 'collapsed:',
	recursion: 'recursion merged', inlined: 'inlined folded',
};

/** @param {Kind} kind @param {string} [value] @returns {Term} */
export function term(kind, value = '') {
	return {kind, value, from: 0, to: 0};
}

/** @param {number} from @param {number} to microseconds @param {string} [value] @returns {Term} */
export function timeTerm(from, to, value = '') {
	return {kind: 'time', value, from, to};
}

/** @param {Term} a @param {Term} b */
export function isSame(a, b) {
	return a.kind === b.kind && a.value === b.value && a.from === b.from && a.to === b.to;
}

/** Whatever their views. @param {Filter} a @param {Filter} b */
export function keepSame(a, b) {
	return a.times === b.times && a.side === b.side && a.terms.length === b.terms.length
		&& a.terms.every((one, i) => isSame(one, b.terms[i]));
}

/** @param {Filter} a @param {Filter} b */
export function isSameFilter(a, b) {
	return a.view === b.view && a.of === b.of && keepSame(a, b);
}

/** With one term more, or another one of its kind. @param {Filter} filter @param {Term} added */
export function withTerm(filter, added) {
	return {...filter, terms: [...filter.terms.filter(one => !isSame(one, added)
		&& !(SINGLE.includes(added.kind) && one.kind === added.kind)), added]};
}

/** @param {Filter} filter @param {(term: Term) => boolean} isLeft @returns {Filter} */
export function withoutTerms(filter, isLeft) {
	return {...filter, terms: filter.terms.filter(one => !isLeft(one))};
}

/** "1.00 s to 2.00 s". @param {{from: number, to: number}} time */
export function timeText({from, to}) {
	const [begin, end] = [from, to].map(us => formatSeconds(us / 1e6));
	return from < 0 ? `to ${end}` : to === Infinity ? `from ${begin}` : `${begin} to ${end}`;
}

/** @param {Term} one */
export function termText(one) {
	const value = one.kind !== 'time' ? one.value
		: one.value ? `${one.value}, ${timeText(one)}` : timeText(one);
	return [WORDS[one.kind], value].filter(Boolean).join(' ');
}
