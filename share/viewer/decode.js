// SPDX-License-Identifier: MIT
// @ts-check
// From the bytes of the metadata element to typed arrays. The format is described in render/embed.h.

import {cleanText, readNumbers, readTexts, TAG, textDecoder} from './columns.js';
import {readSampleTable} from './samples.js';
import {TIMES} from './tree.js';

/**
 * In depth-first order, the root first.
 * @typedef {object} Nodes
 * @property {Uint32Array} frame the root's is the number behind the last
 * @property {Float64Array} self weight of its own
 * @property {Uint32Array} parent
 */

/**
 * @typedef {object} Profile
 * @property {string} title
 * @property {string} subtitle
 * @property {number} periodNs CPU time of one sample, 0 when unknown
 * @property {number} nodes
 * @property {number} frames
 * @property {number} rootColor place in the palette
 * @property {number} mergedColor
 * @property {string[]} light CSS colours by place
 * @property {string[]} dark
 * @property {string[]} modules
 * @property {Uint32Array} frameModule
 * @property {Uint32Array} frameKind
 * @property {Uint32Array} frameColor
 * @property {(frame: number) => string} name clean text of a frame's name
 * @property {Nodes} tree
 * @property {string} countName what one unit of weight is called
 * @property {string[]} notes lines
 * @property {string} font family of the labels, "" for the viewer's own
 * @property {boolean} icicle roots on top, as asked for
 * @property {boolean} wholeNames labels have template arguments if there is room
 * @property {boolean} reversed the tree was merged from the leaf
 * @property {import('./state.js').Times} times that the static picture shows
 * @property {number} rowPx height of a row, the gap included
 * @property {number} fontPx size of the labels
 * @property {number} narrowestPx of a box drawn by itself
 * @property {Mark[]} marks in order of time
 * @property {SampleTable} samples read when asked for
 * @property {number} sampleCount
 * @property {string[]} threads names by number
 * @property {string[]} processes by thread
 * @property {Lines} lines
 * @property {{text: string, places: number[]}[]} legend what colours mean, by places in the palette
 */

/** @typedef {import('./samples.js').SampleTable} SampleTable */
/** @typedef {{us: number, text: string}} Mark in microseconds since the beginning */

/**
 * What the source lines of functions weigh over all of the time, the heaviest of each frame.
 * @typedef {object} Lines
 * @property {string[]} files
 * @property {Float64Array} first by frame, and one more: where its lines begin
 * @property {Float64Array} more by frame: how many are not here
 * @property {Float64Array} file by line: number of its file
 * @property {Float64Array} number by line, 0 when it is not known
 * @property {Float64Array} self
 * @property {Float64Array} total
 * @property {Float64Array} waits of the total
 */

/** @param {Uint8Array | undefined} bytes @returns {string[]} CSS colours */
function readColors(bytes) {
	const colors = [];
	for (let i = 0; bytes && i + 2 < bytes.length; i += 3)
		colors.push(`rgb(${bytes[i]},${bytes[i + 1]},${bytes[i + 2]})`);
	return colors;
}

/**
 * Names, decoded and cleaned all at once where each of their bytes is a character, as nearly always:
 * that costs what a few hundred do one by one, which is what else is done when one is asked for.
 * @param {Uint8Array} lengths @param {Uint8Array} bytes @param {number} count
 */
function nameReader(lengths, bytes, count) {
	const decoder = textDecoder();
	const starts = new Float64Array(count + 1);
	readNumbers(lengths, count).forEach((length, i) => {
		starts[i + 1] = starts[i] + length;
	});
	if (starts[count] !== bytes.length)
		throw new RangeError('names and their lengths differ');
	const all = cleanText(decoder.decode(bytes));
	/** @type {string[]} */
	const known = new Array(count);
	return (/** @type {number} */ frame) => known[frame] ??= all.length === bytes.length
		? all.slice(starts[frame], starts[frame + 1])
		: cleanText(decoder.decode(bytes.subarray(starts[frame], starts[frame + 1])));
}

/**
 * How the picture was asked to look; the defaults where a file does not say.
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
 * Numbers that are each the sum of those read so far.
 * @param {Uint8Array} bytes @param {number} count @param {boolean} isSigned
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
	const bytes = column(TAG.markTimes);
	const count = bytes.reduce((sum, byte) => sum + (byte < 128 ? 1 : 0), 0);
	const texts = readTexts(column(TAG.markTexts), count, decoder);
	return Array.from(readSums(bytes, count, false),
		(us, i) => ({us, text: texts[i] || '(no text)'}));
}

/**
 * Pictures without lines have none of the columns.
 * @param {(tag: number) => Uint8Array} column @param {number} frames @param {TextDecoder} decoder
 * @returns {Lines}
 */
function readLines(column, frames, decoder) {
	const known = column(TAG.lineCounts).length ? frames : 0;
	const first = new Float64Array(frames + 1);
	readNumbers(column(TAG.lineCounts), known).forEach((count, frame) => {
		first[frame + 1] = first[frame] + count;
	});
	const more = new Float64Array(frames);
	more.set(readNumbers(column(TAG.linesMore), known));
	const lines = first[known];
	const file = readNumbers(column(TAG.lineFiles), lines);
	const files = file.reduce((most, one) => Math.max(most, one + 1), 0);
	const number = readSums(column(TAG.lineNumbers), lines, true);
	if (number.some(one => !(one >= 0)))
		throw new RangeError('a line before the first');
	return {
		files: readTexts(column(TAG.files), files, decoder),
		first, more, file, number,
		self: readNumbers(column(TAG.lineSelves), lines),
		total: readNumbers(column(TAG.lineTotals), lines),
		waits: column(TAG.lineWaits).length ? readNumbers(column(TAG.lineWaits), lines)
			: new Float64Array(lines),
	};
}

/** How many places an entry of the legend has, see render/legend.h. */
const LEGEND_SHADES = 3;

/**
 * @param {(tag: number) => Uint8Array} column @param {number} colors @param {TextDecoder} decoder
 */
function readLegend(column, colors, decoder) {
	const places = column(TAG.legendColors);
	if (places.some(place => place >= colors))
		throw new RangeError('a meaning of no colour');
	return readTexts(column(TAG.legendTexts), Math.floor(places.length / LEGEND_SHADES), decoder)
		.map((text, i) => ({text, places: [...places.subarray(
			i * LEGEND_SHADES, (i + 1) * LEGEND_SHADES)]}));
}

/**
 * @param {Map<number, Uint8Array>} columns @param {number} nodes @param {number} frames
 * @returns {Nodes}
 */
export function readNodes(columns, nodes, frames) {
	if (!(nodes >= 1))
		throw new RangeError('there is no root');
	const self = readNumbers(columns.get(TAG.nodeWeights), nodes);
	const ups = readNumbers(columns.get(TAG.nodeUps), nodes - 1);
	const frame = new Uint32Array(nodes);
	const parent = new Uint32Array(nodes);
	frame.set(readNumbers(columns.get(TAG.nodeFrames), nodes - 1), 1);
	frame[0] = frames;
	for (let node = 1; node < nodes; node++) {
		let above = node - 1;
		for (let up = ups[node - 1]; up > 0; up--) {
			if (above === 0)
				throw new RangeError('a node above the root');
			above = parent[above];
		}
		parent[node] = above;
		if (frame[node] >= frames)
			throw new RangeError('a node without a frame');
	}
	return {frame, self, parent};
}

/** @param {Map<number, Uint8Array>} columns @returns {Profile} */
export function readProfile(columns) {
	const decoder = textDecoder();
	const column = (/** @type {number} */ tag) => columns.get(tag) || new Uint8Array(0);
	const text = (/** @type {number} */ tag) => decoder.decode(column(tag));
	const whole = (/** @type {number} */ tag, /** @type {number} */ count) =>
		new Uint32Array(readNumbers(columns.get(tag), count));
	const [periodNs, , nodes, frames, modules, threads, samples, , rootColor, mergedColor] =
		readNumbers(columns.get(TAG.numbers), 10);
	/** @type {SampleTable | undefined} */
	let table;
	const light = readColors(columns.get(TAG.light));
	/** @type {Profile} */
	const profile = {
		...readView(columns.get(TAG.view)),
		title: cleanText(text(TAG.title)),
		subtitle: cleanText(text(TAG.subtitle)),
		countName: cleanText(text(TAG.countName)) || 'samples',
		notes: text(TAG.notes).split('\n').map(cleanText).filter(Boolean),
		font: cleanText(text(TAG.font)),
		periodNs,
		nodes,
		frames,
		rootColor,
		mergedColor,
		light,
		dark: readColors(columns.get(TAG.dark)),
		modules: readTexts(columns.get(TAG.modules), modules, decoder),
		frameModule: whole(TAG.frameModules, frames),
		frameKind: whole(TAG.frameKinds, frames),
		frameColor: whole(TAG.frameColors, frames),
		name: nameReader(column(TAG.nameLengths), column(TAG.names), frames),
		tree: readNodes(columns, nodes, frames),
		marks: readMarks(column, decoder),
		/** @returns {SampleTable} */
		get samples() {
			return table ||= readSampleTable(columns);
		},
		sampleCount: column(TAG.sampleTimes).length ? samples : 0,
		threads: readTexts(columns.get(TAG.threads), threads, decoder),
		processes: readTexts(columns.get(TAG.threadProcesses), threads, decoder),
		lines: readLines(column, frames, decoder),
		legend: readLegend(column, light.length, decoder),
	};
	if ([profile.frameModule, profile.frameColor].some((numbers, i) =>
		numbers.some(number => number >= [modules, profile.light.length][i])))
		throw new RangeError('a frame without a module or a colour');
	return profile;
}
