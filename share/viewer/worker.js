// SPDX-License-Identifier: MIT
// @ts-check
// The viewer's second thread: the same script, started as a worker. What may take long and needs no
// page is asked of it by messages; a question may have a limit in time, after which the thread is
// ended and the next question starts another one.

import {binActivity} from './activity.js';
import {aggregate, needsSamples, reused, weighStretches} from './aggregate.js';
import {readColumns, readProfile} from './decode.js';
import {compare, profileOf} from './join.js';
import {compileQuery, matchFrames} from './search.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {keyof typeof TASKS} Task */
/** @typedef {{id: number, task: Task | 'open', details: any}} Question */
/** @typedef {(task: Task, details: any) => Promise<any>} Perform */

/** What can be asked for, of a profile; each returns what is told. */
const TASKS = {
	aggregate,
	binActivity,
	compare,
	weighStretches,
	/** @param {Profile} profile @param {import('./search.js').Query} query a good one */
	match({frames, name}, query) {
		const {test} = compileQuery(query);
		return test && matchFrames(frames, name, test);
	},
};

// ---- in the worker ------------------------------------------------------------------------------

/** What is told is not needed here any more. @param {any} answer @returns {ArrayBuffer[]} */
function buffersOf(answer) {
	if (ArrayBuffer.isView(answer))
		return [/** @type {ArrayBuffer} */ (answer.buffer)];
	return answer && typeof answer === 'object' ? Object.values(answer).flatMap(buffersOf) : [];
}

/** Answer from now on. */
export function listen() {
	/** @type {any} */
	const thread = self;
	/** @type {any} of a file, or what was compared */
	let data;
	/** @type {Profile | undefined} */
	let profile;
	thread.onmessage = async (/** @type {{data: Question}} */ {data: {id, task, details}}) => {
		if (task === 'open') {
			data = details;
			return;
		}
		try {
			// At once: of many samples it is a hundred megabytes, which a collector leaves for long.
			profile ||= data.names ? profileOf(null, data) : readProfile(readColumns(data),
				() => data.buffer.transfer?.(0));
			const answer = await TASKS[task](profile, details);
			// What is used again stays: it is copied.
			const own = new Set(buffersOf(reused(profile)));
			thread.postMessage({id, answer},
				[...new Set(buffersOf(answer))].filter(buffer => !own.has(buffer)));
		} catch (error) {
			thread.postMessage({id, error: String(/** @type {any} */ (error)?.message || error)});
		}
	};
	thread.postMessage({});
}

// ---- on the page --------------------------------------------------------------------------------

export const REFUSED = 'refused';
const LATE = 'late';
/** How long a question may still take that is no longer asked. */
const OUTDATED_MS = 100;
/** A policy refuses a worker by an event, or in another version by none. */
const START_MS = 5000;

/** @typedef {{question: Question, resolve: Function, reject: Function, timer: number}} Asked */

export class Background {
	/** @param {string} source the viewer's @param {Uint8Array | import('./join.js').Joined} data */
	constructor(source, data) {
		this.source = source;
		this.data = data;
		/** @type {Promise<Worker | null> | null} null in it: refused */
		this.starting = null;
		/** @type {Map<number, Asked>} */
		this.asked = new Map();
		this.count = 0;
	}

	/**
	 * @param {Task} task
	 * @param {any} details @param {number} [limitMs] one that is asked for under a limit is outdated
	 *        by the next of its task
	 * @returns {Promise<any>} the answer; it fails with REFUSED where there are no workers, or LATE
	 */
	ask(task, details, limitMs = 0) {
		return new Promise((resolve, reject) => {
			for (const other of this.asked.values())
				if (limitMs && other.question.task === task)
					this.limit(other, OUTDATED_MS);
			const id = this.count++;
			const one = {question: {id, task, details}, resolve, reject, timer: 0};
			this.asked.set(id, one);
			if (limitMs)
				this.limit(one, limitMs);
			this.post(one);
		});
	}

	/** @param {Asked} one */
	async post(one) {
		this.starting ||= this.start();
		const worker = await this.starting;
		if (worker)
			worker.postMessage(one.question);
		else
			this.end(one.question.id)?.reject(REFUSED);
	}

	/** @returns {Promise<Worker | null>} */
	start() {
		return new Promise(resolve => {
			const refuse = () => resolve(null);
			try {
				const url = URL.createObjectURL(
					new Blob([this.source], {type: 'text/javascript'}));
				const worker = new Worker(url);
				worker.onerror = refuse;
				worker.onmessage = ({data: {id, answer, error}}) => {
					URL.revokeObjectURL(url);
					resolve(worker);
					const one = this.end(id);
					if (error)
						one?.reject(new Error(error));
					else
						one?.resolve(answer);
				};
				worker.postMessage({task: 'open', details: this.data});
				setTimeout(refuse, START_MS);
			} catch {
				refuse();
			}
		});
	}

	/** Nobody asks any more. */
	async close() {
		(await this.starting)?.terminate();
	}

	/** @param {number} id @returns {Asked | undefined} what is asked no longer */
	end(id) {
		const one = this.asked.get(id);
		clearTimeout(one?.timer);
		this.asked.delete(id);
		return one;
	}

	/** @param {Asked} one @param {number} limitMs from now on */
	limit(one, limitMs) {
		clearTimeout(one.timer);
		one.timer = window.setTimeout(async () => {
			this.end(one.question.id)?.reject(LATE);
			(await this.starting)?.terminate();
			this.starting = null;
			for (const other of this.asked.values())
				this.post(other);
		}, limitMs);
	}
}

/** Below so many nodes and samples the page itself is sooner. */
const FEW_STEPS = 50000;

/**
 * Have a task done, where it is done sooner and nobody waits for it.
 * @param {Profile} profile @param {Background} background @returns {Perform}
 */
export function performer(profile, background) {
	return async (task, details) => {
		const {nodes, sampleCount} = profile;
		const here = () => TASKS[task](profile, details);
		if (task !== 'compare' && nodes + (task !== 'aggregate' || needsSamples(details) ? sampleCount : 0) < FEW_STEPS)
			return here();
		try {
			return await background.ask(task, details);
		} catch (why) {
			if (why === REFUSED)
				return here();
			throw why;
		}
	};
}
