"""What the comparisons with other runtimes share: rounds of `graphc bench` and a peer in turn, and the table they end in.

A peer is an object with `inputs` (name -> numpy array) and `min_ms(seconds)`; its class has `name` and `version`.
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


def argument_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--graphc", default=str(pathlib.Path(__file__).resolve().parents[2] / "build/bin/graphc"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--symbol", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--json", metavar="FILE")
    return parser


def symbols_of(arguments):
    return {name: int(size) for name, size in (pair.split("=") for pair in arguments.symbol)}


def random_array(generator, shape, dtype):
    """Floats in [-1, 1), integers and bools 0 or 1, as graphc's =random draws them."""
    if np.issubdtype(dtype, np.floating):
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def fastest_ms(call, seconds):
    """The minimum over all calls that fit into `seconds`, after three to warm up."""
    for _ in range(3):
        call()
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def graphc_bench(graphc, model, specs, threads, seconds, options):
    command = [graphc, "bench", model, "--threads", str(threads), "--seconds", str(seconds), "--json", "--slowest", "1", *options]
    for spec in specs:
        command += ["--input", spec]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}")
    return json.loads(done.stdout)


def name_of(model):
    path = pathlib.Path(model)
    return path.parent.name if path.name == "model.onnx" else path.stem


def measure(model, peer, arguments, options):
    """One row: each round times graphc, then the peer, so that both see the same weather; minima over all rounds."""
    with tempfile.TemporaryDirectory() as scratch:
        specs = []
        for index, (port, array) in enumerate(peer.inputs.items()):
            path = os.path.join(scratch, f"input_{index}.npy")
            np.save(path, array)
            specs.append(f"{port}={path}")
        ours, theirs, noise, compile_ms, slowest = math.inf, math.inf, "quiet", math.inf, None
        for _ in range(arguments.rounds):
            result = graphc_bench(arguments.graphc, model, specs, arguments.threads, arguments.seconds, options)
            if result["latency_ms"]["min"] < ours:
                ours, slowest = result["latency_ms"]["min"], result["slowest"][0]
            compile_ms = min(compile_ms, result["compile_ms"])
            noise = "noisy" if result["noise"] == "noisy" else noise
            theirs = min(theirs, peer.min_ms(arguments.seconds))
    return {"model": name_of(model), "graphc_ms": ours, "peer_ms": theirs, "ratio": ours / theirs, "compile_ms": compile_ms, "noise": noise,
            "slowest": slowest}


def compare(arguments, make_peer, options=()):
    """Prints the table, with the command of each network that costs most, and the geometric mean of the ratios graphc / peer (below 1 is
    faster). `make_peer(model, threads)`; `options` go to `graphc bench`. Ends the program, with 1 when a model failed."""
    peer_class, rows, failures = None, [], []
    print(f"{'model':24} {'graphc ms':>10} {'peer ms':>10} {'ratio':>7} {'compile ms':>11} {'noise':>6}  {'costs most':60} "
          f"({arguments.threads} threads, min of {arguments.rounds} rounds)")
    for model in arguments.models:
        if os.path.isdir(model):
            model = os.path.join(model, "model.onnx")
        try:
            peer = make_peer(model, arguments.threads)
            peer_class = type(peer)
            row = measure(model, peer, arguments, options)
        except Exception as problem:  # one model must not end the table; it is listed at the end
            failures.append((name_of(model), str(problem)))
            print(f"{name_of(model):24} failed: {problem}")
            continue
        rows.append(row)
        slowest = row["slowest"]
        print(f"{row['model']:24} {row['graphc_ms']:10.3f} {row['peer_ms']:10.3f} {row['ratio']:7.2f} {row['compile_ms']:11.0f} {row['noise']:>6}  "
              f"{slowest['us'] / 1e3:.3f} ms ({slowest['share']:.0%}) {slowest['command']}", flush=True)
    if rows:
        mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
        worst = max(rows, key=lambda row: row["ratio"])
        print(f"geometric mean {mean:.3f} x {peer_class.name} {peer_class.version} over {len(rows)} models; worst {worst['model']} {worst['ratio']:.2f} x")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"threads": arguments.threads, "rows": rows, "failures": failures}, indent=1))
    sys.exit(1 if failures else 0)
