// SPDX-License-Identifier: MIT
// @ts-check
// Which part of all weight fills the window, and the way from one part to another.

const ZOOM_MS = 300;

/** @typedef {{from: number, to: number}} Span */

/** Slow at both ends. @param {number} t 0 to 1 */
export function ease(t) {
	return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}

/**
 * Between two spans: the width by equal factors, as the eye sees a zoom, and the left edge so that
 * what is common to both stays where it is.
 * @param {Span} a @param {Span} b @param {number} t 0 to 1 @returns {Span}
 */
export function between(a, b, t) {
	if (t <= 0 || t >= 1)
		return t <= 0 ? {...a} : {...b};
	const before = a.to - a.from;
	const after = b.to - b.from;
	const ratio = after / before;
	if (Math.abs(ratio - 1) < 1e-6) {
		const from = a.from + (b.from - a.from) * t;
		return {from, to: from + before + (after - before) * t};
	}
	const width = before * ratio ** t;
	const from = a.from + (b.from - a.from) * (width - before) / (after - before);
	return {from, to: from + width};
}

export class Camera {
	/** @param {number} total all weight @param {(moving: boolean) => void} changed */
	constructor(total, changed) {
		this.total = total;
		this.changed = changed;
		/** @type {Span} */
		this.span = {from: 0, to: total};
		this.request = 0;
	}

	get moving() {
		return this.request !== 0;
	}

	/** @param {Span} span @param {boolean} [atOnce] */
	go(span, atOnce = false) {
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
		cancelAnimationFrame(this.request);
		const begun = performance.now();
		const from = {...this.span};
		const step = (/** @type {number} */ now) => {
			const done = still || atOnce ? 1
				: Math.min(Math.max((now - begun) / ZOOM_MS, 0), 1);
			this.span = between(from, span, ease(done));
			this.request = done < 1 ? requestAnimationFrame(step) : 0;
			this.changed(this.moving);
		};
		if (still || atOnce)
			step(begun);
		else
			this.request = requestAnimationFrame(step);
	}

	/**
	 * By hand, kept within all weight and above a width that doubles can still tell apart.
	 * @param {Span} span
	 */
	set(span) {
		cancelAnimationFrame(this.request);
		this.request = 0;
		const width = Math.min(Math.max(span.to - span.from, this.total * 1e-9),
			this.total);
		const from = Math.min(Math.max(span.from, 0), this.total - width);
		this.span = {from, to: from + width};
		this.changed(false);
	}

	/** @param {number} share of the window, 0 to 1, that stays @param {number} factor */
	scaleAt(share, factor) {
		const {from, to} = this.span;
		const fixed = from + (to - from) * share;
		const width = Math.min((to - from) * factor, this.total);
		this.set({from: fixed - width * share, to: fixed + width * (1 - share)});
	}

	/** @param {number} share of the window */
	shift(share) {
		const {from, to} = this.span;
		this.set({from: from + (to - from) * share, to: to + (to - from) * share});
	}
}
