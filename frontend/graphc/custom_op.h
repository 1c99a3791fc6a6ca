// Ops of the user's own: a shape rule, a formula and, where the formula's own derivative is not what is wanted, a gradient.
//
//   CustomOp steepTanh = defineOp({
//       .name = "steepTanh",
//       .operands = 1,
//       .elementwise = true,
//       .formula = [](const std::vector<OpValue> &x, const OpNumbers &n) { return tanh(n[0] * x[0]); },
//       .gradient = [](const OpGradientValues &v, const OpNumbers &n) { return std::vector{v.gradient * n[0] * (1 - v.result * v.result)}; },
//   });
//   Tensor y = steepTanh({x}, {3});
//
// Formulas are compiled like the ops that graphc brings: what fuses is one kernel, sizes are symbols, and gradients of any order
// follow. Everything throws graphc::Error.
#pragma once

#include "frontend/graphc/tensor.h"

namespace graphc {

/// A value of a formula: what a tensor will hold when the op runs. Sizes broadcast; dtypes of two operands must be one. It belongs
/// to one evaluation of the formula: using it in another is an error.
class OpValue {
public:
  OpValue() = default; // none: the gradient of an operand that has none
  bool defined() const { return formula_ != 0; }
  DType dtype() const { return dtype_; }

  struct Access; // of the builder
private:
  uint64_t formula_ = 0; // the evaluation it belongs to
  int id_ = -1;
  DType dtype_ = DType::F32;
};

/// Any op of the graph dialect with one result, its attributes in MLIR's syntax without braces:
/// `graphOp("cumulative", {x}, "kind = \"sum\", axis = 0 : i64")`. `result`: its dtype when that is not the first operand's.
OpValue graphOp(const std::string &op, const std::vector<OpValue> &operands, const std::string &attributes = "", std::optional<DType> result = {});

OpValue operator+(OpValue a, OpValue b);
OpValue operator-(OpValue a, OpValue b);
OpValue operator*(OpValue a, OpValue b);
OpValue operator/(OpValue a, OpValue b);
OpValue operator+(OpValue a, double b);
OpValue operator-(OpValue a, double b);
OpValue operator*(OpValue a, double b);
OpValue operator/(OpValue a, double b);
OpValue operator+(double a, OpValue b);
OpValue operator-(double a, OpValue b);
OpValue operator*(double a, OpValue b);
OpValue operator/(double a, OpValue b);
OpValue operator-(OpValue a);
OpValue operator<(OpValue a, OpValue b); // bool
OpValue operator>(OpValue a, OpValue b);
OpValue operator<(OpValue a, double b);
OpValue operator>(OpValue a, double b);
OpValue where(OpValue condition, OpValue a, OpValue b);
OpValue maximum(OpValue a, OpValue b);
OpValue minimum(OpValue a, OpValue b);
OpValue exp(OpValue a);
OpValue log(OpValue a);
OpValue sqrt(OpValue a);
OpValue abs(OpValue a);
OpValue sin(OpValue a);
OpValue cos(OpValue a);
OpValue tanh(OpValue a);
OpValue sigmoid(OpValue a);
OpValue erf(OpValue a);
OpValue pow(OpValue a, double exponent);
/// Over these axes, counted from 0; kept with size 1 on request.
OpValue sum(OpValue a, const std::vector<int64_t> &axes, bool keepdim = false);
OpValue amax(OpValue a, const std::vector<int64_t> &axes, bool keepdim = false);
/// [.., m, k] times [.., k, n]; either may lie transposed.
OpValue matmul(OpValue a, OpValue b, bool transposeA = false, bool transposeB = false);

/// Numbers that an op is called with. Reading one that was not given is an error.
class OpNumbers {
public:
  OpNumbers() = default;
  OpNumbers(std::initializer_list<double> numbers) : numbers_(numbers) {}
  OpNumbers(std::vector<double> numbers) : numbers_(std::move(numbers)) {}
  double operator[](size_t index) const;
  double at(size_t index) const { return (*this)[index]; }
  size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

private:
  std::vector<double> numbers_;
};
using OpShapes = std::vector<std::vector<int64_t>>;

struct OpGradientValues {
  std::vector<OpValue> operands;
  OpValue result, gradient; // the op's result and the gradient of it
};

struct OpDefinition {
  std::string name; // what errors and gradient nodes call it
  int operands = 1;
  /// The formula is elementwise: operands broadcast, and their ranks do not matter to the code. An error when it uses an op that
  /// is not.
  bool elementwise = false;
  /// Sizes of the result from those of the operands; throws graphc::Error when they do not fit. Default: what the formula gives.
  std::function<std::vector<int64_t>(const OpShapes &operands, const OpNumbers &numbers)> shape;
  std::function<OpValue(const std::vector<OpValue> &operands, const OpNumbers &numbers)> formula;
  /// The gradient of each operand, of the operand's sizes. Default: the formula's derivative.
  std::function<std::vector<OpValue>(const OpGradientValues &values, const OpNumbers &numbers)> gradient;
};

/// An op that was defined; copies are the same op, which lives as long as the process.
class CustomOp {
public:
  const std::string &name() const { return definition_->name; }
  /// Operands are promoted to one dtype. Other numbers are other code.
  Tensor operator()(const std::vector<Tensor> &operands, const OpNumbers &numbers = {}, std::source_location where = GRAPHC_HERE) const;

private:
  friend CustomOp defineOp(OpDefinition definition);
  explicit CustomOp(const OpDefinition &definition) : definition_(&definition) {}
  const OpDefinition *definition_;
};
/// An error when the definition lacks a name or a formula.
CustomOp defineOp(OpDefinition definition);

} // namespace graphc
