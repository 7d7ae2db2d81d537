# SPDX-License-Identifier: MIT
#
# Render pictures to pixels, two for each CSS pixel, with the programs that users view pictures
# with: librsvg for SVG, poppler for PDF. PNG files are decoded here (8 bits, not interlaced, as
# flamerun and librsvg write them).
import itertools
import operator
import struct
import subprocess
import zlib


FOOTER = 2 * 24


class Pixels:
    """Rows of RGB bytes."""

    def __init__(self, width, height, rows):
        self.width, self.height, self.rows = width, height, rows

    def at(self, x, y):
        return tuple(self.rows[y][3 * x:3 * x + 3])

    def difference(self, other):
        """
        The mean difference of all bytes, 0 to 255; 255 if the sizes differ by more than rounding.
        The area below the boxes is ignored, because an SVG has help texts there.
        """
        rows = min(self.height, other.height) - FOOTER
        if abs(self.width - other.width) > 2 or abs(self.height - other.height) > FOOTER:
            return 255.0
        size = 3 * min(self.width, other.width)
        return sum(sum(map(abs, map(operator.sub, mine[:size], theirs[:size])))
                   for mine, theirs in zip(self.rows[:rows], other.rows)
                   if mine[:size] != theirs[:size]) / (rows * size)


def unfilter(kind, line, above, step):
    """
    Undo the filter of one PNG line in place, for each colour channel (PNG specification, clause 9).
    A line of zeros with filter 2 or 4 equals the line above, which is the usual case.
    """
    if kind in (2, 4) and not any(line):
        line[:] = above
        return
    for colour in range(step):
        mine, over = line[colour::step], above[colour::step]
        if kind == 1:
            done = itertools.accumulate(mine)
        elif kind == 2:
            done = map(operator.add, mine, over)
        else:
            done = along(mine, over, average if kind == 3 else nearest)
        line[colour::step] = bytes(byte & 255 for byte in done)


def along(mine, over, predict):
    """Process a line from left to right. Each byte depends on those before it."""
    left = corner = 0
    for byte, up in zip(mine, over):
        left = byte + predict(left, up, corner) & 255
        corner = up
        yield left


def average(left, up, _):
    return (left + up) // 2


def nearest(left, up, corner):
    if left == corner or up == corner:
        return up if left == corner else left
    base = left + up - corner
    by_left, by_up, by_corner = abs(base - left), abs(base - up), abs(base - corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


def from_png(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        at += 12 + size
        if name == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
        elif name == b"IDAT":
            packed += body
    assert depth == 8 and colour in (2, 6) and not interlaced
    step = 3 if colour == 2 else 4
    raw, rows = zlib.decompress(packed), []
    above = bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        line = bytearray(raw[start + 1:start + 1 + width * step])
        if raw[start]:
            unfilter(raw[start], line, above, step)
        above = line
        if step == 4:
            opaque = line[:]
            del opaque[3::4]
            rows.append(bytes(opaque))
        else:
            rows.append(bytes(line))
    return Pixels(width, height, rows)


def from_ppm(data):
    kind, size, depth, body = data.split(b"\n", 3)
    width, height = map(int, size.split())
    assert kind == b"P6" and depth == b"255"
    return Pixels(width, height,
                  [body[3 * width * y:3 * width * (y + 1)] for y in range(height)])


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60).stdout


def read(path):
    """Render the picture at @path (pathlib) to Pixels."""
    if path.suffix == ".png":
        return from_png(path.read_bytes())
    if path.suffix == ".svg":
        return from_png(output_of("rsvg-convert", "-z", "2", path))
    return from_ppm(output_of("pdftoppm", "-r", "192", "-singlefile", path))
