// SPDX-License-Identifier: MIT
// @ts-check
// Another picture's file, and its stacks and this one's as one tree, under names that both have: as
// `flamerun diff` joins files, see cli/compare/sides.c. The file is looked for its data as text, and
// nothing of it is a document. Needs no page: runs in the worker.

import {IDLE, WAIT, isOfTimes, nodesWeighing, nodesWithout, waitingNodes} from './aggregate.js';
import {readColumns, readProfile} from './decode.js';
import {MEANINGS, UNTOLD, findChanges} from './shifts.js';
import {layOut} from './tree.js';
import {bytesOf} from './unpack.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {import('./decode.js').Nodes} Nodes */

/** Of a file as text, and of its data inflated. */
const MOST_TEXT = 2 ** 28;
const MOST_DATA = 2 ** 27;
/** Of stacks that are turned round. */
const MOST_STEPS = 2 ** 26;
const TOO_LARGE = 'it is too large';

/** Places of verdicts in the palette, before all others: shades of what cannot be told first. */
const GREYS = 3;
const COLORS = 9;

const UNNAMED = 2;
const PROCESS = 4;
const THREAD = 5;

// ---- a file -------------------------------------------------------------------------------------

/**
 * Of a file that may inflate to anything no more than a part is in memory.
 * @param {string[]} pieces of base64 @returns {Promise<Uint8Array>}
 */
async function inflate(pieces) {
	let left = MOST_DATA;
	const counter = new TransformStream({
		transform(chunk, control) {
			left -= chunk.length;
			if (left < 0)
				throw new Error();
			control.enqueue(chunk);
		},
	});
	try {
		return new Uint8Array(await new Response(new Blob(pieces.map(bytesOf)).stream()
			.pipeThrough(new DecompressionStream('deflate')).pipeThrough(counter)).arrayBuffer());
	} catch (error) {
		throw left < 0 ? new Error(TOO_LARGE) : error;
	}
}

/** @param {Blob} file @returns {Promise<Profile>} */
async function readPicture(file) {
	if (file.size > MOST_TEXT)
		throw new Error(TOO_LARGE);
	const text = await file.text();
	const tag = text.match(/<metadata (?:[^>]* )?id=["']flamerun["'][^>]*>/);
	if (!tag)
		throw new Error('it is no picture of flamerun\u2019s');
	if (!/ data-format=["']1["']/.test(tag[0]))
		throw new Error('another version of flamerun drew it');
	const begin = /** @type {number} */ (tag.index) + tag[0].length;
	const pieces = text.slice(begin, text.indexOf('</metadata>', begin)).split('<piece').slice(1)
		.map(piece => piece.slice(piece.indexOf('>') + 1, piece.indexOf('</piece>')));
	try {
		return readProfile(readColumns(await inflate(pieces)));
	} catch (error) {
		throw /** @type {any} */ (error)?.message === TOO_LARGE ? error : new Error('its data is damaged');
	}
}

// ---- names --------------------------------------------------------------------------------------

/** Longer ends of names are no copies'. */
const TAIL = 80;

/** A function's name without what tells a compiler's copies of it apart, as cli/symbols/demangle.c has it. */
function withoutCopies(/** @type {string} */ name) {
	const clone = name.indexOf(' [clone ');
	if (clone >= 0 && name.endsWith(']') && !name.includes(']:', clone))
		name = name.slice(0, clone);
	const cut = (/** @type {RegExp} */ end) => {
		const length = name.slice(-TAIL).match(end)?.[0].length || 0;
		name = name.slice(0, name.length - (length < name.length ? length : 0));
		return length;
	};
	while (cut(/\.((constprop|isra|part|llvm|lto_priv)\.\d+|(cold|localalias)(\.\d+)?)$/));
	cut(/::h[\da-f]{16}$/i);
	return name;
}

/**
 * @typedef {object} Known a frame of either picture
 * @property {string} name
 * @property {string} module
 * @property {number} kind
 * @property {number} color place in its picture's palette, behind those of the pictures before
 * @property {number} sides 1: the old one has it, 2: the new one
 * @property {number} nodes in which it is
 */

/** One thing for each text. @template T */
class Table {
	constructor() {
		/** @type {Map<string, T>} */
		this.known = new Map();
	}

	/** @param {(string | number)[]} parts @param {() => T} make @returns {T} */
	at(parts, make) {
		const key = parts.join('\0');
		const one = this.known.get(key) ?? make();
		this.known.set(key, one);
		return one;
	}
}

/**
 * The frames that stand for those of both sides, by name, and which, by frame of each side.
 * @param {Profile[]} profiles @param {Nodes[]} trees
 */
function joinFrames(profiles, trees) {
	/** @type {Table<Known>} */
	const every = new Table();
	/** @type {Table<{sides: number, unnamed: number, shared: number}>} */
	const modules = new Table();
	let colors = 0;
	const known = profiles.map(({frames, frameModule, frameKind, frameColor, modules: names, name, light}, side) => {
		const nodes = new Uint32Array(frames + 1);
		trees[side].frame.forEach(one => nodes[one]++);
		const found = Array.from({length: frames}, (_, i) => {
			const module = names[frameModule[i]];
			const kind = frameKind[i];
			const one = every.at([kind, module, name(i)], () =>
				({name: name(i), module, kind, color: colors + frameColor[i], sides: 0, nodes: 0}));
			one.sides |= kind === IDLE ? 0 : side + 1;
			one.nodes += nodes[i];
			return one;
		});
		colors += light.length;
		return found;
	});
	const moduleOf = (/** @type {Known} */ {module}) =>
		modules.at([module], () => ({sides: 0, unnamed: 0, shared: 0}));
	for (const one of every.known.values()) {
		const module = moduleOf(one);
		module.sides |= one.sides;
		if (one.kind === UNNAMED) {
			module.unnamed += one.nodes;
			module.shared += one.sides === 3 ? one.nodes : 0;
		}
	}
	/** @type {Table<Known>} */
	const joined = new Table();
	const joinedOf = new Map([...every.known.values()].map(one => {
		const {sides, unnamed, shared} = moduleOf(one);
		const module = sides === 3 || one.kind === WAIT ? one.module : '';
		// Addresses are names where they mean the same in both.
		const name = one.kind === UNNAMED && 2 * shared <= unnamed ? `[${one.module}]` : withoutCopies(one.name);
		return [one, joined.at([one.kind, module, name], () => ({...one, module, name}))];
	}));
	const order = (/** @type {Known} */ a, /** @type {Known} */ b) =>
		(a.name < b.name ? -1 : a.name > b.name ? 1 : a.module < b.module ? -1 : a.module > b.module ? 1 : a.kind - b.kind);
	const frames = [...joined.known.values()].sort(order);
	const numbers = new Map(frames.map((one, i) => [one, i]));
	return {frames, frameOf: known.map(side => side.map(one => /** @type {number} */ (
		numbers.get(/** @type {Known} */ (joinedOf.get(one))))))};
}

// ---- stacks -------------------------------------------------------------------------------------

/** Callers first, whichever way the file has them. @param {Profile} profile @returns {Nodes} */
function uprightNodes({tree, reversed, frames}) {
	if (!reversed)
		return tree;
	const {frame, self, parent} = tree;
	const depth = new Uint32Array(frame.length);
	let count = 1;
	for (let i = 1; i < frame.length; i++) {
		depth[i] = depth[parent[i]] + 1;
		count += self[i] > 0 ? depth[i] : 0;
	}
	if (count > MOST_STEPS)
		throw new Error(TOO_LARGE);
	const made = {frame: new Uint32Array(count), self: new Float64Array(count), parent: new Uint32Array(count)};
	made.frame[0] = frames;
	made.self[0] = self[0];
	let at = 0;
	for (let i = 1; i < frame.length; i++)
		if (self[i] > 0) {
			made.parent[at + 1] = 0;
			for (let one = i; one; one = parent[one]) {
				made.frame[++at] = frame[one];
				if (parent[one])
					made.parent[at + 1] = at;
			}
			made.self[at] = self[i];
		}
	return nodesWithout(made, null);
}

/** @param {Nodes} nodes @param {Profile} profile @param {import('./state.js').Times} times */
function nodesOfTimes(nodes, {frameKind}, times) {
	const waits = waitingNodes(nodes, frameKind);
	return nodesWeighing(nodes, nodes.self.map((weight, i) => isOfTimes(times, waits[i]) ? weight : 0));
}

/** @param {Profile} profile */
function unitOf({periodNs, timeName, countName}) {
	return periodNs ? timeName || 'cpu' : countName;
}

/**
 * What both are counted in, if that is one thing.
 * @param {Profile[]} profiles the one of this page first
 */
function unitsOf([one, other]) {
	const [here, there] = [one, other].map(unitOf);
	if (here !== there || !one.periodNs !== !other.periodNs)
		throw new Error(`it counts ${there}, and this picture ${here}`);
	const isSame = one.periodNs === other.periodNs;
	return {isSame, periodNs: isSame ? one.periodNs : 1, countName: isSame ? one.countName : 'nanoseconds',
		sampleS: (one.periodNs + other.periodNs) / 2e9};
}

/**
 * What goes from one thread to another: what of this picture's profile is another.
 * @typedef {Awaited<ReturnType<typeof compare>>} Joined
 */

/**
 * The profile that it makes of this picture's; all that a worker needs, of none.
 * @param {Profile | null} profile @param {Joined} joined @returns {Profile}
 */
export function profileOf(profile, joined) {
	return Object.assign(Object.create(profile), joined, {name: (/** @type {number} */ frame) => joined.names[frame]});
}

/** @typedef {{file: Blob, times: import('./state.js').Times, isOld: boolean}} Wanted isOld: the file is */

/**
 * This picture and another file's as one: of the time that is asked for, all of it.
 * @param {Profile} profile @param {Wanted} wanted
 */
export async function compare(profile, {file, times, isOld}) {
	const other = await readPicture(file);
	const {isSame, periodNs, countName, sampleS} = unitsOf([profile, other]);
	const profiles = isOld ? [other, profile] : [profile, other];
	const trees = profiles.map(uprightNodes);
	const {frames, frameOf} = joinFrames(profiles, trees);
	const parts = trees.map((nodes, side) => nodesOfTimes(nodes, profiles[side], times));
	const count = parts[0].frame.length + parts[1].frame.length - 1;
	const all = {frame: new Uint32Array(count), self: new Float64Array(count), parent: new Uint32Array(count)};
	all.frame[0] = frames.length;
	const firsts = [0, parts[0].frame.length - 1];
	parts.forEach(({frame, self, parent}, side) => {
		const scale = isSame ? 1 : profiles[side].periodNs;
		all.self[0] += self[0] * scale;
		for (let i = 1; i < frame.length; i++) {
			all.frame[firsts[side] + i] = frameOf[side][frame[i]];
			all.self[firsts[side] + i] = self[i] * scale;
			all.parent[firsts[side] + i] = parent[i] && firsts[side] + parent[i];
		}
	});
	// Processes and threads of two runs are not the same ones.
	const {place, ...tree} = nodesWithout(all, one => [PROCESS, THREAD, IDLE].includes(frames[one].kind));
	const sides = parts.map(({self}, side) => {
		const weights = new Float64Array(tree.frame.length);
		self.forEach((weight, i) => {
			weights[i && place[firsts[side] + i]] += weight * (isSame ? 1 : profiles[side].periodNs);
		});
		return weights;
	});
	if (sides.some(weights => !weights.some(weight => weight > 0)))
		throw new Error('of one of the two there are no stacks');
	const modules = [...new Set(['', ...frames.map(({module}) => module)])];
	const moduleNumbers = new Map(modules.map((module, i) => [module, i]));
	const none = new Float64Array(0);
	const {verdicts, ...found} = findChanges(layOut(tree), sides, frames, isSame ? 1 : 1e-9 / sampleS, sampleS);
	const own = COLORS + (isOld ? other.light.length : 0);
	return {
		...found, tree, sides, times, periodNs, countName, modules,
		nodes: tree.frame.length,
		frames: frames.length,
		names: frames.map(one => one.name),
		frameModule: Uint32Array.from(frames, ({module}) => moduleNumbers.get(module) || 0),
		frameKind: Uint32Array.from(frames, ({kind}) => kind),
		frameColor: Uint32Array.from(frames, ({kind, color}, i) => verdicts[i] !== UNTOLD ? verdicts[i] + GREYS - 1
			: kind === WAIT ? COLORS + color : i % GREYS),
		rootColor: own + profile.rootColor,
		mergedColor: own + profile.mergedColor,
		light: profiles.flatMap(({light}) => light),
		dark: profiles.flatMap(({dark}) => dark),
		legend: MEANINGS.filter(([verdict]) => verdicts.includes(verdict)).map(([verdict, text]) =>
			({text, places: [verdict + GREYS - 1 - (verdict === UNTOLD ? 1 : 0)]})),
		reversed: false,
		marks: [], threads: [], processes: [], sampleCount: 0,
		lines: {files: [], first: new Float64Array(frames.length + 1), more: new Float64Array(frames.length),
			file: none, number: none, self: none, total: none, waits: none},
	};
}
