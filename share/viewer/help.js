// SPDX-License-Identifier: MIT
// @ts-check
// The sheet that lists the keys.

import {element} from './page.js';
import {KEYS} from './keys.js';

/** @param {import('./sheet.js').Sheet} sheet */
export function openHelp(sheet) {
	const rows = KEYS.map(key => element('tr', {}, [
		element('th', {scope: 'row'},
			key.shown.split(' ').map(one => element('kbd', {}, [one]))),
		element('td', {}, [key.text])]));
	sheet.open('Keys', '?', [element('table', {}, rows)]);
}
