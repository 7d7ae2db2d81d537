// SPDX-License-Identifier: MIT
// @ts-check
// Copying by our keys, and by the browser's own where ours are not allowed: over plain http.

export class Clipboard {
	/**
	 * @param {() => string} current what the browser's own copying takes, nothing else selected
	 */
	constructor(current) {
		this.refused = '';
		document.addEventListener('copy', event => {
			const field = document.activeElement?.localName === 'input';
			if (field || String(window.getSelection()) || !event.clipboardData)
				return;
			event.clipboardData.setData('text/plain', this.refused || current());
			this.refused = '';
			event.preventDefault();
		});
	}

	/** @param {string} text @returns {Promise<boolean>} whether it could be copied */
	async write(text) {
		this.refused = '';
		try {
			await navigator.clipboard.writeText(text);
			return true;
		} catch {
			this.refused = text;
			return false;
		}
	}
}
