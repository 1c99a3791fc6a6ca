// Writes small plans by hand, the way the compiler does it.
#pragma once

#include "runtime/exec/Executable.h"
#include "runtime/plan/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphc::test {

namespace gp = graphc::plan;

class PlanBuilder {
public:
  PlanBuilder() : plan(std::make_unique<gp::PlanT>()) { plan->model = "test"; }

  int constant(int64_t value) { return expr(gp::ExprOp::Const, 0, 0, value); }
  int expr(gp::ExprOp op, int a, int b, int64_t value = 0) {
    plan->exprs.push_back(gp::Expr(op, a, b, value));
    return static_cast<int>(plan->exprs.size()) - 1;
  }
  std::vector<int> constants(const std::vector<int64_t> &values) {
    std::vector<int> result;
    for (int64_t value : values)
      result.push_back(constant(value));
    return result;
  }
  /// Index of the symbol; its expression is expr(Symbol, index).
  int symbol(const std::string &name, int input, int dim, int64_t lo = 0, int64_t hi = INT64_MAX) {
    auto symbol = std::make_unique<gp::SymbolT>();
    symbol->name = name;
    symbol->input = input;
    symbol->dim = dim;
    symbol->lo = lo;
    symbol->hi = hi;
    plan->symbols.push_back(std::move(symbol));
    return static_cast<int>(plan->symbols.size()) - 1;
  }
  int symbolExpr(int symbol) { return expr(gp::ExprOp::Symbol, symbol, 0); }

  int buffer(gp::BufferKind kind, DType dtype, std::vector<int> dims, const std::string &name = "") {
    auto buffer = std::make_unique<gp::BufferT>();
    buffer->kind = kind;
    buffer->dtype = gp::fromDType(dtype);
    buffer->dims = std::move(dims);
    buffer->name = name;
    plan->buffers.push_back(std::move(buffer));
    return static_cast<int>(plan->buffers.size()) - 1;
  }
  int temp(DType dtype, std::vector<int> dims, const std::string &name = "temp") {
    return buffer(gp::BufferKind::Temp, dtype, std::move(dims), name);
  }
  int input(const std::string &name, DType dtype, std::vector<int> dims) {
    return param(plan->inputs, gp::BufferKind::Input, name, dtype, std::move(dims));
  }
  int output(const std::string &name, DType dtype, std::vector<int> dims) {
    return param(plan->outputs, gp::BufferKind::Output, name, dtype, std::move(dims));
  }
  template <typename T>
  int weight(const std::string &name, std::vector<int64_t> dims, const std::vector<T> &values) {
    int index = buffer(gp::BufferKind::Weight, dtypeOf<T>(), constants(dims), name);
    auto data = std::make_unique<gp::WeightDataT>();
    const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    data->inline_bytes.assign(bytes, bytes + values.size() * sizeof(T));
    data->bytes = data->inline_bytes.size();
    plan->buffers[index]->weight = std::move(data);
    return index;
  }
  int alias(int of, DType dtype, std::vector<int> dims, int offsetExpr = -1) {
    int index = buffer(gp::BufferKind::Alias, dtype, std::move(dims), "alias");
    plan->buffers[index]->alias_of = of;
    plan->buffers[index]->alias_offset = offsetExpr;
    return index;
  }

  int kernel(const std::string &symbol, GraphcKernelFn function) {
    auto kernel = std::make_unique<gp::KernelT>();
    kernel->symbol = symbol;
    plan->kernels.push_back(std::move(kernel));
    options.kernels.push_back(function);
    return static_cast<int>(plan->kernels.size()) - 1;
  }

  using Commands = std::vector<std::unique_ptr<gp::CommandT>>;

  template <typename ActionT>
  gp::CommandT &add(Commands &list, const std::string &name, ActionT action, std::vector<int> reads, std::vector<int> writes) {
    auto command = std::make_unique<gp::CommandT>();
    command->name = name;
    command->location = "test.cpp:" + name;
    command->reads = std::move(reads);
    command->writes = std::move(writes);
    command->action.Set(std::move(action));
    list.push_back(std::move(command));
    return *list.back();
  }
  template <typename ActionT>
  gp::CommandT &add(const std::string &name, ActionT action, std::vector<int> reads, std::vector<int> writes) {
    return add(plan->main, name, std::move(action), std::move(reads), std::move(writes));
  }

  /// kernel(inputs…, output) over `range`.
  gp::CommandT &dispatch(const std::string &name, int kernel, std::vector<int> inputs, int output, int rangeExpr,
                         std::vector<int> scalars = {}, float costNs = 1) {
    gp::DispatchT dispatch;
    dispatch.kernel = kernel;
    dispatch.buffers = inputs;
    dispatch.buffers.push_back(output);
    dispatch.range = rangeExpr;
    dispatch.scalars = std::move(scalars);
    dispatch.cost_ns = costNs;
    return add(name, std::move(dispatch), inputs, {output});
  }

  static std::unique_ptr<gp::OperandT> operand(int buffer, std::vector<int> dims = {}, std::vector<int> strides = {}, int offset = -1) {
    auto operand = std::make_unique<gp::OperandT>();
    operand->buffer = buffer;
    operand->dims = std::move(dims);
    operand->strides = std::move(strides);
    operand->offset = offset;
    return operand;
  }
  static std::unique_ptr<gp::PostOpT> postOp(gp::PostOpKind kind, float alpha = 0, float beta = 0, int operand = -1) {
    auto op = std::make_unique<gp::PostOpT>();
    op->kind = kind;
    op->alpha = alpha;
    op->beta = beta;
    op->operand = operand;
    return op;
  }

  /// Through bytes, as a compiled model arrives.
  Result<std::shared_ptr<const Executable>> load() {
    auto copy = gp::fromBytes(gp::toBytes(*plan));
    if (!copy.ok())
      return copy.status();
    return Executable::load(*std::move(copy), options);
  }

  std::unique_ptr<gp::PlanT> plan;
  LoadOptions options;

private:
  int param(std::vector<std::unique_ptr<gp::ParamT>> &params, gp::BufferKind kind, const std::string &name, DType dtype,
            std::vector<int> dims) {
    int index = buffer(kind, dtype, std::move(dims), name);
    plan->buffers[index]->index = static_cast<int>(params.size());
    auto param = std::make_unique<gp::ParamT>();
    param->name = name;
    param->buffer = index;
    params.push_back(std::move(param));
    return index;
  }
};

// Kernels in plain C++, with the ABI of generated ones.
inline void addKernel(void *const *buffers, const int64_t *, GraphcKernelContext *, int64_t begin, int64_t end) {
  auto *a = static_cast<const float *>(buffers[0]), *b = static_cast<const float *>(buffers[1]);
  auto *out = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] + b[i];
}
inline void scaleKernel(void *const *buffers, const int64_t *scalars, GraphcKernelContext *, int64_t begin, int64_t end) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *out = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = a[i] * static_cast<float>(scalars[0]);
}
/// out[i] = data[index[i]] with the check generated kernels make; scalars[0] = size.
inline void gatherKernel(void *const *buffers, const int64_t *scalars, GraphcKernelContext *context, int64_t begin, int64_t end) {
  auto *data = static_cast<const float *>(buffers[0]);
  auto *index = static_cast<const int64_t *>(buffers[1]);
  auto *out = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = index[i];
    if (at < 0 || at >= scalars[0]) {
      if (!context->error->flag)
        *context->error = {1, 0, at, 0, scalars[0] - 1};
      at = 0;
    }
    out[i] = data[at];
  }
}

#define ASSERT_OK(expr)                                                                                          \
  do {                                                                                                           \
    const ::graphc::Status assertStatus = (expr);                                                                \
    ASSERT_TRUE(assertStatus.ok()) << assertStatus.str();                                                        \
  } while (false)

} // namespace graphc::test
