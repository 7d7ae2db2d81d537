// SPDX-License-Identifier: MIT
// server.js DEPTH REQUESTS: an HTTP server with handlers in a chain of closures, as in frameworks,
// and a client in another thread. Most samples hit code that no earlier sample hit. DEPTH is not
// used. Prints the CPU seconds of the process.
const http = require("node:http");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");

const AT_ONCE = 16;
const ITEMS = Array.from({ length: 2000 }, (_, id) => (
    { id, name: `item ${id * 7919 % 2000}`, tags: [`a${id % 7}`, `b${id % 11}`] }));

function byName(left, right) {
    return left.name < right.name ? -1 : left.name > right.name ? 1 : left.id - right.id;
}

function asText(list) {
    return `<ul>${list.map(item => `<li>${item.id}: ${item.name} ${item.tags.join()}</li>`).join("")}</ul>`;
}

function body(request, then) {
    const parts = [];
    request.on("data", part => parts.push(part));
    request.on("end", () => then(JSON.parse(Buffer.concat(parts).toString())));
}

const routes = {
    "/": (request, response) => response.end("hello"),
    "/items": (request, response, url) => {
        const tag = url.searchParams.get("tag");
        const found = ITEMS.filter(item => item.tags.includes(tag)).sort(byName);
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify(found.slice(0, 200)));
    },
    "/page": (request, response, url) => {
        const from = +url.searchParams.get("n") * 20;
        response.end(asText(ITEMS.slice(from, from + 50)));
    },
    "/sum": (request, response) => body(request, numbers =>
        response.end(String(numbers.reduce((sum, number) => sum + number, 0)))),
    "/fail": () => {
        throw new Error("no such thing");
    },
};

const chain = [
    next => (request, response, url) => {
        request.began = process.hrtime.bigint();
        next(request, response, url);
    },
    next => (request, response, url) => {
        try {
            next(request, response, url);
        } catch (error) {
            response.statusCode = 500;
            response.end(error.stack);
        }
    },
    next => (request, response, url) => next(request, response, new URL(url, "http://server")),
    () => (request, response, url) => routes[url.pathname](request, response, url),
];

function serve(requests) {
    const server = http.createServer((request, response) => {
        const run = chain.reduceRight((next, part) => part(next), null);
        run(request, response, request.url);
    });
    server.listen(0, () => {
        const client = new Worker(__filename, { workerData: { port: server.address().port, requests } });
        client.on("message", () => {
            const { user, system } = process.cpuUsage();
            process.stderr.write(`${(user + system) / 1e6}\n`);
            process.exit(0);
        });
    });
}

function ask({ port, requests }) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
    const paths = ["/", "/items?tag=a3", "/page?n=", "/sum", "/fail"];
    let asked = 0, answered = 0;

    function one() {
        const n = asked++;
        const path = paths[n % paths.length], isSum = path === "/sum";
        const request = http.request({ port, agent, method: isSum ? "POST" : "GET",
            path: path.endsWith("=") ? path + n % 90 : path }, response => {
            response.resume();
            response.on("end", () => ++answered === requests ? parentPort.postMessage("done")
                : asked < requests && one());
        });
        request.end(isSum ? JSON.stringify(Array.from({ length: 300 }, (_, i) => i)) : undefined);
    }
    for (let i = 0; i < AT_ONCE; i++)
        one();
}

if (isMainThread)
    serve(Math.max(+process.argv[3], AT_ONCE));
else
    ask(workerData);
