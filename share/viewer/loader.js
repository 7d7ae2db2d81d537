// SPDX-License-Identifier: MIT
// @ts-check
// The only script that a picture contains as plain text. It inflates the viewer and the data in
// parallel, then starts the viewer. Meanwhile the static picture is hidden, because browsers do not
// lay out hidden elements; Chromium needs each element of a group hidden for that. On any failure
// the static picture is shown again, with a line that gives the reason.

import {inflate} from './inflate.js';

/**
 * @typedef {object} Loaded
 * @property {SVGSVGElement} svg
 * @property {string} version of the data's format, see flamerun-svg(5)
 * @property {Uint8Array} data
 * @property {CSSStyleSheet} sheet hides the static picture. It is attached to the document and not
 * written into it, so that a saved page shows the static picture if scripts are disabled
 * @property {string} style text of `sheet` when the viewer has started
 * @property {string} source of the viewer
 */

const HIDDEN = '@media screen{#flamerun-static *{display:none}}';

/**
 * Run the viewer as an inline script, because a content security policy that allows this script
 * allows another inline script with the same nonce.
 * @param {HTMLOrSVGScriptElement} self this script
 * @param {string} source
 * @returns {(loaded: Loaded) => Promise<void>} starts the viewer: the function that the viewer
 * stores in its script element
 */
function run(self, source) {
	const script = /** @type {SVGScriptElement & {start?: (loaded: Loaded) => Promise<void>}} */ (
		document.createElementNS(self.namespaceURI, 'script'));
	script.nonce = self.nonce;
	script.textContent = source;
	self.after(script);
	script.remove();
	if (!script.start)
		throw new Error('the policy of the page forbids its script');
	return script.start;
}

/**
 * Write a line with the reason on the picture, after the document is complete.
 * @param {SVGSVGElement} svg @param {string} why reason why the picture stays static
 */
function tell(svg, why) {
	if (document.readyState === 'loading') {
		document.addEventListener('DOMContentLoaded', () => tell(svg, why));
		return;
	}
	const line = svg.querySelector('.flamerun-why')
		|| document.createElementNS(svg.namespaceURI, 'text');
	const height = svg.viewBox.baseVal?.height || 28;
	line.textContent = `This picture cannot be searched or zoomed here: ${why}`;
	for (const [name, value] of Object.entries({'class': 'flamerun-why', 'x': 24, 'y': height - 9,
		'font-family': 'sans-serif', 'font-size': 11, 'fill': '#b35900'}))
		line.setAttribute(name, /** @type {any} */ (value));
	svg.append(line);
}

/**
 * @param {any} self this script
 * @param {any} svg the picture that contains it
 */
async function load(self, svg) {
	const [viewer, metadata] = ['#flamerun-viewer', '#flamerun'].map(id => svg.querySelector(id));
	let sheet;
	try {
		sheet = new CSSStyleSheet();
		sheet.replaceSync(HIDDEN);
		document.adoptedStyleSheets.push(sheet);
		if (!viewer || !metadata)
			throw new Error('a part of it is missing');
		if (!window.DecompressionStream)
			throw new Error('this browser cannot inflate its data (no DecompressionStream)');
		const pieces = Array.from(metadata.children, piece => piece.textContent);
		const [code, data] = await Promise.all(
			[inflate([viewer.textContent], 'gzip'), inflate(pieces)]);
		const [style, source] = new TextDecoder().decode(code).split('\0');
		await run(self, source)(
			{svg, version: metadata.dataset.format, data, sheet, style, source});
	} catch (error) {
		sheet?.replaceSync('');
		tell(svg, String(/** @type {any} */ (error)?.message || error));
	}
}

const self = document.currentScript;
// If the picture is pasted into an HTML page, it stays static, because it has no window of its own.
if (self && document.documentElement.localName === 'svg')
	load(self, document.documentElement);
