"""Runs stored models through `graphc run` and fails when one gives another answer. Prints one line per model.

  run_all.py GRAPHC FOLDER [--tol RULE] [--skip NAME=REASON]…   FOLDER/NAME/model.onnx with test_data_set_N
  run_all.py GRAPHC FOLDER --light                              FOLDER/NAME.onnx with NAME_output_0.pb, input =ramp
  --device sim: on the simulated CUDA device, from every model's first data set
"""
import argparse
import pathlib
import subprocess
import sys


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]


def stored(arguments):
    for model in sorted(arguments.folder.glob("*/model.onnx")):
        for data in sorted(model.parent.glob("test_data_set_*"))[: 1 if arguments.device != "cpu" else None]:
            yield model.parent.name, [arguments.graphc, "run", str(model), "--test-data", str(data), "--tol", arguments.tol]


def light(arguments):
    # Every one of these takes one image of the ImageNet size; its input is k/n at flat index k.
    for answer in sorted(arguments.folder.glob("*_output_0.pb")):
        name = answer.name.removesuffix("_output_0.pb")
        yield name, [arguments.graphc, "run", str(arguments.folder / f"{name}.onnx"), "--input", "1x3x224x224xf32=ramp", "--expected", str(answer), "--tol", arguments.tol]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graphc")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tol", default="network")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME=REASON")
    arguments = parser.parse_args()
    skipped = dict(pair.split("=", 1) for pair in arguments.skip)
    failed = passed = 0
    for name, command in (light if arguments.light else stored)(arguments):
        reason = next((why for prefix, why in skipped.items() if name.startswith(prefix)), None)
        problem = run(command + (["--device", arguments.device] if arguments.device != "cpu" else []))
        if reason is not None:
            print(f"{name}: " + (f"skipped: {reason}" if problem else "passes now; remove its --skip"))
        elif problem is None:
            passed += 1
            print(f"{name}: passed")
        else:
            failed += 1
            print(f"{name}: FAILED: {problem}")
    print(f"{passed} models passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
