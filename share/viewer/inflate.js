// SPDX-License-Identifier: MIT
// @ts-check
// Decode base64 text to bytes, and inflate them.

/**
 * @param {string} text base64
 * @returns {any} bytes; not a type, because versions of the DOM's types differ
 */
export function bytesOf(text) {
	const characters = atob(text);
	const bytes = new Uint8Array(characters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = characters.charCodeAt(i);
	return bytes;
}

/**
 * Decode and inflate text. To save memory, a piece is decoded only when the stream asks for more.
 * @param {string[]} pieces of base64, each of them whole bytes
 * @param {'deflate' | 'gzip'} [format] @returns {Promise<Uint8Array>}
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
