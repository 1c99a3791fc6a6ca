// What is known of size symbols, and of small tensors whose elements are sizes: chains that only compute shapes
// (Shape -> Gather -> Concat -> Reshape) are evaluated here instead of becoming ops.
#pragma once

#include "frontend/onnx/Failure.h"
#include "ir/graph/Dims.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace graphc::onnx_import {

using mlir::AffineExpr;

/// The sizes of a tensor. An index beyond the rank is the model's mistake, not ours: it throws a Failure, so that no
/// operator has to say first what rank it counts on.
class Dims : public llvm::SmallVector<AffineExpr> {
public:
  using Base = llvm::SmallVector<AffineExpr>;
  using Base::Base;
  Dims(Base dims) : Base(std::move(dims)) {}
  AffineExpr &operator[](size_t i) { return begin()[checked(i)]; }
  const AffineExpr &operator[](size_t i) const { return begin()[checked(i)]; }
  AffineExpr &back() { return (*this)[size() - 1]; }
  const AffineExpr &back() const { return (*this)[size() - 1]; }

private:
  size_t checked(size_t i) const {
    if (i >= size())
      fail(Code::ShapeMismatch, "a rank above ", static_cast<int64_t>(i), " is needed, got shape ", graph::toString(llvm::ArrayRef<AffineExpr>(begin(), end())));
    return i;
  }
};
inline llvm::ArrayRef<AffineExpr> refOf(const Dims &dims) { return {dims.begin(), dims.end()}; }

/// Ranges of the size symbols. They start as the user or the model says and are narrowed by what ops require; the
/// executor checks them on entry (function attribute `symbols`).
class SizeFacts {
public:
  explicit SizeFacts(mlir::MLIRContext *ctx) : ctx(ctx) {}

  struct Range {
    int64_t lo = 0;
    int64_t hi = INT64_MAX;
  };
  AffineExpr symbol(const std::string &name, int64_t lo = 0, int64_t hi = INT64_MAX);
  /// A symbol whose name starts with `stem` and is not taken: nonzero_0, nonzero_1 …
  AffineExpr fresh(const std::string &stem);

  /// Bounds of an expression over the ranges; INT64_MIN / INT64_MAX when unbounded.
  Range bounds(AffineExpr expr) const;
  bool provedAtLeast(AffineExpr expr, int64_t value) const { return bounds(expr).lo >= value; }
  /// Makes expr >= value true by narrowing the range of its only symbol; false when that is impossible.
  bool require(AffineExpr expr, int64_t value);
  /// a == b, a < b where that can be decided.
  std::optional<bool> equal(AffineExpr a, AffineExpr b) const;
  std::optional<bool> less(AffineExpr a, AffineExpr b) const;

  /// Symbols that stand where the model has a constant (`--shape`), and that constant.
  std::map<std::string, int64_t> replaced;
  /// Name of an expression that is one symbol.
  std::optional<std::string> symbolName(AffineExpr expr) const;
  std::optional<int64_t> replacedConstant(AffineExpr expr) const;
  /// The expression with every replaced symbol set to its constant.
  AffineExpr withReplacedConstants(AffineExpr expr) const;

  mlir::DictionaryAttr attribute() const;
  mlir::MLIRContext *context() const { return ctx; }

private:
  mlir::MLIRContext *ctx;
  std::map<std::string, Range> ranges;
  std::map<unsigned, std::string> names; // by symbol position
};

/// numerator / denominator of element counts, cancelling equal factors; null when a constant remainder shows that it
/// does not divide.
AffineExpr divideSizes(llvm::ArrayRef<AffineExpr> numerator, llvm::ArrayRef<AffineExpr> denominator, mlir::MLIRContext *ctx);

/// Known elements of a tensor, row-major: sizes for integers and bools, doubles for floats.
struct Known {
  bool floating = false;
  std::vector<AffineExpr> ints;
  std::vector<double> floats;

  size_t size() const { return floating ? floats.size() : ints.size(); }
  static Known of(std::vector<AffineExpr> values) { return {false, std::move(values), {}}; }
  static Known ofFloats(std::vector<double> values) { return {true, {}, std::move(values)}; }
  /// All integers constant?
  std::optional<std::vector<int64_t>> constants() const;
  Known pick(const std::vector<int64_t> &positions) const;
};

/// More than this is no shape computation.
inline constexpr int64_t kMaxKnown = 1024;

/// Elementwise ONNX operators over known contents; nullopt when the result cannot be decided. `args` are already
/// broadcast to one size. The element type decides wrapping and rounding.
std::optional<Known> evaluateElementwise(llvm::StringRef op, llvm::ArrayRef<Known> args, mlir::Type elementType,
                                         const SizeFacts &facts);
std::optional<Known> evaluateCast(const Known &x, mlir::Type from, mlir::Type to);

} // namespace graphc::onnx_import
