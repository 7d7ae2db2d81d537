// SPDX-License-Identifier: MIT
// @ts-check
// Match names against a regular expression in a worker with a time limit, because some expressions
// take far too long. If there is no worker, match on the page in short slices, as plain text if the
// expression may take too long.

import {compileQuery, matchFrames} from './search.js';
import {REFUSED} from './worker.js';

const LIMIT_MS = 2000;
/** Maximum time in ms for which the page is blocked without a break. */
const SLICE_MS = 8;
/** Number of names that are matched between two checks of the clock. */
const SLICE_NAMES = 16;
/** With at most this many steps, one name is matched too fast to be noticed. */
const FEW_STEPS = 2e7;

/**
 * Returns an upper bound of the number of steps for matching a text. The bound is Infinity if the
 * number may double with each character or is unknown, as with repeated groups and back references.
 * Escaped operators count as operators.
 * @param {string} source a valid expression
 * @param {number} length of the text
 */
export function mostSteps(source, length) {
	const parts = (/** @type {RegExp} */ sign) => source.split(sign).length;
	return /\)[*+?{]|\\[1-9k]/.test(source) ? Infinity
		: length ** parts(/[*+{]/) * 2 ** (parts(/\?/) - 1) * parts(/\|/);
}

/** @typedef {{matches: Uint8Array | null, error: string, note: string}} Found */

export class Matcher {
	/**
	 * @param {import('./decode.js').Profile} profile
	 * @param {import('./worker.js').Background} background
	 */
	constructor(profile, background) {
		this.profile = profile;
		this.background = background;
		/**
		 * Number of the latest query; a search on the page stops when there is a later one.
		 */
		this.turn = 0;
	}

	/**
	 * @param {import('./search.js').Query} query a valid expression
	 * @returns {Promise<Found>}
	 */
	async match(query) {
		const turn = ++this.turn;
		try {
			return {matches: await this.background.ask('match', query, LIMIT_MS),
				error: '', note: ''};
		} catch (why) {
			return why === REFUSED ? this.matchHere(query, turn) : late();
		}
	}

	/** @param {import('./search.js').Query} query @param {number} turn @returns {Promise<Found>} */
	async matchHere(query, turn) {
		const {frames, name} = this.profile;
		let longest = 0;
		for (let frame = 0; frame < frames; frame++)
			longest = Math.max(longest, name(frame).length);
		const isPlain = mostSteps(query.text, longest) > Math.max(FEW_STEPS, longest ** 2);
		const {test} = compileQuery({...query, regex: !isPlain});
		const matches = new Uint8Array(frames);
		const begun = performance.now();
		for (let frame = 0, until = begun + SLICE_MS; frame < frames && test;) {
			const end = Math.min(frame + SLICE_NAMES, frames);
			matches.set(matchFrames(end, name, test, frame), frame);
			frame = end;
			if (performance.now() < until)
				continue;
			await new Promise(resolve => setTimeout(resolve));
			until = performance.now() + SLICE_MS;
			if (turn !== this.turn || performance.now() > begun + LIMIT_MS)
				return late();
		}
		return {matches, error: '', note: isPlain
			? 'As plain text, for this expression could take for ever.' : ''};
	}
}

/** @returns {Found} */
function late() {
	return {matches: null, note: '', error: `Given up after ${LIMIT_MS / 1000} s`};
}
