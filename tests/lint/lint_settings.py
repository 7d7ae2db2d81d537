#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Check that files which are not generated from cli/options.def, where every setting is, agree with
# it: completions, the option list of the manual, the settings of flamerun.ini(5), and the sample
# file. The form of the manuals is checked if mandoc is installed.
import os
import re
import shutil
import subprocess

import tree

ROW = re.compile(r'^OPTION\((?P<short>0|\'.\'), "(?P<name>[\w-]+)", (?:NULL|"(?P<argument>[\w=]+)"), '
                 r'\w+,\s+(?P<type>\w+)(?:\((?P<range>[^)]*)\))?,\s+(?:NULL|"(?P<default>[^"]*)"),'
                 r'.*?(?P<from>COMMAND|USER|PROJECT), (?:LONG|SHORT)\)$', re.M | re.S)
FLAMERUN = os.path.join(tree.ROOT, os.environ.get("BUILD", "build"), "flamerun")
SHELLS = {"bash": "flamerun.bash", "zsh": "_flamerun", "fish": "flamerun.fish"}


def text_of(path):
    return "\n".join(tree.lines(path))


def table():
    """Return the rows that --help shows, as dictionaries."""
    shown, hidden = text_of("cli/options.def").split("\nOPTIONS_HIDDEN\n")
    rows = [row.groupdict() for row in ROW.finditer(shown)]
    assert len(rows) == len(re.findall(r"^OPTION\(", shown, re.M)), "a row that is not understood"
    assert ROW.search(hidden)
    return rows


def flamerun(*words):
    return subprocess.run([FLAMERUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


def limits(row):
    """
    Return the lowest and the highest value of a number as flamerun prints them; empty for other
    types.
    """
    if row["type"] not in ("UINT", "DECIMAL"):
        return []
    found = re.search(r"from (\S+) to (\S+), not", flamerun(f"--{row['name']}=x").stderr)
    return list(found.groups()) if found else ["?"]


def names(row):
    """Return the names of a CHOICE or CHOICES; empty for other types."""
    if row["type"] not in ("CHOICE", "CHOICES"):
        return []
    return flamerun(f"--{row['name']}=?").stderr.split("hint: it has ")[1].split()


def items(path):
    """
    Return {.It line: text below it} of the lists in a manual page. The text includes the lists that
    are nested in the item.
    """
    found, around = {}, []
    for line in tree.lines(path):
        if line.startswith(".Bl "):
            around.append(None)
        elif line.startswith(".El"):
            around.pop()
        for item in around[:-1] if line.startswith(".It ") else around:
            if item:
                found[item] += line + "\n"
        if line.startswith(".It "):
            around[-1] = line
            found[line] = ""
    return found


def missing_words(words, text):
    return [word for word in words if not re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", text)]


def check_manual(report, rows):
    path = "man/flamerun.1"
    listed = items(path)
    for row in rows:
        short = "" if row["short"] == "0" else f"Fl {row['short'][1]} , "
        argument = f" Ar {row['argument']}" if row["argument"] else ""
        head = f".It {short}Fl -{row['name']}{argument}"
        if head not in listed:
            report.error(path, 1, f"has no '{head}'")
            continue
        wanted = limits(row) + names(row)
        if has_default(row) and row["type"] != "SWITCH":
            wanted.append(row["default"])
        for word in missing_words(wanted, listed[head]):
            report.error(path, 1, f"'{head}' does not say {word}")
    known = {f"-{row['name']}" for row in rows}
    for head in listed:
        for name in re.findall(r"Fl (-[\w-]+)", head):
            if name not in known:
                report.error(path, 1, f"there is no -{name}")


def has_default(row):
    return row["default"] and row["default"][0] != "("


def check_settings_manual(report, rows):
    """Check which files may set each setting. Values and defaults are in flamerun(1) alone."""
    path = "man/flamerun.ini.5"
    settings = text_of(path).partition("\n.Sh SETTINGS\n")[2].partition("\n.Sh ")[0]
    listed = set()
    for section in settings.split("\n.Ss ")[1:]:
        who = "USER" if section.startswith("Settings of the system and the user\n") else "PROJECT"
        names_there = re.findall(r"[\w-]+", " ".join(re.findall(r"^\.Cm (.*)", section, re.M)))
        listed |= {(name, who) for name in names_there}
    for name, who in sorted(listed ^ {(row["name"], row["from"]) for row in rows}):
        report.error(path, 1, f"is {name} a setting of {who}?")


def check_sample(report, rows):
    path = "share/flamerun.ini"
    lines = tree.lines(path)
    given = [match for match in (re.match(r";([\w-]+) = (.+)", line) for line in lines) if match]
    if [match[1] for match in given] != [row["name"] for row in rows]:
        report.error(path, 1, "has other settings: " + " ".join(match[1] for match in given))
    values = {match[1]: match[2] for match in given}
    for row in rows:
        if has_default(row) and values.get(row["name"]) != row["default"]:
            report.error(path, 1, f"the default of {row['name']} is {row['default']}")
        if row["name"] == "palette" and missing_words(names(row), text_of(path)):
            report.error(path, 1, "does not name every palette")
    # flamerun must accept every line of the sample file.
    sample = os.path.join(tree.ROOT, os.environ.get("BUILD", "build"), "sample.ini")
    with open(sample, "w", encoding="utf-8") as out:
        out.write("\n".join(re.sub(r"^;", "", line) for line in lines))
    result = flamerun("--config", sample, "--show-config")
    if result.returncode:
        report.error(path, 1, result.stderr)


def check_completions(report):
    for shell, name in SHELLS.items():
        if flamerun("--completions", shell).stdout != text_of(f"completions/{name}"):
            report.error(f"completions/{name}", 1, "is not what flamerun writes: make completions")


def check_form(report):
    if not shutil.which("mandoc"):
        return
    for path in tree.files("man"):
        result = subprocess.run(["mandoc", "-Tlint", "-Wstyle", os.path.join(tree.ROOT, path)],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                check=False)
        for line in result.stdout.splitlines():
            if "referenced manual not found" not in line:
                report.error(path, 1, line)


def main():
    report = tree.Report()
    rows = table()
    settings = [row for row in rows if row["from"] != "COMMAND"]
    check_manual(report, rows)
    check_settings_manual(report, settings)
    check_sample(report, settings)
    check_completions(report)
    check_form(report)
    report.done()


if __name__ == "__main__":
    main()
