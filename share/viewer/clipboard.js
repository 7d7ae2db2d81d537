// SPDX-License-Identifier: MIT
// @ts-check

import {element} from './page.js';

/**
 * @param {HTMLElement} ui @param {string} text
 * @returns {Promise<boolean>} whether it could be copied
 */
export async function copyText(ui, text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		// Not over plain http, or not allowed: the way from before there was a clipboard.
	}
	const before = /** @type {any} */ (document.activeElement);
	const area = element('textarea', {class: 'spoken', 'aria-hidden': 'true'});
	area.value = text;
	ui.append(area);
	area.select();
	let copied = false;
	try {
		copied = document.execCommand('copy');
	} catch {
		// Then it could not.
	}
	area.remove();
	before?.focus?.();
	return copied;
}
