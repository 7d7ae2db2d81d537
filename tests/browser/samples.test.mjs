// SPDX-License-Identifier: MIT
// Read the table of samples from columns that this test makes.

import assert from 'node:assert/strict';
import test from 'node:test';

import {readSampleTable} from './viewer.mjs';

/** @param {number[]} numbers as varints */
function varints(numbers) {
	const bytes = [];
	for (let number of numbers) {
		for (; number >= 128; number = Math.floor(number / 128))
			bytes.push(128 + number % 128);
		bytes.push(number);
	}
	return Uint8Array.from(bytes);
}

const planes = numbers => Uint8Array.from(
	[0, 1, 2, 3].filter(plane => !plane || numbers.some(number => number >= 256 ** plane))
		.flatMap(plane => numbers.map(number => Math.floor(number / 256 ** plane) % 256)));

/** Valid columns for these samples. */
function columnsOf(samples, {nodes = 9, threads = 2, tickUs = 1} = {}) {
	const column = key => samples.map(sample => sample[key]);
	const last = {};
	const steps = samples.map(({node, thread}) => {
		const step = node - (last[thread] || 0);
		last[thread] = node;
		return step < 0 ? -2 * step - 1 : 2 * step;
	});
	return new Map([
		[3, varints([1, 1, nodes, 1, 1, threads, samples.length, 0, 0, 0])],
		[45, varints([tickUs])],
		[46, planes(column('time').map((time, i, times) => time - (i ? times[i - 1] : 0)))],
		[47, planes(steps)],
		[48, planes(column('thread'))],
		[49, planes(column('weight'))],
		[50, planes(column('kind'))],
	]);
}

const rowsOf = table => Array.from({length: table.count}, (_, i) => ({
	time: table.time[i], node: table.node[i], thread: table.thread[i],
	weight: table.weight[i], kind: table.kind[i]}));

const SAMPLES = [
	{time: 20, node: 0, thread: 0, weight: 1, kind: 0},
	{time: 20, node: 8, thread: 1, weight: 255, kind: 2},
	{time: 70020, node: 3, thread: 0, weight: 2, kind: 1},
	{time: 2 ** 32 - 1, node: 1, thread: 1, weight: 3, kind: 0},
];

test('samples come back', () => {
	const table = readSampleTable(columnsOf(SAMPLES, {tickUs: 2 ** 33}));
	assert.deepEqual(rowsOf(table), SAMPLES);
	assert.deepEqual([table.thread.constructor, table.weight.constructor, table.tickUs],
		[Uint16Array, Uint8Array, 2 ** 33]);
	const many = {threads: 70001};
	const large = [{...SAMPLES[0], thread: 70000, weight: 256}, {...SAMPLES[1], weight: 2 ** 32 - 1}];
	const wide = readSampleTable(columnsOf(large, many));
	assert.deepEqual(rowsOf(wide), large);
	assert.deepEqual([wide.thread.constructor, wide.weight.constructor],
		[Uint32Array, Uint32Array]);
	assert.equal(readSampleTable(columnsOf([])).count, 0);
	assert.equal(readSampleTable(columnsOf([], {threads: 0})).count, 0);
});

test('pictures without times have none of the columns', () => {
	const columns = columnsOf([]);
	[45, 46, 47, 48, 49, 50].forEach(tag => columns.delete(tag));
	assert.deepEqual(rowsOf(readSampleTable(columns)), []);
});

test('samples of nothing are refused', () => {
	for (const wrong of [{node: 9}, {node: -1}, {kind: 3}, {thread: 2}])
		assert.throws(() => readSampleTable(columnsOf([{...SAMPLES[0], ...wrong}])), RangeError);
	const late = columnsOf([SAMPLES[0], SAMPLES[3], {...SAMPLES[3], time: 2 ** 32}]);
	assert.throws(() => readSampleTable(late), RangeError);
	assert.throws(() => readSampleTable(columnsOf(SAMPLES, {tickUs: 0})), RangeError);
	for (const tag of [46, 47, 48, 49, 50])
		for (const bytes of [0, 2, 3, 5, 20]) {
			const columns = columnsOf(SAMPLES);
			columns.set(tag, new Uint8Array(bytes));
			assert.throws(() => readSampleTable(columns), RangeError, `${tag}: ${bytes}`);
			columns.delete(tag);
			assert.throws(() => readSampleTable(columns), RangeError);
		}
});
