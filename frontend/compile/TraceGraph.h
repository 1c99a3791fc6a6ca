// A traced program before it is compiled: ops and whole op programs one after the other, over numbered values. No MLIR in this
// header.
//
// Sizes are texts ("784", "n", "n * 28"). Values have numbers, which arguments and steps name.
#pragma once

#include "frontend/compile/OpCompiler.h"

#include <string>
#include <vector>

namespace graphc {

struct TraceGraph {
  struct Argument {
    std::string name;
    OpValueType type;
    int64_t weightOffset = -1; // at least 0: no argument but a constant, these bytes of the side file
  };
  /// An op of the dialect, or an op program with sizes for its symbols.
  struct Step {
    int program = -1;                 // of `programs`; -1: `op`
    OpNode op;                        // its operands and result types serve programs, too
    std::vector<int> results;         // the numbers of what it makes
    std::vector<std::string> symbols; // what s0, s1, … of the program are
  };
  struct Result {
    std::string name;
    int value = 0;
    int updates = -1; // the argument whose new value it is
  };
  struct Symbol {
    std::string name;
    int64_t lo = 0, hi = 0;
  };

  std::string name;
  std::vector<Argument> arguments;
  std::vector<int> argumentValues; // their numbers
  std::vector<OpProgram> programs;
  std::vector<std::string> programNames;
  std::vector<Step> steps;
  std::vector<Result> results;
  std::vector<Symbol> symbols;
};

} // namespace graphc
