// SPDX-License-Identifier: MIT
// @ts-check
// Save the current view in other formats: a text tree for a ticket, folded stacks, a pprof profile
// (https://github.com/google/pprof/blob/main/proto/profile.proto), a drawing. Names are those of
// the file; in folded stacks ';' and control characters are replaced.

import {WAIT, waitingNodes} from './aggregate.js';
import {term, timeTerm, withTerm, withoutTerms} from './filter.js';
import {drawingOf} from './output.js';
import {actingButton, element} from './page.js';
import {amountsOf, formatPercent, nodeName} from './text.js';
import {childrenOf, framesTo, pathTo, treeOf} from './tree.js';

/** Time in ms after which a browser has surely begun to read a file to download. */
const KEPT_MS = 60000;
/** Pixels of a PNG per CSS pixel. */
const SHARPNESS = 2;

/** @typedef {import('./state.js').State} State */
/** @typedef {import('./tree.js').Tree} Tree */

// ---- text ---------------------------------------------------------------------------------------

/** Boxes with a smaller share have no line in the text tree. */
const LEAST_SHARE = 0.005;
const MOST_LINES = 300;

/**
 * Returns a text with a box and its callees, the heaviest callees first.
 * @param {State} state @param {number} node
 */
export function textTree(state, node) {
	const {tree} = state;
	const all = tree.total[node];
	const lines = [state.profile.title, ...pathTo(tree, node).slice(0, -1)
		.map((one, i) => `${i ? '' : 'below '}${nodeName(state, one)}`)].filter(Boolean);
	let more = 0;
	const visit = (/** @type {number} */ one, /** @type {string} */ lead, /** @type {string} */ sign) => {
		if (lines.length >= MOST_LINES || tree.total[one] < LEAST_SHARE * all) {
			more++;
			return;
		}
		const share = formatPercent(tree.total[one], all).padStart(7);
		lines.push(`${share}  ${lead}${sign}${nodeName(state, one)}`);
		const children = childrenOf(tree, one, true).sort((a, b) => tree.total[b] - tree.total[a]);
		const below = lead + (sign === '\u251c ' ? '\u2502 ' : sign ? '  ' : '');
		children.forEach((child, i) =>
			visit(child, below, i + 1 < children.length ? '\u251c ' : '\u2514 '));
	};
	visit(node, '', '');
	lines.push(`100 % are ${amountsOf(state, all).join(', ')}`
		+ (more ? `; ${more} smaller parts are left out` : ''));
	return `${lines.join('\n').replace(/\u202f/g, ' ')}\n`;
}

// ---- stacks -------------------------------------------------------------------------------------

/** @typedef {{frames: number[], weight: number, waits: boolean}} Stack frames: outermost first */

/**
 * Make a tree of the thread that is shown in order of time, from its samples within the zoomed box.
 * The chart itself is not saved, because its weights are times and not samples.
 * @param {State} state @returns {Promise<Tree>}
 */
async function threadTree({filter, tree, zoomed, perform}) {
	const {from, total} = tree;
	const begin = /** @type {import('./chart.js').Chart} */ (tree.chart).beginUs + from[zoomed];
	const kept = withoutTerms(filter, ({kind}) => kind === 'thread' || kind === 'process');
	const ofThread = withTerm({...kept, view: 'graph', of: ''}, term('thread', filter.of));
	const {shown} = await perform('aggregate', zoomed
		? withTerm(ofThread, timeTerm(begin + 1, begin + total[zoomed] + 1)) : ofThread);
	return treeOf(shown);
}

/**
 * Returns the stacks within the zoomed box, with the outermost frame first.
 * @param {State} state @returns {Promise<Stack[]>}
 */
async function stacksOf(state) {
	const {tree, zoomed, profile} = state;
	const base = tree.chart ? await threadTree(state) : state.base;
	const sums = new Float64Array(base.nodes);
	const nodes = Uint32Array.from(sums.keys());
	(tree.chart ? base : tree).addWeights(tree.chart ? 0 : zoomed, nodes, sums);
	const waits = waitingNodes(base, profile.frameKind);
	const stacks = [];
	for (let node = 1; node < base.nodes; node++)
		if (sums[node] > 0) {
			const frames = framesTo(base, node);
			// In a file that was merged from the leaf, a path begins at the innermost
			// frame.
			if (profile.reversed)
				frames.reverse();
			stacks.push({frames, weight: sums[node], waits: waits[node] === 1});
		}
	return stacks;
}

/** @param {State} state */
async function foldedText(state) {
	const lines = [];
	for (const {frames, weight} of await stacksOf(state))
		lines.push(`${frames.map(frame => state.profile.name(frame).replace(/;/g, ':')
			.replace(/[\0-\x1f\x7f]/g, ' ')).join(';')} ${weight}\n`);
	return lines.join('');
}

// ---- pprof --------------------------------------------------------------------------------------

// Functions that make messages in the protobuf wire format, as lists of bytes.

/** @param {number} value whole, not negative */
function varint(value) {
	const bytes = [];
	for (; value > 127; value = Math.floor(value / 128))
		bytes.push(value % 128 + 128);
	return [...bytes, value];
}

/** @param {number} field @param {number} value */
function numberField(field, value) {
	return [field * 8, ...varint(value)];
}

/**
 * Make a field of bytes with their length. @param {number} field @param {Iterable<number>} bytes
 */
function dataField(field, bytes) {
	const all = [...bytes];
	return [field * 8 + 2, ...varint(all.length), ...all];
}

/** Returns the values of a pprof sample: type and function of a stack. @param {State} state */
function valuesOf({profile, times}) {
	const {periodNs, countName} = profile;
	const ns = (/** @type {Stack} */ {weight}) => Math.round(weight * periodNs);
	const count = {type: countName, unit: countName === 'bytes' ? 'bytes' : 'count',
		of: (/** @type {Stack} */ {weight}) => weight};
	const cpu = {type: 'cpu', unit: 'nanoseconds', of: (/** @type {Stack} */ one) => one.waits ? 0 : ns(one)};
	const waiting = {type: 'wait', unit: 'nanoseconds',
		of: (/** @type {Stack} */ one) => one.waits ? ns(one) : 0};
	return !periodNs ? [count] : times === 'cpu' ? [count, cpu] : times === 'waits' ? [waiting]
		: [cpu, waiting];
}

/** Make the parts of a pprof profile, not compressed. @param {State} state */
async function pprofParts(state) {
	const {profile} = state;
	const {frames, modules, frameModule, frameKind, periodNs} = profile;
	const texts = new Map([['', 0]]);
	const textOf = (/** @type {string} */ text) => {
		const known = texts.get(text) ?? texts.size;
		texts.set(text, known);
		return known;
	};
	/** @type {any[]} */
	const parts = [];
	const put = (/** @type {number[]} */ bytes) => parts.push(Uint8Array.from(bytes));
	const values = valuesOf(state);
	for (const {type, unit} of values)
		put(dataField(1, [...numberField(1, textOf(type)), ...numberField(2, textOf(unit))]));
	const used = new Uint8Array(frames);
	for (const stack of await stacksOf(state)) {
		for (const frame of stack.frames)
			used[frame] = 1;
		put(dataField(2, [...dataField(1, stack.frames.reverse().flatMap(frame => varint(frame + 1))),
			...dataField(2, values.flatMap(({of}) => varint(of(stack))))]));
	}
	modules.forEach((module, i) => {
		if (i)
			put(dataField(3, [...numberField(1, i), ...numberField(5, textOf(module)), ...numberField(7, 1)]));
	});
	used.forEach((isUsed, frame) => {
		if (!isUsed)
			return;
		const module = frameKind[frame] === WAIT ? 0 : frameModule[frame];
		const name = textOf(profile.name(frame) || '[empty]');
		const number = numberField(1, frame + 1);
		put(dataField(4, [...number, ...numberField(2, module), ...dataField(4, number)]));
		put(dataField(5, [...number, ...numberField(2, name), ...numberField(3, name)]));
	});
	if (periodNs && values[1])
		put([...dataField(11, [...numberField(1, textOf(values[1].type)), ...numberField(2, textOf('nanoseconds'))]),
			...numberField(12, periodNs)]);
	for (const text of texts.keys())
		put(dataField(6, new TextEncoder().encode(text)));
	return parts;
}

// ---- files --------------------------------------------------------------------------------------

/** @param {BlobPart} content @param {string} type @param {string} name of the file */
function download(content, type, name) {
	const url = URL.createObjectURL(new Blob([content], {type}));
	element('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** @param {BlobPart[]} parts */
function gzip(parts) {
	return new Response(new Blob(parts).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
}

/** @param {string} svg @returns {Promise<Blob>} */
async function rasterize(svg) {
	const image = new Image();
	const url = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
	try {
		image.src = url;
		await image.decode();
		const canvas = element('canvas', {width: image.width * SHARPNESS, height: image.height * SHARPNESS});
		canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
		return await new Promise((resolve, reject) => canvas.toBlob((/** @type {Blob | null} */ made) =>
			made ? resolve(made) : reject(new Error('too large')), 'image/png'));
	} finally {
		URL.revokeObjectURL(url);
	}
}

/**
 * For each format: text of the button, file suffix, function that makes the content. Drawings are
 * made as for paper.
 */
const FORMATS = /** @type {[string, string, (viewer: import('./viewer.js').Viewer) => any][]} */ ([
	['Folded stacks', 'folded', ({state}) => foldedText(state)],
	['pprof profile', 'pb.gz', async ({state}) => gzip(await pprofParts(state))],
	['Text tree', 'txt', ({state}) => textTree(state, state.zoomed)],
	['SVG drawing of the view', 'svg', viewer => drawingOf(viewer)],
	['PNG drawing of the view', 'png', viewer => rasterize(drawingOf(viewer))],
]);

/**
 * @param {import('./overlay.js').Sheet} sheet @param {import('./viewer.js').Viewer} viewer
 * @param {(text: string) => void} say
 */
export function openSave(sheet, viewer, say) {
	const {title} = viewer.state.profile;
	const stem = title.replace(/[^\w.-]+/g, '-').replace(/^[-.]+|-+$/g, '').slice(0, 60) || 'profile';
	sheet.open('Save', 'S', FORMATS.map(([text, suffix, make]) => {
		return actingButton({class: 'format'},
			[element('span', {}, [text]), element('span', {class: 'when'}, [`.${suffix}`])], async () => {
				sheet.close();
				try {
					download(await make(viewer), 'application/octet-stream', `${stem}.${suffix}`);
				} catch (error) {
					say(`Cannot be saved: ${/** @type {any} */ (error)?.message || error}`);
				}
			});
	}));
}
