// SPDX-License-Identifier: MIT
//
// node_calls.js SECONDS: functions are called by all kinds of callers, for SECONDS of CPU time.
// CALLERS in test_node_truth.py lists which function calls which.
let n = 0;
function leaf() { n = n * 7 + 1 | 0; }
const inner = () => leaf();
function outer() { [1].forEach(inner); }
function other(x) { return x + 1; }
function mapper() { return [3, 2, 1].map(x => other(x)); }
function sorter() { return [3, 1, 2].sort((a, b) => a - b); }
function replacer() { return "abc".replace(/b/, m => other(m)); }
function delegates() {
    for (const x of (function* yields() { yield other(1); yield other(2); })())
        n += x;
}
function applies() { return other.apply(null, [1]) + other.call(null, 2) + Reflect.apply(other, null, [3]); }
class Base {
    constructor() { this.x = other(1); }
    asks() { return other(this.x); }
}
class Derived extends Base {
    constructor() {
        super();
        this.z = other(2);
    }
}
function news() { return new Derived().asks(); }

function main() {
    const begin = process.cpuUsage();
    const cpu = () => { const used = process.cpuUsage(begin); return used.user + used.system; };
    while (cpu() < process.argv[2] * 1e6)
        for (let i = 0; i < 1000; i++) {
            outer();
            mapper();
            sorter();
            replacer();
            delegates();
            applies();
            news();
        }
}
main();
