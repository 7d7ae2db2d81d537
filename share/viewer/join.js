// SPDX-License-Identifier: MIT
// @ts-check
// Read another picture's file, and join its stacks and this picture's stacks to one tree with
// common names, as `flamerun diff` does: see cli/compare/sides.c. The data is found by a search in
// the file's text; the file is never opened as a document, so none of its scripts run. This file
// uses no DOM and runs in the worker.

import {IDLE, WAIT, nodesOfTimes, nodesWithout} from './aggregate.js';
import {readColumns, readProfile} from './decode.js';
import {bytesOf} from './inflate.js';
import {comparedName} from './renumbered.js';
import {MEANINGS, findChanges} from './shifts.js';
import {layOut} from './tree.js';

/** @typedef {import('./decode.js').Profile} Profile */

/** Maximum size in bytes of a file, and of its data when inflated. */
const MOST_TEXT = 2 ** 28;
const MOST_DATA = 2 ** 27;

/**
 * Colours of the results of comparing a function, for the light and the dark theme, as in
 * render/palette.c: three greys, slower, slower by others, faster, faster by others, new, gone. The
 * first pair of palettes is red and blue; colour-blind users can read the second one, too. In the
 * joined profile these colours precede all others.
 */
const CHANCE_COLORS = ['c9cacdd0d2d4d7d9dc', '3c3d3f434445494a4c'];
const PAIRS = [
	['f1786df3c4be6dacf1c0d7f2e885bf6ecdcc', '9b453d6547433663943f4f6088416c196464'],
	['f39e4cf3d1a979b6f4bfdbf8f5e05d7499ec', '955817644e333b66923d4f627f6f002c447e'],
];
const GREYS = 3;
const COLORS = 9;

/** Kinds of frames, see render/calltree.h. */
const UNNAMED = 2;
const PROCESS = 4;
const THREAD = 5;

// ---- a file -------------------------------------------------------------------------------------

/**
 * Inflate, and fail after MOST_DATA bytes, because damaged or hostile data may inflate without end.
 * @param {string[]} pieces of base64
 * @returns {Promise<Uint8Array>}
 */
async function inflateBounded(pieces) {
	let left = MOST_DATA;
	return new Uint8Array(await new Response(new Blob(pieces.map(bytesOf)).stream()
		.pipeThrough(new DecompressionStream('deflate')).pipeThrough(new TransformStream({
			transform(chunk, control) {
				left -= chunk.length;
				if (left < 0)
					control.error();
				control.enqueue(chunk);
			},
		}))).arrayBuffer());
}

/** @param {Blob} file @returns {Promise<Profile>} */
async function readPicture(file) {
	const text = file.size < MOST_TEXT ? await file.text() : '';
	const tag = text.match(/<metadata (?:[^>]* )?id=["']flamerun["'][^>]*>/);
	if (text && !tag)
		throw new Error('it is no picture of flamerun\u2019s');
	if (tag && !/ data-format=["']1["']/.test(tag[0]))
		throw new Error('another version of flamerun drew it');
	try {
		const [data] = text.slice(/** @type {any} */ (tag).index).split('</metadata>');
		return readProfile(readColumns(await inflateBounded(data.split('<piece').slice(1)
			.map(piece => piece.slice(piece.indexOf('>') + 1, piece.indexOf('</piece>'))))));
	} catch {
		throw new Error('it is damaged or too large');
	}
}

// ---- names --------------------------------------------------------------------------------------

/** Separator between texts: a character that no text contains. */
const BETWEEN = '\0';

/**
 * Join the frames of both profiles. Returns the joined frames in the order of their names, and for
 * each profile an array from its frames to joined frames.
 * @param {Profile[]} profiles
 */
function joinFrames(profiles) {
	/** @type {Map<string, {name: string, module: string, kind: number, sides: number, nodes: number}>} */
	const every = new Map();
	const known = profiles.map(({frames, frameModule, frameKind, modules, name, tree}, side) => {
		const nodes = new Uint32Array(frames + 1);
		for (const one of tree.frame)
			nodes[one]++;
		return Array.from({length: frames}, (_, i) => {
			const module = modules[frameModule[i]];
			const kind = frameKind[i];
			const key = [kind, module, name(i)].join(BETWEEN);
			const one = every.get(key) || {name: name(i), module, kind, sides: 0, nodes: 0};
			one.sides |= kind === IDLE ? 0 : side + 1;
			one.nodes += nodes[i];
			every.set(key, one);
			return one;
		});
	});
	/**
	 * @type {Map<string, {sides: number, shared: number}>} shared: number of nodes with an
	 * unnamed address that both profiles have, minus those that only one has
	 */
	const modules = new Map();
	for (const {module, sides, kind, nodes} of every.values()) {
		const one = modules.get(module) || {sides: 0, shared: 0};
		one.sides |= sides;
		one.shared += kind !== UNNAMED ? 0 : sides === 3 ? nodes : -nodes;
		modules.set(module, one);
	}
	const keys = known.map(side => side.map(({name, module, kind, sides: own}) => {
		const {sides, shared} = /** @type {any} */ (modules.get(module));
		// Use addresses as names only if the module has mostly the same addresses in both
		// profiles.
		return [kind === UNNAMED && shared <= 0 ? `[${module}]` : comparedName(name, own === 3),
			sides === 3 || kind === WAIT ? module : '', kind].join(BETWEEN);
	}));
	const sorted = [...new Set(keys.flat())].sort();
	const numbers = new Map(sorted.map((key, i) => [key, i]));
	return {frameOf: keys.map(side => side.map(key => numbers.get(key) || 0)), frames: sorted.map(key => {
		const [name, module, kind] = key.split(BETWEEN);
		return {name, module, kind: Number(kind)};
	})};
}

// ---- stacks -------------------------------------------------------------------------------------

/**
 * The members in which the profile of a comparison differs from this picture's profile. The worker
 * posts them.
 * @typedef {Awaited<ReturnType<typeof compare>>} Joined
 */

/**
 * Make the profile of a comparison.
 * @param {Profile | null} profile this picture's profile; null in the worker, which needs only the
 * members of `joined`
 * @param {Joined} joined @returns {Profile}
 */
export function profileOf(profile, joined) {
	return Object.assign(Object.create(profile), joined, {name: (/** @type {number} */ frame) => joined.names[frame]});
}

/** @param {Profile} profile */
function unitOf({periodNs, typeName, countName}) {
	return periodNs ? `time: ${typeName || 'cpu'}`
		: typeName && typeName !== countName ? `${countName} of ${typeName}` : countName;
}

/** Are weights numbers of samples, whose chance is known? @param {Profile} profile */
function hasSamples({periodNs, countName}) {
	return periodNs > 1 || (!periodNs && countName === 'samples');
}

/**
 * @typedef {{file: Blob, times: import('./state.js').Times, isOld: boolean}} Wanted isOld: `file`
 * is the old version
 */

/**
 * Join this picture and another file. The result has one kind of time over the whole runs, in this
 * picture's units.
 * @param {Profile} profile @param {Wanted} wanted
 */
export async function compare(profile, {file, times, isOld}) {
	const other = await readPicture(file);
	const [here, there] = [profile, other].map(unitOf);
	if (here !== there)
		throw new Error(`it counts ${there}, and this picture ${here}`);
	if (profile.reversed || other.reversed)
		throw new Error('one of the two was drawn by --reverse');
	const profiles = isOld ? [other, profile] : [profile, other];
	const scale = other.periodNs / profile.periodNs || 1;
	const {frames, frameOf} = joinFrames(profiles);
	const parts = profiles.map(({tree, frameKind}) => nodesOfTimes(tree, frameKind, times));
	const firsts = [0, parts[0].frame.length - 1];
	const count = firsts[1] + parts[1].frame.length;
	const all = {frame: new Uint32Array(count), self: new Float64Array(count), parent: new Uint32Array(count)};
	all.frame[0] = frames.length;
	parts.forEach(({frame, parent}, side) => {
		for (let i = 1; i < frame.length; i++) {
			all.frame[firsts[side] + i] = frameOf[side][frame[i]];
			all.parent[firsts[side] + i] = parent[i] && firsts[side] + parent[i];
		}
	});
	// Leave out the frames of processes and threads, because those of two runs differ.
	const {place, ...tree} = nodesWithout(all, one => [PROCESS, THREAD, IDLE].includes(frames[one].kind));
	const sides = parts.map(({self}, side) => {
		const weights = new Float64Array(tree.frame.length);
		self.forEach((weight, i) => {
			weights[i && place[firsts[side] + i]] += profiles[side] === other ? weight * scale : weight;
		});
		return weights;
	});
	if (sides.some(weights => !weights.some(weight => weight > 0)))
		throw new Error('one of the two has no stacks');
	tree.self = tree.self.map((_, i) => sides[0][i] + sides[1][i]);
	const modules = new Map(['', ...frames.map(({module}) => module)].map(module => [module, 0]));
	[...modules.keys()].forEach((module, i) => modules.set(module, i));
	const isSampled = profiles.every(hasSamples);
	const {verdicts, ...found} = findChanges(layOut(tree), sides, frames,
		profiles.map(one => one === other ? scale : 1),
		{name: profile.countName, sampleS: (profile.periodNs + other.periodNs) / 2e9, isSampled}, times !== 'cpu');
	const pair = PAIRS[/^(okabe-ito|cividis)$/.test(profile.palette) ? 1 : 0];
	const [light, dark] = [profile.light, profile.dark].map((colors, i) =>
		[...(CHANCE_COLORS[i] + pair[i]).replace(/.{6}/g, ' #$&').slice(1).split(' '), ...colors]);
	return {
		...found, isSampled, tree, sides, times, light, dark,
		modules: [...modules.keys()],
		nodes: tree.frame.length,
		frames: frames.length,
		names: frames.map(({name}) => name),
		frameModule: Uint32Array.from(frames, ({module}) => modules.get(module) || 0),
		frameKind: Uint32Array.from(frames, ({kind}) => kind),
		frameColor: Uint32Array.from(verdicts, (verdict, i) => verdict ? verdict + GREYS - 1 : i % GREYS),
		rootColor: COLORS + profile.rootColor,
		mergedColor: COLORS + profile.mergedColor,
		legend: MEANINGS.filter(([verdict]) => verdicts.includes(verdict)).map(([verdict, text]) =>
			({text, places: [verdict ? verdict + GREYS - 1 : 1]})),
		marks: [],
		sampleCount: 0,
		lines: {first: []},
	};
}
