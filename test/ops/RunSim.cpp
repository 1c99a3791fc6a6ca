#include "test/ops/RunCase.h"

#include "frontend/tensor/ReadFile.h"
#include "test/sim/SimPlan.h"

#include <filesystem>
#include <unistd.h>

namespace graphc::test {

Result<std::vector<HostTensor>> runSim(const std::string &module, std::span<const HostTensor> inputs) {
  std::string file = (std::filesystem::temp_directory_path() / text("graphc-op-test-sim-", getpid(), ".mlir")).string();
  GRAPHC_RETURN_IF_ERROR(writeFileAtomically(file, module));
  CompileOptions options;
  options.threads = 1;
  auto plan = SimPlan::compile(file, options);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!plan.ok())
    return plan.status();
  auto run = (*plan)->run(inputs);
  if (!run.ok())
    return run.status();
  return std::move(run->outputs);
}

} // namespace graphc::test
