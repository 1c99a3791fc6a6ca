// Mutants of generated kernels: every barrier and every guard is deleted in turn, and the simulator reports it, the result is another one,
// or the list below says why it makes no difference.
#include "test/unit/codegen/SimKernel.h"

#include "test/unit/codegen/Harness.h"

#include <regex>

using namespace graphc;
using namespace graphc::test;

namespace {

/// A kernel as text, and one launch of it on buffers of its own.
class Mutable {
public:
  explicit Mutable(const std::string &text) {
    mlir::DialectRegistry registry;
    registry.insert<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    context_->loadAllAvailableDialects();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    kernel_ = *module_->getOps<kernel::FuncOp>().begin();
    codegen::cuda::scheduleKernel(kernel_);
    auto printed = codegen::cuda::printKernel(kernel_);
    source = *printed;
    std::vector<const codegen::cuda::KernelSource *> all = {&source};
    whole_ = codegen::cuda::translationUnit(all, context_.get());
  }

  struct Answer {
    std::vector<std::vector<char>> buffers;
    std::string findings;
    bool operator==(const Answer &other) const { return buffers == other.buffers && findings == other.findings; }
  };

  /// With `body` in place of the kernel's text.
  Answer run(const std::string &body) {
    std::string unit = whole_;
    unit.replace(unit.find(source.text), source.text.size(), body);
    auto flags = codegen::cuda::nvrtcOptions();
    flags.push_back("--gpu-architecture=compute_80");
    auto compiled = Simulator::get().nvrtc->compile(unit, "mutant.cu", flags);
    EXPECT_TRUE(compiled.ok()) << compiled.status().str();
    Answer answer;
    if (!compiled.ok())
      return answer;
    const auto &driver = *Simulator::get().driver;
    auto check = [](const Status &status) { EXPECT_TRUE(status.ok()) << status.str(); };
    CUmodule loaded;
    CUfunction entry;
    check(driver.moduleLoadDataEx(&loaded, compiled->ptx.c_str(), 0, nullptr, nullptr));
    check(driver.moduleGetFunction(&entry, loaded, source.name.c_str()));
    std::vector<CUdeviceptr> addresses;
    unsigned seed = 1;
    for (mlir::Value buffer : kernel_.getBuffers()) {
      auto type = mlir::cast<mlir::MemRefType>(buffer.getType());
      auto values = randomFloats(type.getNumElements(), -2, 2, seed++);
      addresses.push_back(0);
      check(driver.memAlloc(&addresses.back(), values.size() * 4));
      check(driver.memcpyHtoDAsync(addresses.back(), values.data(), values.size() * 4, nullptr));
    }
    mlir::SmallVector<mlir::Attribute> units;
    EXPECT_TRUE(mlir::succeeded(kernel_.getRangeMap().constantFold({}, units)));
    int64_t range = mlir::cast<mlir::IntegerAttr>(units[0]).getInt();
    CUdeviceptr cell = 0;
    std::vector<void *> arguments;
    for (CUdeviceptr &address : addresses)
      arguments.push_back(&address);
    arguments.push_back(&range);
    arguments.push_back(&cell);
    int64_t blocks = (range + source.launch.itemsPerBlock - 1) / source.launch.itemsPerBlock;
    check(driver.launchKernel(entry, blocks, 1, 1, source.launch.threads, 1, 1, 0, nullptr, arguments.data(), nullptr));
    check(driver.streamSynchronize(nullptr)); // findings are logged, not failed
    size_t at = 0;
    for (mlir::Value buffer : kernel_.getBuffers()) {
      std::vector<char> bytes(mlir::cast<mlir::MemRefType>(buffer.getType()).getNumElements() * 4);
      check(driver.memcpyDtoHAsync(bytes.data(), addresses[at], bytes.size(), nullptr));
      check(driver.streamSynchronize(nullptr));
      check(driver.memFree(addresses[at++]));
      answer.buffers.push_back(std::move(bytes));
    }
    check(driver.moduleUnload(loaded));
    answer.findings = Simulator::get().findings();
    return answer;
  }

  codegen::cuda::KernelSource source;

private:
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  kernel::FuncOp kernel_;
  std::string whole_;
};

struct Mutant {
  std::string site, body;
};

/// Without each barrier, and with each guard open.
std::vector<Mutant> mutantsOf(const std::string &body) {
  std::vector<Mutant> mutants;
  auto replaceEach = [&](const std::regex &pattern, const std::string &by) {
    for (std::sregex_iterator it(body.begin(), body.end(), pattern), end; it != end; ++it) {
      std::string mutant = body;
      mutant.replace(it->position(), it->length(), it->format(by));
      // Enough around it to tell sites apart.
      size_t line = std::count(body.begin(), body.begin() + it->position(), '\n');
      mutants.push_back({it->str() + " at line " + std::to_string(line), mutant});
    }
  };
  replaceEach(std::regex("__sync(threads|warp)\\([a-z]*\\);"), ";");
  replaceEach(std::regex("if \\([^;{}]*\\) (return|continue|break);"), ";");
  replaceEach(std::regex("if \\(((first|point|depth|element|line|load_at|key|member|live)[^;{}]*)\\) \\{"), "if (true) {");
  replaceEach(std::regex("if \\((member[^;{}()]*)\\) "), "");
  replaceEach(std::regex("min\\((int\\([^()]*\\)), int\\([^()]*\\)\\)"), "$1");
  return mutants;
}

struct Excuse {
  const char *site, *reason;
};

void everyMutantIsFound(const std::string &text, std::vector<Excuse> redundant, size_t least) {
  Mutable kernel(text);
  auto configure = reinterpret_cast<int (*)(const char *)>(Simulator::get().driver->find("graphcCudasimConfigure"));
  ASSERT_EQ(configure("action=log"), 0);
  Mutable::Answer right = kernel.run(kernel.source.text);
  EXPECT_EQ(right.findings, "");
  auto mutants = mutantsOf(kernel.source.text);
  EXPECT_GE(mutants.size(), least) << kernel.source.text;
  std::vector<bool> used(redundant.size());
  for (const Mutant &mutant : mutants) {
    bool found = !(kernel.run(mutant.body) == right);
    auto excuse = std::find_if(redundant.begin(), redundant.end(), [&](const Excuse &e) { return mutant.site.find(e.site) != std::string::npos; });
    if (excuse != redundant.end()) {
      used[excuse - redundant.begin()] = true;
      EXPECT_FALSE(found) << mutant.site << " makes a difference now: not because " << excuse->reason;
      continue;
    }
    EXPECT_TRUE(found) << "nothing tells that this is gone: " << mutant.site << "\n" << kernel.source.text;
  }
  for (size_t i = 0; i < used.size(); ++i)
    EXPECT_TRUE(used[i]) << "no mutant is excused by " << redundant[i].site;
  ASSERT_EQ(configure("action=fail"), 0);
}

std::string reduction(const std::string &type, const std::string &at, const std::string &outer, const std::string &inner) {
  return "kernel.func @sum(%x: memref<" + type + "xf32>, %y: memref<" + outer + "xf32>) {\n  %zero = arith.constant 0.0 : f32\n  kernel.parallel (%i) to (" + outer +
         ") {\n    %s = kernel.reduce (%k) to (" + inner + ") init (%zero : f32) {\n      %v = kernel.load %x[" + at + "] : memref<" + type +
         "xf32>\n      kernel.yield %v : f32\n    } combine (%a, %b) {\n      %t = arith.addf %a, %b : f32\n      kernel.yield %t : f32\n    }\n"
         "    kernel.store %s, %y[%i] : memref<" + outer + "xf32>\n  }\n}";
}

TEST(Mutants, Elementwise) {
  everyMutantIsFound("kernel.func @twice(%x: memref<1003xf32>, %y: memref<1003xf32>) {\n  kernel.parallel (%i) to (1003) {\n"
                     "    %v = kernel.load %x[%i] : memref<1003xf32>\n    %w = arith.addf %v, %v : f32\n    kernel.store %w, %y[%i] : memref<1003xf32>\n  }\n}",
                     {{"if (first >= range) return;", "whoever passes it finds no whole pack and no point"}}, 2);
}
constexpr Excuse kSameSum = {"if (member == 0)", "every member holds the same sum and would store it"};
TEST(Mutants, WarpRows) { everyMutantIsFound(reduction("37x100", "%i, %k", "37", "100"), {kSameSum}, 2); }
TEST(Mutants, BlockRows) {
  everyMutantIsFound(reduction("3x9000", "%i, %k", "3", "9000"), {kSameSum, {"if (member % 32 == 0)", "after the exchange every lane of a warp holds the same part"}}, 1);
}
TEST(Mutants, Columns) { everyMutantIsFound(reduction("300x60", "%k, %i", "60", "300"), {}, 1); }
TEST(Mutants, Transpose) {
  everyMutantIsFound("kernel.func @turn(%x: memref<100x60xf32>, %y: memref<60x100xf32>) {\n  kernel.parallel (%i, %j) to (60, 100) {\n"
                     "    %v = kernel.load %x[%j, %i] : memref<100x60xf32>\n    kernel.store %v, %y[%i, %j] : memref<60x100xf32>\n  }\n}",
                     {}, 3);
}
TEST(Mutants, Tiles) {
  everyMutantIsFound("kernel.func @product(%x: memref<70x50xf32>, %w: memref<50x90xf32>, %o: memref<70x90xf32>) {\n  %zero = arith.constant 0.0 : f32\n"
                     "  kernel.parallel (%m, %n) to (70, 90) {\n    %s = kernel.reduce (%k) to (50) init (%zero : f32) {\n"
                     "      %v = kernel.load %x[%m, %k] : memref<70x50xf32>\n      %u = kernel.load %w[%k, %n] : memref<50x90xf32>\n"
                     "      %p = arith.mulf %v, %u : f32\n      kernel.yield %p : f32\n    } combine (%a, %c) {\n      %t = arith.addf %a, %c : f32\n"
                     "      kernel.yield %t : f32\n    }\n    kernel.store %s, %o[%m, %n] : memref<70x90xf32>\n  }\n}",
                     {}, 8);
}
} // namespace
