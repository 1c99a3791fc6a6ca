#!/usr/bin/env python3
"""How long it takes from the start of a process to the first answer, and how much memory stays resident.

  start_times.py BUILD [--rounds R] [--threads N] MODEL…

BUILD is graphc's build folder; a MODEL is a file or a folder that holds model.onnx. For each, the fastest of R processes
(default 5, those that compile 2):

  cold    graphc run with an empty cache: import, compile, run
  warm    the same again, from the cache
  gcx     embed, a program with graphc_runtime alone, from an artifact; "reading" is a checksum of the same file by a program of its
          own, so gcx - reading is what the runtime takes for itself
  rss     of that program at its most, and what is left of it when weights and arena are taken off (graphc inspect says how large they are)

Needs nothing but Python's standard library.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def run(command, **more):
    """Seconds and the largest resident set in bytes of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    output, problem = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: {problem.decode().strip()}")
    return seconds, usage.ru_maxrss * 1024, output.decode()


def mebibytes(text, word):
    found = re.search(word + r" +([0-9.]+) MiB", text)
    return float(found.group(1)) if found else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1")
    arguments = parser.parse_args()
    graphc, embed = (str(arguments.build / "bin" / name) for name in ("graphc", "embed"))
    checksum = [sys.executable, "-c", "import sys, zlib, mmap\nwith open(sys.argv[1], 'rb', 0) as f:\n m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); zlib.adler32(m)"]

    cores = sorted(os.sched_getaffinity(0))[: int(arguments.threads)]  # embed takes as many threads as it has cores
    print(f"{'model':24} {'cold s':>8} {'warm s':>8} {'gcx s':>8} {'reading s':>10} {'rss MiB':>8} {'beyond weights and arena':>25}")
    for model in arguments.models:
        path = pathlib.Path(model)
        path = path / "model.onnx" if path.is_dir() else path
        name = path.parent.name if path.name == "model.onnx" else path.stem
        with tempfile.TemporaryDirectory() as scratch:
            command = [graphc, "run", str(path), "--random", "--threads", arguments.threads]
            cold = warm = gcx = reading = float("inf")
            for attempt in range(2):
                folder = os.path.join(scratch, f"cache{attempt}")
                cold = min(cold, run(command + ["--cache", folder])[0])
            for _ in range(arguments.rounds):
                warm = min(warm, run(command + ["--cache", folder])[0])
            artifact = os.path.join(scratch, "model.gcx")
            run([graphc, "compile", str(path), "-o", artifact, "--threads", arguments.threads, "--cache", folder])
            summary = run([graphc, "inspect", artifact, "--threads", arguments.threads])[2]
            held = sum(mebibytes(summary, word) for word in ("weights", "arena", "scratch", "outputs"))
            resident = float("inf")
            empty = min(run(checksum[:2] + ["import sys, zlib, mmap"])[0] for _ in range(arguments.rounds))
            for _ in range(arguments.rounds):
                seconds, bytes_, _ = run([embed, artifact, "1"], preexec_fn=lambda: os.sched_setaffinity(0, cores))
                gcx, resident = min(gcx, seconds), min(resident, bytes_ / 2**20)
                reading = min(reading, run(checksum + [artifact])[0] - empty)
        print(f"{name:24} {cold:8.3f} {warm:8.3f} {gcx:8.3f} {max(0.0, reading):10.3f} {resident:8.1f} {resident - held:25.1f}", flush=True)


main()
