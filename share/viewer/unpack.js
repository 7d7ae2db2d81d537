// SPDX-License-Identifier: MIT
// @ts-check
// From base64 to what was deflated.

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

/**
 * @param {string[]} pieces of text @param {'deflate' | 'gzip'} [format]
 * @returns {Promise<Uint8Array>} what was packed
 */
export async function unpack(pieces, format = 'deflate') {
	const stream = new Blob(pieces.map(bytesOf)).stream()
		.pipeThrough(new DecompressionStream(format));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}
