// SPDX-License-Identifier: MIT
// Searching, labels, numbers, ranges, and the state in the URL.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import test from 'node:test';

import {KEYS, Labels, between, comparedName, compileQuery, ease, findMark, followWay, term, timeTerm, formatPercent,
	formatPlace, formatSeconds, invertTree, linesOf, markDigits, markStacks, matchFrames, matchesIn, nameDigits,
	parsePlace, pathTo, shortName, treeOf, wayOf} from './viewer.mjs';

const query = (text, regex = false, matchCase = false) => ({text, regex, matchCase});

test('queries', () => {
	assert.equal(compileQuery(query('')).test, null);
	assert.ok(compileQuery(query('MAP<')).test('std::map<int>'));
	assert.ok(!compileQuery(query('MAP<', false, true)).test('std::map<int>'));
	assert.ok(!compileQuery(query('m.p')).test('map'));
	assert.ok(compileQuery(query('^M.p$', true)).test('map'));
	assert.ok(!compileQuery(query('^M.p$', true, true)).test('map'));
	const wrong = compileQuery(query('(', true));
	assert.equal(wrong.test, null);
	assert.match(wrong.error, /^Unterminated group$/);
});

test('the weight of matches counts once, in either order, and each match is visited', () => {
	const {tree, frames} = treeOf(
		{'a;b;a': 5, 'a;c': 7, 'd;a': 11, 'd;e;a;a': 13, 'd': 17});
	const marks = markStacks(tree, matchFrames(frames.length, i => frames[i], name => name === 'a'));
	const found = one => matchesIn(one, marks, 100).map(node =>
		pathTo(one, node).map(step => frames[one.frame[step]]).join(';')).sort();
	assert.deepEqual(found(tree), ['a', 'a;b;a', 'd;a', 'd;e;a', 'd;e;a;a']);
	const inverted = invertTree(tree);
	assert.deepEqual(found(inverted), ['a', 'a;a', 'a;b;a', 'c;a']);
	for (const one of [tree, inverted])
		assert.equal(one.markedWeight(0, marks.stacks), 36);
	assert.equal(matchesIn(tree, marks, 2).length, 2);
});

test('labels', () => {
	const labels = new Labels(character => character === 'i' ? 3 : 6);
	assert.equal(labels.fit('iiii', 12), 'iiii');
	assert.equal(labels.fit('abcd', 23), 'ab\u2026');
	assert.equal(labels.fit('abcd', 24), 'abcd');
	assert.equal(labels.fit('abcd', 12), '');
	assert.equal(labels.fit('map<int, long>::at', 60), 'map<\u2026>::at');
	assert.equal(labels.fit('\u{1f525}\u{1f525}\u{1f525}\u{1f525}', 18), '\u{1f525}\u{1f525}\u2026');
	assert.equal(labels.fit('map<int>::at', 600), 'map<\u2026>::at');
	const whole = new Labels(() => 6, true);
	assert.equal(whole.fit('map<int>::at', 600), 'map<int>::at');
	assert.equal(whole.fit('map<int>::at', 60), 'map<\u2026>::at');
});

/**
 * Return the lines of a table of test cases. The tests of the static picture read the same table.
 */
function casesOf(table) {
	const lines = readFileSync(new URL(`../${table}.tsv`, import.meta.url), 'utf8').split('\n')
		.filter(line => line && !line.startsWith('#'));
	assert.ok(lines.length > 30);
	return lines.map(line => line.split('\t'));
}

test('short names, as in the static picture', () => {
	for (const [name, short] of casesOf('labels'))
		assert.equal(shortName(name), short);
});

test('expressions, as in --focus', () => {
	for (const [expression, name, matches] of casesOf('expressions'))
		assert.equal(compileQuery(query(expression, true, true)).test(name), matches === 'yes', expression);
});

test('names for comparing, as in flamerun diff', () => {
	for (const [name, compared] of casesOf('renumbered'))
		assert.equal(comparedName(name, true), compared);
	for (const [name, compared] of [['work (app.py:10)', 'work (app.py)'],
		['(anonymous) (main.4f3a9c1b2d.js:7)', '(anonymous) (main.js)'],
		['work ((eval 3):1)', 'work ((eval):1)'], ['work (app.py)', 'work (app.py)'], ['work:10', 'work:10']])
		assert.equal(comparedName(name, false), compared);
});

test('what is left of names, as in the static picture', () => {
	const labels = new Labels(() => 1);
	const given = text => text === '-' ? '' : text;
	for (const [name, left, right, room, fitted] of casesOf('fitted'))
		assert.equal(labels.fit(name, Number(room), [left, right].filter(given)),
			given(fitted), `${name} within ${room}`);
	assert.equal(labels.fitText('all: 100 samples', 10), 'all: 100 \u2026');
});

test('numbers', () => {
	assert.equal(formatPercent(1, 8), '12.5\u202f%');
	assert.equal(formatPercent(1, 80), '1.25\u202f%');
	assert.equal(formatPercent(0, 0), '0\u202f%');
	assert.equal(formatSeconds(0), '0\u202fs');
	assert.equal(formatSeconds(0.0042), '4.20\u202fms');
	assert.equal(formatSeconds(61.23), '61.2\u202fs');
});

test('a zoom ends where it should and keeps what both spans share in sight', () => {
	assert.equal(ease(0), 0);
	assert.equal(ease(1), 1);
	const whole = {from: 0, to: 1000};
	const part = {from: 300, to: 301};
	assert.deepEqual(between(whole, part, 0), whole);
	assert.deepEqual(between(whole, part, 1), part);
	for (let t = 0; t <= 1; t += 0.05)
		for (const [a, b] of [[whole, part], [part, whole]]) {
			const now = between(a, b, t);
			assert.ok(now.from <= 300 + 1e-9 && now.to >= 301 - 1e-9, `${t}`);
		}
	const half = between(whole, part, 0.5);
	assert.ok(Math.abs(half.to - half.from - Math.sqrt(1000)) < 1e-9);
	const next = between({from: 0, to: 10}, {from: 10, to: 20}, 0.5);
	assert.ok(Math.abs(next.from - 5) < 1e-9 && Math.abs(next.to - 15) < 1e-9);
});

const NOWHERE = {times: '', mark: '', terms: [], view: '', of: '', way: {levels: [], more: 0}, span: null,
	sort: '', order: '', layout: '', theme: '', opened: '', query: query('')};

test('the state goes into a fragment and comes back', () => {
	const state = {times: 'waits', mark: markDigits([{text: 'begin'}], 0), terms: [term('inlined'),
		term('recursion'), timeTerm(1500000, 2250001), term('focus', 'a&b=c #%+ \u00fc'),
		term('thread', 'x (1/2)'), term('collapse', 'libc.so.6')],
		view: 'sandwich', of: 'a&b', way: wayOf(['main', 'operator<<', 'f']), span: {from: 0.25, to: 0.5},
		sort: 'name-rising', order: 'bottom-up', layout: 'icicle', theme: 'dark', opened: 'lanes',
		query: query('a&b=c #%+ \u00fc', true, true)};
	assert.deepEqual(parsePlace(formatPlace(state)), state);
	assert.equal(formatPlace(NOWHERE), '');
	for (const nonsense of ['', '#', '#&&=&', '#zoom=1.2&span=-&order=x&theme', '#span=0.5-0.2',
		'#search=%', '#span=NaN-NaN', '#inlined=x', '#times=all', '#mark=-2', '#mark=1', '#mark=1e3x',
		'#box=ab', '#box=.5', '#box=abc.', '#box=%', '#box=abc.1e9', '#time=-', '#time=1', '#time=a-b',
		'#focus=', '#hide', '#recursion=x'])
		assert.deepEqual(parsePlace(nonsense), NOWHERE, nonsense);
	assert.deepEqual(parsePlace('#time=-2.5').terms, [timeTerm(-Infinity, 2500000)]);
	assert.deepEqual(parsePlace('#time=2.5-').terms, [timeTerm(2500000, Infinity)]);
});

test('a link is short, whatever it is of', () => {
	const long = Array.from({length: 5000}, (_, i) => `std::vector<int>::push_back_${i}`);
	const place = {...NOWHERE, way: wayOf(long), mark: markDigits([{text: long.join()}], 0),
		times: 'waits', terms: long.slice(0, 20).map(name => term('hidemodule', name)),
		view: 'sandwich', of: long.join(), span: {from: 0.123456789, to: 0.987654321},
		order: 'bottom-up', layout: 'icicle', theme: 'light', opened: 'heat',
		query: query('\u00fc'.repeat(100), true, true)};
	assert.ok(formatPlace(place).length <= 2000);
	assert.ok(formatPlace(place).includes('search='));
	assert.ok(!formatPlace({...place, query: query('a'.repeat(601))}).includes('search='));
	assert.ok(formatPlace({...NOWHERE, way: wayOf(long.slice(0, 30))}).length < 100);
	for (const name of ['', 'main', ...long])
		assert.match(nameDigits(name), /^[A-Za-z][\w-]{2}$/);
});

test('a way leads to the same names in another tree, as far as that has them', () => {
	const here = treeOf({'m;a;b;c': 1, 'm;z': 2});
	const there = treeOf({'aa': 1, 'm;0': 1, 'm;a;0;c': 1, 'm;a;b': 3, 'q;c': 1});
	const names = ['m', 'a', 'b', 'c'];
	const nameIn = ({tree, frames}) => node => frames[tree.frame[node]];
	const end = (one, way) => {
		const {node, missing} = followWay(one.tree, way, nameIn(one));
		return [node && nameIn(one)(node), one.tree.depth[node], missing];
	};
	assert.deepEqual(end(here, wayOf(names)), ['c', 4, 0]);
	assert.deepEqual(end(there, wayOf(names)), ['b', 3, 1]);
	assert.deepEqual(end(there, wayOf(['x', 'a'])), [0, 0, 2]);
	// The stack is too deep for a link with all levels: missing levels are followed through
	// single children.
	const deep = Array.from({length: 1000}, (_, i) => `f${i}`);
	assert.deepEqual(end(treeOf({[deep.join(';')]: 1, 'f0;x': 1}), wayOf(deep)), ['f999', 1000, 0]);
	assert.deepEqual(end(treeOf({[deep.join(';')]: 1, [deep.slice(0, 500).join(';') + ';x']: 1}),
		wayOf(deep)), ['f499', 500, 500]);
});

test('marks are found by what they say', () => {
	const stretches = ['before a', 'a', 'b', 'a'].map(text => ({text}));
	for (let i = 0; i < 4; i++)
		assert.equal(findMark(stretches, markDigits(stretches, i)), i);
	assert.equal(findMark(stretches.slice(1), markDigits(stretches, 2)), 1);
	assert.equal(findMark(stretches, nameDigits('c')), -1);
	assert.equal(markDigits(stretches, -1), '');
});

test('lines are told by file name, number and share of the function', () => {
	const lines = {files: ['/src/a.c', '', 'b/'], first: [0, 0, 3], more: [0, 2],
		file: [0, 1, 2], number: [12, 0, 7], self: [1, 2, 3], total: [30, 20, 10],
		waits: [26, 0, 10]};
	const state = {profile: {lines}, tree: {frame: [9, 1, 0]}, totalOf: frame => frame * 40,
		times: 'both'};
	assert.deepEqual(linesOf(state, 1), {file: '/src/a.c', more: 2, lines: [
		{place: 'a.c:12', file: '/src/a.c', self: 1, total: 30, share: '75.0\u202f%'},
		{place: '?', file: '', self: 2, total: 20, share: '50.0\u202f%'},
		{place: 'b/:7', file: 'b/', self: 3, total: 10, share: '25.0\u202f%'}]});
	// Lines are sorted by the times that are shown: the heaviest line comes first, and lines
	// without such time are left out.
	assert.deepEqual(linesOf({...state, times: 'cpu'}, 1).lines.map(({place, total, self}) =>
		[place, total, self]), [['?', 20, 2], ['a.c:12', 4, 1]]);
	assert.deepEqual(linesOf({...state, times: 'waits'}, 1).lines.map(({place, total, self}) =>
		[place, total, self]), [['a.c:12', 26, 0], ['b/:7', 10, 0]]);
	assert.equal(linesOf(state, 2), null);
	assert.equal(linesOf(state, 0), null);
});

test('no key is listed twice', () => {
	const keys = KEYS.flatMap(([shown]) => shown.split(' '));
	assert.equal(new Set(keys).size, keys.length);
	// Each key must have an action, except Ctrl+F and the keys of the search field's buttons.
	for (const [shown, , actions] of KEYS)
		assert.equal(actions.split(' ').length, shown.split(' ').length - /Ctrl|Alt/.test(shown));
});
