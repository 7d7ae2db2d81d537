// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at: which tree of which part of the time, what of it fills the view, and how it
// stands. Knows no element: who draws, searches and selects reads it here.

import {invertTree} from './invert.js';
import {buildTree, frameTotals, nodesWithin, nodesWithout, stretchesOf} from './tree.js';

/** The kind of a frame that stands in the one below it, see render/calltree.h. */
export const INLINED = 6;

export class State {
	/** @param {import('./decode.js').Profile} profile */
	constructor(profile) {
		this.profile = profile;
		/** Nodes of all of the time, top-down, and samples at them. */
		this.stacks = {tree: profile.tree, samples: profile.samples};
		/** @type {import('./tree.js').Tree} of these */
		this.whole = buildTree(profile.tree);
		this.hasInlined = profile.frameKind.includes(INLINED);
		/** What was inlined is not shown: its weight is that of what it stands in. */
		this.folded = false;
		/** @type {Float64Array | null} by frame, see frameTotals() */
		this.totals = null;
		/** @type {import('./tree.js').Tree} of the part of the time shown, top-down */
		this.base = this.whole;
		/** @type {import('./tree.js').Tree | null} the base merged from its other end */
		this.inverted = null;
		/** @type {import('./tree.js').Tree} the one shown */
		this.tree = this.base;
		this.stretches = stretchesOf(profile.marks, profile.samples);
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

	/** @param {boolean} bottomUp */
	setOrder(bottomUp) {
		const isOther = bottomUp !== this.profile.reversed;
		this.bottomUp = bottomUp;
		if (isOther)
			this.inverted ||= invertTree(this.base);
		this.tree = isOther && this.inverted || this.base;
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

	/** @param {boolean} folded */
	setFolded(folded) {
		const {tree, samples, frameKind} = this.profile;
		this.totalOf(0);
		this.folded = folded;
		this.stacks = {tree, samples};
		if (folded) {
			const made = nodesWithout(tree, frame => frameKind[frame] === INLINED);
			this.stacks = {tree: made, samples: {...samples,
				node: samples.node.map(node => made.place[node])}};
		}
		this.whole = buildTree(this.stacks.tree);
		this.setStretch(this.stretch);
	}

	/** Weight of the stacks of all of the time in which a frame is. @param {number} frame */
	totalOf(frame) {
		this.totals ||= frameTotals(this.whole, this.profile.frames);
		return this.totals[frame];
	}

	/** @param {number} stretch one with weight, or -1 */
	setStretch(stretch) {
		const {tree, samples} = this.stacks;
		this.stretch = stretch;
		this.base = this.part ? buildTree(nodesWithin(tree, samples, this.part)) : this.whole;
		this.inverted = null;
		this.setOrder(this.bottomUp);
	}
}
