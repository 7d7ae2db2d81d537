// SPDX-License-Identifier: MIT
// @ts-check
// Which frames are looked for, where they are, and how much of the time they cover.

import {NONE, UNKNOWN, firstChild} from './tree.js';

/**
 * @typedef {object} Query
 * @property {string} text
 * @property {boolean} regex the text is a regular expression, not literal
 * @property {boolean} matchCase
 */

/**
 * @param {Query} query
 * @returns {{test: ((name: string) => boolean) | null, error: string}} no test when there is
 *         nothing to look for, or the expression is none yet
 */
export function compileQuery({text, regex, matchCase}) {
	if (!text)
		return {test: null, error: ''};
	if (regex) {
		try {
			const expression = new RegExp(text, matchCase ? '' : 'i');
			return {test: name => expression.test(name), error: ''};
		} catch (error) {
			// The last part of "Invalid regular expression: /(/: Unterminated group".
			const why = String(/** @type {Error} */ (error).message).split(': ').pop();
			return {test: null, error: why || 'no regular expression'};
		}
	}
	if (matchCase)
		return {test: name => name.includes(text), error: ''};
	const lowered = text.toLowerCase();
	return {test: name => name.toLowerCase().includes(lowered), error: ''};
}

/**
 * @param {number} frames @param {(frame: number) => string} nameOf
 * @param {(name: string) => boolean} test
 * @returns {Uint8Array} 1 per frame that matches
 */
export function matchFrames(frames, nameOf, test) {
	const matches = new Uint8Array(frames);
	for (let frame = 0; frame < frames; frame++)
		matches[frame] = test(nameOf(frame)) ? 1 : 0;
	return matches;
}

/**
 * Which nodes have a match in their stack, themselves included. Weight under several matches is
 * so counted once. @param {import('./tree.js').Tree} tree in depth-first order
 * @param {Uint8Array} matches
 */
export function markStacks(tree, matches) {
	const marks = new Uint8Array(tree.nodes);
	for (let i = 1; i < tree.nodes; i++)
		marks[i] = marks[tree.parent[i]] | matches[tree.frame[i]];
	return marks;
}

/**
 * By node, the first one from it on that matches; as many as there are nodes when none does.
 * @param {import('./tree.js').Tree} tree in depth-first order @param {Uint8Array} matches
 */
export function nextMatches(tree, matches) {
	const next = new Uint32Array(tree.nodes);
	let found = tree.nodes;
	for (let i = tree.nodes - 1; i >= 0; i--) {
		if (i > 0 && matches[tree.frame[i]])
			found = i;
		next[i] = found;
	}
	return next;
}

/**
 * Matching nodes that are in no other matching one, in the order they are drawn.
 * @param {import('./tree.js').Tree} tree @param {Uint8Array} matches
 * @param {Uint8Array} marks of markStacks()
 * @param {number} most @returns {number[]}
 */
export function outermostMatches(tree, matches, marks, most) {
	const found = [];
	// An inverted tree is found out on the way: only where there is something to be found.
	const lazy = tree.child.includes(UNKNOWN);
	let visits = 100 * most;
	for (let i = 0; i !== NONE && found.length < most && visits > 0; visits--) {
		let next = NONE;
		if (i > 0 && matches[tree.frame[i]])
			found.push(i);
		else if (!lazy || tree.markedWeight(i, marks) > 0)
			next = firstChild(tree, i);
		if (next === NONE)
			next = tree.sibling[i];
		while (next === NONE && i > 0) {
			i = tree.parent[i];
			next = tree.sibling[i];
		}
		i = next;
	}
	return found;
}
