// Ops of the user's own: their formulas are graphs like those of graphc's ops, their gradients take the place of the derivative.
#include "frontend/graphc/custom_op.h"

#include "frontend/eager/State.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

namespace graphc {

using namespace eager;
using Value = GraphBuilder::Value;

namespace {
/// The formula that this thread evaluates, the innermost one.
class Formula {
public:
  Formula(const std::string &op, GraphBuilder &graph) : graph(graph), op_(op), outer_(std::exchange(current_, this)) {
    static std::atomic<uint64_t> formulas = 0;
    number = ++formulas;
  }
  ~Formula() { current_ = outer_; }
  Formula(const Formula &) = delete;
  Formula &operator=(const Formula &) = delete;

  /// What it gives; of a container that it reads past the end, an error in the op's name.
  template <typename Evaluate>
  auto value(Evaluate &&evaluate) const {
    try {
      return evaluate();
    } catch (const std::out_of_range &problem) {
      failWith(codes::InvalidArgument, op_, ": its formula reads an operand or a number that is not there: ", problem.what());
    }
  }

  static Formula &of(uint64_t number) {
    if (number == 0)
      failWith(codes::InvalidArgument, current_ ? current_->op_ : "an op", ": its formula uses an undefined value");
    if (!current_)
      failWith(codes::InvalidArgument, "a value of a formula is used outside of it; values last as long as their formula is evaluated");
    if (number != current_->number)
      failWith(codes::InvalidArgument, current_->op_, ": its formula uses a value of another formula; values last as long as their formula is evaluated");
    return *current_;
  }

  GraphBuilder &graph;
  uint64_t number;

private:
  const std::string &op_;
  Formula *outer_;
  static thread_local Formula *current_;
};
thread_local Formula *Formula::current_ = nullptr;
} // namespace

struct OpValue::Access {
  static OpValue make(const Formula &formula, Value value, DType dtype) {
    OpValue made;
    made.formula_ = formula.number;
    made.id_ = value.id;
    made.dtype_ = dtype;
    return made;
  }
  static Formula &formula(const OpValue &value) { return Formula::of(value.formula_); }
  static Value value(const OpValue &value) {
    formula(value);
    return {value.id_};
  }
};
using Access = OpValue::Access;

double OpNumbers::operator[](size_t index) const {
  if (index >= numbers_.size()) {
    const char *op = OpScope::current();
    failWith(codes::InvalidArgument, op ? op : "OpNumbers", ": it needs number ", index, "; ", numbers_.size(), " were given");
  }
  return numbers_[index];
}

//===-- what formulas are written with ----------------------------------------------------------------------------===//
OpValue graphOp(const std::string &op, const std::vector<OpValue> &operands, const std::string &attributes, std::optional<DType> result) {
  if (operands.empty())
    failWith(codes::InvalidArgument, op, ": a formula gives it no operands");
  std::vector<Value> values;
  for (const OpValue &operand : operands)
    values.push_back(Access::value(operand));
  const Formula &formula = Access::formula(operands[0]);
  return Access::make(formula, formula.graph.op(op, values, attributes), result.value_or(operands[0].dtype()));
}

static OpValue numberLike(OpValue like, double number) {
  const Formula &formula = Access::formula(like);
  return Access::make(formula, formula.graph.constant(number, like.dtype()), like.dtype());
}

OpValue operator+(OpValue a, OpValue b) { return graphOp("add", {a, b}); }
OpValue operator-(OpValue a, OpValue b) { return graphOp("sub", {a, b}); }
OpValue operator*(OpValue a, OpValue b) { return graphOp("mul", {a, b}); }
OpValue operator/(OpValue a, OpValue b) { return graphOp("div", {a, b}); }
OpValue operator+(OpValue a, double b) { return a + numberLike(a, b); }
OpValue operator-(OpValue a, double b) { return a - numberLike(a, b); }
OpValue operator*(OpValue a, double b) { return a * numberLike(a, b); }
OpValue operator/(OpValue a, double b) { return a / numberLike(a, b); }
OpValue operator+(double a, OpValue b) { return numberLike(b, a) + b; }
OpValue operator-(double a, OpValue b) { return numberLike(b, a) - b; }
OpValue operator*(double a, OpValue b) { return numberLike(b, a) * b; }
OpValue operator/(double a, OpValue b) { return numberLike(b, a) / b; }
OpValue operator-(OpValue a) { return graphOp("neg", {a}); }
OpValue operator<(OpValue a, OpValue b) { return graphOp("less", {a, b}, "", DType::Bool); }
OpValue operator>(OpValue a, OpValue b) { return graphOp("greater", {a, b}, "", DType::Bool); }
OpValue operator<(OpValue a, double b) { return a < numberLike(a, b); }
OpValue operator>(OpValue a, double b) { return a > numberLike(a, b); }
OpValue where(OpValue condition, OpValue a, OpValue b) { return graphOp("select", {condition, a, b}, "", a.dtype()); }
OpValue maximum(OpValue a, OpValue b) { return graphOp("max", {a, b}); }
OpValue minimum(OpValue a, OpValue b) { return graphOp("min", {a, b}); }
OpValue exp(OpValue a) { return graphOp("exp", {a}); }
OpValue log(OpValue a) { return graphOp("log", {a}); }
OpValue sqrt(OpValue a) { return graphOp("sqrt", {a}); }
OpValue abs(OpValue a) { return graphOp("abs", {a}); }
OpValue sin(OpValue a) { return graphOp("sin", {a}); }
OpValue cos(OpValue a) { return graphOp("cos", {a}); }
OpValue tanh(OpValue a) { return graphOp("tanh", {a}); }
OpValue sigmoid(OpValue a) { return graphOp("sigmoid", {a}); }
OpValue erf(OpValue a) { return graphOp("erf", {a}); }
OpValue pow(OpValue a, double exponent) { return graphOp("pow", {a, numberLike(a, exponent)}); }

static OpValue reduced(const char *kind, OpValue a, const std::vector<int64_t> &axes, bool keepdim) {
  return axes.empty() ? a : graphOp("reduce", {a}, text("kind = \"", kind, "\", axes = array<i64: ", joined(axes), ">", keepdim ? ", keep" : ""));
}
OpValue sum(OpValue a, const std::vector<int64_t> &axes, bool keepdim) { return reduced("sum", a, axes, keepdim); }
OpValue amax(OpValue a, const std::vector<int64_t> &axes, bool keepdim) { return reduced("max", a, axes, keepdim); }
OpValue matmul(OpValue a, OpValue b, bool transposeA, bool transposeB) {
  return graphOp("matmul", {a, b}, std::string(transposeA ? "transpose_lhs" : "") + (transposeA && transposeB ? ", " : "") + (transposeB ? "transpose_rhs" : ""));
}

//===-- definitions -----------------------------------------------------------------------------------------------===//
CustomOp defineOp(OpDefinition definition) {
  if (definition.name.empty() || !definition.formula)
    failWith(codes::InvalidArgument, "defineOp: a definition needs a name and a formula");
  if (definition.operands < 1 || definition.operands > kMaxInputs)
    failWith(codes::InvalidArgument, "defineOp: ", definition.name, " has ", definition.operands, " operands; 1 to ", kMaxInputs, " are possible");
  return CustomOp(Services::get().keep(std::move(definition)));
}

namespace {

/// The program of the user's gradient for the operands that `needs` marks, over what it reads alone.
OpGradient ownGradient(const OpDefinition &definition, const OpNumbers &numbers, const OpProgram &program, uint64_t needs) {
  size_t operands = program.arguments.size();
  // Operands, the result and its gradient; the second time only what the formula used the first time.
  std::vector<OpValueType> all(program.arguments);
  all.insert(all.end(), 2, program.results[0]);
  std::vector<bool> used(all.size(), true);
  for (bool last : {false, true}) {
    std::vector<OpValueType> arguments;
    OpGradient gradient;
    for (size_t i = 0; i < all.size(); ++i)
      if (used[i]) {
        arguments.push_back(all[i]);
        auto kind = i < operands ? GradientInput::Argument : i == operands ? GradientInput::Result : GradientInput::ResultGradient;
        gradient.inputs.push_back({kind, i < operands ? static_cast<int>(i) : 0});
      }
    GraphBuilder g(arguments);
    if (definition.elementwise)
      g.mustBeElementwise();
    Formula formula(definition.name, g);
    std::vector<OpValue> values;
    int at = 0;
    for (size_t i = 0; i < all.size(); ++i)
      values.push_back(Access::make(formula, used[i] ? g.input(at++) : Value{}, all[i].dtype));
    OpGradientValues seen{{values.begin(), values.begin() + static_cast<std::ptrdiff_t>(operands)}, values[operands], values[operands + 1]};
    std::vector<OpValue> given = formula.value([&] { return definition.gradient(seen, numbers); });
    if (given.size() != operands)
      failWith(codes::InvalidArgument, definition.name, ": the gradient formula gives ", given.size(), " gradients for ", operands, " operands");
    std::vector<size_t> whose; // of each result
    gradient.gradients.assign(operands, OpGradient::kNone);
    for (size_t i = 0; i < operands; ++i) {
      if (!given[i].defined() || !(needs >> i & 1))
        continue;
      int id = Access::value(given[i]).id;
      if (id < static_cast<int>(arguments.size())) {
        gradient.gradients[i] = OpGradient::passes(id);
        continue;
      }
      gradient.gradients[i] = static_cast<int>(whose.size());
      whose.push_back(i);
      g.result({id});
    }
    OpGraph graph = g.take();
    if (!last) {
      std::set<int> read(graph.results.begin(), graph.results.end());
      for (const OpNode &node : graph.nodes)
        read.insert(node.operands.begin(), node.operands.end());
      for (int from : gradient.gradients)
        if (from <= OpGradient::passes(0))
          read.insert(-2 - from);
      for (size_t i = 0; i < used.size(); ++i)
        used[i] = read.contains(static_cast<int>(i));
      continue;
    }
    auto built = Services::get().compiler().build(graph);
    if (!built.ok())
      failWith(built.status().code(), definition.name, ": the gradient formula: ", built.status().message());
    gradient.program = *std::move(built);
    gradient.program.symbols = std::max(gradient.program.symbols, program.symbols);
    for (size_t r = 0; r < whose.size(); ++r)
      if (gradient.program.results[r].dims != program.arguments[whose[r]].dims)
        failWith(Code::ShapeMismatch, definition.name, ": the gradient formula gives operand ", whose[r], " sizes [", joined(gradient.program.results[r].dims),
                 "], the operand has [", joined(program.arguments[whose[r]].dims), "]");
    return gradient;
  }
  return {};
}

} // namespace

Tensor CustomOp::operator()(const std::vector<Tensor> &given, const OpNumbers &numbers, std::source_location where) const {
  CallSite site(where);
  const OpDefinition &definition = *definition_;
  OpScope scope(definition.name.c_str());
  if (static_cast<int>(given.size()) != definition.operands)
    failWith(codes::InvalidArgument, definition.name, ": it takes ", definition.operands, " operands, ", given.size(), " were given");
  DType dtype = DType::Bool;
  OpShapes shapes;
  std::vector<Tensor> operands = given;
  for (const Tensor &operand : operands) {
    checkDevices(definition.name.c_str(), {&operands[0], &operand});
    dtype = promoteTypes(dtype, operand.dtype());
    shapes.emplace_back(operand.sizes().begin(), operand.sizes().end());
  }
  std::optional<std::vector<int64_t>> promised;
  if (definition.shape)
    promised = definition.shape(shapes, numbers);
  // A gradient of the user's own is of the result's sizes where operands broadcast: what is expanded sums it up.
  if (definition.elementwise && definition.gradient && operands.size() > 1) {
    int64_t rank = 0;
    for (const Tensor &operand : operands)
      rank = std::max(rank, operand.dim());
    std::vector<int64_t> wide(static_cast<size_t>(rank), 1);
    for (const Tensor &operand : operands)
      for (int64_t d = 0; d < operand.dim(); ++d)
        if (operand.size(d) != 1)
          wide[static_cast<size_t>(rank - operand.dim() + d)] = operand.size(d);
    for (Tensor &operand : operands)
      operand = broadcastTo(operand, wide);
  }
  Call call(definition.name.c_str());
  call.ofProcess();
  if (definition.elementwise)
    call.elementwise();
  for (double number : numbers)
    call.attribute(number);
  for (const Tensor &operand : operands)
    call.input(operand.to(dtype));
  if (definition.gradient)
    call.gradient([&definition, numbers](const OpProgram &program, uint64_t needs) { return ownGradient(definition, numbers, program, needs); });
  Tensor result = call.run([&](GraphBuilder &g) {
    if (definition.elementwise)
      g.mustBeElementwise();
    Formula formula(definition.name, g);
    std::vector<OpValue> values;
    for (int i = 0; i < g.inputs(); ++i)
      values.push_back(Access::make(formula, g.input(i), dtype));
    g.result(Access::value(formula.value([&] { return definition.formula(values, numbers); })));
  });
  if (promised && !std::ranges::equal(*promised, result.sizes()))
    failWith(Code::ShapeMismatch, definition.name, ": the shape rule says [", joined(*promised), "], the formula gives [", joined(result.sizes()), "]");
  return result;
}

} // namespace graphc
