// SPDX-License-Identifier: MIT
// The rows of the tree of calls.

import assert from 'node:assert/strict';
import test from 'node:test';

import {heaviestFirst, invertTree, pathTo, rowsUnfolded, treeOf, unfoldAll} from './viewer.mjs';

const {tree, frames} = treeOf({'a;b': 3, 'a;c;d': 5, 'e': 1, 'a;c': 1});
const names = (one, nodes) => nodes.map(node => pathTo(one, node).map(step => frames[one.frame[step]]).join(';'));

test('rows are those whose callers are all unfolded, the heaviest first', () => {
	assert.deepEqual(names(tree, rowsUnfolded(tree, new Set())), ['']);
	assert.deepEqual(names(tree, rowsUnfolded(tree, new Set([0]))), ['', 'a', 'e']);
	const [a] = heaviestFirst(tree, 0);
	assert.deepEqual(names(tree, rowsUnfolded(tree, new Set([0, a]))), ['', 'a', 'a;c', 'a;b', 'e']);
	assert.deepEqual(names(tree, rowsUnfolded(tree, new Set([a]))), ['']);
});

test('everything below is unfolded, up to a number of rows, level by level', () => {
	const unfolded = new Set();
	unfoldAll(tree, unfolded, 0, 100);
	assert.deepEqual(names(tree, rowsUnfolded(tree, unfolded)), ['', 'a', 'a;c', 'a;c;d', 'a;b', 'e']);
	const some = new Set();
	unfoldAll(tree, some, 0, 2);
	assert.deepEqual(names(tree, rowsUnfolded(tree, some)), ['', 'a', 'e']);
	const inverted = invertTree(tree);
	const every = new Set();
	unfoldAll(inverted, every, 0, 100);
	assert.deepEqual(names(inverted, rowsUnfolded(inverted, every)),
		['', 'd', 'd;c', 'd;c;a', 'b', 'b;a', 'c', 'c;a', 'e']);
});
