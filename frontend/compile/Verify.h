// `graphc verify`: is the compiled model what the reference interpreter says the model means? No MLIR in this header.
//
// Four questions, so that an answer "no" names its culprit:
//   1. Do the passes keep the meaning? The reference runs every phase up to `fuse`; the first whose outputs differ is named.
//   2. Does each fused group compute what its ops say? It is compiled alone and run on the reference's own operands.
//   3. If not, which op? Each op of the group is compiled alone, unfused, and the first that diverges is named.
//   4. Do the outputs of the whole compiled model match? (Memory planning, the order of commands.)
#pragma once

#include "frontend/compile/Compiler.h"
#include "frontend/tensor/CompareTensors.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace graphc {

struct VerifyFinding {
  enum Kind { Phase, Group, Op, Outputs, NotChecked } kind;
  std::string name;    // the phase; the group's ops; the op by its name in the model
  std::string message; // what differs and by how much
};

struct VerifyReport {
  int phases = 0, groups = 0; // compared
  std::vector<VerifyFinding> findings;
  /// Nothing differs; what could not be checked does not count.
  bool matches() const;
};

/// Runs a compiled piece: the `.mlir` of a group or op, resumed behind `fromPhase`. Tests replace it to plant bugs.
using PieceRunner = std::function<Result<std::vector<HostTensor>>(const std::string &path, const CompileOptions &options, std::span<const HostTensor> inputs)>;

struct VerifyOptions {
  CompileOptions compile;
  Tolerance outputs = Tolerance::network(); // of `compile.amp` models: Tolerance::bf16()
  PieceRunner runPiece; // empty: compile and run
  /// Called before each piece with what is being done; may be empty.
  std::function<void(const std::string &)> progress;
};

/// `inputs` in the order of the model's arguments.
Result<VerifyReport> verifyFile(const std::string &path, VerifyOptions options, std::span<const HostTensor> inputs);

/// How close a group of f32 ops must come: well above rounding, well below a wrong formula. Wider for 16-bit results.
Tolerance groupTolerance(DType dtype);

} // namespace graphc
