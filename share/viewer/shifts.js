// SPDX-License-Identifier: MIT
// @ts-check
// Find the functions whose times changed between one run of each of two versions, by the rules of
// `flamerun diff`. See cli/compare/shifts.c for the statistics, sides.c for a run's factor,
// changes.c for the choice of the function at which a change is named, change_text.c for the texts.
// This file uses no DOM.

/**
 * Assumed variance of counts, as a multiple of a Poisson distribution's variance, as in
 * cli/compare/sides.c. It is assumed because one run of each version does not show how much runs
 * vary.
 */
const SELF_DISPERSION = 2;
const TOTAL_DISPERSION = 8;
/**
 * Additional factor for the variance of waits, because one check of a waiting thread gives this
 * many samples.
 */
const WAIT_DISPERSION = 5;
const ALPHA = 0.05;
const LEAST_SAMPLES = 25;
const LEAST_SHARE = 0.002;
const HALF = 0.5;
const FACTOR_SAMPLES = 400;
const FACTOR_PART = 0.25;
const CAP_ROUNDS = 8;
const FACTOR_FUNCTIONS = 3;
const FACTOR_CHANCE = 0.01;
/** A function with a larger share of the run than this is split by its stacks. */
const PART_SHARE = 0.1;
const NEARLY_NONE = 1e-3;
const NEARLY = 0.25;
const NEARLY_ALL = 1.4;
const EXPLAINED = 0.5;
/** As CHANGES_LEAST_POINTS in cli/compare/changes.h. */
const LEAST_PART = 0.01;

/** Verdicts, with the values of enum picture_verdict. */
const UNTOLD = 0;
const SLOWER = 1;
const FASTER = 3;
const NEW = 5;
const GONE = 6;

/** Texts of the verdicts, in the order in which the legend shows them. */
export const MEANINGS = /** @type {[number, string][]} */ ([[SLOWER, 'slower'], [SLOWER + 1, 'slower by others'],
	[NEW, 'new'], [FASTER, 'faster'], [FASTER + 1, 'faster by others'], [GONE, 'gone'],
	[UNTOLD, 'no change that is more than chance']]);

/** @typedef {[Float64Array, Float64Array]} Pair values of the old and of the new version */

/**
 * @typedef {object} Change
 * @property {number} fn number of the function
 * @property {boolean} isSelf true: change of the self weight, false: of the total
 * @property {number} before samples of the old version, divided by its factor
 * @property {number} after
 * @property {number} change difference of the logarithms
 * @property {number} p p-value
 * @property {boolean} isTold is the change significant?
 * @property {boolean} isNamed is it not explained by changes of other functions?
 */

// ---- chance -------------------------------------------------------------------------------------

/**
 * Returns the probability that a normally distributed value is at least |z| away from 0. The
 * continued fraction gives too large values near z = 0.
 * @param {number} z
 */
function tails(z) {
	const x = Math.abs(z) / Math.SQRT2;
	let fraction = 0;
	for (let n = 100; n; n--)
		fraction = n / 2 / (x + fraction);
	return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction);
}

/** @param {[number, number][]} ratios values and their weights */
function weightedMedian(ratios) {
	ratios.sort(([a], [b]) => a - b);
	const all = ratios.reduce((sum, [, weight]) => sum + weight, 0);
	let below = 0;
	for (let i = 0; i < ratios.length; i++) {
		below += ratios[i][1];
		if (below > all / 2)
			return ratios[i][0];
		if (below === all / 2 && i + 1 < ratios.length)
			return (ratios[i][0] + ratios[i + 1][0]) / 2;
	}
	return 0;
}

/**
 * One run of each version. sizes: weight of the run; grains: weight of one sample, which depends on
 * the sampling rate.
 * @typedef {{sizes: number[], grains: number[]}} Runs
 */

/** Returns the mean of the two versions' shares. @param {Runs} runs @param {number[]} counts */
function shareOf({sizes}, counts) {
	return counts[0] / sizes[0] / 2 + counts[1] / sizes[1] / 2;
}

/**
 * Returns the number of samples that each version should have. @param {Runs} runs @param {number}
 * share
 */
function expected({sizes, grains}, share) {
	return sizes.map((size, side) => share * size / grains[side]);
}

/**
 * Is a share of the run large enough to be tested for changes? @param {Runs} runs @param {number}
 * share
 */
function isHeavy(runs, share) {
	return share >= LEAST_SHARE && expected(runs, share).every(samples => samples >= LEAST_SAMPLES);
}

/**
 * A part of the program: its weight in each version, and its share of all weight.
 * @typedef {{counts: number[], share: number}} Part
 */

/**
 * Returns the difference of the logarithms, and its p-value. @param {Runs} runs @param {Part} part
 */
function observe(runs, {counts, share}, /** @type {number[]} */ factors, /** @type {number} */ dispersion) {
	const [old, late] = counts.map((one, side) => Math.log(one + HALF * runs.grains[side]) - factors[side]);
	const known = expected(runs, share).reduce((sum, samples) => sum + 1 / (samples + HALF), 0);
	return {change: late - old, p: tails((late - old) / Math.sqrt(dispersion * known))};
}

/**
 * Returns the weight of one part's ratio in a version's factor; limited, so that a heavy part does
 * not decide alone. @param {number} samples
 */
function factorWeight(samples) {
	return 1 / (1 / samples + 1 / FACTOR_SAMPLES);
}

/** Returns the logarithms of both versions' factors. @param {Runs} runs @param {Part[]} used */
function factorsOf(runs, used) {
	const all = runs.sizes[0] + runs.sizes[1];
	return runs.sizes.map((own, side) => {
		const half = HALF * runs.grains[side];
		const ratios = used.map(({counts, share}) => /** @type {[number, number]} */ ([
			Math.log((counts[side] + half) / ((counts[0] + counts[1]) * own / all + half)),
			factorWeight(expected(runs, share)[side])]));
		for (let round = 0; round < CAP_ROUNDS; round++) {
			const most = FACTOR_PART * ratios.reduce((sum, [, weight]) => sum + weight, 0);
			for (const one of ratios)
				one[1] = Math.min(one[1], most);
		}
		return weightedMedian(ratios) + Math.log(2 * own / all);
	});
}

/**
 * Returns the logarithm of each version's factor, or null if too few functions have the same ratio.
 * @param {Pair} parts weights of disjoint parts of the program
 * @param {Runs} runs @param {number} dispersion
 */
function logFactors(parts, runs, dispersion) {
	/** @type {Part[]} */
	const heavy = [];
	let light = [0, 0];
	let lightShare = 0;
	let heaviest = 0;
	for (let i = 0; i < parts[0].length; i++) {
		const counts = [parts[0][i], parts[1][i]];
		const share = shareOf(runs, counts);
		if (isHeavy(runs, share)) {
			heavy.push({counts, share});
		} else {
			light = light.map((sum, side) => sum + counts[side]);
			lightShare += share;
			heaviest = Math.max(heaviest, share);
		}
	}
	const pieces = !isHeavy(runs, lightShare) ? 0
		: Math.min(Math.floor(lightShare / heaviest), FACTOR_FUNCTIONS);
	const others = Array.from({length: pieces}, () =>
		({counts: light.map(one => one / pieces), share: lightShare / pieces}));
	if (heavy.length + pieces < FACTOR_FUNCTIONS)
		return null;
	const factors = factorsOf(runs, [...heavy, ...others]);
	const alike = heavy.filter(one => observe(runs, one, factors, dispersion).p >= FACTOR_CHANCE);
	const weightOf = (/** @type {Part[]} */ some) =>
		some.reduce((sum, {share}) => sum + factorWeight(share * runs.sizes[0]), 0);
	if (alike.length + pieces < FACTOR_FUNCTIONS
		|| (alike.length < heavy.length && weightOf(alike) <= weightOf(heavy) / 2))
		return null;
	return factorsOf(runs, [...alike, ...others]);
}

// ---- counts -------------------------------------------------------------------------------------

/** @param {number} length @returns {Pair} */
function pairOf(length) {
	return [new Float64Array(length), new Float64Array(length)];
}

/**
 * Compute each function's self weight and total, in which recursive calls count once, and the
 * weights of disjoint parts of the program.
 * @param {import('./tree.js').TreeColumns} tree @param {Pair} sides in samples
 * @param {Uint32Array} fnAt by node
 * @param {number} fns
 */
function countFunctions({nodes, parent, end}, sides, fnAt, fns) {
	const self = pairOf(fns + 1);
	const total = pairOf(fns + 1);
	const parts = pairOf(fns + nodes);
	sides.forEach((own, side) => {
		const within = new Uint32Array(fns + 1);
		const below = own.slice();
		for (let i = nodes - 1; i > 0; i--) {
			self[side][fnAt[i]] += own[i];
			below[parent[i]] += below[i];
		}
		for (let i = 1; i < nodes; i++)
			if (i >= within[fnAt[i]]) {
				total[side][fnAt[i]] += below[i];
				within[fnAt[i]] = end[i];
			}
	});
	const most = PART_SHARE * sides.reduce((sum, own) => own.reduce((all, one) => all + one, sum), 0);
	for (let i = 1; i < nodes; i++) {
		const fn = fnAt[i];
		const part = self[0][fn] + self[1][fn] > most ? fns + i : fn;
		parts[0][part] += sides[0][i];
		parts[1][part] += sides[1][i];
	}
	return {self, total, parts};
}

// ---- the family ---------------------------------------------------------------------------------

/** Set isTold of the significant changes, by Holm's procedure. @param {Change[]} changes */
function tellApart(changes) {
	const {length} = changes;
	let isHeld = true;
	changes.map((one, i) => ({one, i})).sort((a, b) => a.one.p - b.one.p || a.i - b.i).forEach(({one}, i) => {
		isHeld &&= one.p <= ALPHA / (length - i);
		one.isTold = isHeld;
	});
}

/** @param {Change} one */
function magnitudeOf({change}) {
	return Math.floor(Math.log(Math.abs(change)) / Math.log1p(NEARLY));
}

/**
 * Set isNamed of one change for each cause: the one at the function where it is largest; see
 * cli/compare/changes.c.
 * @param {Change[]} told significant changes
 * @param {import('./tree.js').TreeColumns} tree
 * @param {Float64Array} moved change of self weight, by node
 * @param {Uint32Array} fnAt @param {number} fns
 */
function nameChanges(told, {nodes, end, parent}, moved, fnAt, fns) {
	const isExplained = new Uint8Array(nodes);
	const movedInAll = new Float64Array(fns + 1);
	moved.forEach((one, i) => {
		movedInAll[fnAt[i]] += one;
	});
	const order = told.slice().sort((a, b) => magnitudeOf(b) - magnitudeOf(a)
		|| (a.before + a.after) - (b.before + b.after) || a.fn - b.fn);
	for (const one of order) {
		const movedHere = new Float64Array(fns + 1);
		const nodesOfIt = [];
		let last = 0;
		let left = 0;
		for (let i = 1; i < nodes; i++) {
			const isIt = fnAt[i] === one.fn;
			if (isIt && !one.isSelf && i >= last)
				last = end[i];
			if ((!isIt && i >= last) || isExplained[i])
				continue;
			left += moved[i];
			movedHere[fnAt[i]] += moved[i];
			nodesOfIt.push(i);
		}
		// Sum up the changes of the function's callees that now appear directly below its
		// callers, which happens if it makes tail calls.
		const movePast = () => {
			const isBelow = new Uint8Array(fns + 1);
			let sum = 0;
			for (let i = 1, past = 0; i < nodes; i++)
				if (fnAt[i] === one.fn && i >= past)
					past = end[i];
				else if (i < past)
					isBelow[fnAt[i]] = 1;
			isBelow[one.fn] = 0;
			for (let i = 1; i < nodes; i++)
				for (let k = parent[i] + 1; fnAt[i] === one.fn && k < end[parent[i]]; k = end[k])
					for (let j = k; isBelow[fnAt[k]] && j < end[k]; j++)
						sum += isExplained[j] ? 0 : moved[j];
			return sum;
		};
		// The part of the change that remains when moves between stacks with the same leaf
		// are ignored.
		const ofEnds = movedHere.reduce((sum, here, i) => sum + ((here > 0) !== (movedInAll[i] > 0) ? 0
			: Math.abs(here) < Math.abs(movedInAll[i]) ? here : movedInAll[i]), 0);
		const all = one.after - one.before;
		const past = one.isSelf ? 0 : movePast();
		if ((past > 0) !== (all > 0))
			left += past;
		const least = EXPLAINED * Math.abs(all);
		one.isNamed = Math.abs(left) > least && (left > 0) === (all > 0)
			&& !(Math.abs(one.change) > NEARLY_ALL && Math.abs(ofEnds) <= least);
		if (one.isNamed)
			for (const i of nodesOfIt)
				isExplained[i] = 1;
	}
}

// ---- words --------------------------------------------------------------------------------------

/** Returns a relative change as text: 0.15 as "+15.0 %". @param {number} more */
export function partText(more) {
	const percent = 100 * more;
	return percent >= 1000 ? `${Number((more + 1).toPrecision(3))} times`
		: Math.abs(percent) < 0.05 ? '+0.0 %'
		: `${percent < 0 ? '' : '+'}${percent.toFixed(Math.abs(percent) < 99.95 ? 1 : 0)} %`;
}

/**
 * Format a mean weight per run, as CPU time if the time of a sample is known.
 * @param {number} samples @param {Unit} unit
 */
function amountText(samples, {sampleS, name}) {
	const seconds = samples * sampleS;
	return !sampleS && name === 'bytes' && samples >= 1e3
		? samples < 1e6 ? `${(samples / 1e3).toFixed(1)} kB` : `${(samples / 1e6).toFixed(samples < 1e8 ? 1 : 0)} MB`
		: !sampleS ? samples.toFixed(samples < 100 ? 1 : 0)
			: seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms`
				: `${seconds.toFixed(seconds < 100 ? 2 : 0)} s`;
}

/** @param {Change} one @param {Unit} unit */
function changeText({isSelf, before, after, change, isTold, isNamed}, unit) {
	const how = before <= 0 ? 'new' : after <= 0 ? 'gone' : partText(Math.expm1(change));
	return `${isSelf ? 'own code ' : ''}${amountText(before, unit)} to ${amountText(after, unit)} a run, ${how}${
		!isTold ? unit.isSampled ? '; may be chance' : '' : isNamed ? '' : '; by others'}`;
}

// ---- the whole ----------------------------------------------------------------------------------

/**
 * What weights are. isSampled: they are samples. Bytes and other counts have no known chance, so a
 * function has changed if it moved by LEAST_PART of the old version. sampleS: seconds of a sample,
 * the mean of both sides; 0 if weights are no time.
 * @typedef {{name: string, sampleS: number, isSampled: boolean}} Unit
 */

/**
 * Find the changes of all functions.
 * @param {import('./tree.js').TreeColumns} tree both sides' stacks
 * @param {Float64Array[]} weights of each version, by node
 * @param {{name: string, module: string}[]} frames in the order of their names
 * @param {number[]} grains weight of a sample of each side
 * @param {Unit} unit
 * @param {boolean} hasWaits
 */
export function findChanges(tree, weights, frames, grains, unit, hasWaits) {
	const {isSampled} = unit;
	const scale = 2 / (grains[0] + grains[1]);
	const sides = /** @type {Pair} */ (weights.map(own => own.map(one => one * scale)));
	let fns = -1;
	const fnOf = Uint32Array.from([...frames, {name: '', module: ''}], ({name, module}, i) =>
		i && i < frames.length && name === frames[i - 1].name && module === frames[i - 1].module ? fns : ++fns);
	const fnAt = tree.frame.map(one => fnOf[one]);
	const {self, total, parts} = countFunctions(tree, sides, fnAt, fns);
	const runs = {sizes: sides.map(own => own.reduce((sum, one) => sum + one, 0)),
		grains: grains.map(one => one * scale)};
	const dispersionOf = (/** @type {boolean} */ isSelf) =>
		(isSelf ? SELF_DISPERSION : TOTAL_DISPERSION) * (hasWaits ? WAIT_DISPERSION : 1);
	const known = isSampled ? logFactors(parts, runs, dispersionOf(true)) : null;
	const factors = known || [0, 0];
	const scales = factors.map(Math.exp);
	/** @type {Change[]} */
	const changes = [];
	const test = (/** @type {number} */ fn, /** @type {Pair} */ counted, /** @type {boolean} */ isSelf) => {
		const counts = counted.map(side => side[fn]);
		const share = shareOf(runs, counts);
		if (isSampled ? !isHeavy(runs, share) : share < LEAST_SHARE)
			return;
		changes.push({fn, isSelf, before: counts[0] / scales[0], after: counts[1] / scales[1],
			...observe(runs, {counts, share}, factors, dispersionOf(isSelf)), isTold: false, isNamed: false});
	};
	for (let fn = 0; fn < fns; fn++) {
		test(fn, self, true);
		// If the function has no callees, its total equals its self weight and is not
		// tested again.
		if (total[0][fn] - self[0][fn] > NEARLY_NONE || total[1][fn] - self[1][fn] > NEARLY_NONE)
			test(fn, total, false);
	}
	if (isSampled)
		tellApart(changes);
	else
		for (const one of changes)
			one.isTold = Math.abs(one.after - one.before) >= LEAST_PART * runs.sizes[0];
	nameChanges(changes.filter(one => one.isTold), tree,
		sides[1].map((one, i) => one / scales[1] - sides[0][i] / scales[0]), fnAt, fns);
	/** @type {Map<number, Change>} the most important change of each function */
	const ofFn = new Map();
	changes.sort((a, b) => Number(b.isNamed) - Number(a.isNamed) || Number(b.isTold) - Number(a.isTold)
		|| Math.abs(b.after - b.before) - Math.abs(a.after - a.before) || a.fn - b.fn);
	for (const one of changes)
		if (!ofFn.has(one.fn))
			ofFn.set(one.fn, one);
	const told = Array.from(frames, (_, i) => {
		const one = ofFn.get(fnOf[i]);
		const verdict = !one?.isTold ? UNTOLD : one.before <= 0 ? NEW : one.after <= 0 ? GONE
			: (one.change > 0 ? SLOWER : FASTER) + (one.isNamed ? 0 : 1);
		return {verdict, text: one ? changeText(one, unit) : ''};
	});
	return {
		scales,
		verdicts: told.map(one => one.verdict),
		texts: told.map(one => one.text),
		common: known && Math.expm1(factors[1] - factors[0]),
		named: changes.filter(one => one.isNamed).length,
		others: changes.filter(one => one.isTold && !one.isNamed).length,
	};
}
