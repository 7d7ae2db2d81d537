// SPDX-License-Identifier: MIT
// @ts-check
// Reads what render/range.c writes; render/embed.h says how. Whatever the bytes are, every number
// read is within its bounds.

const ONE = 65536;
const WIDTH_MIN = 2 ** 22;
/** Below 2^30 numbers need no memory of their own. */
const WIDTH_MAX = 2 ** 30 - 1;
const CHANCE_MIN = 32;
const OWN_SEEN_MAX = 60;
const SHARED_SEEN_MAX = 250;
/** Bytes the decoder looks ahead. */
const AHEAD = 4;

/** By bits seen: how far a chance moves towards a bit, and how far an own one is trusted. */
const STEPS = Int32Array.from({length: SHARED_SEEN_MAX + 1}, (_, seen) => 65536 / (2 * seen + 3));
const TRUST = Int32Array.from(STEPS, (_, seen) => 65536 * seen / (2 * seen + 3));

/** Chances that learn: of a one in the upper bits, bits seen in the lowest SEEN_BITS. */
const SEEN_BITS = 8;
const SEEN_MASK = 255;

/** @param {number} count */
export function evenChances(count) {
	return new Int32Array(count).fill(ONE / 2 << SEEN_BITS);
}

/**
 * A chance after one bit more. @param {number} chance @param {number} bit
 * @param {number} mostSeen
 */
function learned(chance, bit, mostSeen) {
	const seen = chance & SEEN_MASK;
	const step = ((bit ? ONE - 1 : 0) - (chance >> SEEN_BITS)) * STEPS[seen] >> 15;
	return chance + (step << SEEN_BITS) + (seen < mostSeen ? 1 : 0);
}

export class RangeReader {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 1;
		this.width = WIDTH_MAX;
		this.code = 0;
		if (bytes[0] !== 0)
			throw new RangeError('the nodes do not begin as they should');
		if (bytes[1] >= 64)
			throw new RangeError('the nodes begin with what cannot be');
		for (let i = 0; i < AHEAD; i++)
			this.code = this.code << 8 | this.next();
	}

	next() {
		if (this.at >= this.bytes.length)
			throw new RangeError('the nodes are cut off');
		return this.bytes[this.at++];
	}

	normalize() {
		while (this.width < WIDTH_MIN) {
			this.width <<= 8;
			this.code = this.code << 8 | this.next();
		}
	}

	/**
	 * Which of `total` equal parts; take() must follow with what it belongs to.
	 * @param {number} total
	 */
	part(total) {
		this.width = this.width / total | 0;
		const part = this.code / this.width | 0;
		if (part >= total)
			throw new RangeError('the nodes are damaged');
		return part;
	}

	/** @param {number} start @param {number} size */
	take(start, size) {
		this.code -= start * this.width;
		this.width *= size;
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
		const chance = one < CHANCE_MIN ? CHANCE_MIN
			: one > ONE - CHANCE_MIN ? ONE - CHANCE_MIN : one;
		const bound = (this.width >> 12) * (chance >> 4);
		const bit = this.code < bound ? 1 : 0;
		if (bit) {
			this.width = bound;
		} else {
			this.width -= bound;
			this.code -= bound;
		}
		if (this.width < WIDTH_MIN)
			this.normalize();
		return bit;
	}

	/** @param {Int32Array} chances @param {number} i */
	bit(chances, i) {
		const chance = chances[i];
		const bit = this.bitBy(chance >> SEEN_BITS);
		chances[i] = learned(chance, bit, SHARED_SEEN_MAX);
		return bit;
	}

	/**
	 * @param {Int32Array} own @param {number} i
	 * @param {Int32Array} shared @param {number} j
	 */
	mixedBit(own, i, shared, j) {
		const mine = own[i];
		const ours = shared[j];
		const apart = (mine >> SEEN_BITS) - (ours >> SEEN_BITS);
		const bit = this.bitBy(
			(ours >> SEEN_BITS) + (apart * TRUST[mine & SEEN_MASK] >> 15));
		own[i] = learned(mine, bit, OWN_SEEN_MAX);
		shared[j] = learned(ours, bit, SHARED_SEEN_MAX);
		return bit;
	}

	/** Nothing but what was looked ahead at may be left. */
	finish() {
		if (this.bytes.length !== this.at)
			throw new RangeError('there is more than the nodes');
	}
}
