// Loops over slices, and memory that bodies share.
#include "PlanBuilder.h"
#include "runtime/exec/LiveRanges.h"

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;

namespace {

/// sums[i] = sums so far of the rows of x, from the first or the last row on: state += x[i]; y[i] = state.
struct SumsSoFar : PlanBuilder {
  SumsSoFar(bool symbolic, bool reverse) {
    int rows = symbolic ? symbolExpr(symbol("n", 0, 0, 0, 64)) : constant(3);
    int k = constant(2);
    int trip = symbol("trip", -1, -1);
    plan->symbols[trip]->bound = expr(gp::ExprOp::Sub, rows, constant(1));
    int counted = symbolExpr(trip);
    int at = reverse ? expr(gp::ExprOp::Sub, plan->symbols[trip]->bound, counted) : counted;
    int offset = expr(gp::ExprOp::Mul, at, constant(8));
    int x = input("x", DType::F32, {rows, k}), y = output("y", DType::F32, {rows, k}), state = temp(DType::F32, {k}, "state");
    int slice = alias(x, DType::F32, {k}, offset), result = alias(y, DType::F32, {k}, offset);
    gp::FillT zero;
    zero.dst = operand(state);
    zero.bits = 0;
    add("zero", std::move(zero), {}, {state});
    gp::LoopT loop;
    loop.trip_count = rows;
    loop.counter = trip;
    gp::DispatchT step;
    step.kernel = kernel("add", addKernel);
    step.buffers = {state, slice, state};
    step.range = k;
    add(loop.body, "step", std::move(step), {state, slice}, {state});
    gp::CopyT copy;
    copy.src = operand(state);
    copy.dst = operand(result);
    add(loop.body, "stack", std::move(copy), {state}, {result});
    add("loop", std::move(loop), {x, state}, {y, state});
  }
};

TEST(Loop, ReadsAndWritesOneSliceInEachIteration) {
  for (bool symbolic : {false, true}) {
    auto executable = SumsSoFar(symbolic, false).load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    for (int call = 0; call < 3; ++call) {
      std::vector<HostTensor> inputs, outputs(1);
      inputs.push_back(HostTensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
      ASSERT_OK((*executable)->run(inputs, outputs));
      EXPECT_THAT(outputs[0].values<float>(), ElementsAre(1, 2, 4, 6, 9, 12));
    }
    auto backwards = SumsSoFar(symbolic, true).load();
    ASSERT_TRUE(backwards.ok()) << backwards.status().str();
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
    ASSERT_OK((*backwards)->run(inputs, outputs));
    EXPECT_THAT(outputs[0].values<float>(), ElementsAre(9, 12, 8, 10, 5, 6));
  }
}

TEST(Loop, OtherSizesAndNone) {
  auto executable = SumsSoFar(true, true).load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int64_t rows : {4, 0, 1, 4}) {
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<float>({rows, 2}, std::vector<float>(static_cast<size_t>(rows) * 2, 1)));
    ASSERT_OK((*executable)->run(inputs, outputs));
    ASSERT_EQ(outputs[0].elements(), rows * 2);
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(outputs[0].values<float>()[static_cast<size_t>(2 * i)], static_cast<float>(rows - i));
  }
}

TEST(Loop, ItsBuffersCanBeBound) {
  auto executable = SumsSoFar(false, false).load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto context = *(*executable)->newContext();
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(6);
  HostTensor input = HostTensor::borrow(DType::F32, {3, 2}, x.data());
  std::vector<HostTensor> outputs;
  outputs.push_back(HostTensor::borrow(DType::F32, {3, 2}, y.data()));
  ASSERT_OK((*executable)->bind(*context, {&input, 1}, outputs));
  for (float first : {1.0f, 10.0f}) {
    x[0] = first;
    ASSERT_OK((*executable)->runBound(*context));
    EXPECT_THAT(y, ElementsAre(first, 2, first + 3, 6, first + 8, 12));
  }
}

TEST(LiveRanges, BranchesShareMemoryAndLoopsKeepWhatTheyCarry) {
  // 0: a =   1: if { 2: t = ; 3: y = t } else { 4: u = ; 5: y = u }   6: loop { 7: v = c, a; 8: c = v }   9: z = c
  enum { A, T, U, Y, V, C, Z, Count };
  PlanBuilder b;
  auto copy = [&](PlanBuilder::Commands &list, std::vector<int> reads, int write) { b.add(list, "copy", gp::FillT(), std::move(reads), {write}); };
  copy(b.plan->main, {}, A);
  gp::IfT branch;
  branch.condition = A;
  copy(branch.then_commands, {}, T);
  copy(branch.then_commands, {T}, Y);
  copy(branch.else_commands, {}, U);
  copy(branch.else_commands, {U}, Y);
  b.add("if", std::move(branch), {A}, {Y});
  gp::LoopT loop;
  copy(loop.body, {C, A}, V);
  copy(loop.body, {V}, C);
  b.add("loop", std::move(loop), {C}, {C});
  copy(b.plan->main, {C}, Z);
  std::vector<int> roots(Count);
  for (int i = 0; i < Count; ++i)
    roots[i] = i;
  LiveRanges ranges = liveRanges(b.plan->main, roots);
  EXPECT_THAT(ranges.topLevel, ElementsAre(0, 1, 6, 9, 10));
  EXPECT_EQ(std::pair(ranges.first[T], ranges.last[T]), std::pair(2, 3));
  EXPECT_EQ(std::pair(ranges.first[U], ranges.last[U]), std::pair(4, 5));
  EXPECT_EQ(std::pair(ranges.first[V], ranges.last[V]), std::pair(7, 8)) << "written before it is read: needed within an iteration";
  EXPECT_EQ(std::pair(ranges.first[A], ranges.last[A]), std::pair(0, 8)) << "read in every iteration";
  EXPECT_EQ(std::pair(ranges.first[C], ranges.last[C]), std::pair(6, 9));
}

} // namespace
