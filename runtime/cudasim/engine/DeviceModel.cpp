// The device tables. Numbers are the vendors' published ones.
#include "runtime/cudasim/engine/Engine.h"

namespace graphc::cudasim {

static DeviceModel a100() {
  DeviceModel model; // the defaults are the A100's
  model.name = "Simulated A100";
  return model;
}

static DeviceModel h200() {
  DeviceModel model;
  model.name = "Simulated H200";
  model.major = 9;
  model.minor = 0;
  model.multiprocessors = 132;
  model.sharedPerBlockOptin = 227 * 1024;
  model.sharedPerMultiprocessor = 228 * 1024;
  model.l2Bytes = uint64_t(50) << 20;
  model.memoryBytes = uint64_t(141) << 30;
  model.clockKHz = 1980000;
  model.memoryClockKHz = 3201000;
  model.memoryBusBits = 6144;
  model.dramBytesPerSecond = 4.8e12;
  model.l2BytesPerSecond = 7.0e12;
  model.fp32LanesPerClock = 128;
  model.fp64LanesPerClock = 64;
  model.tensorF16FmaPerClock = 2048;
  return model;
}

static DeviceModel rtx4090() {
  DeviceModel model;
  model.name = "Simulated RTX 4090";
  model.major = 8;
  model.minor = 9;
  model.multiprocessors = 128;
  model.maxThreadsPerMultiprocessor = 1536;
  model.maxBlocksPerMultiprocessor = 24;
  model.sharedPerBlockOptin = 99 * 1024;
  model.sharedPerMultiprocessor = 100 * 1024;
  model.l2Bytes = uint64_t(72) << 20;
  model.memoryBytes = uint64_t(24) << 30;
  model.clockKHz = 2520000;
  model.memoryClockKHz = 10501000;
  model.memoryBusBits = 384;
  model.dramBytesPerSecond = 1.008e12;
  model.l2BytesPerSecond = 5.0e12;
  model.fp32LanesPerClock = 128;
  model.fp64LanesPerClock = 2;
  model.tensorF16FmaPerClock = 512;
  return model;
}

static DeviceModel b200() {
  DeviceModel model = h200();
  model.name = "Simulated B200";
  model.major = 10;
  model.minor = 0;
  model.multiprocessors = 148;
  model.l2Bytes = uint64_t(126) << 20;
  model.memoryBytes = uint64_t(180) << 30;
  model.clockKHz = 1965000;
  model.memoryBusBits = 8192;
  model.dramBytesPerSecond = 7.7e12;
  model.l2BytesPerSecond = 10e12;
  model.tensorF16FmaPerClock = 4096;
  return model;
}

std::optional<DeviceModel> DeviceModel::named(std::string_view name) {
  if (name == "A100")
    return a100();
  if (name == "H200")
    return h200();
  if (name == "RTX4090" || name == "RTX 4090")
    return rtx4090();
  if (name == "B200")
    return b200();
  return std::nullopt;
}

std::optional<DeviceModel> DeviceModel::forCapability(int major, int minor) {
  switch (major * 10 + minor) {
  case 80:
    return a100();
  case 89:
    return rtx4090();
  case 90:
    return h200();
  case 100:
    return b200();
  }
  return std::nullopt;
}

} // namespace graphc::cudasim
