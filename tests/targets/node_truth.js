// SPDX-License-Identifier: MIT
//
// A program that stores its own stacks. Each way of calling ends in its own function, spin_...,
// which is called once and stores its stack in FILE as V8 reports it, outermost function first:
// [name, file, line its function begins at, line now]. Functions without a script are left out,
// because they are not the program's. Then the function uses the CPU for MS milliseconds.
//
//     node_truth.js FILE MS [+]
//
// With "+" the program begins when a line arrives on stdin.
"use strict";
const fs = require("fs");
const vm = require("vm");
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");

const [FILE, MS] = isMainThread ? process.argv.slice(2) : workerData;
const expected = {};
const ways = {};

Error.stackTraceLimit = Infinity;

// Return the name that a function had when it was compiled; computed names are set later.
function name_of(site) {
    const name = site.getFunctionName();
    return !name || name.startsWith("[") || (site.isEval() && name === "eval") ? "(anonymous)" : name;
}

function traceback(_, sites) {
    return sites.filter(site => !site.isAsync() && (site.getFileName() || site.isEval()))
        .map(site => [name_of(site),
            site.isEval() ? "<anonymous>" : site.getFileName(),
            site.getEnclosingLineNumber(), site.getLineNumber()]).reverse();
}

// Store the stack of the function that calls this as that of @name.
function note(name) {
    const was = Error.prepareStackTrace;
    Error.prepareStackTrace = traceback;
    const stack = new Error().stack;
    Error.prepareStackTrace = was;
    stack.pop();
    expected[name] = stack;
}

const TEMPLATE = `(function(note, clock) {

return function spin_NAME() {
    note("spin_NAME");
    const end = clock() + MS;
    let x = 0;
    // Read the CPU clock rarely, for the reason given at spin_until() in spin.h.
    while (clock() < end) {
        for (const until = Date.now() + 8; Date.now() < until;)
            for (let i = 0; i < 1000; i++)
                x = STEP;
    }
    return x;
};
})`;

function clock() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
}

// Make the function that stores its stack and then spins.
function spinner(name, step = "x * 7 + i | 0") {
    const text = TEMPLATE.replace(/NAME/g, name).replace("MS", MS).replace("STEP", step);
    return vm.runInThisContext(text, { filename: "/tmp/spin.js" })(note, clock);
}

ways.plain = () => spinner("plain")();

ways.recursion = function recursion(depth = 50) {
    return depth ? recursion(depth - 1) : spinner("recursion")();
};

ways.deep = function () {
    const spin = spinner("deep");
    function down(depth) {
        return depth ? down(depth - 1) + 1 : spin();
    }
    down(5000);
};

ways.closures = function () {
    const spin = spinner("closures");
    function make(n) {
        return function inner() {
            return n ? make(n - 1)() : spin();
        };
    }
    make(5)();
    (() => [1].forEach(() => spinner("arrow")()))();
};

ways.generators = function () {
    function* numbers() {
        yield 1;
        yield spinner("yielded")();
    }
    function* delegates() {
        yield* numbers();
    }
    for (const _ of delegates())
        ;
};

ways.async = async function () {
    async function leaf() {
        spinner("async_before")();
        await null;
        spinner("async_after")();
    }
    async function middle() {
        await leaf();
        spinner("async_resumed")();
    }
    await middle();
    for await (const _ of (async function* () { yield spinner("async_yielded")(); })())
        ;
};

ways.timers = () => new Promise(resolve => {
    setTimeout(function fires() {
        spinner("timeout")();
        process.nextTick(function ticks() {
            spinner("ticked")();
            queueMicrotask(() => { spinner("microtask")(); resolve(); });
        });
    }, 1);
});

ways.native = function () {
    [1].map(function mapped() { return spinner("mapped")(); });
    let once = spinner("sorted");
    [2, 1].sort(function compares(a, b) {
        if (once)
            once();
        once = null;
        return a - b;
    });
    "abc".replace(/b/, function replaced() { return spinner("replaced")(); });
    [1, 2].reduce(function reduces() { return spinner("reduced")(); });
    JSON.parse("[1]", function revives(key, value) {
        if (key === "0")
            spinner("revived")();
        return value;
    });
    JSON.stringify({ toJSON() { return spinner("stringified")(); } });
    new Map([[1, 2]]).forEach(function each() { spinner("each")(); });
    Reflect.apply(function applied() { spinner("applied")(); }, null, []);
    (function called() { spinner("called")(); }).call({});
    (function bound() { spinner("bound")(); }).bind({}, 1, 2)();
    new Proxy({}, { get() { return spinner("trapped")(); } }).field;
    String({ toString() { return spinner("to_string")(); } });
    Array.from([1], x => spinner("from")());
};

ways.exceptions = function () {
    function throws(depth) {
        if (!depth)
            throw new TypeError("expected");
        throws(depth - 1);
    }
    function catches() {
        try {
            throws(20);
        } catch (error) {
            spinner("caught")();
        } finally {
            spinner("finally_")();
        }
    }
    catches();
};

ways.classes = function () {
    class Base {
        constructor() { spinner("constructor")(); }
        method() { spinner("method")(); }
        static of_class() { spinner("static_")(); }
        get field() { return spinner("getter")(); }
        set field(value) { spinner("setter")(); }
        #hidden() { spinner("private_")(); }
        shows() { this.#hidden(); }
    }
    class Derived extends Base {
        constructor() { super(); this.here = (() => spinner("in_arrow")())(); }
        method() { super.method(); }
        [Symbol.iterator]() { spinner("iterator")(); return [][Symbol.iterator](); }
    }
    const derived = new Derived();
    derived.method();
    Derived.of_class();
    derived.field;
    derived.field = 1;
    derived.shows();
    [...derived];
};

ways.evaluated = function () {
    const spin = spinner("evaluated");
    eval("(function inside() {\n\n return (function within() { return spin(); })(); })()");
    new Function("spin", "return spin();")(spinner("new_function"));
    const module = { exports: {} };
    module.exports.inferred = function () { return spinner("inferred")(); };
    module.exports.inferred();
    const größe = function größe() { return spinner("wide")(); };
    größe();
    const 関数 = () => spinner("wider")();
    関数();
};

// Objects are moved all the time, and functions with them.
ways.allocates = function () {
    const kept = [];
    function grows(depth) {
        kept.push(new Array(100).fill({}));
        if (kept.length > 1000)
            kept.splice(0, 900);
        return depth ? grows(depth - 1) : spinner(
            "allocates", "({a: [x, i], b: 'x' + i, c: () => x}).a.length + new Array(i & 63).length")();
    }
    grows(20);
    (function fresh(make) { make(); })(() => spinner("moved", "[i, [x], {}].length")());
};

// Compile, discard and compile again: code that ran with numbers gets strings and holes.
ways.deoptimised = function () {
    const spin = spinner("deoptimised");
    function add(a, b, last) {
        if (last)
            spin();
        return a + b;
    }
    for (let i = 0; i < 100000; i++)
        add(i, 1);
    for (const odd of ["x", {}, null, 1.5, 2n ** 70n])
        for (let i = 0; i < 1000; i++)
            add(odd, odd);
    add("x", undefined, true);
};

ways.worker = () => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: [FILE, MS] });
    worker.on("message", told => Object.assign(expected, told));
    worker.on("exit", resolve);
    worker.on("error", reject);
});

ways.in_worker = function () {
    spinner("in_worker")();
};

async function main() {
    if (process.argv[4] === "+")
        fs.readSync(0, Buffer.alloc(1));
    for (const [name, way] of Object.entries(ways))
        if (isMainThread !== (name === "in_worker"))
            await way();
    if (isMainThread)
        fs.writeFileSync(FILE, JSON.stringify(expected));
    else
        parentPort.postMessage(expected);
}

main();
