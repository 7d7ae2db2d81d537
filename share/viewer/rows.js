// SPDX-License-Identifier: MIT
// @ts-check
// Rows in an area that scrolls, for the table of functions and the tree of calls: an ARIA grid in
// which one row has the focus. Only rows in sight exist as elements.

import {element, isTouched} from './page.js';
import {clamp} from './tree.js';

/** Additional rows of elements above and below those in sight, for fast scrolling. */
const SPARE_ROWS = 8;

export class Rows {
	/**
	 * @param {import('./page.js').Page} page @param {import('./state.js').State} state
	 * @param {import('./page.js').Grid} grid
	 */
	constructor(page, state, {grid, head, body}) {
		this.page = page;
		this.state = state;
		this.grid = grid;
		this.head = head;
		this.body = body;
		this.rowPx = isTouched() ? 44 : 26;
		/** @type {number[] | Uint32Array} by row: number of its function or node */
		this.rows = [];
		this.at = 0;  // row from which arrow keys move
		this.pointed = -1;  // row under the pointer, -1 for none
		/** @type {Map<number, HTMLElement>} elements by row */
		this.made = new Map();
		this.nothing = '';  // text where there are no rows
		this.onMenu = (/** @type {{x: number, y: number}} */ _place) => {};
		grid.addEventListener('scroll', () => this.draw(), {passive: true});
		new ResizeObserver(() => this.draw()).observe(grid);
		body.addEventListener('click', (/** @type {any} */ event) => this.pick(event));
		body.addEventListener('contextmenu', (/** @type {any} */ event) => {
			event.preventDefault();
			if (this.pick(event, true))
				this.onMenu({x: event.clientX, y: event.clientY});
		});
		body.addEventListener('pointermove', (/** @type {any} */ event) => {
			this.pointed = this.rowOf(event);
		});
		body.addEventListener('pointerleave', () => {
			this.pointed = -1;
		});
		/** @type {Record<string, () => any>} what keys do, by action */
		this.actions = {
			up: () => this.go(this.at - 1), down: () => this.go(this.at + 1),
			pageUp: () => this.go(this.at - this.most), pageDown: () => this.go(this.at + this.most),
			first: () => this.go(0), last: () => this.go(this.rows.length - 1),
		};
	}

	// ---- what a kind of rows has of its own -----------------------------------------------------

	/** Are the rows shown? */
	get isShown() {
		return false;
	}

	/** Is a row chosen? */
	get isOnRow() {
		return false;
	}

	/** Take the rows of the state, if they are shown. @returns {boolean} are they others? */
	take() {
		return false;
	}

	/** @param {number} _row */
	choose(_row) {}

	/** Act on a click on the chosen row, or on a part of any row. @param {any} _event */
	open(_event) {}

	/** @param {number} _row @returns {HTMLElement} */
	make(_row) {
		return element('div');
	}

	writeHead() {}

	/** Write the details at the bottom. */
	describe() {}

	/** @param {number} _row @returns {string} */
	nameOf(_row) {
		return '';
	}

	// ---- what all have --------------------------------------------------------------------------

	/** Number of rows by which a page key moves: one less than those completely in sight. */
	get most() {
		return Math.max(Math.floor(this.grid.clientHeight / this.rowPx) - 2, 1);
	}

	/** The name in the row under the pointer, or in the chosen one; "" for none. */
	get name() {
		const row = this.pointed >= 0 ? this.pointed : this.isOnRow ? this.at : -1;
		return row < 0 ? '' : this.nameOf(row);
	}

	/** Update the rows after a change of what is shown. */
	update() {
		const wasShown = this.isShown;
		const focus = document.activeElement;
		const hadFocus = this.body.contains(focus);
		const isFree = !focus || focus === document.body || focus.localName === 'svg'
			|| focus === this.page.canvas || focus.closest('[hidden]') !== null;
		const isOther = this.take();
		if (wasShown && !this.isShown && (isFree || hadFocus))
			this.page.canvas.focus({preventScroll: true});
		if (!this.isShown)
			return;
		this.renew();
		if ((isOther && isFree) || hadFocus)
			this.focus();
	}

	/** Make all elements anew. */
	renew() {
		this.pointed = -1;
		this.body.replaceChildren();
		this.made.clear();
		this.grid.setAttribute('aria-rowcount', String(this.rows.length + 1));
		this.writeHead();
		this.scrollTo(this.at);
		this.describe();
	}

	/** Choose a row. @param {number} row limited to those that exist */
	go(row) {
		if (!this.isShown || !this.rows.length)
			return;
		const before = this.made.get(this.at);
		before?.setAttribute('aria-selected', 'false');
		before?.setAttribute('tabindex', '-1');
		this.at = clamp(row, 0, this.rows.length - 1);
		this.pointed = -1;
		this.choose(this.at);
		this.made.get(this.at)?.setAttribute('aria-selected', 'true');
		this.made.get(this.at)?.setAttribute('tabindex', '0');
		this.scrollTo(this.at);
		this.describe();
		if (document.activeElement !== this.page.search.input)
			this.focus();
	}

	/** @param {any} event @returns {number} -1 for none */
	rowOf(event) {
		return Number(event.target.closest('[role=row]')?.getAttribute('aria-rowindex') ?? 1) - 2;
	}

	/**
	 * Choose the row that was clicked. If it is chosen already, open it, unless `only` is set.
	 * @param {any} event @param {boolean} [only]
	 */
	pick(event, only = false) {
		const row = this.rowOf(event);
		if (row < 0)
			return false;
		const isAgain = row === this.at && this.isOnRow;
		if (!isAgain)
			this.go(row);
		if (!only && (isAgain || event.target.closest('.twisty')))
			this.open(event);
		return true;
	}

	focus() {
		this.made.get(this.at)?.focus({preventScroll: true});
	}

	/** Position at which the menu of the chosen row opens. */
	get place() {
		const area = (this.made.get(this.at) || this.grid).getBoundingClientRect();
		return {x: area.left, y: area.bottom};
	}

	/** @param {number} row */
	scrollTo(row) {
		const {grid, head, body, rowPx} = this;
		body.style.height = `${this.rows.length * rowPx}px`;
		const top = row * rowPx;
		const room = grid.clientHeight - head.offsetHeight - rowPx;
		grid.scrollTop = clamp(grid.scrollTop, top - room, top);
		this.draw();
	}

	/** Make elements for the rows in sight and the row with the focus. Never move elements. */
	draw() {
		const {grid, body, rowPx} = this;
		if (!this.isShown || !grid.clientHeight)
			return;
		const first = Math.max(Math.floor(grid.scrollTop / rowPx) - SPARE_ROWS, 0);
		const last = Math.min(first + this.most + 2 * SPARE_ROWS + 2, this.rows.length - 1);
		const wanted = Array.from({length: Math.max(last - first + 1, 0)}, (_, i) => first + i);
		if (this.rows.length && (this.at < first || this.at > last))
			wanted[this.at < first ? 'unshift' : 'push'](this.at);
		for (const [row, one] of this.made)
			if (!wanted.includes(row)) {
				one.remove();
				this.made.delete(row);
			}
		let next = body.firstChild;
		for (const row of wanted) {
			const one = this.made.get(row) || this.make(row);
			if (one === next)
				next = next.nextSibling;
			else
				body.insertBefore(one, next);
			this.made.set(row, one);
		}
		if (!wanted.length)
			body.replaceChildren(element('div', {class: 'hint'}, [this.nothing]));
	}

	/**
	 * Make the element of a row.
	 * @param {number} row @param {boolean} isChosen @param {number} color its place in the palette
	 * @param {string[][]} cells texts @param {string[]} kinds CSS class of each cell
	 * @param {Record<string, any>} [attributes] @param {Node[]} [before] before the first cell's texts
	 */
	rowElement(row, isChosen, color, cells, kinds, attributes = {}, before = []) {
		const {profile} = this.state;
		const swatch = element('i', {'aria-hidden': 'true'});
		const made = element('div', {'role': 'row', 'class': 'row', 'aria-rowindex': row + 2,
			'aria-selected': isChosen, 'tabindex': row === this.at ? '0' : '-1', ...attributes},
			cells.map((texts, column) => element('span',
				{role: column ? 'gridcell' : 'rowheader', class: kinds[column],
					...column < 2 ? {title: texts[0]} : {}},
				column ? kinds[column] === 'amount' ? texts.flatMap((text, at) =>
					[at ? ' ' : '', element('span', {}, [text])]) : texts : [...before, swatch, ...texts])));
		swatch.style.setProperty('--light', profile.light[color]);
		swatch.style.setProperty('--dark', profile.dark[color]);
		made.style.top = `${row * this.rowPx}px`;
		made.style.height = `${this.rowPx}px`;
		return made;
	}
}
