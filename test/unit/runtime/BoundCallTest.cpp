// Calls over buffers bound once: no allocation, nothing looked at again, and a named error where that cannot be.
#include "PlanBuilder.h"

#include <atomic>
#include <cstdlib>
#include <new>

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

static std::atomic<int64_t> allocations{0};

// Counts for the whole program.
void *operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

/// y = (x + x) · 3 over n rows of 8.
struct Doubled : PlanBuilder {
  explicit Doubled(bool symbolic) {
    int rows = symbolic ? symbolExpr(symbol("n", 0, 0, 1, 64)) : constant(4);
    int k = constant(8), elements = expr(gp::ExprOp::Mul, rows, k);
    int x = input("x", DType::F32, {rows, k}), y = output("y", DType::F32, {rows, k});
    int sum = temp(DType::F32, {rows, k});
    dispatch("add", kernel("add", addKernel), {x, x}, sum, elements);
    dispatch("scale", kernel("scale", scaleKernel), {sum}, y, elements, {constant(3)});
  }
};

struct Bound {
  std::vector<float> x, y;
  HostTensor input;
  std::vector<HostTensor> outputs;
  explicit Bound(int64_t rows) : x(rows * 8, 1.0f), y(rows * 8) {
    input = HostTensor::borrow(DType::F32, {rows, 8}, x.data());
    outputs.push_back(HostTensor::borrow(DType::F32, {rows, 8}, y.data()));
  }
};

TEST(BoundCall, ReadsItsBuffersAnewAndAllocatesNothing) {
  for (bool symbolic : {false, true}) {
    auto executable = Doubled(symbolic).load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    auto context = *(*executable)->newContext();
    Bound bound(4);
    ASSERT_OK((*executable)->bind(*context, {&bound.input, 1}, bound.outputs));
    EXPECT_EQ(bound.y[0], 0.0f) << "binding runs nothing";
    ASSERT_OK((*executable)->runBound(*context));
    EXPECT_EQ(bound.y[31], 6.0f);
    bound.x[31] = 2.0f;
    int64_t before = allocations.load();
    for (int call = 0; call < 100; ++call)
      ASSERT_TRUE((*executable)->runBound(*context).ok());
    EXPECT_EQ(allocations.load(), before);
    EXPECT_EQ(bound.y[31], 12.0f);
    // The ordinary call over the same buffers does not allocate either.
    ASSERT_OK((*executable)->run(*context, {&bound.input, 1}, bound.outputs));
    before = allocations.load();
    for (int call = 0; call < 100; ++call)
      ASSERT_TRUE((*executable)->run({&bound.input, 1}, bound.outputs).ok() || call == 0);
    EXPECT_LE(allocations.load() - before, 40) << "only the pooled context's first call";
  }
}

TEST(BoundCall, OtherCallsUnbind) {
  auto executable = Doubled(true).load();
  ASSERT_TRUE(executable.ok());
  auto context = *(*executable)->newContext();
  EXPECT_EQ((*executable)->runBound(*context).code(), Code::OutputBinding);
  Bound four(4), nine(9);
  ASSERT_OK((*executable)->bind(*context, {&four.input, 1}, four.outputs));
  ASSERT_OK((*executable)->run(*context, {&nine.input, 1}, nine.outputs));
  Status status = (*executable)->runBound(*context);
  EXPECT_EQ(status.code(), Code::OutputBinding);
  EXPECT_THAT(status.message(), HasSubstr("no bound buffers"));
  EXPECT_EQ((*executable)->bind(*context, {&four.input, 1}, nine.outputs).code(), Code::OutputBinding);
}

TEST(BoundCall, CancelledLikeAnyOther) {
  auto executable = Doubled(false).load();
  ASSERT_TRUE(executable.ok());
  auto context = *(*executable)->newContext();
  Bound bound(4);
  ASSERT_OK((*executable)->bind(*context, {&bound.input, 1}, bound.outputs));
  std::atomic<bool> cancelled{true};
  RunOptions options;
  options.cancelled = &cancelled;
  EXPECT_EQ((*executable)->runBound(*context, options).code(), Code::Cancelled);
}

TEST(BoundCall, SizesThatTheDataDecideCannotBeBound) {
  PlanBuilder builder;
  int k = builder.constant(8);
  int x = builder.input("x", DType::I64, {k});
  int m = builder.symbolExpr(builder.symbol("m", -1, -1, 0, 8));
  int y = builder.output("y", DType::F32, {m});
  gp::BindT bind;
  bind.symbol = 0;
  bind.buffer = x;
  builder.add("read", std::move(bind), {x}, {});
  gp::FillT fill;
  fill.dst = PlanBuilder::operand(y);
  builder.add("fill", std::move(fill), {}, {y});
  auto executable = builder.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto context = *(*executable)->newContext();
  HostTensor input = HostTensor::of<int64_t>({8}, {3, 0, 0, 0, 0, 0, 0, 0});
  std::vector<HostTensor> outputs(1);
  Status status = (*executable)->bind(*context, {&input, 1}, outputs);
  EXPECT_EQ(status.code(), Code::OutputBinding);
  EXPECT_THAT(status.message(), HasSubstr("only the data decide"));
}

} // namespace
