// SPDX-License-Identifier: MIT
// @ts-check
// Light or dark: what the person chose here, else what the browser prefers. More contrast, or the
// person's own few colours: what the browser says. The colours are in viewer.css and in the data.

const DARK = matchMedia('(prefers-color-scheme: dark)');
const CONTRAST = matchMedia('(prefers-contrast: more)');
const FORCED = matchMedia('(forced-colors: active)');

/** @param {string} chosen "", "light" or "dark" */
export function isDark(chosen) {
	return chosen ? chosen === 'dark' : DARK.matches;
}

/** @param {() => void} changed */
export function watchTheme(changed) {
	for (const query of [DARK, CONTRAST, FORCED])
		query.addEventListener('change', changed);
}

/** Colours of the style sheet as a canvas takes them. @param {HTMLElement} ui */
function colorReader(ui) {
	const probe = document.createElementNS(ui.namespaceURI, 'i');
	const style = getComputedStyle(ui.appendChild(/** @type {HTMLElement} */ (probe)));
	return {
		read: (/** @type {string} */ name) => {
			/** @type {HTMLElement} */ (probe).style.cssText =
				`forced-color-adjust: none; color: var(${name})`;
			return style.color;
		},
		end: () => probe.remove(),
	};
}

/**
 * @param {import('./page.js').Page} page @param {import('./decode.js').Profile} profile
 * @param {string} chosen @returns {import('./draw.js').Theme}
 */
export function applyTheme(page, profile, chosen) {
	const dark = isDark(chosen);
	page.ui.dataset.theme = dark ? 'dark' : 'light';
	page.dark.setAttribute('aria-pressed', String(dark));
	const {read, end} = colorReader(page.ui);
	const background = read('--background');
	const ink = read('--box-ink');
	const colors = dark ? profile.dark : profile.light;
	const theme = {
		dark,
		colors: FORCED.matches ? colors.map(() => background) : colors,
		ink,
		match: read('--match'),
		matchInk: read('--match-ink'),
		background,
		edge: FORCED.matches || CONTRAST.matches ? ink : '',
		font: `${profile.fontPx}px ${profile.font || getComputedStyle(page.ui).fontFamily}`,
	};
	page.svg.style.background = background;
	end();
	return theme;
}
