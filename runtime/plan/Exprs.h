// Host arithmetic of a plan: sizes, offsets and scalars over symbols.
#pragma once

#include "runtime/plan/Plan.h"

namespace graphc::plan {

/// One node on known operands; nothing on overflow.
std::optional<int64_t> applyExpr(ExprOp op, int64_t a, int64_t b);

/// Evaluates the expressions listed in `order` (ascending, operands known) into `values`.
/// Returns the index of the first one that overflows, or -1.
int evaluateExprs(const std::vector<Expr> &exprs, std::span<const int> order, std::span<const int64_t> symbols,
                  std::span<int64_t> values);

/// For every expression, whether it depends on one of the marked symbols.
std::vector<bool> dependsOnSymbols(const std::vector<Expr> &exprs, const std::vector<bool> &marked);

/// "2*n + 1", with symbols by name.
std::string exprText(const PlanT &plan, int expr);
/// "[n, 3, 2*n + 1]"
std::string dimsText(const PlanT &plan, std::span<const int> dims);

} // namespace graphc::plan
