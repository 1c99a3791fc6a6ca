#include "runtime/plan/Exprs.h"

#include <algorithm>

namespace graphc::plan {

static int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

std::optional<int64_t> applyExpr(ExprOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case ExprOp::Const:
  case ExprOp::Symbol:
    return std::nullopt; // leaves have no operands
  case ExprOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case ExprOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case ExprOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case ExprOp::FloorDiv:
  case ExprOp::CeilDiv:
  case ExprOp::Mod:
    if (b == 0)
      return 0;
    if (b == -1) { // INT64_MIN / -1 traps
      if (op == ExprOp::Mod)
        return 0;
      overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      break;
    }
    result = floorDiv(a, b);
    if (op == ExprOp::CeilDiv)
      result += a % b != 0;
    if (op == ExprOp::Mod)
      result = a - result * b;
    break;
  case ExprOp::Min:
    return std::min(a, b);
  case ExprOp::Max:
    return std::max(a, b);
  case ExprOp::Eq:
    return a == b;
  case ExprOp::Lt:
    return a < b;
  }
  if (overflow)
    return std::nullopt;
  return result;
}

int evaluateExprs(const std::vector<Expr> &exprs, std::span<const int> order, std::span<const int64_t> symbols,
                  std::span<int64_t> values) {
  for (int index : order) {
    const Expr &expr = exprs[index];
    switch (expr.op()) {
    case ExprOp::Const:
      values[index] = expr.value();
      continue;
    case ExprOp::Symbol:
      values[index] = symbols[expr.a()];
      continue;
    default:
      auto value = applyExpr(expr.op(), values[expr.a()], values[expr.b()]);
      if (!value)
        return index;
      values[index] = *value;
    }
  }
  return -1;
}

std::vector<bool> dependsOnSymbols(const std::vector<Expr> &exprs, const std::vector<bool> &marked) {
  std::vector<bool> depends(exprs.size());
  for (size_t i = 0; i < exprs.size(); ++i) {
    const Expr &expr = exprs[i];
    if (expr.op() == ExprOp::Symbol)
      depends[i] = marked[expr.a()];
    else if (expr.op() != ExprOp::Const)
      depends[i] = depends[expr.a()] || depends[expr.b()];
  }
  return depends;
}

// Binding strength: 0 sum, 1 product, 2 atom.
static std::string print(const PlanT &plan, int index, int strength) {
  const Expr &expr = plan.exprs[index];
  auto infix = [&](const char *op, int own) {
    std::string text = print(plan, expr.a(), own) + op + print(plan, expr.b(), own + 1);
    return own < strength ? "(" + text + ")" : text;
  };
  auto call = [&](const char *name) {
    return std::string(name) + "(" + print(plan, expr.a(), 0) + ", " + print(plan, expr.b(), 0) + ")";
  };
  switch (expr.op()) {
  case ExprOp::Const:
    return std::to_string(expr.value());
  case ExprOp::Symbol: {
    const std::string &name = plan.symbols[expr.a()]->name;
    return name.empty() ? "s" + std::to_string(expr.a()) : name;
  }
  case ExprOp::Add:
    return infix(" + ", 0);
  case ExprOp::Sub:
    return infix(" - ", 0);
  case ExprOp::Mul:
    return infix("*", 1);
  case ExprOp::FloorDiv:
    return call("floordiv");
  case ExprOp::CeilDiv:
    return call("ceildiv");
  case ExprOp::Mod:
    return call("mod");
  case ExprOp::Min:
    return call("min");
  case ExprOp::Max:
    return call("max");
  case ExprOp::Eq:
    return call("eq");
  case ExprOp::Lt:
    return call("lt");
  }
  return "?";
}

std::string exprText(const PlanT &plan, int expr) { return print(plan, expr, 0); }

std::string dimsText(const PlanT &plan, std::span<const int> dims) {
  std::vector<std::string> parts;
  for (int dim : dims)
    parts.push_back(exprText(plan, dim));
  return "[" + joined(parts) + "]";
}

} // namespace graphc::plan
