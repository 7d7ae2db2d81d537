// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at: which tree of which filter's samples, what of it fills the view, and how it
// stands. Knows no element: who draws, searches and selects reads it here.

import {IDLE, INLINED, WAIT, aggregate, nodesWithout, waitingNodes} from './aggregate.js';
import {TIMES} from './decode.js';
import {timeText} from './filter.js';
import {FIRST_SORT} from './functions.js';
import {invertTree} from './invert.js';
import {sandwichOf} from './sandwich.js';
import {NONE, buildTree, frameTotals, isWithin, treeOf} from './tree.js';

/** @typedef {'cpu' | 'waits' | 'both'} Times */
/** @typedef {import('./filter.js').Filter} Filter */
/** @typedef {import('./aggregate.js').Answer} Answer */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * The time from a mark to the next one.
 * @typedef {object} Stretch
 * @property {string} text of the mark
 * @property {number} from microseconds, included
 * @property {number} to not included
 */

export class State {
	// Set by open() and keep().
	/** @type {import('./decode.js').Profile} */ profile;
	/** @type {import('./worker.js').Perform} */ perform;
	/** @type {boolean} */ hasInlined;
	/** @type {number[]} frames that say what is waited for */ waitFrames;
	/** @type {Times[]} those with any weight */ choices;
	/** @type {boolean} */ hasWaits;
	/** @type {Filter} */ initial;
	/** @type {Stretch[]} */ stretches;
	/** @type {Map<Times, Float64Array>} by frame, see frameTotals() */ totals;
	/** @type {Filter} the one asked for last */ asked;
	/** @type {Filter} the one shown */ filter;
	/** @type {Tree} what it keeps, top-down */ upright;
	/** @type {Tree} likewise, whatever time it is */ every;
	/** @type {Tree | null} what the view shows instead */ other;
	/** @type {import('./functions.js').Functions | null} what a table shows */ functions;
	/** @type {Tree | null} the base merged from its other end */ inverted;
	/** @type {Tree} the one merged from its other end, or shown */ base;
	/** @type {Tree} the one shown */ tree;

	/**
	 * @param {import('./decode.js').Profile} profile
	 * @param {import('./worker.js').Perform} perform
	 */
	constructor(profile, perform) {
		this.bottomUp = profile.reversed;
		this.icicle = profile.icicle;
		/** @type {'' | 'light' | 'dark'} as chosen here */
		this.theme = '';
		/** @type {import('./strip.js').Opened} */
		this.opened = '';
		/** The node that fills the view, or the deepest one around what fills it. */
		this.zoomed = 0;
		this.free = false;  // what is seen is no node's span but one chosen by hand
		this.sort = FIRST_SORT;  // of the rows of a table, see table.js
		this.chosen = NONE;  // frame of the function that is chosen in a table
		/** @type {(() => void)[]} */
		this.listeners = [];
		this.open(profile, perform);
		this.keep(this.initial, aggregate(profile, this.initial));
	}

	/**
	 * What it is of from now on; its tree is to be adopted.
	 * @param {import('./decode.js').Profile} profile
	 * @param {import('./worker.js').Perform} perform
	 */
	open(profile, perform) {
		this.profile = profile;
		this.perform = perform;
		this.hasInlined = profile.frameKind.includes(INLINED);
		this.waitFrames = [...profile.frameKind.keys()]
			.filter(frame => profile.frameKind[frame] === WAIT);
		this.choices = profile.sides ? [profile.times] : choicesOf(profile);
		this.hasWaits = this.choices[0] !== 'cpu' || this.choices.length > 1;
		this.initial = {
			times: this.choices.find(one => one === profile.times) || this.choices[0],
			terms: [], view: 'graph', of: ''};
		this.stretches = stretchesOf(profile.marks);
		this.totals = new Map();
		this.asked = this.initial;
	}

	/** @param {() => void} listener called when another tree is shown */
	onTree(listener) {
		this.listeners.push(listener);
	}

	get times() {
		return this.filter.times;
	}

	/** The part of the time shown, if not all. */
	get part() {
		return this.filter.terms.find(({kind}) => kind === 'time');
	}

	/** What all that is shown is called. */
	get whole() {
		const {part} = this;
		if (this.isSandwich || this.tree.chart)
			return this.filter.of || 'thread';
		return part ? part.value || timeText(part) : this.filter.terms.length ? 'selected'
			: this.profile.sides ? this.filter.side || 'both' : 'all';
	}

	/** Are a function's callers and callees shown, the first ones above? */
	get isSandwich() {
		return this.filter.view === 'sandwich';
	}

	/** Do rows go down from the root? A file that is bottom-up has the callers after it. */
	get rootOnTop() {
		return this.isSandwich ? !this.profile.reversed : this.icicle;
	}

	/** The tree whose columns are those of what is shown. */
	get searched() {
		return this.tree.chart ? this.tree : this.base;
	}

	/** Is the graph the tree of the file merged from its other end? */
	get isInverted() {
		return this.bottomUp !== this.profile.reversed;
	}

	/** @param {Filter} filter @param {Answer} answer */
	keep(filter, {every, shown, other, functions, of}) {
		this.filter = {...filter, of};
		this.upright = treeOf(shown);
		this.every = shown === every ? this.upright : treeOf(every);
		this.other = other && (this.isSandwich ? sandwichOf(other, this.upright) : treeOf(other));
		this.functions = functions;
		this.inverted = null;
		this.base = this.upright;
		this.tree = this.other || this.base;
	}

	/** Show what a filter keeps. @param {Filter} filter @param {Answer} answer */
	adopt(filter, answer) {
		this.keep(filter, answer);
		this.setOrder(this.bottomUp);
	}

	/** @param {boolean} bottomUp */
	setOrder(bottomUp) {
		this.bottomUp = bottomUp;
		if (this.isInverted && !this.inverted && !this.other) {
			this.base = this.idleLast();
			this.inverted = invertTree(this.base);
		}
		if (!this.isInverted) {
			this.base = this.upright;
			this.inverted = null;
		}
		this.tree = this.other || this.inverted || this.base;
		this.zoomed = 0;
		this.free = false;
		for (const listener of this.listeners)
			listener();
	}

	/** Which boxes are inlined, and on which side is what they stand in. */
	inlined() {
		const {profile, tree, rootOnTop, bottomUp, isSandwich} = this;
		return {
			has: (/** @type {number} */ node) =>
				node > 0 && profile.frameKind[tree.frame[node]] === INLINED,
			isAbove: isSandwich || rootOnTop !== (bottomUp && !tree.chart),
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
			? buildTree(nodesWithout(upright, isIdle, {trails: true})) : upright;
	}

	/** Threads that are shown as one box until it is zoomed into. @param {number} node */
	isClosed(node) {
		const {tree, zoomed, profile} = this;
		return node > 0 && !this.isSandwich && profile.frameKind[tree.frame[node]] === IDLE
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

	/** Weight of the stacks of all of the time in which a frame is. @param {number} frame */
	totalOf(frame) {
		const {profile, times} = this;
		let totals = this.totals.get(times);
		if (!totals) {
			totals = frameTotals(aggregate(profile, {...this.initial, times}).shown, profile.frames);
			this.totals.set(times, totals);
		}
		return totals[frame];
	}
}

/**
 * One more than there are marks: number 0 is what was before the first.
 * @param {import('./decode.js').Mark[]} marks in order of time @returns {Stretch[]}
 */
export function stretchesOf(marks) {
	if (!marks.length)
		return [];
	const before = {us: -Infinity, text: `before ${marks[0].text}`};
	return [before, ...marks].map(({us, text}, i) =>
		({text, from: us, to: i < marks.length ? marks[i].us : Infinity}));
}

/**
 * The kinds of time that are worth a look: with one of them, both is nothing new.
 * @param {import('./decode.js').Profile} profile @returns {Times[]}
 */
function choicesOf({tree, frameKind}) {
	if (!frameKind.includes(WAIT))
		return ['cpu'];
	const waits = waitingNodes(tree, frameKind);
	const has = (/** @type {number} */ wanted) =>
		tree.self.some((weight, node) => weight > 0 && waits[node] === wanted);
	return !has(1) ? ['cpu'] : has(0) ? [...TIMES] : ['waits'];
}
