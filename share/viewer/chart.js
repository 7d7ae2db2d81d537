// SPDX-License-Identifier: MIT
// @ts-check
// Make the chart of one thread in order of time: boxes show when the thread ran or waited on which
// stack, and their widths are durations. This file uses no DOM, see aggregate.js.
//
// A sample has the time at which it was taken, and a weight: the span of time before it that it
// represents. So a sample is drawn from its own time to the left, into time that is still free. A
// sample on a CPU says that the thread ran just then. A sample of a wait covers all waiting since
// the previous check of the thread, so it is drawn around the samples on a CPU.
//
// Kernels take samples at their own ticks, so a weight may be larger than the time since the
// previous sample of the same sort (CPU or wait). The part that does not fit is saved, and fills
// gaps at other samples. So at most the measured time of each sort is drawn, plus one period. A gap
// means that the thread did not run or that its stack is unknown.

import {clamp, layOut, widen} from './tree.js';

/** @typedef {import('./tree.js').TreeColumns} TreeColumns */
/** @typedef {import('./decode.js').SampleTable} SampleTable */

/**
 * Additional data of a tree that is a chart of time: its weights are microseconds, and its boxes
 * are at their times.
 * @typedef {object} Chart
 * @property {number} beginUs time at the left edge, since the start of the run
 * @property {number} mergedUs if not 0, time is cut into stretches of this length, and one stack is
 * drawn for each
 * @property {number[]} threads with samples to show, the busiest first
 */

/**
 * A tree of stacks, and for each node of the file the node of this tree at which its stack ends.
 * @typedef {object} Stacks
 * @property {Uint32Array} frame by node, parents before children
 * @property {Uint32Array} parent
 * @property {Int32Array} places by the file's node: the node in this tree; 0 or less: not shown
 */

/** With more boxes than MOST_BOXES, merge stretches of time, at first into STRETCHES. */
const MOST_BOXES = 1 << 20;
const STRETCHES = 1 << 18;
/** With more spans than this, merge stretches of time before boxes are made. */
const MOST_SPANS = 1 << 22;

/** A list of time spans, each with its stack, that do not overlap, in rising or falling order. */
class Spans {
	/** @param {number} beginUs @param {number} endUs all spans are within */
	constructor(beginUs, endUs) {
		this.beginUs = beginUs;
		this.endUs = endUs;
		this.mergedUs = 0;  // see Chart
		this.count = 0;
		this.from = new Float64Array(1024);
		this.to = new Float64Array(1024);
		this.node = new Int32Array(1024);
	}

	/**
	 * Append a span. If it touches the last span and has the same stack, extend the last span
	 * instead.
	 * @param {number} node @param {number} from @param {number} to
	 */
	put(node, from, to) {
		const last = this.count - 1;
		if (node <= 0 || from >= to)
			return;
		if (this.node[last] === node && (this.from[last] === to || this.to[last] === from)) {
			this.from[last] = Math.min(this.from[last], from);
			this.to[last] = Math.max(this.to[last], to);
			return;
		}
		if (this.count === MOST_SPANS) {
			this.reverse();
			this.mergeStretches();
			this.reverse();
		}
		if (this.count === this.node.length)
			widen(this);
		this.from[this.count] = from;
		this.to[this.count] = to;
		this.node[this.count++] = node;
	}

	reverse() {
		for (const column of [this.from, this.to, this.node])
			column.subarray(0, this.count).reverse();
	}

	/**
	 * In each stretch, keep only the stack with the most time, for the time of all stacks in
	 * the stretch. The spans must be in rising order.
	 */
	mergeStretches() {
		const {count, from, to, node, beginUs, endUs} = this;
		const length = this.mergedUs ? 2 * this.mergedUs : Math.ceil((endUs - beginUs) / STRETCHES);
		const merged = new Spans(beginUs, endUs);
		for (let i = 0, end = beginUs; i < count;) {
			const begin = Math.max(from[i], end);
			end = beginUs + (Math.floor((begin - beginUs) / length) + 1) * length;
			let known = 0;
			let longest = 0;
			let best = 0;
			for (; i < count && from[i] < end; i++) {
				const part = Math.min(to[i], end) - Math.max(from[i], begin);
				known += part;
				if (part > longest) {
					longest = part;
					best = node[i];
				}
				if (to[i] > end)
					break;
			}
			merged.put(best, begin, begin + known);
		}
		Object.assign(this, merged, {mergedUs: length});
	}
}

/**
 * Samples of one sort that are still to be laid out: those on a CPU, or those of which only the
 * latest possible time is known.
 */
class Rest {
	/** @param {number} periodUs */
	constructor(periodUs) {
		this.periodUs = periodUs;
		/** Time of dropped samples, which may be used to close gaps. */
		this.spareUs = periodUs;
		this.at = Infinity;
		/** @type {number[]} */
		this.nodes = [];
		/** @type {number[]} */
		this.lengths = [];
		this.next = 0;
		this.end = 0;
	}

	get isEmpty() {
		return this.next === this.end;
	}

	/**
	 * Add a sample. If its time differs from that of the samples here, drop these and save
	 * their time.
	 * @param {number} at @param {number} node @param {number} length
	 */
	push(at, node, length) {
		if (at !== this.at) {
			for (; !this.isEmpty; this.next++)
				this.spareUs = Math.min(this.spareUs + this.lengths[this.next], 2 * this.periodUs);
			this.next = this.end = 0;
		}
		this.at = at;
		this.nodes[this.end] = node;
		this.lengths[this.end++] = length;
	}

	/**
	 * Returns the length of the next sample, at most `room`; a remaining part is kept for the
	 * next call. The last sample may be lengthened to `room` by saved time.
	 * @param {number} room @param {boolean} isLast the other sort has no samples left
	 */
	take(room, isLast) {
		const length = this.lengths[this.next];
		if (length > room) {
			this.lengths[this.next] -= room;
			return room;
		}
		this.next++;
		if (!isLast || !this.isEmpty || room - length > this.spareUs)
			return length;
		this.spareUs -= room - length;
		return room;
	}
}

/**
 * Lay out the samples of one thread in time, from the last to the first. Returns the spans in
 * rising order.
 * @param {SampleTable} samples @param {number} thread @param {Int32Array} places see Stacks
 * @param {number} periodUs @param {number} beginUs @param {number} endUs
 */
function spansOf({count, tickUs, ...samples}, thread, places, periodUs, beginUs, endUs) {
	const {time, node: nodes, thread: threads, weight, kind} = samples;
	const spans = new Spans(beginUs, endUs);
	const cpu = new Rest(periodUs);
	const others = new Rest(periodUs);
	let edge = Infinity;  // all later time is laid out already
	const fillDownTo = (/** @type {number} */ until) => {
		while (edge > until && !(cpu.isEmpty && others.isEmpty)) {
			const [next, other] = others.isEmpty || !cpu.isEmpty && cpu.at <= others.at
				? [cpu, others] : [others, cpu];
			const node = next.nodes[next.next];
			const from = edge - next.take(edge - until, other.isEmpty);
			spans.put(node, Math.max(from, beginUs), Math.min(edge, endUs));
			edge = from;
		}
		edge = Math.min(edge, until);
	};
	for (let i = count - 1; i >= 0 && edge > beginUs; i--)
		if (threads[i] === thread) {
			const at = time[i] * tickUs;
			fillDownTo(at);
			(kind[i] === 0 ? cpu : others).push(at, places[nodes[i]], weight[i] * periodUs);
		}
	fillDownTo(0);
	spans.reverse();
	return spans;
}

/** Compute the depth of each node. @param {Uint32Array} parent */
function depthsOf(parent) {
	const depth = new Uint32Array(parent.length);
	for (let i = 1; i < depth.length; i++)
		depth[i] = depth[parent[i]] + 1;
	return depth;
}

/**
 * Make boxes from spans. Neighbours in time share the boxes of the frames that both stacks have at
 * their root.
 * @param {Spans} spans @param {Stacks} stacks @param {Uint32Array} depths of the nodes of `stacks`
 * @param {number} beginUs @param {number} endUs @returns {TreeColumns | null} null: too many boxes
 */
function boxesOf(spans, stacks, depths, beginUs, endUs) {
	const [frame, parent] = [new Uint32Array(MOST_BOXES), new Uint32Array(MOST_BOXES)];
	const [self, total, from] = [0, 1, 2].map(() => new Float64Array(MOST_BOXES));
	const open = new Int32Array(depths.length);  // by depth: the node of the current stack
	const box = open.slice();
	let count = 1;
	let deepest = 0;  // depth of the current stack
	let last = beginUs;
	frame[0] = stacks.frame[0];
	total[0] = endUs - beginUs;
	const close = (/** @type {number} */ depth) => {
		for (; deepest > depth; deepest--)
			total[box[deepest]] = last - beginUs - from[box[deepest]];
	};
	for (let i = 0; i < spans.count; i++) {
		const node = spans.node[i];
		if (spans.from[i] > last)
			close(0);
		let shared = node;
		while (depths[shared] > deepest || open[depths[shared]] !== shared)
			shared = stacks.parent[shared];
		close(depths[shared]);
		deepest = depths[node];
		count += deepest - depths[shared];
		if (count > MOST_BOXES)
			return null;
		for (let above = node, at = count - 1; above !== shared; above = stacks.parent[above], at--) {
			const depth = depths[above];
			open[depth] = above;
			box[depth] = at;
			frame[at] = stacks.frame[above];
			parent[at] = depth === depths[shared] + 1 ? box[depth - 1] : at - 1;
			from[at] = spans.from[i] - beginUs;
		}
		self[box[deepest]] += spans.to[i] - spans.from[i];
		last = spans.to[i];
	}
	close(0);
	return {...layOut({frame: frame.slice(0, count), self: self.slice(0, count),
		parent: parent.slice(0, count)}), total: total.slice(0, count), from: from.slice(0, count)};
}

/**
 * Make the chart of a thread.
 * @param {import('./decode.js').Profile} profile @param {Stacks} stacks
 * @param {number[]} threads the busiest first, at least one
 * @param {number} thread one of `threads`
 * @param {{from: number, to: number} | undefined} time range to show, undefined for all
 * @returns {TreeColumns}
 */
export function chartOf({samples, periodNs}, stacks, threads, thread, time) {
	const last = Math.max(samples.time[samples.count - 1] * samples.tickUs, 1);
	const beginUs = clamp(time ? time.from : 0, 0, last - 1);
	const endUs = clamp(time ? time.to : last, beginUs + 1, last);
	// If the duration of a sample is unknown, each sample reaches back to the one before it.
	const spans = spansOf(samples, thread, stacks.places, periodNs / 1000 || last, beginUs, endUs);
	const depths = depthsOf(stacks.parent);
	let boxes = boxesOf(spans, stacks, depths, beginUs, endUs);
	while (!boxes) {
		spans.mergeStretches();
		boxes = boxesOf(spans, stacks, depths, beginUs, endUs);
	}
	return {...boxes, chart: {beginUs, mergedUs: spans.mergedUs, threads}};
}
