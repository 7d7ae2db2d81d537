// SPDX-License-Identifier: MIT
// @ts-check
// The graph for screen readers: an ARIA tree with the keys of
// https://www.w3.org/WAI/ARIA/apg/patterns/treeview/. In a horizontal tree, which an icicle is,
// Left and Right select siblings, Down a child, Up the parent. The ARIA role "application" with a
// live region would not be enough: screen readers would not know a box's level and its position
// among siblings, and would say nothing when the graph gets the focus again.
//
// The items are the canvas's fallback content, which screen readers read and which is not
// displayed. There are items only for the selected box and its ancestors, because there may be a
// million boxes.

import {element} from './page.js';
import {amountsOf, nodeName, placeOf, sharesOf} from './text.js';
import {childrenOf, pathTo} from './tree.js';

/**
 * Maximum number of items: a box and its nearest ancestors. Each item states its level, so outer
 * ancestors may be missing.
 */
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
		...childrenOf(tree, node).length || childrenOf(tree, node, true).length ? {'aria-expanded': 'true'} : {},
	}, [words.join(', ').replace(/\u202f/g, ' ')]);
}

/**
 * Make the items for the selected box; if none is selected, for the zoomed box.
 * @param {HTMLElement} canvas @param {State} state @param {number} selected -1 for none
 */
export function outline(canvas, state, selected) {
	const node = selected < 0 ? state.zoomed : selected;
	const path = [0, ...pathTo(state.tree, node)].slice(-MOST_ITEMS);
	canvas.replaceChildren(...path.map(one => itemOf(state, one, one === selected)));
	canvas.setAttribute('aria-activedescendant', `flamerun-item-${node}`);
}
