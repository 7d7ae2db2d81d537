// SPDX-License-Identifier: MIT
// Read the data of a picture that the program drew (FLAMERUN, default build/flamerun), both intact
// and damaged.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {deflateSync} from 'node:zlib';

import {buildTree, childrenOf, cleanText, inflate, randomStacks, readColumns, readNodes, readProfile}
	from './viewer.mjs';

const PROGRAM = process.env.FLAMERUN
	|| new URL('../../build/flamerun', import.meta.url).pathname;
const [UPS, FRAMES, WEIGHTS] = [12, 13, 14];

/** @param {Record<string, number>} stacks @returns {string} */
function pictureOf(stacks) {
	const folder = mkdtempSync(join(tmpdir(), 'flamerun-'));
	try {
		const [from, to] = [join(folder, 'a.folded'), join(folder, 'a.svg')];
		writeFileSync(from, Object.entries(stacks).map(pair => pair.join(' ') + '\n').join(''));
		execFileSync(PROGRAM, ['render', '-q', from, '-o', to]);
		return readFileSync(to, 'utf8');
	} finally {
		rmSync(folder, {recursive: true});
	}
}

/** @param {Record<string, number>} stacks @returns {string[]} the text of each piece */
function piecesOf(stacks) {
	return [...pictureOf(stacks).matchAll(/<piece[^>]*>([^<]*)<\/piece>/g)].map(match => match[1]);
}

const columnsOf = async stacks => readColumns(await inflate(piecesOf(stacks)));

function stacksOf(profile) {
	const tree = buildTree(profile.tree);
	const stacks = {};
	const paths = [''];
	for (let node = 0; node < tree.nodes; node++) {
		for (const child of childrenOf(tree, node))
			paths[child] = (node ? paths[node] + ';' : '') + profile.name(tree.frame[child]);
		if (tree.self[node])
			stacks[paths[node]] = tree.self[node];
	}
	return stacks;
}

/**
 * Returns a function that returns random numbers below `most`. An equal seed gives equal numbers.
 */
function generator(seed) {
	return most => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 65536) % most;
	};
}

const sorted = stacks => Object.entries(stacks).sort();

test('stacks come back', async () => {
	const large = {'main;huge': 2 ** 45 + 1, 'main;huge;half': 2 ** 45, 'a;b': 1};
	const many = {};
	for (let i = 0; i < 12000; i++)
		many[`main;f${i % 700};g${i};h;k${(i * 7 + i % 11) % 140}`] = 1 + i % 5;
	for (const stacks of [{a: 1}, large, many, ...[1, 2, 3].map(seed => randomStacks(seed, 900))])
		assert.deepEqual(sorted(stacksOf(readProfile(await columnsOf(stacks)))), sorted(stacks));
});

test('once the samples are read, names and tree need no data any more', async () => {
	for (const stacks of [{'main;plain': 2, 'main;other': 1}, {'main;\u00fcber': 2, 'main;b\ufb01n': 1}]) {
		const data = await inflate(piecesOf(stacks));
		let done = 0;
		const profile = readProfile(readColumns(data), () => {
			structuredClone(data.buffer, {transfer: [data.buffer]});
			done++;
		});
		assert.equal(done, 0);
		assert.equal(profile.samples.count, 0);
		assert.equal(profile.samples, profile.samples);
		assert.equal(done, 1);
		assert.equal(data.length, 0);
		assert.deepEqual(sorted(stacksOf(profile)), sorted(stacks));
	}
});

test('the text of the viewer is its style and its script', async () => {
	const [, text] = pictureOf({a: 1}).match(/id="flamerun-viewer">([^<]*)</);
	const [style, script, ...more] = new TextDecoder().decode(await inflate([text], 'gzip')).split('\0');
	assert.match(style, /^@?[^]*\}\s*$/);
	assert.match(script, /^[^]*sourceURL=flamerun-.*\s*$/);
	assert.deepEqual(more, []);
});

test('text that is no base64 is refused', async () => {
	for (const wrong of ['eJz<', 'eJz&', 'eJz\u00e9', 'eJz\u0100', 'eJz=='])
		await assert.rejects(inflate([wrong]));
});

test('damaged text is refused', async () => {
	const pieces = piecesOf(randomStacks(4, 400));
	const random = generator(5);
	const text = pieces.join('');
	assert.ok(await inflate([text]));
	for (let i = 0; i < 200; i++) {
		const at = random(text.length - 3);
		const digit = String.fromCharCode(65 + random(26));
		const damaged = [
			text.slice(0, at),
			text.slice(0, at) + text.slice(at + 1),
			text.slice(0, at) + digit + text.slice(at),
			text.slice(0, at) + digit + text.slice(at + 1),
		][i % 4];
		if (damaged.replaceAll('\n', '') !== text.replaceAll('\n', ''))
			await assert.rejects(inflate([damaged]));
	}
});

test('nodes that are something else give nodes or one error', async () => {
	const columns = await columnsOf(randomStacks(6, 400));
	const {nodes, frames} = readProfile(columns);
	const random = generator(7);
	let refused = 0;
	for (let i = 0; i < 3000; i++) {
		const tag = [UPS, FRAMES, WEIGHTS][i % 3];
		const good = columns.get(tag);
		const bytes = good.slice(0, i % 4 ? good.length : random(good.length));
		for (let n = 1 + random(3); n > 0; n--)
			bytes[random(bytes.length)] = random(256);
		try {
			const read = readNodes(new Map([...columns, [tag, bytes]]), nodes, frames);
			assert.ok(read.frame.every((frame, node) => node ? frame < frames : frame === frames));
			assert.ok(read.parent.every((parent, node) => parent < node || node === 0));
			assert.ok(read.self.every(weight => weight >= 0));
		} catch (error) {
			assert.ok(error instanceof RangeError, String(error));
			refused++;
		}
	}
	assert.ok(refused > 1500, `${refused} refused`);
	for (const tag of [UPS, FRAMES, WEIGHTS]) {
		const others = new Map([...columns].filter(([one]) => one !== tag));
		assert.throws(() => readNodes(others, nodes, frames), RangeError);
	}
	assert.throws(() => readNodes(columns, 2 ** 32, frames), RangeError);
	assert.throws(() => readNodes(columns, 0, frames), RangeError);
	assert.throws(() => readNodes(columns, nodes, 0), RangeError);
	const withColumn = (tag, bytes) => new Map([...columns, [tag, Uint8Array.from(bytes)]]);
	// A number that is too large for a double, and a node whose parent would be above the root.
	const endless = [...Array(200).fill(128), 1];
	assert.throws(() => readNodes(withColumn(WEIGHTS, endless), 1, 1), RangeError);
	const high = Array(nodes - 1).fill(0);
	high[3] = 4;
	assert.throws(() => readNodes(withColumn(UPS, high), nodes, frames), RangeError);
	high[3] = 3;
	assert.equal(readNodes(withColumn(UPS, high), nodes, frames).parent[4], 0);
});

/**
 * Return the columns with lines added: counts[i] lines for frame i, and the steps from each line to
 * the next.
 */
function withLines(columns, counts, {steps, files}) {
	const made = new Map(columns);
	const lines = counts.reduce((sum, count) => sum + count, 0);
	const put = (tag, numbers) => made.set(tag, Uint8Array.from(numbers));
	put(29, [0, 3, 97, 46, 99]);
	put(30, counts);
	put(31, counts.map(count => count && 5));
	put(32, files.slice(0, lines));
	put(33, steps.slice(0, lines));
	put(34, Array.from({length: lines}, (_, i) => i));
	put(35, Array.from({length: lines}, (_, i) => 100 - i));
	return made;
}

test('lines come back, and none where there are none', async () => {
	const columns = await columnsOf({'a;b;c': 1});
	const none = readProfile(columns).lines;
	assert.deepEqual([[...none.first], [...none.more], none.files], [[0, 0, 0, 0], [0, 0, 0], []]);
	const some = {steps: [20, 10, 3], files: [1, 0, 1]};
	const {lines} = readProfile(withLines(columns, [2, 0, 1], some));
	assert.deepEqual([...lines.first], [0, 2, 2, 3]);
	assert.deepEqual([...lines.more], [5, 0, 5]);
	assert.deepEqual(lines.files, ['', 'a.c']);
	assert.deepEqual([...lines.file], [1, 0, 1]);
	assert.deepEqual([...lines.number], [10, 15, 13]);
	assert.deepEqual([...lines.self, ...lines.total], [0, 1, 2, 100, 99, 98]);
	// A file that does not exist, a line before line 1, and columns that are too short.
	for (const wrong of [{...some, files: [2, 0, 1]}, {...some, steps: [20, 10, 31]},
		{...some, steps: [20, 10]}, {...some, files: []}])
		assert.throws(() => readProfile(withLines(columns, [2, 0, 1], wrong)), RangeError);
	assert.throws(() => readProfile(withLines(columns, [2, 0], some)), RangeError);
	assert.throws(() => readProfile(withLines(columns, [127, 127, 127],
		{steps: [], files: []})), RangeError);
});

test('any columns give a profile or one error', async () => {
	const raw = await inflate(piecesOf(randomStacks(8, 200)));
	const random = generator(9);
	let refused = 0;
	for (let i = 0; i < 2000; i++) {
		const bytes = raw.slice(0, i % 4 ? raw.length : random(raw.length));
		for (let n = i % 4 ? 1 + random(3) : 0; n > 0; n--)
			bytes[random(bytes.length)] = random(256);
		try {
			const profile = readProfile(readColumns(bytes));
			for (let frame = 0; frame < profile.frames; frame++)
				assert.equal(profile.name(frame), cleanText(profile.name(frame)));
			buildTree(profile.tree);
		} catch (error) {
			assert.ok(error instanceof RangeError, String(error?.stack));
			refused++;
		}
	}
	assert.ok(refused > 500, `${refused} refused`);
});

test('what has no checksum that fits is refused', async () => {
	const packed = deflateSync(Buffer.from('columns'));
	assert.equal(Buffer.from(await inflate([packed.toString('base64')])).toString(), 'columns');
	packed[packed.length - 1] ^= 1;
	await assert.rejects(inflate([packed.toString('base64')]), /check/);
});
