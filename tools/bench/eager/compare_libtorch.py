#!/usr/bin/env python3
"""Eager calls of graphc against libtorch's, in one run.

  compare_libtorch.py BENCH_EAGER SOURCE_ROOT SCRATCH [--rounds N]

Runs with a Python that has PyPI's `torch`. The libtorch program is compiled once into SCRATCH. Both programs run N times in turn; the
smallest time of each case counts.
"""
import argparse
import os
import pathlib
import subprocess

import torch


def build(root, scratch):
    home = pathlib.Path(torch.__file__).parent
    program = scratch / "libtorch_calls"
    source = root / "tools/bench/eager/libtorch_calls.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    libraries = ["-ltorch", "-ltorch_cpu", "-lc10"]
    subprocess.run(
        ["clang++-22", "-O2", "-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-w", f"-I{root}", f"-isystem{home}/include",
         f"-isystem{home}/include/torch/csrc/api/include", str(source), "-o", str(program), f"-L{home}/lib", f"-Wl,-rpath,{home}/lib",
         "-Wl,--allow-shlib-undefined", *libraries],
        check=True)
    return program


def run(program):
    times = {}
    env = dict(os.environ, OMP_NUM_THREADS="2")
    for line in subprocess.run([program], check=True, capture_output=True, text=True, env=env).stdout.splitlines():
        name, ns = line.rsplit(" ", 1)
        times[name] = float(ns)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    other = build(options.root, options.scratch)
    ours, theirs = {}, {}
    for _ in range(options.rounds):
        for best, program in ((ours, options.bench), (theirs, other)):
            for name, ns in run(program).items():
                best[name] = min(ns, best.get(name, ns))
    print(f"{'case':40} {'graphc µs':>10} {'libtorch µs':>12} {'ratio':>6}")
    for name, ns in ours.items():
        if name in theirs:
            print(f"{name:40} {ns / 1000:10.3f} {theirs[name] / 1000:12.3f} {ns / theirs[name]:6.2f}")
        else:
            print(f"{name:40} {ns / 1000:10.3f}")


if __name__ == "__main__":
    main()
