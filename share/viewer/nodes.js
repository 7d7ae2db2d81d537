// SPDX-License-Identifier: MIT
// @ts-check
// The nodes of the tree from their column. It learns from what it read what render/embed_nodes.c
// learned from what it wrote, so both must match step by step; render/embed.h describes them.

import {RangeReader, evenChances} from './range.js';

const MORE_CASES = 6;
const KNOWN_MAX = 7;
const TIMES_LOG_MAX = 6;
const CALLEES_MAX = 128;
const TIMES_MAX = 8192;
const LENGTHS = 64;
const LEADING = 8;

/**
 * In depth-first order, the root first.
 * @typedef {object} Nodes
 * @property {Uint32Array} frame the root's is the number behind the last
 * @property {Float64Array} self weight of its own
 * @property {Uint32Array} parent
 */

class NodeReader {
	/** @param {Uint8Array} bytes @param {number} nodes @param {number} frames */
	constructor(bytes, nodes, frames) {
		this.range = new RangeReader(bytes);
		this.nodes = nodes;
		this.frames = frames;
		this.ownSelf = evenChances(frames + 1);
		this.self = evenChances(1);
		this.ownMore = evenChances((frames + 1) * MORE_CASES);
		this.more = evenChances(2 * MORE_CASES);
		this.known = evenChances((KNOWN_MAX + 1) * (TIMES_LOG_MAX + 1));
		this.longer = evenChances(LENGTHS);
		this.leading = evenChances(LENGTHS * LEADING);
		// Callers, by frame.
		this.first = new Uint32Array(frames + 1);
		this.callees = new Uint32Array(frames + 1);
		this.times = new Uint32Array(frames + 1);
		// Callees; number 0 is none.
		this.calleeFrame = new Uint32Array(nodes + 1);
		this.calleeTimes = new Uint32Array(nodes + 1);
		this.calleeNext = new Uint32Array(nodes + 1);
		this.calleeCount = 0;
		// Children that were read and not visited, the next one last.
		this.waiting = 0;
		this.waitingFrame = new Uint32Array(nodes);
		this.waitingParent = new Uint32Array(nodes);
	}

	weight() {
		const {range, longer, leading} = this;
		let length = 0;
		while (length < LENGTHS - 1 && range.bit(longer, length))
			length++;
		let weight = 1;
		for (let i = length; i > 0; i--) {
			const bit = weight < LEADING ? range.bit(leading, length * LEADING + weight)
				: range.equal(2);
			weight = 2 * weight + bit;
		}
		return weight;
	}

	/** @param {number} caller */
	halve(caller) {
		let times = 0;
		for (let i = this.first[caller]; i; i = this.calleeNext[i])
			times += this.calleeTimes[i] = this.calleeTimes[i] + 1 >> 1;
		this.times[caller] = times;
	}

	/**
	 * A new callee behind `last`, or the first when that is 0. Returns it, or `last` when there
	 * are too many. @param {number} caller @param {number} last @param {number} frame
	 */
	addCallee(caller, last, frame) {
		if (this.callees[caller] === CALLEES_MAX)
			return last;
		const made = ++this.calleeCount;
		this.calleeFrame[made] = frame;
		this.calleeTimes[made] = 1;
		if (last) {
			this.calleeNext[made] = this.calleeNext[last];
			this.calleeNext[last] = made;
		} else {
			this.calleeNext[made] = this.first[caller];
			this.first[caller] = made;
		}
		this.callees[caller]++;
		this.times[caller]++;
		return made;
	}

	/** @param {number} callees left @param {number} times of them */
	isKnown(callees, times) {
		const often = Math.min(31 - Math.clz32(times), TIMES_LOG_MAX);
		return this.range.bit(this.known,
			Math.min(callees, KNOWN_MAX) * (TIMES_LOG_MAX + 1) + often);
	}

	/** @param {number} node @param {number} caller its frame @param {number} hasSelf */
	children(node, caller, hasSelf) {
		const {range, calleeFrame, calleeTimes, calleeNext, frames} = this;
		if (this.times[caller] >= TIMES_MAX)
			this.halve(caller);
		let callees = this.callees[caller];
		let times = this.times[caller];
		let last = 0;  // callee that is not left any more
		let at = this.first[caller];
		let least = 0;
		for (let children = 0;; children += children < 2 ? 1 : 0) {
			const which = hasSelf + 2 * children;
			if (!range.mixedBit(this.ownMore, caller * MORE_CASES + which, this.more,
				2 * which + (callees ? 1 : 0)))
				break;
			let frame = 0;
			if (callees && this.isKnown(callees, times)) {
				const part = range.part(times);
				let start = 0;
				for (; start + calleeTimes[at] <= part; at = calleeNext[at]) {
					start += calleeTimes[at];
					callees--;
				}
				range.take(start, calleeTimes[at]);
				times -= start + calleeTimes[at]++;
				callees--;
				this.times[caller]++;
				frame = calleeFrame[at];
				last = at;
			} else {
				if (least >= frames)
					throw new RangeError('a node without a frame');
				frame = least + range.below(frames - least);
				for (; at && calleeFrame[at] < frame; at = calleeNext[at]) {
					times -= calleeTimes[at];
					callees--;
					last = at;
				}
				last = this.addCallee(caller, last, frame);
			}
			at = last ? calleeNext[last] : this.first[caller];
			least = frame + 1;
			this.wait(frame, node);
		}
	}

	/** @param {number} frame @param {number} parent */
	wait(frame, parent) {
		if (parent + this.waiting + 1 >= this.nodes)
			throw new RangeError('more nodes than there should be');
		this.waitingFrame[this.waiting] = frame;
		this.waitingParent[this.waiting++] = parent;
	}

	/** @returns {Nodes} */
	read() {
		const {nodes, frames, waitingFrame, waitingParent} = this;
		const frame = new Uint32Array(nodes);
		const parent = new Uint32Array(nodes);
		const self = new Float64Array(nodes);
		frame[0] = frames;
		for (let node = 0; node < nodes; node++) {
			if (node > 0) {
				if (!this.waiting)
					throw new RangeError('fewer nodes than there should be');
				frame[node] = waitingFrame[--this.waiting];
				parent[node] = waitingParent[this.waiting];
			}
			const hasSelf =
				this.range.mixedBit(this.ownSelf, frame[node], this.self, 0);
			if (hasSelf)
				self[node] = this.weight();
			let first = this.waiting;
			this.children(node, frame[node], hasSelf);
			for (let last = this.waiting - 1; first < last; first++, last--) {
				const other = waitingFrame[first];
				waitingFrame[first] = waitingFrame[last];
				waitingFrame[last] = other;
			}
		}
		this.range.finish();
		return {frame, self, parent};
	}
}

/**
 * @param {Uint8Array | undefined} bytes @param {number} nodes @param {number} frames
 * @returns {Nodes}
 */
export function readNodes(bytes, nodes, frames) {
	// The likeliest node takes more than a thousandth of a bit.
	if (!bytes || !(nodes >= 1) || nodes > bytes.length * 8000)
		throw new RangeError('there are too few nodes');
	return new NodeReader(bytes, nodes, frames).read();
}
