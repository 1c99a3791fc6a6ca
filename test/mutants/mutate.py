#!/usr/bin/env python3
"""Sources with switchable mistakes, and the runner that wants every mistake noticed.

    mutate.py files TABLE SOURCE             the sources that TABLE changes, one a line
    mutate.py write TABLE SOURCE FILE OUT    FILE with all its mutants in it, each behind graphc::mutant("name")
    mutate.py run TABLE PROGRAM              runs PROGRAM's tests: all pass without a mutant, and each mutant fails its own
"""
import os
import pathlib
import re
import subprocess
import sys


def mutants(table):
    found = []
    for line in pathlib.Path(table).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, text = line.split(" ", 1)
        text = text.replace("\\n", "\n")
        if word == "mutant":
            found.append({"name": text})
        else:
            found[-1]["now" if word == "do" else word] = text
            if word in ("do", "now"):
                found[-1]["statement"] = word == "do"
    return found


def write(table, source, file, out):
    text = (pathlib.Path(source) / file).read_text()
    # Mutants of one place are asked one after the other.
    edits = {}
    for mutant in mutants(table):
        if mutant["file"] != file:
            continue
        context = mutant.get("in", mutant["was"])
        if text.count(context) != 1:
            sys.exit(f"{table}: mutant '{mutant['name']}': its place occurs {text.count(context)} times in {file}, not once:\n{context}")
        begin = text.index(context) + context.index(mutant["was"])
        edits.setdefault((begin, begin + len(mutant["was"])), []).append(mutant)
    places = sorted(edits)
    for (_, end), (begin, _) in zip(places, places[1:]):
        if begin < end:
            sys.exit(f"{table}: two mutants of {file} overlap at: {text[begin:end]}")
    for (begin, end), list_ in sorted(edits.items(), reverse=True):
        replaced = text[begin:end]
        for mutant in list_:
            condition = f'::graphc::mutant("{mutant["name"]}")'
            if mutant["statement"]:
                replaced = f"if ({condition}) {{ {mutant['now']} }} else {{ {replaced} }}"
            else:
                replaced = f"({condition} ? ({mutant['now']}) : ({replaced}))"
        text = text[:begin] + replaced + text[end:]
    pathlib.Path(out).write_text('#include "test/mutants/Mutant.h"\n' + text)


def run(table, program):
    def tests(filter_, name=None):
        environment = dict(os.environ)
        environment.pop("GRAPHC_MUTANT", None)
        if name:
            environment["GRAPHC_MUTANT"] = name
        done = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={filter_}"], env=environment, capture_output=True, text=True)
        ran = re.search(r"(\d+) tests? from \d+ test suites? ran", done.stdout)
        if done.returncode == 0 and (not ran or ran.group(1) == "0"):
            sys.exit(f"'{filter_}' names no test")
        return done

    table = mutants(table)
    everything = ":".join(sorted({mutant["tests"] for mutant in table}))
    done = tests(everything)
    if done.returncode:
        sys.exit(f"without a mutant:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    survivors = []
    for mutant in table:
        dead = tests(mutant["tests"], mutant["name"]).returncode != 0
        print(f"{'dead' if dead else 'ALIVE':6}{mutant['name']}", flush=True)
        if not dead:
            survivors.append(mutant["name"])
    if survivors:
        sys.exit(f"{len(survivors)} of {len(table)} mutants are alive: {', '.join(survivors)}")
    print(f"all {len(table)} mutants are dead")


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "files":
        print("\n".join(sorted({mutant["file"] for mutant in mutants(rest[0])})))
    elif command == "write":
        write(*rest)
    elif command == "run":
        run(*rest)
    else:
        sys.exit(__doc__)
