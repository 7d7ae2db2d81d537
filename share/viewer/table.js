// SPDX-License-Identifier: MIT
// @ts-check
// The table of the functions that are shown, with their self weights and totals. It is also the
// view for users of screen readers.

import {cellsOf, columnsOf, functionsShown, risesFirst, sortOf} from './functions.js';
import {actingButton, element, isTouched} from './page.js';
import {Rows} from './rows.js';
import {describeAs, fact} from './selection.js';

/** @typedef {import('./functions.js').Functions} Functions */
/** @typedef {import('./functions.js').By} By */

const HINT = 'Click a function, again to show it in the graph \u00b7 / to search \u00b7 ? for all keys';
const TOUCH_HINT = 'Tap a function, again to show it in the graph \u00b7 hold for more';

export class Table extends Rows {
	/**
	 * @param {import('./page.js').Page} page @param {import('./state.js').State} state
	 * @param {import('./search.js').Finder} finder
	 */
	constructor(page, state, finder) {
		super(page, state, page.table);
		this.finder = finder;
		/** @type {Functions | null} the functions to which `rows` belongs */
		this.of = null;
		/**
		 * @type {Functions | null} the functions that were announced to screen readers last
		 */
		this.told = null;
		this.nothing = 'No function\u2019s name has that';
		this.onOpen = () => {};  // called to show a function in the graph
		this.onSort = () => {};  // called when the order has changed
		Object.assign(this.actions, {
			previous: this.actions.up, next: this.actions.down,
			left: () => this.sortBy(this.columnBeside(-1)), right: () => this.sortBy(this.columnBeside(1)),
			zoom: () => this.isOnRow ? this.onOpen() : false,
		});
	}

	get isShown() {
		return this.of !== null;
	}

	get by() {
		return sortOf(this.state)[0];
	}

	get rises() {
		return sortOf(this.state)[1] === 'rising';
	}

	/** Is a function chosen, and does it have a row? */
	get isOnRow() {
		return this.state.chosen >= 0 && this.of?.frame[this.rows[this.at]] === this.state.chosen;
	}

	take() {
		const {functions} = this.state;
		const isOther = this.of !== functions;
		this.of = functions;
		if (functions) {
			this.rows = functionsShown(this.state, this.finder);
			this.finder.rows = this.rows.length;
			this.at = Math.max(Array.from(this.rows, i => functions.frame[i]).indexOf(this.state.chosen), 0);
		}
		return isOther;
	}

	/** Announce the table to screen readers, unless it was announced. */
	say() {
		if (this.of && this.told !== this.of)
			this.page.spoken.textContent = `${this.rows.length} functions, ${this.orderText()}`;
		this.told = this.of;
	}

	orderText() {
		const [title] = columnsOf(this.state).find(([, by]) => by === this.by) || [''];
		return `sorted by ${title.toLowerCase()}, ${this.rises ? 'rising' : 'falling'}`;
	}

	/** Returns the next column to sort by. @param {1 | -1} step */
	columnBeside(step) {
		const columns = [...new Set(columnsOf(this.state).map(([, by]) => by))];
		return columns[(columns.indexOf(this.by) + columns.length + step) % columns.length];
	}

	/** Sort by a column; reverse the order if it is sorted already. @param {By} by */
	sortBy(by) {
		const rises = by === this.by ? !this.rises : risesFirst(by);
		this.state.sort = `${by}-${rises ? 'rising' : 'falling'}`;
		this.update();
		this.onSort();
		this.page.spoken.textContent = this.orderText();
	}

	/** @param {number} row */
	choose(row) {
		this.state.chosen = /** @type {Functions} */ (this.of).frame[this.rows[row]];
	}

	open() {
		this.onOpen();
	}

	/** @param {number} row */
	nameOf(row) {
		return cellsOf(this.state, this.rows[row])[0][0];
	}

	/** @param {number} row */
	make(row) {
		const {state} = this;
		const frame = /** @type {Functions} */ (this.of).frame[this.rows[row]];
		return this.rowElement(row, frame === state.chosen, state.profile.frameColor[frame],
			cellsOf(state, this.rows[row]), columnsOf(state).map(([, , kind]) => kind));
	}

	writeHead() {
		const focused = [...this.head.querySelectorAll('button')].indexOf(
			/** @type {any} */ (document.activeElement));
		this.grid.classList.toggle('versions', Boolean(this.of?.change));
		this.head.replaceChildren(...columnsOf(this.state).map(([text, by, kind]) => {
			const isSorted = by === this.by && kind !== 'share';
			return element('span', {role: 'columnheader', class: kind,
				...isSorted ? {'aria-sort': this.rises ? 'ascending' : 'descending'} : {}},
			[actingButton({}, [text, isSorted ? this.rises ? ' \u2191' : ' \u2193' : ''], () => this.sortBy(by))]);
		}));
		this.head.querySelectorAll('button')[focused]?.focus();
	}

	describe() {
		const {state, page} = this;
		const i = this.isOnRow ? this.rows[this.at] : -1;
		if (!this.of || i < 0) {
			page.details.replaceChildren(element('div', {class: 'hint'}, [isTouched() ? TOUCH_HINT : HINT]));
			return;
		}
		const [[name], [origin], ...cells] = cellsOf(state, i);
		const [self, selfShare, total, totalShare] = cells;
		const text = state.profile.texts[this.of.frame[i]];
		page.details.replaceChildren(...describeAs(name, origin, this.of.change
			? [...cells.map((cell, column) => fact(columnsOf(state)[column + 2][0], ...cell)),
				...text ? [fact('Tested', text)] : []]
			: [fact('Self', ...self, ...selfShare), fact('Total', ...total, ...totalShare)]));
	}
}
