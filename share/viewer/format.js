// SPDX-License-Identifier: MIT
// @ts-check
// Numbers as people read them.

/** @param {number} count */
export function formatCount(count) {
	return count.toLocaleString('en-US');
}

/** @param {number} part @param {number} whole */
export function formatPercent(part, whole) {
	const percent = whole > 0 ? 100 * part / whole : 0;
	const digits = percent === 0 || percent === 100 ? 0 : percent < 10 ? 2 : 1;
	return `${percent.toFixed(digits)}\u202f%`;
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
	if (seconds === 0)
		return '0\u202fs';
	if (seconds < 1)
		return `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)}\u202fms`;
	return `${seconds.toFixed(seconds < 10 ? 2 : seconds < 100 ? 1 : 0)}\u202fs`;
}

/** A share as people say it: 0.123 as "12.3 %". @param {number} share */
export function formatShare(share) {
	return formatPercent(share, 1);
}
