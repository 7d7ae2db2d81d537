// SPDX-License-Identifier: MIT
// @ts-check
// The viewer's second thread: the same script, started as a worker. Tasks that may take long and
// need no DOM are sent to the worker as messages. A task may have a time limit, after which the
// worker is terminated; the next task starts another one.

import {binActivity} from './activity.js';
import {aggregate, needsSamples, reused, weighStretches} from './aggregate.js';
import {readColumns, readProfile} from './decode.js';
import {compare, profileOf} from './join.js';
import {compileQuery, matchFrames} from './search.js';

/** @typedef {import('./decode.js').Profile} Profile */
/** @typedef {keyof typeof TASKS} Task */
/** @typedef {{id: number, task: Task | 'open', details: any}} Question */
/** @typedef {(task: Task, details: any) => Promise<any>} Perform */

/** The worker's tasks: functions of a profile and details that return the answer. */
const TASKS = {
	aggregate,
	binActivity,
	compare,
	weighStretches,
	/** @param {Profile} profile @param {import('./search.js').Query} query a valid one */
	match({frames, name}, query) {
		const {test} = compileQuery(query);
		return test && matchFrames(frames, name, test);
	},
};

// ---- in the worker ------------------------------------------------------------------------------

/**
 * Returns the buffers of an answer. They are moved to the page and not copied, because the worker
 * does not need them any more.
 * @param {any} answer @returns {ArrayBuffer[]}
 */
function buffersOf(answer) {
	if (ArrayBuffer.isView(answer))
		return [/** @type {ArrayBuffer} */ (answer.buffer)];
	return answer && typeof answer === 'object' ? Object.values(answer).flatMap(buffersOf) : [];
}

/** Begin to answer questions. */
export function listen() {
	/** @type {any} */
	const thread = self;
	/** @type {any} of a file, or of a comparison */
	let data;
	/** @type {Profile | undefined} */
	let profile;
	thread.onmessage = async (/** @type {{data: Question}} */ {data: {id, task, details}}) => {
		if (task === 'open') {
			data = details;
			return;
		}
		try {
			// Free the data at once: it may be a hundred megabytes, which the garbage
			// collector would free much later.
			profile ||= data.names ? profileOf(null, data) : readProfile(readColumns(data),
				() => data.buffer.transfer?.(0));
			const answer = await TASKS[task](profile, details);
			// Copy the buffers that later answers use again; move the others.
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
/** Time in ms that an outdated question may still take. */
const OUTDATED_MS = 100;
/**
 * Time in ms to wait for the worker to start: if a policy forbids workers, some browser versions
 * send no event.
 */
const START_MS = 5000;

/** @typedef {{question: Question, resolve: Function, reject: Function, timer: number}} Asked */

export class Background {
	/**
	 * @param {string} source source text of the viewer's script
	 * @param {Uint8Array | import('./join.js').Joined} data of the file, or of a comparison
	 */
	constructor(source, data) {
		this.source = source;
		this.data = data;
		/**
		 * @type {Promise<Worker | null> | null} its result is null if workers are refused
		 */
		this.starting = null;
		/** @type {Map<number, Asked>} */
		this.asked = new Map();
		this.count = 0;
	}

	/**
	 * Ask the worker to do a task.
	 * @param {Task} task @param {any} details
	 * @param {number} [limitMs] time limit; earlier questions for the same task become outdated
	 * @returns {Promise<any>} the answer; it fails with REFUSED if there are no workers, or
	 * LATE
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

	/** Terminate the worker. */
	async close() {
		(await this.starting)?.terminate();
	}

	/** @param {number} id @returns {Asked | undefined} the question, no longer pending */
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

/** With fewer nodes and samples than this, the page itself is faster than the worker. */
const FEW_STEPS = 50000;

/**
 * Returns a function that does a task: on the page if that is faster or if workers are refused,
 * else in the worker.
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
