// SPDX-License-Identifier: MIT
// The data of a picture made by the program (FLAMERUN, default build/flamerun), whole and damaged.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {deflateSync} from 'node:zlib';

import viewer, {randomStacks} from './viewer.mjs';

const {buildTree, bytesOf, childrenOf, cleanText, readColumns, readNodes, readProfile, unpack} =
	viewer;
const PROGRAM = process.env.FLAMERUN
	|| new URL('../../build/flamerun', import.meta.url).pathname;
const NODES = 12;

/** @param {Record<string, number>} stacks @returns {string[]} the text of each piece */
function piecesOf(stacks) {
	const folder = mkdtempSync(join(tmpdir(), 'flamerun-'));
	try {
		const [from, to] = [join(folder, 'a.folded'), join(folder, 'a.svg')];
		writeFileSync(from, Object.entries(stacks).map(pair => pair.join(' ') + '\n').join(''));
		execFileSync(PROGRAM, ['render', '-q', from, '-o', to]);
		return [...readFileSync(to, 'utf8').matchAll(/<piece[^>]*>([^<]*)<\/piece>/g)]
			.map(match => match[1]);
	} finally {
		rmSync(folder, {recursive: true});
	}
}

const columnsOf = async stacks => readColumns(await unpack(piecesOf(stacks)));

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

/** Numbers below `most` that are the same for the same seed. */
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
	// More callees than are remembered, and so many calls that their times are halved.
	for (let i = 0; i < 12000; i++)
		many[`main;f${i % 700};g${i};h;k${(i * 7 + i % 11) % 140}`] = 1 + i % 5;
	for (const stacks of [{a: 1}, large, many, ...[1, 2, 3].map(seed => randomStacks(seed, 900))])
		assert.deepEqual(sorted(stacksOf(readProfile(await columnsOf(stacks)))), sorted(stacks));
});

test('digits give bytes', () => {
	assert.deepEqual([...bytesOf('')], []);
	assert.deepEqual([...bytesOf('!!!')], [0, 0]);
	// The largest 13 bits are 90 * 91 + 1.
	assert.deepEqual([...bytesOf(' "~\n')], [255]);
	for (const wrong of ['a<', 'a&', 'a>', 'a\u00e9', 'a\u0100'])
		assert.throws(() => bytesOf(wrong), RangeError);
});

test('damaged text is refused', async () => {
	const pieces = piecesOf(randomStacks(4, 400));
	const random = generator(5);
	const text = pieces.join('');
	assert.ok(await unpack([text]));
	for (let i = 0; i < 200; i++) {
		const at = random(text.length - 3);
		const digit = String.fromCharCode(63 + random(64));
		const damaged = [
			text.slice(0, at),
			text.slice(0, at) + text.slice(at + 1),
			text.slice(0, at) + digit + text.slice(at),
			text.slice(0, at) + digit + text.slice(at + 1),
		][i % 4];
		if (damaged.replaceAll('\n', '') !== text.replaceAll('\n', ''))
			await assert.rejects(unpack([damaged]));
	}
});

test('nodes that are something else give nodes or one error', async () => {
	const columns = await columnsOf(randomStacks(6, 400));
	const {nodes, frames} = readProfile(columns);
	const good = columns.get(NODES);
	const random = generator(7);
	let refused = 0;
	for (let i = 0; i < 3000; i++) {
		let bytes = good.slice(0, i % 3 ? good.length : random(good.length));
		for (let n = i % 3 === 1 ? 1 : 40; n > 0 && i % 3; n--)
			bytes[1 + random(bytes.length - 1)] = random(256);
		if (i % 5 === 0)
			bytes = Uint8Array.from({length: 1 + random(2000)}, (_, k) => k && random(256));
		try {
			const read = readNodes(bytes, nodes, frames);
			assert.ok(read.frame.every((frame, node) => node ? frame < frames : frame === frames));
			assert.ok(read.parent.every((parent, node) => parent < node || node === 0));
			assert.ok(read.self.every(weight => weight >= 0));
		} catch (error) {
			assert.ok(error instanceof RangeError, String(error));
			refused++;
		}
	}
	assert.ok(refused > 2000, `${refused} refused`);
	assert.throws(() => readNodes(undefined, nodes, frames), RangeError);
	assert.throws(() => readNodes(good, 2 ** 32, frames), RangeError);
	assert.throws(() => readNodes(good, nodes, 0), RangeError);
	assert.throws(() => readNodes(Uint8Array.from([...good, 0]), nodes, frames), RangeError);
});

test('any columns give a profile or one error', async () => {
	const raw = await unpack(piecesOf(randomStacks(8, 200)));
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
	packed[packed.length - 1] ^= 1;
	const DIGITS = [...Array(94)].map((_, i) => String.fromCharCode(33 + i))
		.filter(one => !'&<>'.includes(one));
	let bits = 0n;
	packed.forEach((byte, i) => { bits |= BigInt(byte) << BigInt(8 * i); });
	let text = '';
	for (let have = 0; have < 8 * packed.length; have += 13, bits >>= 13n)
		text += DIGITS[Number(bits & 8191n) % 91] + DIGITS[Number(bits & 8191n) / 91 | 0];
	await assert.rejects(unpack([text]), /check/);
});
