// SPDX-License-Identifier: MIT
// @ts-check
// What is said about the box under the pointer, and where.

import {element} from './page.js';
import {formatCount, formatPercent, formatSeconds} from './format.js';

const KINDS = ['', 'compiled at run time', 'no symbol', '', 'process', 'thread', 'inlined'];

/** @param {import('./decode.js').Profile} profile @param {number} node */
export function nodeName(profile, node) {
	return node > 0 ? profile.name(profile.nodeFrame[node]) : 'all';
}

/**
 * Module and kind. @param {import('./decode.js').Profile} profile @param {number} node
 * @returns {string} "" when nothing is known
 */
function describeFrame(profile, node) {
	if (node === 0)
		return '';
	const frame = profile.nodeFrame[node];
	return [profile.modules[profile.frameModule[frame]], KINDS[profile.frameKind[frame]]]
		.filter(Boolean).join(' \u00b7 ');
}

/** @param {string} title @param {string[]} cells */
function row(title, cells) {
	return element('tr', {}, [element('th', {}, [title]),
		...cells.map(cell => element('td', {}, [cell]))]);
}

/**
 * @param {HTMLElement} tooltip @param {import('./decode.js').Profile} profile
 * @param {import('./tree.js').Tree} tree @param {number} node
 * @param {number} zoomed node that fills the view
 */
export function fillTooltip(tooltip, profile, tree, node, zoomed) {
	const weightRow = (/** @type {string} */ title, /** @type {number} */ weight) => {
		const cells = [`${formatCount(weight)} samples`, formatPercent(weight, tree.total[0])];
		if (profile.periodNs)
			cells.push(formatSeconds(weight * profile.periodNs / 1e9));
		return row(title, cells);
	};
	const table = element('table', {}, [
		weightRow('Total', tree.total[node]),
		weightRow('Self', tree.self[node]),
	]);
	if (zoomed > 0 && tree.total[node] <= tree.total[zoomed])
		table.append(row('Of zoomed', ['',
			formatPercent(tree.total[node], tree.total[zoomed])]));
	const about = describeFrame(profile, node);
	tooltip.replaceChildren(
		element('div', {class: 'name'}, [nodeName(profile, node) || '(no name)']),
		...about ? [element('div', {class: 'module'}, [about])] : [],
		table);
}

/**
 * Below the pointer, or above it where there is no room; always whole within `ui`.
 * @param {HTMLElement} tooltip @param {HTMLElement} ui @param {{x: number, y: number}} pointer
 */
export function placeTooltip(tooltip, ui, pointer) {
	const rightmost = ui.clientWidth - tooltip.offsetWidth - 12;
	const below = pointer.y + 18;
	const above = pointer.y - tooltip.offsetHeight - 12;
	const fits = below + tooltip.offsetHeight < ui.clientHeight - 8;
	const x = Math.max(12, Math.min(pointer.x + 14, rightmost));
	const y = Math.max(8, fits ? below : above);
	tooltip.style.transform = `translate(${x}px,${y}px)`;
}
