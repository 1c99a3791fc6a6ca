// Symbolic sizes, sizes the data decides, control flow.
#include "PlanBuilder.h"

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

HostTensor filled(Shape shape, float value) {
  HostTensor tensor = *HostTensor::allocate(DType::F32, std::move(shape));
  std::fill_n(tensor.data<float>(), tensor.elements(), value);
  return tensor;
}

/// y[n, 4] = (a[n, 4] + b[n, 4]) * 3
struct TwoInputs : PlanBuilder {
  TwoInputs() {
    int n = symbolExpr(symbol("n", 0, 0, 1, 64)), four = constant(4), three = constant(3);
    int total = expr(gp::ExprOp::Mul, n, four);
    int a = input("a", DType::F32, {n, four}), b = input("b", DType::F32, {n, four});
    int y = output("y", DType::F32, {n, four}), t = temp(DType::F32, {n, four});
    dispatch("t", kernel("add", addKernel), {a, b}, t, total);
    dispatch("y", kernel("scale", scaleKernel), {t}, y, total, {three});
  }
};

TEST(Dynamic, OnePlanServesEverySize) {
  TwoInputs plan;
  auto executable = plan.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  EXPECT_EQ((*executable)->signature().inputs[0].str(), "f32[n, 4]");
  EXPECT_EQ((*executable)->signature().symbols[0].hi, 64);
  auto context = *(*executable)->newContext();
  for (int64_t n : {1, 64, 7, 7, 2}) {
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(filled({n, 4}, 1));
    inputs.push_back(filled({n, 4}, 2));
    Shape shapes[2] = {{n, 4}, {n, 4}};
    auto predicted = (*executable)->predict(shapes);
    ASSERT_TRUE(predicted.ok());
    EXPECT_EQ(predicted->arena, (n * 16 + 63) / 64 * 64);
    ASSERT_OK((*executable)->run(*context, inputs, outputs));
    EXPECT_EQ(outputs[0].shape(), Shape({n, 4}));
    EXPECT_THAT(outputs[0].values<float>(), testing::Each(9.0f));
    EXPECT_EQ(Executable::measured(*context).callTotal(), predicted->callTotal());
  }
}

TEST(Dynamic, SizesAreCheckedOnEntry) {
  TwoInputs plan;
  auto executable = *plan.load();
  auto fails = [&](Shape a, Shape b, Code code, const char *message) {
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(filled(a, 1));
    inputs.push_back(filled(b, 1));
    Status status = executable->run(inputs, outputs);
    EXPECT_EQ(status.code(), code) << status.str();
    EXPECT_THAT(status.message(), HasSubstr(message));
  };
  fails({65, 4}, {65, 4}, Code::SymbolRange, "size 65 of dimension 0 ('n') must be in [1, 64]");
  fails({0, 4}, {0, 4}, Code::SymbolRange, "input 'a': size 0");
  fails({3, 4}, {2, 4}, Code::SymbolConflict, "dimension 0 must be n = 3, the size of dimension 0 of input 'a'");
  fails({3, 4}, {3, 5}, Code::InputShape, "input 'b': expected f32[n, 4], got f32[3, 5]");
}

TEST(Dynamic, EmptyTensorsRun) {
  PlanBuilder b;
  int n = b.symbolExpr(b.symbol("n", 0, 0)), two = b.constant(2);
  int x = b.input("x", DType::F32, {n}), y = b.output("y", DType::F32, {n});
  b.dispatch("scale", b.kernel("scale", scaleKernel), {x}, y, n, {two});
  auto executable = *b.load();
  HostTensor input = *HostTensor::allocate(DType::F32, {0}), null = HostTensor::borrow(DType::F32, {0}, static_cast<float *>(nullptr));
  for (HostTensor *x : {&input, &null}) {
    std::vector<HostTensor> outputs(1);
    ASSERT_OK(executable->run({x, 1}, outputs));
    EXPECT_EQ(outputs[0].shape(), Shape({0}));
  }
}

/// y = x[nonzero(x)] * 2, its size known during the call. `bounded`: whether the plan knows a bound for it.
struct Selected : PlanBuilder {
  explicit Selected(bool bounded) {
    int n = symbolExpr(symbol("n", 0, 0)), two = constant(2), one = constant(1);
    int m = symbol("m", -1, -1);
    int me = symbolExpr(m);
    if (bounded)
      plan->symbols[m]->bound = n;
    int x = input("x", DType::F32, {n}), y = output("y", DType::F32, {me});
    int positions = temp(DType::I64, {one, n}, "positions");
    int values = temp(DType::F32, {me}, "values");
    gp::RoutineT routine;
    routine.name = "nonzero";
    routine.num_inputs = 1;
    routine.operands.push_back(operand(x));
    routine.operands.push_back(operand(positions));
    routine.symbols = {m};
    add("nonzero", std::move(routine), {x}, {positions});
    int found = alias(positions, DType::I64, {me});
    dispatch("gather", kernel("gather", gatherKernel), {x, found}, values, me, {n});
    dispatch("y", kernel("scale", scaleKernel), {values}, y, me, {two});
  }
};

TEST(Dynamic, SizesTheDataDecides) {
  for (bool bounded : {true, false}) {
    Selected plan(bounded);
    auto executable = plan.load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    auto context = *(*executable)->newContext();
    for (int round = 0; round < 3; ++round) {
      HostTensor x = HostTensor::of<float>({6}, {0, 3, 0, 0, 5, static_cast<float>(round)});
      std::vector<HostTensor> outputs(1);
      ASSERT_OK((*executable)->run(*context, {&x, 1}, outputs));
      if (round == 0)
        EXPECT_THAT(outputs[0].values<float>(), ElementsAre(6, 10));
      else
        EXPECT_THAT(outputs[0].values<float>(), ElementsAre(6, 10, 2 * round));
    }
    Shape shape{6};
    auto predicted = (*executable)->predict({&shape, 1});
    ASSERT_TRUE(predicted.ok());
    EXPECT_EQ(predicted->arena, bounded ? 128 : 64);
    HostTensor nothing = filled({6}, 0);
    std::vector<HostTensor> outputs(1);
    ASSERT_OK((*executable)->run(*context, {&nothing, 1}, outputs));
    EXPECT_EQ(outputs[0].shape(), Shape({0}));
  }
}

TEST(Dynamic, ResultsOfDecidedSizeNeedNoView) {
  // Result buffers declared with the size the routine decides, one of them an output.
  PlanBuilder b;
  int n = b.symbolExpr(b.symbol("n", 0, 0)), one = b.constant(1);
  int m = b.symbol("m", -1, -1), k = b.symbol("k", -1, -1);
  int me = b.symbolExpr(m), ke = b.symbolExpr(k);
  b.plan->symbols[m]->bound = n;
  b.plan->symbols[k]->bound = me;
  int x = b.input("x", DType::F32, {n}), y = b.output("y", DType::I64, {one, me}), z = b.output("z", DType::I64, {one, ke});
  int t = b.temp(DType::I64, {one, me}, "t");
  auto nonzero = [&](int from, int to, int symbol) {
    gp::RoutineT routine;
    routine.name = "nonzero";
    routine.num_inputs = 1;
    routine.operands.push_back(PlanBuilder::operand(from));
    routine.operands.push_back(PlanBuilder::operand(to, {one, symbol == m ? me : ke}));
    routine.symbols = {symbol};
    b.add("nonzero", std::move(routine), {from}, {to});
  };
  nonzero(x, t, m);
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(t);
  copy.dst = PlanBuilder::operand(y);
  b.add("copy", std::move(copy), {t}, {y});
  nonzero(b.alias(t, DType::I64, {me}), z, k);
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  for (int round = 0; round < 2; ++round) {
    HostTensor input = HostTensor::of<float>({5}, {1, 0, 2, 0, static_cast<float>(round)});
    std::vector<HostTensor> outputs(2);
    ASSERT_OK((*executable)->run({&input, 1}, outputs));
    if (round == 0) {
      EXPECT_THAT(outputs[0].values<int64_t>(), ElementsAre(0, 2));
      EXPECT_THAT(outputs[1].values<int64_t>(), ElementsAre(1));
    } else {
      EXPECT_THAT(outputs[0].values<int64_t>(), ElementsAre(0, 2, 4));
      EXPECT_THAT(outputs[1].values<int64_t>(), ElementsAre(1, 2));
    }
  }
}

TEST(Dynamic, BindReadsASizeFromABufferAndChecksIt) {
  PlanBuilder b;
  int four = b.constant(4), two = b.constant(2);
  int k = b.symbol("k", -1, -1, 0, 4);
  int ke = b.symbolExpr(k);
  int x = b.input("x", DType::F32, {four}), count = b.input("count", DType::I32, {});
  int y = b.output("y", DType::F32, {ke});
  gp::BindT bind;
  bind.symbol = k;
  bind.buffer = count;
  b.add("k", std::move(bind), {count}, {});
  gp::CheckT check;
  check.relation = gp::Relation::Ne;
  check.a = ke;
  check.b = b.constant(3);
  check.message = "three is not allowed";
  b.add("check", std::move(check), {}, {});
  b.dispatch("y", b.kernel("scale", scaleKernel), {x}, y, ke, {two});
  auto executable = *b.load();
  auto run = [&](int32_t k, std::vector<HostTensor> &outputs) {
    std::vector<HostTensor> inputs;
    inputs.push_back(HostTensor::of<float>({4}, {1, 2, 3, 4}));
    inputs.push_back(HostTensor::of<int32_t>({}, {k}));
    return executable->run(inputs, outputs);
  };
  std::vector<HostTensor> outputs(1);
  ASSERT_OK(run(2, outputs));
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(2, 4));
  std::vector<HostTensor> none(1);
  EXPECT_THAT(run(5, none).message(), HasSubstr("the size 'k' came out as 5, outside [0, 4]"));
  Status failed = run(3, none);
  EXPECT_EQ(failed.code(), Code::CheckFailed);
  EXPECT_THAT(failed.message(), HasSubstr("three is not allowed (k = 3, 3 = 3)"));
}

TEST(Dynamic, LoopsAndBranches) {
  // t = x; n times: t = t * 2 (when i < 2 … decided by a bool input) ; y = t
  PlanBuilder b;
  int four = b.constant(4), two = b.constant(2), three = b.constant(3);
  int n = b.symbol("n", -1, -1, 0, 100), i = b.symbol("i", -1, -1);
  int ne = b.symbolExpr(n);
  b.symbolExpr(i);
  int x = b.input("x", DType::F32, {four}), trips = b.input("trips", DType::I64, {}), flag = b.input("flag", DType::Bool, {});
  int y = b.output("y", DType::F32, {four}), t = b.temp(DType::F32, {four}, "t");
  int scale = b.kernel("scale", scaleKernel);
  gp::BindT bind;
  bind.symbol = n;
  bind.buffer = trips;
  b.add("n", std::move(bind), {trips}, {});
  gp::CopyT start;
  start.src = PlanBuilder::operand(x);
  start.dst = PlanBuilder::operand(t);
  b.add("t", std::move(start), {x}, {t});

  auto scaleBy = [&](PlanBuilder::Commands &list, int factor) {
    gp::DispatchT dispatch;
    dispatch.kernel = scale;
    dispatch.buffers = {t, t};
    dispatch.scalars = {factor};
    dispatch.range = four;
    b.add(list, "scale", std::move(dispatch), {t}, {t});
  };
  gp::IfT branch;
  branch.condition = flag;
  scaleBy(branch.then_commands, two);
  scaleBy(branch.else_commands, three);
  gp::LoopT loop;
  loop.trip_count = ne;
  loop.counter = i;
  b.add(loop.body, "if", std::move(branch), {flag, t}, {t});
  b.add("loop", std::move(loop), {flag, t}, {t});
  gp::CopyT end;
  end.src = PlanBuilder::operand(t);
  end.dst = PlanBuilder::operand(y);
  b.add("y", std::move(end), {t}, {y});

  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  auto run = [&](int64_t trips, bool flag) {
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<float>({4}, {1, 2, 3, 4}));
    inputs.push_back(HostTensor::of<int64_t>({}, {trips}));
    inputs.push_back(HostTensor::of<bool>({}, {flag}));
    Status status = (*executable)->run(inputs, outputs);
    EXPECT_TRUE(status.ok()) << status.str();
    return outputs[0].values<float>()[0];
  };
  EXPECT_EQ(run(3, true), 8);
  EXPECT_EQ(run(2, false), 9);
  EXPECT_EQ(run(0, true), 1);
}

} // namespace
