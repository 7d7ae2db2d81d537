// SPDX-License-Identifier: MIT
// Searching without a worker, where nothing can end a search: which expressions are tried.

import assert from 'node:assert/strict';
import test from 'node:test';

import {Matcher, mostSteps} from './viewer.mjs';

test('what doubles by each character, or may, has no bound', () => {
	for (const source of ['(a+)+$', '(a*)*', '(?:a|aa)+x', '(a|b)*', '((a{1,3})b)*', '(a?)*c',
		'(?:(?:x*))+', '(?<name>a+)+', '([(]+)+', '(a+){2,}', '(\\(+)*', '(a*)*?', '(a+)+?b',
		'(a|b){3}', '(a+){2}', '(a)\\1'])
		assert.equal(mostSteps(source, 100), Infinity, source);
});

test('what does not has one', () => {
	for (const [source, steps] of [['abc', 1], ['a+', 100], ['^std::.*<.*>$', 100 ** 2], ['a?b?', 4],
		['a{2,5}', 100], ['\\+', 100], ['foo|bar|ba', 3], ['(foo|bar)x?', 4], ['a+?', 200],
		['(?=a|b)c', 4], ['[^\\]]*', 100], ['\\d', 1], ['}', 1], ['', 1]])
		assert.equal(mostSteps(source, 100), 100 * steps, source);
});

test('many that may be left out are many ways', () => {
	assert.equal(mostSteps('a?'.repeat(30) + 'a'.repeat(30), 30), 30 * 2 ** 30);
});

const REFUSES = {ask: () => Promise.reject('refused')};

/** @param {string[]} names @param {any} background */
const matcherOf = (names, background = REFUSES) =>
	new Matcher({frames: names.length, name: i => names[i]}, background);

test('without a worker expressions are searched here', async () => {
	const names = Array.from({length: 100}, (_, i) => `f${i}`);
	const {matches, note, error} = await matcherOf(names)
		.match({text: '^f.?9$', regex: true, matchCase: true});
	assert.deepEqual(names.filter((_, i) => matches[i]),
		['f9', 'f19', 'f29', 'f39', 'f49', 'f59', 'f69', 'f79', 'f89', 'f99']);
	assert.equal(note + error, '');
});

test('but one without a bound is text', async () => {
	const names = ['a'.repeat(60) + '!', 'see (A+)+$ there'];
	const {matches, note} = await matcherOf(names)
		.match({text: '(a+)+$', regex: true, matchCase: false});
	assert.deepEqual([...matches], [0, 1]);
	assert.match(note, /plain text/);
});

test('what is searched here ends for the next one', async () => {
	const names = Array.from({length: 2000}, (_, i) => `f${i}`.repeat(1000));
	const matcher = matcherOf(names);
	const query = text => ({text, regex: true, matchCase: true});
	const [first, second] = await Promise.all(
		['f.*!', '^f1f'].map(text => matcher.match(query(text))));
	assert.equal(first.matches, null);
	assert.equal(second.matches.reduce((sum, one) => sum + one), 1);
});

test('a worker that is late is given up', async () => {
	const {matches, error} = await matcherOf(['a'], {ask: () => Promise.reject('late')})
		.match({text: 'a', regex: true, matchCase: true});
	assert.equal(matches, null);
	assert.match(error, /2 s/);
});
