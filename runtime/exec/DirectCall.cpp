#include "runtime/exec/DirectCall.h"

#include "runtime/plan/Exprs.h"

#include <algorithm>

namespace graphc {

using plan::BufferKind;
using plan::ExprOp;

bool SymbolTape::evaluate(std::span<const int64_t> symbols, int64_t *values) const {
  for (size_t i = 0; i < exprs.size(); ++i) {
    const plan::Expr &expr = exprs[i];
    switch (expr.op()) {
    case ExprOp::Const:
      values[i] = expr.value();
      break;
    case ExprOp::Symbol:
      values[i] = symbols[static_cast<size_t>(expr.a())];
      break;
    default: {
      auto value = plan::applyExpr(expr.op(), values[expr.a()], values[expr.b()]);
      if (!value)
        return false;
      values[i] = *value;
    }
    }
  }
  return true;
}

namespace {

/// Copies expressions of a plan to a tape, each once.
class TapeWriter {
public:
  TapeWriter(const plan::PlanT &plan, int symbolInput, SymbolTape &tape) : plan(plan), symbolInput(symbolInput), tape(tape) {}

  int add(int expr) {
    const plan::Expr &source = plan.exprs[expr];
    plan::Expr copy = source;
    if (source.op() == ExprOp::Symbol) {
      const plan::SymbolT &symbol = *plan.symbols[source.a()];
      assert(symbol.input == symbolInput && symbol.dim >= 1 && "every symbol of an op is a size of the last input");
      copy = plan::Expr(ExprOp::Symbol, symbol.dim - 1, 0, 0);
    } else if (source.op() != ExprOp::Const) {
      int a = add(source.a()), b = add(source.b());
      copy = plan::Expr(source.op(), a, b, 0);
    }
    for (int i = 0; i < static_cast<int>(tape.exprs.size()); ++i)
      if (same(tape.exprs[i], copy))
        return i;
    tape.exprs.push_back(copy);
    return static_cast<int>(tape.exprs.size()) - 1;
  }

private:
  static bool same(const plan::Expr &x, const plan::Expr &y) {
    return x.op() == y.op() && x.a() == y.a() && x.b() == y.b() && x.value() == y.value();
  }
  const plan::PlanT &plan;
  int symbolInput;
  SymbolTape &tape;
};

} // namespace

ResultShapes resultShapes(const Executable &executable, int symbolInput) {
  const plan::PlanT &plan = executable.plan();
  ResultShapes shapes;
  TapeWriter writer(plan, symbolInput, shapes.tape);
  for (const auto &output : plan.outputs) {
    auto &dims = shapes.dims.emplace_back();
    for (int dim : plan.buffers[output->buffer]->dims)
      dims.push_back(writer.add(dim));
  }
  return shapes;
}

std::optional<DirectCall> directCall(const Executable &executable, int symbolInput, SymbolTape &tape) {
  const plan::PlanT &plan = executable.plan();
  if (plan.main.size() != 1 || !plan.prepare.empty() || plan.main[0]->action.type != plan::Action::Dispatch)
    return std::nullopt;
  const plan::DispatchT &dispatch = *plan.main[0]->action.AsDispatch();
  if (plan.kernels[dispatch.kernel]->scratch >= 0)
    return std::nullopt;
  DirectCall call;
  std::vector<bool> written(plan.outputs.size());
  for (int index : dispatch.buffers) {
    const plan::BufferT &buffer = *plan.buffers[index];
    switch (buffer.kind) {
    case BufferKind::Input:
      call.buffers.push_back({DirectCall::Buffer::Input, buffer.index});
      break;
    case BufferKind::Output:
      call.buffers.push_back({DirectCall::Buffer::Output, buffer.index});
      written[buffer.index] = true;
      break;
    case BufferKind::Weight:
      call.buffers.push_back({DirectCall::Buffer::Constant, 0, executable.constant(index).data()});
      break;
    default:
      return std::nullopt;
    }
  }
  for (bool w : written)
    if (!w)
      return std::nullopt;
  TapeWriter writer(plan, symbolInput, tape);
  call.kernel = executable.kernel(dispatch.kernel);
  for (int scalar : dispatch.scalars)
    call.scalars.push_back(writer.add(scalar));
  if (dispatch.range >= 0)
    call.range = writer.add(dispatch.range);
  if (dispatch.cost_scale >= 0)
    call.costScale = writer.add(dispatch.cost_scale);
  call.costNs = dispatch.cost_ns > 0 ? dispatch.cost_ns : 100;
  call.grain = std::max(1, dispatch.grain);
  call.serial = dispatch.serial;
  for (const auto &site : dispatch.sites)
    call.sites.emplace_back(site ? site->name : "", site ? site->location : "");
  return call;
}

} // namespace graphc
