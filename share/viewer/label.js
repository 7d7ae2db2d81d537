// SPDX-License-Identifier: MIT
// @ts-check
// Names made short enough for a box; the same rules as render/label.c.

const ELLIPSIS = '\u2026';
const FEWEST_CHARACTERS = 2;

/**
 * "a<b, c<d>>::e(f<g>)" to "a<\u2026>::e(f<\u2026>)"; unchanged when the brackets do not match.
 * @param {string} name
 */
export function collapseArguments(name) {
	let collapsed = '';
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === '<' && (depth || opensArguments(name, i))) {
			if (!depth++)
				collapsed += '<' + ELLIPSIS;
			continue;
		}
		if (c === '>' && depth && name[i - 1] !== '-')
			depth--;
		if (!depth)
			collapsed += c;
	}
	return depth ? name : collapsed;
}

/** @param {string} name @param {number} i */
function opensArguments(name, i) {
	let back = i;
	while (back > 0 && name[back - 1] === '<')
		back--;
	if (name.slice(0, back).endsWith('operator'))
		return false;
	return i > 0 && !':( ,.'.includes(name[i - 1]);
}

/** A text and how wide it is up to each of its characters. */
class Measured {
	/** @param {string} text @param {(character: string) => number} measure */
	constructor(text, measure) {
		const characters = [...text];
		this.text = text;
		this.ends = new Uint32Array(characters.length + 1);  // in code units
		this.widths = new Float64Array(characters.length + 1);
		characters.forEach((character, i) => {
			this.ends[i + 1] = this.ends[i] + character.length;
			this.widths[i + 1] = this.widths[i] + measure(character);
		});
	}

	get width() {
		return this.widths[this.widths.length - 1];
	}

	/** How many characters fit. @param {number} width */
	fitting(width) {
		let low = 0;
		let high = this.widths.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.widths[middle] <= width)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}
}

/** Names and their widths in one font, remembered. */
export class Labels {
	/** @param {(character: string) => number} measure one character's width */
	constructor(measure) {
		/** @type {Map<string, number>} */
		const widths = new Map();
		/** @type {(character: string) => number} */
		this.measure = character => {
			let width = widths.get(character);
			if (width === undefined)
				widths.set(character, width = measure(character));
			return width;
		};
		/** @type {Map<string, {whole: Measured, short: Measured | null}>} */
		this.known = new Map();
	}

	/**
	 * @param {string} name @param {number} width
	 * @returns {string} "" when nothing useful fits
	 */
	fit(name, width) {
		let known = this.known.get(name);
		if (!known)
			this.known.set(name,
				known = {whole: new Measured(name, this.measure), short: null});
		if (known.whole.width <= width)
			return name;
		const short = known.short ||= new Measured(collapseArguments(name), this.measure);
		if (short.width <= width)
			return short.text;
		const keep = short.fitting(width - this.measure(ELLIPSIS));
		if (keep < FEWEST_CHARACTERS)
			return '';
		return short.text.slice(0, short.ends[keep]) + ELLIPSIS;
	}
}
