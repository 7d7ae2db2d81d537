// SPDX-License-Identifier: MIT
// The strip of the run's time: results of binActivity(), compared with sums over single samples.

import assert from 'node:assert/strict';
import test from 'node:test';

import {binActivity, profileOf, randomOf, roundStep, term, timeTerm, withLane} from './viewer.mjs';

const THREADS = ['t (1/1)', 't (1/2)', 'u (1/3)', 'v (4/4)'];
const PROCESSES = ['p (1)', 'p (1)', 'p (1)', 'v (4)'];

function makeProfile(seed, count, periodNs, {threads = THREADS, processes = PROCESSES} = {}) {
	const random = randomOf(seed);
	const raw = Array.from({length: count}, () => ({
		stack: [...Array.from({length: 1 + random(5)}, () => 'abcde'[random(5)]),
			...random(3) ? [] : ['[w]']],
		us: random(5000), thread: random(threads.length), weight: random(300)}))
		.sort((a, b) => a.us - b.us);
	return {raw, profile: profileOf(raw, {tickUs: 2, periodNs, threads, processes})};
}

const isWait = one => one.stack.includes('[w]');

/**
 * Add a begin and an end to each sample. A sample ends at its own time, or when the thread's next
 * sample of the same sort (CPU time or wait) begins. A wait is as long as its weight. CPU time
 * begins at the thread's previous sample, but is spread over at most four times its weight.
 */
function withSpans(raw, periodNs) {
	const spans = raw.map(one => ({...one, end: one.us >>> 1 << 1}));
	spans.forEach((one, i) => {
		const isBefore = other => other.thread === one.thread && isWait(other) === isWait(one);
		one.next = spans.slice(i + 1).find(isBefore);
		one.since = spans.slice(0, i).reverse().find(isBefore)?.end ?? Infinity;
	});
	for (const one of spans.reverse()) {
		const ns = one.weight * periodNs / 1000;
		one.end = Math.min(one.end, one.next?.begin ?? Infinity);
		const latest = Math.max(0, one.end - ns);
		one.begin = isWait(one) ? latest : Math.max(0, Math.min(latest, Math.max(one.since, one.end - 4 * ns)));
		one.share = Math.min(1, ns / (one.end - one.begin) || 0);
	}
	return spans;
}

/**
 * Return for each bin the part of it that samples cover; without a period, the weight of the
 * samples.
 */
function cover(samples, bins, usPerBin, periodNs) {
	return Array.from({length: bins}, (_, bin) => {
		const [first, last] = [bin * usPerBin, (bin + 1) * usPerBin];
		return samples.reduce((sum, {begin, end, share, weight}) => {
			if (!periodNs)
				return sum + (Math.floor(end / 2 * (2 / usPerBin)) === bin ? weight : 0);
			return sum + Math.max(Math.min(end, last) - Math.max(begin, first), 0) / usPerBin * share;
		}, 0);
	});
}

function assertClose(found, wanted, what) {
	assert.equal(found.length, wanted.length, what);
	wanted.forEach((value, i) => assert.ok(Math.abs(found[i] - value) <= 1e-5 * (1 + Math.abs(value)),
		`${what}: ${i}: ${found[i]} for ${value}`));
}

const FILTERS = [
	[[], () => true],
	[[term('thread', 't')], ({thread}) => thread < 2],
	[[term('thread', 't (1/2)'), term('process', 'v')], ({thread}) => thread === 1 || thread === 3],
	[[term('focus', 'a')], ({stack}) => stack.includes('a')],
	[[term('ignore', 'b'), term('thread', 'u')], ({stack, thread}) => thread === 2 && !stack.includes('b')],
	// The strip also shows samples outside the chosen range.
	[[timeTerm(100, 200)], () => true],
];

test('bins have what samples cover of them', () => {
	for (const periodNs of [0, 100, 10_000_000 / 197])
		for (const bins of [1, 7, 300])
			for (const [terms, keeps] of FILTERS)
				for (const times of ['cpu', 'waits', 'both']) {
					const {raw, profile} = makeProfile(bins + terms.length, 300, periodNs);
					const filter = {times, terms, view: 'graph', of: ''};
					const laneBins = Math.ceil(bins / 3);
					const found = binActivity(profile, {filter, bins, laneBins, heatUs: 33});
					const last = (raw[raw.length - 1].us >>> 1 << 1) + 2;
					const usPerBin = last / bins;
					assert.equal(found.us, last);
					const isKept = one => keeps(one) && (times === 'both' || isWait(one) === (times === 'waits'));
					const spans = withSpans(raw, periodNs);
					const rows = {
						rest: spans.filter(one => !isWait(one) && !isKept(one)),
						kept: spans.filter(one => !isWait(one) && isKept(one)),
						waits: spans.filter(one => isWait(one) && isKept(one))};
					for (const [name, samples] of Object.entries(rows))
						assertClose(found[name], cover(samples, bins, usPerBin, periodNs), name);
					const active = spans.filter(one => isWait(one) === (times === 'waits'));
					assertClose(found.heat, cover(active.filter(isKept), Math.ceil(last / 33), 33, periodNs), 'heat');
					found.lanes.forEach(({kind, value}, i) => {
						const names = kind === 'thread' ? THREADS : PROCESSES;
						const of = active.filter(one => names[one.thread] === value);
						for (const row of [0, 1])
							assertClose(found.laneBins.subarray((2 * i + row) * laneBins, (2 * i + row + 1) * laneBins),
								cover(of.filter(one => isKept(one) === (row === 1)), laneBins, last / laneBins, periodNs),
								`${kind} ${value}`);
					});
				}
});

const ALL = {filter: {times: 'cpu', terms: [], view: 'graph', of: ''}, laneBins: 0, heatUs: 0};

test('a thread is on one CPU however late its samples come', () => {
	const random = randomOf(5);
	const raw = Array.from({length: 1000}, (_, i) =>
		({stack: ['a'], us: (i + 1) * 1000 + random(3000), thread: 0, weight: 1})).sort((a, b) => a.us - b.us);
	const profile = profileOf(raw, {tickUs: 2, periodNs: 1e6, threads: ['t (1/1)'], processes: ['p (1)']});
	const {kept} = binActivity(profile, {...ALL, bins: 600});
	assert.ok(kept.every(cpus => cpus <= 1 + 1e-5), `${Math.max(...kept)}`);
	assert.ok(kept.reduce((sum, cpus) => sum + cpus, 0) / 600 > 0.98);
});

test('threads that share a CPU are together on one', () => {
	const [slice, raw] = [300, []];
	const ran = THREADS.map((_, i) => i * 100);
	for (let us = 0; us < 1e6; us += slice) {
		const thread = us / slice % 4;
		ran[thread] += slice;
		if (ran[thread] >= 1000)
			raw.push({stack: ['a'], us: us + slice - (ran[thread] -= 1000), thread, weight: 1});
	}
	const {kept} = binActivity(profileOf(raw, {tickUs: 2, periodNs: 1e6, threads: THREADS, processes: PROCESSES}),
		{...ALL, bins: 700});
	assert.ok(kept.subarray(10).every(cpus => cpus <= 1.1), `${Math.max(...kept.subarray(10))}`);
});

test('lanes are the busiest first, threads below their process', () => {
	const {raw, profile} = makeProfile(1, 500, 1000);
	const {lanes, more} = binActivity(profile,
		{filter: {times: 'cpu', terms: [], view: 'graph', of: ''}, bins: 10, laneBins: 10, heatUs: 0});
	assert.equal(more, 0);
	const weigh = has => raw.filter(one => has(one) && !one.stack.includes('[w]'))
		.reduce((sum, {weight}) => sum + weight, 0);
	for (const {kind, value, weight, within, count} of lanes) {
		const names = kind === 'thread' ? THREADS : PROCESSES;
		assert.equal(weight, weigh(({thread}) => names[thread] === value));
		assert.equal(count, names.filter(name => name === value).length);
		assert.equal(within, kind === 'thread' ? 1 : 0);
	}
	// A process with a single thread has one lane, under the process's name.
	assert.deepEqual(lanes.map(({value}) => value).sort(), ['p (1)', 't (1/1)', 't (1/2)', 'u (1/3)', 'v (4)']);
	const threads = lanes.filter(({kind}) => kind === 'thread').map(({weight}) => weight);
	assert.deepEqual(threads, [...threads].sort((a, b) => b - a));
	assert.equal(lanes.indexOf(lanes.find(({value}) => value === 'p (1)')) + 1,
		lanes.findIndex(({kind}) => kind === 'thread'));
});

test('many threads are listed by name, and not all of very many', () => {
	const filter = {times: 'cpu', terms: [], view: 'graph', of: ''};
	const lanesOf = threads => binActivity(makeProfile(3, 2000, 1000,
		{threads, processes: threads.map(() => 'p (1)')}).profile, {filter, bins: 9, laneBins: 9, heatUs: 0});
	const grouped = lanesOf(Array.from({length: 300}, (_, i) => `pool${i % 3} (1/${i})`));
	assert.deepEqual(grouped.lanes.map(({value}) => value).sort(), ['pool0', 'pool1', 'pool2']);
	assert.deepEqual(grouped.lanes.map(({count}) => count), [100, 100, 100]);
	const many = lanesOf(Array.from({length: 500}, (_, i) => `n${i} (1/${i})`));
	assert.equal(many.lanes.length, 400);
	assert.equal(many.more, 100);
});

test('the members of a shared lane are listed when it or one of them is selected', () => {
	const threads = Array.from({length: 300}, (_, i) => `pool${i % 3 && 1} (${i % 3}/${i})`);
	const one = threads.map(() => 'p (1)');
	const many = threads.map((_, i) => `q${i % 2} (${i})`);
	for (const [processes, kind, value] of [[one, 'thread', 'pool0'], [one, 'thread', 'pool0 (0/3)'],
		[many, 'process', 'q1'], [many, 'process', 'q1 (7)']]) {
		const {raw, profile} = makeProfile(3, 2000, 1000, {threads, processes});
		const {lanes, laneBins} = binActivity(profile, {filter: {times: 'cpu', terms: [term(kind, value)],
			view: 'graph', of: ''}, bins: 9, laneBins: 9, heatUs: 0});
		const names = kind === 'thread' ? threads : processes;
		const shared = lanes.findIndex(lane => lane.value === value.split(' ')[0]);
		const members = lanes.slice(shared + 1, shared + 1 + (kind === 'thread' ? 100 : 150));
		assert.ok(members.every(one => one.within === 1 && one.kind === kind && one.count === 1));
		assert.equal(new Set(members.map(one => one.value)).size, members.length);
		assert.equal(members.reduce((sum, {weight}) => sum + weight, 0), lanes[shared].weight);
		for (const one of members)
			assert.equal(one.weight, raw.filter(({thread, stack}) => names[thread] === one.value
				&& !stack.includes('[w]')).reduce((sum, {weight}) => sum + weight, 0));
		const kept = lanes.map((_, i) => laneBins.subarray((2 * i + 1) * 9, (2 * i + 2) * 9).some(bin => bin > 0));
		members.forEach((one, i) => assert.equal(kept[shared + 1 + i],
			one.weight > 0 && (one.value === value || value === lanes[shared].value)));
		assert.ok(kept[shared]);
	}
});

test('a member of a shared lane replaces all members, and the other way round', () => {
	const filter = terms => ({times: 'cpu', terms, view: 'graph', of: ''});
	const lane = value => ({kind: 'thread', value});
	const thread = value => term('thread', value);
	const [p, focus] = [term('process', 'w'), term('focus', 'w')];
	const chosen = (terms, value) => withLane(filter(terms), lane(value)).terms;
	assert.deepEqual(chosen([p, thread('w')], 'w (1/2)'), [p, thread('w (1/2)')]);
	assert.deepEqual(chosen([thread('w (1/2)')], 'w (1/3)'), [thread('w (1/2)'), thread('w (1/3)')]);
	assert.deepEqual(chosen([thread('w (1/2)'), thread('v'), focus, thread('w (1/3)')], 'w'),
		[thread('v'), focus, thread('w')]);
	assert.deepEqual(chosen([thread('w (1/2)')], 'w (1/2)'), []);
});

test('nothing, one sample, threads without names', () => {
	const filter = {times: 'cpu', terms: [], view: 'graph', of: ''};
	for (const count of [0, 1]) {
		const {profile} = makeProfile(4, 1, 1000, {threads: [''], processes: ['']});
		profile.samples.count = count;
		const found = binActivity(profile, {filter, bins: 5, laneBins: 5, heatUs: 0});
		assert.equal(found.kept.length, 5);
		assert.ok(found.kept.every(Number.isFinite));
		assert.equal(found.lanes.length, 0);
	}
});

test('steps of an axis', () => {
	assert.deepEqual([1, 1.1, 3, 6, 70, 0.02].map(roundStep), [1, 2, 5, 10, 100, 0.02]);
});
