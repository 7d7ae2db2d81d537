// SPDX-License-Identifier: MIT
// @ts-check
// Compute how many CPUs were in use over time, for all samples and for those that a filter keeps:
// in the whole run, and by each process and thread. This file uses no DOM, so it runs in the worker
// for all but small pictures.

import {commOf, isOfTimes, keepStacks, threadsOf, waitingNodes} from './aggregate.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {import('./filter.js').Filter} Filter */

/**
 * One row of the panel of processes and threads. Processes (or threads) with equal names share a
 * lane, because a filter selects them by name. If the filter selects such a lane or one of its
 * members, the members have lanes of their own below it.
 * @typedef {object} Lane
 * @property {'process' | 'thread'} kind
 * @property {string} value
 * @property {number} count threads in the lane
 * @property {number} weight weight of the lane's samples, of the kind of time that the lanes show
 * @property {number} within number of lanes that it is listed within: a process, a shared lane
 */

/**
 * For each time bin, the number of CPUs in use, or the weight of its samples if the duration of a
 * sample is unknown. Optional members are present only if `Wanted` asks for them.
 * @typedef {object} Activity
 * @property {number} us end of the run, just after the last sample
 * @property {Float32Array} [rest] CPUs in use by samples that the filter does not keep
 * @property {Float32Array} [kept] CPUs in use by samples that the filter keeps
 * @property {Float32Array} [waits] number of waiting threads, by samples that the filter keeps
 * @property {Lane[]} [lanes] the busiest first
 * @property {number} [more] number of lanes that are not listed
 * @property {Float32Array} [laneBins] two rows of bins for each lane: samples that the filter does
 * not keep, then those that it keeps
 * @property {Float32Array} [heat] samples that the filter keeps, in bins of `heatUs`
 */

/**
 * @typedef {object} Wanted
 * @property {Filter} filter its term of kind `time` is ignored
 * @property {number} bins number of bins, 0: none
 * @property {number} laneBins number of bins of each lane, 0: no lanes
 * @property {number} heatUs length of a bin of the heat map, 0: none
 */

/** If more different names than this exist, drop pids and tids, which merges lanes. */
const MOST_PROCESSES = 12;
const MOST_THREADS = 40;
const MOST_LANES = 400;

/** The class of a node is the sum of these bits: the filter keeps its samples; its stack waits. */
const KEPT = 1;
const WAITS = 2;
const CLASSES = 4;

/** Compute each node's class. @param {Profile} profile @param {Filter} filter */
function classesOf(profile, filter) {
	const classes = waitingNodes(profile.tree, profile.frameKind);
	const kept = new Float64Array(classes.length).fill(1);
	keepStacks(profile, filter, kept);
	return classes.map((waits, node) => (waits ? WAITS : 0)
		| (kept[node] && isOfTimes(filter.times, waits) ? KEPT : 0));
}

/** The CPU time of a sample is spread over at most this many times the sample's own duration. */
const MOST_SPREAD = 4;

/**
 * Sum up the samples by row and bin. A sample's weight is time that its thread spent before it. CPU
 * time may be spread over the time since the thread's previous sample, because threads share CPUs.
 * Waiting time is not spread, and several waits may be reported at one time. The samples of a
 * thread must not overlap, so that the thread is never on two CPUs at once. Samples without a
 * thread's name may overlap, because they may be of several threads. Time before the start of the
 * run is left out.
 * @param {Profile} profile @param {Uint8Array} classes by node
 * @param {Int32Array} rowOf by thread and class, -1 for none
 * @param {number} rows @param {number} bins @param {number} usPerBin
 */
function accumulate({samples, periodNs, threads}, classes, rowOf, rows, bins, usPerBin) {
	const {count, tickUs, time, node, thread, weight} = samples;
	const stride = bins + 2;
	// Per row, the difference between each bin and the bin before it: adding a span changes
	// only a few elements, however long the span is.
	const steps = new Float64Array(rows * stride);
	const scale = tickUs / usPerBin;
	const length = periodNs / 1000 / usPerBin;
	// The pending sample of each thread on a CPU, and of each thread that waits: its end in
	// bins, its amount and its row. A sample is added only when the next earlier sample of its
	// thread is known (the loop goes backwards in time).
	const places = rowOf.length / CLASSES * 2;
	const ends = new Float64Array(places).fill(bins);
	const amounts = new Float64Array(places).fill(-1);
	const rowsAt = new Int32Array(places);

	/**
	 * Add the pending sample to `steps`.
	 * @param {number} place index: 2 * thread, plus 1 for waiting
	 * @param {number} since bin of the thread's previous sample, Infinity: do not spread
	 */
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
			// Adding and subtracting leaves rounding errors after a span's end; make
			// them 0.
			made[row * bins + bin] = sum > 1e-7 ? sum : 0;
		}
	return made;
}

/**
 * Returns the names, without pids and tids if more than `most` differ. @param {string[]} names
 * @param {number} most
 */
function namesOf(names, most) {
	return new Set(names).size > most ? names.map(commOf) : names;
}

/**
 * List the lanes, each process followed by its threads, the heaviest first.
 * @param {Profile} profile @param {number} waits 1: weigh the samples that wait, 0: the others
 * @param {import('./filter.js').Term[]} terms of the filter
 * @returns {{lanes: Lane[], more: number, laneOf: Int32Array[]}} laneOf: by thread, the index of
 * its process's lane and of its own, then of those that list them as members of a shared lane; -1
 * for none
 */
function lanesOf(profile, waits, terms) {
	const {count: samples, node, thread: threadOf, weight: weightOf} = profile.samples;
	const waitsAt = waitingNodes(profile.tree, profile.frameKind);
	const busy = new Float64Array(profile.threads.length);
	for (let i = 0; i < samples; i++)
		if (waitsAt[node[i]] === waits)
			busy[threadOf[i]] += weightOf[i];
	/** @typedef {Lane & {processes: Set<any>, members: Set<any>}} Listed */
	const lanesBy = (/** @type {Lane['kind']} */ kind, /** @type {string[]} */ names) => {
		/** @type {Map<string, Listed>} */
		const known = new Map();
		return profile.threads.map((_, thread) => {
			const value = names[thread] || '';
			const lane = known.get(value) || {kind, value, count: 0, weight: 0, within: 0,
				processes: new Set(), members: new Set()};
			lane.count++;
			lane.weight += busy[thread];
			known.set(value, lane);
			return lane;
		});
	};
	const sorted = (/** @type {Iterable<Listed>} */ lanes) =>
		[...new Set(lanes)].filter(({value}) => value).sort((a, b) => b.weight - a.weight);
	const ofKind = (/** @type {Lane['kind']} */ kind, /** @type {string[]} */ names, /** @type {number} */ most) => {
		const lanes = lanesBy(kind, namesOf(names, most));
		const opened = new Set(terms.filter(one => one.kind === kind).map(({value}) => commOf(value)));
		// A lane whose name has no pid or tid is shared by its members.
		const members = lanesBy(kind, profile.threads.map((_, thread) =>
			names[thread] !== lanes[thread].value && opened.has(lanes[thread].value) ? names[thread] : ''));
		members.forEach((member, thread) => lanes[thread].members.add(member));
		return [lanes, members];
	};
	const [processes, membersOfProcesses] = ofKind('process', profile.processes, MOST_PROCESSES);
	const [threads, membersOfThreads] = ofKind('thread', profile.threads, MOST_THREADS);
	threads.forEach((lane, thread) => lane.processes.add(processes[thread]));
	const [outer, inner] = [processes, threads].map(sorted);
	const within = outer.length > 1 ? 1 : 0;
	const withMembers = (/** @type {Listed} */ lane, /** @type {number} */ level) =>
		[Object.assign(lane, {within: level}),
			...sorted(lane.members).map(one => Object.assign(one, {within: level + 1}))];
	const listed = !within ? inner.flatMap(lane => withMembers(lane, 0))
		: outer.flatMap(process => [...withMembers(process, 0), ...inner.filter(lane => {
			const [first] = lane.processes;
			// Leave out a lane that has all threads of its process, because it would
			// repeat the process's lane.
			return first === process && !(lane.processes.size === 1 && process.count === lane.count);
		}).flatMap(lane => withMembers(lane, 1))]);
	const shown = listed.slice(0, MOST_LANES);
	const places = new Map(shown.map((lane, i) => [lane, i]));
	return {more: listed.length - shown.length,
		lanes: shown.map(({processes: _, members: __, ...lane}) => lane),
		laneOf: [processes, threads, membersOfProcesses, membersOfThreads].map(lanes =>
			Int32Array.from(lanes, lane => places.get(lane) ?? -1))};
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
		const {lanes, more, laneOf} = lanesOf(profile, isWaits ? 1 : 0, filter.terms);
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
