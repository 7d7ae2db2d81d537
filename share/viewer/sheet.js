// SPDX-License-Identifier: MIT
// @ts-check
// A sheet above the picture: while it is open nothing else can be reached.

import {element} from './page.js';
import {icon} from './icons.js';

/** By key, how far the focus moves through the sheet's buttons. @type {Record<string, number>} */
const FOCUS_STEPS = {Tab: 1, ArrowDown: 1, ArrowUp: -1};

export class Sheet {
	/** @param {HTMLElement} ui */
	constructor(ui) {
		this.ui = ui;
		/** @type {HTMLElement | null} */
		this.veil = null;
		this.key = '';
		/** @type {any} what had the focus before */
		this.before = null;
	}

	get isOpen() {
		return this.veil !== null;
	}

	/**
	 * @param {string} title @param {string} key that closes it as well
	 * @param {Node[]} content
	 */
	open(title, key, content) {
		const close = element('button', {type: 'button', class: 'close',
			'title': 'Close  (Esc)', 'aria-label': 'Close'}, [icon('close')]);
		const veil = element('div', {class: 'veil'}, [
			element('div', {class: 'dialog', role: 'dialog', 'aria-modal': 'true',
				'aria-label': title}, [
				element('div', {class: 'dialog-head'}, [
					element('h2', {}, [title]), close]),
				...content])]);
		this.before = document.activeElement;
		this.key = key;
		this.veil = veil;
		veil.addEventListener('click', (/** @type {any} */ event) => {
			if (event.target === veil || close.contains(event.target))
				this.close();
		});
		veil.addEventListener('keydown', (/** @type {any} */ event) => this.step(event));
		this.ui.append(veil);
		(veil.querySelector('[aria-current]') || close).focus();
	}

	/** @param {KeyboardEvent} event */
	step(event) {
		const step = event.key === 'Tab' && event.shiftKey ? -1 : FOCUS_STEPS[event.key];
		if (!step || !this.veil)
			return;
		/** @type {HTMLElement[]} */
		const buttons = [...this.veil.querySelectorAll('button:not([disabled])')]
			.map(button => /** @type {any} */ (button));
		const at = buttons.findIndex(button => button === document.activeElement);
		buttons[(at + step + buttons.length) % buttons.length].focus();
		event.preventDefault();
	}

	/** A key while it is open. @param {KeyboardEvent} event */
	onKey(event) {
		if (event.key !== 'Escape' && event.key !== this.key)
			return;
		this.close();
		event.preventDefault();
	}

	close() {
		this.veil?.remove();
		this.veil = null;
		this.before?.focus?.();
	}
}
