// graphc devices: what a model can run on here, and why not on the rest.
#include "tools/graphc/Machine.h"
#include "tools/graphc/Verb.h"

#include "runtime/base/Text.h"
#include "runtime/devices/Devices.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace graphc::tool {
namespace {

struct Row {
  std::string device, description, reason; // no reason: usable
};

Row deviceRow(const std::string &name, const std::string &otherwise, const DeviceId &id) {
  auto device = openDevice(id);
  if (!device.ok())
    return {name, otherwise, device.status().message()};
  const DeviceProperties &p = (*device)->properties();
  return {name, text(p.name, ", ", p.architecture, ", ", p.multiprocessors, " multiprocessors, ", bytesText(p.memoryBytes)), ""};
}

std::vector<Row> rows() {
  std::vector<Row> result;
  CpuInfo cpu = queryCpu();
  std::string level = cpu.level.empty() ? "" : ", level " + cpu.level;
  result.push_back({"cpu", text(cpu.name, ", ", cpu.cores, cpu.cores == 1 ? " core" : " cores", level, ", ", joined(cpu.features, " ")),
                    cpu.level.empty() ? "the processor lacks AVX2 and FMA" : ""});
  CudaDriver driver = queryCudaDriver();
  if (!driver.library.reason.empty())
    result.push_back({"cuda", "CUDA device", driver.library.reason + "; " + driver.library.remedy});
  for (int i = 0; driver.library.reason.empty() && i < driver.devices; ++i)
    result.push_back(deviceRow(text("cuda:", i), text("GPU ", i), {DeviceId::Kind::Cuda, i}));
  result.push_back(deviceRow("sim", "simulated CUDA device", {DeviceId::Kind::Sim, 0}));
  return result;
}

Result<int> devices(bool json) {
  std::vector<Row> table = rows();
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row &row : table)
      list.push_back({{"device", row.device}, {"available", row.reason.empty()}, {"description", row.description}, {"reason", row.reason}});
    std::cout << list.dump(2) << "\n";
    return kExitOk;
  }
  for (const Row &row : table) {
    std::cout << row.device << std::string(row.device.size() < 6 ? 6 - row.device.size() : 1, ' ') << (row.reason.empty() ? "available      " : "not available  ") << row.description;
    if (!row.reason.empty())
      std::cout << ": " << row.reason;
    std::cout << "\n";
  }
  return kExitOk;
}

} // namespace

Action declareDevices(CLI::App &app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "a JSON list");
  return [json] { return devices(*json); };
}

} // namespace graphc::tool
