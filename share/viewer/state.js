// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at: which tree of which part of the time, what of it fills the view, and how it
// stands. Knows no element: who draws, searches and selects reads it here.

import {invertTree} from './invert.js';
import {buildTree, nodesWithin, stretchesOf} from './tree.js';

export class State {
	/** @param {import('./decode.js').Profile} profile */
	constructor(profile) {
		this.profile = profile;
		/** @type {import('./tree.js').Tree} of all of the time, top-down */
		this.whole = buildTree(profile.tree);
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

	/** @param {number} stretch one with weight, or -1 */
	setStretch(stretch) {
		const {tree, samples} = this.profile;
		this.stretch = stretch;
		this.base = this.part ? buildTree(nodesWithin(tree, samples, this.part)) : this.whole;
		this.inverted = null;
		this.setOrder(this.bottomUp);
	}
}
