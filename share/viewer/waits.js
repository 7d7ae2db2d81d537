// SPDX-License-Identifier: MIT
// @ts-check
// Kinds of waits: how much of a box's time is of which kind, and which functions held the locks
// that were waited for.

import {IDLE, KERNEL, WAIT} from './aggregate.js';
import {follow, framesTo} from './tree.js';

/** For the modules of frames of kind WAIT, texts for display, in the order of render/palette.c. */
const WAIT_KINDS = new Map([
	['lock', 'lock'],
	['io', 'input, output'],
	['sleep', 'sleep'],
	['child', 'child process'],
	['disk', 'disk, page fault'],
	['cpu', 'ready, no CPU free'],
	['', 'not known'],
]);
const NAMES = ['CPU', 'CPU, in the kernel', ...WAIT_KINDS.values()];
const IN_KERNEL = 1;
const UNKNOWN = NAMES.length - 1;
/** Added to the kind of a wait that belongs to an idle thread. */
const IDLY = NAMES.length;
const IDLE_NAME = 'idle threads';

/** @typedef {import('./state.js').State} State */
/**
 * @typedef {{name: string, weight: number, frame: number}} Part of a box with one kind of time;
 * frame: a frame of that kind, -1 if there is none
 */

/**
 * Returns a function that returns a frame's kind of time: an index in NAMES, 0 for none. @param
 * {State} state
 */
function kindReader({profile}) {
	const kinds = [...WAIT_KINDS.keys()];
	return (/** @type {number} */ frame) => {
		if (profile.frameKind[frame] !== WAIT)
			return profile.frameKind[frame] === KERNEL ? IN_KERNEL : 0;
		const kind = kinds.indexOf(profile.modules[profile.frameModule[frame]]);
		return kind < 0 ? UNKNOWN : kind + IN_KERNEL + 1;
	};
}

/**
 * Returns the kind of time of each node. The frame of kind WAIT or KERNEL that determines it may be
 * at either end of a stack, and so may the frame of kind IDLE.
 * @param {State} state @param {import('./tree.js').Tree} tree in depth-first order
 */
function kindsOf(state, {nodes, frame, parent}) {
	const kindOf = kindReader(state);
	const kinds = new Uint8Array(nodes);
	for (let i = 1; i < nodes; i++) {
		const above = kinds[parent[i]];
		const isIdle = above >= IDLY || state.profile.frameKind[frame[i]] === IDLE;
		kinds[i] = (kindOf(frame[i]) || above % IDLY) + (isIdle ? IDLY : 0);
	}
	return kinds;
}

/** Results of kindsOf() by tree. @type {WeakMap<object, Uint8Array>} */
const known = new WeakMap();

/**
 * Returns the tree in which to add up the kinds of time of a node, and the node there: if possible,
 * the tree of all kinds of time. @param {State} state @param {number} node
 */
function placeOf(state, node) {
	const path = framesTo(state.tree, node);
	// In order of time, a box is only its own time, not all time of its stack.
	if (state.tree.chart)
		return {tree: state.tree, at: node, base: state.tree, path};
	// Use the tree that is shown: a callee in a sandwich is many nodes of the tree of all
	// kinds, and in an inverted tree waiting time and CPU time have no common box.
	const [tree, at, base] = state.isInverted || state.isSandwich ? [state.tree, node, state.base]
		: [state.every, follow(state.every, path), state.every];
	return {tree, at, base, path};
}

/**
 * Returns the weights of the kinds of time in a box, also of those that are not shown. Idle threads
 * are a kind of their own, except within their box. The list is empty if the file has only CPU time
 * outside of the kernel.
 * @param {State} state @param {number} node @returns {Part[]}
 */
export function partsOf(state, node) {
	if (!state.hasWaits && !state.profile.frameKind.includes(KERNEL))
		return [];
	const {tree, at, base, path} = placeOf(state, node);
	const kinds = known.get(base) || kindsOf(state, base);
	known.set(base, kinds);
	const sums = new Float64Array(2 * NAMES.length);
	tree.addWeights(at, kinds, sums);
	const {frameKind} = state.profile;
	const idle = path.find(frame => frameKind[frame] === IDLE);
	const from = idle === undefined ? 0 : IDLY;
	const kindOf = kindReader(state);
	const parts = NAMES.map((name, kind) => ({name, weight: sums[from + kind],
		frame: kind ? state.waitFrames.find(frame => kindOf(frame) === kind) ?? -1 : -1}));
	if (!from)
		parts.push({name: IDLE_NAME, weight: sums.subarray(IDLY).reduce((a, b) => a + b, 0),
			frame: frameKind.indexOf(IDLE)});
	const there = parts.filter(part => part.weight > 0);
	return state.hasWaits || there.length > 1 ? there : [];
}

// ---- holders of locks --------------------------------------------------------------------------

/** Finds the holder in the name of a wait's frame, see cli/profile/holders.h. */
const HELD_BY = /[:,] held by (.*)\]$/;

/** @typedef {{name: string, share: number}} Holder function that held locks; "": unknown */
/**
 * @typedef {{names: string[], groups: Uint32Array}} Held groups: by node, index in `names`; 0: none
 */

/** Results of findHeld(), by tree. @type {WeakMap<object, Held>} */
const held = new WeakMap();

/**
 * Find the holders of locks by node. A wait without a holder whose siblings have holders is for the
 * same locks, so its holder is counted as unknown.
 * @param {State} state @param {import('./tree.js').Tree} tree in depth-first order
 * @returns {Held}
 */
function findHeld({profile, waitFrames}, {nodes, frame, parent}) {
	const groupOf = new Uint32Array(profile.frames + 1);
	const names = ['', ''];
	for (const one of waitFrames) {
		const name = HELD_BY.exec(profile.name(one))?.[1];
		const known = name ? names.indexOf(name) : 0;
		if (name)
			groupOf[one] = known > 0 ? known : names.push(name) - 1;
	}
	const groups = new Uint32Array(nodes);
	if (names.length === 2)
		return {names, groups};
	const isLock = new Uint8Array(nodes);
	for (let i = 1; i < nodes; i++) {
		groups[i] = groupOf[frame[i]] || groups[parent[i]];
		isLock[parent[i]] |= groupOf[frame[i]] && 1;
	}
	for (let i = 1; i < nodes; i++)
		if (isLock[parent[i]] && !groups[i] && profile.frameKind[frame[i]] === WAIT)
			groups[i] = 1;
	return {names, groups};
}

/**
 * Returns the holders of the locks for which a node's stacks waited; those that caused the longest
 * waits come first.
 * @param {State} state @param {number} node @returns {Holder[]}
 */
export function holdersOf(state, node) {
	if (!state.hasWaits)
		return [];
	const {tree, at, base} = placeOf(state, node);
	const {names, groups} = held.get(base) || findHeld(state, base);
	held.set(base, {names, groups});
	if (names.length === 2)
		return [];
	const sums = new Float64Array(names.length);
	tree.addWeights(at, groups, sums);
	const all = sums.subarray(1).reduce((a, b) => a + b, 0);
	return names.map((name, i) => ({name, share: i ? sums[i] / all : 0}))
		.filter(({share}) => share > 0).sort((a, b) => b.share - a.share);
}
