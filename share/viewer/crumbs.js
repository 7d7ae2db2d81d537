// SPDX-License-Identifier: MIT
// @ts-check
// The way from everything to what fills the view.

import {element} from './page.js';
import {nodeName} from './describe.js';
import {timeText} from './marks.js';
import {pathTo} from './tree.js';

const MOST = 40;

/**
 * @param {string} name @param {boolean} leftOut @param {boolean} isCurrent
 * @param {() => void} act
 */
function crumb(name, leftOut, isCurrent, act) {
	const made = element('button', {type: 'button', class: 'crumb', title: name,
		...isCurrent ? {'aria-current': 'true'} : {}},
		[element('span', {}, [leftOut ? '\u2026' : name])]);
	made.addEventListener('click', act);
	return made;
}

/**
 * @param {HTMLElement} nav @param {import('./describe.js').Subject} subject
 * @param {(node: number) => void} zoom @param {() => void} leave the part of the time shown
 */
export function fillCrumbs(nav, subject, zoom, leave) {
	const path = [0, ...pathTo(subject.tree, subject.zoomed)];
	const shown = path.length > MOST ? [0, ...path.slice(1 - MOST)] : path;
	const {part} = subject;
	const crumbs = shown.map((node, i) => {
		const when = node === 0 && part ? `, ${timeText(part)}` : '';
		const leftOut = i === 1 && shown.length < path.length;
		return crumb(nodeName(subject, node) + when, leftOut, node === subject.zoomed,
			() => zoom(node));
	});
	nav.replaceChildren(...part ? [crumb('all', false, false, leave)] : [], ...crumbs);
	showLastCrumb(nav);
}

/** Where there is no room for all, the outermost ones are cut. @param {HTMLElement} nav */
export function showLastCrumb(nav) {
	nav.scrollLeft = nav.scrollWidth;
	nav.classList.toggle('cut', nav.scrollWidth > nav.clientWidth);
}
