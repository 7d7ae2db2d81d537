# SPDX-License-Identifier: MIT
#
# ClickHouse servers for the tests, and a proxy that fails as a test requests.
import http.client
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request

import profiled

SCRIPT = pathlib.Path(__file__).parent.parent / "setup" / "clickhouse.sh"


def why_not():
    """The reason why tests cannot run servers; None if they can."""
    if not profiled.IS_ALL:
        return "ClickHouse is started by make check-all, or with TEST_ALL=1"
    if not shutil.which("clickhouse-server"):
        return "no clickhouse-server here"
    return None


class Servers:
    """@count servers on the loopback interface, which run until the end of the with block."""

    def __init__(self, count, users=None):
        self.folder = tempfile.mkdtemp(prefix="flamerun-clickhouse.", dir="/tmp")
        self.users = users
        self.count = count
        try:
            for number in range(count):
                self.start(number)
        except Exception:
            self.__exit__()
            raise

    def script(self, *words):
        environment = dict(os.environ, **({"USERS": str(self.users)} if self.users else {}))
        # The server would inherit open files, so do not let it have the pipes of the tests.
        subprocess.run([SCRIPT, words[0], self.folder, *map(str, words[1:])], check=True, timeout=120,
                       env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def start(self, number):
        self.script("start", number)

    def kill(self, number):
        self.script("kill", number)

    def port(self, number):
        return int(pathlib.Path(self.folder, str(number), "port").read_text(encoding="ascii"))

    def host(self, number):
        return f"127.0.0.1:{self.port(number)}"

    def ask(self, number, query):
        """The rows of a query, as lists of words."""
        query = query if isinstance(query, bytes) else query.encode()
        with urllib.request.urlopen(f"http://{self.host(number)}/", query, timeout=60) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.script("stop")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def forward(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() in ("content-type", "authorization")}
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query, keep_blank_values=True,
                                      errors="surrogateescape")["query"][0]
        self.server.queries.append(query)
        self.server.agents.append(dict(self.headers))
        what = self.server.decide(query)
        if callable(what):
            what = what(self, body)
        if what == "hang":
            self.server.is_over.wait(120)
            return self.close()
        if what == "close":
            return self.close()
        if what == "lose the answer":
            self.forward(body)
            return self.close()
        if what == "half":
            self.forward(body[:len(body) // 2])
            return self.close()
        status, content = what or self.forward(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def close(self):
        self.close_connection = True
        self.connection.close()


class Failing(http.server.ThreadingHTTPServer):
    """
    A proxy in front of the server at port @behind (None: no server). decide(query) returns what to
    do: None: forward the query; (status, bytes): answer this; "hang"; "close"; "lose the answer":
    forward the query and close; "half": forward half of the rows and close. @certificate is a file
    with certificate and key, for https.
    """
    daemon_threads = True

    def __init__(self, decide, behind=None, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.decide = decide
        self.behind = behind
        self.queries = []
        self.agents = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def handle_error(self, *_):
        pass  # a client that was cut off closes the connection

    @property
    def host(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.shutdown()
        self.server_close()


class Once:
    """A decide() that returns @what for the first @times queries that begin with @begin."""

    def __init__(self, begin, what, times=1):
        self.begin, self.what, self.left = begin, what, times
        self.lock = threading.Lock()

    def __call__(self, query):
        with self.lock:
            if not query.startswith(self.begin) or not self.left:
                return None
            self.left -= 1
            return self.what


def total(folded):
    """The weight of folded stacks."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())

