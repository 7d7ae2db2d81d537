// SPDX-License-Identifier: MIT
// @ts-check
// Another picture to compare this one with: dropped on the page or chosen, shown with this one as one
// tree, exchanged and left again; and the line that says what is compared. How is in join.js and shifts.js.

import {cleanText} from './decode.js';
import {SIDES} from './filter.js';
import {profileOf} from './join.js';
import {button, buildChoice, element, pressChoice} from './page.js';
import {press} from './search.js';
import {partText} from './shifts.js';
import {framesTo} from './tree.js';
import {Background, performer} from './worker.js';

/** @typedef {import('./decode.js').Profile} Profile */

/**
 * Colours of verdicts, the light ones and the dark ones, as render/palette.c has them: shades of grey,
 * slower, slower by others, faster, faster by others, new, gone. Red and blue, or for all eyes.
 */
const GREYS = ['c9cacd d0d2d4 d7d9dc ', '3c3d3f 434445 494a4c '];
const PAIRS = [
	['f1786d f3c4be 6dacf1 c0d7f2 e885bf 6ecdcc', '9b453d 654743 366394 3f4f60 88416c 196464'],
	['f39e4c f3d1a9 79b6f4 bfdbf8 f5e05d 7499ec', '955817 644e33 3b6692 3d4f62 7f6f00 2c447e'],
];

/** @type {Record<string, [string, string]>} */
const WIDTHS = {
	'': ['Both', 'Widths: both versions  (u)'],
	'old': ['Old', 'Widths: the old version  (u)'],
	'new': ['New', 'Widths: the new version  (u)'],
};

export class Comparison {
	/**
	 * @param {import('./navigate.js').Navigator} navigator @param {import('./matcher.js').Matcher} matcher
	 * @param {import('./search.js').SearchBox} searchBox
	 */
	constructor(navigator, matcher, searchBox) {
		const {state, page} = navigator;
		const {background, profile} = matcher;
		this.navigator = navigator;
		this.matcher = matcher;
		this.searchBox = searchBox;
		this.state = state;
		this.page = page;
		/** This picture, and what of it was shown. */
		this.own = {profile, background, perform: state.perform, filter: state.filter, path: [0]};
		/** @type {import('./join.js').Joined | null} */
		this.joined = null;
		/** @type {File | null} */
		this.file = null;
		this.isOld = false;  // the file is
		this.isForAll = /^(okabe-ito|cividis)$/.test(profile.palette);
		this.turn = 0;
		/** Boxes have other colours. */
		this.onPaint = () => {};
		this.widths = buildChoice('widths', 'Widths', WIDTHS);
		/** @type {HTMLElement} */
		this.names = element('span', {class: 'names'});
		/** @type {HTMLElement} */
		this.why = element('span', {class: 'wrong', role: 'alert'});
		this.forAll = button('for-all', 'Orange and blue, for all eyes', ['Orange, blue'], true);
		/** @type {HTMLElement[]} */
		this.parts = [];
		this.build();
		state.onTree(() => pressChoice(this.widths, state.filter.side || ''));
	}

	build() {
		const {compared, ui} = this.page;
		const act = (/** @type {HTMLElement} */ made, /** @type {() => any} */ acts) => {
			made.addEventListener('click', acts);
			return made;
		};
		for (const side of SIDES)
			act(this.widths.buttons[side], () => this.showSide(side));
		act(this.forAll, () => {
			this.isForAll = !this.isForAll;
			this.paint();
			this.navigator.viewer.recolor();
			this.onPaint();
		});
		this.parts = [this.names, this.widths.group,
			act(button('exchange', 'Exchange old and new  (e)', ['Exchange']), () => this.exchange()), this.forAll];
		const leave = act(button('leave', 'Leave the comparison  (v)', ['Leave']), () => this.leave());
		this.chooser = element('input', {type: 'file', accept: '.svg,image/svg+xml', hidden: '', class: 'chooser'});
		this.chooser.addEventListener('change', () => {
			this.take(this.chooser.files);
			this.chooser.value = '';
		});
		ui.append(this.chooser);
		compared.append(...this.parts, this.why, leave);
		window.addEventListener('dragover', event => event.preventDefault());
		window.addEventListener('drop', event => {
			event.preventDefault();
			this.take(event.dataTransfer?.files);
		});
	}

	/** @param {FileList | undefined} files */
	take(files) {
		if (files?.[0])
			this.begin(files[0], false);
	}

	toggle() {
		if (this.joined)
			this.leave();
		else
			this.chooser.click();
	}

	exchange() {
		if (this.joined && this.file)
			this.begin(this.file, !this.isOld);
		else
			this.navigator.say('Nothing is compared: drop a picture here, or press v');
	}

	/** @param {import('./filter.js').Side} side */
	showSide(side) {
		return this.navigator.show({...this.state.filter, side});
	}

	nextSide() {
		return this.joined ? this.showSide(SIDES[(SIDES.indexOf(this.state.filter.side || '') + 1) % SIDES.length])
			: this.exchange();
	}

	/** @param {File} file @param {boolean} isOld */
	async begin(file, isOld) {
		const {state, page, own, joined} = this;
		const turn = ++this.turn;
		page.ui.setAttribute('aria-busy', 'true');
		try {
			const found = await own.perform('compare', {file, isOld, times: state.times});
			if (turn !== this.turn)
				return;
			if (!joined) {
				own.filter = state.filter;
				own.path = framesTo(state.tree, state.zoomed);
			}
			this.joined = found;
			this.file = file;
			this.isOld = isOld;
			this.why.textContent = '';
			const profile = profileOf(own.profile, found);
			this.paint(profile);
			const background = new Background(own.background.source, found);
			await this.show(profile, background, performer(profile, background),
				{times: found.times, terms: [], view: 'graph', of: ''}, []);
		} catch (error) {
			if (turn === this.turn)
				this.why.textContent = `${cleanText(file.name)} cannot be compared: ${
					/** @type {any} */ (error)?.message || error}`;
		}
		if (turn === this.turn)
			this.tell();
	}

	/** Back to what was shown before. */
	async leave() {
		const {own, joined} = this;
		this.turn++;
		this.joined = null;
		this.why.textContent = '';
		if (joined)
			await this.show(own.profile, own.background, own.perform, own.filter, own.path);
		this.tell();
	}

	/**
	 * @param {Profile} profile @param {Background} background @param {import('./worker.js').Perform} perform
	 * @param {import('./filter.js').Filter} filter @param {number[]} path
	 */
	async show(profile, background, perform, filter, path) {
		const {matcher, searchBox, own} = this;
		if (matcher.background !== own.background)
			matcher.background.close();
		matcher.profile = profile;
		matcher.background = background;
		// Of other frames.
		searchBox.finder.matches = null;
		await this.navigator.open(profile, perform, filter, path);
		searchBox.search();
	}

	/** The colours of verdicts. @param {Profile} [profile] */
	paint(profile = this.state.profile) {
		[profile.light, profile.dark] = [this.joined?.light, this.joined?.dark].map((colors, i) =>
			[...(GREYS[i] + PAIRS[Number(this.isForAll)][i]).split(' ').map(color => `#${color}`), ...colors || []]);
	}

	/** What is compared. */
	tell() {
		const {page, joined, file, why, names} = this;
		const here = cleanText(decodeURIComponent(location.pathname).replace(/.*\//, '')) || this.own.profile.title;
		page.ui.removeAttribute('aria-busy');
		for (const part of this.parts)
			part.hidden = !joined;
		page.compared.hidden = !joined && !why.textContent;
		press(this.forAll, this.isForAll);
		if (joined && file) {
			const pair = [here, cleanText(file.name)];
			if (this.isOld)
				pair.reverse();
			const alike = `all functions alike: ${partText(joined.common)}, which is left out`;
			names.replaceChildren('Old: ', element('b', {}, [pair[0]]), ' \u00b7 New: ', element('b', {}, [pair[1]]),
				` \u00b7 ${joined.named} change${joined.named === 1 ? '' : 's'} \u00b7 ${alike
				} \u00b7 one run each: only large changes can be told`);
			page.spoken.textContent = names.textContent;
		}
		this.navigator.viewer.resize();
	}
}
