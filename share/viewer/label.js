// SPDX-License-Identifier: MIT
// @ts-check
// Shorten names so that they fit into boxes. The rules and their reasons are those of
// render/label.c; tests/labels.tsv and tests/fitted.tsv have test cases for both.

const ELLIPSIS = '\u2026';
const FEWEST_CHARACTERS = 2;
const FEWEST_OF_BOTH_ENDS = 6;
const FEWEST_BEFORE = 2;
const FEWEST_OF_ADDRESS = 4;

/**
 * Does the '<' at `i` open template arguments? Otherwise it is part of a name. @param {string} name
 * @param {number} i
 */
function opensArguments(name, i) {
	let back = i;
	while (back > 0 && name[back - 1] === '<')
		back--;
	if (name.endsWith('operator', back))
		return false;
	if (name.endsWith('::', i))
		return !/^<(impl |lambda|unnamed)/.test(name.slice(i, i + 8));
	return i > 0 && !':( ,.'.includes(name[i - 1]);
}

/** Does an operator's name end at `end`? @param {string} name @param {number} end */
function isOperator(name, end) {
	while (end > 0 && '<>=!+-*/%^&|~,'.includes(name[end - 1]))
		end--;
	return name.endsWith('operator', end);
}

/**
 * Returns the end of the parameters that begin with the '(' at `i`; 0 if the '(' begins something
 * else or is never closed.
 * @param {string} name @param {number} i
 */
function parametersEnd(name, i) {
	if (i === 0 || name.endsWith('operator', i) || name.endsWith('decltype', i)
		|| (' :.,(<{&*)'.includes(name[i - 1]) && !isOperator(name, i)
			&& !name.endsWith('operator()', i)))
		return 0;
	for (let depth = 0; i < name.length; i++) {
		if (name[i] === '(')
			depth++;
		if (name[i] === ')' && !--depth)
			return i + 1;
	}
	return 0;
}

const QUALIFIERS = /(?: const| volatile| noexcept| &&?)*/y;

/** @param {string} name @param {number} i */
function skipQualifiers(name, i) {
	QUALIFIERS.lastIndex = i;
	QUALIFIERS.test(name);
	return QUALIFIERS.lastIndex;
}

const CLONE = ' [clone ';

/**
 * Drop parameters, template arguments and suffixes from a function's name: "a<b, c<d>>::e(f) const"
 * becomes "a<\u2026>::e". tests/labels.tsv has more examples.
 * @param {string} name
 */
export function shortName(name) {
	let short = '';
	let depth = 0;
	let braces = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		const end = c === '(' && !depth && !braces ? parametersEnd(name, i) : 0;
		if (end) {
			const behind = skipQualifiers(name, end);
			if (behind === name.length || name.startsWith('::', behind)
				|| name.startsWith(CLONE, behind)) {
				i = behind - 1;
				continue;
			}
		}
		if (!depth && !braces && name.startsWith(CLONE, i))
			break;
		if (c === '<' && !braces && (depth || opensArguments(name, i))) {
			if (!depth++)
				short += '<' + ELLIPSIS;
			continue;
		}
		if (c === '>' && depth && name[i - 1] !== '-')
			depth--;
		if (depth)
			continue;
		if (c === '{')
			braces++;
		if (c === '}' && braces)
			braces--;
		short += c;
	}
	return depth || !short ? name : short;
}

const ADDRESS_MARK = 3;
const ADDRESS = /^\[.*?(\+0x[0-9a-f]+\])$/;
const BEGINS_NAME = /^(?!operator\(\))[\w~$\u0080-\uffff]/;

/**
 * Returns where a function's own name begins in its short name, after namespaces and classes.
 * @param {string} name
 */
function ownStart(name) {
	let own = 0;
	let depth = 0;
	for (let i = 0; i < name.length && (depth || name[i] !== ' '); i++) {
		const behind = name.startsWith('::', i) ? i + 2 : name[i] === '/' ? i + 1 : 0;
		if ('([{<'.includes(name[i]))
			depth++;
		else if (depth && ')]}>'.includes(name[i]))
			depth--;
		if (!depth && behind && BEGINS_NAME.test(name.slice(behind, behind + 10)))
			own = behind;
	}
	return own;
}

/** A text, and its width up to the end of each character. */
class Measured {
	/** @param {string} text @param {(character: string) => number} measure */
	constructor(text, measure) {
		const characters = [...text];
		this.text = text;
		this.count = characters.length;
		this.ends = new Uint32Array(this.count + 1);  // in code units
		this.widths = new Float64Array(this.count + 1);
		characters.forEach((character, i) => {
			this.ends[i + 1] = this.ends[i] + character.length;
			this.widths[i + 1] = this.widths[i] + measure(character);
		});
		const address = text.match(ADDRESS);
		/** Does the text end in an address? */
		this.isAddress = address !== null;
		this.own = this.ends.indexOf(address ? text.length - address[1].length : ownStart(text));
	}

	/** Returns the width of the text from a character to the end. @param {number} from */
	widthFrom(from) {
		return this.widths[this.count] - this.widths[from];
	}

	/**
	 * Returns the end of the longest part that begins at `from` and is at most `width` wide.
	 * @param {number} from @param {number} width
	 */
	endThatFits(from, width) {
		let low = from;
		let high = this.count;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.widths[middle] - this.widths[from] <= width)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	/**
	 * Returns the start, not before `first`, of the longest end of the text that is at most
	 * `width` wide.
	 * @param {number} first @param {number} width
	 */
	startThatFits(first, width) {
		let from = this.count;
		while (from > first && this.widthFrom(from - 1) <= width)
			from--;
		return from;
	}

	/**
	 * Returns the number of leading characters that another text shares; 0 if the texts are
	 * equal. @param {string} text
	 */
	sharedWith(text) {
		let same = 0;
		let i = 0;
		if (text === this.text)
			return 0;
		while (same < text.length && text[same] === this.text[same])
			same++;
		while (i < this.count && this.ends[i + 1] <= same)
			i++;
		return i;
	}

	/**
	 * Returns the two parts of the text joined, with an ellipsis for each missing part; "" if
	 * too few characters are left.
	 * @param {number} head @param {number} headEnd @param {number} tail @param {number} tailEnd
	 */
	cut(head, headEnd, tail, tailEnd) {
		const {text, ends, count} = this;
		return headEnd - head + tailEnd - tail < FEWEST_CHARACTERS ? ''
			: text.slice(ends[head], ends[headEnd]) + ELLIPSIS
				+ text.slice(ends[tail], ends[tailEnd]) + (tailEnd < count ? ELLIPSIS : '');
	}
}

/** Cache of names and their widths in one font. */
export class Labels {
	/**
	 * @param {(character: string) => number} measure one character's width
	 * @param {boolean} isWhole do not shorten names if there is room
	 */
	constructor(measure, isWhole = false) {
		this.isWhole = isWhole;
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

	/** Returns a measured name; measures it at the first call. @param {string} name */
	look(name) {
		let known = this.known.get(name);
		if (!known)
			this.known.set(name,
				known = {whole: new Measured(name, this.measure), short: null});
		return known;
	}

	/** @param {string} name */
	short(name) {
		const known = this.look(name);
		return known.short ||= new Measured(shortName(name), this.measure);
	}

	/** Cut a text that is not a name to `width`. @param {string} text @param {number} width */
	fitText(text, width) {
		const {whole} = this.look(text);
		return whole.widthFrom(0) <= width ? text
			: whole.cut(0, whole.endThatFits(0, width - this.measure(ELLIPSIS)),
				whole.count, whole.count);
	}

	/**
	 * Shorten a name to `width`.
	 * @param {string} name @param {number} width
	 * @param {string[]} [beside] names of the boxes to the left and right
	 * @returns {string} "" when nothing useful fits
	 */
	fit(name, width, beside = []) {
		if (this.isWhole && this.look(name).whole.widthFrom(0) <= width)
			return name;
		const short = this.short(name);
		const {own, count} = short;
		if (short.widthFrom(0) <= width)
			return short.text;
		const room = width - this.measure(ELLIPSIS);
		if (short.isAddress || (own && short.widthFrom(own) <= room)) {
			let tail = short.startThatFits(own, room);
			if (tail > own && tail < own + ADDRESS_MARK)
				tail = own + ADDRESS_MARK;
			const head = short.endThatFits(0, room - short.widthFrom(tail));
			return short.isAddress && count - tail < FEWEST_OF_ADDRESS ? ''
				: short.cut(0, tail > own || head < FEWEST_BEFORE ? 0 : head, tail,
					count);
		}
		return this.fitOwn(short, room, beside);
	}

	/**
	 * Cut a function's own name: keep both ends, or the part that differs from the names in
	 * `beside`.
	 * @param {Measured} short @param {number} room @param {string[]} beside
	 */
	fitOwn(short, room, beside) {
		const {own, count} = short;
		let tail = short.startThatFits(own, room / 2);
		let head = short.endThatFits(own, room - short.widthFrom(tail));
		if (head - own + count - tail < FEWEST_OF_BOTH_ENDS) {
			head = short.endThatFits(own, room);
			tail = count;
		}
		const differs = Math.max(0, ...beside.map(name => short.sharedWith(this.short(name).text)));
		if (differs < head || differs >= tail)
			return short.cut(own, head, tail, count);
		if (short.widthFrom(differs) <= room)
			return short.cut(own, short.endThatFits(own, room - short.widthFrom(differs)),
				differs, count);
		const end = short.endThatFits(differs, room - this.measure(ELLIPSIS));
		return end - differs < FEWEST_CHARACTERS ? short.cut(own, head, tail, count)
			: short.cut(own, own, differs, end);
	}
}
