// SPDX-License-Identifier: MIT
// @ts-check
// What the colours mean, of those that are in the picture: a line below the crumbs, shown by key and
// with waits by itself; and the same on the sheet of keys. What the file says, see render/legend.h,
// and what only the viewer draws.

import {element} from './page.js';
import {press} from './search.js';
import {amountsOf} from './text.js';
import {partsOf} from './waits.js';

/** @typedef {import('./state.js').State} State */

/** @param {string[]} colors one behind the other */
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

export class Legend {
	/** @param {import('./page.js').Page} page @param {State} state */
	constructor(page, state) {
		this.page = page;
		this.state = state;
		/** @type {boolean | null} what the person chose */
		this.chosen = null;
		state.onTree(() => this.show());
	}

	get isShown() {
		return this.chosen ?? (Boolean(this.state.profile.sides) || this.state.hasWaits && this.state.times !== 'cpu');
	}

	toggle() {
		this.chosen = !this.isShown;
		this.show();
	}

	show() {
		const {legend, colors} = this.page;
		legend.hidden = !this.isShown;
		press(colors, this.isShown);
		legend.replaceChildren(...this.isShown ? meaningsOf(this.state) : []);
	}
}
