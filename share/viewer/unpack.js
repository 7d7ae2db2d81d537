// SPDX-License-Identifier: MIT
// @ts-check
// From text to what was deflated: base64, as the data is, or denser text, as the viewer is.

/** @param {string} text base64 @returns {any} bytes, as some versions of the types have them */
export function bytesOf(text) {
	const characters = atob(text);
	const bytes = new Uint8Array(characters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = characters.charCodeAt(i);
	return bytes;
}

/** @param {string} text gzip as render/bytes.h has it @returns {any} bytes */
export function denseBytes(text) {
	/** @type {number[]} by the code of a digit of one byte or two */
	const shares = [];
	/** @type {number[]} */
	const places = [];
	let all = 0;
	for (let code = 10; code < 2048; code++)
		if (!/[\v- \]\x7f-\xa0\xad\u061c]/.test(String.fromCharCode(code))) {
			places[code] = all;
			all += shares[code] = code < 128 ? 13000 : 114;
		}
	const wide = all - 0x2100;
	all += 0xb700;
	const [digits, last] = text.split(' ');
	const bytes = new Uint8Array(3 * digits.length);
	let number = Number(last);
	let used = 0;
	for (let i = digits.length - 1; i >= 0; i--) {
		const code = digits.charCodeAt(i);
		const share = shares[code] || 1;
		for (; number >= share * 2 ** 17; number = Math.floor(number / 256))
			bytes[used++] = number;
		number = Math.floor(number / share) * all + number % share + (places[code] ?? code + wide);
	}
	return bytes.subarray(bytes.indexOf(31), used);  // what gzip begins with
}

/**
 * @param {string[]} pieces of text, each read when there is room for it
 * @param {'deflate' | 'gzip'} [format] @param {typeof bytesOf} [read]
 * @returns {Promise<Uint8Array>} what was packed
 */
export async function unpack(pieces, format = 'deflate', read = bytesOf) {
	let next = 0;
	const packed = new ReadableStream({
		pull(control) {
			if (next < pieces.length)
				control.enqueue(read(pieces[next++]));
			else
				control.close();
		},
	});
	return new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream(format))).arrayBuffer());
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
