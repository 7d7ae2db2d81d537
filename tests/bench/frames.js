// SPDX-License-Identifier: MIT
// Actions of bench_viewer.py in a picture. Each function returns the longest frame of each step in
// ms, and how many steps were not done, because slow viewers reach the time limit. All viewers get
// the same boxes and are clicked as people click them.
'use strict';

const $ = selector => document.querySelector(selector);
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
const pause = ms => new Promise(resolve => setTimeout(resolve, ms)).then(frame);
const PATIENCE_MS = 40000;  // limit for all steps of one call
const canvasEvents = {
	flamerun: ['pointerdown', 'pointerup'],
	async: ['mousemove', 'click'],
	speedscope: ['mousemove', 'dblclick'],
};

let side;
let viewer;
let whole;  // total: weight of everything; rows: without the root's

/** @param {EventTarget} target */
function press(target, key) {
	for (const type of ['keydown', 'keypress'])
		target.dispatchEvent(new KeyboardEvent(type, {key, bubbles: true, cancelable: true}));
}

/** Click at (x, y) of an element's area. */
function click(target, x, y) {
	const {left, top} = target.getBoundingClientRect();
	for (const type of canvasEvents[side])
		target.dispatchEvent(new PointerEvent(type, {clientX: left + x, clientY: top + y, button: 0,
			pointerId: 1, pointerType: 'mouse', bubbles: true}));
}

function clickElement(element) {
	element.dispatchEvent(new MouseEvent('click', {bubbles: true}));
}

function type(field, text) {
	field.value = text;
	field.dispatchEvent(new Event('input', {bubbles: true}));
}

/** Return a function that finds the element of a box by its depth, total and name. */
function byBox(elements, boxOf) {
	const found = new Map();
	for (const element of elements) {
		const {depth, name, total} = boxOf(element);
		found.set(`${depth} ${total} ${name}`, element);
	}
	return ({depth, name, total}) => found.get(`${depth} ${total} ${name}`);
}

/**
 * For each kind of viewer: zoom(box) returns a function that zooms into the box, or null if the box
 * is not visible; letters is set if the search is live, so that words are typed letter by letter;
 * ms is the duration of an action's animation.
 */
const viewers = {
	flamerun: () => ({
		ms: 420,
		letters: true,
		zoom({depth, name, total}, above) {
			const canvas = $('canvas');
			const area = canvas.getBoundingClientRect();
			const wide = total / above * area.width;
			const box = flamerun.boxes.find(one => one.row === depth && one.name === name
				&& Math.abs(one.right - one.left - wide) < 1.5);
			return box && (() => click(canvas, (box.left + box.right) / 2 - area.left,
				box.top + box.height / 2 - area.top));
		},
		out: () => press($('canvas'), '0'),
		search: text => type($('.search input'), text),
	}),

	flamegraph() {
		const groups = [...document.querySelectorAll('#frames > g')];
		const yOf = group => Number(group.querySelector('rect').getAttribute('y'));
		const bottom = groups.reduce((most, group) => Math.max(most, yOf(group)), 0);
		const find = byBox(groups, group => {
			const [, name, total] = /^([^]*) \(([\d,]+) samples/
				.exec(group.querySelector('title').textContent);
			return {name, total: total.replace(/,/g, ''), depth: (bottom - yOf(group)) / 16};
		});
		return {
			ms: 420,
			zoom(box) {
				const group = find(box);
				return group && (() => clickElement(group.querySelector('rect')));
			},
			out: () => clickElement($('#unzoom')),
			search: text => text ? search(text) : reset_search(),
		};
	},

	async: () => ({
		ms: 420,
		zoom({depth, name, total}) {
			const box = levels[depth]?.find(one => one.width === total && one.title === name
				&& one.left >= root.left && one.left < root.left + root.width);
			return box && (() => click(canvas, (box.left + box.width / 2 - root.left) * px,
				canvasHeight - depth * 16 - 8));
		},
		out: () => press(window, '0'),
		search: text => search(text),
	}),

	/**
	 * Rows have 20 px and are below a row of times. A zoom does not change the height of the
	 * view.
	 */
	speedscope() {
		const area = [...document.querySelectorAll('canvas')].filter(one =>
			one.parentElement.getBoundingClientRect().height > 200).pop();
		const {width, height} = area.getBoundingClientRect();
		const lastTop = Math.max(whole.rows - height / 20, -1);
		let view = {left: 0, total: whole.total, top: -1};
		return {
			ms: 420,
			letters: true,
			zoom({depth, left, total}) {
				const x = (left + total / 2 - view.left) / view.total * width;
				const y = (depth - 0.5 - view.top) * 20;
				view = {left, total, top: Math.min(depth - 2, lastTop)};
				return y < height ? () => click(area, x, y) : null;
			},
			out() {
				view = {left: 0, total: whole.total, top: -1};
				press(window, '0');
				area.dispatchEvent(new WheelEvent('wheel', {deltaY: -1e5, bubbles: true}));
			},
			search: text => type($('input:not([type])'), text),
			begin: () => window.dispatchEvent(new KeyboardEvent('keydown', {key: 'f', ctrlKey: true})),
		};
	},

	d3() {
		const find = byBox(document.querySelectorAll('g.frame'), ({__data__: {depth, data, value}}) =>
			({depth, name: data.name, total: value}));
		return {
			ms: 900,
			zoom(box) {
				const group = find(box);
				return group && (() => clickElement(group));
			},
			out: () => chart.resetZoom(),
			search: text => text ? chart.search(text) : chart.clear(),
		};
	},
};

async function worstWithin(ms, act) {
	await frame();
	const begun = performance.now();
	let [before, worst] = [begun, 0];
	act();
	do {
		await frame();
		const now = performance.now();
		worst = Math.max(worst, now - before);
		before = now;
	} while (before < begun + ms);
	return worst;
}

window.bench = {
	async use(kind, facts) {
		side = kind;
		whole = facts;
		viewer = viewers[kind]();
		await pause(300);
		return {};
	},

	/** Zoom into each box; null zooms out. */
	async zoom(...steps) {
		const longest = [];
		const until = performance.now() + PATIENCE_MS;
		let [missed, above] = [0, whole.total];
		for (const box of steps) {
			if (performance.now() > until)
				break;
			await pause(60);
			const act = box ? viewer.zoom(box, above) : viewer.out;
			above = box ? box.total : whole.total;
			if (act)
				longest.push(await worstWithin(viewer.ms, act));
			else
				missed++;
		}
		viewer.out();
		await pause(1000);
		return {longest, missed};
	},

	/** Search for words, letter by letter if the search is live. */
	async search(...words) {
		const longest = [];
		const until = performance.now() + PATIENCE_MS;
		viewer.begin?.();
		await pause(300);
		for (const word of words)
			for (let i = viewer.letters ? 1 : word.length;
				i <= word.length && performance.now() < until; i++)
				longest.push(await worstWithin(viewer.letters ? 120 : viewer.ms,
					() => viewer.search(word.slice(0, i))));
		viewer.search('');
		await pause(300);
		return {longest, missed: 0};
	},

	/** Turn the wheel four times per frame, at five positions, to zoom in and out. */
	async wheel() {
		const canvas = $('canvas');
		const {left, width, top} = canvas.getBoundingClientRect();
		const longest = [];
		for (let i = 0; i < 120; i++)
			longest.push(await worstWithin(0, () => {
				for (let turn = 0; turn < 4; turn++)
					canvas.dispatchEvent(new WheelEvent('wheel', {
						clientX: left + width * (0.2 + 0.12 * ((i >> 4) % 5)), clientY: top + 200,
						deltaY: i % 40 < 20 ? -12 : 12, ctrlKey: true, cancelable: true}));
			}));
		viewer.out();
		await pause(600);
		return {longest};
	},

	/** Turn the graph round and back. */
	async bottomUp() {
		const longest = [];
		for (let i = 0; i < 6; i++) {
			longest.push(await worstWithin(1000, () => press($('canvas'), 'b')));
			await pause(300);
		}
		return {longest};
	},
};
