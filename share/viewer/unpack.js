// SPDX-License-Identifier: MIT
// @ts-check
// From base64 to what was deflated.

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

/**
 * @param {string[]} pieces of text @param {'deflate' | 'gzip'} [format]
 * @returns {Promise<Uint8Array>} what was packed
 */
export async function unpack(pieces, format = 'deflate') {
	const {readable, writable} = new DecompressionStream(format);
	const writer = writable.getWriter();
	// What goes wrong is told by the end that is read.
	for (const piece of pieces)
		writer.write(bytesOf(piece)).catch(() => {});
	writer.close().catch(() => {});
	return new Uint8Array(await new Response(readable).arrayBuffer());
}
