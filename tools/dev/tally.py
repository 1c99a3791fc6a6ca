#!/usr/bin/env python3
"""Adds up the JUnit files of one test run and prints `N passed, N failed, N skipped`.

A ctest entry that wrote a JUnit file of its own (a GoogleTest program, a backend-test run) is counted by that file's
cases; a ctest entry that wrote none counts as one test. A program that failed although its file shows no failure
(it crashed while writing, or refused to start) counts as one failure more. Exit code: 0 only if something passed and nothing failed.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled") or case.get("result") in ("skipped", "suppressed"):
        return "skipped"
    return "passed"


def read(path):
    """(name, outcome) of every case in a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield f"{case.get('classname', '')}.{case.get('name', '')}", outcome(case)


def tally(folder):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []

    def count(name, what):
        counts[what] += 1
        if what == "failed":
            failures.append(name)

    for required in ("ctest.xml", "lit.xml"):
        if not (folder / required).exists():
            count(f"{required} (the run wrote no results)", "failed")

    own_files = {path.stem: path for path in sorted(folder.glob("*.xml"))}
    ctest = own_files.pop("ctest", None)
    unreadable = set()
    failed_in = {}
    for stem, path in own_files.items():
        try:
            cases = list(read(path))
        except ElementTree.ParseError:
            unreadable.add(stem)
            continue
        failed_in[stem] = sum(what == "failed" for _, what in cases)
        for name, what in cases:
            count(name, what)
    if ctest is not None:
        for name, what in read(ctest):
            stem = name.split(".")[-1]
            if stem not in failed_in:
                count(stem, what)
            elif what == "failed" and failed_in[stem] == 0:
                count(f"{stem} (exit code)", "failed")
    for stem in sorted(unreadable):
        if ctest is None:
            count(f"{stem} (unreadable results)", "failed")
    return counts, failures


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tally.py RESULTS_FOLDER")
    counts, failures = tally(pathlib.Path(sys.argv[1]))
    for name in failures:
        print(f"failed: {name}")
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        line += f", {counts['skipped']} skipped"
    print(line)
    sys.exit(0 if counts["passed"] and not counts["failed"] else 1)


if __name__ == "__main__":
    main()
