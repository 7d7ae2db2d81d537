// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at: which tree of which part of the time, what of it fills the view, and how it
// stands. Knows no element: who draws, searches and selects reads it here.

import {invertTree} from './invert.js';
import {NONE, TIMES, buildTree, frameTotals, isWithin, nodesWeighing, nodesWithin, nodesWithout,
	stretchesOf, waitingNodes} from './tree.js';

/**
 * Kinds of frames, see render/calltree.h: what stands in the one below it; what a thread waits for;
 * what stands above the stacks of threads that only wait in one place.
 */
export const INLINED = 6;
export const WAIT = 7;
export const KERNEL = 8;
export const IDLE = 9;

/** @typedef {'cpu' | 'waits' | 'both'} Times */
/** @typedef {{tree: import('./decode.js').Nodes, samples: import('./tree.js').Samples}} Stacks */

export class State {
	/** @param {import('./decode.js').Profile} profile */
	constructor(profile) {
		this.profile = profile;
		this.hasInlined = profile.frameKind.includes(INLINED);
		/** @type {number[]} frames that say what is waited for */
		this.waitFrames = [...profile.frameKind.keys()]
			.filter(frame => profile.frameKind[frame] === WAIT);
		/** @type {Times[]} those with any weight */
		this.choices = choicesOf(profile);
		this.hasWaits = this.choices[0] !== 'cpu' || this.choices.length > 1;
		/** @type {Times} */
		this.initialTimes = this.choices.find(one => one === profile.times) || this.choices[0];
		/** @type {Times} */
		this.times = this.initialTimes;
		/** What was inlined is not shown: its weight is that of what it stands in. */
		this.folded = false;
		/** @type {Map<Times, Float64Array>} by frame, see frameTotals() */
		this.totals = new Map();
		/** @type {Stacks} all of the time, whatever is waited in it */
		this.all = {tree: profile.tree, samples: profile.samples};
		/** @type {Stacks} of these the ones that are shown, top-down */
		this.stacks = this.select(this.times, this.all);
		/** @type {import('./tree.js').Tree} of these */
		this.whole = buildTree(this.stacks.tree);
		/** @type {import('./tree.js').Tree} of the part of the time shown, top-down */
		this.upright = this.whole;
		/** @type {import('./tree.js').Tree} the one merged from its other end, or shown */
		this.base = this.whole;
		/** @type {import('./tree.js').Tree | null} the part of the time shown, waits and all */
		this.everything = null;
		/** @type {import('./tree.js').Tree | null} the base merged from its other end */
		this.inverted = null;
		/** @type {import('./tree.js').Tree} the one shown */
		this.tree = this.base;
		this.stretches = stretchesOf(profile.marks, this.stacks.samples);
		this.stretch = -1;  // the one shown, -1 for all of the time
		this.bottomUp = profile.reversed;
		this.icicle = profile.icicle;
		/** @type {'' | 'light' | 'dark'} as chosen here */
		this.theme = '';
		/** The node that fills the view, or the deepest one around what fills it. */
		this.zoomed = 0;
		this.free = false;  // what is seen is no node's span but one chosen by hand
		/** @type {(() => void)[]} */
		this.listeners = [];
	}

	/** @param {() => void} listener called when another tree is shown */
	onTree(listener) {
		this.listeners.push(listener);
	}

	/** The part of the time shown, if not all. */
	get part() {
		return this.stretches[this.stretch];
	}

	/** Is what is shown the tree of the file merged from its other end? */
	get isInverted() {
		return this.bottomUp !== this.profile.reversed;
	}

	/** @param {boolean} bottomUp */
	setOrder(bottomUp) {
		this.bottomUp = bottomUp;
		if (this.isInverted && !this.inverted) {
			this.base = this.idleLast();
			this.inverted = invertTree(this.base);
		}
		if (!this.isInverted) {
			this.base = this.upright;
			this.inverted = null;
		}
		this.tree = this.inverted || this.base;
		this.zoomed = 0;
		this.free = false;
		for (const listener of this.listeners)
			listener();
	}

	/** Which boxes are inlined, and on which side is what they stand in. */
	inlined() {
		const {profile, tree, icicle, bottomUp} = this;
		return {
			has: (/** @type {number} */ node) =>
				node > 0 && profile.frameKind[tree.frame[node]] === INLINED,
			isAbove: icicle !== bottomUp,
		};
	}

	/**
	 * What is to be merged from its other end: idle threads stay together there, for what says that
	 * they are is the last frame of their stacks.
	 */
	idleLast() {
		const {upright} = this;
		const isIdle = (/** @type {number} */ frame) => this.profile.frameKind[frame] === IDLE;
		return this.times !== 'cpu' && upright.frame.subarray(1).some(isIdle)
			? buildTree(nodesWithout(upright, isIdle, true)) : upright;
	}

	/** Threads that are shown as one box until it is zoomed into. @param {number} node */
	isClosed(node) {
		const {tree, zoomed, profile} = this;
		return node > 0 && profile.frameKind[tree.frame[node]] === IDLE
			&& !isWithin(tree, zoomed, node);
	}

	/** Such a box below a node, which hides it; NONE: it is to be seen. @param {number} node */
	closedBelow(node) {
		const {tree} = this;
		for (let i = node; i > 0; i = tree.parent[i])
			if (this.isClosed(tree.parent[i]))
				return tree.parent[i];
		return NONE;
	}

	/** Of the part of the time shown, the stacks that wait and those that do not. */
	get every() {
		const {tree, samples} = this.all;
		this.everything ||= this.times === 'both' ? this.upright
			: buildTree(this.part ? nodesWithin(tree, samples, this.part) : tree);
		return this.everything;
	}

	/** @param {Times} times @param {Stacks} stacks @returns {Stacks} */
	select(times, {tree, samples}) {
		if (times === 'both' || this.choices.length < 2)
			return {tree, samples};
		const {frameKind} = this.profile;
		const wanted = times === 'waits' ? 1 : 0;
		const waits = waitingNodes(tree, frame => frameKind[frame] === WAIT);
		const made = nodesWeighing(tree,
			tree.self.map((weight, node) => waits[node] === wanted ? weight : 0));
		const isKept = (/** @type {any} */ _, /** @type {number} */ i) =>
			waits[samples.node[i]] === wanted;
		return {tree: made, samples: {
			us: samples.us.filter(isKept),
			node: samples.node.filter(isKept).map(node => made.place[node]),
			weight: samples.weight.filter(isKept),
		}};
	}

	/** @param {boolean} folded */
	setFolded(folded) {
		const {tree, samples, frameKind} = this.profile;
		this.folded = folded;
		this.all = {tree, samples};
		if (folded) {
			const made = nodesWithout(tree, frame => frameKind[frame] === INLINED);
			this.all = {tree: made, samples: {...samples,
				node: samples.node.map(node => made.place[node])}};
		}
		this.setTimes(this.times);
	}

	/** @param {Times} times one of the choices */
	setTimes(times) {
		this.times = times;
		this.stacks = this.select(times, this.all);
		this.whole = buildTree(this.stacks.tree);
		this.stretches = stretchesOf(this.profile.marks, this.stacks.samples);
		this.setStretch(this.part?.weight ? this.stretch : -1);
	}

	/** Weight of the stacks of all of the time in which a frame is. @param {number} frame */
	totalOf(frame) {
		const {profile, times} = this;
		let totals = this.totals.get(times);
		if (!totals) {
			totals = frameTotals(buildTree(this.select(times, profile).tree), profile.frames);
			this.totals.set(times, totals);
		}
		return totals[frame];
	}

	/** @param {number} stretch one with weight, or -1 */
	setStretch(stretch) {
		const {tree, samples} = this.stacks;
		this.stretch = stretch;
		this.upright = this.part ? buildTree(nodesWithin(tree, samples, this.part)) : this.whole;
		this.inverted = null;
		this.everything = null;
		this.setOrder(this.bottomUp);
	}
}

/**
 * The kinds of time that are worth a look: with one of them, both is nothing new.
 * @param {import('./decode.js').Profile} profile @returns {Times[]}
 */
function choicesOf({tree, frameKind}) {
	if (!frameKind.includes(WAIT))
		return ['cpu'];
	const waits = waitingNodes(tree, frame => frameKind[frame] === WAIT);
	const has = (/** @type {number} */ wanted) =>
		tree.self.some((weight, node) => weight > 0 && waits[node] === wanted);
	return !has(1) ? ['cpu'] : has(0) ? [...TIMES] : ['waits'];
}
