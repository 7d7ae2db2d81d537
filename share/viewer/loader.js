// SPDX-License-Identifier: MIT
// @ts-check
// The only script that a picture has as text: it inflates the viewer and the data side by side and
// starts the one on the other, meanwhile without the static picture: a browser that knows that it is
// hidden lays nothing out, Chromium only where each element in a group is hidden. On any failure that
// picture is there again, with a line that says why.

import {inflate} from './inflate.js';

/**
 * @typedef {object} Loaded
 * @property {SVGSVGElement} svg
 * @property {string} version of flamerun-svg(5)
 * @property {Uint8Array} data
 * @property {CSSStyleSheet} sheet the document's, with what hides the static picture; not in its
 *           text, so that a page that is saved shows that picture where scripts are off
 * @property {string} style for that sheet
 * @property {string} source of the viewer
 */

const HIDDEN = '@media screen{#flamerun-static *{display:none}}';

/**
 * Run the viewer as an inline script, which a policy that admits this one admits as well.
 * @param {HTMLOrSVGScriptElement} self this script @param {string} source
 * @returns {(loaded: Loaded) => Promise<void>} what the viewer leaves at its script to start it
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
 * On top of the picture, which is to be there for that.
 * @param {SVGSVGElement} svg @param {string} why it stays static
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

/** @param {any} self this script @param {any} svg the picture it stands in */
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
// Pasted into an HTML page the picture has no window of its own to take.
if (self && document.documentElement.localName === 'svg')
	load(self, document.documentElement);
