// SPDX-License-Identifier: MIT
// @ts-check
// Reads what render/range.c writes; render/embed.h says how. Whatever the bytes are, every number
// read is within its bounds.

const ONE = 65536;
const WIDTH_MIN = 2 ** 24;
const CHANCE_MIN = 32;
const OWN_SEEN_MAX = 60;
const SHARED_SEEN_MAX = 250;
const SHARED_HALVES = 3;
/** Bytes the decoder looks ahead. */
const AHEAD = 4;

/** Chances that learn. */
export class Chances {
	/** @param {number} count */
	constructor(count) {
		this.one = new Uint16Array(count).fill(ONE / 2);
		this.seen = new Uint8Array(count);
	}

	/** @param {number} i @param {number} bit @param {number} mostSeen */
	learn(i, bit, mostSeen) {
		const one = this.one[i];
		const seen = this.seen[i];
		const target = bit ? ONE - 1 : 0;
		this.one[i] = one + (2 * (target - one) / (2 * seen + 3) | 0);
		if (seen < mostSeen)
			this.seen[i] = seen + 1;
	}
}

export class RangeReader {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 1;
		this.width = 0xffffffff;
		this.code = 0;
		if (bytes[0] !== 0)
			throw new RangeError('the nodes do not begin as they should');
		for (let i = 0; i < AHEAD; i++)
			this.code = (this.code << 8 | this.next()) >>> 0;
	}

	next() {
		if (this.at >= this.bytes.length)
			throw new RangeError('the nodes are cut off');
		return this.bytes[this.at++];
	}

	normalize() {
		while (this.width < WIDTH_MIN) {
			this.width = this.width << 8 >>> 0;
			this.code = (this.code << 8 | this.next()) >>> 0;
		}
	}

	/**
	 * Which of `total` equal parts; take() must follow with what it belongs to.
	 * @param {number} total
	 */
	part(total) {
		this.width = this.width / total >>> 0;
		return Math.min(this.code / this.width >>> 0, total - 1);
	}

	/** @param {number} start @param {number} size */
	take(start, size) {
		this.code = this.code - start * this.width >>> 0;
		this.width = this.width * size >>> 0;
		this.normalize();
	}

	/** One of `total` equal parts. @param {number} total */
	equal(total) {
		const part = this.part(total);
		this.take(part, 1);
		return part;
	}

	/** @param {number} limit at least 1 */
	below(limit) {
		let scale = 1;
		while ((limit - 1) / scale >= ONE)
			scale *= 2;
		const high = this.equal(Math.floor((limit - 1) / scale) + 1);
		return Math.min(scale > 1 ? high * scale + this.equal(scale) : high, limit - 1);
	}

	/** @param {number} one */
	bitBy(one) {
		const chance = Math.min(Math.max(one, CHANCE_MIN), ONE - CHANCE_MIN);
		const bound = Math.imul(this.width >>> 16, chance) >>> 0;
		const bit = this.code < bound ? 1 : 0;
		if (bit) {
			this.width = bound;
		} else {
			this.width = this.width - bound >>> 0;
			this.code = this.code - bound >>> 0;
		}
		this.normalize();
		return bit;
	}

	/** @param {Chances} chances @param {number} i */
	bit(chances, i) {
		const bit = this.bitBy(chances.one[i]);
		chances.learn(i, bit, SHARED_SEEN_MAX);
		return bit;
	}

	/** @param {Chances} own @param {number} i @param {Chances} shared @param {number} j */
	mixedBit(own, i, shared, j) {
		const halves = 2 * own.seen[i];
		const bit = this.bitBy((own.one[i] * halves + shared.one[j] * SHARED_HALVES)
			/ (halves + SHARED_HALVES) | 0);
		own.learn(i, bit, OWN_SEEN_MAX);
		shared.learn(j, bit, SHARED_SEEN_MAX);
		return bit;
	}

	/** Nothing but what was looked ahead at may be left. */
	finish() {
		if (this.bytes.length !== this.at)
			throw new RangeError('there is more than the nodes');
	}
}
