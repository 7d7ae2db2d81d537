// SPDX-License-Identifier: MIT
// @ts-check
// Signs on buttons: lines on a field of 16 by 16.

const SVG = 'http://www.w3.org/2000/svg';

const SHAPES = {
	icicle: 'M2 3h12M4 8h8M6 13h4',
	flame: 'M6 3h4M4 8h8M2 13h12',
	bottomUp: 'M8 2v12M4 10l4 4 4-4M3 2h10',
	theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 1 1 0 12',
	help: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.2 8 10M8 13v.1',
	previous: 'M4 10l4-4 4 4',
	next: 'M4 6l4 4 4-4',
	close: 'M4 4l8 8M12 4l-8 8',
	search: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M10.5 10.5L14 14',
};

/** @param {string} name @param {Record<string, string>} attributes */
export function svgElement(name, attributes) {
	const made = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

/** @param {keyof typeof SHAPES} name */
export function icon(name) {
	const made = svgElement('svg', {viewBox: '0 0 16 16', width: '16', height: '16',
		'aria-hidden': 'true', class: `icon icon-${name}`});
	made.append(svgElement('path', {d: SHAPES[name]}));
	return made;
}
