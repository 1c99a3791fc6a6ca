#!/usr/bin/env python3
"""Who may include whom (DESIGN 3), checked over every C++ file of the repository.

  check_includes.py [ROOT]     lists every include that breaks the law; exit 1 when there is one
  check_includes.py --self-test  plants one violation per rule in a scratch tree and fails unless each is found

The longest matching folder in LAW decides. An include of our own counts as ours by its first folder; anything else is
a library's, of which only MLIR and LLVM are restricted.
"""
import pathlib
import re
import sys
import tempfile

OURS = ("ir", "passes", "codegen", "runtime", "frontend", "tools", "test")

# folder: (which folders of ours it may include, may it include MLIR and LLVM)
LAW = {
    "ir": (["ir"], True),
    "passes": (["passes", "ir"], True),
    "codegen": (["codegen/common", "codegen/tune", "ir", "runtime/base", "runtime/plan"], True),
    "codegen/cpu": (["codegen/cpu", "codegen/common", "codegen/tune", "ir", "runtime/base", "runtime/plan"], True),
    # NVRTC is opened by one file, which depends on runtime/base only.
    "codegen/cuda": (["codegen/cuda", "codegen/common", "codegen/tune", "ir", "runtime/base", "runtime/plan", "runtime/devices/cuda/Nvrtc.h"], True),
    "codegen/reference": (["codegen/reference", "codegen/common", "ir", "runtime/base", "runtime/plan"], True),
    "runtime": (["runtime"], False),
    "runtime/base": (["runtime/base"], False),
    "runtime/plan": (["runtime/plan", "runtime/base"], False),
    "runtime/device": (["runtime/device", "runtime/base", "runtime/plan", "runtime/memory"], False),
    "runtime/devices/cpu": (["runtime/devices/cpu", "runtime/device", "runtime/base", "runtime/plan", "runtime/memory", "runtime/profile"], False),
    "runtime/devices/cuda": (["runtime/devices/cuda", "runtime/device", "runtime/base", "runtime/plan", "runtime/memory", "runtime/profile"], False),
    # A library that foreign programs load: it shares nothing with the rest.
    "runtime/cudasim": (["runtime/cudasim"], False),
    "frontend": (["frontend", "ir", "runtime"], True),
    # The public headers see neither MLIR nor the insides of the compiler.
    "frontend/graphc": (["frontend/graphc", "runtime/base"], False),
    "frontend/tensor": (["frontend/tensor", "frontend/graphc", "runtime"], False),
    "frontend/nn": (["frontend/nn", "frontend/tensor", "frontend/graphc", "runtime"], False),
    "frontend/optim": (["frontend/optim", "frontend/eager", "frontend/tensor", "frontend/graphc", "runtime"], False),
    "frontend/checkpoint": (["frontend/checkpoint", "frontend/tensor", "frontend/graphc", "runtime/base"], False),
    "frontend/data": (["frontend/data", "frontend/tensor", "frontend/graphc", "runtime/base"], False),
    # Ops run through the compiler, of which they see headers without MLIR.
    "frontend/eager": (["frontend/eager", "frontend/graphc", "frontend/tensor", "frontend/compile/OpCompiler.h", "frontend/compile/Identity.h", "runtime"], False),
    # The one place that sees everything.
    "frontend/compile": (["frontend", "passes", "codegen", "ir", "runtime"], True),
    "frontend/examples": (["frontend", "runtime"], False),
    "tools": (["tools", "frontend", "passes", "codegen", "ir", "runtime"], True),
    # Tests see what they test, tools included; nothing else includes those.
    "test": (["test", "tools", "frontend", "passes", "codegen", "ir", "runtime"], True),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def law_of(folder):
    parts = folder.split("/")
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in LAW:
            return "/".join(parts[:length])
    return None


def within(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def check_file(root, path):
    relative = path.relative_to(root).as_posix()
    rule = law_of(str(pathlib.PurePosixPath(relative).parent))
    if rule is None:
        return
    allowed, mlir = LAW[rule]
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match[2]
        where = f"{relative}:{number}"
        if target.split("/")[0] in ("mlir", "mlir-c", "llvm", "llvm-c"):
            if not mlir:
                yield f"{where}: {rule} may not include MLIR or LLVM, but includes {target}"
        elif "/" in target and target.split("/")[0] in OURS:
            if not within(target, allowed):
                yield f"{where}: {rule} may include only {', '.join(allowed)}, but includes {target}"
        elif match[1] == '"' and "/" not in target and rule != "test" and (path.parent / target).exists():
            folder = pathlib.PurePosixPath(relative).parent
            yield f"{where}: write {folder / target} (the include root is the repository's root)"
        elif match[1] == '"' and target.startswith(".."):
            yield f"{where}: {target} climbs out of its folder; write the path from the repository's root"


def check_tree(root):
    for top in OURS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".inc", ".cu", ".cuh") and path.is_file():
                yield from check_file(root, path)


SELF_TEST = {
    "runtime/base/A.h": "#include <llvm/ADT/StringRef.h>",
    "runtime/exec/B.cpp": '#include "frontend/tensor/Npy.h"',
    "runtime/base/C.cpp": '#include "runtime/exec/Executable.h"',
    "runtime/devices/cpu/D.cpp": '#include "runtime/devices/cuda/Driver.h"',
    "runtime/cudasim/E.cpp": '#include "runtime/base/Status.h"',
    "ir/graph/F.cpp": '#include "passes/Passes.h"',
    "passes/vjp/G.cpp": '#include "codegen/common/Math.h"',
    "codegen/cuda/H.cpp": '#include "codegen/cpu/Emit.h"',
    "codegen/cpu/I.cpp": '#include "runtime/exec/Executable.h"',
    "frontend/onnx/J.cpp": '#include "passes/Passes.h"',
    "frontend/graphc/K.h": '#include "mlir/IR/MLIRContext.h"',
    "frontend/compile/L.cpp": '#include "tools/graphc/Verbs.h"',
    "tools/graphc/M.cpp": '#include "test/unit/Helper.h"',
    "frontend/examples/O.cpp": '#include "tools/graphc/Model.h"',
    "runtime/exec/N.cpp": '#include "../base/Status.h"',
}
ALLOWED = {
    "runtime/exec/ok.cpp": '#include "runtime/base/Status.h"\n#include <vector>',
    "codegen/cpu/ok.cpp": '#include "ir/kernel/KernelOps.h"\n#include "mlir/IR/Builders.h"\n#include "runtime/plan/Plan.h"',
    "frontend/compile/ok.cpp": '#include "passes/Passes.h"\n#include "codegen/cpu/Emit.h"',
    "codegen/cuda/ok.cpp": '#include "runtime/devices/cuda/Nvrtc.h"',
    "tools/graphc/ok.cpp": '#include "frontend/compile/Compiler.h"',
}


def self_test():
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name, text in {**SELF_TEST, **ALLOWED}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        found = {line.split(":")[0] for line in check_tree(root)}
    missed = sorted(set(SELF_TEST) - found)
    wrong = sorted(found - set(SELF_TEST))
    for name in missed:
        print(f"not found: {name}: {SELF_TEST[name]}")
    for name in wrong:
        print(f"found although allowed: {name}")
    print(f"self-test: {len(SELF_TEST)} planted violations, {len(SELF_TEST) - len(missed)} found, {len(wrong)} false alarms")
    return 1 if missed or wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    violations = list(check_tree(root))
    for line in violations:
        print(line)
    print(f"{len(violations)} includes break the law" if violations else "every include keeps the law")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
