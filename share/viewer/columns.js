// SPDX-License-Identifier: MIT
// @ts-check
// The columns of a picture's data: numbers and texts out of bytes that may be anything.

export const TAG = {
	title: 1,
	subtitle: 2,
	numbers: 3,
	light: 4,
	dark: 5,
	modules: 6,
	nameLengths: 7,
	names: 8,
	frameModules: 9,
	frameKinds: 10,
	frameColors: 11,
	nodeUps: 12,
	nodeFrames: 13,
	nodeWeights: 14,
	threads: 15,
	countName: 22,
	notes: 23,
	font: 24,
	view: 26,
	markTimes: 27,
	markTexts: 28,
	files: 29,
	lineCounts: 30,
	linesMore: 31,
	lineFiles: 32,
	lineNumbers: 33,
	lineSelves: 34,
	lineTotals: 35,
	lineWaits: 36,
	legendColors: 37,
	legendTexts: 38,
	threadProcesses: 40,
	tick: 45,
	sampleTimes: 46,
	sampleNodes: 47,
	sampleThreads: 48,
	sampleWeights: 49,
	sampleKinds: 50,
};

/**
 * Read one varint at `at.i`; exact up to 2^53. @param {Uint8Array} bytes @param {{i: number}} at
 */
function readVarint(bytes, at) {
	let value = 0;
	let scale = 1;
	for (;;) {
		if (at.i >= bytes.length)
			throw new RangeError('data ends within a number');
		const byte = bytes[at.i++];
		value += (byte & 127) * scale;
		if (byte < 128)
			return value;
		scale *= 128;
		if (scale > 2 ** 63)
			throw new RangeError('a number is too long');
	}
}

/**
 * Read exactly `count` varints. @param {Uint8Array | undefined} bytes @param {number} count
 * @returns {Float64Array}
 */
export function readNumbers(bytes, count) {
	if (!bytes || count > bytes.length)
		throw new RangeError('a column is too short');
	const numbers = new Float64Array(count);
	const at = {i: 0};
	for (let n = 0; n < count; n++) {
		const byte = bytes[at.i];
		if (byte < 128) {
			numbers[n] = byte;
			at.i++;
		} else {
			numbers[n] = readVarint(bytes, at);
		}
	}
	return numbers;
}

/**
 * How many bytes numbers in planes have, of which there are exactly `count`.
 * @param {Uint8Array | undefined} bytes @param {number} count @returns {number} 0 where there are none
 */
export function planesOf(bytes, count) {
	const planes = count ? (bytes?.length || 0) / count : 0;
	if (count ? ![1, 2, 3, 4].includes(planes) : bytes?.length)
		throw new RangeError('a column has not the samples that there are');
	return planes;
}

/**
 * Read numbers in planes: the lowest byte of each, then the next of each. In one round whatever
 * their size, for this is most of the time that many samples take.
 * @template {Uint8Array | Uint16Array | Uint32Array} T
 * @param {Uint8Array | undefined} bytes @param {T} numbers that they fill, large enough @returns {T}
 */
export function readPlanes(bytes = new Uint8Array(0), numbers) {
	const count = numbers.length;
	const planes = planesOf(bytes, count);
	if (planes === 1)
		numbers.set(bytes);
	else if (planes === 2)
		for (let i = 0; i < count; i++)
			numbers[i] = bytes[i] | bytes[count + i] << 8;
	else if (planes > 2) {
		const high = planes > 3 ? bytes.subarray(3 * count) : new Uint8Array(count);
		for (let i = 0; i < count; i++)
			numbers[i] = bytes[i] | bytes[count + i] << 8 | bytes[2 * count + i] << 16 | high[i] << 24;
	}
	return numbers;
}

/** @param {Uint8Array} bytes @returns {Map<number, Uint8Array>} column by tag */
export function readColumns(bytes) {
	const columns = new Map();
	const at = {i: 0};
	while (at.i < bytes.length) {
		const tag = readVarint(bytes, at);
		const length = readVarint(bytes, at);
		if (length > bytes.length - at.i)
			throw new RangeError('a column is cut off');
		columns.set(tag, bytes.subarray(at.i, at.i + length));
		at.i += length;
	}
	return columns;
}

/**
 * Text without what could disturb the text around it. Bytes that are no UTF-8 were made U+FFFD by
 * the decoder. @param {string} text
 */
export function cleanText(text) {
	return text.replace(
		/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
		'\ufffd');
}

export function textDecoder() {
	return new TextDecoder('utf-8', {ignoreBOM: true});
}

/**
 * @param {Uint8Array | undefined} bytes @param {number} count
 * @param {TextDecoder} decoder @returns {string[]}
 */
export function readTexts(bytes, count, decoder) {
	const texts = [];
	const at = {i: 0};
	while (bytes && texts.length < count) {
		const length = readVarint(bytes, at);
		texts.push(cleanText(decoder.decode(bytes.subarray(at.i, at.i + length))));
		at.i += length;
	}
	return texts;
}
