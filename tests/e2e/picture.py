# SPDX-License-Identifier: MIT
#
# Read the data embedded in flamerun's pictures. This reader is written from the specification
# flamerun-svg(5) alone.
import base64
import re
import zlib

(TITLE, SUBTITLE, NUMBERS, MODULES, LENGTHS, NAMES) = (1, 2, 3, 6, 7, 8)
(FRAME_KINDS, UPS, NODE_FRAMES, WEIGHTS, THREADS) = (10, 12, 13, 14, 15)
(VIEW, PROCESSES, TICK, TIMES, SAMPLE_NODES, SAMPLE_THREADS, SAMPLE_WEIGHTS, SAMPLE_KINDS) = (
    26, 40, 45, 46, 47, 48, 49, 50)
(OLD_TIMES, OLD_NODES, OLD_THREADS, OLD_WEIGHTS, OLD_KINDS) = (16, 17, 18, 19, 20)
SAMPLES = 6  # index in NUMBERS


def numbers(column):
    """Decode LEB128 numbers."""
    value = shift = 0
    for byte in column:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def signed(zigzag):
    return zigzag >> 1 ^ -(zigzag & 1)


def planes(column, count):
    """
    Decode a column of numbers stored as planes: the lowest bytes of all numbers, then the next
    bytes.
    """
    assert count and len(column) % count == 0 and 1 <= len(column) // count <= 4
    return [sum(byte << 8 * i for i, byte in enumerate(column[at::count])) for at in range(count)]


def texts(column):
    at = 0
    while at < len(column):
        length, more = 0, 0
        while True:
            byte = column[at]
            at += 1
            length |= (byte & 127) << more
            more += 7
            if byte < 128:
                break
        yield column[at:at + length].decode(errors="replace")
        at += length


def columns(path):
    """{tag: bytes} of the columns in a picture."""
    data = re.search(r"<metadata [^>]*\bid=.flamerun.[^>]*>(.*?)</metadata>", path.read_text(), re.S)
    pieces = re.findall(r"<piece[^>]*>([^<]*)</piece>", data[1])
    raw = zlib.decompress(b"".join(map(base64.b64decode, pieces)))
    found, at = {}, 0
    while at < len(raw):
        head = []
        while len(head) < 2:
            end = at
            while raw[end] >= 128:
                end += 1
            head += numbers(raw[at:end + 1])
            at = end + 1
        found[head[0]] = raw[at:at + head[1]]
        at += head[1]
    return found


class Picture:
    def __init__(self, path):
        self.columns = columns(path)
        names, at = [], 0
        for length in numbers(self.columns[LENGTHS]):
            names.append(self.columns[NAMES][at:at + length].decode(errors="replace"))
            at += length
        self.paths = [()]
        chain = [0]
        for up, frame in zip(numbers(self.columns[UPS]), numbers(self.columns[NODE_FRAMES])):
            del chain[len(chain) - up:]
            self.paths.append(self.paths[chain[-1]] + (names[frame],))
            chain.append(len(self.paths) - 1)
        self.weights = list(numbers(self.columns[WEIGHTS]))
        self.threads = list(texts(self.columns[THREADS]))
        self.samples = list(self.old_samples() if OLD_TIMES in self.columns else self.new_samples())

    def new_samples(self):
        """(time in microseconds, node, thread, weight, kind) of the samples, in order of time."""
        count = list(numbers(self.columns[NUMBERS]))[SAMPLES]
        if not count:
            return
        tick, = numbers(self.columns[TICK])
        time, nodes = 0, [0] * len(self.threads)
        for step, node, thread, weight, kind in zip(*(planes(self.columns[tag], count) for tag in (
                TIMES, SAMPLE_NODES, SAMPLE_THREADS, SAMPLE_WEIGHTS, SAMPLE_KINDS))):
            time += step
            nodes[thread] += signed(node)
            yield time * tick, nodes[thread], thread, weight, kind

    def old_samples(self):
        """
        (time, node, thread, weight, kind) of the samples, in any order, of a picture from before
        version 1.
        """
        time = node = 0
        for step, node_step, *others in zip(*(numbers(self.columns[tag]) for tag in (
                OLD_TIMES, OLD_NODES, OLD_THREADS, OLD_WEIGHTS, OLD_KINDS))):
            time += signed(step)
            node += signed(node_step)
            yield time, node, *others

    def stacks(self):
        """{(outermost, ..., innermost): weight}, as folded stacks would have it."""
        return {path: weight for path, weight in zip(self.paths, self.weights) if weight}
