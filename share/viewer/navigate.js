// SPDX-License-Identifier: MIT
// @ts-check
// Where one is in the graph: zooming, selecting, walking by keys.

import {NONE, isWithin, pathTo, widestChild} from './tree.js';
import {placeOf, sentence} from './describe.js';

const REVEALED_PX = 3;

export class Navigator {
	/** @param {import('./viewer.js').Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		/** @type {number[]} nodes zoomed into before */
		this.history = [];
		/** Called after each zoom; asNew when the Back button is to undo it. */
		this.changed = (/** @type {boolean} */ _asNew) => {};
		viewer.onZoom = node => this.zoom(node);
	}

	/** A click. @param {number} node */
	pick(node) {
		if (node < 0)
			return;
		this.viewer.select(node);
		this.zoom(node);
	}

	/** A finger: the first tap selects, the second one zooms. @param {number} node */
	tap(node) {
		if (node >= 0 && node === this.viewer.selected)
			this.zoom(node);
		else
			this.viewer.select(node);
	}

	/** @param {number} node @param {boolean} [atOnce] without history and motion */
	zoom(node, atOnce = false) {
		const {viewer} = this;
		const {tree} = viewer;
		if (node !== viewer.zoomed && !atOnce)
			this.history.push(viewer.zoomed);
		viewer.zoomed = node;
		viewer.free = false;
		viewer.camera.go(
			{from: tree.from[node], to: tree.from[node] + tree.total[node]}, atOnce);
		viewer.describeZoom();
		if (!atOnce) {
			viewer.page.spoken.textContent = `Zoomed into ${sentence(viewer, node)}`;
			this.changed(true);
		}
	}

	/** To what was zoomed into before and is around it. */
	out() {
		const {viewer} = this;
		let node = viewer.free ? viewer.zoomed : 0;
		while (this.history.length && !viewer.free) {
			const before = this.history.pop() || 0;
			if (before !== viewer.zoomed &&
				isWithin(viewer.tree, viewer.zoomed, before)) {
				node = before;
				break;
			}
		}
		this.zoom(node);
		this.history = this.history.filter(one => one !== node).slice(0, -1);
	}

	/** Keep what moved the camera by hand consistent. @param {() => void} move */
	freely(move) {
		const {viewer} = this;
		viewer.page.tooltip.style.display = 'none';
		const before = viewer.camera.span;
		move();
		const {from, to} = viewer.camera.span;
		if (from === before.from && to === before.to)
			return;
		viewer.zoomed = viewer.covering();
		const {tree, zoomed} = viewer;
		viewer.free = from !== tree.from[zoomed] || to !== from + tree.total[zoomed];
		viewer.describeZoom();
		viewer.draw();
	}

	/** @param {number} factor */
	scale(factor) {
		const {viewer} = this;
		const edges = viewer.selected >= 0 ? viewer.edgesOf(viewer.selected) : null;
		const middle = edges
			? (Math.max(edges.left, 0) + Math.min(edges.right, viewer.width)) / 2
			: viewer.width / 2;
		this.freely(() => viewer.camera.scaleAt(middle / viewer.width, factor));
		this.changed(false);
	}

	/**
	 * Select relative to what is selected.
	 * @param {(place: ReturnType<typeof placeOf>) => number | undefined} choose
	 */
	walk(choose) {
		const {viewer} = this;
		if (viewer.selected < 0)
			this.reach(viewer.zoomed);
		else
			this.reach(choose(placeOf(viewer, viewer.selected)) ?? viewer.selected);
	}

	/** To the widest child or to the parent. @param {boolean} down */
	climb(down) {
		const {viewer} = this;
		const {tree, selected} = viewer;
		if (selected < 0)
			this.reach(viewer.zoomed);
		else if (down)
			this.reach(tree.parent[selected]);
		else
			this.reach(widestChild(tree, selected));
	}

	/**
	 * Select a node by key and bring it into sight.
	 * @param {number} node @param {boolean} [closely] so near that it is more than a line
	 */
	reach(node, closely = false) {
		const {viewer} = this;
		if (node === NONE)
			return;
		viewer.pointer = null;
		viewer.hover();
		viewer.select(node);
		const edges = viewer.edgesOf(node);
		const isLine = edges && edges.right - edges.left < REVEALED_PX;
		if (!edges || (closely && isLine)) {
			this.zoom(closely ? this.surroundings(node) : viewer.tree.parent[node]);
			viewer.page.spoken.textContent = sentence(viewer, node);
		}
		this.scrollTo(viewer.tree.depth[node]);
	}

	/**
	 * What to zoom into to see a node: an ancestor it is a good part of, or itself where that would
	 * show no more than is shown already. @param {number} node
	 */
	surroundings(node) {
		const {tree, zoomed} = this.viewer;
		let above = node;
		while (above > 0 && tree.total[above] < 4 * tree.total[node])
			above = tree.parent[above];
		return isWithin(tree, zoomed, above) && isWithin(tree, node, zoomed) ? node : above;
	}

	/** @param {number} row */
	scrollTo(row) {
		const {viewer} = this;
		const {rowPx} = viewer.profile;
		const top = viewer.topOf(row);
		if (top < rowPx)
			viewer.page.scroller.scrollTop += top - 3 * rowPx;
		else if (top > viewer.height - 2 * rowPx)
			viewer.page.scroller.scrollTop += top - viewer.height + 3 * rowPx;
		viewer.scrolled();
	}
}
