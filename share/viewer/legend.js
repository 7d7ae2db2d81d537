// SPDX-License-Identifier: MIT
// @ts-check
// Explain the colours of the picture, in a line below the crumbs and on the sheet of keys. A key
// shows and hides the line; pictures with waits and comparisons show it at first. The meanings come
// from the file, see render/legend.h; those of colours that only the viewer uses are added.

import {element} from './page.js';
import {press} from './search.js';
import {amountsOf} from './text.js';
import {partsOf} from './waits.js';

/** @typedef {import('./state.js').State} State */

/** Returns a CSS fill with all colours side by side. @param {string[]} colors */
function fillOf(colors) {
	return new Set(colors).size > 1 ? `linear-gradient(to right, ${colors.join()})` : colors[0];
}

/** @param {string} light @param {string} dark @param {(Node | string)[]} words */
function meaning(light, dark, ...words) {
	const swatch = element('i', {'aria-hidden': 'true'});
	swatch.style.setProperty('--light', light);
	swatch.style.setProperty('--dark', dark);
	return element('span', {}, [swatch, ...words]);
}

/** @param {State} state @returns {(Node | string)[]} */
export function meaningsOf(state) {
	const {legend, frameColor, mergedColor, light, dark} = state.profile;
	const placed = (/** @type {number[]} */ places, /** @type {(Node | string)[]} */ ...words) =>
		meaning(...(/** @type {[string, string]} */ ([light, dark].map(
			colors => fillOf(places.map(place => colors[place]))))), ...words);
	const waits = state.hasWaits && state.times !== 'cpu'
		? partsOf(state, 0).filter(part => part.frame >= 0) : [];
	return [
		...waits.length ? ['Waiting for:'] : [],
		...waits.map(({name, weight, frame}) => placed([frameColor[frame]], `${name} `,
			element('b', {}, [amountsOf(state, weight, 'waits').join(', ')]))),
		...legend.map(({text, places}) => placed(places, text)),
		placed([mergedColor], 'too narrow to be drawn apart'),
		meaning('var(--match)', 'var(--match)', 'what was searched for'),
	];
}

/**
 * Show or hide the line as the user chose; before a choice, show it for waits and comparisons.
 * @param {import('./page.js').Page} page @param {State} state
 * @returns {() => void} toggles the line
 */
export function legendIn({legend, colors}, state) {
	/** @type {boolean | undefined} the user's choice */
	let chosen;
	const show = () => {
		const isShown = chosen ?? (Boolean(state.profile.sides) || state.hasWaits && state.times !== 'cpu');
		legend.hidden = !isShown;
		press(colors, isShown);
		legend.replaceChildren(...isShown ? meaningsOf(state) : []);
	};
	state.onTree(show);
	return () => {
		chosen = legend.hidden;
		show();
	};
}
