#!/usr/bin/env python3
"""Compares `graphc bench` with PyPI's onnxruntime on the same models, one machine, one run.

  compare_onnxruntime.py [--threads N] [--seconds S] [--rounds R] [--json FILE] MODEL…

Each round times graphc, then onnxruntime, so that both see the same weather; the minimum over all calls of all rounds
counts. onnxruntime is called the cheapest way it has: IOBinding with outputs bound, sequential execution, N intra-op
threads, no spinning limits changed. A MODEL is a file or a folder that holds model.onnx; symbolic sizes become
--symbol NAME=SIZE (or 1). Prints a table, with the command of
each network that costs most, and the geometric mean of the ratios graphc / onnxruntime: below 1 is faster.

Needs the packages onnxruntime and numpy: python3 -m venv V && V/bin/pip install onnxruntime numpy
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

DTYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
    "tensor(int32)": np.int32, "tensor(int16)": np.int16, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
}


def random_inputs(session, symbols):
    """One array per input: floats in [-1, 1), integers and bools 0 or 1, as graphc's =random draws them."""
    generator = np.random.default_rng(0)
    arrays = {}
    for port in session.get_inputs():
        shape = [size if isinstance(size, int) else symbols.get(size, 1) for size in port.shape]
        dtype = DTYPES[port.type]
        if np.issubdtype(dtype, np.floating):
            arrays[port.name] = generator.uniform(-1, 1, shape).astype(dtype)
        else:
            arrays[port.name] = generator.integers(0, 2, shape).astype(dtype)
    return arrays


class Peer:
    def __init__(self, model, threads, symbols):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        start = time.perf_counter()
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.load_ms = (time.perf_counter() - start) * 1e3
        self.inputs = random_inputs(self.session, symbols)
        self.binding = self.session.io_binding()
        for name, array in self.inputs.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        outputs = self.session.run(None, self.inputs)
        for port, array in zip(self.session.get_outputs(), outputs):
            if isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and array.size:
                self.binding.bind_ortvalue_output(port.name, ort.OrtValue.ortvalue_from_numpy(array))
            else:
                self.binding.bind_output(port.name)

    def min_ms(self, seconds):
        run, binding = self.session.run_with_iobinding, self.binding
        for _ in range(3):
            run(binding)
        best, end = math.inf, time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            run(binding)
            best = min(best, time.perf_counter() - start)
        return best * 1e3


def graphc_bench(graphc, model, specs, threads, seconds):
    command = [graphc, "bench", model, "--threads", str(threads), "--seconds", str(seconds), "--json", "--slowest", "1"]
    for spec in specs:
        command += ["--input", spec]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}")
    return json.loads(done.stdout)


def name_of(model):
    path = pathlib.Path(model)
    return path.parent.name if path.name == "model.onnx" else path.stem


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--graphc", default=str(pathlib.Path(__file__).resolve().parents[2] / "build/bin/graphc"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--symbol", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    symbols = {name: int(size) for name, size in (pair.split("=") for pair in arguments.symbol)}

    rows, failures = [], []
    print(f"{'model':24} {'graphc ms':>10} {'ort ms':>10} {'ratio':>7} {'compile ms':>11} {'noise':>6}  {'costs most':60} ({arguments.threads} threads, min of {arguments.rounds} rounds)")
    for model in arguments.models:
        if os.path.isdir(model):
            model = os.path.join(model, "model.onnx")
        name = name_of(model)
        try:
            peer = Peer(model, arguments.threads, symbols)
            with tempfile.TemporaryDirectory() as scratch:
                specs = []
                for index, (port, array) in enumerate(peer.inputs.items()):
                    path = os.path.join(scratch, f"input_{index}.npy")
                    np.save(path, array)
                    specs.append(f"{port}={path}")
                ours, theirs, noise, compile_ms = math.inf, math.inf, "quiet", math.inf
                for _ in range(arguments.rounds):
                    result = graphc_bench(arguments.graphc, model, specs, arguments.threads, arguments.seconds)
                    if result["latency_ms"]["min"] < ours:
                        ours, slowest = result["latency_ms"]["min"], result["slowest"][0]
                    compile_ms = min(compile_ms, result["compile_ms"])
                    noise = "noisy" if result["noise"] == "noisy" else noise
                    theirs = min(theirs, peer.min_ms(arguments.seconds))
        except Exception as problem:  # one model must not end the table; it is listed at the end
            failures.append((name, str(problem)))
            print(f"{name:24} failed: {problem}")
            continue
        rows.append({"model": name, "graphc_ms": ours, "ort_ms": theirs, "ratio": ours / theirs, "compile_ms": compile_ms, "noise": noise, "slowest": slowest})
        print(f"{name:24} {ours:10.3f} {theirs:10.3f} {ours / theirs:7.2f} {compile_ms:11.0f} {noise:>6}  {slowest['us'] / 1e3:.3f} ms ({slowest['share']:.0%}) {slowest['command']}", flush=True)
    if rows:
        mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
        worst = max(rows, key=lambda row: row["ratio"])
        print(f"geometric mean {mean:.3f} x onnxruntime {ort.__version__} over {len(rows)} models; worst {worst['model']} {worst['ratio']:.2f} x")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"threads": arguments.threads, "rows": rows, "failures": failures}, indent=1))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
