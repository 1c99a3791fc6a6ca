#include "PlanBuilder.h"

#include "runtime/base/Float16.h"
#include "runtime/devices/cpu/Routine.h"

#include <cmath>

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Calls a routine directly on dense tensors.
struct Call {
  std::vector<HostTensor> inputs, outputs;
  std::vector<std::pair<std::string, int64_t>> attributes;
  std::vector<std::pair<std::string, std::string>> strings;
  std::vector<int64_t> exprs, symbols = std::vector<int64_t>(1);

  Status run(const char *name) {
    const cpu::RoutineEntry *entry = cpu::findRoutine(name);
    EXPECT_NE(entry, nullptr);
    std::vector<std::vector<int64_t>> strides;
    strides.reserve(16);
    auto tensors = [&](std::vector<HostTensor> &list) {
      std::vector<cpu::RoutineTensor> result;
      for (HostTensor &tensor : list) {
        strides.push_back(tensor.shape().denseStrides());
        result.push_back({tensor.dtype(), tensor.shape().dims(), strides.back(), tensor.raw()});
      }
      return result;
    };
    auto in = tensors(inputs), out = tensors(outputs);
    std::vector<cpu::RoutineAttribute> list;
    for (auto &[key, value] : attributes)
      list.push_back({key, {&value, 1}, {}, {}});
    for (auto &[key, value] : strings)
      list.push_back({key, {}, {}, {&value, 1}});
    std::vector<std::byte> scratch;
    return entry->run({in, out, list, exprs, symbols, &scratch});
  }
  template <typename T>
  std::vector<T> result(int output, int64_t count) {
    return {outputs[output].data<T>(), outputs[output].data<T>() + count};
  }
};

template <typename... T>
std::vector<HostTensor> list(T... tensors) {
  std::vector<HostTensor> result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

HostTensor empty(DType dtype, Shape shape) { return *HostTensor::allocate(dtype, std::move(shape)); }

TEST(Routine, SortIsStableAndPutsNaNLast) {
  Call call;
  call.inputs = list(HostTensor::of<float>({2, 4}, {3, NAN, 1, 3, 2, 2, -1, 5}));
  call.outputs = list(empty(DType::F32, {2, 4}), empty(DType::I64, {2, 4}));
  ASSERT_OK(call.run("sort"));
  EXPECT_THAT(call.result<int64_t>(1, 8), ElementsAre(2, 0, 3, 1, 2, 0, 1, 3));
  call.attributes = {{"descending", 1}, {"axis", 0}};
  ASSERT_OK(call.run("sort"));
  EXPECT_THAT(call.result<int64_t>(1, 8), ElementsAre(0, 0, 0, 1, 1, 1, 1, 0));
}

TEST(Routine, TopKAlongTheMiddle) {
  Call call;
  call.inputs = list(HostTensor::of<int32_t>({1, 4, 2}, {1, 8, 4, 6, 3, 7, 4, 5}));
  call.attributes = {{"axis", 1}};
  call.outputs = list(empty(DType::I32, {1, 2, 2}), empty(DType::I64, {1, 2, 2}));
  ASSERT_OK(call.run("topk"));
  EXPECT_THAT(call.result<int32_t>(0, 4), ElementsAre(4, 8, 4, 7));
  EXPECT_THAT(call.result<int64_t>(1, 4), ElementsAre(1, 0, 3, 2));
  call.attributes.push_back({"largest", 0});
  ASSERT_OK(call.run("topk"));
  EXPECT_THAT(call.result<int32_t>(0, 4), ElementsAre(1, 5, 3, 6));
  call.outputs = list(empty(DType::I32, {1, 5, 2}), empty(DType::I64, {1, 5, 2}));
  EXPECT_THAT(call.run("topk").message(), HasSubstr("k = 5 elements were asked for, but dimension 1 has 4"));
}

TEST(Routine, TopKOfHalves) {
  Call call;
  HostTensor x = empty(DType::F16, {3});
  for (int i = 0; i < 3; ++i)
    x.data<uint16_t>()[i] = floatToHalf(std::vector<float>{-2, 0.5f, -0.0f}[i]);
  call.inputs = list(std::move(x));
  call.outputs = list(empty(DType::F16, {1}), empty(DType::I64, {1}));
  ASSERT_OK(call.run("topk"));
  EXPECT_THAT(call.result<int64_t>(1, 1), ElementsAre(1));
}

TEST(Routine, NonzeroBothWays) {
  Call call;
  call.inputs = list(HostTensor::of<bool>({2, 3}, {true, false, true, false, true, false}));
  call.outputs = list(empty(DType::I64, {2, 6}));
  ASSERT_OK(call.run("nonzero"));
  EXPECT_EQ(call.symbols[0], 3);
  EXPECT_THAT(call.result<int64_t>(0, 6), ElementsAre(0, 0, 1, 0, 2, 1));
  call.attributes = {{"transposed", 1}};
  ASSERT_OK(call.run("nonzero"));
  EXPECT_THAT(call.result<int64_t>(0, 6), ElementsAre(0, 0, 0, 2, 1, 1));
  call.outputs = list(empty(DType::I64, {2, 2}));
  EXPECT_THAT(call.run("nonzero").message(), HasSubstr("room for 3 entries, but its buffer holds 2"));
}

TEST(Routine, CompressAlongAnAxisAndFlat) {
  Call call;
  call.inputs = list(HostTensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), HostTensor::of<bool>({3}, {false, true, true}));
  call.outputs = list(empty(DType::F32, {3, 2}));
  call.attributes = {{"axis", 0}};
  ASSERT_OK(call.run("compress"));
  EXPECT_THAT(call.result<float>(0, 4), ElementsAre(3, 4, 5, 6));
  call.attributes = {};
  ASSERT_OK(call.run("compress"));
  EXPECT_EQ(call.symbols[0], 2);
  EXPECT_THAT(call.result<float>(0, 2), ElementsAre(2, 3));
}

TEST(Routine, UniqueSortedAndByAppearance) {
  Call call;
  call.inputs = list(HostTensor::of<float>({6}, {2, 1, 1, 3, 4, 3}));
  call.outputs = list(empty(DType::F32, {6}), empty(DType::I64, {6}), empty(DType::I64, {6}), empty(DType::I64, {6}));
  ASSERT_OK(call.run("unique"));
  EXPECT_EQ(call.symbols[0], 4);
  EXPECT_THAT(call.result<float>(0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(call.result<int64_t>(1, 4), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(call.result<int64_t>(2, 6), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(call.result<int64_t>(3, 4), ElementsAre(2, 1, 2, 1));
  call.attributes = {{"sorted", 0}};
  ASSERT_OK(call.run("unique"));
  EXPECT_THAT(call.result<float>(0, 4), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(call.result<int64_t>(2, 6), ElementsAre(0, 1, 1, 2, 3, 2));
}

TEST(Routine, UniqueRows) {
  Call call;
  call.inputs = list(HostTensor::of<int64_t>({3, 2}, {1, 0, 1, 0, 0, 9}));
  call.attributes = {{"axis", 0}};
  call.outputs = list(empty(DType::I64, {3, 2}), empty(DType::I64, {3}), empty(DType::I64, {3}), empty(DType::I64, {3}));
  ASSERT_OK(call.run("unique"));
  EXPECT_EQ(call.symbols[0], 2);
  EXPECT_THAT(call.result<int64_t>(0, 4), ElementsAre(0, 9, 1, 0));
}

TEST(Routine, NonMaxSuppressionKeepsTheBestOfEachCluster) {
  Call call;
  call.inputs = list(HostTensor::of<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f}),
                     HostTensor::of<float>({1, 1, 4}, {0.9f, 0.95f, 0.5f, 0.3f}), HostTensor::of<int64_t>({}, {3}),
                     HostTensor::of<float>({}, {0.5f}), HostTensor::of<float>({}, {0.0f}));
  call.outputs = list(empty(DType::I64, {4, 3}));
  ASSERT_OK(call.run("nms"));
  EXPECT_EQ(call.symbols[0], 2);
  EXPECT_THAT(call.result<int64_t>(0, 6), ElementsAre(0, 0, 1, 0, 0, 2));
}

TEST(Routine, ScatterElementsInOrderOfIndex) {
  Call call;
  call.inputs = list(HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), HostTensor::of<int64_t>({2, 2}, {2, -1, 0, 0}),
                     HostTensor::of<float>({2, 2}, {10, 20, 30, 40}));
  call.outputs = list(empty(DType::F32, {2, 3}));
  call.attributes = {{"axis", 1}};
  ASSERT_OK(call.run("scatter_elements"));
  EXPECT_THAT(call.result<float>(0, 6), ElementsAre(1, 2, 20, 40, 5, 6));
  call.strings = {{"reduction", "add"}};
  ASSERT_OK(call.run("scatter_elements"));
  EXPECT_THAT(call.result<float>(0, 6), ElementsAre(1, 2, 33, 74, 5, 6));
  call.inputs[1] = HostTensor::of<int64_t>({2, 2}, {0, 3, 0, 0});
  Status status = call.run("scatter_elements");
  EXPECT_EQ(status.code(), Code::IndexOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("index 3 is out of range [-3, 2] of dimension 1"));
}

TEST(Routine, ScatterNdWritesSlices) {
  Call call;
  call.inputs = list(HostTensor::of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6}), HostTensor::of<int32_t>({2, 1}, {2, 2}),
                     HostTensor::of<int32_t>({2, 2}, {7, 1, 2, 9}));
  call.outputs = list(empty(DType::I32, {3, 2}));
  ASSERT_OK(call.run("scatter_nd"));
  EXPECT_THAT(call.result<int32_t>(0, 6), ElementsAre(1, 2, 3, 4, 2, 9));
  call.strings = {{"reduction", "max"}};
  ASSERT_OK(call.run("scatter_nd"));
  EXPECT_THAT(call.result<int32_t>(0, 6), ElementsAre(1, 2, 3, 4, 7, 9));
  call.strings = {{"reduction", "median"}};
  EXPECT_THAT(call.run("scatter_nd").message(), HasSubstr("no reduction 'median'"));
}

TEST(Routine, CumulativeAllWays) {
  Call call;
  call.inputs = list(HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  call.outputs = list(empty(DType::F32, {2, 3}));
  call.attributes = {{"axis", 1}};
  ASSERT_OK(call.run("cumulative"));
  EXPECT_THAT(call.result<float>(0, 6), ElementsAre(1, 3, 6, 4, 9, 15));
  call.attributes = {{"axis", 1}, {"exclusive", 1}, {"reverse", 1}};
  ASSERT_OK(call.run("cumulative"));
  EXPECT_THAT(call.result<float>(0, 6), ElementsAre(5, 3, 0, 11, 6, 0));
  call.attributes = {{"axis", 0}};
  call.strings = {{"kind", "prod"}};
  ASSERT_OK(call.run("cumulative"));
  EXPECT_THAT(call.result<float>(0, 6), ElementsAre(1, 2, 3, 4, 10, 18));
}

TEST(Routine, UnknownNamesAndWrongArgumentsAreRefusedAtLoad) {
  PlanBuilder b;
  int four = b.constant(4);
  int x = b.input("x", DType::F32, {four}), y = b.output("y", DType::F32, {four});
  gp::RoutineT routine;
  routine.name = "frobnicate";
  routine.num_inputs = 1;
  routine.operands.push_back(PlanBuilder::operand(x));
  routine.operands.push_back(PlanBuilder::operand(y));
  auto &command = b.add("r", std::move(routine), {x}, {y});
  EXPECT_THAT(b.load().status().message(), HasSubstr("there is no routine 'frobnicate'; this runtime has sort, topk"));
  command.action.AsRoutine()->name = "sort";
  EXPECT_THAT(b.load().status().message(), HasSubstr("routine 'sort' takes 1..1 inputs, 2 outputs"));
}

} // namespace
