// SPDX-License-Identifier: MIT
// @ts-check
// The sheet that lists the marks, and where samples have times, shows what was between two.

import {element} from './page.js';
import {formatPercent, formatSeconds} from './format.js';

// A program may make a million of them.
const MOST_MARKS = 1000;

/**
 * @param {import('./marks.js').Stretch} stretch @param {number} all weight
 * @param {boolean} isShown
 */
function markRow({text, from, weight}, all, isShown) {
	const cells = [
		element('span', {class: 'when'}, [from < 0 ? '' : formatSeconds(from / 1e6)]),
		element('span', {class: 'text', title: text}, [text])];
	if (!all)
		return element('div', {class: 'mark'}, cells);
	cells.push(element('span', {class: 'share'}, [formatPercent(weight, all)]));
	return element('button', {type: 'button', class: 'mark', ...weight ? {} : {disabled: ''},
		...isShown ? {'aria-current': 'true'} : {}}, cells);
}

/**
 * @param {import('./sheet.js').Sheet} sheet @param {import('./viewer.js').Viewer} viewer
 * @param {(stretch: number) => void} choose called with what to show from now on
 */
export function openMarks(sheet, {stretches, stretch}, choose) {
	const all = stretches.reduce((sum, {weight}) => sum + weight, 0);
	const rows = stretches.slice(0, MOST_MARKS + 1).map((one, i) => {
		const row = markRow(one, all, i === stretch);
		row.addEventListener('click', () => {
			if (!all)
				return;
			sheet.close();
			choose(i);
		});
		return row;
	});
	// What was before the first mark is only worth a line when something was.
	if (!stretches[0].weight)
		rows.shift();
	const more = stretches.length - 1 - MOST_MARKS;
	sheet.open('Marks', 'm', [
		element('p', {}, [all ? 'From each mark to the next: choose what to show.'
			: 'The samples of this picture have no times.']),
		element('div', {class: 'marks-list'}, rows),
		...more > 0 ? [element('p', {}, [`and ${more} more`])] : []]);
}
