# SPDX-License-Identifier: MIT
"""Pictures with marks, and with times or without: the data of one that is there, and more."""

import base64
import re
import zlib

NUMBERS, SAMPLE_TIMES, SAMPLE_NODES, SAMPLE_WEIGHTS, MARK_TIMES, MARK_TEXTS = 3, 16, 17, 19, 27, 28
PIECE = re.compile(r"(<piece[^>]*>)([^<]*)(</piece>)")
SAMPLES = 6  # place in NUMBERS


def _varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _read_varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _steps(values, signed):
    """Each value less the one before, as a column."""
    steps = [b - a for a, b in zip([0, *values], values)]
    return b"".join(_varint((n << 1 if n >= 0 else -2 * n - 1) if signed else n) for n in steps)


def _unpack(text):
    data, columns = zlib.decompress(base64.b64decode(text)), {}
    while data:
        tag, length = list(_read_varints(data[:12]))[:2]
        at = len(_varint(tag)) + len(_varint(length))
        columns[tag], data = data[at:at + length], data[at + length:]
    return columns


def _pack(columns):
    return base64.b64encode(zlib.compress(b"".join(
        _varint(tag) + _varint(len(column)) + column
        for tag, column in columns.items()))).decode()


def mark(picture, output, marks, samples=()):
    """
    A copy of a small picture (path) with @marks [(us, text)], and the times @samples has: [(us,
    node, weight)]. Returns the output's path.
    """
    svg = picture.read_text("utf-8")
    columns = _unpack(PIECE.search(svg)[2])
    numbers = list(_read_varints(columns[NUMBERS]))
    numbers[SAMPLES] = len(samples)
    columns.update({
        NUMBERS: b"".join(map(_varint, numbers)),
        SAMPLE_TIMES: _steps([s[0] for s in samples], True),
        SAMPLE_NODES: _steps([s[1] for s in samples], True),
        SAMPLE_WEIGHTS: b"".join(_varint(s[2]) for s in samples),
        MARK_TIMES: _steps([m[0] for m in marks], False),
        MARK_TEXTS: b"".join(_varint(len(m[1].encode())) + m[1].encode() for m in marks),
    })
    output.write_text(PIECE.sub(lambda piece: piece[1] + _pack(columns) + piece[3], svg, count=1),
                      "utf-8")
    return output
