// SPDX-License-Identifier: MIT
// @ts-check
// Compute the stacks that are shown from the table of samples: select the samples that a filter
// keeps, add up their weights by node, and leave out frames. This file uses no DOM: it runs in the
// worker, or on the page if that is faster.

import {chartOf} from './chart.js';
import {SIDES, keepSame, term} from './filter.js';
import {weighFunctions} from './functions.js';
import {calleesOf} from './sandwich.js';
import {NONE, firstNot, layOut, sortByKey} from './tree.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {import('./decode.js').Nodes} Nodes */
/** @typedef {import('./filter.js').Filter} Filter */
/** @typedef {import('./filter.js').Term} Term */
/** @typedef {import('./tree.js').TreeColumns} TreeColumns */
/**
 * @typedef {(frame: number, above: number) => boolean} Leaving is `frame` left out if its parent's
 * frame is `above`?
 */

/** Kinds of frames, see enum calltree_frame_kind in render/calltree.h. */
export const INLINED = 6;
export const WAIT = 7;
export const KERNEL = 8;
export const IDLE = 9;

// ---- weights ------------------------------------------------------------------------------------

/**
 * Returns the index of the first sample at time `us` or later.
 * @param {Profile['samples']} samples @param {number} us
 */
function sampleAt({count, time, tickUs}, us) {
	return firstNot(count, i => time[i] * tickUs < us);
}

/** Drop the pid and tid from a thread's name. @param {string} thread */
export function commOf(thread) {
	return thread.replace(/ \(\d+(\/\d+)?\)$/, '');
}

/**
 * Returns, by thread, 1 if the filter's terms for threads and processes select it, else 0. Returns
 * null if the filter has no such terms.
 * @param {Profile} profile @param {Filter} filter
 */
export function threadsOf({threads, processes}, {terms}) {
	const wanted = terms.filter(({kind}) => kind === 'thread' || kind === 'process');
	if (!wanted.length)
		return null;
	return Uint8Array.from(threads, (thread, i) => wanted.some(({kind, value}) => {
		const name = kind === 'thread' ? thread : processes[i] || '';
		return name === value || commOf(name) === value;
	}) ? 1 : 0);
}

/** Does a filter need the table of samples? Otherwise the tree suffices. @param {Filter} filter */
export function needsSamples({terms, view}) {
	return view === 'time' || terms.some(({kind}) => kind === 'time' || kind === 'thread' || kind === 'process');
}

/**
 * Returns, by node, the weight of the samples that the filter's terms for time, threads and
 * processes select.
 * @param {Profile} profile @param {Filter} filter
 */
function weightsOf(profile, filter) {
	if (!needsSamples({...filter, view: 'graph'}))
		return (filter.side && profile.sides?.[SIDES.indexOf(filter.side) - 1] || profile.tree.self).slice();
	const {samples} = profile;
	const {node, thread, weight} = samples;
	const self = new Float64Array(profile.nodes);
	const threads = threadsOf(profile, filter);
	const span = filter.terms.find(({kind}) => kind === 'time');
	const first = span ? sampleAt(samples, span.from) : 0;
	const last = span ? sampleAt(samples, span.to) : samples.count;
	if (threads)
		for (let i = first; i < last; i++)
			self[node[i]] += threads[thread[i]] * weight[i];
	else
		for (let i = first; i < last; i++)
			self[node[i]] += weight[i];
	return self;
}

/**
 * Returns, by frame, 1 if the term's function or module is the frame's, else 0. @param {Profile}
 * profile @param {Term} term
 */
function framesOf({frames, frameModule, modules, name}, {kind, value}) {
	const isModules = kind.endsWith('module') || kind === 'collapse';
	const module = modules.indexOf(value);
	return Uint8Array.from({length: frames + 1}, (_, frame) => frame < frames
		&& (isModules ? frameModule[frame] === module : name(frame) === value) ? 1 : 0);
}

/**
 * Set to 0 the weight of the stacks that a filter's terms for functions and modules exclude.
 * @param {Profile} profile @param {Filter} filter @param {Float64Array} self by node, changed
 */
export function keepStacks(profile, {terms}, self) {
	const {frame, parent} = profile.tree;
	const wanted = terms.filter(({kind}) =>
		kind === 'focus' || kind === 'module' || kind === 'ignore');
	for (const term of wanted) {
		const has = framesOf(profile, term);
		const isKept = term.kind === 'ignore' ? 0 : 1;
		const within = new Uint8Array(frame.length);
		for (let node = 0; node < frame.length; node++) {
			within[node] = within[parent[node]] | has[frame[node]];
			if (within[node] !== isKept)
				self[node] = 0;
		}
	}
}

// ---- frames -------------------------------------------------------------------------------------

/**
 * Returns a function that decides which frames a filter leaves out, or null if the filter leaves
 * out none.
 * @param {Profile} profile @param {Filter} filter @param {boolean} inTime see nodesShown()
 */
function leavingOf(profile, {terms}, inTime) {
	const hidden = new Uint8Array(profile.frames + 1);
	const within = new Uint8Array(profile.frames + 1);  // by frame: number of the collapse term that applies
	let collapsed = 0;
	const hideKind = (/** @type {number} */ kind) => profile.frameKind.forEach((one, frame) => {
		hidden[frame] |= one === kind ? 1 : 0;
	});
	if (inTime)
		hideKind(IDLE);
	for (const term of terms) {
		const {kind} = term;
		if (kind === 'inlined')
			hideKind(INLINED);
		if (kind === 'hide' || kind === 'hidemodule')
			framesOf(profile, term).forEach((has, frame) => {
				hidden[frame] |= has;
			});
		if (kind === 'collapse') {
			collapsed++;
			framesOf(profile, term).forEach((has, frame) => {
				within[frame] ||= has * collapsed;
			});
		}
	}
	if (!collapsed && !hidden.includes(1))
		return null;
	/** @type {Leaving} */
	return (frame, above) => hidden[frame] === 1
		|| (within[frame] > 0 && within[frame] === within[above]);
}

/**
 * Returns, by frame, the number of its function. The inlined and the other frames of a function
 * have the same number.
 * @param {Profile} profile
 */
export function functionsOf({frames, frameModule, frameKind, name}) {
	const known = new Map();
	return Uint32Array.from({length: frames + 1}, (_, frame) => {
		if (frame === frames)
			return frames;
		const kind = frameKind[frame] === INLINED ? 0 : frameKind[frame];
		const key = `${kind} ${frameModule[frame]} ${name(frame)}`;
		if (!known.has(key))
			known.set(key, frame);
		return known.get(key);
	});
}

/** A hash table from a parent's number and a frame to the number of the child with that frame. */
class Children {
	/** @param {number} most maximum number of children */
	constructor(most) {
		const room = 2 ** Math.ceil(Math.log2(2 * most + 2));
		this.mask = room - 1;
		this.slots = new Uint32Array(room);  // number of a node, 0: free
	}

	/**
	 * Returns the slot of a child; if there is no such child, the free slot in which to put it.
	 * @param {Uint32Array} parents @param {Uint32Array} frames by number
	 * @param {number} parent @param {number} frame
	 */
	slotOf(parents, frames, parent, frame) {
		let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b));
		slot = (slot ^ slot >>> 15) & this.mask;
		for (let node = this.slots[slot]; node; node = this.slots[slot]) {
			if (parents[node] === parent && frames[node] === frame)
				break;
			slot = slot + 1 & this.mask;
		}
		return slot;
	}
}

/**
 * Make a tree without some frames. The weight and the callees of a frame that is left out become
 * its caller's. The tree is in depth-first order, siblings by frame.
 * @param {Nodes} nodes @param {Leaving | null} leavesOut
 * @param {{trails?: boolean, functions?: Uint32Array | null}} [how] trails: below its leaf, append
 * the innermost frame that a stack loses; functions, by frame: merge recursive calls, so that a
 * function is at most once on a stack
 * @returns {Nodes & {place: Uint32Array}} place: by old node, its new node, or that of its caller
 * if it is left out
 */
export function nodesWithout({frame, self, parent}, leavesOut, {trails, functions} = {}) {
	const most = (trails ? 2 : 1) * frame.length;
	const [frames, parents] = [new Uint32Array(most), new Uint32Array(most)];
	const selves = new Float64Array(most);
	let count = 1;
	const children = new Children(most);
	const met = new Uint32Array(frame.length);  // by old node: its new node, before sorting
	const lost = new Int32Array(frame.length).fill(NONE);  // by old node: innermost frame that was left out
	frames[0] = frame[0];
	selves[0] = self[0];
	const childOf = (/** @type {number} */ above, /** @type {number} */ one) => {
		for (let i = functions ? above : 0; i > 0; i = parents[i])
			if (functions?.[frames[i]] === functions?.[one])
				return i;
		const slot = children.slotOf(parents, frames, above, one);
		const known = children.slots[slot];
		if (known)
			return known;
		parents[count] = above;
		frames[count] = one;
		return children.slots[slot] = count++;
	};
	for (let node = 1; node < frame.length; node++) {
		const above = parent[node];
		const isLost = leavesOut !== null && leavesOut(frame[node], frame[above]);
		lost[node] = isLost && trails ? frame[node] : lost[above];
		met[node] = isLost ? met[above] : childOf(met[above], frame[node]);
		if (self[node] > 0)
			selves[lost[node] < 0 ? met[node] : childOf(met[node], lost[node])] += self[node];
	}
	const {place, ...nodes} = inOrder({frame: frames, self: selves, parent: parents, count});
	return {...nodes, place: met.map(one => place[one])};
}

/**
 * Sort nodes depth-first, siblings by frame.
 * @param {Nodes & {count: number}} made parents before their children
 * @returns {Nodes & {place: Uint32Array}} place: by number in `made`, the number in the sorted tree
 */
function inOrder({count, frame: frames, self: selves, parent: parents}) {
	const size = new Uint32Array(count).fill(1);
	for (let i = count - 1; i > 0; i--)
		size[parents[i]] += size[i];
	// Sort all nodes by frame, then append each to its parent in this order, so that the
	// children of each parent are sorted.
	const next = new Uint32Array(count);  // by node: offset of its next child
	const offset = new Uint32Array(count);
	// Skip the root: its frame number is the highest, so it is last in the sorted order.
	for (const i of sortByKey(frames.subarray(0, count), frames[0] + 1).sorted.subarray(0, -1)) {
		const above = parents[i];
		offset[i] = 1 + next[above];
		next[above] += size[i];
	}
	const place = new Uint32Array(count);
	const frame = new Uint32Array(count);
	const self = new Float64Array(count);
	const parent = new Uint32Array(count);
	for (let i = 0; i < count; i++) {
		const at = i && place[parents[i]] + offset[i];
		place[i] = at;
		frame[at] = frames[i];
		self[at] = selves[i];
		parent[at] = place[parents[i]];
	}
	return {frame, self, parent, place};
}

/**
 * Make a tree of the nodes that have weight and of their ancestors, in the same order.
 * @param {Nodes} nodes @param {Float64Array} self their weights
 * @returns {Nodes}
 */
export function nodesWeighing({frame, parent}, self) {
	const kept = new Uint8Array(frame.length);
	for (let node = frame.length - 1; node > 0; node--)
		if (self[node] > 0 || kept[node])
			kept[node] = kept[parent[node]] = 1;
	kept[0] = 1;
	const place = new Uint32Array(frame.length);
	let count = 0;
	for (let node = 0; node < frame.length; node++) {
		place[node] = count;
		count += kept[node];
	}
	const made = {frame: new Uint32Array(count), self: new Float64Array(count),
		parent: new Uint32Array(count)};
	for (let node = 0; node < frame.length; node++)
		if (kept[node]) {
			made.frame[place[node]] = frame[node];
			made.self[place[node]] = self[node];
			made.parent[place[node]] = place[parent[node]];
		}
	return made;
}

/**
 * Returns, by node, 1 if its stacks wait, else 0. The frame of kind WAIT is at the leaf, or at the
 * root if the file was merged from the leaf.
 * @param {Nodes} nodes @param {Uint32Array} frameKind
 */
export function waitingNodes({frame, parent}, frameKind) {
	const waits = new Uint8Array(frame.length);
	for (let node = 1; node < frame.length; node++)
		waits[node] = waits[parent[node]] || frameKind[frame[node]] === WAIT ? 1 : 0;
	return waits;
}

// ---- what is shown ------------------------------------------------------------------------------

/**
 * Does a kind of time include stacks that wait (`waits` is 1) or stacks that do not (0)?
 * @param {import('./state.js').Times} times @param {number} waits
 */
export function isOfTimes(times, waits) {
	return times === 'both' || waits === (times === 'waits' ? 1 : 0);
}

/**
 * Returns the tree without the frames that a filter leaves out; `nodes` itself if it leaves out
 * none.
 * @param {Profile} profile @param {Filter} filter @param {Nodes} nodes
 * @param {boolean} [inTime] leave out frames of kind IDLE too, because they describe a thread over
 * the whole run, not at one moment
 * @returns {Nodes & {place?: Uint32Array}} see nodesWithout()
 */
function nodesShown(profile, filter, nodes, inTime = false) {
	const leavesOut = leavingOf(profile, filter, inTime);
	const functions = filter.terms.some(({kind}) => kind === 'recursion') ? functionsOf(profile) : null;
	return leavesOut || functions ? nodesWithout(nodes, leavesOut, {functions}) : nodes;
}

/**
 * Select the stacks that a filter keeps, of all kinds of time.
 * @param {Profile} profile @param {Filter} filter
 */
function filteredNodes(profile, filter) {
	if (!filter.terms.length && !filter.side)
		return profile.tree;
	const self = weightsOf(profile, filter);
	keepStacks(profile, filter, self);
	return nodesShown(profile, filter, nodesWeighing(profile.tree, self));
}

/**
 * Select the stacks of one kind of time.
 * @param {Nodes} nodes @param {Uint32Array} frameKind @param {import('./state.js').Times} times
 */
export function nodesOfTimes(nodes, frameKind, times) {
	if (times === 'both' || !frameKind.includes(WAIT))
		return nodes;
	const waits = waitingNodes(nodes, frameKind);
	return nodesWeighing(nodes, nodes.self.map((weight, node) => isOfTimes(times, waits[node]) ? weight : 0));
}

/**
 * The stacks that a filter keeps, independent of its view.
 * @typedef {{filter: Filter, every: Nodes, wanted: Nodes}} Kept every: of all kinds of time;
 * wanted: of the kind that the filter asks for
 */

/**
 * The last result of nodesOf(); other views of the same filter use it again. @type
 * {WeakMap<Profile, Kept>}
 */
const lastKept = new WeakMap();

/** @param {Profile} profile @param {Filter} filter @returns {Kept} */
function nodesOf(profile, filter) {
	const last = lastKept.get(profile);
	if (last && keepSame(last.filter, filter))
		return last;
	const every = filteredNodes(profile, filter);
	const kept = {filter, every, wanted: nodesOfTimes(every, profile.frameKind, filter.times)};
	lastKept.set(profile, kept);
	return kept;
}

/**
 * Returns the objects that later answers use again. Their buffers must not be moved to another
 * thread, because moving would empty them here.
 * @param {Profile} profile
 */
export function reused(profile) {
	return [profile.tree, lastKept.get(profile)];
}

/**
 * @typedef {object} Answer
 * @property {TreeColumns} every what the filter keeps, of all kinds of time
 * @property {TreeColumns} shown the part of `every` with the kind of time that the filter asks for;
 * the same object if that is all of it
 * @property {import('./sandwich.js').SandwichColumns | null} other the sandwich that the view shows
 * instead
 * @property {import('./functions.js').Functions | null} functions the functions that a table shows
 * @property {string} of name of the function or thread that the view is of, chosen here if the
 * filter has none
 */

/**
 * Returns the name of the function with the most self weight, "" if there is none. @param {Profile}
 * profile @param {TreeColumns} tree
 */
function costliestOf(profile, tree) {
	const {frame, self} = weighFunctions(profile, tree);
	return frame.length ? profile.name(frame[self.reduce((most, one, i) => one > self[most] ? i : most, 0)]) : '';
}

/** @param {Profile} profile @param {Filter} filter @returns {Answer} */
export function aggregate(profile, filter) {
	const kept = nodesOf(profile, filter);
	const every = layOut(kept.every);
	const shown = kept.wanted === kept.every ? every : layOut(kept.wanted);
	const {view} = filter;
	const of = filter.of || (view === 'sandwich' ? costliestOf(profile, shown) : '');
	return {every, shown, of,
		other: view === 'sandwich'
			? calleesOf(shown, framesOf(profile, term('focus', of)), profile.reversed) : null,
		functions: view === 'table' ? functionsOfSides(profile, filter, weighFunctions(profile, shown)) : null,
		...view === 'time' ? threadInTime(profile, filter) : null};
}

/**
 * In a comparison, also weigh the functions in each version, without what made all of them slower or
 * faster, as the texts about changes do.
 * @param {Profile} profile @param {Filter} filter @param {import('./functions.js').Functions} functions
 * @returns {import('./functions.js').Functions}
 */
function functionsOfSides(profile, filter, functions) {
	const {sides, scales = [1, 1]} = profile;
	if (!sides)
		return functions;
	const [old, late] = SIDES.slice(1).map((side, i) => {
		const of = weighFunctions(profile, layOut(nodesOf(profile, {...filter, side}).wanted));
		const places = new Map(Array.from(of.frame, (one, row) => [one, row]));
		return [of.self, of.total].map(weights => Float64Array.from(functions.frame, one =>
			(weights[places.get(one) ?? -1] || 0) / scales[i]));
	});
	return {...functions, old: old[1], late: late[1], change: late[1].map((one, i) => one - old[1][i]),
		selfChange: late[0].map((one, i) => one - old[0][i])};
}

/**
 * Returns the stacks that a filter keeps, for the chart of a thread.
 * @param {Profile} profile @param {Filter} filter @returns {import('./chart.js').Stacks}
 */
function stacksOf(profile, filter) {
	const {tree: {frame, parent}, frameKind} = profile;
	const self = new Float64Array(frame.length);
	const nodes = nodesShown(profile, filter, {frame, parent, self}, true);
	keepStacks(profile, filter, self.fill(1));
	const waits = waitingNodes(profile.tree, frameKind);
	const places = Int32Array.from(self, (isKept, node) => !isKept || !isOfTimes(filter.times, waits[node])
		? NONE : nodes.place ? nodes.place[node] : node);
	return {frame: nodes.frame, parent: nodes.parent, places};
}

/**
 * Make the chart of the thread that a filter names, or of the busiest thread.
 * @param {Profile} profile @param {Filter} filter
 */
function threadInTime(profile, filter) {
	const {samples: {time, tickUs, node, thread, weight, count}, periodNs} = profile;
	const {places, ...stacks} = stacksOf(profile, filter);
	const isKept = threadsOf(profile, filter);
	const span = filter.terms.find(({kind}) => kind === 'time');
	const {from, to} = span || {from: -Infinity, to: Infinity};
	const unitUs = periodNs / 1000 || tickUs;
	const weights = new Float64Array(Math.max(profile.threads.length, 1));
	for (let i = 0; i < count; i++)
		if (places[node[i]] > 0) {
			const end = time[i] * tickUs;
			weights[thread[i]] += Math.max(Math.min(end, to) - Math.max(end - weight[i] * unitUs, from), 0);
		}
	const threads = [...weights.keys()].filter(one => weights[one] > 0 && (!isKept || isKept[one]))
		.sort((a, b) => weights[b] - weights[a]);
	const nameOf = (/** @type {number} */ one) => profile.threads[one] || '';
	const chosen = threads.find(one => nameOf(one) === filter.of)
		?? threads.find(one => commOf(nameOf(one)) === filter.of) ?? threads[0];
	return chosen === undefined ? null
		: {other: chartOf(profile, {...stacks, places}, threads, chosen, span), of: nameOf(chosen)};
}

/**
 * Returns, for each stretch between two marks, the weight of the samples that the filter keeps.
 * Only the filter's kind of time, threads and processes count, not its term of time nor its
 * functions and modules.
 * @param {Profile} profile @param {Filter} filter @returns {Float64Array} by stretch
 */
export function weighStretches(profile, filter) {
	const {marks, samples, frameKind} = profile;
	const waits = waitingNodes(profile.tree, frameKind);
	const threads = threadsOf(profile, filter);
	const weights = new Float64Array(marks.length + 1);
	let at = 0;
	for (let i = 0; i < samples.count; i++) {
		while (at < marks.length && marks[at].us <= samples.time[i] * samples.tickUs)
			at++;
		if ((!threads || threads[samples.thread[i]])
			&& isOfTimes(filter.times, waits[samples.node[i]]))
			weights[at] += samples.weight[i];
	}
	return weights;
}
