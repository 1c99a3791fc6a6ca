"""Reads op names on stdin; fails for each that has no value test FOLDER/NAME.mlir, and for each test of no op.

usage: coverage.py FOLDER
"""
import pathlib
import sys

# Ops that compute nothing of their own.
WITHOUT_VALUES = {
    "weight": "a symbol, not a computation",
    "get_weight": "proved by every model with weights (test/models)",
    "group": "made by fusion; its members have tests",
    "yield": "ends a group or a body",
    "assume_equal": "an entry check; test/frontend shows it",
}


def main():
    folder = pathlib.Path(sys.argv[1])
    names = {line.strip().removeprefix("graph.") for line in sys.stdin if line.strip()}
    problems = []
    if not names:
        problems.append("no op names on stdin")
    for name in sorted(names - set(WITHOUT_VALUES)):
        test = folder / f"{name}.mlir"
        text = test.read_text() if test.exists() else ""
        if f"graph.{name} " not in text or "// out:" not in text or "RUN: graphc-op-test" not in text:
            problems.append(f"graph.{name} has no value test: write {test.name} (see the other files here)")
    for name in sorted(set(WITHOUT_VALUES) - names):
        problems.append(f"{name} is excused in coverage.py but is no op")
    for test in sorted(folder.glob("*.mlir")):
        if test.stem not in names:
            problems.append(f"{test.name} is named after no op")
    for problem in problems:
        print(problem)
    print(f"{len(names)} ops, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
