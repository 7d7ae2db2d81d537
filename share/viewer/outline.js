// SPDX-License-Identifier: MIT
// @ts-check
// The graph for those who do not see it: an ARIA tree, https://www.w3.org/WAI/ARIA/apg/patterns/treeview/,
// whose keys ours are. Where it lies on its side, as an icicle does, that pattern has Left and Right
// for siblings, Down for a child, Up for the parent. An application with a live region was all before:
// readers then know no level, no place among siblings, and say nothing when the focus comes back.
//
// The items are what a canvas holds for browsers without one, which readers get and nobody sees: the
// selected box and those it stands on, not a million of them.

import {element} from './page.js';
import {amountsOf, nodeName, placeOf, sharesOf} from './text.js';
import {firstChild, NONE, pathTo} from './tree.js';

/** Of those it stands on, the nearest; its level is told with each. */
const MOST_ITEMS = 24;

/** @typedef {import('./state.js').State} State */

/** @param {State} state @param {number} node @param {boolean} isCurrent */
function itemOf(state, node, isCurrent) {
	const {tree} = state;
	const {index, count} = placeOf(state, node);
	const words = [nodeName(state, node), sharesOf(state, node).all,
		...amountsOf(state, tree.total[node])];
	return element('div', {
		'role': 'treeitem',
		'id': `flamerun-item-${node}`,
		'aria-level': tree.depth[node] + 1,
		'aria-posinset': index + 1,
		'aria-setsize': count,
		'aria-selected': isCurrent,
		...firstChild(tree, node) === NONE && (node || tree.callees === NONE) ? {} : {'aria-expanded': 'true'},
	}, [words.join(', ').replace(/\u202f/g, ' ')]);
}

/**
 * Tell what is selected, or what fills the view where nothing is.
 * @param {HTMLElement} canvas @param {State} state @param {number} selected -1 for none
 */
export function outline(canvas, state, selected) {
	const node = selected < 0 ? state.zoomed : selected;
	const path = [0, ...pathTo(state.tree, node)].slice(-MOST_ITEMS);
	canvas.replaceChildren(...path.map(one => itemOf(state, one, one === selected)));
	canvas.setAttribute('aria-activedescendant', `flamerun-item-${node}`);
}
