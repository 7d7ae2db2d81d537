// SPDX-License-Identifier: MIT
// @ts-check
// From text to what was deflated: base64, as the data is, or denser text, as the viewer is.

/** @param {string} text base64 @returns {any} bytes, as some versions of the types have them */
export function bytesOf(text) {
	const decode = /** @type {any} */ (Uint8Array).fromBase64;
	if (decode)
		return decode.call(Uint8Array, text);
	const characters = atob(text);
	const bytes = new Uint8Array(characters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = characters.charCodeAt(i);
	return bytes;
}

/** @param {string} text as render/bytes.h has it @returns {any} bytes */
export function denseBytes(text) {
	const codes = new TextEncoder().encode(text.replace(/\s/g, ''));
	const digitAt = (/** @type {number} */ i) =>
		codes[i] - (codes[i] < 39 ? 33 : codes[i] < 61 ? 34 : codes[i] < 63 ? 35 : 36);
	let used = 0;
	let bits = 0;
	let have = 0;
	for (let i = 0; i + 1 < codes.length; i += 2) {
		const value = digitAt(i) + 91 * digitAt(i + 1);
		bits |= value << have;
		have += (value & 8191) < 89 ? 14 : 13;
		for (; have > 7; have -= 8) {
			codes[used++] = bits;  // where it has been read already
			bits >>= 8;
		}
	}
	if (codes.length % 2)
		codes[used++] = bits | digitAt(codes.length - 1) << have;
	return codes.subarray(0, used);
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
