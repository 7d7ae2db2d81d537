// SPDX-License-Identifier: MIT
// @ts-check
// Marks that the program made while it ran, and what was sampled from one to the next.

import {formatSeconds} from './format.js';

/** @typedef {{us: number, text: string}} Mark in microseconds since the beginning */
/** @typedef {{us: Float64Array, node: Uint32Array, weight: Float64Array}} Samples in any order */

/**
 * The time from a mark to the next one.
 * @typedef {object} Stretch
 * @property {string} text of the mark
 * @property {number} from microseconds, included
 * @property {number} to not included
 * @property {number} weight sampled in it
 */

/**
 * One more than there are marks: number 0 is what was before the first.
 * @param {Mark[]} marks in order of time @param {Samples} samples @returns {Stretch[]}
 */
export function stretchesOf(marks, samples) {
	if (!marks.length)
		return [];
	const before = {us: -Infinity, text: `before ${marks[0].text}`};
	const stretches = [before, ...marks].map(({us, text}, i) =>
		({text, from: us, to: i < marks.length ? marks[i].us : Infinity, weight: 0}));
	samples.us.forEach((us, i) => {
		let first = 0;
		for (let last = marks.length; first < last;) {
			const middle = first + last >> 1;
			if (marks[middle].us <= us)
				first = middle + 1;
			else
				last = middle;
		}
		stretches[first].weight += samples.weight[i];
	});
	return stretches;
}

/** @param {Stretch} stretch */
export function timeText({from, to}) {
	const [begin, end] = [from, to].map(us => formatSeconds(us / 1e6));
	return from < 0 ? `to ${end}` : to === Infinity ? `from ${begin}` : `${begin} to ${end}`;
}

/**
 * The nodes with weight of a stretch and those above them, in the same order.
 * @param {import('./decode.js').Nodes} nodes @param {Samples} samples @param {Stretch} stretch
 * @returns {import('./decode.js').Nodes}
 */
export function nodesWithin({frame, parent}, samples, {from, to}) {
	const self = new Float64Array(frame.length);
	samples.us.forEach((us, i) => {
		if (us >= from && us < to)
			self[samples.node[i]] += samples.weight[i];
	});
	const kept = Uint8Array.from(self, (weight, node) => weight > 0 || node === 0 ? 1 : 0);
	for (let node = frame.length - 1; node > 0; node--)
		if (kept[node])
			kept[parent[node]] = 1;
	const place = new Uint32Array(frame.length);
	for (let node = 1; node < frame.length; node++)
		place[node] = place[node - 1] + kept[node - 1];
	const isKept = (/** @type {any} */ _, /** @type {number} */ node) => kept[node] === 1;
	return {
		frame: frame.filter(isKept),
		self: self.filter(isKept),
		parent: parent.filter(isKept).map(node => place[node]),
	};
}
