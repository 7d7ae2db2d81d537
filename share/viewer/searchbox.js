// SPDX-License-Identifier: MIT
// @ts-check
// The search field, its buttons, and what they say was found.

import {element} from './page.js';
import {formatShare} from './format.js';

/** @param {HTMLElement} button */
export function isPressed(button) {
	return button.getAttribute('aria-pressed') === 'true';
}

/** @param {HTMLElement} button @param {boolean} pressed */
export function press(button, pressed) {
	button.setAttribute('aria-pressed', String(pressed));
}

export class SearchBox {
	/** @param {import('./viewer.js').Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		this.page = viewer.page;
		this.changed = () => {};
	}

	/** @param {import('./search.js').Query} query */
	fill({text, regex, matchCase}) {
		const {search} = this.page;
		search.input.value = text;
		press(search.regex, regex);
		press(search.matchCase, matchCase);
		this.search();
	}

	/** @param {HTMLElement} button */
	toggle(button) {
		press(button, !isPressed(button));
		this.search();
	}

	focus() {
		this.page.search.input.focus();
		this.page.search.input.select();
	}

	/** What the field and its buttons say; the view stays where it is. */
	search() {
		const {viewer} = this;
		const {search} = this.page;
		viewer.finder.search({text: search.input.value, regex: isPressed(search.regex),
			matchCase: isPressed(search.matchCase)});
		this.describe();
		viewer.draw();
		this.changed();
	}

	leave() {
		const {input} = this.page.search;
		if (input.value) {
			input.value = '';
			this.search();
		} else {
			input.blur();
			this.page.canvas.focus({preventScroll: true});
		}
	}

	describe() {
		const {viewer, page} = this;
		const {finder, tree, zoomed} = viewer;
		const {error, matches} = finder;
		const shares = finder.shares(tree, zoomed);
		const text = [`${formatShare(shares.all)} of all`];
		if (zoomed)
			text.unshift(`${formatShare(shares.view)} of view`);
		page.matched.replaceChildren(...error ? [error] : matches
			? ['Matched ', element('b', {}, [text.join(' \u00b7 ')])] : []);
		page.matched.classList.toggle('wrong', Boolean(error));
		page.search.input.setAttribute('aria-invalid', String(Boolean(error)));
		page.search.count.textContent = finder.countText(tree);
		const none = !finder.list(tree).length;
		page.search.previous.disabled = page.search.next.disabled = none;
	}
}
