#include "codegen/cuda/CompileModules.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

static FailureOr<std::vector<KernelSource>> printAll(ModuleOp module) {
  std::vector<KernelSource> sources;
  for (auto kernel : module.getOps<kernel::FuncOp>()) {
    OwningOpRef<kernel::FuncOp> copy = cast<kernel::FuncOp>(kernel->clone());
    if (!copy->getScheduleAttr())
      scheduleKernel(*copy);
    auto source = printKernel(*copy);
    if (failed(source))
      return failure();
    sources.push_back(std::move(*source));
  }
  return sources;
}

FailureOr<DeviceCode> cuda::compileModules(ModuleOp module, const ModuleOptions &options) {
  auto sources = printAll(module);
  if (failed(sources))
    return failure();
  DeviceCode code;
  code.kernels = std::move(*sources);
  // As many units as keep every thread busy, none larger than asked for.
  size_t count = code.kernels.size();
  size_t each = std::clamp<size_t>((count + options.threads - 1) / std::max(1u, options.threads), 1, options.kernelsPerModule);
  for (size_t first = 0; first < count; first += each) {
    DeviceModule unit;
    unit.name = code.kernels[first].name;
    std::vector<const KernelSource *> members;
    for (size_t i = first; i < std::min(first + each, count); ++i) {
      members.push_back(&code.kernels[i]);
      code.moduleOf.push_back(static_cast<int>(code.modules.size()));
    }
    unit.source = translationUnit(members, module.getContext());
    for (const std::string &architecture : options.architectures)
      unit.images.push_back({architecture, {}});
    code.modules.push_back(std::move(unit));
  }

  struct Job {
    DeviceModule *unit;
    DeviceImage *image;
  };
  std::vector<Job> jobs;
  for (DeviceModule &unit : code.modules)
    for (DeviceImage &image : unit.images)
      jobs.push_back({&unit, &image});
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::string problem;
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      auto bytes = options.compile(jobs[i].unit->source, jobs[i].unit->name + ".cu", jobs[i].image->architecture);
      if (bytes.ok()) {
        jobs[i].image->bytes = *std::move(bytes);
        continue;
      }
      std::lock_guard lock(mutex);
      if (problem.empty())
        problem = bytes.status().message();
      next = jobs.size();
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min<size_t>(options.threads, jobs.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (!problem.empty())
    return module.emitError() << problem, failure();
  return code;
}
