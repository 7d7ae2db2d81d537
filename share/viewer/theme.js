// SPDX-License-Identifier: MIT
// @ts-check
// Light or dark: what the person chose here, else what the browser prefers. The colours are in
// viewer.css and in the data.

const DARK = matchMedia('(prefers-color-scheme: dark)');

/** @param {string} chosen "", "light" or "dark" */
export function isDark(chosen) {
	return chosen ? chosen === 'dark' : DARK.matches;
}

/** @param {() => void} changed */
export function watchTheme(changed) {
	DARK.addEventListener('change', changed);
}

/**
 * @param {import('./page.js').Page} page @param {import('./decode.js').Profile} profile
 * @param {string} chosen @returns {import('./draw.js').Theme}
 */
export function applyTheme(page, profile, chosen) {
	const dark = isDark(chosen);
	page.ui.dataset.theme = dark ? 'dark' : 'light';
	page.dark.setAttribute('aria-pressed', String(dark));
	const style = getComputedStyle(page.ui);
	const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
	page.svg.style.background = value('--background');
	return {
		dark,
		colors: dark ? profile.dark : profile.light,
		ink: value('--box-ink'),
		match: value('--match'),
		matchInk: value('--match-ink'),
		background: value('--background'),
		font: `${profile.fontPx}px ${profile.font || style.fontFamily}`,
	};
}
