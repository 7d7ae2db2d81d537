// SPDX-License-Identifier: MIT
// @ts-check
// Takes over from the static picture when everything it needs is there; until then, and on any
// failure, nothing of the picture is touched.

import {decodeProfile} from './decode.js';
import {hidePage} from './page.js';
import {Viewer} from './viewer.js';

/** What tests and the curious may read. @param {Viewer} viewer */
function facts(viewer) {
	return Object.freeze({
		get zoomed() {
			return viewer.labelOf(viewer.zoomed);
		},
		get animating() {
			return viewer.animation !== 0;
		},
		get nodes() {
			return viewer.tree.nodes;
		},
		get total() {
			return viewer.tree.total[0];
		},
		get matched() {
			return viewer.matchedShares();
		},
		get boxes() {
			return viewer.boxesShown();
		},
	});
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
		const profile = await decodeProfile(metadata);
		if (profile.nodes < 2 || !profile.nodeSelf.some(weight => weight > 0))
			return;
		const viewer = new Viewer(svg, profile);
		viewer.start();
		Object.defineProperty(window, 'flamerun', {value: facts(viewer)});
	} catch (error) {
		hidePage(svg);
		console.warn('flamerun: the picture stays static:', error);
	}
}

main();
