// SPDX-License-Identifier: MIT
// @ts-check
// The search: what is looked for, what it covers, and which match one is at.

import {compileQuery, markStacks, matchFrames, nextMatches, outermostMatches} from './search.js';

const MOST_MATCHES = 9999;

export class Finder {
	/** @param {import('./decode.js').Profile} profile @param {import('./tree.js').Tree} base */
	constructor(profile, base) {
		this.profile = profile;
		this.base = base;
		/** @type {import('./search.js').Query} */
		this.query = {text: '', regex: false, matchCase: false};
		this.error = '';
		/** @type {Uint8Array | null} by frame */
		this.matches = null;
		/** @type {Uint8Array | null} by node of the base: a match is in its stack */
		this.marks = null;
		/** @type {Uint32Array | null} see nextMatches(), for boxes too narrow to be seen */
		this.next = null;
		/** @type {number[] | null} nodes of the tree shown */
		this.found = null;
		this.at = -1;
	}

	/** @param {import('./search.js').Query} query */
	search(query) {
		const {test, error} = compileQuery(query);
		this.query = query;
		this.error = error;
		this.matches = test && matchFrames(this.profile.frames, this.profile.name, test);
		this.marks = this.matches && markStacks(this.base, this.matches);
		this.next = null;
		this.forget();
	}

	/** Whose narrow boxes are asked about. @param {import('./tree.js').Tree} tree */
	markIn(tree) {
		const {matches, marks} = this;
		if (!matches || !marks)
			return null;
		this.next ||= nextMatches(this.base, matches);
		const all = {frames: matches, stacks: marks, next: this.next};
		return (/** @type {number} */ node) => tree.hasMatch(node, all);
	}

	/** The tree shown is another one. */
	forget() {
		this.found = null;
		this.at = -1;
	}

	/**
	 * Shares of everything and of what fills the view.
	 * @param {import('./tree.js').Tree} tree @param {number} zoomed
	 */
	shares(tree, zoomed) {
		const {marks} = this;
		if (!marks)
			return {all: 0, view: 0};
		const share = (/** @type {number} */ node) =>
			tree.markedWeight(node, marks) / tree.total[node];
		const all = share(0);
		return {all, view: zoomed ? share(zoomed) : all};
	}

	/** @param {import('./tree.js').Tree} tree */
	list(tree) {
		if (!this.matches || !this.marks)
			return [];
		this.found ||= outermostMatches(tree, this.matches, this.marks, MOST_MATCHES);
		return this.found;
	}

	/**
	 * The next match or the one before, round and round.
	 * @param {import('./tree.js').Tree} tree @param {1 | -1} step
	 * @returns {number} a node, -1 when nothing matches
	 */
	step(tree, step) {
		const found = this.list(tree);
		if (!found.length)
			return -1;
		this.at = this.at < 0 ? (step > 0 ? 0 : found.length - 1)
			: (this.at + step + found.length) % found.length;
		return found[this.at];
	}

	/** "3/17", or how many. @param {import('./tree.js').Tree} tree */
	countText(tree) {
		if (!this.matches)
			return '';
		const found = this.list(tree);
		const count = `${found.length}${found.length === MOST_MATCHES ? '+' : ''}`;
		return this.at < 0 ? count : `${this.at + 1}/${count}`;
	}
}
