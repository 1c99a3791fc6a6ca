// Sizes of a trace: numbers while the user's code runs, texts in the graph.
//
// A symbolic size is traced as a number that no real program has, its stand-in. Every size the program computes from it by adding
// and multiplying is then read back as an expression of the symbol. What is computed in another way, or decided by the number,
// differs between traces with different stand-ins; such a program is compiled for the sizes at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphc::trace {

struct SymbolicSize {
  std::string name;
  int64_t lo = 0, hi = 0;
  int64_t standIn = 0;
};

class SizeNames {
public:
  SizeNames() = default;
  explicit SizeNames(std::vector<SymbolicSize> symbols) : symbols_(std::move(symbols)) {}

  const std::vector<SymbolicSize> &symbols() const { return symbols_; }
  /// "784", or "n * 784 + 1".
  std::string text(int64_t size) const;
  bool isSymbolic(int64_t size) const;
  /// The size when the symbols have these values, in their order.
  int64_t at(int64_t size, const std::vector<int64_t> &values) const;

private:
  /// size = factor * symbol + rest; null when it is a plain number.
  const SymbolicSize *split(int64_t size, int64_t &factor, int64_t &rest) const;
  std::vector<SymbolicSize> symbols_;
};

/// The value of a size such as "2 * s0 + 1" or "(s0 + 1) floordiv 2".
int64_t evaluateSize(const std::string &text, const std::vector<int64_t> &symbols);

} // namespace graphc::trace
