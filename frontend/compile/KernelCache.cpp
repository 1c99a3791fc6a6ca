#include "frontend/compile/KernelCache.h"
#include "frontend/compile/Identity.h"
#include "runtime/cache/CompileCache.h"

using namespace mlir;
using namespace graphc;
using codegen::cpu::CompiledKernel;

namespace {
constexpr const char *kKind = "kernel";

/// The code generator's build: another one never reads what this one wrote.
std::string generatorIdentity() { return elfIdentity(fileOfCode(reinterpret_cast<const void *>(&codegen::cpu::compileKernels))); }

std::string keyOf(kernel::FuncOp func, const codegen::cpu::CpuTarget &target, const std::string &generator) {
  // Names of source ops are comments; they do not change the code.
  OwningOpRef<kernel::FuncOp> copy = cast<kernel::FuncOp>(func->clone());
  copy->removeSourcesAttr();
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
  CacheKey key;
  key.add(text).add(target.name()).add(target.llvmCpu()).add(target.llvmFeatures()).add(generator);
  return key.str();
}
} // namespace

FailureOr<std::vector<CompiledKernel>>
graphc::compileKernelsCached(ModuleOp module, const codegen::cpu::CpuTarget &target,
                             const codegen::cpu::CompileOptions &options, const std::string &folder,
                             const std::function<void(Code, const std::string &)> &warn) {
  auto cache = CompileCache::open({folder});
  if (!cache.ok()) {
    warn(Code::CacheUnusable, "the compile cache is not used: " + cache.status().message());
    return codegen::cpu::compileKernels(module, target, options);
  }
  const std::string generator = generatorIdentity();
  llvm::StringMap<CompiledKernel> known;
  llvm::StringMap<std::string> keys;
  OwningOpRef<ModuleOp> missing = module.clone();
  for (auto func : llvm::make_early_inc_range(missing->getOps<kernel::FuncOp>())) {
    std::string name = func.getSymName().str(), key = keyOf(func, target, generator);
    keys[name] = key;
    if (auto object = (*cache).find(kKind, key)) {
      known[name] = {name, std::string(reinterpret_cast<const char *>(object->data()), object->size()), "", ""};
      func.erase();
    }
  }
  if (int64_t damaged = (*cache).counters().damaged)
    warn(Code::ArtifactCorrupt, std::to_string(damaged) + (damaged == 1 ? " kernel of the compile cache was damaged and is" : " kernels of the compile cache were damaged and are") +
         " made anew");
  if (known.size() < keys.size()) {
    auto compiled = codegen::cpu::compileKernels(*missing, target, options);
    if (failed(compiled))
      return failure();
    bool stored = true;
    for (CompiledKernel &kernel : *compiled) {
      if (stored) {
        Status status = (*cache).store(kKind, keys[kernel.name], std::as_bytes(std::span(kernel.object.data(), kernel.object.size())));
        if (!status.ok())
          warn(Code::CacheUnusable, "the compile cache keeps nothing new: " + status.message());
        stored = status.ok();
      }
      known[kernel.name] = std::move(kernel);
    }
  }
  std::vector<CompiledKernel> kernels;
  for (auto func : module.getOps<kernel::FuncOp>())
    kernels.push_back(std::move(known[func.getSymName()]));
  return kernels;
}
