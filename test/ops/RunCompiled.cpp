#include "test/ops/RunCase.h"

#include "frontend/tensor/ReadFile.h"
#include "tools/graphc/Model.h"

#include <filesystem>
#include <unistd.h>

namespace graphc::test {

Result<std::vector<HostTensor>> runCompiled(const std::string &device, const std::string &module, std::span<const HostTensor> inputs) {
  std::string file = (std::filesystem::temp_directory_path() / text("graphc-op-test-", getpid(), ".mlir")).string();
  GRAPHC_RETURN_IF_ERROR(writeFileAtomically(file, module));
  tool::ModelOptions options;
  options.model = file;
  options.device = device.substr(0, device.find(':'));
  options.threads = 1;
  options.cache = "off";
  if (size_t colon = device.find(':'); colon != std::string::npos)
    options.cpuLevel = device.substr(colon + 1);
  GRAPHC_RETURN_IF_ERROR(options.check());
  auto model = tool::Model::load(options);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!model.ok())
    return model.status();
  return model->run(inputs);
}

} // namespace graphc::test
