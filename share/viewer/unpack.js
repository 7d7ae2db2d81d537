// SPDX-License-Identifier: MIT
// @ts-check
// From the text of the metadata element's pieces to bytes: what render/pack.h describes.

const BASE = 91;
/** By character code, the digit, or BASE for what is none. */
const DIGITS = new Uint8Array(128).fill(BASE);
for (let code = 33, digit = 0; code < 127; code++)
	if (!'&<>'.includes(String.fromCharCode(code)))
		DIGITS[code] = digit++;

/** @param {string} text digits and white space @returns {Uint8Array} */
export function bytesOf(text) {
	const bytes = new Uint8Array(Math.ceil(text.length * 13 / 16));
	let used = 0;
	let bits = 0;
	let have = 0;
	let low = -1;  // the lower digit of two, when it waits for the higher one
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code <= 32)
			continue;
		const digit = code < 128 ? DIGITS[code] : BASE;
		if (digit === BASE)
			throw new RangeError('data has a character that is no digit');
		if (low < 0) {
			low = digit;
			continue;
		}
		bits |= low + digit * BASE << have;
		have += 13;
		low = -1;
		for (; have >= 8; have -= 8, bits >>>= 8)
			bytes[used++] = bits;
	}
	if (low >= 0) {
		bits |= low << have;
		for (have += 6; have >= 8; have -= 8, bits >>>= 8)
			bytes[used++] = bits;
	}
	return bytes.subarray(0, used);
}

/** @param {string[]} pieces @returns {Promise<Uint8Array>} what was packed */
export async function unpack(pieces) {
	/** @type {any[]} which some versions of the types take and others do not */
	const parts = pieces.map(bytesOf);
	const stream = new Blob(parts).stream()
		.pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}
