// SPDX-License-Identifier: MIT
// Filters: the samples that are left, compared with a result computed stack by stack.

import assert from 'node:assert/strict';
import test from 'node:test';

import {aggregate, buildTree, pathTo, profileOf, randomOf, stretchesOf, term, timeTerm, weighStretches,
	withTerm, withoutTerms} from './viewer.mjs';

const MODULES = ['', 'x.so', 'y.so'];
const MARKS = [0, 100, 100, 350, 999, 1000].map((us, i) => ({us, text: `m${i}`}));

/** Make samples with random stacks, threads and times, and the profile of a file that has them. */
function makeProfile(seed, count) {
	const random = randomOf(seed);
	const raw = Array.from({length: count}, () => ({
		stack: [...Array.from({length: 1 + random(8)}, () => 'abcdefg'[random(7)]),
			...random(4) ? [] : ['[w]']],
		us: random(1200), thread: random(4), weight: 1 + random(300)}))
		.sort((a, b) => a.us - b.us);
	const moduleOf = {a: 1, b: 1, c: 2};
	const profile = profileOf(raw, {moduleOf, modules: MODULES, marks: MARKS,
		threads: ['t (1/1)', 't (1/2)', 'u (1/3)', 'u (4/4)'],
		processes: ['p (1)', 'p (1)', 'p (1)', 'u (4)']});
	return {raw, profile, moduleOf: name => MODULES[moduleOf[name] || 0]};
}

/**
 * Return a stack with recursion merged: if a name occurs again, the stack is cut after the name's
 * first occurrence.
 */
function withoutRecursion(stack) {
	const made = [];
	for (const name of stack) {
		const at = made.indexOf(name);
		made.splice(at < 0 ? made.length : at + 1);
		if (at < 0)
			made.push(name);
	}
	return made;
}

/** Return the stacks that a filter keeps, with their weights, computed stack by stack. */
function keptOf({raw, profile, moduleOf}, {times, terms}) {
	const of = kind => terms.filter(one => one.kind === kind).map(({value}) => value);
	const time = terms.find(({kind}) => kind === 'time') || {from: -Infinity, to: Infinity};
	const names = ({thread}) => [profile.threads[thread], profile.threads[thread].split(' ')[0]];
	const processes = ({thread}) => [profile.processes[thread], profile.processes[thread].split(' ')[0]];
	const isOfThread = one => !of('thread').length && !of('process').length
		|| of('thread').some(value => names(one).includes(value))
		|| of('process').some(value => processes(one).includes(value));
	const kept = {};
	for (const one of raw) {
		const {stack, us, weight} = one;
		if (us < time.from || us >= time.to || !isOfThread(one)
			|| !of('focus').every(name => stack.includes(name))
			|| !of('module').every(module => stack.some(name => moduleOf(name) === module))
			|| of('ignore').some(name => stack.includes(name))
			|| times === 'cpu' && stack.includes('[w]') || times === 'waits' && !stack.includes('[w]'))
			continue;
		let left = stack.filter((name, i) => !of('hide').includes(name)
			&& !of('hidemodule').includes(moduleOf(name)) && !(of('inlined').length && name === 'f')
			&& !(i && of('collapse').includes(moduleOf(name)) && moduleOf(stack[i - 1]) === moduleOf(name)));
		if (of('recursion').length)
			left = withoutRecursion(left);
		kept[left.join(';')] = (kept[left.join(';')] || 0) + weight;
	}
	return kept;
}

function stacksOf(columns, {name}) {
	const tree = buildTree(columns);
	const stacks = {};
	for (let node = 0; node < tree.nodes; node++)
		if (tree.self[node])
			stacks[pathTo(tree, node).map(one => name(tree.frame[one])).join(';')] = tree.self[node];
	return stacks;
}

const TERMS = [timeTerm(100, 700), timeTerm(-Infinity, 5), timeTerm(1199, Infinity), timeTerm(3, 3),
	term('thread', 't'), term('thread', 't (1/2)'), term('thread', 'u'), term('process', 'p (1)'),
	term('process', 'u'), term('focus', 'a'), term('focus', 'f'), term('focus', 'none'),
	term('module', 'x.so'), term('module', 'none'), term('ignore', 'b'), term('ignore', '[w]'),
	term('hide', 'a'), term('hide', 'd'), term('hidemodule', 'x.so'), term('hidemodule', 'y.so'),
	term('collapse', 'x.so'), term('collapse', 'y.so'), term('recursion'), term('inlined')];

test('what a filter keeps is what it asks for, and all of it', () => {
	const sorted = stacks => Object.entries(stacks).sort();
	for (let seed = 1; seed < 40; seed++) {
		const made = makeProfile(seed, 20 * seed);
		const random = randomOf(seed + 1000);
		for (const times of ['both', 'cpu', 'waits'])
			for (let many = 0; many < 5; many++) {
				let filter = {times, terms: []};
				for (let i = 0; i < many; i++)
					filter = withTerm(filter, TERMS[random(TERMS.length)]);
				const {every, shown} = aggregate(made.profile, filter);
				assert.deepEqual(sorted(stacksOf(shown, made.profile)), sorted(keptOf(made, filter)),
					JSON.stringify(filter));
				assert.deepEqual(sorted(stacksOf(every, made.profile)),
					sorted(keptOf(made, {...filter, times: 'both'})), JSON.stringify(filter));
				for (let node = 1; node < shown.nodes; node++)
					assert.ok(shown.parent[node] < node);
			}
	}
});

test('another view of what a filter keeps is no new look at the samples', () => {
	const {profile} = makeProfile(5, 200);
	let looks = 0;
	const counted = Object.create(profile, {samples: {get: () => looks++ < 0 || profile.samples}});
	const filter = withTerm({times: 'cpu', terms: [], view: 'graph', of: ''}, timeTerm(100, 900));
	const graph = aggregate(counted, filter);
	const before = looks;
	assert.ok(before > 0);
	assert.deepEqual(aggregate(counted, {...filter, view: 'table'}).shown, graph.shown);
	assert.deepEqual(aggregate(counted, {...filter, view: 'sandwich', of: 'a'}).every, graph.every);
	assert.equal(looks, before);
	assert.notDeepEqual(aggregate(counted, {...filter, times: 'both'}).shown, graph.shown);
	assert.ok(looks > before);
	assert.deepEqual(aggregate(counted, filter).shown, graph.shown);
});

test('nothing of the profile is changed by a filter', () => {
	const {profile} = makeProfile(7, 200);
	const before = JSON.stringify([profile.tree, profile.samples]);
	for (const one of TERMS)
		aggregate(profile, {times: 'cpu', terms: [one]});
	assert.equal(JSON.stringify([profile.tree, profile.samples]), before);
});

test('stretches between marks part the samples', () => {
	const made = makeProfile(11, 800);
	const stretches = stretchesOf(MARKS);
	assert.deepEqual(stretches.map(({text}) => text),
		['before m0', 'm0', 'm1', 'm2', 'm3', 'm4', 'm5']);
	for (const terms of [[], [term('thread', 'u')]])
		for (const times of ['both', 'cpu', 'waits']) {
			const filter = {times, terms};
			const weights = [...weighStretches(made.profile, filter)];
			const kept = stretches.map(({from, to, text}) => keptOf(made,
				withTerm(filter, timeTerm(from, to, text))));
			assert.deepEqual(weights, kept.map(stacks =>
				Object.values(stacks).reduce((a, b) => a + b, 0)));
			assert.deepEqual(weights.slice(0, 4).map(Boolean), [false, true, false, true]);
		}
	assert.deepEqual(stretchesOf([]), []);
});

test('terms are added once and taken away', () => {
	let filter = {times: 'cpu', terms: []};
	for (const one of [timeTerm(1, 2), term('hide', 'a'), timeTerm(3, 4), term('hide', 'a'),
		term('hide', 'b')])
		filter = withTerm(filter, one);
	assert.deepEqual(filter.terms, [timeTerm(3, 4), term('hide', 'a'), term('hide', 'b')]);
	assert.deepEqual(withoutTerms(filter, ({kind}) => kind === 'hide').terms, [timeTerm(3, 4)]);
});
