// Every function of the lit files in test/passes is run by the reference interpreter before and after the file's passes,
// on random inputs and weights: what a pass rewrites must still mean the same.
#include "codegen/reference/Interpreter.h"
#include "ir/graph/Graph.h"
#include "runtime/base/Float16.h"
#include "tools/registry/Registry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace graphc;

namespace {

struct Case {
  const char *file;
  const char *pipeline;
  double tolerance;
};

HostTensor randomTensor(std::mt19937 &generator, RankedTensorType type, std::vector<int64_t> shape) {
  HostTensor t = *HostTensor::allocate(reference::dtypeOfElement(type.getElementType()), Shape(shape));
  std::uniform_real_distribution<float> real(0.1f, 2.0f); // positive: variances are inputs too
  std::uniform_int_distribution<int> small(0, 3);
  for (int64_t i = 0; i < t.elements(); ++i) {
    float f = real(generator);
    int n = small(generator);
    switch (t.dtype()) {
    case DType::F64: t.data<double>()[i] = f; break;
    case DType::F32: t.data<float>()[i] = f; break;
    case DType::F16: t.data<uint16_t>()[i] = 0x3800 + 64 * n; break; // 0.5 … 0.59
    case DType::BF16: t.data<uint16_t>()[i] = 0x3f00 + 8 * n; break;
    case DType::I64: case DType::U64: t.data<int64_t>()[i] = n; break;
    case DType::I32: case DType::U32: t.data<int32_t>()[i] = n; break;
    case DType::I16: case DType::U16: t.data<int16_t>()[i] = n; break;
    case DType::I8: case DType::U8: t.data<int8_t>()[i] = n; break;
    case DType::Bool: t.data<uint8_t>()[i] = n & 1; break;
    }
  }
  return t;
}

double elementOf(const HostTensor &t, int64_t i) {
  switch (t.dtype()) {
  case DType::F64: return t.data<double>()[i];
  case DType::F32: return t.data<float>()[i];
  case DType::F16: return halfToFloat(t.data<uint16_t>()[i]);
  case DType::BF16: return bfloatToFloat(t.data<uint16_t>()[i]);
  case DType::I64: case DType::U64: return t.data<int64_t>()[i];
  case DType::I32: case DType::U32: return t.data<int32_t>()[i];
  case DType::I16: case DType::U16: return t.data<int16_t>()[i];
  case DType::I8: case DType::U8: return t.data<int8_t>()[i];
  case DType::Bool: return t.data<uint8_t>()[i];
  }
  return 0;
}

std::vector<int64_t> shapeOf(RankedTensorType type) {
  std::vector<int64_t> shape;
  for (AffineExpr d : graph::dimsOf(type))
    shape.push_back(*graph::evaluate(d, [](unsigned) -> std::optional<int64_t> { return 4; }));
  return shape;
}

Result<std::vector<HostTensor>> interpret(ModuleOp module, StringRef function) {
  auto f = module.lookupSymbol<func::FuncOp>(function);
  std::mt19937 generator(7);
  std::vector<HostTensor> inputs;
  for (Type type : f.getArgumentTypes())
    inputs.push_back(randomTensor(generator, cast<RankedTensorType>(type), shapeOf(cast<RankedTensorType>(type))));
  reference::Interpreter interpreter(module, [](graph::WeightOp weight) -> Result<HostTensor> {
    std::mt19937 weights(weight.getOffset());
    auto type = cast<RankedTensorType>(weight.getType());
    return randomTensor(weights, type, shapeOf(type));
  });
  return interpreter.run(f, inputs);
}

class KeepMeaning : public testing::TestWithParam<Case> {};

TEST_P(KeepMeaning, OnRandomInputs) {
  auto [file, pipeline, tolerance] = GetParam();
  tool::registerPasses();
  DialectRegistry registry;
  tool::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto text = llvm::MemoryBuffer::getFile(std::string(GRAPHC_PASS_TESTS) + "/" + file);
  ASSERT_TRUE(bool(text)) << file;
  SmallVector<StringRef> parts;
  (*text)->getBuffer().split(parts, "// -----");
  unsigned functions = 0;
  for (StringRef part : parts) {
    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(part, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager passes(&context);
    ASSERT_TRUE(succeeded(parsePassPipeline(pipeline, passes)));
    ASSERT_TRUE(succeeded(passes.run(*after)));
    for (auto f : before->getOps<func::FuncOp>()) {
      SCOPED_TRACE(f.getName().str());
      auto expected = interpret(*before, f.getName()), actual = interpret(*after, f.getName());
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      ASSERT_TRUE(actual.ok()) << actual.status().message();
      for (size_t r = 0; r < expected->size(); ++r) {
        const HostTensor &a = (*expected)[r], &b = (*actual)[r];
        ASSERT_EQ(a.dtype(), b.dtype());
        ASSERT_EQ(a.elements(), b.elements());
        for (int64_t i = 0; i < a.elements(); ++i) {
          double x = elementOf(a, i), y = elementOf(b, i);
          if (!(std::isnan(x) && std::isnan(y)) && x != y)
            ASSERT_LE(std::fabs(x - y), tolerance * std::max(1.0, std::fabs(x))) << "result " << r << " element " << i;
        }
      }
      ++functions;
    }
  }
  EXPECT_GT(functions, 0u);
}

INSTANTIATE_TEST_SUITE_P(Passes, KeepMeaning,
                         testing::Values(Case{"raise-softmax.mlir", "graphc-raise", 1e-6},
                                         Case{"raise-norms.mlir", "graphc-raise", 1e-6},
                                         Case{"raise-activations.mlir", "graphc-raise", 1e-6},
                                         Case{"raise-attention.mlir", "graphc-raise", 1e-6},
                                         Case{"decompose.mlir", "graphc-decompose", 1e-2},
                                         Case{"fold-norms.mlir", "graphc-fold-norms", 1e-4},
                                         Case{"merge-pads.mlir", "graphc-fold-norms", 1e-6},
                                         Case{"simplify.mlir", "graphc-simplify", 1e-6},
                                         Case{"fold-constants.mlir", "graphc-simplify", 2e-6},
                                         Case{"autocast.mlir", "graphc-autocast{dtype=bf16}", 3e-2},
                                         Case{"widen-contractions.mlir", "graphc-widen-contractions", 1e-2},
                                         Case{"sink-shuffles.mlir", "graphc-sink-shuffles", 1e-6},
                                         Case{"layout.mlir", "graphc-layout", 1e-6},
                                         Case{"layout.mlir", "graphc-layout,graphc-simplify", 1e-6}));

} // namespace
