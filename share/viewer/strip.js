// SPDX-License-Identifier: MIT
// @ts-check
// The strip of time above the graph: it shows the marks and how many CPUs were in use during the
// run, by all samples and by those that are shown. When opened, it also shows processes and
// threads, or a heat map of seconds side by side. The user chooses a range of time by pointer,
// finger or key, and the graph then shows that range.

import {commOf} from './aggregate.js';
import {isSame, isSameFilter, keepSame, term, timeTerm, timeText, withTerm, withoutTerms} from './filter.js';
import {moveFocus, oncePerFrame, whenResting} from './input.js';
import {actingButton, element, isTouched, svgElement} from './page.js';
import {press} from './search.js';
import {placeTooltip} from './selection.js';
import {formatSeconds, formatTime, sampledOf} from './text.js';
import {clamp} from './tree.js';

/** @typedef {import('./activity.js').Activity} Activity */
/** @typedef {'' | 'lanes' | 'heat'} Opened panel below the strip */
/** @typedef {'from' | 'to' | 'range'} Grip */
/** @typedef {{grip: Grip | 'new', at: number, from: number, to: number, moved: boolean,
 *             filter: import('./filter.js').Filter, timeAt: (event: PointerEvent) => number}} Drag */

const PARTS = /** @type {const} */ (['bins', 'laneBins', 'heatUs']);
/** @type {Opened[]} */
export const OPENED = ['', 'lanes', 'heat'];
/** Shorter runs, in microseconds, have no heat map, because it would have few columns. */
const HEAT_LEAST_US = 60e6;
/** Number of rows of the heat map. A column is at least a second long and a pixel wide. */
const HEAT_ROWS = 50;
const MOST_LANE_BINS = 400;
/** Width of a bin. Narrower bins would mostly show random variation. */
const BIN_PX = 3;
const MOST_BINS = 2000;
/** Distance in pixels within which a pointer or a finger hits an edge of the range. */
const NEAR_PX = 6;
const NEAR_FINGER_PX = 20;
const STILL_PX = 3;
const LABEL_PX = 90;
/** Number of characters kept at the end of a name that is too long. */
const TAIL = 7;
/** Number of steps by which a key moves an edge of the range. @type {Record<string, number>} */
const STEPS = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10,
	Home: -Infinity, End: Infinity};
const STEPS_OF_RUN = 200;

/** Round up to 1, 2 or 5 times a power of ten. @param {number} least */
export function roundStep(least) {
	const ten = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map(one => one * ten).find(one => one >= least * (1 - 1e-9)) || least;
}

/**
 * Returns the labels of a ruler, without a label at the right edge that would be cut off.
 * @param {number} from @param {number} to @param {number} px
 */
export function ticksOf(from, to, px) {
	const room = (to - from) * LABEL_PX / Math.max(px, LABEL_PX);
	const step = roundStep(room);
	const ticks = [];
	for (let at = Math.ceil(from / step) * step; at < to - room / 2; at += step) {
		const tick = element('span', {}, [formatTime(at, step)]);
		tick.style.left = `${100 * (at - from) / (to - from)}%`;
		ticks.push(tick);
	}
	return ticks;
}

/**
 * Returns the SVG path of the area below a row of bins.
 * @param {Float32Array} bins @param {number} most value at full height
 */
function areaOf(bins, most) {
	let d = `M0 100`;
	bins.forEach((value, i) => {
		// Draw neighbours with equal values as one line.
		if (i === 0 || value !== bins[i - 1])
			d += `V${+(100 - 100 * value / most).toFixed(1)}`;
		if (value !== bins[i + 1])
			d += `H${i + 1}`;
	});
	return `${d}V100Z`;
}

/**
 * @param {[string, Float32Array][]} areas CSS class and bins of each area, the backmost first
 * @param {number} most @param {string} [marks]
 */
function plotOf(areas, most, marks = '') {
	const svg = svgElement('svg', {class: 'plot', 'aria-hidden': 'true', preserveAspectRatio: 'none',
		viewBox: `0 0 ${areas[0][1].length} 100`});
	svg.append(...areas.map(([name, bins]) => svgElement('path', {class: name, d: areaOf(bins, most || 1)})),
		svgElement('path', {class: 'ticks', d: marks}));
	return svg;
}

/**
 * Returns the filter with a lane's term added or, if it has the term, removed. A member of a shared
 * lane replaces all members, and the other way round.
 * @param {import('./filter.js').Filter} filter @param {import('./activity.js').Lane} lane
 */
export function withLane(filter, {kind, value}) {
	const comm = commOf(value);
	const added = term(kind, value);
	if (filter.terms.some(one => isSame(one, added)))
		return withoutTerms(filter, one => isSame(one, added));
	return withTerm(withoutTerms(filter, one => one.kind === kind
		&& (value === comm ? commOf(one.value) === comm : one.value === comm)), added);
}

/** @param {Float32Array} bins */
function mostOf(bins) {
	return bins.reduce((a, b) => Math.max(a, b), 0);
}

/** Returns a number of CPUs as text. @param {number} n */
function digits(n) {
	return n >= 10 ? n.toFixed(0) : n.toFixed(n < 1 ? 2 : 1);
}

export class Strip {
	// These fields are set by build().
	/** @type {Record<Grip, HTMLElement>} */ grips;
	/** @type {HTMLElement} */ track;
	/** @type {HTMLElement} */ more;
	/** @type {HTMLElement} */ heat;

	/** @param {import('./navigate.js').Navigator} navigator */
	constructor(navigator) {
		this.navigator = navigator;
		this.state = navigator.state;
		this.page = navigator.page;
		/** @type {Required<Activity> | null} */
		this.activity = null;
		/**
		 * @type {import('./activity.js').Wanted | null} the part of the activity that is
		 * known or requested
		 */
		this.wanted = null;
		this.asking = false;
		/** @type {Drag | null} */
		this.drag = null;
		/** @type {import('./filter.js').Filter | null} the filter to show next */
		this.next = null;
		/** @type {Promise<void> | null} */
		this.following = null;
		this.keepSoon = whenResting(() => this.finish());
		// Wait for the graph's frame to be drawn first, because the user waits for the
		// graph.
		this.askSoon = oncePerFrame(() => setTimeout(() => this.ask()));
		if (!this.state.profile.sampleCount)
			return;
		this.build();
		this.state.onTree(() => this.show());
		new ResizeObserver(this.askSoon).observe(this.track);
		new MutationObserver(() => this.drawHeat())
			.observe(this.page.ui, {attributes: true, attributeFilter: ['data-theme']});
	}

	build() {
		const grips = /** @type {Grip[]} */ (['range', 'from', 'to']).map(grip => element('div', {
			class: `grip ${grip}`, role: 'slider', tabindex: '0', 'aria-valuemin': '0',
			'aria-label': {from: 'From', to: 'To', range: 'Range: both ends'}[grip]}));
		this.grips = {range: grips[0], from: grips[1], to: grips[2]};
		this.plot = element('div', {class: 'plots'});
		this.axis = element('div', {class: 'axis', 'aria-hidden': 'true'});
		this.track = element('div', {class: 'track'}, [this.plot, this.axis, ...grips]);
		this.peak = element('span', {class: 'peak', title: 'The most at a time'});
		this.scale = element('span', {class: 'peak',
			title: 'The most of one of them at a time'});
		this.more = actingButton({class: 'lanes-shown',
			title: 'Processes and threads over time  (a)'}, ['Threads'], () => this.toggle());
		this.heat = actingButton({class: 'heat-shown',
			title: 'Seconds side by side, each from below'}, ['Seconds'],
		() => this.open(this.state.opened === 'heat' ? 'lanes' : 'heat', true));
		this.lanes = element('div', {class: 'lanes', role: 'listbox', 'aria-multiselectable': 'true',
			'aria-label': 'Processes and threads, the busiest first'});
		this.canvas = element('canvas', {role: 'img', 'aria-label': 'CPU in use by seconds and parts of them'});
		this.heatBox = element('div', {class: 'heat'});
		this.root = element('section', {class: 'strip', role: 'group', 'aria-label': 'Time of the run'}, [
			element('div', {class: 'strip-head'}, [this.more, this.peak, this.scale]), this.track,
			this.heat, this.heatBox, this.lanes]);
		this.page.legend.before(this.root);
		this.listenToDrags(this.track, (/** @type {PointerEvent} */ event) => this.timeAt(event));
		this.listenToDrags(this.heatBox, (/** @type {PointerEvent} */ event) => this.heatTimeAt(event));
		this.track.addEventListener('keydown', event => this.onKey(event));
		this.lanes.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => this.onLaneKey(event));
		this.show();
	}

	// ---- what is drawn --------------------------------------------------------------------------

	/** Length of the run in microseconds, 0 while it is unknown. */
	get us() {
		return this.activity?.us || 0;
	}

	/** The shown range of time, within the run. @returns {{from: number, to: number}} */
	get range() {
		const {part} = this.state;
		const us = this.us;
		return this.drag?.moved ? this.drag
			: {from: clamp(part?.from || 0, 0, us), to: Math.min(part?.to ?? us, us)};
	}

	toggle() {
		this.open(this.state.opened ? '' : 'lanes', true);
	}

	/**
	 * @param {Opened} opened
	 * @param {boolean} [byPerson] the user opened it, so write it to the link
	 */
	open(opened, byPerson = false) {
		if (!this.root || this.root.hidden)
			return byPerson && this.navigator.say('The samples of this picture have no times');
		this.state.opened = opened;
		this.show();
		this.navigator.viewer.resize();
		if (byPerson)
			this.navigator.onMove(false, this.navigator.trail());
	}

	/** Update the strip after a change of the filter or of the opened panel. */
	show() {
		const {opened} = this.state;
		this.root.hidden = !this.state.profile.sampleCount || Boolean(this.activity) && this.us <= 1;
		this.more.setAttribute('aria-expanded', String(opened !== ''));
		press(this.heat, opened === 'heat');
		this.lanes.hidden = this.scale.hidden = opened !== 'lanes';
		this.heatBox.hidden = opened !== 'heat';
		this.heatBox.replaceChildren(...opened === 'heat' ? [this.canvas] : []);
		this.heat.hidden = !opened || !(this.us >= HEAT_LEAST_US);
		this.showRange();
		this.askSoon();
	}

	/**
	 * Request the activity that is not known yet, one request at a time; show() requests the
	 * rest after an answer.
	 */
	async ask() {
		const {opened, filter} = this.state;
		const width = Math.round(this.track.clientWidth);
		const bins = Math.min(Math.ceil(width / BIN_PX), MOST_BINS);
		/** @type {import('./activity.js').Wanted} */
		const wanted = {filter: {...withoutTerms(filter, ({kind}) => kind === 'time'),
			view: 'graph', of: ''}, bins,
			laneBins: opened === 'lanes' ? Math.min(bins, MOST_LANE_BINS) : 0,
			heatUs: opened === 'heat' && this.activity ? roundStep(Math.max(this.us / width, 1e6)) / HEAT_ROWS : 0};
		const known = {...this.wanted && keepSame(this.wanted.filter, wanted.filter) ? this.wanted
			: {filter: wanted.filter, bins: 0, laneBins: 0, heatUs: 0}};
		const asked = {...wanted};
		for (const part of PARTS)
			if (wanted[part] === known[part])
				asked[part] = 0;
			else
				known[part] = wanted[part] || known[part];
		if (!bins || this.asking || !PARTS.some(part => asked[part]))
			return;
		this.asking = true;
		this.wanted = known;
		try {
			this.activity = {...this.activity, ...await this.state.perform('binActivity', asked)};
			this.draw();
		} catch (error) {
			this.navigator.tellUnread(error);
		}
		this.asking = false;
		this.show();
	}

	draw() {
		const {activity} = this;
		if (!activity)
			return;
		const {us, kept, rest, waits} = activity;
		const {marks, periodNs} = this.state.profile;
		const all = rest.map((value, i) => value + kept[i]);
		const [most, mostWaits] = [all, waits].map(mostOf);
		const places = new Set(marks.filter(one => one.us < us)
			.map(one => Math.round(one.us / us * kept.length) + 0.5));
		this.plot.replaceChildren(plotOf([['waits', waits]], mostWaits), plotOf([['all', all], ['kept', kept]],
			most, [...places].map(x => `M${x} 0V100`).join('')));
		this.peak.textContent = !periodNs ? '' : [...most ? [`\u2264\u00a0${digits(most)} CPU${most > 1 ? 's' : ''}`] : [],
			...mostWaits ? [`\u2264\u00a0${digits(mostWaits)} wait`] : []].join(', ');
		this.axis.replaceChildren(...ticksOf(0, us, this.track.clientWidth));
		this.drawLanes();
		this.drawHeat();
		this.showRange();
	}

	/**
	 * Draw the lanes. All lanes of threads have one scale, and all lanes of processes have
	 * another, so that lanes can be compared. Full height is the maximum over these lanes.
	 */
	drawLanes() {
		const {activity, state} = this;
		const bins = this.wanted?.laneBins;
		if (!activity || !bins)
			return;
		const at = [...this.lanes.children].indexOf(/** @type {Element} */ (document.activeElement));
		const {terms} = state.filter;
		const rows = activity.lanes.map((_, i) => {
			const [rest, kept] = [0, 1].map(row =>
				activity.laneBins.subarray((2 * i + row) * bins, (2 * i + row + 1) * bins));
			return {kept, all: rest.map((value, bin) => value + kept[bin])};
		});
		const peaks = rows.map(({all}) => mostOf(all));
		const scaleOf = (/** @type {string} */ wanted) => Math.max(0,
			...peaks.filter((_, i) => activity.lanes[i].kind === wanted));
		const scales = {process: scaleOf('process'), thread: scaleOf('thread')};
		const unit = state.times === 'waits' ? 'waiting' : 'CPUs';
		const most = (/** @type {number} */ n) => state.profile.periodNs ? `at most ${digits(n)} ${unit}` : '';
		this.scale.textContent = !state.profile.periodNs ? '' : Object.entries(scales).filter(([, n]) => n)
			.map(([kind, n]) => `${kind === 'thread' ? 'threads' : 'processes'} \u2264\u00a0${digits(n)}`).join(', ');
		this.lanes.replaceChildren(...activity.lanes.map((lane, i) => {
			const isChosen = terms.some(({kind, value}) => kind === lane.kind
				&& (value === lane.value || value === commOf(lane.value)));
			const name = lane.count > 1 && lane.value === commOf(lane.value)
				? `${lane.value} \u00d7${lane.count}` : lane.value;
			const amount = [...sampledOf(state, lane.weight).slice(-1), most(peaks[i])].filter(Boolean).join(', ');
			const made = actingButton({class: 'lane',
				role: 'option', 'aria-selected': isChosen, tabindex: i === Math.max(at, 0) ? '0' : '-1',
				title: `${lane.kind} ${name}: ${amount}`, 'aria-label': `${lane.kind} ${name}, ${amount}`}, [
				element('span', {class: 'who'}, [element('span', {}, [name.slice(0, -TAIL)]), name.slice(-TAIL)]),
				plotOf([['all', rows[i].all], ['kept', rows[i].kept]], scales[lane.kind])],
			() => this.navigator.show(withLane(state.filter, lane)));
			made.style.setProperty('--within', String(lane.within));
			return made;
		}), ...activity.more ? [element('p', {role: 'presentation'}, [`and ${activity.more} more`])] : []);
		if (at >= 0)
			this.lanes.children[at]?.focus();
	}

	/** Draw the heat map in the accent colour; times outside of the chosen range are faint. */
	drawHeat() {
		const heat = this.activity?.heat;
		const step = this.wanted?.heatUs;
		const context = this.canvas.getContext('2d');
		if (!heat?.length || !step || !context)
			return;
		const columns = this.canvas.width = Math.ceil(heat.length / HEAT_ROWS);
		this.canvas.height = HEAT_ROWS;
		this.canvas.style.width = `${100 * columns * HEAT_ROWS * step / (this.activity?.us || 1)}%`;
		const [red, green, blue] = getComputedStyle(this.canvas).color.match(/\d+/g)?.map(Number) || [0, 0, 0];
		const most = mostOf(heat) || 1;
		const image = context.createImageData(columns, HEAT_ROWS);
		const {from, to} = this.range;
		heat.forEach((value, i) => {
			const isShown = (i + 0.5) * step >= from && (i + 0.5) * step < to;
			const shade = (value ? 30 + 225 * value / most : 12) * (isShown ? 1 : 0.3);
			image.data.set([red, green, blue, Math.round(shade)],
				4 * ((HEAT_ROWS - 1 - i % HEAT_ROWS) * columns + Math.floor(i / HEAT_ROWS)));
		});
		context.putImageData(image, 0, 0);
	}

	/** Show the chosen range, and describe it to screen readers. */
	showRange() {
		const {us} = this;
		const {from, to} = this.range;
		const isPart = from > 0 || to < us;
		this.root.style.setProperty('--from', `${us ? 100 * from / us : 0}%`);
		this.root.style.setProperty('--to', `${us ? 100 * to / us : 100}%`);
		this.root.classList.toggle('part', isPart);
		const text = timeText({from, to}).replace(/\u202f/g, ' ');
		for (const [grip, one] of Object.entries(this.grips)) {
			one.setAttribute('aria-valuemax', String(us / 1e6));
			one.setAttribute('aria-valuenow', String((grip === 'to' ? to : from) / 1e6));
			one.setAttribute('aria-valuetext', text);
		}
		this.grips.range.tabIndex = isPart ? 0 : -1;
		this.drawHeat();
	}

	// ---- choosing a range
	// -----------------------------------------------------------------------

	/** @param {PointerEvent} event */
	timeAt({clientX}) {
		const {left, width} = this.track.getBoundingClientRect();
		return clamp((clientX - left) / width, 0, 1) * this.us;
	}

	/**
	 * Returns the time under a pointer in the heat map: within a column time runs from bottom
	 * to top, then continues at the bottom of the next column.
	 * @param {PointerEvent} event
	 */
	heatTimeAt({clientX, clientY}) {
		const {left, top, width, height} = this.canvas.getBoundingClientRect();
		const column = Math.floor(clamp((clientX - left) / width, 0, 0.9999) * this.canvas.width);
		const row = Math.floor((1 - clamp((clientY - top) / height, 0, 0.9999)) * HEAT_ROWS);
		return Math.min((column * HEAT_ROWS + row) * (this.wanted?.heatUs || 0), this.us);
	}

	/**
	 * Returns the thing that a pointer would drag: an edge, the whole range, or a new range.
	 * @param {PointerEvent} event @returns {Drag['grip']}
	 */
	gripAt({clientX, pointerType}) {
		const {from, to} = this.range;
		const us = this.us;
		if (!us || !this.state.part)
			return 'new';
		const {left, width} = this.track.getBoundingClientRect();
		const [begin, end] = [from, to].map(at => clientX - left - at / us * width);
		// At a narrow range, hit the edges mostly from outside, so that the range itself
		// can be dragged, too.
		const near = pointerType === 'touch' ? NEAR_FINGER_PX : NEAR_PX;
		const within = Math.min(near, (begin - end) / 4);
		return begin > -near && begin < within ? 'from' : end < near && end > -within ? 'to'
			: begin > 0 && end < 0 ? 'range' : 'new';
	}

	/** @param {HTMLElement} area @param {(event: PointerEvent) => number} timeAt */
	listenToDrags(area, timeAt) {
		area.addEventListener('pointerdown', event => {
			if (event.button || this.drag || !this.activity?.us)
				return;
			area.setPointerCapture(event.pointerId);
			const at = timeAt(event);
			this.drag = {grip: area === this.track ? this.gripAt(event) : 'new', at, ...this.range, moved: false,
				filter: this.state.filter, timeAt};
			this.startX = event.clientX + event.clientY;
		});
		area.addEventListener('pointermove', event => {
			if (this.drag?.timeAt === timeAt)
				this.dragTo(event);
			else if (area === this.track)
				this.point(event);
		});
		area.addEventListener('pointerleave', () => this.hideTooltip());
		area.addEventListener('pointercancel', () => this.cancel());
		area.addEventListener('pointerup', event => {
			const {drag} = this;
			if (drag?.timeAt !== timeAt)
				return;
			if (drag.moved)
				return this.finish();
			this.drag = null;
			const {part} = this.state;
			const at = timeAt(event);
			if (part && drag.grip === 'new' && !(at >= part.from && at < part.to))
				this.navigator.removeTerm(part);
		});
		window.addEventListener('keydown', event => {
			if (event.key !== 'Escape' || !this.drag || this.drag.timeAt !== timeAt)
				return;
			event.stopImmediatePropagation();
			event.preventDefault();
			this.cancel();
		}, {capture: true});
	}

	/** @param {PointerEvent} event */
	dragTo(event) {
		const drag = /** @type {Drag} */ (this.drag);
		if (!drag.moved && Math.abs(event.clientX + event.clientY - (this.startX || 0)) <= STILL_PX)
			return;
		if (!drag.moved && drag.grip === 'new')
			drag.from = drag.to = drag.at;
		this.hideTooltip();
		const at = drag.timeAt(event);
		const by = at - drag.at;
		if (drag.grip === 'new')
			this.choose(Math.min(drag.at, at), Math.max(drag.at, at), drag);
		else {
			this.moveBy(drag.grip, by, drag);
			drag.at = at;
		}
	}

	/**
	 * Move an edge, at most to the other edge, or move the whole range within the run.
	 * @param {Grip} grip @param {number} by @param {Drag} drag
	 */
	moveBy(grip, by, drag) {
		const us = this.us;
		const {from, to} = drag;
		if (grip === 'range')
			by = clamp(by, -from, us - to);
		this.choose(grip === 'to' ? from : clamp(from + by, 0, grip === 'from' ? to : us),
			grip === 'from' ? to : clamp(to + by, grip === 'to' ? from : 0, us), drag);
	}

	/** @param {number} from @param {number} to @param {Drag} drag */
	choose(from, to, drag) {
		Object.assign(drag, {from, to, moved: true});
		this.showRange();
		const us = this.us;
		// Round times to the length of a pixel, so that links are short.
		const step = 10 ** Math.floor(Math.log10(Math.max(us / Math.max(this.track.clientWidth, 1), 1)));
		const [begin, end] = [from, to].map(at => Math.round(Math.round(at / step) * step));
		const chosen = timeTerm(begin > 0 ? begin : -Infinity, to < us ? end : Infinity);
		this.next = begin >= end ? null : begin <= 0 && to >= us
			? withoutTerms(drag.filter, ({kind}) => kind === 'time') : withTerm(drag.filter, chosen);
		this.following ||= this.follow();
	}

	/** While the range is dragged, update the graph again and again, one request at a time. */
	async follow() {
		while (this.next) {
			const filter = this.next;
			this.next = null;
			await this.navigator.preview(filter);
		}
		this.following = null;
	}

	/** End a drag: add the chosen range to the browser's history as one entry. */
	async finish() {
		const {drag, navigator, state} = this;
		await this.following;
		if (!drag || this.drag !== drag)
			return;
		this.drag = null;
		this.showRange();
		if (!isSameFilter(state.filter, drag.filter))
			navigator.confirm();
	}

	/** Undo a drag. */
	async cancel() {
		const {drag} = this;
		this.drag = null;
		if (!drag?.moved)
			return;
		this.next = drag.filter;
		this.showRange();
		await (this.following ||= this.follow());
		this.showRange();
	}

	// ---- keys and texts
	// -------------------------------------------------------------------------

	/** @param {KeyboardEvent} event */
	onKey(event) {
		const grip = /** @type {Grip | undefined} */ (Object.keys(this.grips)
			.find(one => this.grips[/** @type {Grip} */ (one)] === event.target));
		const us = this.activity?.us;
		const steps = STEPS[event.key];
		if (!grip || !us || !steps || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		this.drag ||= {grip, at: 0, ...this.range, moved: true, filter: this.state.filter, timeAt: () => 0};
		this.moveBy(grip, clamp(steps * (event.shiftKey ? 10 : 1) * us / STEPS_OF_RUN, -us, us), this.drag);
		this.keepSoon();
	}

	/** @param {KeyboardEvent} event */
	onLaneKey(event) {
		const lanes = /** @type {HTMLElement[]} */ ([...this.lanes.querySelectorAll('button')]);
		if (!moveFocus(lanes, event.key))
			return;
		for (const one of lanes)
			one.tabIndex = one === document.activeElement ? 0 : -1;
		event.preventDefault();
		event.stopPropagation();
	}

	/** Show a tooltip about a time. @param {PointerEvent} event */
	point(event) {
		const {activity, state} = this;
		if (!activity || event.pointerType === 'touch' || isTouched())
			return;
		this.track.dataset.grip = this.gripAt(event);
		const at = this.timeAt(event);
		const {us, kept, rest, waits} = activity;
		const bin = Math.min(Math.floor(at / us * kept.length), kept.length - 1);
		const near = us / kept.length * NEAR_PX;
		const marks = state.profile.marks.filter(one => Math.abs(one.us - at) < near).slice(0, 5);
		const {tooltip, ui} = this.page;
		const unit = (/** @type {number} */ n) => state.profile.periodNs
			? `${n.toFixed(2)} CPUs` : `${Math.round(n)} ${state.profile.countName}`;
		tooltip.replaceChildren(element('div', {class: 'name'}, [formatSeconds(at / 1e6)]),
			...marks.map(one => element('div', {}, [`${formatSeconds(one.us / 1e6)} ${one.text}`])),
			element('div', {class: 'module'}, [`${unit(kept[bin] + rest[bin])} in use${
				rest[bin] ? `, ${unit(kept[bin])} of what is shown` : ''}${
				waits[bin] ? ` \u00b7 ${waits[bin].toFixed(1)} threads waiting` : ''}`]));
		tooltip.hidden = false;
		placeTooltip(tooltip, ui, {x: event.clientX, y: event.clientY});
	}

	hideTooltip() {
		this.page.tooltip.hidden = true;
	}
}
