// SPDX-License-Identifier: MIT
// @ts-check
// The functions of what is shown, in a table: what each weighs by itself, and with all it calls. For
// who does not see pictures this is the view: an ARIA grid, of whose rows one has the focus.
// Of many rows those in sight are elements.
//
// A row is a name in a module, whether the compiler inlined it or not: that is its choice at each
// call, and nobody's question who asks what a function costs.

import {INLINED, functionsOf} from './aggregate.js';
import {element, isTouched} from './page.js';
import {amountsOf, formatPercent, originOf} from './text.js';
import {frameTotals} from './tree.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {{frame: Uint32Array, self: Float64Array, total: Float64Array}} Functions by number */

/**
 * Weight of a node by itself; of a tree that begins with what ran that is what its first nodes weigh.
 * @param {import('./tree.js').TreeColumns} tree @param {number} node @param {boolean} isReversed
 */
export function selfAt({self, total, parent}, node, isReversed) {
	return !isReversed ? self[node] : parent[node] ? 0 : total[node];
}

/**
 * @param {import('./decode.js').Profile} profile @param {import('./tree.js').TreeColumns} tree
 * @returns {Functions} each stack once in a function's total
 */
export function weighFunctions(profile, tree) {
	const functions = functionsOf(profile);
	const frame = tree.frame.map(one => functions[one]);
	const totals = frameTotals({...tree, frame}, profile.frames);
	const selves = new Float64Array(profile.frames);
	for (let node = 1; node < tree.nodes; node++)
		selves[frame[node]] += selfAt(tree, node, profile.reversed);
	const there = Uint32Array.from(totals.keys()).filter(one => totals[one] > 0);
	return {frame: there, self: Float64Array.from(there, one => selves[one]),
		total: Float64Array.from(there, one => totals[one])};
}

// ---- order --------------------------------------------------------------------------------------

/** @typedef {'name' | 'module' | 'self' | 'total'} By what rows are sorted */

const BY = /** @type {By[]} */ (['name', 'module', 'self', 'total']);
const COLUMNS = /** @type {[string, By, string][]} */ ([
	['Function', 'name', ''], ['Module', 'module', 'module'],
	['Self', 'self', 'amount'], ['Self %', 'self', 'share'], ['Total', 'total', 'amount'],
	['Total %', 'total', 'share']]);

/** @param {By} by */
function risesFirst(by) {
	return by === 'name' || by === 'module';
}

/**
 * Numbers of functions in order, the heavier one first where that does not tell.
 * @param {Functions} functions @param {(i: number) => string} textOf of a text that is sorted by
 * @param {By} by @param {boolean} rises @param {(i: number) => boolean} isKept
 */
export function sortFunctions({frame, self, total}, textOf, by, rises, isKept) {
	const kept = Uint32Array.from(frame.keys()).filter(isKept);
	const weight = by === 'self' ? self : total;
	const texts = risesFirst(by) ? Array.from(frame, (_, i) => textOf(i)) : [];
	const sign = rises ? 1 : -1;
	return kept.sort((a, b) => (risesFirst(by)
		? (texts[a] < texts[b] ? -sign : texts[a] > texts[b] ? sign : 0) : sign * (weight[a] - weight[b]))
		|| total[b] - total[a] || a - b);
}

// ---- the table ----------------------------------------------------------------------------------

/** Rows above and below those in sight, for scrolling that is ahead of us. */
const SPARE_ROWS = 8;
const HINT = 'Arrows, Home, End: a function \u00b7 Enter, a second click: show it in the graph \u00b7 '
	+ 's: its callers and callees \u00b7 \u2190 \u2192: sort by \u00b7 /: only those with a text';
const TOUCH_HINT = 'Tap a function, again to show it in the graph \u00b7 hold for more';

export class Table {
	/**
	 * @param {import('./page.js').Page} page @param {State} state
	 * @param {import('./search.js').Finder} finder
	 */
	constructor(page, state, finder) {
		this.page = page;
		this.state = state;
		this.finder = finder;
		this.rowPx = isTouched() ? 44 : 26;
		/** @type {By} */
		this.by = 'self';
		this.rises = false;
		/** @type {Functions | null} of which the rows are */
		this.of = null;
		/** @type {Functions | null} that were told of */
		this.told = null;
		this.rows = new Uint32Array(0);  // numbers of functions
		this.at = 0;  // the row that keys go from
		/** @type {Map<number, HTMLElement>} by row, those that are elements */
		this.made = new Map();
		this.onOpen = () => {};  // a function is to be shown in the graph
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
		/** @type {Record<string, () => any>} what keys do here, by their actions */
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

	/** Rows that are wholly in sight, but for one. */
	get most() {
		return Math.max(Math.floor(this.page.table.clientHeight / this.rowPx) - 2, 1);
	}

	/** Is a function chosen, of those that are rows? */
	get isOnRow() {
		return this.state.chosen >= 0 && this.of?.frame[this.rows[this.at]] === this.state.chosen;
	}

	/** What is shown or looked for is something else. @param {boolean} [isSaid] */
	update(isSaid = false) {
		const {functions, profile} = this.state;
		const anew = this.of !== functions;
		const {matches} = this.finder;
		const focus = document.activeElement;
		const hadFocus = this.page.tableBody.contains(focus);
		const isFree = !focus || focus === document.body || focus.localName === 'svg'
			|| focus === this.page.canvas;
		if (this.of && !functions && (isFree || hadFocus))
			this.page.canvas.focus({preventScroll: true});
		this.of = functions;
		if (!functions)
			return;
		const {frame} = functions;
		const textOf = (/** @type {number} */ i) =>
			this.by === 'name' ? profile.name(frame[i]) : this.originOf(frame[i]);
		this.rows = sortFunctions(functions, textOf, this.by, this.rises,
			i => !matches || matches[frame[i]] === 1);
		this.finder.rows = this.rows.length;
		this.at = Math.max(this.rows.findIndex(i => frame[i] === this.state.chosen), 0);
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
		return `sorted by ${this.by === 'name' ? 'function' : this.by}, `
			+ (this.rises ? 'rising' : 'falling');
	}

	/** A module, and of what kind it is that is none. @param {number} frame */
	originOf(frame) {
		const {profile} = this.state;
		return profile.frameKind[frame] === INLINED ? profile.modules[profile.frameModule[frame]]
			: originOf(profile, frame);
	}

	/** The other way round where they are sorted so. @param {By} by */
	sortBy(by) {
		this.rises = by === this.by ? !this.rises : risesFirst(by);
		this.by = by;
		this.update();
		this.page.spoken.textContent = this.orderText();
	}

	/** @param {number} row the nearest one */
	go(row) {
		if (!this.of || !this.rows.length)
			return;
		const before = this.made.get(this.at);
		before?.setAttribute('aria-selected', 'false');
		before?.setAttribute('tabindex', '-1');
		this.at = Math.min(Math.max(row, 0), this.rows.length - 1);
		this.state.chosen = this.of.frame[this.rows[this.at]];
		this.made.get(this.at)?.setAttribute('aria-selected', 'true');
		this.made.get(this.at)?.setAttribute('tabindex', '0');
		this.scrollTo(this.at);
		this.describe();
		if (document.activeElement !== this.page.search.input)
			this.focus();
	}

	/** A click on a row; on the one that is chosen it opens it. @param {any} event @param {boolean} [only] */
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

	/** Where a menu of the row opens. */
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
		table.scrollTop = Math.min(Math.max(table.scrollTop, top - room), top);
		this.draw();
	}

	/** Rows in sight, and the one that has the focus, in order; none that stays is moved. */
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
		const {frame, self, total} = /** @type {Functions} */ (this.of);
		const i = this.rows[row];
		const one = frame[i];
		const all = state.upright.total[0];
		const swatch = element('i', {'aria-hidden': 'true'});
		const name = profile.name(one) || '(no name)';
		const cells = [[swatch, name], [this.originOf(one)], this.amounts(self[i]), [formatPercent(self[i], all)],
			this.amounts(total[i]), [formatPercent(total[i], all)]];
		const isChosen = one === state.chosen;
		const made = element('div', {'role': 'row', 'class': 'row', 'aria-rowindex': String(row + 2),
			'aria-selected': String(isChosen), 'tabindex': row === this.at ? '0' : '-1'},
			cells.map((content, column) => element('span',
				{role: column ? 'gridcell' : 'rowheader', class: COLUMNS[column][2],
					...column < 2 ? {title: column ? this.originOf(one) : name} : {}}, content)));
		swatch.style.setProperty('--light', profile.light[profile.frameColor[one]]);
		swatch.style.setProperty('--dark', profile.dark[profile.frameColor[one]]);
		made.style.top = `${row * this.rowPx}px`;
		made.style.height = `${this.rowPx}px`;
		return made;
	}

	/** @param {number} weight */
	amounts(weight) {
		return amountsOf(this.state, weight).flatMap((text, i) =>
			[i ? ' ' : '', element('span', {}, [text])]);
	}

	writeHead() {
		const {table, tableHead} = this.page;
		table.setAttribute('aria-rowcount', String(this.rows.length + 1));
		const focused = [...tableHead.querySelectorAll('button')].indexOf(
			/** @type {any} */ (document.activeElement));
		tableHead.replaceChildren(...COLUMNS.map(([text, by, kind]) => {
			const isSorted = by === this.by && kind !== 'share';
			const sort = element('button', {type: 'button'},
				[text, isSorted ? this.rises ? ' \u2191' : ' \u2193' : '']);
			sort.addEventListener('click', () => this.sortBy(by));
			return element('span', {role: 'columnheader', class: kind,
				...isSorted ? {'aria-sort': this.rises ? 'ascending' : 'descending'} : {}}, [sort]);
		}));
		tableHead.querySelectorAll('button')[focused]?.focus();
	}

	/** The line at the bottom. */
	describe() {
		const {state, page} = this;
		const {profile} = state;
		const i = this.isOnRow ? this.rows[this.at] : -1;
		if (!this.of || i < 0) {
			page.details.replaceChildren(element('div', {class: 'hint'}, [isTouched() ? TOUCH_HINT : HINT]));
			return;
		}
		const {frame, self, total} = this.of;
		const name = profile.name(frame[i]) || '(no name)';
		const fact = (/** @type {string} */ label, /** @type {number} */ weight) =>
			element('span', {class: 'fact'}, [element('span', {class: 'label'}, [label]), ' ',
				[...amountsOf(state, weight), formatPercent(weight, state.upright.total[0])].join(' \u00b7 ')]);
		page.details.replaceChildren(
			element('div', {class: 'what'}, [element('span', {class: 'name', title: name}, [name]),
				element('span', {class: 'module'}, [this.originOf(frame[i])])]),
			element('div', {class: 'facts'}, [fact('Self', self[i]), fact('Total', total[i])]));
	}
}
