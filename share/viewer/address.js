// SPDX-License-Identifier: MIT
// @ts-check
// The URL follows what is looked at, and what is looked at follows the URL.

import {follow, pathTo} from './tree.js';
import {formatState, parseState} from './state.js';

export class Address {
	/** @param {import('./control.js').Control} control */
	constructor(control) {
		this.control = control;
		this.viewer = control.viewer;
		this.restoring = false;
		window.addEventListener('hashchange', () => this.restore(false));
	}

	/** @returns {import('./state.js').State} */
	state() {
		const {viewer} = this;
		const {tree, zoomed, profile, camera} = viewer;
		const total = tree.total[0];
		return {
			mark: viewer.stretch,
			path: pathTo(tree, zoomed).map(node => tree.frame[node]),
			span: !viewer.free ? null
				: {from: camera.span.from / total, to: camera.span.to / total},
			order: viewer.bottomUp === profile.reversed ? ''
				: viewer.bottomUp ? 'bottom-up' : 'top-down',
			layout: viewer.icicle === profile.icicle ? ''
				: viewer.icicle ? 'icicle' : 'flame',
			theme: viewer.chosenTheme,
			query: viewer.finder.query,
		};
	}

	/** Write the state into the URL. @param {boolean} [asNew] the Back button undoes it */
	keep(asNew = false) {
		const fragment = formatState(this.state());
		if (this.restoring || fragment === location.hash)
			return;
		try {
			const url = fragment || location.pathname + location.search;
			history[asNew ? 'pushState' : 'replaceState'](null, '', url);
		} catch {
			// Some documents may not: data: URLs, sandboxes, many changes at a time.
		}
	}

	/** @param {boolean} first at the beginning */
	restore(first) {
		const fragment = location.hash;
		if (!first && fragment === formatState(this.state()))
			return;
		const {viewer, control} = this;
		const {profile} = viewer;
		const state = parseState(fragment);
		this.restoring = true;
		if (state.theme !== viewer.chosenTheme)
			control.choose(state.theme);
		const bottomUp = state.order ? state.order === 'bottom-up' : profile.reversed;
		if (first || bottomUp !== viewer.bottomUp)
			control.reorder(bottomUp);
		const stretch = viewer.stretches[state.mark]?.weight ? state.mark : -1;
		if (stretch !== viewer.stretch)
			control.showStretch(stretch);
		const icicle = state.layout ? state.layout === 'icicle' : profile.icicle;
		if (first || icicle !== viewer.icicle)
			control.turn(icicle);
		control.searchBox.fill(state.query);
		this.restoreZoom(state, first);
		viewer.page.spoken.textContent = '';
		this.restoring = false;
	}

	/** @param {import('./state.js').State} state @param {boolean} first */
	restoreZoom({path, span}, first) {
		const {viewer, control} = this;
		const total = viewer.tree.total[0];
		const node = follow(viewer.tree, path);
		if (first)
			viewer.toRoot();
		if (span)
			control.navigator.freely(() =>
				viewer.camera.set({from: span.from * total, to: span.to * total}));
		else if (node !== viewer.zoomed || viewer.free)
			control.navigator.zoom(node, first);
		if (first && node)
			control.navigator.scrollTo(viewer.tree.depth[node]);
	}
}
