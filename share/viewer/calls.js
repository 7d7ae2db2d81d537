// SPDX-License-Identifier: MIT
// @ts-check
// The tree of calls as rows that unfold: callees below their callers, or bottom-up callers below
// what ran, the heaviest first. It is an ARIA treegrid with the keys of
// https://www.w3.org/WAI/ARIA/apg/patterns/treegrid/. The chosen row is the box that is selected,
// so that menu, copying and search act on it.

import {element, isTouched} from './page.js';
import {Rows} from './rows.js';
import {nodeName, originOf, weightCells} from './text.js';
import {childrenOf, pathTo} from './tree.js';

/** Titles and CSS classes of the columns; the classes are those of the table of functions. */
const COLUMNS = [['Function', ''], ['Module', 'module'], ['Self', 'amount'], ['Self %', 'share'],
	['Total', 'amount'], ['Total %', 'share']];
const KINDS = COLUMNS.map(([, kind]) => kind);
/** A key that unfolds everything below a row stops at this number of rows. */
const MOST_UNFOLDED = 5000;

/**
 * Returns a node's children, the heaviest first.
 * @param {import('./tree.js').Tree} tree @param {number} node
 */
export function heaviestFirst(tree, node) {
	return childrenOf(tree, node).sort((a, b) => tree.total[b] - tree.total[a]);
}

/**
 * Returns the nodes that have rows, in order.
 * @param {import('./tree.js').Tree} tree @param {Set<number>} unfolded
 */
export function rowsUnfolded(tree, unfolded) {
	/** @type {number[]} */
	const rows = [];
	// Nodes that are still to be listed, the next one last. A stack may be too deep for recursion.
	const rest = [0];
	for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
		rows.push(node);
		if (unfolded.has(node))
			rest.push(...heaviestFirst(tree, node).reverse());
	}
	return rows;
}

/**
 * Unfold everything below a node, the levels next to it first.
 * @param {import('./tree.js').Tree} tree @param {Set<number>} unfolded @param {number} node
 * @param {number} most number of rows
 */
export function unfoldAll(tree, unfolded, node, most) {
	for (let level = [node], count = 0; level.length && count < most;) {
		const next = [];
		for (const one of level) {
			if (count >= most)
				break;
			const children = childrenOf(tree, one);
			if (children.length)
				unfolded.add(one);
			count += children.length;
			next.push(...children);
		}
		level = next;
	}
}

export class Calls extends Rows {
	/**
	 * @param {import('./page.js').Page} page @param {import('./state.js').State} state
	 * @param {import('./selection.js').Selection} selection
	 * @param {import('./search.js').Finder} finder
	 */
	constructor(page, state, selection, finder) {
		super(page, state, page.calls);
		this.selection = selection;
		this.finder = finder;
		/** @type {import('./tree.js').Tree | null} the tree of `unfolded`; null: not shown */
		this.of = null;
		/** @type {Set<number>} nodes whose children have rows */
		this.unfolded = new Set();
		selection.onSelect = node => this.reveal(node);
		Object.assign(this.actions, {
			left: () => this.fold(), right: () => this.unfold(), zoom: () => this.toggle(),
			unfoldAll: () => this.unfoldBelow(),
		});
	}

	get isShown() {
		return this.of !== null;
	}

	get isOnRow() {
		return this.isShown && this.selection.selected === this.rows[this.at];
	}

	get node() {
		return this.rows[this.at] ?? 0;
	}

	take() {
		const {tree, filter} = this.state;
		const of = filter.view === 'tree' ? tree : null;
		const isOther = of !== this.of;
		this.of = of;
		if (of && isOther) {
			this.unfolded.clear();
			// A row with a single row below it says little.
			for (let node = 0, children = [node]; children.length === 1; [node] = children) {
				children = childrenOf(of, node);
				if (children.length)
					this.unfolded.add(node);
			}
			this.list(Math.max(this.selection.selected, this.state.zoomed, 0));
		}
		return isOther;
	}

	/** List the rows. @param {number} node to be in a row, and to be at */
	list(node) {
		const tree = /** @type {import('./tree.js').Tree} */ (this.of);
		for (const above of [0, ...pathTo(tree, node)].slice(0, -1))
			this.unfolded.add(above);
		this.rows = rowsUnfolded(tree, this.unfolded);
		this.at = Math.max(this.rows.indexOf(node), 0);
	}

	/** Show the row of a node that was selected elsewhere, as by the search. @param {number} node */
	reveal(node) {
		if (!this.of || node < 0 || node === this.node)
			return;
		this.list(node);
		this.renew();
		if (document.activeElement !== this.page.search.input)
			this.focus();
	}

	/** List the rows anew after one was folded or unfolded. */
	changed() {
		this.list(this.node);
		this.renew();
		this.go(this.at);
	}

	/** Unfold the row; if it is unfolded, go to its first child. */
	unfold() {
		const {node} = this;
		if (this.unfolded.has(node))
			return this.go(this.at + 1);
		if (this.of && childrenOf(this.of, node).length) {
			this.unfolded.add(node);
			this.changed();
		}
	}

	/** Fold the row; if it is folded, go to its parent. */
	fold() {
		if (this.unfolded.delete(this.node))
			this.changed();
		else if (this.of && this.node)
			this.go(this.rows.indexOf(this.of.parent[this.node]));
	}

	toggle() {
		if (this.unfolded.has(this.node))
			this.fold();
		else
			this.unfold();
	}

	unfoldBelow() {
		unfoldAll(/** @type {import('./tree.js').Tree} */ (this.of), this.unfolded, this.node, MOST_UNFOLDED);
		this.changed();
		this.page.spoken.textContent = `${this.rows.length} rows`;
	}

	/** @param {number} row */
	choose(row) {
		this.selection.select(this.rows[row]);
	}

	open() {
		this.toggle();
	}

	/** @param {number} row */
	nameOf(row) {
		return nodeName(this.state, this.rows[row]);
	}

	/** @param {number} row */
	make(row) {
		const {state, selection, finder} = this;
		const {tree, profile} = state;
		const node = this.rows[row];
		const isLeaf = !childrenOf(tree, node).length;
		const isMatch = node > 0 && finder.matches?.[tree.frame[node]] === 1;
		const made = this.rowElement(row, node === selection.selected,
			node ? profile.frameColor[tree.frame[node]] : profile.rootColor,
			[[nodeName(state, node)], [node ? originOf(profile, tree.frame[node]) : ''],
				...weightCells(state, [tree.self[node], tree.total[node]], tree.total[0])], KINDS,
			{'aria-level': tree.depth[node] + 1, ...isLeaf ? {} : {'aria-expanded': this.unfolded.has(node)},
				...isMatch ? {'class': 'row match'} : {}},
			[element('b', {class: isLeaf ? '' : 'twisty'})]);
		made.style.setProperty('--level', String(tree.depth[node]));
		return made;
	}

	/** Also indent by levels from the outermost row in sight, because stacks may be very deep. */
	draw() {
		super.draw();
		const {of, grid, rowPx} = this;
		if (!of)
			return;
		const first = Math.floor(grid.scrollTop / rowPx);
		let least = Infinity;
		for (let row = first; row <= first + this.most && row < this.rows.length; row++)
			least = Math.min(least, of.depth[this.rows[row]]);
		this.body.style.setProperty('--least', String(least));
	}

	writeHead() {
		this.head.replaceChildren(...COLUMNS.map(([text, kind]) =>
			element('span', {role: 'columnheader', class: kind}, [text])));
	}

	describe() {
		this.selection.describe();
	}
}
