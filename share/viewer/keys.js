// SPDX-License-Identifier: MIT
// @ts-check
// What the keys do, as the help sheet lists it and as they act.

/**
 * @typedef {object} Key
 * @property {string} shown on the sheet
 * @property {string} text
 * @property {Record<string, string>} actions name of the action by KeyboardEvent.key
 */

/** @type {Key[]} */
export const KEYS = [
	{shown: '\u2190 \u2192', text: 'sibling to the left, to the right',
		actions: {ArrowLeft: 'left', ArrowRight: 'right'}},
	{shown: '\u2191 \u2193', text: 'parent and widest child, as the graph stands',
		actions: {ArrowUp: 'up', ArrowDown: 'down'}},
	{shown: 'Home End', text: 'first and last sibling', actions: {Home: 'first', End: 'last'}},
	{shown: 'Enter', text: 'zoom into the selected box',
		actions: {'Enter': 'zoom', ' ': 'zoom'}},
	{shown: 'Esc \u232b', text: 'zoom out', actions: {Escape: 'escape', Backspace: 'out'}},
	{shown: '0', text: 'show everything', actions: {0: 'reset'}},
	{shown: '+ \u2212', text: 'zoom freely; also Ctrl+wheel, pinch, drag',
		actions: {'+': 'closer', '=': 'closer', '-': 'farther'}},
	{shown: '/ Ctrl+F', text: 'search', actions: {'/': 'find'}},
	{shown: 'n N', text: 'next and previous match; Enter, Shift+Enter in the search field',
		actions: {n: 'next', N: 'previous'}},
	{shown: 'Alt+C Alt+R', text: 'match case, regular expression', actions: {}},
	{shown: 'b', text: 'bottom-up or top-down', actions: {b: 'bottomUp'}},
	{shown: 'i', text: 'icicle or flame', actions: {i: 'icicle'}},
	{shown: 'd', text: 'dark or light', actions: {d: 'dark'}},
	{shown: 'm', text: 'marks the program made; what ran from one to the next',
		actions: {m: 'marks'}},
	{shown: 'c C', text: 'copy the name, the stack', actions: {c: 'copyName', C: 'copyStack'}},
	{shown: '?', text: 'this sheet', actions: {'?': 'help'}},
];

/** @type {Map<string, string>} */
const ACTIONS = new Map(KEYS.flatMap(key => Object.entries(key.actions)));

/**
 * The action a key stands for, "" for none: keys with Ctrl, Alt or Meta are the browser's, but for
 * those named here. @param {KeyboardEvent} event
 * @param {'field' | 'button' | ''} within what has the focus
 */
export function actionOf(event, within) {
	const {key, code, altKey} = event;
	if ((event.ctrlKey || event.metaKey) && !altKey)
		return key === 'f' && within !== 'field' ? 'find' : '';
	if (altKey)
		return code === 'KeyC' ? 'matchCase' : code === 'KeyR' ? 'regex' : '';
	if (within === 'field') {
		if (key === 'Enter')
			return event.shiftKey ? 'previous' : 'next';
		return key === 'Escape' ? 'leaveField' : '';
	}
	if (within === 'button' && (key === 'Enter' || key === ' '))
		return '';
	return ACTIONS.get(key) || '';
}
