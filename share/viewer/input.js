// SPDX-License-Identifier: MIT
// @ts-check
// From events to what the person wants.

/**
 * @typedef {object} Actions
 * @property {(x: number, y: number) => void} point the pointer is at a place of the window
 * @property {() => void} leave
 * @property {(x: number, y: number) => void} pick a click on the canvas
 * @property {() => void} reset
 * @property {(text: string) => void} search
 * @property {() => void} resize
 * @property {() => void} scroll
 * @property {() => void} recolor
 * @property {(printing: boolean) => void} print
 */

/** @param {import('./page.js').Page} page @param {Actions} actions */
export function listen(page, actions) {
	const {canvas, search, reset, scroller} = page;
	canvas.addEventListener(
		'pointermove', event => actions.point(event.clientX, event.clientY));
	canvas.addEventListener('pointerleave', () => actions.leave());
	canvas.addEventListener('click', event => actions.pick(event.clientX, event.clientY));
	reset.addEventListener('click', () => actions.reset());
	search.addEventListener('input', () => actions.search(search.value));
	scroller.addEventListener('scroll', () => actions.scroll(), {passive: true});
	window.addEventListener('resize', () => actions.resize());
	window.addEventListener('beforeprint', () => actions.print(true));
	window.addEventListener('afterprint', () => actions.print(false));
	matchMedia('(prefers-color-scheme: dark)')
		.addEventListener('change', () => actions.recolor());
	window.addEventListener('keydown', event => onKey(event, page, actions));
	watchResolution(actions);
}

/** Device pixels per CSS pixel can change without the window's size. @param {Actions} actions */
function watchResolution(actions) {
	matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`)
		.addEventListener('change', () => {
			actions.resize();
			watchResolution(actions);
		}, {once: true});
}

/** @param {KeyboardEvent} event @param {import('./page.js').Page} page @param {Actions} actions */
function onKey(event, page, actions) {
	const searching = document.activeElement === page.search;
	const find = (event.ctrlKey || event.metaKey) && event.key === 'f';
	if (event.key === 'Escape') {
		if (searching && page.search.value) {
			page.search.value = '';
			actions.search('');
		} else {
			page.search.blur();
			actions.reset();
		}
		event.preventDefault();
	} else if (!searching &&
		(find || (event.key === '/' && !event.ctrlKey && !event.metaKey))) {
		page.search.focus();
		page.search.select();
		event.preventDefault();
	}
}
