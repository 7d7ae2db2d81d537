// SPDX-License-Identifier: MIT
// A thread's samples in order of time, compared with a result computed microsecond by microsecond.

import assert from 'node:assert/strict';
import test from 'node:test';

import {aggregate, firstAlong, profileOf, randomOf, term, timeTerm} from './viewer.mjs';

const PERIOD_US = 5;

function chartProfile(raw, threads = ['t (1/1)', 't (1/2)', 'u (1/3)']) {
	return profileOf(raw, {periodNs: PERIOD_US * 1000, threads, processes: threads.map(() => 'p (1)')});
}

function randomSamples(seed, count) {
	const random = randomOf(seed);
	const length = count * (2 + random(20));
	return Array.from({length: count}, () => {
		const kind = [0, 0, 0, 2, 2, 1][random(6)];
		return {kind, us: random(length), thread: random(3), weight: 1 + random(kind ? 12 : 3),
			stack: [...Array.from({length: 1 + random(5)}, () => 'abf'[random(3)]),
				...kind === 2 ? ['[w]'] : []]};
	}).sort((a, b) => a.us - b.us);
}

/**
 * Return for each microsecond the sample that covers it. This is the next CPU sample or the next
 * wait that has weight left, whichever was taken first. If several were taken at the same time, it
 * is the last one, but a CPU sample has precedence over a wait.
 */
function coverOf(samples, end) {
	const left = samples.map(({weight}) => weight * PERIOD_US);
	const isCpu = ({kind}) => kind === 0;
	const cover = Array(end).fill(null);
	for (let us = end - 1; us >= 0; us--) {
		let best = -1;
		samples.forEach((one, i) => {
			const isOver = samples.some(other => isCpu(other) === isCpu(one)
				&& other.us > us && other.us < one.us);
			if (one.us > us && left[i] > 0 && !isOver && (best < 0 || one.us < samples[best].us
				|| one.us === samples[best].us && (isCpu(one) || !isCpu(samples[best]))))
				best = i;
		});
		if (best >= 0) {
			cover[us] = samples[best];
			left[best]--;
		}
	}
	return cover;
}

/** Return for each microsecond from the left edge on the stack that is drawn there. */
function drawnOf({other}, profile) {
	const drawn = Array(other.total[0]).fill('');
	for (let i = 1; i < other.nodes; i++) {
		const above = other.parent[i];
		assert.ok(above < i && other.depth[i] === other.depth[above] + 1);
		assert.ok(above === 0 || other.from[i] >= other.from[above]
			&& other.from[i] + other.total[i] <= other.from[above] + other.total[above]);
		const sibling = other.sibling[i];
		assert.ok(sibling < 0 || other.from[sibling] >= other.from[i] + other.total[i]
			&& other.parent[sibling] === above);
		for (let us = other.from[i]; us < other.from[i] + other.total[i]; us++)
			drawn[us] += (drawn[us] && ';') + profile.name(other.frame[i]);
	}
	return drawn;
}

const filterOf = (of, times = 'both', terms = []) => ({times, terms, view: 'time', of});

test('at each moment the stack is that of the sample which covers it', () => {
	for (let seed = 1; seed <= 40; seed++) {
		const raw = randomSamples(seed, 3 * seed);
		const profile = chartProfile(raw);
		const end = Math.max(raw.at(-1).us, 1);
		for (const thread of new Set(raw.map(one => one.thread))) {
			const own = raw.filter(one => one.thread === thread);
			const cover = coverOf(own, end);
			const answer = aggregate(profile, filterOf(profile.threads[thread]));
			assert.equal(answer.of, profile.threads[thread]);
			const drawn = drawnOf(answer, profile);
			assert.equal(drawn.length, end);
			for (let us = end - 1, next = null; us >= 0; us--) {
				// A gap that was closed is drawn as the sample behind it.
				next = cover[us] || (drawn[us] ? next : null);
				assert.equal(drawn[us], next ? next.stack.join(';') : '', `${seed}: ${thread} ${us}`);
			}
			for (const isCpu of [true, false]) {
				const isSort = one => (one.kind === 0) === isCpu;
				const spent = own.filter(isSort).reduce((sum, {weight}) => sum + weight, 0);
				const drawnUs = drawn.filter((stack, us) => stack && cover[us] && isSort(cover[us])).length;
				assert.ok(drawnUs <= spent * PERIOD_US);
			}
			const all = own.reduce((sum, {weight}) => sum + weight, 0);
			assert.ok(drawn.filter(Boolean).length <= (all + 2) * PERIOD_US);
			const self = answer.other.self.reduce((a, b) => a + b, 0);
			assert.equal(self, drawn.filter(Boolean).length);
		}
	}
});

test('a thread that never stops has no gaps, whatever the ticks of its kernel', () => {
	for (const tick of [1, 4, 10]) {
		const raw = [];
		for (let us = 7, done = 0; us < 4000; us += tick) {
			const weight = Math.floor(us / PERIOD_US) - done;
			if (weight)
				raw.push({kind: 0, us, thread: 0, weight, stack: ['a']});
			done += weight;
		}
		const profile = chartProfile(raw);
		const {other} = aggregate(profile, filterOf(''));
		assert.equal(other.nodes, 2, `ticks of ${tick}`);
		assert.equal(other.total[1] + other.from[1], other.total[0]);
		assert.ok(other.from[1] <= 7);
	}
});

test('a thread that stops now and then is not drawn as if it ran', () => {
	const raw = Array.from({length: 400}, (_, i) =>
		({kind: 0, us: 10 + 2 * PERIOD_US * i, thread: 0, weight: 1, stack: ['a']}));
	const {other} = aggregate(chartProfile(raw), filterOf(''));
	assert.ok(Math.abs(other.self.reduce((a, b) => a + b, 0) - 400 * PERIOD_US) <= PERIOD_US);
});

test('what a filter leaves out is a gap, and its range is the whole width', () => {
	for (let seed = 100; seed < 110; seed++) {
		const raw = randomSamples(seed, 100);
		const profile = chartProfile(raw);
		const {us} = raw.at(-1);
		const all = drawnOf(aggregate(profile, filterOf('u')), profile);
		const isWait = stack => stack.endsWith('[w]');
		for (const [times, terms, change] of [
			['cpu', [], stack => isWait(stack) ? '' : stack],
			['waits', [], stack => isWait(stack) ? stack : ''],
			['both', [term('focus', 'a')], stack => stack.includes('a') ? stack : ''],
			['both', [term('ignore', 'b')], stack => stack.includes('b') ? '' : stack],
			['both', [term('hide', 'a')], stack => stack.replace(/a;?/g, '').replace(/;$/, '')],
			['both', [term('inlined')], stack => stack.replace(/f;?/g, '').replace(/;$/, '')],
			['both', [term('thread', 'u')], stack => stack],
		])
			assert.deepEqual(drawnOf(aggregate(profile, filterOf('u', times, terms)), profile),
				all.map(change), `${seed} ${times} ${JSON.stringify(terms)}`);
		const part = aggregate(profile, filterOf('u', 'both', [timeTerm(us >> 2, us >> 1)]));
		assert.deepEqual(drawnOf(part, profile), all.slice(us >> 2, us >> 1));
		assert.equal(part.other.chart.beginUs, us >> 2);
	}
});

test('the busiest thread is shown where none is asked for, and threads are told by that', () => {
	const raw = [[0, 3], [1, 9], [2, 4], [1, 1]].map(([thread, weight], i) =>
		({kind: 0, us: 100 * i, thread, weight, stack: ['a']}));
	const profile = chartProfile(raw);
	const of = (name, ...terms) => aggregate(profile, filterOf(name, 'cpu', terms));
	assert.equal(of('').of, 't (1/2)');
	assert.deepEqual(of('').other.chart.threads, [1, 2, 0]);
	assert.equal(of('t').of, 't (1/2)');
	assert.equal(of('u (1/3)').of, 'u (1/3)');
	assert.equal(of('u (1/3)', term('thread', 't')).of, 't (1/2)');
	assert.equal(of('gone').of, 't (1/2)');
	assert.equal(of('', timeTerm(190, 250)).of, 'u (1/3)');
	assert.equal(of('', timeTerm(200, 250)).other, null);
	assert.equal(of('', term('focus', 'none')).other, null);
});

test('idle threads are drawn as what they wait for', () => {
	const profile = chartProfile([{kind: 2, us: 50, thread: 0, weight: 4, stack: ['[idle]', 'a', '[w]']}]);
	assert.deepEqual(new Set(drawnOf(aggregate(profile, filterOf('')), profile)), new Set(['', 'a;[w]']));
});

test('of more boxes than there is room for stretches are merged, and what they lasted is kept', () => {
	const count = 1_100_000;
	const wait = count >> 1;
	const waited = 100_000;
	const few = Array.from({length: 24}, (_, i) => ({kind: 0, us: i, thread: 0, weight: 1,
		stack: ['m', 'abcdefgh'[i % 8], 'xyz'[i % 3]]}));
	const profile = chartProfile(few);
	const {node} = profile.samples;
	profile.samples = {...profile.samples, count, node: Uint32Array.from({length: count}, (_, i) => node[i % 24]),
		time: Uint32Array.from({length: count}, (_, i) => 7 * (i + 1) + (i < wait ? 0 : PERIOD_US * waited)),
		thread: new Uint16Array(count), weight: new Float64Array(count).fill(1), kind: new Uint8Array(count)};
	profile.samples.kind[wait] = 2;
	profile.samples.weight[wait] = waited;
	const {other} = aggregate(profile, filterOf(''));
	assert.ok(other.nodes <= 1 << 20);
	assert.ok(other.chart.mergedUs >= 7);
	const self = other.self.reduce((a, b) => a + b, 0);
	assert.ok(Math.abs(self - (count + waited) * PERIOD_US) <= 4 * PERIOD_US, `${self}`);
	assert.ok(other.self.some(us => us > 0.9 * waited * PERIOD_US));
	let end = 0;
	for (let i = 1; i < other.nodes; i++)
		if (other.depth[i] === 1) {
			assert.ok(other.from[i] >= end);
			end = other.from[i] + other.total[i];
		}
});

test('a way leads to the first box that is on it', () => {
	const raw = ['ab', 'cb', 'aab', 'aba'].map((stack, i) =>
		({kind: 0, us: 100 * (i + 1), thread: 0, weight: 1, stack: [...stack]}));
	const profile = chartProfile(raw);
	const {other} = aggregate(profile, filterOf(''));
	const to = way => firstAlong(other, way.length, (node, level) =>
		profile.name(other.frame[node]) === way[level]);
	const placeOf = node => [other.from[node], other.depth[node]];
	assert.deepEqual(placeOf(to('aba')), [395, 3]);
	assert.deepEqual(placeOf(to('ab')), [95, 2]);
	assert.deepEqual(placeOf(to('aabc')), [295, 3]);
	assert.equal(to('x'), 0);
	assert.equal(to(''), 0);
});
