// SPDX-License-Identifier: MIT
// @ts-check
// Turn keys and pointer events into actions: the keys, as the sheet of keys lists them; pointing,
// clicks, taps, dragging, pinching. The browser itself scrolls up and down. Work for a burst of
// events is done once, in the next frame or after the last event.

// ---- when ---------------------------------------------------------------------------------------

const REST_MS = 200;

/**
 * Returns a function that calls `act` in the browser's next frame, once for all calls until then.
 * @param {() => void} act
 */
export function oncePerFrame(act) {
	let request = 0;
	return () => {
		request ||= requestAnimationFrame(() => {
			request = 0;
			act();
		});
	};
}

/**
 * Returns a function that calls `act` after `restMs` milliseconds in which the function was not
 * called again.
 * @param {() => void} act @param {number} [restMs]
 */
export function whenResting(act, restMs = REST_MS) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = window.setTimeout(act, restMs);
	};
}

// ---- keys ---------------------------------------------------------------------------------------

/** Keys, descriptions, and names of their actions. @type {[string, string, string][]} */
export const KEYS = [
	['\u2190 \u2192', 'sibling to the left, to the right', 'left right'],
	['\u2191 \u2193', 'parent and widest child, as the graph stands', 'up down'],
	['Home End', 'first and last sibling', 'first last'],
	['Enter', 'zoom into the selected box', 'zoom'],
	['Esc \u232b', 'zoom out', 'out out'],
	['0', 'show everything', 'reset'],
	['+ \u2212', 'zoom freely; also Ctrl+wheel, pinch, drag', 'closer farther'],
	['/ Ctrl+F', 'search', 'find'],
	['n N', 'next and previous match', 'next previous'],
	['Alt+C Alt+R', 'match case, regular expression', ''],
	['w', 'CPU time, waiting time, or both', 'times'],
	['g t', 'graph of stacks; functions in a table', 'graph table'],
	['y', 'calls as a tree: \u2190 \u2192 fold and unfold', 'tree'],
	['*', 'unfold everything below, in that tree', 'unfoldAll'],
	['s', 'callers and callees of the selected function', 'sandwich'],
	['o', 'a thread\u2019s samples in order of time', 'time'],
	['h', 'the hot path: down the heaviest boxes', 'hotPath'],
	['b', 'bottom-up: from what ran to its callers', 'bottomUp'],
	['i', 'icicle: roots on top', 'icicle'],
	['f', 'inlined functions: as boxes, or folded', 'fold'],
	['l', 'source lines of the selected function', 'lines'],
	['k', 'what the colours mean', 'colors'],
	['d', 'dark or light', 'dark'],
	['a', 'processes and threads over time', 'strip'],
	['m', 'marks the program made', 'marks'],
	['p', 'print the rows in sight; Ctrl+P prints all of them', 'print'],
	['x', 'what can be done with a box; also right-click, Shift+F10', 'menu'],
	['r', 'merge recursion, or not', 'recursion'],
	['%', 'hide what is below 0.1, 0.5, 1, 2 or 5 % of all, or nothing', 'least'],
	['c C T', 'copy the name, the stack, all below as text', 'copyName copyStack copyTree'],
	['S', 'save as folded stacks, pprof, SVG, PNG', 'save'],
	['v e u', 'compare with another picture, or leave that; exchange old and new; widths: both, old, new',
		'compare exchange widths'],
	['?', 'this sheet', 'help'],
];

/** More keys: KeyboardEvent.key and the action. @type {[string, string][]} */
const OTHER_KEYS = [['ArrowLeft', 'left'], ['ArrowRight', 'right'], ['ArrowUp', 'up'], ['ArrowDown', 'down'],
	['PageUp', 'pageUp'], ['PageDown', 'pageDown'], [' ', 'zoom'], ['Escape', 'out'], ['Backspace', 'out'],
	['=', 'closer'], ['-', 'farther'], ['ContextMenu', 'menu']];
const ACTIONS = new Map([...OTHER_KEYS, ...KEYS.flatMap(([shown, , actions]) => {
	const signs = shown.split(' ');
	return actions.split(' ').map((action, i) => /** @type {[string, string]} */ ([signs[i], action]));
})]);

/**
 * Move the focus through a list; after the last item comes the first.
 * @param {HTMLElement[]} items @param {string} key @returns {boolean} whether `key` moves the focus
 */
export function moveFocus(items, key) {
	const {length} = items;
	const at = items.findIndex(one => one === document.activeElement);
	const to = {ArrowDown: at + 1, ArrowUp: Math.max(at, 0) + length - 1, Home: 0, End: length - 1}[key];
	if (to === undefined)
		return false;
	items[to % length]?.focus();
	return true;
}

/**
 * Returns the action of a key, "" for none. Keys with Ctrl, Alt or Meta are left to the browser,
 * except those in this function.
 * @param {KeyboardEvent} event
 * @param {'field' | 'button' | ''} within kind of the element that has the focus
 */
export function actionOf(event, within) {
	const {key, code, altKey} = event;
	if ((event.ctrlKey || event.metaKey) && !altKey)
		return within === 'field' ? '' : key === 'f' ? 'find' : key === 'c' ? 'copyKey' : '';
	if (altKey)
		return code === 'KeyC' ? 'matchCase' : code === 'KeyR' ? 'regex' : '';
	if (within === 'field') {
		if (key === 'Enter')
			return event.shiftKey ? 'previous' : 'next';
		return key === 'Escape' ? 'leaveField' : '';
	}
	if (key === 'F10' && event.shiftKey)
		return 'menu';
	if (within === 'button' && (key === 'Enter' || key === ' '))
		return '';
	return ACTIONS.get(key) || '';
}

/**
 * Gestures of fingers and their descriptions, as the sheet of keys shows them. @type {[string,
 * string][]}
 */
export const GESTURES = [
	['Tap', 'select a box; again: zoom into it'],
	['Two fingers', 'zoom freely'],
	['Drag', 'move what is zoomed, scroll'],
	['Hold', 'more that can be done with a box'],
];

// ---- pointers -----------------------------------------------------------------------------------

const STILL_PX = 5;
const HELD_MS = 500;

/**
 * The functions that gestures call. Positions are in pixels of the window, distances in CSS pixels.
 * @typedef {object} Gestures
 * @property {(x: number, y: number) => void} point
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} click
 * @property {(x: number, y: number) => void} tap
 * @property {(x: number, y: number) => void} menu a long touch, or the secondary button
 * @property {(dx: number) => void} drag
 * @property {(x: number, factor: number) => void} pinch multiply the width of the visible range by
 * `factor`, around x
 * @property {() => void} end of a drag or pinch
 */

/** @typedef {{x: number, y: number, startX: number, startY: number, since: number}} Finger */

class Fingers {
	/** @param {Gestures} gestures */
	constructor(gestures) {
		this.gestures = gestures;
		/** @type {Map<number, Finger>} */
		this.down = new Map();
		this.moved = false;
		this.held = false;
	}

	/** @param {PointerEvent} event */
	press(event) {
		if (!this.down.size)
			this.moved = this.held = false;
		this.down.set(event.pointerId, {x: event.clientX, y: event.clientY,
			startX: event.clientX, startY: event.clientY, since: event.timeStamp});
	}

	/** @param {PointerEvent} event @param {Finger} finger */
	move(event, finger) {
		const before = this.spread();
		const dx = event.clientX - finger.x;
		finger.x = event.clientX;
		finger.y = event.clientY;
		const far = STILL_PX <
			Math.hypot(finger.x - finger.startX, finger.y - finger.startY);
		if (!this.moved && !far && this.down.size < 2)
			return;
		this.moved = true;
		if (this.down.size === 1) {
			this.gestures.drag(dx);
			return;
		}
		const after = this.spread();
		this.gestures.drag(after.x - before.x);
		if (before.apart > 10 && after.apart > 10)
			this.gestures.pinch(after.x, before.apart / after.apart);
	}

	/** Compute the middle between the first two fingers, and their distance. */
	spread() {
		const down = [...this.down.values()];
		const [a, b] = [down[0], down[1] || down[0]];
		return {x: (a.x + b.x) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y)};
	}

	/** @param {PointerEvent} event @param {boolean} cancelled */
	release(event, cancelled) {
		const finger = this.down.get(event.pointerId);
		if (!finger || !this.down.delete(event.pointerId) || this.down.size)
			return;
		if (this.moved)
			this.gestures.end();
		else if (!cancelled && event.pointerType === 'touch') {
			this.held = event.timeStamp - finger.since >= HELD_MS;
			this.gestures[this.held ? 'menu' : 'tap'](event.clientX, event.clientY);
		}
		else if (!cancelled)
			this.gestures.click(event.clientX, event.clientY);
	}
}

/** @param {HTMLElement} canvas @param {Gestures} gestures */
export function listenToPointers(canvas, gestures) {
	const fingers = new Fingers(gestures);
	canvas.addEventListener('pointerdown', event => {
		if (event.button === 0)
			fingers.press(event);
	});
	canvas.addEventListener('pointermove', event => {
		const finger = fingers.down.get(event.pointerId);
		if (finger) {
			fingers.move(event, finger);
			if (fingers.moved && !canvas.hasPointerCapture(event.pointerId))
				canvas.setPointerCapture(event.pointerId);
		}
		if (event.pointerType !== 'touch' && !(finger && fingers.moved))
			gestures.point(event.clientX, event.clientY);
	});
	canvas.addEventListener('pointerup', event => fingers.release(event, false));
	canvas.addEventListener('pointercancel', event => fingers.release(event, true));
	// Without preventDefault(), the browser would turn the touch into a click, which would hit
	// the menu that is already open.
	canvas.addEventListener('touchend', event => {
		if (fingers.held)
			event.preventDefault();
	});
	canvas.addEventListener('contextmenu', event => {
		event.preventDefault();
		// For a finger, the menu opens when the finger is lifted. preventDefault() above
		// suppresses the browser's own menu, which would end the touch.
		if (!fingers.down.size)
			gestures.menu(event.clientX, event.clientY);
	});
	canvas.addEventListener('pointerleave', event => {
		if (!canvas.hasPointerCapture(event.pointerId)) {
			fingers.down.delete(event.pointerId);
			gestures.leave();
		}
	});
	canvas.addEventListener('wheel', event => {
		const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
		if (event.ctrlKey || event.metaKey)
			gestures.pinch(event.clientX, 2 ** (Math.sign(event.deltaY) *
				Math.min(Math.abs(event.deltaY), 100) / 100));
		else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY)))
			gestures.drag(-sideways);
		else
			return;
		event.preventDefault();
		gestures.end();
	}, {passive: false});
}
