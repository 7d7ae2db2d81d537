# SPDX-License-Identifier: MIT
#
# Decode and encode pprof profiles by the rules of profile.proto, without a protobuf library.
import gzip
import pathlib
import re
import subprocess


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def fields(data):
    """(number, value) of each field of a message. The value is an integer, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7} at {at}"
            size = number()
            assert at + size <= len(data)
            yield tag >> 3, data[at:at + size]
            at += size


def numbers(value):
    """The numbers of a repeated field, which is either one integer or packed numbers."""
    if isinstance(value, int):
        return [value]
    found, number, shift = [], 0, 0
    for byte in value:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(number)
            number = shift = 0
    return found


def message(*pairs):
    """
    Encode a message from pairs (field number, value): integer, text, bytes, or list of integers to
    pack.
    """
    out = b""
    for number, value in pairs:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        if isinstance(value, list):
            value = b"".join(varint(item) for item in value)
        elif isinstance(value, str):
            value = value.encode()
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


class Profile:
    """
    A decoded profile. `stacks` has (names outermost first, values, labels); other fields are as in
    profile.proto.
    """

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        self.raw = data
        every = list(fields(data))
        self.texts = [value.decode(errors="surrogateescape") for number, value in every
                      if number == 6]
        assert self.texts[0] == ""

        def all_of(number):
            return [dict(fields(value)) for found, value in every if found == number]

        one = {number: value for number, value in every if number > 6}
        self.types = [(self.texts[kind.get(1, 0)], self.texts[kind.get(2, 0)])
                      for kind in all_of(1)]
        self.period = one.get(12, 0)
        self.default_type = self.texts[one.get(14, 0)]
        self.duration_ns = one.get(10, 0)
        self.comments = [self.texts[text] for number, value in every if number == 13
                         for text in numbers(value)]
        self.mappings = {mapping[1]: self.texts[mapping.get(5, 0)] for mapping in all_of(3)}
        functions = {function[1]: self.texts[function.get(2, 0)] for function in all_of(5)}
        files = {function[1]: self.texts[function.get(4, 0)] for function in all_of(5)}
        self.lines = []  # (function, file, line) of all locations
        self.chains = {}  # location id -> its (function, file, line)s
        self.locations = {}
        self.location_mappings = {}
        self.addresses = {}  # location id -> address
        self.segments = {mapping[1]: (mapping.get(2, 0), mapping.get(3, 0), mapping.get(4, 0),
                                      self.texts[mapping.get(6, 0)]) for mapping in all_of(3)}
        # (name, file) -> line of the declaration
        self.start_lines = {(self.texts[function.get(2, 0)], self.texts[function.get(4, 0)]):
                            function.get(5, 0) for function in all_of(5)}
        for value in (value for number, value in every if number == 4):
            parts = list(fields(value))
            whole = dict(parts)
            assert whole[1] not in self.locations, "two locations with one id"
            self.locations[whole[1]] = [functions[dict(fields(line))[1]] for number, line in parts
                                        if number == 4]
            self.location_mappings[whole[1]] = whole.get(2, 0)
            self.addresses[whole[1]] = whole.get(3, 0)
            for line in (dict(fields(line)) for number, line in parts if number == 4):
                self.lines.append((functions[line[1]], files[line[1]], line.get(2, 0)))
                self.chains.setdefault(whole[1], []).append(self.lines[-1])
        self.stacks = [self.stack(value) for number, value in every if number == 2]

    def stack(self, value):
        names, values, labels = [], [], {}
        for number, part in fields(value):
            if number == 1:
                for location in numbers(part):
                    names += self.locations[location]
            elif number == 2:
                values += numbers(part)
            elif number == 3:
                label = dict(fields(part))
                labels[self.texts[label[1]]] = (self.texts[label[2]] if 2 in label
                                                else label.get(3, 0))
        assert len(values) == len(self.types)
        return tuple(reversed(names)), values, labels

    def folded(self, value=0):
        """Weight by stack, as in folded stacks."""
        sums = {}
        for names, values, _ in self.stacks:
            names = names or ("[all]",)
            if values[value]:
                sums[names] = sums.get(names, 0) + values[value]
        return sums


class Maker:
    """Build a profile as other profilers do, of addresses or of names."""

    def __init__(self, *types):
        self.texts = [""]
        self.body = b"".join(message((1, message((1, self.text(kind)), (2, self.text(unit)))))
                             for kind, unit in types)
        self.functions = []  # of chain(); the id is the index + 1

    def text(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def add(self, number, *pairs):
        self.body += message((number, message(*pairs)))

    def mapping(self, ident, start, limit, offset, path, build_id=""):
        self.add(3, (1, ident), (2, start), (3, limit), (4, offset), (5, self.text(str(path))),
                 (6, self.text(build_id)))

    def address(self, ident, mapping, address):
        self.add(4, (1, ident), (2, mapping), (3, address))

    def function(self, ident, name):
        """Add a function and a location for it. Both have the id @ident."""
        self.add(5, (1, ident), (2, self.text(name)), (3, self.text(name)))
        self.add(4, (1, ident), (4, message((1, ident))))

    def chain(self, ident, *places):
        """
        Add a location with several functions (name, file, line), each inlined into the one before
        it.
        """
        lines = []
        for name, file, line in reversed(places):
            if (name, file) not in self.functions:
                self.functions.append((name, file))
                self.add(5, (1, len(self.functions)), (2, self.text(name)), (4, self.text(file)))
            lines.append((4, message((1, self.functions.index((name, file)) + 1), (2, line))))
        self.add(4, (1, ident), *lines)

    def sample(self, locations, *values, **labels):
        self.add(2, (1, list(locations)), (2, list(values)),
                 *((3, message((1, self.text(key)), (2, self.text(text))))
                   for key, text in labels.items()))

    def period(self, kind, unit, period):
        """Set the period and its type. This type also becomes the default sample type."""
        self.add(11, (1, self.text(kind)), (2, self.text(unit)))
        self.body += message((12, period), (14, self.text(kind)))

    def write(self, path, is_packed=False):
        data = self.body + b"".join(message((6, text)) for text in self.texts)
        pathlib.Path(path).write_bytes(gzip.compress(data) if is_packed else data)


def layout_of(program, name, debug=None):
    """
    (file offset, address and size of the code's segment, address of @name, build-id) of a program.
    @debug is the file that has the symbols, if the program has none.
    """
    def tool(*words, file=program):
        return subprocess.run([*words, file], stdout=subprocess.PIPE, text=True, check=True).stdout

    segments = re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E",
                          tool("readelf", "-lW"))
    offset, address, size = (int(value, 16) for value in segments[0])
    symbol = re.search(rf"^(\w+) [tT] {name}$", tool("nm", file=debug or program), re.M)[1]
    build_id = re.search(r"Build ID: (\w+)", tool("readelf", "-n"))[1]
    return offset, address, size, int(symbol, 16), build_id
