// SPDX-License-Identifier: MIT
// @ts-check
// Elements over the picture: sheets (with keys, source lines or marks), one at a time; and toasts,
// which are short messages.

import {GESTURES, KEYS, moveFocus} from './input.js';
import {meaningsOf} from './legend.js';
import {actingButton, button, element, icon, isTouched} from './page.js';
import {formatPercent, formatSeconds, linesOf, nodeName, sampledOf} from './text.js';

/** How long a toast is shown, in ms: a base, and an addition per character. */
const TOAST_MS = 800;
const TOAST_CHARACTER_MS = 50;

/** A modal dialog: while it is open, nothing else on the page reacts. */
export class Sheet {
	/** @param {any} ui */
	constructor(ui) {
		this.ui = ui;
		/** @type {HTMLDialogElement | null} */
		this.dialog = null;
		this.key = '';
	}

	get isOpen() {
		return this.dialog !== null;
	}

	/**
	 * @param {string} title @param {string} key a key that closes the sheet, besides Escape
	 * @param {Node[]} content
	 */
	open(title, key, content) {
		const close = button('close', 'Close  (Esc)', [icon('close')]);
		const dialog = element('dialog', {class: 'dialog', 'aria-label': title}, [
			element('div', {class: 'dialog-body'}, [
				element('div', {class: 'dialog-head'}, [
					element('h2', {}, [title]), close]),
				...content])]);
		this.key = key;
		this.dialog = dialog;
		dialog.addEventListener('click', (/** @type {any} */ event) => {
			// The dialog's body covers the dialog, so a click whose target is the
			// dialog itself was outside of the body.
			if (event.target === dialog || close.contains(event.target))
				this.close();
		});
		dialog.addEventListener('cancel', () => this.close());
		this.ui.append(dialog);
		dialog.showModal();
		(dialog.querySelector('[aria-current]') || close).focus();
	}

	/**
	 * Handle a key while the sheet is open. Tab is handled here, too, because the browser's own
	 * Tab would leave the page.
	 * @param {KeyboardEvent} event
	 */
	onKey(event) {
		const key = event.key !== 'Tab' ? event.key : event.shiftKey ? 'ArrowUp' : 'ArrowDown';
		if (key === 'Escape' || key === this.key)
			this.close();
		else if (!moveFocus([...this.ui.querySelectorAll('dialog button:not([disabled])')], key))
			return;
		event.preventDefault();
	}

	/** Close the sheet; the browser returns the focus to the element that had it before. */
	close() {
		this.dialog?.close();
		this.dialog?.remove();
		this.dialog = null;
	}
}

/**
 * Make a row of the sheet of keys. Keys are buttons, so that fingers can reach actions without a
 * button of their own.
 * @param {string} shown @param {string} text @param {string} actions see KEYS
 * @param {(action: string) => void} act
 */
function keyRow(shown, text, actions, act) {
	const named = actions.split(' ');
	return element('tr', {}, [
		element('th', {scope: 'row'}, shown.split(' ').map((one, i) => {
			const kbd = element('kbd', {}, [one]);
			return named[i] ? actingButton({class: 'key'}, [kbd], () => act(named[i])) : kbd;
		})),
		element('td', {}, [text])]);
}

/**
 * @param {Sheet} sheet @param {import('./state.js').State} state
 * @param {Record<string, () => any>} actions by name
 */
export function openHelp(sheet, state, actions) {
	const act = (/** @type {string} */ action) => {
		sheet.close();
		if (action !== 'help')
			actions[action]();
	};
	const gestures = GESTURES.map(([gesture, text]) => element('tr', {}, [
		element('th', {scope: 'row'}, [gesture]), element('td', {}, [text])]));
	sheet.open(isTouched() ? 'Fingers and keys' : 'Keys', '?', [
		element('table', {}, [...isTouched() ? gestures : [],
			...KEYS.map(([shown, text, named]) => keyRow(shown, text, named, act))]),
		element('h2', {}, ['Colours']),
		element('div', {class: 'meanings'}, meaningsOf(state))]);
}

/**
 * Show the source lines of a node's function.
 * @param {Sheet} sheet @param {import('./state.js').State} state @param {number} node
 * @returns {boolean} false if none are known
 */
export function openLines(sheet, state, node) {
	const known = linesOf(state, node);
	if (!known)
		return false;
	const rows = known.lines.map(({place, file, total, self, share}) => element('tr', {}, [
		element('th', {scope: 'row', title: file}, [place]),
		...[share, sampledOf(state, total)[0],
			self ? `${sampledOf(state, self)[0]} of its own` : '']
			.map(text => element('td', {}, [text]))]));
	sheet.open('Lines', 'l', [
		element('p', {class: 'lines-of'}, [nodeName(state, node)]),
		...known.file ? [element('p', {class: 'lines-of'}, [known.file])] : [],
		element('table', {class: 'lines'}, rows),
		...known.more ? [element('p', {}, [`and ${known.more} more`])] : []]);
	return true;
}

// Limit the list, because a program may make a million marks.
const MOST_MARKS = 1000;

/**
 * Show the list of marks.
 * @param {Sheet} sheet @param {import('./state.js').State} state
 * @param {(stretch: import('./state.js').Stretch) => void} choose called with the stretch that the
 * user chooses
 */
export async function openMarks(sheet, state, choose) {
	const {stretches, part, filter} = state;
	const weights = await state.perform('weighStretches', filter);
	const all = weights.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0);
	const rows = stretches.slice(0, MOST_MARKS + 1).map((one, i) => {
		const {from, to, text} = one;
		return actingButton({class: 'mark', ...weights[i] ? {} : {disabled: ''},
			...part?.from === from && part.to === to ? {'aria-current': 'true'} : {}}, [
			element('span', {class: 'when'}, [from < 0 ? '' : formatSeconds(from / 1e6)]),
			element('span', {class: 'text', title: text}, [text]),
			...all ? [element('span', {class: 'share'}, [formatPercent(weights[i], all)])] : []], () => {
			sheet.close();
			choose(one);
		});
	});
	// List the time before the first mark only if there are samples in it.
	if (!weights[0])
		rows.shift();
	const more = stretches.length - 1 - MOST_MARKS;
	sheet.open('Marks', 'm', [
		element('p', {}, [all ? 'From each mark to the next: choose what to show.'
			: 'The samples of this picture have no times.']),
		element('div', {}, rows),
		...more > 0 ? [element('p', {}, [`and ${more} more`])] : []]);
}

/**
 * Returns a function that shows a message for a short time and lets screen readers speak it.
 * @param {import('./page.js').Page} page @returns {(text: string) => void}
 */
export function toaster({toast, spoken}) {
	let timer = 0;
	return text => {
		toast.textContent = spoken.textContent = text;
		toast.classList.add('shown');
		clearTimeout(timer);
		timer = window.setTimeout(() => toast.classList.remove('shown'),
			TOAST_MS + TOAST_CHARACTER_MS * text.length);
	};
}
