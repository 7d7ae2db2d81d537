// SPDX-License-Identifier: MIT
// What bench_viewer.py does in a picture: each gives the longest frames in ms, one of each step.
'use strict';

const canvas = document.querySelector('canvas');
const field = document.querySelector('.search input');
const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
const pause = ms => new Promise(resolve => setTimeout(resolve, ms)).then(frame);
const key = name => canvas.dispatchEvent(
	new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));

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

function click(x, y) {
	for (const type of ['pointerdown', 'pointerup'])
		canvas.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: y, button: 0, pointerId: 1,
			pointerType: 'mouse', bubbles: true}));
}

function type(text) {
	field.value = text;
	field.dispatchEvent(new Event('input', {bubbles: true}));
}

window.bench = {
	/** Four turns in each frame, at five places, in and out. */
	async wheel() {
		const {left, width, top} = canvas.getBoundingClientRect();
		const longest = [];
		for (let i = 0; i < 120; i++)
			longest.push(await worstWithin(0, () => {
				for (let turn = 0; turn < 4; turn++)
					canvas.dispatchEvent(new WheelEvent('wheel', {
						clientX: left + width * (0.2 + 0.12 * ((i >> 4) % 5)), clientY: top + 200,
						deltaY: i % 40 < 20 ? -12 : 12, ctrlKey: true, cancelable: true}));
			}));
		key('0');
		await pause(600);
		return longest;
	},

	/** Five words, letter by letter. */
	async typing() {
		const longest = [];
		for (const word of ['visitor', 'std::vec', 'parse', 'e', 'compiler::hash'])
			for (let i = 1; i <= word.length; i++)
				longest.push(await worstWithin(120, () => type(word.slice(0, i))));
		type('');
		await pause(300);
		return longest;
	},

	/** Into boxes that are seen, by chance but always the same, twice deeper, then out. */
	async zoom(count) {
		const {top, bottom} = canvas.getBoundingClientRect();
		const longest = [];
		for (let i = 0, seed = 1; i < count; i++) {
			seed = (seed * 1103515245 + 12345) % 2147483648;
			const boxes = flamerun.boxes.filter(({merged, row, left, right, top: y}) =>
				!merged && row && right - left > 8 && y > top && y < bottom - 20);
			const box = boxes[Math.floor(seed / 65536) % boxes.length];
			await pause(60);
			longest.push(await worstWithin(420, () => i % 3 === 2 || !box ? key('0')
				: click((box.left + box.right) / 2, box.top + box.height / 2)));
		}
		key('0');
		await pause(500);
		return longest;
	},

	/** There and back. */
	async bottomUp() {
		const longest = [];
		for (let i = 0; i < 6; i++) {
			longest.push(await worstWithin(1000, () => key('b')));
			await pause(300);
		}
		return longest;
	},
};
