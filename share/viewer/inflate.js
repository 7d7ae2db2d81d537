// SPDX-License-Identifier: MIT
// @ts-check
// From base64 text to the bytes that were compressed.

/** @param {string} text base64 @returns {any} bytes, as some versions of the types have them */
export function bytesOf(text) {
	const characters = atob(text);
	const bytes = new Uint8Array(characters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = characters.charCodeAt(i);
	return bytes;
}

/**
 * Decode and inflate text. A piece is decoded only when the stream has room for it.
 * @param {string[]} pieces of base64, each of them whole bytes
 * @param {'deflate' | 'gzip'} [format]
 * @returns {Promise<Uint8Array>}
 */
export async function inflate(pieces, format = 'deflate') {
	let next = 0;
	const packed = new ReadableStream({
		pull(control) {
			if (next < pieces.length)
				control.enqueue(bytesOf(pieces[next++]));
			else
				control.close();
		},
	});
	return new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream(format))).arrayBuffer());
}
