// SPDX-License-Identifier: MIT
// @ts-check
// Takes over from the static picture when everything it needs is there; until then, and on any
// failure, nothing of the picture is touched but that it is hidden for a moment.

import {decodeProfile} from './decode.js';
import {hidePage, hideStatic} from './page.js';
import {labelOf} from './describe.js';
import {Viewer} from './viewer.js';
import {Control} from './control.js';

/** Boxes on screen, in the window's pixels. @param {Viewer} viewer */
function boxesShown(viewer) {
	const {boxes, origin, profile} = viewer;
	return Array.from({length: boxes.count}, (_, i) => ({
		name: boxes.merged[i] ? '' : labelOf(viewer, boxes.node[i]),
		merged: boxes.merged[i] === 1,
		row: boxes.row[i],
		left: origin.left + Math.max(boxes.left[i], 0),
		right: origin.left + Math.min(boxes.right[i], viewer.width),
		top: origin.top + viewer.topOf(boxes.row[i]),
		height: profile.rowPx,
	}));
}

/** What tests and the curious may read. @param {Control} control */
function facts({viewer}) {
	const name = (/** @type {number} */ node) => node < 0 ? '' : labelOf(viewer, node);
	const values = {
		zoomed: () => name(viewer.zoomed),
		selected: () => name(viewer.selected),
		hovered: () => name(viewer.hovered),
		animating: () => viewer.camera.moving || viewer.frameRequest !== 0,
		bottomUp: () => viewer.bottomUp,
		icicle: () => viewer.icicle,
		nodes: () => viewer.tree.nodes,
		total: () => viewer.tree.total[0],
		matched: () => viewer.finder.shares(viewer.tree, viewer.zoomed),
		boxes: () => boxesShown(viewer),
	};
	const made = {};
	for (const [key, get] of Object.entries(values))
		Object.defineProperty(made, key, {get, enumerable: true});
	return Object.freeze(made);
}

async function main() {
	/** @type {any} */
	const svg = document.documentElement;
	const metadata = document.getElementById('flamerun');
	// Pasted into an HTML page the picture has no window of its own to take.
	if (svg.localName !== 'svg' || !metadata)
		return;
	hidePage(svg);
	try {
		hideStatic();
		const profile = await decodeProfile(metadata);
		if (profile.nodes < 2 || !profile.tree.self.some(weight => weight > 0)) {
			hidePage(svg);
			return;
		}
		const viewer = new Viewer(svg, profile);
		viewer.show();
		const control = new Control(viewer);
		viewer.release();
		performance.mark('flamerun');
		Object.defineProperty(window, 'flamerun', {value: facts(control)});
	} catch (error) {
		hidePage(svg);
		console.warn('flamerun: the picture stays static:', error);
	}
}

main();
