// SPDX-License-Identifier: MIT
// @ts-check
// Move through the graph: the camera, zooming in and out, walking by keys, changing order, layout
// or filter; and the crumbs and chips that show the path and the filter.

import {IDLE} from './aggregate.js';
import {isSame, isSameFilter, keepSame, termText, withTerm, withoutTerms} from './filter.js';
import {oncePerFrame} from './input.js';
import {actingButton, element, icon, isStill} from './page.js';
import {MOST_MATCHES, markStacks, matchesIn, press} from './search.js';
import {labelOf, nodeName, sentence, placeOf} from './text.js';
import {NONE, clamp, firstAlong, follow, framesTo, isWithin, nodeCovering, pathTo, rowOf, widestChild}
	from './tree.js';

const ZOOM_MS = 300;
const REVEALED_PX = 3;
const MOST_CRUMBS = 40;
/** After this time in ms without an answer, the viewer shows that it is waiting. */
const BUSY_MS = 150;

// ---- the camera ---------------------------------------------------------------------------------

/** @typedef {{from: number, to: number}} Span */

/**
 * Returns the progress (0 to 1) of an animation at time `t`; it is slow at both ends. @param
 * {number} t 0 to 1
 */
export function ease(t) {
	return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}

/**
 * Interpolate between two spans. The width changes by equal factors in equal times, which looks
 * like a steady zoom. The left edge moves so that the common part of both spans does not jump on
 * the screen.
 * @param {Span} a @param {Span} b @param {number} t 0 to 1
 * @returns {Span}
 */
export function between(a, b, t) {
	if (t <= 0 || t >= 1)
		return t <= 0 ? {...a} : {...b};
	const before = a.to - a.from;
	const after = b.to - b.from;
	const ratio = after / before;
	if (Math.abs(ratio - 1) < 1e-6) {
		const from = a.from + (b.from - a.from) * t;
		return {from, to: from + before + (after - before) * t};
	}
	const width = before * ratio ** t;
	const from = a.from + (b.from - a.from) * (width - before) / (after - before);
	return {from, to: from + width};
}

export class Camera {
	/**
	 * @param {number} total all weight
	 * @param {() => void} changed draws, and calls advance()
	 */
	constructor(total, changed) {
		this.total = total;
		this.changed = changed;
		/** @type {Span} */
		this.span = {from: 0, to: total};
		/**
		 * @type {{from: Span, to: Span, begun: number} | null} the animation in progress;
		 * begun: time in ms, 0 before the first frame
		 */
		this.way = null;
	}

	get moving() {
		return this.way !== null;
	}

	/**
	 * Move to a span, with an animation unless the user prefers none. @param {Span} span @param
	 * {boolean} [atOnce]
	 */
	go(span, atOnce = false) {
		const still = atOnce || isStill();
		this.way = still ? null : {from: this.span, to: span, begun: 0};
		if (still)
			this.span = span;
		this.changed();
	}

	/**
	 * Set the span for an animation frame. The first frame only starts the animation's clock,
	 * because its span is already on the screen, and other work after the click may have taken
	 * time.
	 * @param {number} now in ms
	 * @returns {boolean} whether the frame is to be drawn
	 */
	advance(now) {
		if (!this.way)
			return true;
		const {from, to, begun} = this.way;
		if (!begun) {
			this.way.begun = now;
			return false;
		}
		const done = clamp((now - begun) / ZOOM_MS, 0, 1);
		this.span = between(from, to, ease(done));
		if (done === 1)
			this.way = null;
		return true;
	}

	/**
	 * Set the span at once, limited to the total weight, and to a width that doubles can
	 * represent well.
	 * @param {Span} span
	 */
	set(span) {
		this.way = null;
		const width = clamp(span.to - span.from, this.total * 1e-9, this.total);
		const from = clamp(span.from, 0, this.total - width);
		this.span = {from, to: from + width};
		this.changed();
	}

	/**
	 * Scale the span by `factor` around a fixed point.
	 * @param {number} share position of the point in the view, 0 (left) to 1 (right)
	 * @param {number} factor
	 */
	scaleAt(share, factor) {
		const {from, to} = this.span;
		const fixed = from + (to - from) * share;
		const width = Math.min((to - from) * factor, this.total);
		this.set({from: fixed - width * share, to: fixed + width * (1 - share)});
	}

	/** @param {number} share of the window's width */
	shift(share) {
		const {from, to} = this.span;
		this.set({from: from + (to - from) * share, to: to + (to - from) * share});
	}
}

// ---- crumbs and chips ---------------------------------------------------------------------------

/**
 * @param {string} name @param {boolean} leftOut show an ellipsis
 * @param {boolean} isCurrent @param {() => void} act
 */
function crumb(name, leftOut, isCurrent, act) {
	return actingButton({class: 'crumb', title: name, ...isCurrent ? {'aria-current': 'true'} : {}},
		[element('span', {}, [leftOut ? '\u2026' : name])], act);
}

/**
 * @param {HTMLElement} nav @param {import('./state.js').State} state
 * @param {(node: number) => void} zoom
 */
function fillCrumbs(nav, state, zoom) {
	const path = [0, ...pathTo(state.tree, state.zoomed)];
	const shown = path.length > MOST_CRUMBS ? [0, ...path.slice(1 - MOST_CRUMBS)] : path;
	nav.replaceChildren(...shown.map((node, i) => {
		const leftOut = i === 1 && shown.length < path.length;
		return crumb(nodeName(state, node), leftOut, node === state.zoomed, () => zoom(node));
	}));
	showLastCrumb(nav);
}

/**
 * Scroll to the last crumb, so that the outer crumbs are cut off and not this one. @param
 * {HTMLElement} nav
 */
export function showLastCrumb(nav) {
	nav.scrollLeft = nav.scrollWidth;
	nav.classList.toggle('cut', nav.scrollWidth > nav.clientWidth);
}

/**
 * Show a chip for each term; a click on it removes the term.
 * @param {HTMLElement} list @param {import('./filter.js').Term[]} terms
 * @param {(term: import('./filter.js').Term) => void} remove
 */
function fillChips(list, terms, remove) {
	list.replaceChildren(...terms.map(one => {
		const text = termText(one);
		return actingButton({class: 'chip', title: `${text}: remove`, 'aria-label': `${text}: remove`},
			[element('span', {}, [text]), icon('close')], () => remove(one));
	}));
	list.hidden = !terms.length;
}

// ---- zooming and changing what is shown --------------------------------------------------------

export class Navigator {
	/**
	 * @param {import('./viewer.js').Viewer} viewer
	 * @param {import('./selection.js').Selection} selection
	 * @param {(text: string) => void} say shows a message to the user
	 */
	constructor(viewer, selection, say) {
		this.viewer = viewer;
		this.selection = selection;
		this.state = viewer.state;
		this.page = viewer.page;
		/**
		 * Returns the paths of the frames that were zoomed into before. They are stored in
		 * the entry of the browser's history, so that the Back button and a reload restore
		 * them.
		 * @type {() => string[]}
		 */
		this.trail = () => [];
		/**
		 * Called after each move. With asNew, make a new entry in the browser's history, so
		 * that the Back button undoes the move.
		 * @type {(asNew: boolean, trail: string[]) => void}
		 */
		this.onMove = () => {};
		this.say = say;
		/** @type {(opened: import('./strip.js').Opened) => void} */
		this.openStrip = () => {};
		this.tellUnread = (/** @type {any} */ error) =>
			this.say(`This picture's samples cannot be read: ${error?.message || error}`);
		/**
		 * @type {import('./decode.js').Profile | null} the profile that was requested last
		 */
		this.opening = null;
		this.describeSoon = oncePerFrame(() => this.describe());
	}

	/** Handle a click. @param {number} node */
	pick(node) {
		if (node < 0)
			return;
		this.selection.select(node);
		this.zoom(node);
	}

	/**
	 * Handle a tap: the first tap on a box selects it, the second one zooms into it. @param
	 * {number} node
	 */
	tap(node) {
		if (node >= 0 && node === this.selection.selected)
			this.zoom(node);
		else
			this.selection.select(node);
	}

	/** @param {number} node */
	zoom(node) {
		const {state} = this;
		const trail = this.trail();
		if (node !== state.zoomed)
			trail.push(framesTo(state.tree, state.zoomed).join('.'));
		this.zoomAlong(node, trail);
	}

	/** @param {number} node @param {string[]} trail */
	zoomAlong(node, trail) {
		this.fill(node);
		if (this.state.filter.view === 'tree')
			this.selection.select(node);
		this.page.spoken.textContent = `Zoomed into ${sentence(this.state, node)}`;
		this.onMove(true, trail);
	}

	/**
	 * Zoom to a node without changing the history and without speaking.
	 * @param {number} node @param {boolean} [atOnce]
	 */
	fill(node, atOnce = false) {
		const {viewer, state} = this;
		const {tree} = state;
		state.zoomed = node;
		state.free = false;
		viewer.camera.go(
			{from: tree.from[node], to: tree.from[node] + tree.total[node]}, atOnce);
		this.describe();
	}

	/** Update the texts about the zoomed box, and those about the current box. */
	describe() {
		const {page, state} = this;
		page.reset.disabled = state.zoomed === 0 && !state.free && !state.filter.terms.length;
		fillCrumbs(page.crumbs, state, node => this.zoom(node));
		fillChips(page.chips, state.filter.terms, term => this.removeTerm(term));
		this.selection.describeAnew();
	}

	/**
	 * Zoom out to the enclosing box that was zoomed into before. If the root fills the view,
	 * change to the view "graph", or if this is the view already, remove the filter's last
	 * term.
	 */
	out() {
		const {state} = this;
		const {zoomed, free, filter, tree} = state;
		const trail = this.trail();
		if (filter.view !== 'graph' && ((zoomed === 0 && !free) || !state.tree.chart && !state.isSandwich))
			return this.showView('graph');
		if (filter.terms.length && zoomed === 0 && !free)
			return this.removeTerm(filter.terms[filter.terms.length - 1]);
		if (free)
			return this.zoomAlong(zoomed, trail);
		const here = framesTo(tree, zoomed).join('.');
		let before = trail.pop();
		while (before && !here.startsWith(`${before}.`))
			before = trail.pop();
		const levels = before ? before.split('.').length : 0;
		let node = zoomed;
		while (tree.depth[node] > levels)
			node = tree.parent[node];
		this.zoomAlong(node, trail);
	}

	/** Remove all terms of the filter. If there are none, zoom out to the root. */
	reset() {
		const {filter} = this.state;
		if (filter.terms.length)
			this.show({...filter, terms: []}, true, []);
		else
			this.zoom(0);
	}

	/** @param {import('./filter.js').Term} term */
	addTerm(term) {
		return this.show(withTerm(this.state.filter, term));
	}

	/** @param {import('./filter.js').Term} term */
	removeTerm(term) {
		return this.show(withoutTerms(this.state.filter, one => isSame(one, term)));
	}

	/**
	 * Add a term; if the filter has the term already, remove it. @param
	 * {import('./filter.js').Term} term
	 */
	toggleTerm(term) {
		return this.state.filter.terms.some(one => isSame(one, term))
			? this.removeTerm(term) : this.addTerm(term);
	}

	/** @param {import('./filter.js').View} view @param {string} [of] function or thread */
	showView(view, of = '') {
		return this.show({...this.state.filter, view, of});
	}

	/** @param {import('./state.js').Times} times one of the choices */
	showTimes(times) {
		return this.show({...this.state.filter, times});
	}

	/**
	 * Returns the box of a stack after the view changed between graph and order of time: in
	 * order of time the stack's first box, in the graph its only box.
	 * @param {number[]} path frames
	 * @returns {number} node; 0 if there is none
	 */
	boxAlong(path) {
		const {tree, isInverted, isSandwich, profile: {frameKind}} = this.state;
		const frames = path.filter(frame => frameKind[frame] !== IDLE);
		return tree.chart
			? firstAlong(tree, frames.length, (one, level) => tree.frame[one] === frames[level])
			: isInverted || isSandwich ? 0 : follow(tree, frames);
	}

	/**
	 * Beginning at the selected or the zoomed box, step to the heaviest child while it has at
	 * least half of its parent's weight. Select the last box.
	 */
	openHotPath() {
		const {state, selection, page} = this;
		const {tree, zoomed} = state;
		const {selected} = selection;
		const begin = selected >= 0 && isWithin(tree, selected, zoomed) ? selected : zoomed;
		let node = begin;
		for (let next = begin; next !== NONE && 2 * tree.total[next] >= tree.total[node];
			next = state.isClosed(next) ? NONE : widestChild(tree, next))
			node = next;
		this.reach(node, true);
		page.spoken.textContent = `Hot path, ${tree.depth[node] - tree.depth[begin]} levels, to ${
			sentence(state, node)}`;
	}

	/**
	 * Show the stacks that another filter keeps. The zoomed box stays zoomed if it still
	 * exists, except when the view changes to or from order of time, because one box of the
	 * graph is many boxes there.
	 * @param {import('./filter.js').Filter} filter
	 * @param {boolean} [asNew] make a new entry of the history, so that the Back button undoes
	 * it
	 * @param {number[]} [path] frames of the path to the box to zoom into
	 * @returns {Promise<boolean>} false if another filter was requested meanwhile, or if no
	 * stacks are left, which is reported to the user; then the view is unchanged
	 */
	async show(filter, asNew = true, path) {
		if (!isSameFilter(filter, this.state.filter)) {
			if (!await this.preview(filter, path, true))
				return false;
			this.confirm(asNew);
		}
		this.state.asked = this.state.filter;
		return true;
	}

	/**
	 * Show another profile.
	 * @param {import('./decode.js').Profile} profile
	 * @param {import('./worker.js').Perform} perform
	 * @param {import('./filter.js').Filter} filter
	 * @param {number[]} path frames of the path to the box to zoom into, as far as the path
	 * exists
	 * @returns {Promise<boolean>} false if another profile was requested meanwhile
	 */
	async open(profile, perform, filter, path) {
		const {state, viewer} = this;
		this.opening = profile;
		const answer = await perform('aggregate', filter);
		if (this.opening !== profile)
			return false;
		state.open(profile, perform);
		state.adopt(filter, answer);
		viewer.recolor();
		viewer.resize();
		viewer.toRoot();
		this.fill(follow(state.tree, path), true);
		this.confirm(false);
		return true;
	}

	/**
	 * Show the stacks that another filter keeps while the user is still changing the filter:
	 * the history does not change, and onMove() is not called.
	 * @param {import('./filter.js').Filter} filter @param {number[]} [path]
	 * @param {boolean} [isSaid] tell the user if no stacks are left
	 */
	async preview(filter, path, isSaid = false) {
		const {viewer, state} = this;
		const answer = await this.find(filter, isSaid);
		if (!answer)
			return false;
		const {tree} = state;
		const {selected} = this.selection;
		const isSameView = filter.view === state.filter.view && answer.of === state.filter.of;
		// Graph and tree of calls show the same nodes.
		const isSameTree = keepSame(filter, state.filter)
			&& [filter, state.filter].every(({view}) => view === 'graph' || view === 'tree');
		const stack = selected > 0 ? framesTo(tree, selected) : [];
		const chosen = isSameView || isSameTree ? null : this.chosenFrames();
		if (!isSameView)
			this.selection.leave();
		path ||= isSameView || !(answer.other || state.other) ? framesTo(tree, state.zoomed) : [];
		state.adopt(filter, answer);
		viewer.resize();
		viewer.toRoot();
		const inTime = Boolean(tree.chart || state.tree.chart);
		const heaviest = chosen ? this.heaviestOf(chosen) : NONE;
		const box = (inTime && this.boxAlong(stack))
			|| (isSameTree && stack.length ? follow(state.tree, stack) : heaviest);
		const node = inTime ? 0 : this.seeing(box, follow(state.tree, path));
		this.fill(node, true);
		if (box !== NONE)
			this.selection.select(box);
		if (box > 0 || node)
			this.scrollTo(rowOf(state.tree, box > 0 ? box : node));
		return true;
	}

	/** Make a preview final. @param {boolean} [asNew] the Back button undoes it */
	confirm(asNew = true) {
		this.page.spoken.textContent = labelOf(this.state, 0);
		this.onMove(asNew, []);
	}

	/**
	 * Returns, by frame, 1 if it belongs to the chosen function, else 0; null if no function is
	 * chosen.
	 */
	chosenFrames() {
		const {state, selection} = this;
		const {tree, profile, filter, functions} = state;
		const node = selection.selected;
		const frame = functions ? state.chosen : node > 0 ? tree.frame[node] : NONE;
		state.chosen = frame;
		const isOf = state.isSandwich && frame === NONE;
		const name = isOf ? filter.of : frame === NONE ? '' : profile.name(frame);
		return frame === NONE && !isOf ? null : Uint8Array.from({length: profile.frames}, (_, i) =>
			profile.name(i) === name && (isOf || profile.frameModule[i] === profile.frameModule[frame]) ? 1 : 0);
	}

	/**
	 * Returns the heaviest box of some frames, or the root in a sandwich. In a table, also
	 * choose the row of one of the frames.
	 * @param {Uint8Array} has by frame
	 */
	heaviestOf(has) {
		const {tree, searched, isSandwich, functions, chosen} = this.state;
		if (functions && (chosen === NONE || !functions.frame.includes(chosen)))
			this.state.chosen = functions.frame.find(one => has[one] === 1) ?? NONE;
		return isSandwich ? 0 : matchesIn(tree, markStacks(searched, has), MOST_MATCHES)
			.reduce((most, node) => most === NONE || tree.total[node] > tree.total[most] ? node : most, NONE);
	}

	/**
	 * Returns the node to zoom into so that a box becomes visible: `node` if the box is wide
	 * enough in it.
	 * @param {number} box @param {number} node
	 */
	seeing(box, node) {
		const {tree} = this.state;
		if (box === NONE)
			return node;
		const closed = this.state.closedBelow(box);
		if (closed !== NONE)
			return closed;
		const around = isWithin(tree, box, node) ? node : 0;
		return tree.total[box] / tree.total[around] * this.viewer.width < REVEALED_PX
			? this.surroundings(box) : around;
	}

	/**
	 * Compute the stacks that another filter keeps. Returns null if another filter was
	 * requested meanwhile or if no stacks are left.
	 * @param {import('./filter.js').Filter} filter
	 * @param {boolean} isSaid tell the user if no stacks are left
	 */
	async find(filter, isSaid) {
		const {state, page: {ui}} = this;
		const busy = setTimeout(() => ui.setAttribute('aria-busy', 'true'), BUSY_MS);
		state.asked = filter;
		let answer;
		try {
			answer = await state.perform('aggregate', filter);
		} catch (error) {
			this.tellUnread(error);
		}
		clearTimeout(busy);
		if (state.asked !== filter)
			return null;
		ui.removeAttribute('aria-busy');
		if (answer && (answer.other || answer.shown).total[0] > 0)
			return answer;
		if (answer && isSaid)
			this.say('Nothing is left of that');
		return null;
	}

	/** @param {boolean} bottomUp */
	reorder(bottomUp) {
		const {viewer, state, page} = this;
		state.setOrder(bottomUp);
		press(page.bottomUp, bottomUp);
		viewer.toRoot();
		this.fill(0, true);
		page.spoken.textContent = bottomUp ? 'Bottom-up' : 'Top-down';
		this.onMove(false, []);
	}

	/** @param {boolean} icicle */
	turn(icicle) {
		const {viewer, state, page} = this;
		const {scroller} = page;
		const mirrored = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
		state.icicle = icicle;
		press(page.icicle, icicle);
		scroller.scrollTop = mirrored;
		viewer.scrolled();
		viewer.draw();
		this.selection.hover();
		page.spoken.textContent = icicle ? 'Icicle: roots on top' : 'Flame: roots at the bottom';
		this.onMove(false, this.trail());
	}

	/** Move the camera by `move`, then update the zoomed box. @param {() => void} move */
	freely(move) {
		const {viewer, state} = this;
		const {camera} = viewer;
		this.page.tooltip.hidden = true;
		const before = camera.span;
		move();
		const {from, to} = camera.span;
		if (from === before.from && to === before.to)
			return;
		const {tree} = state;
		const zoomed = nodeCovering(tree, from, to, Infinity,
			tree.callees !== NONE && state.zoomed < tree.callers);
		state.zoomed = zoomed;
		state.free = from !== tree.from[zoomed] || to !== from + tree.total[zoomed];
		this.describeSoon();
	}

	/** After the user has moved the view by hand: write the new range to the URL. */
	endMove() {
		this.selection.hover();
		this.onMove(false, this.trail());
	}

	/** @param {number} factor */
	scale(factor) {
		const {viewer} = this;
		const {selected} = this.selection;
		const edges = selected >= 0 ? viewer.edgesOf(selected) : null;
		const middle = edges
			? (Math.max(edges.left, 0) + Math.min(edges.right, viewer.width)) / 2
			: viewer.width / 2;
		this.freely(() => viewer.camera.scaleAt(middle / viewer.width, factor));
		this.endMove();
	}

	/**
	 * Select a box whose place relative to the selected box `choose` determines.
	 * @param {(place: ReturnType<typeof placeOf>) => number | undefined} choose
	 */
	walk(choose) {
		const {selected} = this.selection;
		if (selected < 0)
			this.reach(this.state.zoomed);
		else
			this.reach(choose(placeOf(this.state, selected)) ?? selected);
	}

	/**
	 * Select the widest child or the parent. @param {boolean} down direction on the screen:
	 * down or up
	 */
	climb(down) {
		const {tree, zoomed, rootOnTop} = this.state;
		const {selected} = this.selection;
		const isAfter = down === rootOnTop;
		if (selected < 0)
			this.reach(zoomed);
		else if (isAfter === selected >= tree.callers && (selected > 0 || tree.callers === Infinity))
			this.reach(tree.parent[selected]);
		else
			this.reach(widestChild(tree, selected, isAfter));
	}

	/**
	 * Select a node, as keys do, and scroll and zoom so that it is visible.
	 * @param {number} node @param {boolean} [closely] zoom in if the box would be only a line
	 */
	reach(node, closely = false) {
		const {viewer, state, selection} = this;
		if (node === NONE)
			return;
		selection.leave();
		if (state.filter.view === 'tree') {
			selection.select(node);
			return;
		}
		const closed = state.closedBelow(node);
		if (closed !== NONE)
			this.zoom(closed);
		selection.select(node);
		const edges = viewer.edgesOf(node);
		const isLine = edges && edges.right - edges.left < REVEALED_PX;
		if (!edges || (closely && isLine)) {
			this.zoom(closely ? this.surroundings(node) : state.tree.parent[node]);
			this.page.spoken.textContent = sentence(state, node);
		}
		this.scrollTo(rowOf(state.tree, node));
	}

	/**
	 * Returns the node to zoom into so that `node` is visible: its nearest ancestor that is at
	 * least 4 times as wide, or `node` itself if zooming to the ancestor would only zoom out.
	 * @param {number} node
	 */
	surroundings(node) {
		const {tree, zoomed} = this.state;
		let above = node;
		while (above > 0 && tree.total[above] < 4 * tree.total[node])
			above = tree.parent[above];
		return isWithin(tree, zoomed, above) && isWithin(tree, node, zoomed) ? node : above;
	}

	/** @param {number} row */
	scrollTo(row) {
		const {viewer} = this;
		const {scroller} = this.page;
		const {rowPx} = this.state.profile;
		const top = viewer.topOf(row);
		if (top < rowPx)
			scroller.scrollTop += top - 3 * rowPx;
		else if (top > viewer.height - 2 * rowPx)
			scroller.scrollTop += top - viewer.height + 3 * rowPx;
		viewer.scrolled();
	}
}
