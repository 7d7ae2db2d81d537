# SPDX-License-Identifier: MIT
#
# Read folded stacks, and assert shares with their statistical bounds.
import math
import re

# Whether a sample is in a function is a random variable: allow this many standard deviations.
SIGMAS = 5
# The kernel delivers CPU timers at its timer tick. Samples above this rate are overruns that repeat
# a stack, so they do not make a share more certain.
TICK_HZ = 250


class Folded:
    """The stacks of one folded file: tuples of names (outermost first), with weights."""

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
        """The weight of the stacks (tuples of names) for which @condition holds."""
        return sum(weight for stack, weight in self.stacks if condition(stack))

    def below(self, name):
        """
        The weight of all samples with @name anywhere on the stack. A recursive function counts
        once.
        """
        return self.where(lambda stack: name in stack)

    def self(self, name):
        return self.where(lambda stack: stack[-1] == name)

    def describe(self, count=12):
        ordered = sorted(self.stacks, key=lambda entry: -entry[1])[:count]
        return "\n".join(f"{weight:6} {';'.join(stack)}" for stack, weight in ordered)


def distinct(rate_hz):
    """
    The fraction of samples, by weight, that are independent. Above the rate of the kernel's timer
    tick, samples are delivered only at a tick, and on a busy machine not at each tick. The samples
    then have more weight.
    """
    return 1 if rate_hz <= TICK_HZ else TICK_HZ / rate_hz / 2


def assert_share(folded, weight, expected, looks, what):
    """
    Assert that @weight is the share @expected (0 to 1) of @folded's total, within 5 sigma of @looks
    independent samples. A share of half or one and a half times @expected must be at least 10 sigma
    away, otherwise the test has too few samples. Targets do a fixed amount of work, so leave enough
    samples for a CPU that is one and a half times as fast.
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
    Assert that every function in @truth (name -> CPU time) has its share of the samples that are
    below any of these functions. @looks is the fraction of the samples that are independent. The
    smallest share follows from the others, so it needs no minimum number of samples.
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
