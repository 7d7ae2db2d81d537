// SPDX-License-Identifier: MIT
// @ts-check
// The state of the view: the filter and the tree of its samples, the zoomed part, and the
// orientation. The state refers to no element of the page; the parts that draw, search and select
// read it.

import {IDLE, INLINED, WAIT, aggregate, nodesWithout, waitingNodes} from './aggregate.js';
import {TIMES} from './decode.js';
import {leastOf, timeText} from './filter.js';
import {FIRST_SORT} from './functions.js';
import {invertTree} from './invert.js';
import {sandwichOf} from './sandwich.js';
import {NONE, buildTree, frameTotals, isWithin, treeOf} from './tree.js';

/** @typedef {'cpu' | 'waits' | 'both'} Times */
/** @typedef {import('./filter.js').Filter} Filter */
/** @typedef {import('./aggregate.js').Answer} Answer */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * The time from one mark to the next.
 * @typedef {object} Stretch
 * @property {string} text of the mark
 * @property {number} from begin in microseconds, inclusive
 * @property {number} to end in microseconds, exclusive
 */

export class State {
	// These fields are set by open() and keep().
	/** @type {import('./decode.js').Profile} */ profile;
	/** @type {import('./worker.js').Perform} */ perform;
	/** @type {boolean} */ hasInlined;
	/** @type {number[]} frames of kind WAIT */ waitFrames;
	/** @type {Times[]} kinds of time with any weight */ choices;
	/** @type {boolean} */ hasWaits;
	/** @type {Filter} */ initial;
	/** @type {Stretch[]} */ stretches;
	/** @type {Map<Times, Float64Array>} by frame, see frameTotals() */ totals;
	/** @type {Filter} the filter that was asked for last */ asked;
	/** @type {Filter} the filter that is shown */ filter;
	/** @type {Tree} stacks that the filter keeps, merged from the same end as in the file */ upright;
	/** @type {Tree} stacks that the filter keeps, of all kinds of time */ every;
	/** @type {Tree | null} sandwich or chart, shown instead of `base` */ other;
	/** @type {import('./functions.js').Functions | null} the functions of a table */ functions;
	/** @type {Tree | null} `base` merged from its other end */ inverted;
	/** @type {Tree} the tree that is inverted, or `upright` */ base;
	/** @type {Tree} the tree that is shown */ tree;

	/**
	 * @param {import('./decode.js').Profile} profile
	 * @param {import('./worker.js').Perform} perform
	 */
	constructor(profile, perform) {
		this.bottomUp = profile.reversed;
		this.icicle = profile.icicle;
		/** @type {'' | 'light' | 'dark'} as the user chose */
		this.theme = '';
		/** @type {import('./strip.js').Opened} */
		this.opened = '';
		/**
		 * The zoomed node, which fills the view; after free movement, the deepest node that
		 * covers the view.
		 */
		this.zoomed = 0;
		this.free = false;  // the user moved the view, so no node fills it exactly
		this.sort = FIRST_SORT;  // order of the rows of the table, see functions.js
		this.chosen = NONE;  // frame of the function that is chosen in the table
		/** @type {(() => void)[]} */
		this.listeners = [];
		this.open(profile, perform);
		this.keep(this.initial, aggregate(profile, this.initial));
	}

	/**
	 * Switch to another profile; the caller then calls adopt().
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

	/** @param {() => void} listener called after a change of the tree that is shown */
	onTree(listener) {
		this.listeners.push(listener);
	}

	get times() {
		return this.filter.times;
	}

	/** The filter's term of time, if any. */
	get part() {
		return this.filter.terms.find(({kind}) => kind === 'time');
	}

	/** The label of the root box. */
	get whole() {
		const {part} = this;
		if (this.isSandwich || this.tree.chart)
			return this.filter.of || 'thread';
		return part ? part.value || timeText(part) : this.filter.terms.some(({kind}) => kind !== 'least') ? 'selected'
			: this.profile.sides ? this.filter.side || 'both' : 'all';
	}

	/** Is a sandwich shown? */
	get isSandwich() {
		return this.filter.view === 'sandwich';
	}

	/**
	 * Do rows go down from the root? In a sandwich of a file that was merged from the leaf,
	 * they go up, because the rows after the root are callers.
	 */
	get rootOnTop() {
		return this.isSandwich ? !this.profile.reversed : this.icicle;
	}

	/** The tree whose nodes a search marks. */
	get searched() {
		return this.tree.chart ? this.tree : this.base;
	}

	/** Are stacks merged from the end opposite to that in the file? */
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
		this.hideSmall();
	}

	/** Hide the nodes of the shown tree that have less weight than the filter asks for. */
	hideSmall() {
		const {tree} = this;
		const least = leastOf(this.filter, tree.total[0]);
		if (tree === this.inverted || this.isSandwich) {
			tree.least = least;
		} else if (least) {
			let rows = 0;
			for (let node = 0; node < tree.nodes; node++)
				if (tree.total[node] >= least)
					rows = Math.max(rows, tree.depth[node] + 1);
			// The base keeps its rows, because its inverted tree may need them.
			this.tree = {...tree, least, rows};
		}
	}

	/** Show the stacks that a filter keeps. @param {Filter} filter @param {Answer} answer */
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
		this.hideSmall();
		this.zoomed = 0;
		this.free = false;
		for (const listener of this.listeners)
			listener();
	}

	/**
	 * Returns `has`, a test whether a node is inlined, and `isAbove`: whether the box into
	 * which it is inlined is drawn above it.
	 */
	inlined() {
		const {profile, tree, rootOnTop, bottomUp, isSandwich} = this;
		return {
			has: (/** @type {number} */ node) =>
				node > 0 && profile.frameKind[tree.frame[node]] === INLINED,
			isAbove: isSandwich || rootOnTop !== (bottomUp && !tree.chart),
		};
	}

	/**
	 * Returns the tree to invert. Frames of kind IDLE are moved to the leaf, so that idle
	 * threads stay together in the inverted tree.
	 */
	idleLast() {
		const {upright} = this;
		const isIdle = (/** @type {number} */ frame) => this.profile.frameKind[frame] === IDLE;
		return this.times !== 'cpu' && upright.frame.subarray(1).some(isIdle)
			? buildTree(nodesWithout(upright, isIdle, {trails: true})) : upright;
	}

	/**
	 * Is the node a box of idle threads that is not zoomed into? Its children are hidden.
	 * @param {number} node
	 */
	isClosed(node) {
		const {tree, zoomed, profile} = this;
		return node > 0 && !this.isSandwich && profile.frameKind[tree.frame[node]] === IDLE
			&& !isWithin(tree, zoomed, node);
	}

	/** Returns the closed box that hides a node, or NONE. @param {number} node */
	closedBelow(node) {
		const {tree} = this;
		for (let i = node; i > 0; i = tree.parent[i])
			if (this.isClosed(tree.parent[i]))
				return tree.parent[i];
		return NONE;
	}

	/**
	 * Returns the weight of the stacks that contain a frame, over the whole run. @param
	 * {number} frame
	 */
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
 * Returns the stretches of time between marks. Stretch number 0 is before the first mark, so there
 * is one more than marks.
 * @param {import('./decode.js').Mark[]} marks in order of time
 * @returns {Stretch[]}
 */
export function stretchesOf(marks) {
	if (!marks.length)
		return [];
	const before = {us: -Infinity, text: `before ${marks[0].text}`};
	return [before, ...marks].map(({us, text}, i) =>
		({text, from: us, to: i < marks.length ? marks[i].us : Infinity}));
}

/**
 * Returns the kinds of time that can be chosen: all if the file has CPU time and waits, else only
 * the one that it has.
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
