// SPDX-License-Identifier: MIT
// @ts-check
// The way from the root to what fills the view.

import {element} from './page.js';
import {nodeName} from './describe.js';
import {pathTo} from './tree.js';

const MOST = 40;

/**
 * @param {HTMLElement} nav @param {import('./describe.js').Subject} subject
 * @param {(node: number) => void} zoom
 */
export function fillCrumbs(nav, subject, zoom) {
	const path = [0, ...pathTo(subject.tree, subject.zoomed)];
	const shown = path.length > MOST ? [0, ...path.slice(1 - MOST)] : path;
	const crumbs = shown.map((node, i) => {
		const name = nodeName(subject, node);
		const leftOut = i === 1 && shown.length < path.length;
		const crumb = element('button', {type: 'button', class: 'crumb', title: name,
			...node === subject.zoomed ? {'aria-current': 'true'} : {}},
			[element('span', {}, [leftOut ? '\u2026' : name])]);
		crumb.addEventListener('click', () => zoom(node));
		return crumb;
	});
	nav.replaceChildren(...crumbs);
	showLastCrumb(nav);
}

/** Where there is no room for all, the outermost ones are cut. @param {HTMLElement} nav */
export function showLastCrumb(nav) {
	nav.scrollLeft = nav.scrollWidth;
	nav.classList.toggle('cut', nav.scrollWidth > nav.clientWidth);
}
