// SPDX-License-Identifier: MIT
// @ts-check
// Texts for display: formatted numbers, and descriptions of a node.

import {childrenOf, clamp, isCallee, isWithin} from './tree.js';

// ---- numbers ------------------------------------------------------------------------------------

/**
 * Returns a count as "1,234,567". toLocaleString() would first load Intl, which takes milliseconds.
 * @param {number} count
 */
function formatCount(count) {
	return `${Math.round(count)}`.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** @param {number} part @param {number} whole */
export function formatPercent(part, whole) {
	const percent = whole > 0 ? 100 * part / whole : 0;
	const digits = percent === 0 || percent === 100 ? 0 : percent < 10 ? 2 : 1;
	return `${percent.toFixed(digits)}\u202f%`;
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
	if (seconds === 0)
		return '0\u202fs';
	if (seconds < 1)
		return `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)}\u202fms`;
	return `${seconds.toFixed(seconds < 10 ? 2 : seconds < 100 ? 1 : 0)}\u202fs`;
}

/**
 * Returns a time as "1.250 s", with enough digits to distinguish times that differ by one step.
 * @param {number} us @param {number} stepUs
 */
export function formatTime(us, stepUs) {
	const digits = clamp(Math.ceil(6 - Math.log10(stepUs) - 1e-9), 0, 6);
	return `${(us / 1e6).toFixed(digits)}\u202fs`;
}

// ---- nodes --------------------------------------------------------------------------------------

/** @typedef {import('./state.js').State} State */

const KINDS = ['', 'compiled at run time', 'no symbol', '', 'process', 'thread', 'inlined',
	'waiting', 'kernel', 'threads that only wait in one place'];

/** @type {Record<import('./state.js').Times, string>} */
export const TIMES_TEXT = {cpu: 'CPU time', waits: 'waiting time', both: 'CPU and waiting time'};

/** @param {State} state @param {number} node */
export function nodeName({profile, tree, whole}, node) {
	return node > 0 ? profile.name(tree.frame[node]) || '(no name)' : whole;
}

/**
 * Returns the time of a weight as "3.05 s", or "" if it is unknown. @param {State} state @param
 * {number} weight
 */
function cpuTime({profile}, weight) {
	return profile.periodNs ? formatSeconds(weight * profile.periodNs / 1e9) : '';
}

/** @param {State} state @param {number} weight */
export function counted({profile}, weight) {
	const name = profile.countName;
	return `${formatCount(weight)} ${Math.round(weight) === 1 ? name.replace(/([^s])s$/, '$1') : name}`;
}

/**
 * Returns a weight as number of samples and time. If waits are included, returns only the time,
 * because waiting time is not sampled.
 * @param {State} state @param {number} weight of samples
 * @param {import('./state.js').Times} [times]
 */
export function sampledOf(state, weight, times = state.times) {
	const time = cpuTime(state, weight);
	return times !== 'cpu' && time ? [time] : [counted(state, weight), ...time ? [time] : []];
}

/**
 * Returns a weight of the tree that is shown as text. In order of time, weights are microseconds.
 * @param {State} state @param {number} weight of the tree
 * @param {import('./state.js').Times} [times]
 */
export function amountsOf(state, weight, times) {
	return state.tree.chart ? [formatSeconds(weight / 1e6)] : sampledOf(state, weight, times);
}

/**
 * Returns the cells of a row with these weights: for each, its amounts and its share.
 * @param {State} state @param {number[]} weights @param {number} whole @returns {string[][]}
 */
export function weightCells(state, weights, whole) {
	return weights.flatMap(weight => [amountsOf(state, weight), [formatPercent(weight, whole)]]);
}

/**
 * Returns the times at which a box begins and ends, in order of time; "" in other views.
 * @param {State} state @param {number} node
 */
export function whenOf({tree: {chart, from, total}}, node) {
	if (!chart)
		return '';
	const begin = chart.beginUs + from[node];
	return [begin, begin + total[node]].map(us => formatTime(us, total[node] / 10)).join(' to ');
}

/** Returns a box's label. @param {State} state @param {number} node */
export function labelOf(state, node) {
	if (node > 0)
		return nodeName(state, node);
	const {tree, isSandwich} = state;
	const total = tree.total[0];
	if (tree.chart)
		return `${nodeName(state, node)}: ${whenOf(state, node)}`;
	const what = state.hasWaits ? ` of ${TIMES_TEXT[state.times]}` : '';
	const self = isSandwich ? `; self ${amountsOf(state, tree.self[0]).join(', ')}` : '';
	return `${nodeName(state, node)}: ${amountsOf(state, total).join(', ')}${what}${self}`;
}

/**
 * Returns a frame's module and kind as text; "" if both are unknown.
 * @param {import('./decode.js').Profile} profile @param {number} frame
 */
export function originOf(profile, frame) {
	return [profile.modules[profile.frameModule[frame]], KINDS[profile.frameKind[frame]]]
		.filter(Boolean).join(' \u00b7 ');
}

/**
 * Returns the source lines of a node's function, the heaviest first; null if none are known. Their
 * weights are those of the whole run, and their shares relate to the function's weight in the whole
 * run.
 * @param {State} state @param {number} node
 */
export function linesOf(state, node) {
	const {files, first, file, number, self, total, waits, more} = state.profile.lines;
	const shown = (/** @type {number} */ i) => state.times === 'both' ? total[i]
		: state.times === 'waits' ? waits[i] : total[i] - waits[i];
	const frame = state.tree.frame[node];
	if (!(node > 0) || first[frame] === first[frame + 1])
		return null;
	const lines = [];
	for (let i = first[frame]; i < first[frame + 1]; i++)
		if (shown(i) > 0)
			lines.push({
				place: `${files[file[i]].replace(/^.*\/(?=.)/, '') || '?'}${number[i] ? `:${number[i]}` : ''}`,
				file: files[file[i]],
				self: state.times === 'waits' ? 0 : self[i],
				total: shown(i),
				share: formatPercent(shown(i), state.totalOf(frame)),
			});
	if (!lines.length)
		return null;
	lines.sort((a, b) => b.total - a.total);
	return {file: lines[0].file, lines, more: more[frame]};
}

/**
 * Returns a node's shares as texts. The share of the view is "" if the node is not within the
 * zoomed box, or if everything is shown.
 * @param {State} state @param {number} node
 */
export function sharesOf({tree, zoomed, isSandwich, upright}, node) {
	const weight = tree.total[node];
	return {
		all: formatPercent(weight, (isSandwich ? upright : tree).total[0]),
		view: (zoomed > 0 || isSandwich) && isWithin(tree, node, zoomed)
			? formatPercent(weight, tree.total[zoomed]) : '',
		parent: node > 0 ? formatPercent(weight, tree.total[tree.parent[node]]) : '',
	};
}

/** Returns a node's position among its siblings. @param {State} state @param {number} node */
export function placeOf({tree}, node) {
	const siblings = node > 0 ? childrenOf(tree, tree.parent[node], isCallee(tree, node)) : [0];
	const index = siblings.indexOf(node);
	return {index, count: siblings.length, previous: siblings[index - 1],
		next: siblings[index + 1], siblings};
}

/** Returns a description of a node for screen readers. @param {State} state @param {number} node */
export function sentence(state, node) {
	const {index, count} = placeOf(state, node);
	const place = node > 0 ? `, ${index + 1} of ${count}` : '';
	const share = state.tree.chart ? `${amountsOf(state, state.tree.total[node])[0]}, ${whenOf(state, node)}`
		: sharesOf(state, node).all;
	return `${nodeName(state, node)}, ${share}${place}`.replace(/\u202f/g, ' ');
}
