// SPDX-License-Identifier: MIT
// @ts-check
// Names made short enough for a box; the same rules as render/label.c.

const ELLIPSIS = '\u2026';
const FEWEST_CHARACTERS = 2;

/**
 * "a<b, c<d>>::e(f<g>)" to "a<…>::e(f<…>)"; unchanged when the brackets do not
 * match. @param {string} name
 */
export function collapseArguments(name) {
	let collapsed = '';
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === '<' && (depth || opensArguments(name, i))) {
			if (!depth++)
				collapsed += '<' + ELLIPSIS;
			continue;
		}
		if (c === '>' && depth && name[i - 1] !== '-')
			depth--;
		if (!depth)
			collapsed += c;
	}
	return depth ? name : collapsed;
}

/** @param {string} name @param {number} i */
function opensArguments(name, i) {
	let back = i;
	while (back > 0 && name[back - 1] === '<')
		back--;
	if (name.slice(0, back).endsWith('operator'))
		return false;
	return i > 0 && !':( ,'.includes(name[i - 1]);
}

/**
 * @param {string} name @param {number} width
 * @param {(text: string) => number} measure one character's width
 * @returns {string} "" when nothing useful fits
 */
export function fitLabel(name, width, measure) {
	if (fits(name, width, measure) === name.length)
		return name;
	const collapsed = collapseArguments(name);
	if (fits(collapsed, width, measure) === collapsed.length)
		return collapsed;
	const keep = fits(collapsed, width - measure(ELLIPSIS), measure);
	return [...collapsed.slice(0, keep)].length < FEWEST_CHARACTERS ?
		'' :
		collapsed.slice(0, keep) + ELLIPSIS;
}

/**
 * How much of `name` fits, in code units. @param {string} name @param {number}
 * width @param {(text: string) => number} measure
 */
function fits(name, width, measure) {
	let used = 0;
	let keep = 0;
	for (const character of name) {
		used += measure(character);
		if (used > width)
			break;
		keep += character.length;
	}
	return keep;
}
