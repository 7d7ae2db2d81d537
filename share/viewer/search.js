// SPDX-License-Identifier: MIT
// @ts-check
// Which frames a text is part of, and how much of the time they cover.

/**
 * @param {string[]} lowered names in lower case @param {string} text
 * @returns {Uint8Array | null} 1 per frame that matches; null when there is nothing to look for
 */
export function matchFrames(lowered, text) {
	const wanted = text.toLowerCase();
	if (!wanted)
		return null;
	return Uint8Array.from(lowered, name => name.includes(wanted) ? 1 : 0);
}

/**
 * Weight below `node`, itself included, that lies in or under a match; nested matches count once.
 * @param {import('./tree.js').Tree} tree @param {ArrayLike<number>} nodeFrame
 * @param {Uint8Array} matches @param {number} node
 */
export function matchedWeight(tree, nodeFrame, matches, node) {
	let weight = 0;
	for (let above = node; above > 0; above = tree.parent[above])
		if (matches[nodeFrame[above]])
			return tree.total[node];
	for (let i = node; i < tree.end[node];) {
		if (i > 0 && matches[nodeFrame[i]]) {
			weight += tree.total[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return weight;
}
