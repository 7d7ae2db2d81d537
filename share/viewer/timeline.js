// SPDX-License-Identifier: MIT
// @ts-check
// What stands above a thread in order of time: which thread it is, how much of the time is known, and a
// ruler of seconds.

import {element} from './page.js';
import {ticksOf} from './strip.js';
import {TIMES_TEXT, formatSeconds} from './text.js';

export class Timeline {
	/** @param {import('./viewer.js').Viewer} viewer @param {(thread: string) => void} choose */
	constructor(viewer, choose) {
		const {page, state} = viewer;
		this.viewer = viewer;
		this.select = element('select', {'aria-label': 'Thread', 'title': 'Thread: the busiest first'});
		this.known = element('span', {class: 'known'});
		this.ruler = element('div', {'class': 'ruler', 'aria-hidden': 'true'});
		this.root = element('div', {class: 'timeline', hidden: ''}, [
			element('div', {class: 'thread'}, [this.select, this.known]), this.ruler]);
		page.scroller.before(this.root);
		this.select.addEventListener('change', () => choose(this.select.value));
		viewer.onSpan = () => this.drawRuler();
		state.onTree(() => this.show());
	}

	/** Another tree is shown. */
	show() {
		const {state} = this.viewer;
		const {tree: {chart, self}, filter} = state;
		this.root.hidden = !chart;
		if (!chart)
			return;
		this.select.replaceChildren(...chart.threads.map(thread => {
			const name = state.profile.threads[thread];
			return element('option', {value: name, ...name === filter.of ? {selected: ''} : {}}, [name]);
		}));
		const known = self.reduce((a, b) => a + b, 0) / 1e6;
		const [drawn, all] = [known, state.tree.total[0] / 1e6].map(formatSeconds);
		this.known.textContent = `${drawn} of ${TIMES_TEXT[state.times]} in ${all}${chart.mergedUs
			? `; merged, one stack for each ${formatSeconds(chart.mergedUs / 1e6)}: a part of the time has all`
			: ''}`;
		this.known.title = this.known.textContent;
	}

	drawRuler() {
		const {camera: {span}, width, state: {tree: {chart}}} = this.viewer;
		if (!chart)
			return;
		this.ruler.replaceChildren(...ticksOf(chart.beginUs + span.from, chart.beginUs + span.to, width));
	}
}
