// SPDX-License-Identifier: MIT
// @ts-check
// The head of the chart of a thread in order of time: the choice of the thread, how much of its
// time is known, and a ruler of seconds.

import {element} from './page.js';
import {ticksOf} from './strip.js';
import {TIMES_TEXT, formatSeconds} from './text.js';

/** @param {import('./viewer.js').Viewer} viewer @param {(thread: string) => void} choose */
export function showTimeline(viewer, choose) {
	const {page, state} = viewer;
	const select = element('select', {'aria-label': 'Thread', 'title': 'Thread: the busiest first'});
	const known = element('span', {class: 'known'});
	const ruler = element('div', {'class': 'ruler', 'aria-hidden': 'true'});
	const root = element('div', {class: 'timeline', hidden: ''}, [
		element('div', {class: 'thread'}, [select, known]), ruler]);
	page.scroller.before(root);
	select.addEventListener('change', () => choose(select.value));
	viewer.onSpan = () => {
		const {camera: {span: {from, to}}, width} = viewer;
		const {chart} = state.tree;
		if (chart)
			ruler.replaceChildren(...ticksOf(chart.beginUs + from, chart.beginUs + to, width));
	};
	state.onTree(() => {
		const {tree: {chart, self, total}, filter} = state;
		root.hidden = !chart;
		if (!chart)
			return;
		select.replaceChildren(...chart.threads.map(thread => {
			const name = state.profile.threads[thread];
			return element('option', {value: name, ...name === filter.of ? {selected: ''} : {}}, [name]);
		}));
		const [drawn, all] = [self.reduce((a, b) => a + b, 0), total[0]].map(us => formatSeconds(us / 1e6));
		known.textContent = known.title = `${drawn} of ${TIMES_TEXT[state.times]} in ${all}${chart.mergedUs
			? `; merged, one stack for each ${formatSeconds(chart.mergedUs / 1e6)}: a part of the time has all`
			: ''}`;
	});
}
