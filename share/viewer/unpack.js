// SPDX-License-Identifier: MIT
// @ts-check
// From text to what was deflated: base64, as the data is, or denser text, as the viewer is.

/** @param {string} text base64 @returns {any} bytes, as some versions of the types have them */
function bytesOf(text) {
	const decode = /** @type {any} */ (Uint8Array).fromBase64;
	if (decode)
		return decode.call(Uint8Array, text);
	const characters = atob(text);
	const bytes = new Uint8Array(characters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = characters.charCodeAt(i);
	return bytes;
}

/** Of them has one byte in UTF-8 as many as there are. */
const SHORT = 91;
const SHARE = 108;
const ALL = 11713;

/** @param {string} text gzip as render/bytes.h has it @returns {any} bytes */
export function denseBytes(text) {
	/** @type {number[]} by the code of a digit */
	const digits = [];
	for (let code = 33, digit = 0; code < 2048; code++)
		if (!/[&<>\x7f-\xa0\xad\u061c]/.test(String.fromCharCode(code)))
			digits[code] = digit++;
	const lines = text.trim().split(/\s+/);
	let number = Number(lines.pop());
	const line = lines.join('');
	const bytes = new Uint8Array(2 * line.length);
	let used = 0;
	for (let i = line.length - 1; i >= 0; i--) {
		const digit = digits[line.charCodeAt(i)];
		const share = digit < SHORT ? SHARE : 1;
		for (; number >= share << 17; number >>= 8)
			bytes[used++] = number;
		number = (number / share | 0) * ALL + number % share
			+ (digit < SHORT ? digit * SHARE : digit + SHORT * (SHARE - 1));
	}
	return bytes.subarray(bytes.indexOf(31), used);  // what gzip begins with
}

/**
 * @param {string[]} pieces of text @param {'deflate' | 'gzip'} [format] @param {typeof bytesOf} [read]
 * @returns {Promise<Uint8Array>} what was packed
 */
export async function unpack(pieces, format = 'deflate', read = bytesOf) {
	const {readable, writable} = new DecompressionStream(format);
	const writer = writable.getWriter();
	// What goes wrong is told by the end that is read.
	for (const piece of pieces)
		writer.write(read(piece)).catch(() => {});
	writer.close().catch(() => {});
	return new Uint8Array(await new Response(readable).arrayBuffer());
}

/** The viewer's script and style of what pack.awk made of them. @param {Uint8Array} bytes */
export function unfold(bytes) {
	const [list, ...parts] = new TextDecoder('latin1').decode(bytes).split(/\x01/);
	const words = list.split('\n');
	const [script, quoted, style] = parts.map(part =>
		part.replace(/[\xa0-\xff]/g, sign => words[sign.charCodeAt(0) - 160]));
	const texts = quoted.split('\n');
	let at = 0;
	return [script.replace(/\x02/g, () => `"${texts[at++]}"`), style];
}
