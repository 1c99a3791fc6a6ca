// A model with a prepared constant, a matmul and two kernels, for tests of artifacts.
#pragma once

#include "PlanBuilder.h"

#include <fstream>

namespace graphc::test {

inline std::vector<std::byte> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  EXPECT_TRUE(file) << path;
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

/// y[n, 16] = x[n, 32] · (3·w) + b, w all 0.5, b all 1: each element is 1.5·Σx + 1.
struct TestModel : PlanBuilder {
  TestModel() {
    plan->producer = "test 1";
    int n = symbolExpr(symbol("n", 0, 0, 1, 64)), k = constant(32), o = constant(16), three = constant(3);
    int x = input("x", DType::F32, {n, k}), y = output("y", DType::F32, {n, o});
    int w = weight<float>("w", {32, 16}, std::vector<float>(512, 0.5f));
    int ones = weight<float>("ones", {64 * 16}, std::vector<float>(64 * 16, 1.0f));
    int tripled = buffer(gp::BufferKind::Prepared, DType::F32, constants({32, 16}), "tripled");
    int product = temp(DType::F32, {n, o}, "product");
    int addIndex = kernel("add", addKernel), scaleIndex = kernel("scale", scaleKernel);
    gp::DispatchT prepare;
    prepare.kernel = scaleIndex;
    prepare.buffers = {w, tripled};
    prepare.scalars = {three};
    prepare.range = constant(512);
    add(plan->prepare, "triple", std::move(prepare), {w}, {tripled});
    gp::LibraryT library;
    for (int buffer : {x, tripled, -1, product})
      library.operands.push_back(operand(buffer));
    add("matmul", std::move(library), {x, tripled}, {product});
    dispatch("bias", addIndex, {product, ones}, y, expr(gp::ExprOp::Mul, n, o));
    options.keepPrepared = true;
  }
};

inline HostTensor ones(int64_t rows) {
  HostTensor tensor = *HostTensor::allocate(DType::F32, {rows, 32});
  std::fill_n(tensor.data<float>(), tensor.elements(), 1.0f);
  return tensor;
}

} // namespace graphc::test
