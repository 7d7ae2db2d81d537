// SPDX-License-Identifier: MIT
// @ts-check
// The tooltip at the pointer and the line at the bottom, which does not move.

import {element} from './page.js';
import {formatPercent} from './format.js';
import {counted, cpuTime, nodeName, originOf, sharesOf} from './describe.js';

const HINT = 'Click a box to zoom \u00b7 / to search \u00b7 ? for all keys';

/** @param {string} title @param {string[]} cells */
function row(title, cells) {
	return element('tr', {}, [element('th', {scope: 'row'}, [title]),
		...cells.map(cell => element('td', {}, [cell]))]);
}

/**
 * @param {HTMLElement} tooltip @param {import('./describe.js').Subject} subject
 * @param {number} node
 */
export function fillTooltip(tooltip, subject, node) {
	const {tree} = subject;
	const weightRow = (/** @type {string} */ title, /** @type {number} */ weight) => {
		const cells = [counted(subject, weight), formatPercent(weight, tree.total[0])];
		const time = cpuTime(subject, weight);
		return row(title, time ? [...cells, time] : cells);
	};
	const shares = sharesOf(subject, node);
	const table = element('table', {}, [
		weightRow('Total', tree.total[node]),
		weightRow('Self', tree.self[node]),
		...shares.view ? [row('Of view', ['', shares.view])] : [],
		...shares.parent ? [row('Of parent', ['', shares.parent])] : [],
	]);
	const origin = originOf(subject, node);
	tooltip.replaceChildren(
		element('div', {class: 'name'}, [nodeName(subject, node)]),
		...origin ? [element('div', {class: 'module'}, [origin])] : [],
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

/** @param {string} label @param {string[]} values */
function fact(label, ...values) {
	return element('span', {class: 'fact'}, [element('span', {class: 'label'}, [label]), ' ',
		values.filter(Boolean).join(' \u00b7 ')]);
}

/**
 * @param {HTMLElement} details @param {import('./describe.js').Subject} subject
 * @param {number} node -1 for none
 */
export function fillDetails(details, subject, node) {
	if (node < 0) {
		const {notes} = subject.profile;
		details.replaceChildren(element('div', {class: 'hint'}, [HINT]),
			element('div', {class: 'hint'}, [notes.join(' \u00b7 ')]));
		details.lastElementChild?.setAttribute('title', notes.join('\n'));
		return;
	}
	const {tree} = subject;
	const shares = sharesOf(subject, node);
	const origin = originOf(subject, node);
	const name = nodeName(subject, node);
	details.replaceChildren(
		element('div', {class: 'what'}, [
			element('span', {class: 'name', title: name}, [name]),
			element('span', {class: 'module', title: origin}, [origin])]),
		element('div', {class: 'facts'}, [
			fact('Total', counted(subject, tree.total[node]),
				cpuTime(subject, tree.total[node])),
			fact('Self', counted(subject, tree.self[node]),
				cpuTime(subject, tree.self[node])),
			fact('Of all', shares.all),
			...shares.view ? [fact('Of view', shares.view)] : [],
			...shares.parent ? [fact('Of parent', shares.parent)] : [],
		]));
}
