// SPDX-License-Identifier: MIT
// @ts-check
// The user interface of comparing this picture with another file, which is dropped on the page or
// chosen: show both as one tree, exchange old and new, end the comparison, and describe it in a
// line. join.js and shifts.js compute the comparison.

import {cleanText} from './decode.js';
import {SIDES} from './filter.js';
import {profileOf} from './join.js';
import {button, buildChoice, element, pressChoice} from './page.js';
import {partText} from './shifts.js';
import {framesTo} from './tree.js';
import {Background, performer} from './worker.js';

/** @typedef {import('./filter.js').Filter} Filter */

/** @param {import('./join.js').Joined} joined @param {string} unit */
function whatIsSure({isSampled, common}, unit) {
	return !isSampled ? `how much ${unit} differ by chance is not known`
		: `${common === null ? 'it is not known whether all became slower: too few functions changed alike'
			: `every function: ${partText(common)}, probably by the machine; subtracted`
		} \u00b7 one run each: only large changes can be seen`;
}

/**
 * Set up the comparison of this picture with a file. Returns the functions that keys and the menu
 * call.
 * @param {import('./navigate.js').Navigator} navigator
 * @param {import('./matcher.js').Matcher} matcher
 * @param {import('./search.js').SearchBox} searchBox
 */
export function comparisons(navigator, matcher, searchBox) {
	const {state, page} = navigator;
	const {compared, ui} = page;
	const {profile: own, background} = matcher;
	const {perform} = state;
	/** @type {{file: File, isOld: boolean} | null} */
	let shown = null;
	let turn = 0;
	/** The filter that was shown before the comparison. @type {Filter} */
	let before;
	/** @type {number[]} */
	let path;

	const words = element('span', {class: 'versions'});
	const why = element('span', {class: 'wrong'});
	const widths = buildChoice('widths', 'Widths', {
		'': ['Both', 'Widths: both versions  (u)'],
		'old': ['Old', 'Widths: the old version  (u)'],
		'new': ['New', 'Widths: the new version  (u)'],
	});
	const exchanging = button('exchange', 'Exchange old and new  (e)', ['Exchange']);
	const leaving = button('leave', 'Leave the comparison  (v)', ['Leave']);
	const chooser = element('input', {type: 'file', accept: '.svg', hidden: ''});
	compared.append(why, words, widths.group, exchanging, leaving, chooser);

	/**
	 * Show the line about the comparison.
	 * @param {any[]} content of the line
	 * @param {string} [wrong] an error
	 */
	function tell(content, wrong = '') {
		ui.removeAttribute('aria-busy');
		words.replaceChildren(...content);
		why.textContent = wrong;
		page.spoken.textContent = wrong || words.textContent;
		compared.hidden = !shown && !wrong;
		widths.group.hidden = exchanging.hidden = !shown;
		navigator.viewer.resize();
	}

	/**
	 * Show a profile: this picture's own, or the joined one.
	 * @param {import('./decode.js').Profile} profile @param {Background} of its worker
	 * @param {Filter} filter @param {number[]} frames frames of the path to the box to zoom
	 * into
	 */
	async function show(profile, of, filter, frames) {
		// Forget the search's matches, because they are frames of the other profile.
		searchBox.finder.matches = null;
		if (!await navigator.open(profile, profile === own ? perform : performer(profile, of), filter, frames))
			return;
		if (matcher.background !== background)
			matcher.background.close();
		matcher.profile = profile;
		matcher.background = of;
		searchBox.search();
	}

	/** @param {File | undefined} file @param {boolean} [isOld] `file` is the old version */
	async function begin(file, isOld = false) {
		const mine = ++turn;
		if (!file)
			return;
		ui.setAttribute('aria-busy', 'true');
		try {
			const {times} = state;
			const joined = await perform('compare', {file, isOld, times});
			if (mine !== turn)
				return;
			if (state.profile === own) {
				before = state.filter;
				path = framesTo(state.tree, state.zoomed);
			}
			await show(profileOf(own, joined), new Background(background.source, joined),
				{times, terms: [], view: 'graph', of: ''}, []);
			if (mine !== turn)
				return;
			shown = {file, isOld};
			const here = location.pathname.replace(/.*\//, '');
			const names = [here ? decodeURIComponent(here) : own.title, file.name].map(cleanText);
			const [old, late] = isOld ? names.reverse() : names;
			tell(['Old: ', element('b', {}, [old]), ' \u00b7 New: ', element('b', {}, [late]), ` \u00b7 ${
				joined.named} change${joined.named === 1 ? '' : 's'}${!joined.named && joined.others
				? `, ${joined.others} by renaming or inlining` : ''} \u00b7 ${whatIsSure(joined, own.countName)}`]);
		} catch (error) {
			if (mine === turn)
				tell([...words.childNodes], `${cleanText(file.name)} cannot be compared: ${
					/** @type {any} */ (error)?.message || error}`);
		}
	}

	/** End the comparison: show what was shown before it. */
	async function leave() {
		turn++;
		shown = null;
		if (state.profile !== own)
			await show(own, background, before, path);
		if (!shown)
			tell([]);
	}

	function exchange() {
		return shown ? begin(shown.file, !shown.isOld)
			: navigator.say('Nothing is compared: drop a picture here, or press v');
	}

	/** @param {import('./filter.js').Side} side */
	const showSide = side => navigator.show({...state.filter, side});

	state.onTree(() => pressChoice(widths, state.filter.side || ''));
	for (const side of SIDES)
		widths.buttons[side].addEventListener('click', () => showSide(side));
	exchanging.addEventListener('click', exchange);
	leaving.addEventListener('click', leave);
	chooser.addEventListener('change', () => {
		begin(chooser.files[0]);
		chooser.value = '';
	});
	window.addEventListener('dragover', event => event.preventDefault());
	window.addEventListener('drop', event => {
		event.preventDefault();
		begin(event.dataTransfer?.files[0]);
	});
	return {
		exchange,
		compare: () => shown ? leave() : chooser.click(),
		widths: () => shown ? showSide(SIDES[(SIDES.indexOf(state.filter.side || '') + 1) % 3]) : exchange(),
	};
}
