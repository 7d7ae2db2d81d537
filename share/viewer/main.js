// SPDX-License-Identifier: MIT
// @ts-check
// Replace the static picture by the viewer: make the parts of the viewer and connect them. This
// file maps keys, buttons and pointer gestures to functions of the parts.

import {Address} from './address.js';
import {Calls} from './calls.js';
import {comparisons} from './compare.js';
import {TIMES, readColumns, readProfile} from './decode.js';
import {isDark, watchTheme} from './draw.js';
import {VIEWS, term, timeTerm, withNextLeast} from './filter.js';
import {actionOf, listenToPointers, whenResting} from './input.js';
import {legendIn} from './legend.js';
import {Matcher} from './matcher.js';
import {linesFor, menuIn} from './menu.js';
import {tellMore} from './more.js';
import {Navigator, showLastCrumb} from './navigate.js';
import {copying, listenToPrinting} from './output.js';
import {Sheet, openHelp, openLines, openMarks, toaster} from './overlay.js';
import {buildPage, hidePage, isTouched, showChoices, showPage} from './page.js';
import {openSave} from './save.js';
import {Finder, SearchBox} from './search.js';
import {Selection} from './selection.js';
import {State} from './state.js';
import {Strip} from './strip.js';
import {Table} from './table.js';
import {labelOf, nodeName} from './text.js';
import {showTimeline} from './timeline.js';
import {Viewer} from './viewer.js';
import {Background, listen, performer} from './worker.js';

/**
 * @typedef {Record<string, () => any>} Actions functions by name; one that returns false leaves the
 * key to the browser
 */

/**
 * Call `changed` when the pixel ratio changes, because it can change without a resize. @param {()
 * => void} changed
 */
function watchResolution(changed) {
	matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`)
		.addEventListener('change', () => {
			changed();
			watchResolution(changed);
		}, {once: true});
}

/** @param {Viewer} viewer */
function listenToWindow(viewer) {
	const {page} = viewer;
	page.scroller.addEventListener('scroll', () => {
		// Scrolling by the viewer itself causes this event, too; ignore it.
		if (page.scroller.scrollTop !== viewer.scrollTop)
			viewer.scrolled();
	}, {passive: true});
	new ResizeObserver(() => {
		const {clientWidth, clientHeight} = page.scroller;
		// The observer also reports the initial size; ignore it.
		if (clientWidth !== viewer.width || clientHeight !== viewer.height)
			viewer.resize();
	}).observe(page.scroller);
	new ResizeObserver(() => showLastCrumb(page.crumbs)).observe(page.crumbs);
	watchResolution(() => viewer.resize());
	watchTheme(() => viewer.recolor());
}

/**
 * @param {Viewer} viewer @param {Selection} selection @param {Navigator} navigator
 * @param {(node: number, place: {x: number, y: number}) => void} openMenu
 */
function listenToGestures(viewer, selection, navigator, openMenu) {
	listenToPointers(viewer.page.canvas, {
		point: (x, y) => selection.point(x, y),
		leave: () => selection.leave(),
		click: (x, y) => navigator.pick(viewer.nodeUnder(x, y)),
		tap: (x, y) => navigator.tap(viewer.nodeUnder(x, y)),
		menu: (x, y) => openMenu(viewer.nodeUnder(x, y), {x, y}),
		drag: dx => navigator.freely(() => viewer.camera.shift(-dx / viewer.width)),
		pinch: (x, factor) => navigator.freely(() => viewer.camera.scaleAt(
			(x - viewer.origin.left) / viewer.width, factor)),
		end: whenResting(() => navigator.endMove()),
	});
}

/**
 * @param {import('./page.js').Page} page @param {Sheet} sheet
 * @param {ReturnType<typeof menuIn>} menu
 * @param {() => Actions} actionsOf returns the actions of what is shown
 */
function listenToKeysAndButtons(page, sheet, menu, actionsOf) {
	const {search} = page;
	search.input.addEventListener('input', () => actionsOf().search());
	/** @type {Record<string, any>} by name of action */
	const buttons = {...page, ...search, ...page.views.buttons};
	for (const action of ['reset', 'bottomUp', 'icicle', 'colors', 'dark', 'help', 'marks', 'matchCase', 'regex',
		'previous', 'next', ...VIEWS])
		buttons[action].addEventListener('click', () => actionsOf()[action]());
	window.addEventListener('keydown', event => {
		if (event.isComposing)
			return;
		if (sheet.isOpen || menu.isOpen) {
			(sheet.isOpen ? sheet : menu).onKey(event);
			return;
		}
		const focus = document.activeElement;
		if (focus?.localName === 'select')
			return;
		const action = actionOf(event, focus === search.input ? 'field'
			: focus?.localName === 'button' ? 'button' : '');
		if (action && actionsOf()[action]() !== false)
			event.preventDefault();
	});
}

/**
 * Build the page, show the state that the URL describes, then listen to events.
 * @param {SVGSVGElement} svg @param {import('./decode.js').Profile} profile
 * @param {Background} background
 */
async function start(svg, profile, background) {
	const matcher = new Matcher(profile, background);
	const state = new State(profile, performer(profile, background));
	const page = buildPage(svg, profile);
	const finder = new Finder(state, matcher);
	const viewer = new Viewer(page, state, finder);
	const selection = new Selection(viewer);
	const say = toaster(page);
	const navigator = new Navigator(viewer, selection, say);
	const strip = new Strip(navigator);
	tellMore(viewer);
	const searchBox = new SearchBox(page, finder);
	const table = new Table(page, state, finder);
	const calls = new Calls(page, state, selection, finder);
	const sheet = new Sheet(page.ui);
	const menu = menuIn(page);
	const address = new Address(navigator, searchBox);

	const toggleLegend = legendIn(page, state);
	const comparing = comparisons(navigator, matcher, searchBox);

	let thread = '';  // the thread that was last shown in order of time
	showTimeline(viewer, of => navigator.showView('time', of));
	state.onTree(() => {
		showChoices(page, state);
		thread = state.tree.chart ? state.filter.of : thread;
		table.update();
		calls.update();
	});
	navigator.trail = () => address.trail();
	navigator.onMove = (asNew, trail) => {
		table.update();
		table.say();
		searchBox.describe();
		address.keep(asNew, trail);
	};
	const keepSoon = whenResting(() => address.keep());
	searchBox.onChange = () => {
		if (!address.restoring)
			keepSoon();
	};
	finder.onMarked = () => {
		viewer.redraw();
		table.update();
		calls.update();
	};
	const rowsShown = () => [table, calls].find(one => one.isShown);
	searchBox.onLeft = () => rowsShown()?.focus();
	const toMatch = (/** @type {1 | -1} */ step) => {
		navigator.reach(finder.step(step), true);
		searchBox.describe();
	};
	navigator.openStrip = opened => strip.open(opened);
	const showMarks = () => openMarks(sheet, state,
		({from, to, text}) => navigator.addTerm(timeTerm(from, to, text)));

	showPage(page);
	viewer.recolor();
	viewer.resize();
	viewer.toRoot();
	selection.describe();
	await address.restore(true);
	listenToWindow(viewer);
	const shownActions = () => state.functions ? tableActions : calls.isShown ? callsActions : actions;
	/** @param {number} node @param {{x: number, y: number}} place */
	const openMenu = (node, place) => {
		if (node < 0)
			return;
		selection.leave();
		selection.select(node);
		menu.open(`What to do with ${nodeName(state, node)}`, linesFor(navigator, node, shownActions()), place);
	};
	listenToGestures(viewer, selection, navigator, openMenu);
	for (const times of TIMES)
		page.times.buttons[times].addEventListener('click', () => navigator.showTimes(times));
	/** @type {Actions} actions named as in input.js */
	const actions = {
		left: () => navigator.walk(place => place.previous),
		right: () => navigator.walk(place => place.next),
		first: () => navigator.walk(place => place.siblings[0]),
		last: () => navigator.walk(place => place.siblings[place.count - 1]),
		up: () => navigator.climb(false),
		down: () => navigator.climb(true),
		pageUp: () => false,
		pageDown: () => false,
		zoom: () => navigator.zoom(Math.max(selection.current, 0)),
		out: () => navigator.out(),
		reset: () => navigator.reset(),
		closer: () => navigator.scale(0.5),
		farther: () => navigator.scale(2),
		find: () => searchBox.focus(),
		leaveField: () => searchBox.leave(),
		search: () => searchBox.search(),
		next: () => toMatch(1),
		previous: () => toMatch(-1),
		matchCase: () => searchBox.toggle(page.search.matchCase),
		regex: () => searchBox.toggle(page.search.regex),
		graph: () => navigator.showView('graph'),
		table: () => navigator.showView('table'),
		tree: () => navigator.showView('tree'),
		unfoldAll: () => say('Show the calls as a tree first'),
		sandwich: () => {
			const node = selection.current >= 0 ? selection.current : state.zoomed;
			const name = node > 0 ? state.profile.name(state.tree.frame[node]) : '';
			return name ? navigator.showView('sandwich', name) : state.isSandwich || say('Select a function first');
		},
		time: () => state.profile.sampleCount ? navigator.showView('time', thread)
			: say('The samples of this picture have no times'),
		hotPath: () => navigator.openHotPath(),
		bottomUp: () => page.bottomUp.disabled || navigator.reorder(!state.bottomUp),
		icicle: () => page.icicle.disabled || navigator.turn(!state.icicle),
		dark: () => {
			state.theme = isDark(state.theme) ? 'light' : 'dark';
			viewer.recolor();
			address.keep();
		},
		least: () => navigator.show(withNextLeast(state.filter)),
		recursion: () => navigator.toggleTerm(term('recursion')),
		fold: () => state.hasInlined ? navigator.toggleTerm(term('inlined'))
			: say('Nothing in here was inlined'),
		lines: () => openLines(sheet, state, selection.current)
			|| say('No source lines are known'),
		times: () => {
			const next = state.choices.indexOf(state.times) + 1;
			if (state.choices.length > 1)
				navigator.showTimes(state.choices[next % state.choices.length]);
			else
				say(state.hasWaits ? 'Nothing but waits in here' : 'No waits in here');
		},
		print: listenToPrinting(viewer),
		...copying(selection, say, () => rowsShown()?.name || ''),
		copyKey: () => {
			// Without a focus, the browser would send no copy event.
			if (!document.activeElement?.closest('.flamerun'))
				(rowsShown() || page.canvas).focus({preventScroll: true});
			return false;
		},
		save: () => openSave(sheet, viewer, say),
		menu: () => openMenu(Math.max(selection.selected, 0), selection.cornerOf(Math.max(selection.selected, 0))),
		colors: toggleLegend,
		...comparing,
		strip: () => strip.toggle(),
		help: () => openHelp(sheet, state, shownActions()),
		marks: () => state.stretches.length ? showMarks().catch(navigator.tellUnread)
			: say('No marks in here'),
	};
	/** @type {Actions} for the table; they act on the heaviest box of the chosen function */
	const tableActions = {...actions, ...table.actions};
	/** @type {Actions} for the tree of calls; they act on the chosen row */
	const callsActions = {...actions, ...calls.actions};
	const choose = () => {
		const frames = navigator.chosenFrames();
		selection.selected = frames ? navigator.heaviestOf(frames) : -1;
	};
	tableActions.hotPath = async () => {
		await actions.graph();
		navigator.openHotPath();
	};
	for (const name of ['sandwich', 'lines', 'copyName', 'copyStack', 'copyTree'])
		tableActions[name] = () => {
			choose();
			return actions[name]();
		};
	table.onSort = () => address.keep();
	table.onOpen = () => actions.graph();
	table.onMenu = place => {
		choose();
		openMenu(selection.selected, place);
	};
	tableActions.menu = () => table.onMenu(table.place);
	calls.onMenu = place => openMenu(Math.max(selection.selected, 0), place);
	callsActions.menu = () => calls.onMenu(calls.place);
	listenToKeysAndButtons(page, sheet, menu, shownActions);
	viewer.release();
	performance.mark('flamerun');
	Object.assign(window, {flamerun: facts(viewer, selection)});
}

/** Returns the boxes on screen, in pixels of the window. @param {Viewer} viewer */
function boxesShown(viewer) {
	const {boxes, origin, state} = viewer;
	return Array.from({length: boxes.count}, (_, i) => ({
		name: boxes.merged[i] ? '' : labelOf(state, boxes.node[i]),
		merged: boxes.merged[i] === 1,
		row: boxes.row[i],
		left: origin.left + Math.max(boxes.left[i], 0),
		right: origin.left + Math.min(boxes.right[i], viewer.width),
		top: origin.top + viewer.topOf(boxes.row[i]),
		height: state.profile.rowPx,
	}));
}

/**
 * Returns facts about the view for tests and for the browser's console.
 * @param {Viewer} viewer @param {Selection} selection
 */
function facts(viewer, selection) {
	const {state, finder, camera} = viewer;
	const name = (/** @type {number} */ node) => node < 0 ? '' : labelOf(state, node);
	return {
		get zoomed() { return name(state.zoomed); },
		get selected() { return name(selection.selected); },
		get hovered() { return name(selection.hovered); },
		get animating() { return camera.moving || viewer.frameRequest !== 0; },
		get total() { return state.tree.total[0]; },
		get searching() { return finder.searching; },
		get matched() { return finder.shares(); },
		profile: () => state.profile,  // a function, so that tests do not copy it
		get boxes() {
			if (viewer.frameRequest)
				viewer.draw();
			return boxesShown(viewer);
		},
	};
}

/**
 * Enlarge rows and labels, so that fingers can hit boxes. @param {import('./decode.js').Profile}
 * profile
 */
function fitFingers(profile) {
	profile.rowPx = Math.max(profile.rowPx, 28);
	profile.fontPx = Math.max(profile.fontPx, 13);
}

/** @param {import('./loader.js').Loaded} loaded */
async function main({svg, version, data, sheet, style, source}) {
	hidePage(svg);
	if (version !== '1')
		throw new Error('its data is of another version');
	const profile = readProfile(readColumns(data));
	if (profile.nodes < 2 || !profile.tree.self.some(weight => weight > 0)) {
		sheet.replaceSync('');
		return;
	}
	sheet.replaceSync(style);
	if (isTouched())
		fitFingers(profile);
	try {
		await start(svg, profile, new Background(source, data));
	} catch (error) {
		hidePage(svg);
		throw error;
	}
}

if (self.document)
	/** @type {any} */ (document.currentScript).start = main;
else
	listen();
