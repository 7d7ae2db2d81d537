// SPDX-License-Identifier: MIT
// @ts-check
// What ran when: of the samples that a filter keeps and of all, how many CPUs were in use in each of
// many short times, for the whole run and for its processes and threads. Needs no page: runs in the
// worker for all but small pictures.

import {commOf, isOfTimes, keepStacks, threadsOf, waitingNodes} from './aggregate.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {import('./filter.js').Filter} Filter */

/**
 * A process or a thread, or all of them that have a name; by it a filter's term knows them.
 * @typedef {object} Lane
 * @property {'process' | 'thread'} kind
 * @property {string} value
 * @property {number} count of threads
 * @property {number} weight of all its samples, of the kind of time that lanes show
 * @property {number} within 1 for a thread that is listed below its process
 */

/**
 * By bin CPUs in use; where nobody knows what a sample stands for, weight. Rows one behind the other.
 * There is what is asked for.
 * @typedef {object} Activity
 * @property {number} us end of the run: behind the last sample
 * @property {Float32Array} [rest] on a CPU, and not kept by the filter
 * @property {Float32Array} [kept] on a CPU
 * @property {Float32Array} [waits] threads that wait, of what is kept
 * @property {Lane[]} [lanes] the busiest first
 * @property {number} [more] lanes that there are, not told
 * @property {Float32Array} [laneBins] of each lane a row of what is not kept, then one of what is
 * @property {Float32Array} [heat] kept, by shorter bins
 */

/**
 * @typedef {object} Wanted
 * @property {Filter} filter its own times are left out
 * @property {number} bins 0: none
 * @property {number} laneBins 0: no lanes
 * @property {number} heatUs of the heat's bins, 0: none
 */

/** More processes and threads than that are listed by their names without numbers. */
const MOST_PROCESSES = 12;
const MOST_THREADS = 40;
const MOST_LANES = 200;

/** What a node's samples are, two bits. */
const KEPT = 1;
const WAITS = 2;
const CLASSES = 4;

/** Which classes nodes are of. @param {Profile} profile @param {Filter} filter */
function classesOf(profile, filter) {
	const classes = waitingNodes(profile.tree, profile.frameKind);
	const kept = new Float64Array(classes.length).fill(1);
	keepStacks(profile, filter, kept);
	return classes.map((waits, node) => (waits ? WAITS : 0)
		| (kept[node] && isOfTimes(filter.times, waits) ? KEPT : 0));
}

/** A sample's time on a CPU lies between its thread's last sample and it, over up to so many times its length. */
const MOST_SPREAD = 4;

/**
 * A sample's weight is time that its thread spent before it: on a CPU part of what passed since the
 * sample before, for CPUs are shared; waiting all of it, and several waits are told at a time. A thread's
 * samples lie one before the other, so that it's never on two CPUs; whether they are of one thread only a
 * name tells. What would lie before the run is not told.
 * @param {Profile} profile
 * @param {Uint8Array} classes by node
 * @param {Int32Array} rowOf by thread and class, -1 for none
 * @param {number} rows @param {number} bins @param {number} usPerBin
 */
function accumulate({samples, periodNs, threads}, classes, rowOf, rows, bins, usPerBin) {
	const {count, tickUs, time, node, thread, weight} = samples;
	const stride = bins + 2;
	// What each bin has more than the one before it: a span costs the same however long it is.
	const steps = new Float64Array(rows * stride);
	const scale = tickUs / usPerBin;
	const length = periodNs / 1000 / usPerBin;
	// The sample that comes next of what a thread ran and of what it waited: where it ends and what it is.
	const places = rowOf.length / CLASSES * 2;
	const ends = new Float64Array(places).fill(bins);
	const amounts = new Float64Array(places).fill(-1);
	const rowsAt = new Int32Array(places);

	/** @param {number} place @param {number} since the sample's before it */
	const tell = (place, since) => {
		const to = ends[place];
		const amount = amounts[place];
		const span = length ? amount : 0;
		const from = Math.max(Math.min(to - span, Math.max(since, to - MOST_SPREAD * span)), 0);
		ends[place] = from;
		if (rowsAt[place] < 0)
			return;
		const first = rowsAt[place] * stride + (from | 0);
		const last = rowsAt[place] * stride + (to | 0);
		if (first === last) {
			const part = length ? Math.min(amount, to) : amount;
			steps[last] += part;
			steps[last + 1] -= part;
			return;
		}
		const share = Math.min(amount / (to - from), 1);
		const before = (from - (from | 0)) * share;
		const within = (to - (to | 0)) * share;
		steps[first] += share - before;
		steps[first + 1] += before;
		steps[last] -= share - within;
		steps[last + 1] -= within;
	};
	for (let i = count - 1; i >= 0; i--) {
		const one = classes[node[i]];
		const place = 2 * thread[i] + (one & WAITS ? 1 : 0);
		const at = Math.min(time[i] * scale, bins);
		if (amounts[place] >= 0)
			tell(place, one & WAITS ? Infinity : at);
		ends[place] = Math.min(at, ends[place]);
		amounts[place] = weight[i] * (length || 1);
		rowsAt[place] = rowOf[CLASSES * thread[i] + one];
		if (!threads[thread[i]]) {
			tell(place, Infinity);
			ends[place] = bins;
			amounts[place] = -1;
		}
	}
	for (let place = 0; place < places; place++)
		if (amounts[place] >= 0)
			tell(place, Infinity);
	const made = new Float32Array(rows * bins);
	for (let row = 0; row < rows; row++)
		for (let bin = 0, sum = 0; bin < bins; bin++) {
			sum += steps[row * stride + bin];
			// What rounding leaves of spans that have ended is nothing.
			made[row * bins + bin] = sum > 1e-7 ? sum : 0;
		}
	return made;
}

/** @param {string[]} names @param {number} most */
function namesOf(names, most) {
	return new Set(names).size > most ? names.map(commOf) : names;
}

/**
 * @param {Profile} profile @param {number} waits 1: lanes are those that wait most
 * @returns {{lanes: Lane[], more: number, laneOf: Int32Array[]}} laneOf: by thread, its process's and
 *          its own
 */
function lanesOf(profile, waits) {
	const {count: samples, node, thread: threadOf, weight: weightOf} = profile.samples;
	const waitsAt = waitingNodes(profile.tree, profile.frameKind);
	const busy = new Float64Array(profile.threads.length);
	for (let i = 0; i < samples; i++)
		if (waitsAt[node[i]] === waits)
			busy[threadOf[i]] += weightOf[i];
	/** By thread, its process's lane and its own. */
	const [processes, threads] = [namesOf(profile.processes, MOST_PROCESSES),
		namesOf(profile.threads, MOST_THREADS)].map((names, level) => {
		/** @type {Map<string, Lane & {processes: Set<any>}>} */
		const known = new Map();
		return profile.threads.map((_, thread) => {
			const value = names[thread] || '';
			const lane = known.get(value) || {kind: level ? 'thread' : 'process', value, count: 0, weight: 0,
				within: 0, processes: new Set()};
			lane.count++;
			lane.weight += busy[thread];
			known.set(value, lane);
			return lane;
		});
	});
	threads.forEach((lane, thread) => lane.processes.add(processes[thread]));
	const [outer, inner] = [processes, threads].map(lanes =>
		[...new Set(lanes)].filter(({value}) => value).sort((a, b) => b.weight - a.weight));
	const within = outer.length > 1 ? 1 : 0;
	const listed = !within ? inner : outer.flatMap(process => [process, ...inner.filter(lane => {
		const [first] = lane.processes;
		// A process that is one line of threads is that line.
		return first === process && !(lane.processes.size === 1 && process.count === lane.count);
	})]);
	const shown = listed.slice(0, MOST_LANES);
	return {more: listed.length - shown.length,
		lanes: shown.map(({kind, value, count, weight}) =>
			({kind, value, count, weight, within: kind === 'thread' ? within : 0})),
		laneOf: [processes, threads].map(lanes => Int32Array.from(lanes, lane => shown.indexOf(lane)))};
}

/** @param {Profile} profile @param {Wanted} wanted @returns {Activity} */
export function binActivity(profile, {filter, bins, laneBins, heatUs}) {
	const {samples} = profile;
	const us = samples.count ? (samples.time[samples.count - 1] + 1) * samples.tickUs : 0;
	const classes = classesOf(profile, filter);
	const threads = threadsOf(profile, filter);
	const table = (/** @type {(thread: number, kept: boolean, waits: boolean) => number} */ rowOf) =>
		Int32Array.from({length: CLASSES * Math.max(profile.threads.length, 1)}, (_, i) => {
			const thread = Math.floor(i / CLASSES);
			return rowOf(thread, (i & KEPT) > 0 && (!threads || threads[thread] > 0), (i & WAITS) > 0);
		});
	/** @type {Activity} */
	const made = {us};
	const isWaits = filter.times === 'waits';
	if (bins) {
		const every = accumulate(profile, classes, table((_, kept, waits) => waits ? kept ? 2 : -1
			: kept ? 1 : 0), 3, bins, us / bins);
		[made.rest, made.kept, made.waits] = [0, 1, 2].map(row => every.slice(row * bins, (row + 1) * bins));
	}
	if (heatUs)
		made.heat = accumulate(profile, classes, table((_, kept, waits) => kept && waits === isWaits ? 0 : -1),
			1, Math.ceil(us / heatUs), heatUs);
	if (laneBins) {
		const {lanes, more, laneOf} = lanesOf(profile, isWaits ? 1 : 0);
		const sums = new Float32Array(2 * lanes.length * laneBins);
		Object.assign(made, {lanes, more, laneBins: sums});
		for (const lane of laneOf.filter(one => one.some(number => number >= 0))) {
			const rows = accumulate(profile, classes, table((thread, kept, waits) =>
				waits !== isWaits || lane[thread] < 0 ? -1 : 2 * lane[thread] + (kept ? 1 : 0)),
			2 * lanes.length, laneBins, us / laneBins);
			rows.forEach((value, i) => {
				sums[i] += value;
			});
		}
	}
	return made;
}
