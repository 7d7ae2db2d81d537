# SPDX-License-Identifier: MIT
#
# Read folded stacks, and assert shares with their statistical bounds.
import math
import re

# Whether a sample is in a function is a random variable; allow this many standard deviations.
SIGMAS = 5
# The kernel delivers CPU timers at its tick. Above this rate, samples are overruns that repeat the
# same stack, so they do not make a share more certain.
TICK_HZ = 250


class Folded:
    """The stacks of one folded file: tuples of names, outermost first, with weights."""

    def __init__(self, text):
        self.stacks = []
        for line in text.splitlines():
            match = re.fullmatch(r"(.+) (\d+)", line)
            assert match, f"not a folded line: {line!r}"
            self.stacks.append((tuple(match.group(1).split(";")), int(match.group(2))))

    @property
    def total(self):
        return sum(weight for _, weight in self.stacks)

    def where(self, condition):
        """Weight of the stacks (tuples) for which @condition holds."""
        return sum(weight for stack, weight in self.stacks if condition(stack))

    def below(self, name):
        """Weight of all samples with @name anywhere on the stack: counted once if it recurses."""
        return self.where(lambda stack: name in stack)

    def self(self, name):
        return self.where(lambda stack: stack[-1] == name)

    def describe(self, count=12):
        ordered = sorted(self.stacks, key=lambda entry: -entry[1])[:count]
        return "\n".join(f"{weight:6} {';'.join(stack)}" for stack, weight in ordered)


def distinct(rate_hz):
    """
    The share of samples by weight that are independent looks: above the tick's rate the kernel looks
    at its tick, and where others want the CPU not at each, so that a sample weighs the more.
    """
    return 1 if rate_hz <= TICK_HZ else TICK_HZ / rate_hz / 2


def assert_share(folded, weight, expected, looks, what):
    """
    @weight of @folded's total is @expected (0 to 1), within 5 sigma of @looks coin tosses. A share
    that is half or one and a half times as large must be at least 10 sigma away, else the test has
    too few samples to tell right from wrong. Targets do fixed work: let there be samples enough for a
    CPU that is half as fast again.
    """
    assert looks > 0, "no samples\n" + folded.describe()
    sigma = math.sqrt(expected * (1 - expected) / looks)
    assert expected / 2 >= 10 * sigma, f"{looks:.0f} looks are too few to tell {expected:.2f}"
    share = weight / folded.total
    assert abs(share - expected) <= SIGMAS * sigma, (
        f"{what}: {share:.3f}, expected {expected:.3f} +- {SIGMAS * sigma:.3f}\n"
        + folded.describe())


def assert_truth(folded, truth, looks=1):
    """
    Every function of @truth (name -> CPU time) has its share of the samples below any of them, of
    which the share @looks is independent. The
    smallest share is what the others leave: it needs no samples of its own to be told by.
    """
    weights = {name: folded.below(name) for name in truth}
    known = sum(weights.values())
    looks *= known
    part = Folded("")
    part.stacks = [(stack, weight) for stack, weight in folded.stacks
                   if any(name in stack for name in truth)]
    assert part.total == known, "functions that exclude each other share stacks"
    smallest = min(truth, key=truth.get)
    for name in [name for name in truth if name != smallest or len(truth) == 1]:
        assert_share(part, weights[name], truth[name] / sum(truth.values()), looks, name)
