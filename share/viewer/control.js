// SPDX-License-Identifier: MIT
// @ts-check
// What a person does to the picture: by pointer, keys, buttons and the URL.

import {labelOf, nodeName} from './describe.js';
import {pathTo} from './tree.js';
import {actionOf} from './keys.js';
import {Sheet} from './sheet.js';
import {openHelp} from './help.js';
import {openMarks} from './marklist.js';
import {listenToPointers} from './pointer.js';
import {showLastCrumb} from './crumbs.js';
import {Clipboard} from './clipboard.js';
import {listenToPrinting} from './print.js';
import {isDark, watchTheme} from './theme.js';
import {Navigator} from './navigate.js';
import {SearchBox, press} from './searchbox.js';
import {Address} from './address.js';

export class Control {
	/** @param {import('./viewer.js').Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		this.page = viewer.page;
		this.sheet = new Sheet(viewer.page.ui);
		this.toastTimer = 0;
		this.clipboard = new Clipboard(() => nodeName(viewer, this.subject));
		this.navigator = new Navigator(viewer);
		this.searchBox = new SearchBox(viewer);
		this.address = new Address(this);
		this.navigator.changed = asNew => {
			this.searchBox.describe();
			this.address.keep(asNew);
		};
		viewer.onAllTime = () => this.showStretch(-1);
		this.searchBox.changed = () => this.address.keep();
		this.address.restore(true);
		this.listen();
	}

	listen() {
		const {page, viewer, navigator} = this;
		listenToPointers(page.canvas, {
			point: (x, y) => {
				viewer.pointer = {x, y};
				if (!viewer.camera.moving)
					viewer.hover();
			},
			leave: () => viewer.leave(),
			click: (x, y) => navigator.pick(viewer.nodeUnder(x, y)),
			tap: (x, y) => navigator.tap(viewer.nodeUnder(x, y)),
			drag: dx => navigator.freely(() => viewer.camera.shift(-dx / viewer.width)),
			pinch: (x, factor) => navigator.freely(() => viewer.camera.scaleAt(
				(x - viewer.origin.left) / viewer.width, factor)),
			end: () => this.address.keep(),
		});
		const {search} = page;
		search.input.addEventListener('input', () => this.searchBox.search());
		for (const [button, action] of /** @type {[HTMLElement, string][]} */ ([
			[page.reset, 'reset'], [page.bottomUp, 'bottomUp'], [page.icicle, 'icicle'],
			[page.dark, 'dark'], [page.help, 'help'], [page.marks, 'marks'],
			[search.matchCase, 'matchCase'], [search.regex, 'regex'],
			[search.previous, 'previous'], [search.next, 'next']]))
			button.addEventListener('click', () => this.act(action));
		page.scroller.addEventListener('scroll', () => viewer.scrolled(), {passive: true});
		new ResizeObserver(() => {
			const {clientWidth, clientHeight} = page.scroller;
			// At the beginning it tells the size there is.
			if (clientWidth !== viewer.width || clientHeight !== viewer.height)
				viewer.resize();
		}).observe(page.scroller);
		new ResizeObserver(() => showLastCrumb(page.crumbs)).observe(page.crumbs);
		watchResolution(() => viewer.resize());
		watchTheme(() => viewer.recolor());
		listenToPrinting(viewer);
		window.addEventListener('keydown', event => this.onKey(event));
	}

	/** @param {KeyboardEvent} event */
	onKey(event) {
		if (event.isComposing)
			return;
		if (this.sheet.isOpen) {
			this.sheet.onKey(event);
			return;
		}
		const focus = document.activeElement;
		const action = actionOf(event, focus === this.page.search.input ? 'field'
			: focus?.localName === 'button' ? 'button' : '');
		if (action && this.act(action) !== false)
			event.preventDefault();
	}

	/** @param {string} action as named in keys.js @returns {any} false: not for us */
	act(action) {
		const {viewer, navigator, searchBox} = this;
		switch (action) {
		case 'left': return navigator.walk(place => place.previous);
		case 'right': return navigator.walk(place => place.next);
		case 'first': return navigator.walk(place => place.siblings[0]);
		case 'last': return navigator.walk(place => place.siblings[place.count - 1]);
		case 'up': return navigator.climb(viewer.icicle);
		case 'down': return navigator.climb(!viewer.icicle);
		case 'zoom': return navigator.zoom(Math.max(viewer.current, 0));
		case 'escape':
		case 'out': return this.out();
		case 'reset': return viewer.part ? this.showStretch(-1) : navigator.zoom(0);
		case 'closer': return navigator.scale(0.5);
		case 'farther': return navigator.scale(2);
		case 'find': return searchBox.focus();
		case 'leaveField': return searchBox.leave();
		case 'next': return this.toMatch(1);
		case 'previous': return this.toMatch(-1);
		case 'matchCase': return searchBox.toggle(this.page.search.matchCase);
		case 'regex': return searchBox.toggle(this.page.search.regex);
		case 'bottomUp': return this.reorder(!viewer.bottomUp);
		case 'icicle': return this.turn(!viewer.icicle);
		case 'dark': return this.choose(isDark(viewer.chosenTheme) ? 'light' : 'dark');
		case 'copyName': return this.copy(false);
		case 'copyStack': return this.copy(true);
		case 'help': return openHelp(this.sheet);
		case 'marks': return viewer.stretches.length ? openMarks(this.sheet, viewer,
			stretch => this.showStretch(stretch)) : this.toast('No marks in here');
		}
		return false;
	}

	/** @param {1 | -1} step */
	toMatch(step) {
		this.navigator.reach(this.viewer.finder.step(this.viewer.tree, step), true);
		this.searchBox.describe();
	}

	/** From a stretch that is seen whole the way out leads to all of the time. */
	out() {
		const {zoomed, free, part} = this.viewer;
		if (part && zoomed === 0 && !free)
			this.showStretch(-1);
		else
			this.navigator.out();
	}

	/** @param {number} stretch one with weight, or -1 for all of the time */
	showStretch(stretch) {
		const {viewer} = this;
		viewer.setStretch(stretch);
		this.navigator.history = [];
		this.navigator.zoom(0, true);
		viewer.resize();
		viewer.toRoot();
		this.searchBox.describe();
		this.page.spoken.textContent = labelOf(viewer, 0);
		this.address.keep(true);
	}

	/** @param {boolean} bottomUp */
	reorder(bottomUp) {
		const {viewer} = this;
		viewer.setOrder(bottomUp);
		this.navigator.history = [];
		press(this.page.bottomUp, bottomUp);
		viewer.toRoot();
		this.navigator.zoom(0, true);
		this.searchBox.describe();
		this.page.spoken.textContent = bottomUp ? 'Bottom-up' : 'Top-down';
		this.address.keep();
	}

	/** @param {boolean} icicle */
	turn(icicle) {
		const {viewer} = this;
		const {scroller} = this.page;
		const mirrored = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
		viewer.icicle = icicle;
		press(this.page.icicle, icicle);
		scroller.scrollTop = mirrored;
		viewer.scrolled();
		viewer.draw();
		viewer.hover();
		this.page.spoken.textContent = icicle ? 'Icicle: roots on top'
			: 'Flame: roots at the bottom';
		this.address.keep();
	}

	/** @param {'' | 'light' | 'dark'} theme */
	choose(theme) {
		this.viewer.chosenTheme = theme;
		this.viewer.recolor();
		this.address.keep();
	}

	/** What is copied: the box pointed at or selected, else the one that fills the view. */
	get subject() {
		return this.viewer.current >= 0 ? this.viewer.current : this.viewer.zoomed;
	}

	/** @param {boolean} stack */
	async copy(stack) {
		const {viewer} = this;
		const node = this.subject;
		const path = pathTo(viewer.tree, node).map(one => nodeName(viewer, one));
		// Callers first, whichever way the tree was merged.
		if (viewer.bottomUp)
			path.reverse();
		const text = stack ? path.join('\n') : nodeName(viewer, node);
		const copied = await this.clipboard.write(text);
		// The browser's own copying tells only what has the focus.
		if (!copied)
			this.page.canvas.focus({preventScroll: true});
		this.toast(!copied ? 'Not allowed here; press Ctrl+C now' :
			stack ? `Copied a stack of ${path.length}` : `Copied ${text}`);
	}

	/** @param {string} text */
	toast(text) {
		const {toast, spoken} = this.page;
		toast.textContent = spoken.textContent = text;
		toast.classList.add('shown');
		clearTimeout(this.toastTimer);
		this.toastTimer = window.setTimeout(() => toast.classList.remove('shown'), 1600);
	}
}

/** Device pixels per CSS pixel can change without the window's size. @param {() => void} changed */
function watchResolution(changed) {
	matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`)
		.addEventListener('change', () => {
			changed();
			watchResolution(changed);
		}, {once: true});
}
