# SPDX-License-Identifier: MIT
"""
Pictures with marks and with times of samples, which are written into the data of a drawn picture.
"""

import base64
import re
import zlib

NUMBERS, THREADS, MARK_TIMES, MARK_TEXTS, PROCESSES, TICK = 3, 15, 27, 28, 40, 45
SAMPLE_TIMES, SAMPLE_NODES, SAMPLE_THREADS, SAMPLE_WEIGHTS, SAMPLE_KINDS = range(46, 51)
PIECE = re.compile(r"(<piece[^>]*>)([^<]*)(</piece>)")
PERIOD, THREAD_COUNT, SAMPLES = 0, 5, 6  # indices in the column NUMBERS


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _steps(values):
    """The difference of each value from the value before it."""
    return [b - a for a, b in zip([0, *values], values)]


def _planes(values):
    """The lowest bytes of all values, then the second bytes of all, and so on: four planes."""
    return b"".join(bytes(value >> 8 * plane & 255 for value in values) for plane in range(4))


def unpack(text):
    data, columns = zlib.decompress(base64.b64decode(text)), {}
    while data:
        tag, length = list(read_varints(data[:12]))[:2]
        at = len(varint(tag)) + len(varint(length))
        columns[tag], data = data[at:at + length], data[at + length:]
    return columns


def pack(columns):
    return base64.b64encode(zlib.compress(b"".join(
        varint(tag) + varint(len(column)) + column
        for tag, column in columns.items()))).decode()


def mark(picture, output, marks, samples=(), threads=("",), period_ns=None):
    """
    Copy a small picture (path) to @output, and put @marks [(us, text)] and @samples into it. A
    sample is (us, node, weight), (us, node, weight, thread) or (us, node, weight, thread, kind),
    where thread is an index in @threads (names). A unit of weight is @period_ns of CPU time, by
    default the picture's own. Returns the output's path.
    """
    svg = picture.read_text("utf-8")
    columns = unpack(PIECE.search(svg)[2])
    numbers = list(read_varints(columns[NUMBERS]))
    samples = sorted((*s, 0, 0)[:5] for s in samples)
    numbers[THREAD_COUNT], numbers[SAMPLES] = len(threads), len(samples)
    if period_ns is not None:
        numbers[PERIOD] = period_ns
    last, nodes = [0] * len(threads), []
    for _, node, _, thread, _ in samples:
        step = node - last[thread]
        last[thread] = node
        nodes.append(step << 1 ^ (-1 if step < 0 else 0))
    columns.update({
        NUMBERS: b"".join(map(varint, numbers)),
        THREADS: b"".join(varint(len(name.encode())) + name.encode() for name in threads),
        PROCESSES: bytes(len(threads)),
        TICK: b"\1",
        SAMPLE_TIMES: _planes(_steps([s[0] for s in samples])),
        SAMPLE_NODES: _planes(nodes),
        SAMPLE_THREADS: _planes([s[3] for s in samples]),
        SAMPLE_WEIGHTS: _planes([s[2] for s in samples]),
        SAMPLE_KINDS: bytes(s[4] for s in samples),
        MARK_TIMES: b"".join(map(varint, _steps([m[0] for m in marks]))),
        MARK_TEXTS: b"".join(varint(len(m[1].encode())) + m[1].encode() for m in marks),
    })
    output.write_text(PIECE.sub(lambda piece: piece[1] + pack(columns) + piece[3], svg, count=1),
                      "utf-8")
    return output
