// SPDX-License-Identifier: MIT
// @ts-check
// What there is to say about a node.

import {formatCount, formatPercent, formatSeconds} from './format.js';
import {childrenOf, isWithin} from './tree.js';

const KINDS = ['', 'compiled at run time', 'no symbol', '', 'process', 'thread', 'inlined'];

/**
 * @typedef {object} Subject
 * @property {import('./decode.js').Profile} profile
 * @property {import('./tree.js').Tree} tree
 * @property {number} zoomed node that fills the view
 * @property {import('./marks.js').Stretch | undefined} part of the time shown, if not all
 */

/** @param {Subject} subject @param {number} node */
export function nodeName({profile, tree, part}, node) {
	return node > 0 ? profile.name(tree.frame[node]) || '(no name)' : part?.text || 'all';
}

/** "3.05 s", or "" when nobody knows. @param {Subject} subject @param {number} weight */
export function cpuTime({profile}, weight) {
	return profile.periodNs ? formatSeconds(weight * profile.periodNs / 1e9) : '';
}

/** @param {Subject} subject @param {number} weight */
export function counted({profile}, weight) {
	const name = profile.countName;
	return `${formatCount(weight)} ${weight === 1 ? name.replace(/([^s])s$/, '$1') : name}`;
}

/** What is written into a box. @param {Subject} subject @param {number} node */
export function labelOf(subject, node) {
	if (node > 0)
		return nodeName(subject, node);
	const total = subject.tree.total[0];
	const time = cpuTime(subject, total);
	return `${nodeName(subject, node)}: ${counted(subject, total)}${time && ', '}${time}`;
}

/** Module and kind; "" when nothing is known. @param {Subject} subject @param {number} node */
export function originOf({profile, tree}, node) {
	if (node === 0)
		return '';
	const frame = tree.frame[node];
	return [profile.modules[profile.frameModule[frame]], KINDS[profile.frameKind[frame]]]
		.filter(Boolean).join(' \u00b7 ');
}

/**
 * Shares of a node's weight. Of the view only where it is part of it.
 * @param {Subject} subject @param {number} node
 */
export function sharesOf({tree, zoomed}, node) {
	const weight = tree.total[node];
	return {
		all: formatPercent(weight, tree.total[0]),
		view: zoomed > 0 && isWithin(tree, node, zoomed)
			? formatPercent(weight, tree.total[zoomed]) : '',
		parent: node > 0 ? formatPercent(weight, tree.total[tree.parent[node]]) : '',
	};
}

/** Its place among its siblings. @param {Subject} subject @param {number} node */
export function placeOf({tree}, node) {
	const siblings = node > 0 ? childrenOf(tree, tree.parent[node]) : [0];
	const index = siblings.indexOf(node);
	return {index, count: siblings.length, previous: siblings[index - 1],
		next: siblings[index + 1], siblings};
}

/** For the ear: name, share, place. @param {Subject} subject @param {number} node */
export function sentence(subject, node) {
	const {index, count} = placeOf(subject, node);
	const place = node > 0 ? `, ${index + 1} of ${count}` : '';
	const share = sharesOf(subject, node).all.replace('\u202f', ' ');
	return `${nodeName(subject, node)}, ${share}${place}`;
}
