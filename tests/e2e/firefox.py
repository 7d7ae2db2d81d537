# SPDX-License-Identifier: MIT
#
# Read profiles for the Firefox Profiler.
import json


def stacks_of(path):
    """[(thread, [(function, line)] outermost first, milliseconds)]"""
    data = json.loads(path.read_text(encoding="utf-8"))
    shared = data["shared"]
    names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
    frames = [(names[function], line) for function, line in zip(
        shared["frameTable"]["func"], shared["frameTable"]["line"])]
    whole = [None] * shared["stackTable"]["length"]
    for number, (frame, caller) in enumerate(zip(
            shared["stackTable"]["frame"], shared["stackTable"]["prefix"])):
        whole[number] = ([] if caller is None else whole[caller]) + [frames[frame]]
    return [(thread["tid"], whole[stack], weight)
            for thread in data["threads"] for stack, weight in zip(
                thread["samples"]["stack"], thread["samples"]["weight"]) if stack is not None]
