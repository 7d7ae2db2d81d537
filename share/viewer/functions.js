// SPDX-License-Identifier: MIT
// @ts-check
// Compute, sort and write as text the self weights and total weights of functions. This file uses
// no DOM.
//
// A row is a function, that is a name in a module, whether its calls are inlined or not: the
// compiler decides this call by call, and it does not matter for the function's cost.

import {INLINED, functionsOf} from './aggregate.js';
import {leastOf} from './filter.js';
import {partText} from './shifts.js';
import {amountsOf, originOf, weightCells} from './text.js';
import {frameTotals} from './tree.js';

/** @typedef {import('./state.js').State} State */
/**
 * By row; in a comparison, also the total of each version and the changes.
 * @typedef {{frame: Uint32Array, self: Float64Array, total: Float64Array, old?: Float64Array,
 * late?: Float64Array, change?: Float64Array, selfChange?: Float64Array}} Functions
 */

/**
 * Returns a node's self weight, which excludes its callees. In a tree merged from the leaf, only
 * the root's children have self weight: their total.
 * @param {import('./tree.js').TreeColumns} tree @param {number} node @param {boolean} isReversed
 */
export function selfAt({self, total, parent}, node, isReversed) {
	return !isReversed ? self[node] : parent[node] ? 0 : total[node];
}

/**
 * Compute the self and total weight of all functions of a tree.
 * @param {import('./decode.js').Profile} profile @param {import('./tree.js').TreeColumns} tree
 * @returns {Functions} each stack counts once in a function's total
 */
export function weighFunctions(profile, tree) {
	const functions = functionsOf(profile);
	const frame = tree.frame.map(one => functions[one]);
	const totals = frameTotals({...tree, frame}, profile.frames);
	const selves = new Float64Array(profile.frames);
	for (let node = 1; node < tree.nodes; node++)
		selves[frame[node]] += selfAt(tree, node, profile.reversed);
	const there = Uint32Array.from(totals.keys()).filter(one => totals[one] > 0);
	return {frame: there, self: Float64Array.from(there, one => selves[one]),
		total: Float64Array.from(there, one => totals[one])};
}

/**
 * @typedef {'name' | 'module' | 'self' | 'total' | 'old' | 'late' | 'change' | 'selfChange'} By column
 * by which rows are sorted
 */
/** @typedef {[string, By, string]} Column title, order, CSS class */

const NAMES = /** @type {Column[]} */ ([['Function', 'name', ''], ['Module', 'module', 'module']]);
const COLUMNS = /** @type {Column[]} */ ([...NAMES, ['Self', 'self', 'amount'], ['Self %', 'self', 'share'],
	['Total', 'total', 'amount'], ['Total %', 'total', 'share']]);
const COMPARED = /** @type {Column[]} */ ([...NAMES, ['Own change', 'selfChange', 'own'], ['Old', 'old', 'version'],
	['New', 'late', 'version'], ['Change', 'change', 'amount']]);

/** Returns the columns of the table; those of a comparison are others. @param {State} state */
export function columnsOf({functions}) {
	return functions?.change ? COMPARED : COLUMNS;
}

/** The columns and directions of sorting, as links contain them. */
export const SORTS = COLUMNS.flatMap(([, by]) => [`${by}-falling`, `${by}-rising`]);
export const FIRST_SORT = 'self-falling';

/**
 * Returns the column by which the table is sorted, and the direction. A comparison is first sorted
 * by change, what became slower most at the top. @param {State} state @returns {[By, string]}
 */
export function sortOf(state) {
	const sort = /** @type {[By, string]} */ (state.sort.split('-'));
	return columnsOf(state).some(([, by]) => by === sort[0]) ? sort
		: [state.functions?.change ? 'change' : 'self', 'falling'];
}

/** Does the first click on a column sort in rising order? @param {By} by */
export function risesFirst(by) {
	return by === 'name' || by === 'module';
}

/**
 * Returns the numbers of the functions that the table shows, in order; during a search only those
 * that match. If two are equal in the sorted column, the one with the larger total comes first.
 * @param {State} state @param {import('./search.js').Finder} finder
 */
export function functionsShown(state, {matches}) {
	const functions = /** @type {Functions} */ (state.functions);
	const {frame, total} = functions;
	const [by, way] = sortOf(state);
	const sign = way === 'rising' ? 1 : -1;
	const isText = risesFirst(by);
	const weight = by === 'name' || by === 'module' ? total : /** @type {Float64Array} */ (functions[by]);
	const texts = isText ? Array.from(frame, one => by === 'name' ? state.profile.name(one) : originIn(state, one)) : [];
	return Uint32Array.from(frame.keys()).filter(i => total[i] >= leastOf(state.filter, state.upright.total[0])
		&& (!matches || matches[frame[i]] === 1)).sort((a, b) =>
		sign * (isText ? Number(texts[a] > texts[b]) - Number(texts[a] < texts[b]) : weight[a] - weight[b])
			|| total[b] - total[a] || a - b);
}

/** Returns a difference of weights, as "+1.50 s". @param {State} state @param {number} change */
function changed(state, change) {
	const [text, none] = [Math.abs(change), 0].map(weight => amountsOf(state, weight).slice(-1)[0]);
	return `${text === none ? '' : change > 0 ? '+' : '-'}${text}`;
}

/**
 * Returns the cells of a function's row. A cell is a list of texts.
 * @param {State} state @param {number} i number of the function
 */
export function cellsOf(state, i) {
	const {frame, self, total, old, late, change, selfChange} = /** @type {Functions} */ (state.functions);
	if (old && late && change && selfChange)
		return [[state.profile.name(frame[i]) || '(no name)'], [originIn(state, frame[i])],
			[changed(state, selfChange[i])], ...[old[i], late[i]].map(weight => amountsOf(state, weight).slice(-1)),
			[old[i] > 0 && late[i] > 0 ? partText(change[i] / old[i]) : old[i] > 0 ? 'gone' : 'new',
				changed(state, change[i])]];
	return [[state.profile.name(frame[i]) || '(no name)'], [originIn(state, frame[i])],
		...weightCells(state, [self[i], total[i]], state.upright.total[0])];
}

/**
 * Returns the name of a frame's module or, without a module, of its kind. @param {State} state
 * @param {number} frame
 */
function originIn({profile}, frame) {
	return profile.frameKind[frame] === INLINED ? profile.modules[profile.frameModule[frame]]
		: originOf(profile, frame);
}
