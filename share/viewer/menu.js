// SPDX-License-Identifier: MIT
// @ts-check
// The menu of actions for a box, shown beside the box:
// https://www.w3.org/WAI/ARIA/apg/patterns/menubar/. It is opened by the secondary mouse button, a
// long touch, or a key.

import {term} from './filter.js';
import {moveFocus} from './input.js';
import {actingButton, element} from './page.js';
import {clamp} from './tree.js';

/** Minimum distance of the menu from the edges of the window. */
const MARGIN_PX = 8;

/** @typedef {{text: string, act: () => any}} Item @typedef {Item | null} Line null: a separator */

/** @param {import('./page.js').Page} page */
export function menuIn({ui, canvas}) {
	/** @type {HTMLElement | null} */
	let list = null;
	/** @type {any} the element that had the focus before the menu opened */
	let before = null;

	const restoreFocus = () => (ui.contains(before) ? before : canvas).focus({preventScroll: true});
	/**
	 * Close the menu. If it has the focus, return the focus to the element that had it before,
	 * or to the canvas.
	 */
	const close = () => {
		const had = list?.contains(document.activeElement);
		list?.remove();
		list = null;
		if (had)
			restoreFocus();
	};
	ui.addEventListener('pointerdown', (/** @type {any} */ event) => {
		if (list && !list.contains(event.target)) {
			// Restore the focus later, because the browser may take the focus away
			// after this event.
			close();
			setTimeout(() => document.activeElement?.closest('.flamerun') || restoreFocus());
		}
	});
	return {
		get isOpen() {
			return list !== null;
		},

		/**
		 * Open the menu.
		 * @param {string} title @param {Line[]} lines
		 * @param {{x: number, y: number}} place in pixels of the window; the menu is moved
		 * if there is no room
		 */
		open(title, lines, {x, y}) {
			close();
			const made = element('div', {'class': 'menu', 'role': 'menu', 'aria-label': title}, lines.map(line => {
				if (!line)
					return element('div', {role: 'separator'});
				return actingButton({role: 'menuitem', tabindex: '-1', title: line.text}, [line.text], () => {
					close();
					line.act();
				});
			}));
			list = made;
			before = document.activeElement;
			ui.append(made);
			made.style.left = `${clamp(x, 0, Math.max(ui.clientWidth - made.offsetWidth - MARGIN_PX, 0))}px`;
			made.style.top = `${clamp(y, 0, Math.max(ui.clientHeight - made.offsetHeight - MARGIN_PX, 0))}px`;
			made.querySelector('button')?.focus({preventScroll: true});
		},

		/** Handle a key while the menu is open. @param {KeyboardEvent} event */
		onKey(event) {
			if (event.key === 'Escape' || event.key === 'Tab')
				close();
			else if (!moveFocus([...list?.querySelectorAll('button') || []], event.key))
				return;
			event.preventDefault();
		},
	};
}

/** Shorten a name in its middle, because names often differ at their ends. @param {string} name */
function brief(name) {
	return name.length <= 48 ? name : `${name.slice(0, 23)}\u2026${name.slice(-24)}`;
}

/**
 * Returns the lines of the menu for a box.
 * @param {import('./navigate.js').Navigator} navigator @param {number} node
 * @param {Record<string, () => any>} actions by name, on the selected box
 * @returns {Line[]}
 */
export function linesFor(navigator, node, actions) {
	const {state, page} = navigator;
	const {profile, tree, filter} = state;
	const frame = tree.frame[node];
	const name = node > 0 ? profile.name(frame) : '';
	const module = node > 0 ? profile.modules[profile.frameModule[frame]] : '';
	const add = (/** @type {string} */ text, /** @type {import('./filter.js').Kind} */ kind,
		/** @type {string} */ value) => ({text, act: () => navigator.addTerm(term(kind, value))});
	const toggle = (/** @type {import('./filter.js').Kind} */ kind, /** @type {string} */ on,
		/** @type {string} */ off) => ({
		text: filter.terms.some(one => one.kind === kind) ? off : on,
		act: () => navigator.toggleTerm(term(kind))});
	// Two digits, rounded down, so that the box itself stays.
	const percent = 100 * tree.total[node] / tree.total[0];
	const unit = 10 ** Math.floor(Math.log10(percent) - 1);
	const shareBelow = String(Number((Math.floor(percent / unit + 1e-9) * unit).toPrecision(2)));
	return [
		...node > 0 ? [page.scroller.hidden ? {text: 'Show in the graph', act: actions.graph}
			: {text: 'Zoom in', act: actions.zoom},
		{text: 'Callers and callees', act: actions.sandwich}] : [],
		{text: 'Hot path', act: actions.hotPath},
		...name ? [null, add('Only stacks with it', 'focus', name),
			add('Without stacks of it', 'ignore', name),
			add('Hide it: its time is its caller\u2019s', 'hide', name)] : [],
		...module ? [null, add(`Only stacks with ${brief(module)}`, 'module', module),
			add(`Hide ${brief(module)}`, 'hidemodule', module),
			add(`Collapse ${brief(module)}`, 'collapse', module)] : [],
		null,
		...percent < 50 ? [add(`Hide what is below ${shareBelow}\u202f%`, 'least', shareBelow)] : [],
		toggle('recursion', 'Merge recursion', 'Recursion as it was'),
		...state.hasInlined ? [toggle('inlined', 'Fold inlined functions', 'Inlined functions as boxes')]
			: [],
		null,
		...node > 0 ? [{text: 'Copy the name', act: actions.copyName},
			{text: 'Copy the stack', act: actions.copyStack}] : [],
		{text: 'Copy as a text tree', act: actions.copyTree},
		{text: state.profile.sides ? 'Leave the comparison' : 'Compare with a picture\u2026', act: actions.compare},
		{text: 'Save\u2026', act: actions.save},
	];
}
