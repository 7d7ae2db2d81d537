// SPDX-License-Identifier: MIT
// @ts-check
// The table of the functions that are shown, with their self weights and totals. It is also the
// view for users of screen readers: an ARIA grid, in which one row has the focus. Only rows in
// sight exist as elements.

import {BY, COLUMNS, cellsOf, functionsShown, risesFirst} from './functions.js';
import {actingButton, element, isTouched} from './page.js';
import {describeAs, fact} from './selection.js';
import {clamp} from './tree.js';

/** @typedef {import('./functions.js').Functions} Functions */
/** @typedef {import('./functions.js').By} By */

/** Additional rows of elements above and below those in sight, for fast scrolling. */
const SPARE_ROWS = 8;
const HINT = 'Click a function, again to show it in the graph \u00b7 / to search \u00b7 ? for all keys';
const TOUCH_HINT = 'Tap a function, again to show it in the graph \u00b7 hold for more';

export class Table {
	/**
	 * @param {import('./page.js').Page} page @param {import('./state.js').State} state
	 * @param {import('./search.js').Finder} finder
	 */
	constructor(page, state, finder) {
		this.page = page;
		this.state = state;
		this.finder = finder;
		this.rowPx = isTouched() ? 44 : 26;
		/** @type {Functions | null} the functions to which `rows` belongs */
		this.of = null;
		/**
		 * @type {Functions | null} the functions that were announced to screen readers last
		 */
		this.told = null;
		this.rows = new Uint32Array(0);  // [row] -> number of its function
		this.at = 0;  // row from which arrow keys move
		/** @type {Map<number, HTMLElement>} elements by row */
		this.made = new Map();
		this.onOpen = () => {};  // called to show a function in the graph
		this.onSort = () => {};  // called when the order has changed
		this.onMenu = (/** @type {{x: number, y: number}} */ _place) => {};
		const {table, tableBody} = page;
		table.addEventListener('scroll', () => this.draw(), {passive: true});
		new ResizeObserver(() => this.draw()).observe(table);
		tableBody.addEventListener('click', (/** @type {any} */ event) => this.pick(event));
		tableBody.addEventListener('contextmenu', (/** @type {any} */ event) => {
			event.preventDefault();
			if (this.pick(event, true))
				this.onMenu({x: event.clientX, y: event.clientY});
		});
		/** @type {Record<string, () => any>} what keys do in the table, by action */
		this.actions = {
			up: () => this.go(this.at - 1), down: () => this.go(this.at + 1),
			previous: () => this.go(this.at - 1), next: () => this.go(this.at + 1),
			pageUp: () => this.go(this.at - this.most), pageDown: () => this.go(this.at + this.most),
			first: () => this.go(0), last: () => this.go(this.rows.length - 1),
			left: () => this.sortBy(BY[(BY.indexOf(this.by) + BY.length - 1) % BY.length]),
			right: () => this.sortBy(BY[(BY.indexOf(this.by) + 1) % BY.length]),
			zoom: () => this.isOnRow ? this.onOpen() : false,
		};
	}

	get by() {
		return /** @type {By} */ (this.state.sort.split('-')[0]);
	}

	get rises() {
		return this.state.sort.endsWith('-rising');
	}

	/** Number of rows by which a page key moves: one less than those completely in sight. */
	get most() {
		return Math.max(Math.floor(this.page.table.clientHeight / this.rowPx) - 2, 1);
	}

	/** Is a function chosen, and does it have a row? */
	get isOnRow() {
		return this.state.chosen >= 0 && this.of?.frame[this.rows[this.at]] === this.state.chosen;
	}

	/** Update the table. @param {boolean} [isSaid] also announce it to screen readers */
	update(isSaid = false) {
		const {functions} = this.state;
		const anew = this.of !== functions;
		const focus = document.activeElement;
		const hadFocus = this.page.tableBody.contains(focus);
		const isFree = !focus || focus === document.body || focus.localName === 'svg'
			|| focus === this.page.canvas;
		if (this.of && !functions && (isFree || hadFocus))
			this.page.canvas.focus({preventScroll: true});
		this.of = functions;
		if (!functions)
			return;
		this.rows = functionsShown(this.state, this.finder);
		this.finder.rows = this.rows.length;
		this.at = Math.max(this.rows.findIndex(i => functions.frame[i] === this.state.chosen), 0);
		this.page.tableBody.replaceChildren();
		this.made.clear();
		this.writeHead();
		this.scrollTo(this.at);
		this.describe();
		if ((anew && isFree) || hadFocus)
			this.focus();
		if (isSaid && this.told !== functions)
			this.page.spoken.textContent = `${this.rows.length} functions, ${this.orderText()}`;
		if (isSaid)
			this.told = functions;
	}

	orderText() {
		return `sorted by ${this.state.sort.replace('-', ', ').replace('name', 'function')}`;
	}

	/** Sort by a column; reverse the order if it is sorted already. @param {By} by */
	sortBy(by) {
		const rises = by === this.by ? !this.rises : risesFirst(by);
		this.state.sort = `${by}-${rises ? 'rising' : 'falling'}`;
		this.update();
		this.onSort();
		this.page.spoken.textContent = this.orderText();
	}

	/** Choose a row. @param {number} row limited to those that exist */
	go(row) {
		if (!this.of || !this.rows.length)
			return;
		const before = this.made.get(this.at);
		before?.setAttribute('aria-selected', 'false');
		before?.setAttribute('tabindex', '-1');
		this.at = clamp(row, 0, this.rows.length - 1);
		this.state.chosen = this.of.frame[this.rows[this.at]];
		this.made.get(this.at)?.setAttribute('aria-selected', 'true');
		this.made.get(this.at)?.setAttribute('tabindex', '0');
		this.scrollTo(this.at);
		this.describe();
		if (document.activeElement !== this.page.search.input)
			this.focus();
	}

	/**
	 * Choose the row that was clicked. If it is chosen already, show its function in the graph,
	 * unless `only` is set.
	 * @param {any} event @param {boolean} [only]
	 */
	pick(event, only = false) {
		const row = Number(event.target.closest('[role=row]')?.getAttribute('aria-rowindex')) - 2;
		if (!(row >= 0))
			return false;
		if (row === this.at && this.isOnRow && !only) {
			this.onOpen();
			return true;
		}
		this.go(row);
		return true;
	}

	focus() {
		this.made.get(this.at)?.focus({preventScroll: true});
	}

	/** Position at which the menu of the chosen row opens. */
	get place() {
		const area = (this.made.get(this.at) || this.page.table).getBoundingClientRect();
		return {x: area.left, y: area.bottom};
	}

	/** @param {number} row */
	scrollTo(row) {
		const {table, tableHead, tableBody} = this.page;
		tableBody.style.height = `${this.rows.length * this.rowPx}px`;
		const top = row * this.rowPx;
		const room = table.clientHeight - tableHead.offsetHeight - this.rowPx;
		table.scrollTop = clamp(table.scrollTop, top - room, top);
		this.draw();
	}

	/** Make elements for the rows in sight and the row with the focus. Never move elements. */
	draw() {
		const {table, tableBody} = this.page;
		if (!this.of || !table.clientHeight)
			return;
		const first = Math.max(Math.floor(table.scrollTop / this.rowPx) - SPARE_ROWS, 0);
		const last = Math.min(first + this.most + 2 * SPARE_ROWS + 2, this.rows.length - 1);
		const wanted = Array.from({length: Math.max(last - first + 1, 0)}, (_, i) => first + i);
		if (this.rows.length && (this.at < first || this.at > last))
			wanted[this.at < first ? 'unshift' : 'push'](this.at);
		for (const [row, one] of this.made)
			if (!wanted.includes(row)) {
				one.remove();
				this.made.delete(row);
			}
		let next = tableBody.firstChild;
		for (const row of wanted) {
			const one = this.made.get(row) || this.make(row);
			if (one === next)
				next = next.nextSibling;
			else
				tableBody.insertBefore(one, next);
			this.made.set(row, one);
		}
		if (!wanted.length)
			tableBody.replaceChildren(element('div', {class: 'hint'}, ['No function\u2019s name has that']));
	}

	/** @param {number} row @returns {HTMLElement} */
	make(row) {
		const {state} = this;
		const {profile} = state;
		const i = this.rows[row];
		const one = /** @type {Functions} */ (this.of).frame[i];
		const swatch = element('i', {'aria-hidden': 'true'});
		const isChosen = one === state.chosen;
		const made = element('div', {'role': 'row', 'class': 'row', 'aria-rowindex': row + 2,
			'aria-selected': isChosen, 'tabindex': row === this.at ? '0' : '-1'},
			cellsOf(state, i).map((texts, column) => element('span',
				{role: column ? 'gridcell' : 'rowheader', class: COLUMNS[column][2],
					...column < 2 ? {title: texts[0]} : {}},
				column ? COLUMNS[column][2] === 'amount' ? texts.flatMap((text, at) =>
					[at ? ' ' : '', element('span', {}, [text])]) : texts : [swatch, ...texts])));
		swatch.style.setProperty('--light', profile.light[profile.frameColor[one]]);
		swatch.style.setProperty('--dark', profile.dark[profile.frameColor[one]]);
		made.style.top = `${row * this.rowPx}px`;
		made.style.height = `${this.rowPx}px`;
		return made;
	}

	writeHead() {
		const {table, tableHead} = this.page;
		table.setAttribute('aria-rowcount', String(this.rows.length + 1));
		const focused = [...tableHead.querySelectorAll('button')].indexOf(
			/** @type {any} */ (document.activeElement));
		tableHead.replaceChildren(...COLUMNS.map(([text, by, kind]) => {
			const isSorted = by === this.by && kind !== 'share';
			return element('span', {role: 'columnheader', class: kind,
				...isSorted ? {'aria-sort': this.rises ? 'ascending' : 'descending'} : {}},
			[actingButton({}, [text, isSorted ? this.rises ? ' \u2191' : ' \u2193' : ''], () => this.sortBy(by))]);
		}));
		tableHead.querySelectorAll('button')[focused]?.focus();
	}

	/** Write the details at the bottom. */
	describe() {
		const {state, page} = this;
		const i = this.isOnRow ? this.rows[this.at] : -1;
		if (!this.of || i < 0) {
			page.details.replaceChildren(element('div', {class: 'hint'}, [isTouched() ? TOUCH_HINT : HINT]));
			return;
		}
		const [[name], [origin], self, selfShare, total, totalShare] = cellsOf(state, i);
		page.details.replaceChildren(...describeAs(name, origin,
			[fact('Self', ...self, ...selfShare), fact('Total', ...total, ...totalShare)]));
	}
}
