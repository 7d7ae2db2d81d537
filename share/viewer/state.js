// SPDX-License-Identifier: MIT
// @ts-check
// What is looked at, as the fragment of the URL: so that it can be sent, reloaded and gone back to.
// Only what differs from the file's own defaults is written.
//
//   #mark=2&zoom=1.1a.2f&span=0.25-0.5&order=bottom-up&layout=icicle&theme=dark
//   #search=text&regex&case

/**
 * @typedef {object} State
 * @property {number} mark from which to the next is shown, 0 before the first, -1 all
 * @property {number[]} path frames from the outermost box to the one zoomed into
 * @property {{from: number, to: number} | null} span shares of all weight, when not the node's
 * @property {'' | 'top-down' | 'bottom-up'} order
 * @property {'' | 'flame' | 'icicle'} layout
 * @property {'' | 'light' | 'dark'} theme
 * @property {import('./search.js').Query} query
 */

/** @param {string} text */
function decode(text) {
	try {
		return decodeURIComponent(text.replace(/\+/g, ' '));
	} catch {
		return '';
	}
}

/** @param {string} text @returns {State['span']} */
function parseSpan(text) {
	const [from, to] = text.split('-').map(Number);
	return from >= 0 && from < to && to <= 1 ? {from, to} : null;
}

/** @template {string} T @param {string | undefined} text @param {T[]} known @returns {T | ''} */
function oneOf(text, known) {
	return known.find(one => one === text) || '';
}

/** Anything is understood as far as it makes sense. @param {string} fragment @returns {State} */
export function parseState(fragment) {
	/** @type {Map<string, string>} */
	const values = new Map();
	for (const part of fragment.replace(/^#/, '').split('&')) {
		const [key, ...rest] = part.split('=');
		values.set(key, decode(rest.join('=')));
	}
	const path = (values.get('zoom') || '').split('.').map(digits => parseInt(digits, 36));
	const wrong = path.findIndex(frame => !(frame >= 0));
	return {
		mark: parseInt((values.get('mark') || '').match(/^\d+$/)?.[0] || '-1', 10),
		path: wrong < 0 ? path : path.slice(0, wrong),
		span: parseSpan(values.get('span') || ''),
		order: oneOf(values.get('order'), ['top-down', 'bottom-up']),
		layout: oneOf(values.get('layout'), ['flame', 'icicle']),
		theme: oneOf(values.get('theme'), ['light', 'dark']),
		query: {
			text: values.get('search') || '',
			regex: values.has('regex'),
			matchCase: values.has('case'),
		},
	};
}

/** @param {State} state @returns {string} with its "#", or "" for the beginning */
export function formatState({mark, path, span, order, layout, theme, query}) {
	const parts = [];
	if (mark >= 0)
		parts.push(`mark=${mark}`);
	if (path.length)
		parts.push(`zoom=${path.map(frame => frame.toString(36)).join('.')}`);
	if (span)
		parts.push(`span=${[span.from, span.to].map(n => n.toFixed(9)).join('-')}`);
	if (order)
		parts.push(`order=${order}`);
	if (layout)
		parts.push(`layout=${layout}`);
	if (theme)
		parts.push(`theme=${theme}`);
	if (query.text)
		parts.push(`search=${encodeURIComponent(query.text)}`);
	if (query.regex)
		parts.push('regex');
	if (query.matchCase)
		parts.push('case');
	return parts.length ? `#${parts.join('&')}` : '';
}
