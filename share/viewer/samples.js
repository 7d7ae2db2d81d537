// SPDX-License-Identifier: MIT
// @ts-check
// The samples of a picture as typed arrays in order of time, so that those of a range are found by
// bisection and one takes about a dozen bytes. The columns are described in render/embed.h.

import {TAG, planesOf, readNumbers, readPlanes} from './columns.js';

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

/** Steps to times, in place. @param {Uint32Array} time @returns {Uint32Array} */
function sumUp(time) {
	let sum = 0;
	for (let i = 0; i < time.length; i++)
		time[i] = sum += time[i];
	if (sum >= 2 ** 32)
		throw new RangeError('a sample of no time');
	return time;
}

/**
 * Steps to nodes, in place: each is how far the node is from that of the thread's sample before, the
 * lowest bit set where it is lower.
 * @param {Uint32Array} node @param {number} nodes
 * @param {Uint16Array | Uint32Array} thread @param {number} threads
 */
function followThreads(node, nodes, thread, threads) {
	const last = new Uint32Array(threads);
	for (let i = 0; i < node.length; i++) {
		const step = node[i];
		const one = last[thread[i]] + (step >>> 1 ^ -(step & 1)) >>> 0;
		if (one >= nodes || thread[i] >= threads)
			throw new RangeError('a sample of no node or thread');
		node[i] = last[thread[i]] = one;
	}
	return node;
}

/**
 * None where times are not known.
 * @param {Map<number, Uint8Array>} columns @returns {SampleTable}
 */
export function readSampleTable(columns) {
	const [, , nodes, , , threads, count] = readNumbers(columns.get(TAG.numbers), 10);
	const [times, steps, threadOf, weightOf, kindOf] = [TAG.sampleTimes, TAG.sampleNodes,
		TAG.sampleThreads, TAG.sampleWeights, TAG.sampleKinds].map(tag => columns.get(tag));
	const [tickUs] = count ? readNumbers(columns.get(TAG.tick), 1) : [1];
	const thread = readPlanes(threadOf,
		new (planesOf(threadOf, count) < 3 ? Uint16Array : Uint32Array)(count));
	const weight = readPlanes(weightOf,
		new (planesOf(weightOf, count) < 2 ? Uint8Array : Uint32Array)(count));
	if (!(tickUs >= 1) || planesOf(kindOf, count) > 1 || kindOf?.some(kind => kind >= KINDS))
		throw new RangeError('a sample of no time or kind');
	return {
		count,
		tickUs,
		time: sumUp(readPlanes(times, new Uint32Array(count))),
		node: followThreads(readPlanes(steps, new Uint32Array(count)), nodes, thread, threads),
		thread,
		weight,
		kind: readPlanes(kindOf, new Uint8Array(count)),
	};
}
