// SPDX-License-Identifier: MIT
// @ts-check
// The viewer's second thread: the same script, started as a worker. What may take long and needs no
// page is asked of it by messages and has a limit in time: then the thread is ended, and the next
// question starts another one.

import {readColumns, readNames} from './decode.js';
import {compileQuery, matchFrames} from './search.js';

/** @typedef {{id: number, task: keyof typeof TASKS, details: any}} Question */

// ---- in the worker ------------------------------------------------------------------------------

/** @type {ReturnType<typeof readNames>} */
let names;

/** What can be asked for; each returns what is told. */
const TASKS = {
	/** The first one. @param {Uint8Array} data of the picture */
	open(data) {
		names = readNames(readColumns(data));
	},
	/** @param {import('./search.js').Query} query a good one */
	match(query) {
		const {test} = compileQuery(query);
		return test && matchFrames(names.frames, names.name, test);
	},
};

/** Answer from now on. */
export function listen() {
	/** @type {any} */
	const thread = self;
	thread.onmessage = (/** @type {{data: Question}} */ {data: {id, task, details}}) =>
		thread.postMessage({id, answer: TASKS[task](details)});
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
	/** @param {string} source the viewer's @param {Uint8Array} data */
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
	 * @param {keyof typeof TASKS} task one that is asked for is outdated
	 * @param {any} details @param {number} limitMs
	 * @returns {Promise<any>} the answer; it fails with REFUSED where there are no workers, or LATE
	 */
	ask(task, details, limitMs) {
		return new Promise((resolve, reject) => {
			for (const other of this.asked.values())
				if (other.question.task === task)
					this.limit(other, OUTDATED_MS);
			const id = this.count++;
			const one = {question: {id, task, details}, resolve, reject, timer: 0};
			this.asked.set(id, one);
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
				worker.onmessage = ({data: {id, answer}}) => {
					URL.revokeObjectURL(url);
					resolve(worker);
					this.end(id)?.resolve(answer);
				};
				worker.postMessage({task: 'open', details: this.data});
				setTimeout(refuse, START_MS);
			} catch {
				refuse();
			}
		});
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
