// SPDX-License-Identifier: MIT
// @ts-check
// Decode the bytes of the metadata element to typed arrays. render/embed.h describes the format.
// Samples are sorted by time, so that those of a range of time are found by bisection; a sample
// takes about a dozen bytes.

// The columns' tags, which are those of enum embed_tag in render/embed.h.
const TITLE = 1;
const SUBTITLE = 2;
const NUMBERS = 3;
const LIGHT = 4;
const DARK = 5;
const MODULES = 6;
const NAME_LENGTHS = 7;
const NAMES = 8;
const FRAME_MODULES = 9;
const FRAME_KINDS = 10;
const FRAME_COLORS = 11;
const NODE_UPS = 12;
const NODE_FRAMES = 13;
const NODE_WEIGHTS = 14;
const THREADS = 15;
const COUNT_NAME = 22;
const NOTES = 23;
const FONT = 24;
const PALETTE = 25;
const VIEW = 26;
const MARK_TIMES = 27;
const MARK_TEXTS = 28;
const FILES = 29;
const LINE_COUNTS = 30;
const LINES_MORE = 31;
const LINE_FILES = 32;
const LINE_NUMBERS = 33;
const LINE_SELVES = 34;
const LINE_TOTALS = 35;
const LINE_WAITS = 36;
const LEGEND_COLORS = 37;
const LEGEND_TEXTS = 38;
const THREAD_PROCESSES = 40;
const TYPE_NAME = 43;
const TICK = 45;
const SAMPLE_TIMES = 46;
const SAMPLE_NODES = 47;
const SAMPLE_THREADS = 48;
const SAMPLE_WEIGHTS = 49;
const SAMPLE_KINDS = 50;
const FRAME_TEXTS = 51;

// ---- numbers and texts out of untrusted bytes ---------------------------------------------------

function damaged() {
	return new RangeError('its data is damaged');
}

/**
 * Read one varint at `at.i`, exact up to 2^53, and advance `at.i`.
 * @param {Uint8Array} bytes @param {{i: number}} at
 */
function readVarint(bytes, at) {
	let value = 0;
	let scale = 1;
	for (;;) {
		if (at.i >= bytes.length)
			throw damaged();
		const byte = bytes[at.i++];
		value += (byte & 127) * scale;
		if (byte < 128)
			return value;
		scale *= 128;
		if (scale > 2 ** 63)
			throw damaged();
	}
}

/**
 * Read exactly `count` varints. @param {Uint8Array | undefined} bytes @param {number} count
 * @returns {Float64Array}
 */
function readNumbers(bytes, count) {
	if (!bytes || count > bytes.length)
		throw damaged();
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
 * Returns the number of planes in a column, that is the number of bytes that each of its `count`
 * numbers has.
 * @param {Uint8Array | undefined} bytes @param {number} count @returns {number} 0 if there are none
 */
function planesOf(bytes, count) {
	const planes = count ? (bytes?.length || 0) / count : 0;
	if (count ? ![1, 2, 3, 4].includes(planes) : bytes?.length)
		throw damaged();
	return planes;
}

/**
 * Read numbers in planes: the lowest bytes of all numbers, then the second bytes of all numbers,
 * and so on. One loop reads all planes, because with many samples most of the time is spent here.
 * @template {Uint8Array | Uint16Array | Uint32Array} T @param {Uint8Array | undefined} bytes
 * @param {T} numbers output: its length is the count
 * @returns {T}
 */
function readPlanes(bytes = new Uint8Array(0), numbers) {
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
			throw damaged();
		columns.set(tag, bytes.subarray(at.i, at.i + length));
		at.i += length;
	}
	return columns;
}

/**
 * Replace control characters and characters that reorder text by U+FFFD. The decoder has already
 * replaced bytes that are not UTF-8.
 * @param {string} text
 */
export function cleanText(text) {
	return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029\ufeff]/gu, '\ufffd');
}

function textDecoder() {
	return new TextDecoder('utf-8', {ignoreBOM: true});
}

/**
 * @param {Uint8Array | undefined} bytes @param {number} count
 * @param {TextDecoder} decoder @returns {string[]}
 */
function readTexts(bytes, count, decoder) {
	const texts = [];
	const at = {i: 0};
	while (bytes && texts.length < count) {
		const length = readVarint(bytes, at);
		texts.push(cleanText(decoder.decode(bytes.subarray(at.i, at.i + length))));
		at.i += length;
	}
	return texts;
}

// ---- the profile --------------------------------------------------------------------------------

/** Kinds of time, in the order of enum calltree_times. */
export const TIMES = /** @type {const} */ (['cpu', 'waits', 'both']);

/**
 * A call tree in depth-first order, the root first.
 * @typedef {object} Nodes
 * @property {Uint32Array} frame by node; the root's is the number of frames
 * @property {Float64Array} self weight without callees
 * @property {Uint32Array} parent
 */

/**
 * @typedef {object} Profile
 * @property {string} title
 * @property {string} subtitle
 * @property {number} periodNs CPU time of one sample, 0 when unknown
 * @property {number} nodes
 * @property {number} frames
 * @property {number} rootColor index in the palette
 * @property {number} mergedColor
 * @property {string[]} light CSS colours by index
 * @property {string[]} dark
 * @property {string[]} modules
 * @property {Uint32Array} frameModule
 * @property {Uint32Array} frameKind
 * @property {Uint32Array} frameColor
 * @property {(frame: number) => string} name clean text of a frame's name
 * @property {string[]} texts by frame, further text about it; empty if the file has none
 * @property {Nodes} tree
 * @property {string} countName what one unit of weight is called
 * @property {string} typeName what the weights measure, "" for the default
 * @property {string} palette its name
 * @property {string[]} notes lines
 * @property {string} font family of the labels, "" for the viewer's own
 * @property {boolean} icicle root on top
 * @property {boolean} wholeNames labels keep template arguments if there is room
 * @property {boolean} reversed the tree was merged from the leaf
 * @property {import('./state.js').Times} times kind of time that the static picture shows
 * @property {number} rowPx height of a row, the gap included
 * @property {number} fontPx size of the labels
 * @property {number} narrowestPx least width of a box drawn by itself
 * @property {Mark[]} marks in order of time
 * @property {SampleTable} samples decoded at first use
 * @property {number} sampleCount
 * @property {string[]} threads names by number
 * @property {string[]} processes by thread
 * @property {Lines} lines
 * @property {{text: string, places: number[]}[]} legend meaning of colours, by indices in the
 * palette
 * @property {Float64Array[]} [sides] of a comparison: weights by node of the old and of the new
 * version, whose sum is the tree's
 * @property {number[]} [scales] of a comparison: by version, how much slower all functions were
 */

/** @typedef {{us: number, text: string}} Mark us: microseconds since the start of the run */

/**
 * Weights over the whole run of source lines: for each frame, its heaviest lines.
 * @typedef {object} Lines
 * @property {string[]} files
 * @property {Float64Array} first by frame: index of its first line; a last element is the number of
 * lines
 * @property {Float64Array} more by frame: number of lines left out of the file
 * @property {Float64Array} file by line: index in `files`
 * @property {Float64Array} number by line, 0 when it is not known
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} waits the part of `total` that waits
 */

/** @param {Uint8Array | undefined} bytes @returns {string[]} CSS colours */
function readColors(bytes) {
	const colors = [];
	for (let i = 0; bytes && i + 2 < bytes.length; i += 3)
		colors.push(`rgb(${bytes[i]},${bytes[i + 1]},${bytes[i + 2]})`);
	return colors;
}

/**
 * Returns a function that returns a frame's name. If each byte of the names is one character, as
 * nearly always, decode and clean all names at once, which costs as much as decoding a few hundred
 * names one by one. Otherwise decode each name when it is first used.
 * @param {Uint8Array} lengths @param {Uint8Array} bytes @param {number} count
 */
function nameReader(lengths, bytes, count) {
	const decoder = textDecoder();
	const starts = new Float64Array(count + 1);
	readNumbers(lengths, count).forEach((length, i) => {
		starts[i + 1] = starts[i] + length;
	});
	if (starts[count] !== bytes.length)
		throw damaged();
	const all = cleanText(decoder.decode(bytes));
	// Copy the bytes, so that the file's data can be freed.
	const coded = all.length === bytes.length ? null : bytes.slice();
	/** @type {string[]} */
	const known = new Array(count);
	return (/** @type {number} */ frame) => known[frame] ??= coded
		? cleanText(decoder.decode(coded.subarray(starts[frame], starts[frame + 1])))
		: all.slice(starts[frame], starts[frame + 1]);
}

/**
 * Read the picture's options (EMBED_VIEW). A file without this column has the defaults.
 * @param {Uint8Array | undefined} bytes
 */
function readView(bytes) {
	const [icicle, , reversed, , row, font, narrowest, wholeNames, times] =
		bytes ? readNumbers(bytes, 9) : [0, 0, 0, 0, 1800, 1100, 50, 0, 0];
	const within = (/** @type {number} */ hundredths, /** @type {number} */ most) =>
		Math.min(Math.max(hundredths / 100, 0.25), most);
	return {
		icicle: icicle === 1,
		reversed: reversed === 1,
		times: TIMES[times] || 'cpu',
		rowPx: Math.max(within(row, 400), 3),
		fontPx: Math.max(within(font, 200), 3),
		narrowestPx: within(narrowest, 100),
		wholeNames: wholeNames === 1,
	};
}

/**
 * Read numbers that are stored as differences.
 * @param {Uint8Array} bytes @param {number} count
 * @param {boolean} isSigned the differences are in zigzag code
 */
function readSums(bytes, count, isSigned) {
	let sum = 0;
	return readNumbers(bytes, count).map(step => {
		sum += !isSigned ? step : step % 2 ? -(step + 1) / 2 : step / 2;
		return sum;
	});
}

/**
 * @param {(tag: number) => Uint8Array} column @param {TextDecoder} decoder
 * @returns {Mark[]}
 */
function readMarks(column, decoder) {
	const bytes = column(MARK_TIMES);
	const count = bytes.reduce((sum, byte) => sum + (byte < 128 ? 1 : 0), 0);
	const texts = readTexts(column(MARK_TEXTS), count, decoder);
	return Array.from(readSums(bytes, count, false),
		(us, i) => ({us, text: texts[i] || '(no text)'}));
}

/**
 * Read the source lines. Pictures without lines have none of these columns.
 * @param {(tag: number) => Uint8Array} column @param {number} frames @param {TextDecoder} decoder
 * @returns {Lines}
 */
function readLines(column, frames, decoder) {
	const known = column(LINE_COUNTS).length ? frames : 0;
	const first = new Float64Array(frames + 1);
	readNumbers(column(LINE_COUNTS), known).forEach((count, frame) => {
		first[frame + 1] = first[frame] + count;
	});
	const more = new Float64Array(frames);
	more.set(readNumbers(column(LINES_MORE), known));
	const lines = first[known];
	const file = readNumbers(column(LINE_FILES), lines);
	const files = file.reduce((most, one) => Math.max(most, one + 1), 0);
	const number = readSums(column(LINE_NUMBERS), lines, true);
	if (number.some(one => !(one >= 0)))
		throw damaged();
	return {
		files: readTexts(column(FILES), files, decoder),
		first, more, file, number,
		self: readNumbers(column(LINE_SELVES), lines),
		total: readNumbers(column(LINE_TOTALS), lines),
		waits: column(LINE_WAITS).length ? readNumbers(column(LINE_WAITS), lines)
			: new Float64Array(lines),
	};
}

/** Number of colour indices in an entry of the legend, see render/legend.h. */
const LEGEND_SHADES = 3;

/**
 * @param {(tag: number) => Uint8Array} column @param {number} colors @param {TextDecoder} decoder
 */
function readLegend(column, colors, decoder) {
	const places = column(LEGEND_COLORS);
	if (places.some(place => place >= colors))
		throw damaged();
	return readTexts(column(LEGEND_TEXTS), Math.floor(places.length / LEGEND_SHADES), decoder)
		.map((text, i) => ({text, places: [...places.subarray(
			i * LEGEND_SHADES, (i + 1) * LEGEND_SHADES)]}));
}

/**
 * @param {Map<number, Uint8Array>} columns @param {number} nodes @param {number} frames
 * @returns {Nodes}
 */
export function readNodes(columns, nodes, frames) {
	if (!(nodes >= 1))
		throw damaged();
	const self = readNumbers(columns.get(NODE_WEIGHTS), nodes);
	const ups = readNumbers(columns.get(NODE_UPS), nodes - 1);
	const frame = new Uint32Array(nodes);
	const parent = new Uint32Array(nodes);
	frame.set(readNumbers(columns.get(NODE_FRAMES), nodes - 1), 1);
	frame[0] = frames;
	for (let node = 1; node < nodes; node++) {
		let above = node - 1;
		for (let up = ups[node - 1]; up > 0; up--) {
			if (above === 0)
				throw damaged();
			above = parent[above];
		}
		parent[node] = above;
		if (frame[node] >= frames)
			throw damaged();
	}
	return {frame, self, parent};
}

// ---- samples ------------------------------------------------------------------------------------

/**
 * All samples that have a time, the earliest first.
 * @typedef {object} SampleTable
 * @property {number} count
 * @property {number} tickUs microseconds in one unit of `time`, a whole number
 * @property {Uint32Array} time ticks since the start of the run, never falling. For a wait: when it
 * ended or was last seen, so that the weight is time before it
 * @property {Uint32Array} node the leaf's number in the file
 * @property {Uint16Array | Uint32Array} thread
 * @property {Uint8Array | Uint32Array} weight
 * @property {Uint8Array} kind 0 on a CPU, 1 CPU time whose sample was never delivered, 2 waiting
 */

const KINDS = 3;

/**
 * Replace differences by their running sum, in place. @param {Uint32Array} time @returns
 * {Uint32Array}
 */
function sumUp(time) {
	let sum = 0;
	for (let i = 0; i < time.length; i++)
		time[i] = sum += time[i];
	if (sum >= 2 ** 32)
		throw damaged();
	return time;
}

/**
 * Turn differences into node numbers, in place. Each is the difference from the node of the
 * thread's previous sample, in zigzag code.
 * @param {Uint32Array} node @param {number} nodes @param {Uint16Array | Uint32Array} thread
 * @param {number} threads
 */
function followThreads(node, nodes, thread, threads) {
	const last = new Uint32Array(threads);
	for (let i = 0; i < node.length; i++) {
		const step = node[i];
		const one = last[thread[i]] + (step >>> 1 ^ -(step & 1)) >>> 0;
		if (one >= nodes || thread[i] >= threads)
			throw damaged();
		node[i] = last[thread[i]] = one;
	}
	return node;
}

/**
 * Read the table of samples. It is empty if the file's samples have no times.
 * @param {Map<number, Uint8Array>} columns @returns {SampleTable}
 */
export function readSampleTable(columns) {
	const [, , nodes, , , threads, count] = readNumbers(columns.get(NUMBERS), 10);
	const [times, steps, threadOf, weightOf, kindOf] = [SAMPLE_TIMES, SAMPLE_NODES,
		SAMPLE_THREADS, SAMPLE_WEIGHTS, SAMPLE_KINDS].map(tag => columns.get(tag));
	const [tickUs] = count ? readNumbers(columns.get(TICK), 1) : [1];
	const thread = readPlanes(threadOf,
		new (planesOf(threadOf, count) < 3 ? Uint16Array : Uint32Array)(count));
	const weight = readPlanes(weightOf,
		new (planesOf(weightOf, count) < 2 ? Uint8Array : Uint32Array)(count));
	if (!(tickUs >= 1) || planesOf(kindOf, count) > 1 || kindOf?.some(kind => kind >= KINDS))
		throw damaged();
	return {
		count,
		tickUs,
		time: sumUp(readPlanes(times, new Uint32Array(count))),
		node: followThreads(readPlanes(steps, new Uint32Array(count)), nodes, thread, threads),
		thread,
		weight,
		kind: readPlanes(kindOf, new Uint8Array(count)),
	};
}

// ---- the whole ----------------------------------------------------------------------------------

/**
 * @param {Map<number, Uint8Array>} columns
 * @param {() => void} [done] called when `columns` are no longer needed, which is after the samples
 * have been read
 * @returns {Profile}
 */
export function readProfile(columns, done = () => {}) {
	const decoder = textDecoder();
	const column = (/** @type {number} */ tag) => columns.get(tag) || new Uint8Array(0);
	const text = (/** @type {number} */ tag) => decoder.decode(column(tag));
	const whole = (/** @type {number} */ tag, /** @type {number} */ count) =>
		new Uint32Array(readNumbers(columns.get(tag), count));
	const [periodNs, , nodes, frames, modules, threads, samples, , rootColor, mergedColor] =
		readNumbers(columns.get(NUMBERS), 10);
	/** @type {SampleTable | undefined} */
	let table;
	const light = readColors(columns.get(LIGHT));
	/** @type {Profile} */
	const profile = {
		...readView(columns.get(VIEW)),
		title: cleanText(text(TITLE)),
		subtitle: cleanText(text(SUBTITLE)),
		countName: cleanText(text(COUNT_NAME)) || 'samples',
		typeName: text(TYPE_NAME),
		palette: text(PALETTE),
		notes: text(NOTES).split('\n').map(cleanText).filter(Boolean),
		font: cleanText(text(FONT)),
		periodNs,
		nodes,
		frames,
		rootColor,
		mergedColor,
		light,
		dark: readColors(columns.get(DARK)),
		modules: readTexts(columns.get(MODULES), modules, decoder),
		frameModule: whole(FRAME_MODULES, frames),
		frameKind: whole(FRAME_KINDS, frames),
		frameColor: whole(FRAME_COLORS, frames),
		name: nameReader(column(NAME_LENGTHS), column(NAMES), frames),
		texts: readTexts(columns.get(FRAME_TEXTS), frames, decoder),
		tree: readNodes(columns, nodes, frames),
		marks: readMarks(column, decoder),
		/** @returns {SampleTable} */
		get samples() {
			if (!table) {
				table = readSampleTable(columns);
				columns = new Map();
				done();
			}
			return table;
		},
		sampleCount: column(SAMPLE_TIMES).length ? samples : 0,
		threads: readTexts(columns.get(THREADS), threads, decoder),
		processes: readTexts(columns.get(THREAD_PROCESSES), threads, decoder),
		lines: readLines(column, frames, decoder),
		legend: readLegend(column, light.length, decoder),
	};
	if ([profile.frameModule, profile.frameColor].some((numbers, i) =>
		numbers.some(number => number >= [modules, profile.light.length][i])))
		throw damaged();
	return profile;
}
