# lit's view of test/: .mlir and .test files, run by the shell lines they hold.
#
# Words for RUN lines:
#   graphc, graphc-opt, FileCheck, not, split-file, onnx-from-text, import-sweep   found on PATH
#   %python    the python3 that cmake found (only its standard library may be used)
#   %repo      the repository's root; %build the build folder
#   %exits N   runs the rest of the line and fails unless it exits with exactly N
#   %shared    the folder of shared models (with `REQUIRES: shared`)
# Features for REQUIRES: shared, light-networks, magika, cudasim, nvrtc, avx2, avx512f, avx512_bf16, amx_bf16.
import os
import pathlib

import lit.formats

config.name = "graphc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".onnxtxt"]
# Unit tests are GoogleTest programs; third_party and fuzz have runners of their own.
config.excludes = ["unit", "third_party", "fuzz", "Inputs"]
config.test_source_root = os.path.join(config.graphc_source_dir, "test")
config.test_exec_root = os.path.join(config.graphc_build_dir, "test")

path = [os.path.join(config.graphc_build_dir, "bin"), os.path.join(config.graphc_build_dir, "test", "bin")]
if config.llvm_tools_dir:
    path.append(config.llvm_tools_dir)
config.environment["PATH"] = os.pathsep.join(path + [config.environment["PATH"]])
# A test sees no cache but the one it names, so its result does not depend on what ran before.
config.environment["GRAPHC_CACHE"] = "off"
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "no-cache")
config.environment["HOME"] = config.test_exec_root

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%exits", f"{config.python} {config.test_source_root}/exits.py"))
config.substitutions.append(("%repo", config.graphc_source_dir))
config.substitutions.append(("%build", config.graphc_build_dir))
config.substitutions.append(("%shared", config.graphc_shared_dir or "(no shared folder)"))

if config.graphc_shared_dir and os.path.isdir(config.graphc_shared_dir):
    config.available_features.add("shared")
# run-tests unpacks the archive of ONNX backend tests where it is at hand.
light = os.path.join(config.graphc_build_dir, "onnx-backend-tests", "light")
config.substitutions.append(("%light", light))
if os.path.isdir(light):
    config.available_features.add("light-networks")
# The main job's model, fetched by run-main and run-tests.
magika = sorted(pathlib.Path(config.graphc_build_dir).glob("magika/magika/models/*/model.onnx"))
config.substitutions.append(("%magika", str(magika[-1].parent) if magika else "(no magika)"))
if magika:
    config.available_features.add("magika")
if config.has_cudasim:
    config.available_features.add("cudasim")
# NVRTC of an installed CUDA Toolkit: what compiles generated CUDA kernels.
if any(pathlib.Path("/usr/local").glob("cuda*/lib64/libnvrtc.so*")) or any(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libnvrtc.so*")):
    config.available_features.add("nvrtc")
cpuinfo = pathlib.Path("/proc/cpuinfo")
flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16"):
    if flag in flags:
        config.available_features.add(flag)
