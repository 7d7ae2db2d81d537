// SPDX-License-Identifier: MIT
// @ts-check
// The samples of a picture as typed arrays in order of time, so that those of a range are found by
// bisection and one takes about a dozen bytes. The columns are described in render/embed.h.

import {readNumbers, readPlanes, TAG} from './columns.js';

/**
 * All samples that have a time, the earliest first.
 * @typedef {object} SampleTable
 * @property {number} count
 * @property {number} tickUs microseconds that one unit of `time` is, a whole number
 * @property {Uint32Array} time since the beginning of the run, in ticks; never falls. Of a wait it is
 *     when it ended or was last seen, so that it covers what came before
 * @property {Uint32Array} node where the stack ends, by number in the file
 * @property {Uint16Array | Uint32Array} thread
 * @property {Uint8Array | Uint32Array} weight
 * @property {Uint8Array} kind 0 on a CPU, 1 due there but never delivered, 2 waiting
 */

const KINDS = 3;

/** @typedef {Uint8Array | Uint16Array | Uint32Array} Numbers as small as those in it are */

/** @param {Numbers} numbers @param {number} end @returns {boolean} all are below it */
function areBelow(numbers, end) {
	let most = -1;
	for (let i = 0; i < numbers.length; i++)
		most = numbers[i] > most ? numbers[i] : most;
	return most < end;
}

/** @param {Numbers} steps @returns {Uint32Array} times */
function sumUp(steps) {
	const time = new Uint32Array(steps.length);
	let sum = 0;
	for (let i = 0; i < steps.length; i++)
		time[i] = sum += steps[i];
	if (sum >= 2 ** 32)
		throw new RangeError('a sample of no time');
	return time;
}

/**
 * Each number is how far the node is from that of the thread's sample before, the lowest bit set
 * where it is lower.
 * @param {Numbers} steps @param {Numbers} thread @param {number} threads @returns {Uint32Array}
 */
function nodesOf(steps, thread, threads) {
	const last = new Uint32Array(threads);
	const node = new Uint32Array(steps.length);
	for (let i = 0; i < steps.length; i++)
		node[i] = last[thread[i]] += steps[i] >>> 1 ^ -(steps[i] & 1);
	return node;
}

/**
 * None where times are not known.
 * @param {Map<number, Uint8Array>} columns @returns {SampleTable}
 */
export function readSampleTable(columns) {
	const [, , nodes, , , threads, count] = readNumbers(columns.get(TAG.numbers), 10);
	const read = (/** @type {number} */ tag) => readPlanes(columns.get(tag), count);
	const [tickUs] = count ? readNumbers(columns.get(TAG.tick), 1) : [1];
	const thread = read(TAG.sampleThreads);
	const weight = read(TAG.sampleWeights);
	const kind = read(TAG.sampleKinds);
	if (!(tickUs >= 1) || !areBelow(thread, threads) || !areBelow(kind, KINDS))
		throw new RangeError('a sample of no time, thread or kind');
	const node = nodesOf(read(TAG.sampleNodes), thread, threads);
	if (!areBelow(node, nodes))
		throw new RangeError('a sample of no node');
	return {
		count,
		tickUs,
		time: sumUp(read(TAG.sampleTimes)),
		node,
		thread: thread instanceof Uint32Array ? thread : new Uint16Array(thread),
		weight: weight instanceof Uint8Array ? weight : new Uint32Array(weight),
		kind: new Uint8Array(kind),
	};
}
