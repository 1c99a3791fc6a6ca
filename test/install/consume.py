#!/usr/bin/env python3
"""Installs graphc, moves the installation, builds the programs in consumer/ against it as a user would, and runs them.

    consume.py --build DIR --source DIR --cmake CMAKE --cc CC --cxx CXX
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ("build", "source", "cmake", "cc", "cxx"):
    parser.add_argument("--" + name, required=True)
options = parser.parse_args()
scratch = pathlib.Path(options.build) / "test" / "install-consume"
consumer = pathlib.Path(__file__).resolve().parent / "consumer"

MODEL = """func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "y"}) {
  %0 = graph.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""


def run(*command, expect=0):
    # Nothing of the build folder or of the user's cache may help.
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "GRAPHC_CACHE", "XDG_CACHE_HOME")}
    environment["HOME"] = str(scratch)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, cwd=scratch)
    if done.returncode != expect:
        print("command:", *command)
        print(done.stdout[-4000:] + done.stderr[-4000:])
        sys.exit(f"exit code {done.returncode}, expected {expect}")
    return done.stdout + done.stderr


def check(condition, what):
    if not condition:
        sys.exit("failed: " + what)
    print("ok:", what)


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
run(options.cmake, "--install", options.build, "--prefix", scratch / "first", "--strip")
prefix = scratch / "moved"
(scratch / "first").rename(prefix)
headers = [path for path in (prefix / "include").rglob("*.h")]
check({"runtime.h", "runtime_c.h", "compile_model.h"} <= {path.name for path in headers}, "public headers are installed")
for header in headers:
    check('#include "' not in header.read_text(), f"{header.relative_to(prefix)} includes installed headers only")

(scratch / "model.mlir").write_text(MODEL)
tool = prefix / "bin" / "graphc"
run(tool, "compile", "model.mlir", "-o", "model.gcx", "--cache", "off")
check("y: 2x3xf32=[[2 2 2][2 2 2]]" in run(tool, "run", "model.gcx", "--input", "2x3xf32=1"), "the installed tool compiles and runs")

build = scratch / "build"
run(options.cmake, "-S", consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}",
    f"-DEXAMPLES={options.source}/frontend/examples")
run(options.cmake, "--build", build)
check("2 2 2 2 2 2" in run(build / "plain", "model.gcx"), "a C program runs a model")
check("output y f32[2, 3]" in run(build / "embed", "model.gcx", "3"), "frontend/examples/embed.cpp builds out of tree")
check("2 2 2 2 2 2" in run(build / "compiles", "model.mlir"), "a C++ program compiles a model")
trained = run(build / "trains")
check("loss fell" in trained and "compiled 0 before training" in trained, "a C++ program trains a model; its first ops came compiled")
needed = run("ldd", build / "plain")
check("libgraphc_runtime" in needed and "LLVM" not in needed and "MLIR" not in needed and "libgraphc.so" not in needed, "graphc::runtime brings no LLVM")
# Without the compiler's library an artifact still runs; compiling is one named error.
for library in (prefix / "lib").glob("libgraphc.so*"):
    library.unlink()
check("y: 2x3xf32" in run(tool, "run", "model.gcx", "--random"), "an artifact runs without the compiler's library")
message = run(tool, "run", "model.mlir", "--random", expect=3)
check(message.startswith("graphc: error GC4004: the compiler cannot be loaded"), "compiling without it is a named error")
shutil.rmtree(scratch)
