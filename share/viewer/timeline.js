// SPDX-License-Identifier: MIT
// @ts-check
// What stands above a thread in order of time: which thread it is, how much of the time is known, and a
// ruler of seconds.

import {element} from './page.js';
import {roundStep} from './strip.js';
import {TIMES_TEXT, formatSeconds, formatTime} from './text.js';

const TICK_PX = 90;

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
		const scale = width / (span.to - span.from);
		const step = roundStep(TICK_PX / scale);
		const ticks = [];
		for (let i = Math.ceil((chart.beginUs + span.from) / step); ticks.length < width / TICK_PX + 1; i++) {
			const left = (i * step - chart.beginUs - span.from) * scale;
			// Who would be cut off is not there.
			if (left >= width - TICK_PX / 2)
				break;
			const tick = element('span', {}, [formatTime(i * step, step)]);
			tick.style.left = `${left}px`;
			ticks.push(tick);
		}
		this.ruler.replaceChildren(...ticks);
	}
}
