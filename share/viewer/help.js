// SPDX-License-Identifier: MIT
// @ts-check
// The sheet that lists the keys.

import {element} from './page.js';
import {icon} from './icons.js';
import {KEYS} from './keys.js';

export class Help {
	/** @param {HTMLElement} ui */
	constructor(ui) {
		this.ui = ui;
		/** @type {HTMLElement | null} */
		this.sheet = null;
		/** @type {any} what had the focus before */
		this.before = null;
	}

	get isOpen() {
		return this.sheet !== null;
	}

	open() {
		const close = element('button', {type: 'button', class: 'close',
			'title': 'Close  (Esc)', 'aria-label': 'Close'}, [icon('close')]);
		const rows = KEYS.map(key => element('tr', {}, [
			element('th', {scope: 'row'},
				key.shown.split(' ').map(one => element('kbd', {}, [one]))),
			element('td', {}, [key.text])]));
		this.sheet = element('div', {class: 'veil'}, [
			element('div', {class: 'help-sheet', role: 'dialog', 'aria-modal': 'true',
				'aria-label': 'Keys'}, [
				element('div', {class: 'help-head'}, [
					element('h2', {}, ['Keys']), close]),
				element('table', {}, rows)])]);
		this.before = document.activeElement;
		this.sheet?.addEventListener('click', event => {
			if (event.target === this.sheet || close.contains(event.target))
				this.close();
		});
		// Nothing else can be reached while it is open.
		this.sheet?.addEventListener('keydown', event => {
			if (event.key === 'Tab')
				event.preventDefault();
		});
		this.ui.append(/** @type {HTMLElement} */ (this.sheet));
		close.focus();
	}

	close() {
		this.sheet?.remove();
		this.sheet = null;
		this.before?.focus?.();
	}
}
