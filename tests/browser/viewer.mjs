// SPDX-License-Identifier: MIT
// The viewer's files as one script, joined as the Makefile joins them: any node can read it so,
// and what is tested is what is shipped. Only the files that need no document.

import {readFileSync} from 'node:fs';

const FOLDER = new URL('../../share/viewer/', import.meta.url);
const PURE = ['decode.js', 'tree.js', 'invert.js',
	'layout.js', 'label.js', 'format.js', 'marks.js', 'search.js', 'camera.js', 'state.js', 'keys.js'];

const order = readFileSync(new URL('order', FOLDER), 'utf8').trim().split('\n');
const source = order.filter(name => PURE.includes(name))
	.map(name => readFileSync(new URL(name, FOLDER), 'utf8')).join('\n')
	.replace(/^import .*$/gm, '');
const names = [...source.matchAll(/^export (?:async )?(?:function|class|const) (\w+)/gm)]
	.map(match => match[1]);

export default new Function(
	`'use strict';${source.replace(/^export /gm, '')}\nreturn {${names.join(', ')}};`)();

/** A tree from stacks: {'a;b': 3}. Frames are numbered by name, siblings follow that order. */
export function treeOf(viewer, stacks) {
	const frames = [...new Set(Object.keys(stacks).flatMap(stack => stack.split(';')))].sort();
	const root = {self: 0, children: new Map()};
	for (const [stack, weight] of Object.entries(stacks)) {
		let node = root;
		for (const name of stack.split(';')) {
			if (!node.children.has(name))
				node.children.set(name, {self: 0, children: new Map()});
			node = node.children.get(name);
		}
		node.self += weight;
	}
	const columns = {frame: [frames.length], self: [root.self], parent: [0]};
	const visit = (node, number) => {
		for (const name of [...node.children.keys()].sort()) {
			const child = node.children.get(name);
			columns.frame.push(frames.indexOf(name));
			columns.self.push(child.self);
			columns.parent.push(number);
			visit(child, columns.frame.length - 1);
		}
	};
	visit(root, 0);
	const tree = viewer.buildTree({frame: Uint32Array.from(columns.frame),
		self: Float64Array.from(columns.self), parent: Uint32Array.from(columns.parent)});
	return {tree, frames};
}

/** Stacks that share prefixes and suffixes, and recursion. */
export function randomStacks(seed, count) {
	const stacks = {};
	const random = most => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 65536) % most;
	};
	for (let i = 0; i < count; i++) {
		const stack = Array.from({length: 1 + random(9)}, () => 'abcdefg'[random(7)]).join(';');
		stacks[stack] = (stacks[stack] || 0) + 1 + random(9);
	}
	return stacks;
}
