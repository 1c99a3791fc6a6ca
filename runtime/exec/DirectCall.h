// An executable that is one kernel, taken apart: entry, buffers, and how its scalars and result sizes follow from the symbols. A
// caller that knows the symbols starts the kernel itself and skips the plan walk.
#pragma once

#include "runtime/exec/Executable.h"

#include <optional>

namespace graphc {

/// A few expressions over symbols, ready to evaluate. Values of expressions are numbered; `order` holds those needed.
struct SymbolTape {
  std::vector<plan::Expr> exprs; // operands refer to earlier entries; Symbol: `a` is the caller's symbol number
  /// `values` has room for exprs.size(). False on overflow.
  bool evaluate(std::span<const int64_t> symbols, int64_t *values) const;
};

struct DirectCall {
  GraphcKernelFn kernel = nullptr;
  struct Buffer {
    enum Kind : uint8_t { Input, Output, Constant } kind;
    int index = 0;
    const void *constant = nullptr;
  };
  std::vector<Buffer> buffers;
  std::vector<int> scalars; // entries of the tape
  int range = -1;           // entry; -1: 1
  int costScale = -1;
  double costNs = 0;
  int grain = 1;
  bool serial = false;
  std::vector<std::pair<std::string, std::string>> sites; // name and location of each bounds check
};

/// How the results' sizes follow from the symbols.
struct ResultShapes {
  SymbolTape tape;
  std::vector<std::vector<int>> dims; // of each result: entries of the tape
};

/// `symbolInput`: the input whose sizes after the first are the symbols in order (see OpCompiler); -1 when there are none.
ResultShapes resultShapes(const Executable &executable, int symbolInput);
/// Nothing when the executable is more than one kernel. Its tape is that of resultShapes, extended.
std::optional<DirectCall> directCall(const Executable &executable, int symbolInput, SymbolTape &tape);

} // namespace graphc
