// graphc-gpu-check: runs the .gcx files of a folder on a CUDA device, checks their answers and measures them. No compiler, no
// network: what tools/dev/gpu-check packs on one machine is run on another.
//
//   graphc-gpu-check --device cuda:0 --models FOLDER [--seconds S] [--bandwidth GB/s]
//
// FOLDER/NAME.gcx is compared with FOLDER/NAME/{input,output}_K.pb. Each model runs call by call, back to back in the
// background, and as a recording; the table gives times, what they mean as bytes and products per second, and the share
// of the device's bandwidth. Exit status 5 when an answer is wrong, 3 when there is no device.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/TensorProtoFile.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/devices/Devices.h"
#include "runtime/plan/PlanCheck.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

namespace fs = std::filesystem;
using namespace graphc;

namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

struct Row {
  std::string name, verdict;
  bool right = false;
  double loadMs = 0, firstMs = 0, callMs = 0, queuedMs = 0, recordedMs = 0;
  double bytes = 0, flops = 0; // of one call
};

/// What the plan's commands read and write, each buffer once per command, and the products they make. Sizes that calls choose
/// are left out.
void addWork(const plan::PlanT &plan, Row &row) {
  auto bytesOf = [&](int buffer) {
    double bytes = static_cast<double>(sizeOf(plan::toDType(plan.buffers[buffer]->dtype)));
    for (int dim : plan.buffers[buffer]->dims)
      bytes *= plan.exprs[dim].op() == plan::ExprOp::Const ? static_cast<double>(plan.exprs[dim].value()) : 0;
    return bytes;
  };
  for (const auto &command : plan.main) {
    row.flops += command->flops;
    for (const std::vector<int> *buffers : {&command->reads, &command->writes})
      for (int buffer : *buffers)
        row.bytes += bytesOf(buffer);
  }
}

/// FOLDER/prefix_0.pb, prefix_1.pb, …
Result<std::vector<HostTensor>> readTensors(const fs::path &folder, const std::string &prefix) {
  std::vector<HostTensor> tensors;
  for (int i = 0; fs::exists(folder / text(prefix, "_", i, ".pb")); ++i) {
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto((folder / text(prefix, "_", i, ".pb")).string()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// The median time of one call, over `seconds`; `block` calls are queued before each wait.
Result<double> measure(const Executable &executable, const std::shared_ptr<ComputeDevice> &device, std::span<const DeviceTensor> inputs,
                       int block, double seconds) {
  GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, executable.newContext());
  std::vector<DeviceTensor> outputs(executable.signature().outputs.size());
  std::vector<double> times;
  auto begin = Clock::now();
  for (int round = 0; round < 8 || (msSince(begin) < seconds * 1000 && round < 10000); ++round) {
    auto start = Clock::now();
    for (int i = 0; i < block; ++i) {
      for (DeviceTensor &output : outputs)
        output = {};
      GRAPHC_RETURN_IF_ERROR(executable.run(*context, inputs, outputs));
    }
    GRAPHC_RETURN_IF_ERROR(device->synchronize());
    if (round >= 5) // the first calls find memory, and decide about the recording
      times.push_back(msSince(start) / block);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

Status check(const fs::path &artifact, const std::shared_ptr<ComputeDevice> &device, double seconds, Row &row) {
  fs::path folder = artifact.parent_path() / artifact.stem();
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, readTensors(folder, "input"));
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> expected, readTensors(folder, "output"));
  ArtifactOptions options;
  options.device = device;
  auto start = Clock::now();
  GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable, loadArtifact(artifact.string(), options));
  row.loadMs = msSince(start);
  addWork(executable->plan(), row);
  std::vector<HostTensor> outputs(executable->signature().outputs.size());
  if (expected.size() != outputs.size())
    return error(Code::FileSystem, folder.string(), " has ", expected.size(), " expected outputs, the model has ", outputs.size());
  start = Clock::now();
  GRAPHC_RETURN_IF_ERROR(executable->run(inputs, outputs));
  row.firstMs = msSince(start);
  row.right = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Comparison comparison = compareTensors(outputs[i], expected[i], Tolerance::network());
    if (!comparison.matches)
      row.verdict += text(row.verdict.empty() ? "" : "; ", "output ", i, " ", comparison.message);
    row.right = row.right && comparison.matches;
  }

  std::vector<DeviceTensor> resident;
  for (const HostTensor &input : inputs) {
    GRAPHC_ASSIGN_OR_RETURN(DeviceTensor tensor, DeviceTensor::fromHost(device, input, device->defaultQueue()));
    resident.push_back(std::move(tensor));
  }
  GRAPHC_ASSIGN_OR_RETURN(row.callMs, measure(*executable, device, resident, 1, seconds));
  GRAPHC_ASSIGN_OR_RETURN(row.queuedMs, measure(*executable, device, resident, 8, seconds));
  executable.reset();
  options.record = RecordPolicy::Always;
  GRAPHC_ASSIGN_OR_RETURN(executable, loadArtifact(artifact.string(), options));
  std::vector<DeviceTensor> recorded(outputs.size());
  GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, executable->newContext());
  for (int round = 0; round < 3; ++round) { // the walk, the recording, a replay
    recorded = std::vector<DeviceTensor>(outputs.size());
    GRAPHC_RETURN_IF_ERROR(executable->run(*context, resident, recorded));
  }
  for (size_t i = 0; i < recorded.size(); ++i) {
    GRAPHC_ASSIGN_OR_RETURN(HostTensor replayed, recorded[i].toHost());
    if (Comparison comparison = compareTensors(replayed, outputs[i], Tolerance::exact()); !comparison.matches) {
      row.right = false;
      row.verdict += text(row.verdict.empty() ? "" : "; ", "replayed output ", i, " ", comparison.message);
    }
  }
  GRAPHC_ASSIGN_OR_RETURN(row.recordedMs, measure(*executable, device, resident, 8, seconds));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::string deviceName = "cuda:0", folder;
  double seconds = 1, bandwidth = 0;
  CLI::App app("Runs the .gcx files of a folder on a CUDA device, checks their answers and measures them.");
  app.add_option("--device", deviceName, "cuda[:N] (default) or sim[:N]");
  app.add_option("--models", folder, "folder of NAME.gcx and NAME/{input,output}_K.pb")->required();
  app.add_option("--seconds", seconds, "how long each measurement takes, 1 by default");
  app.add_option("--bandwidth", bandwidth, "of the device's memory, in GB/s, for the last column");
  CLI11_PARSE(app, argc, argv);

  auto fail = [](const Status &status) {
    std::cerr << "graphc-gpu-check: error " << status.str() << "\n";
    return 3;
  };
  auto id = DeviceId::parse(deviceName);
  if (!id.ok())
    return fail(id.status());
  auto device = openDevice(*id);
  if (!device.ok())
    return fail(device.status());
  const DeviceProperties &properties = (*device)->properties();
  std::printf("%s: %s, %s, %d multiprocessors, %s\n\n", deviceName.c_str(), properties.name.c_str(), properties.architecture.c_str(),
              properties.multiprocessors, bytesText(properties.memoryBytes).c_str());

  std::vector<fs::path> artifacts;
  std::error_code problem;
  for (const auto &entry : fs::directory_iterator(folder, problem))
    if (entry.path().extension() == ".gcx")
      artifacts.push_back(entry.path());
  std::sort(artifacts.begin(), artifacts.end());
  if (artifacts.empty()) {
    std::cerr << "graphc-gpu-check: error: '" << folder << "' has no .gcx file\n";
    return 1;
  }
  std::printf("%-28s %-8s %9s %9s %9s %9s %9s %9s %9s%s\n", "model", "answer", "load ms", "first ms", "call ms", "queued", "recorded", "GB/s",
              "GFLOP/s", bandwidth > 0 ? "  % of DRAM" : "");
  int wrong = 0;
  for (const fs::path &artifact : artifacts) {
    Row row;
    row.name = artifact.stem().string();
    Status status = check(artifact, *device, seconds, row);
    if (!status.ok()) {
      row.right = false;
      row.verdict = status.str();
    }
    double best = std::min(row.queuedMs, row.recordedMs);
    double gigabytes = best > 0 ? row.bytes / best * 1e-6 : 0, gigaflops = best > 0 ? row.flops / best * 1e-6 : 0;
    std::printf("%-28s %-8s %9.1f %9.2f %9.4f %9.4f %9.4f %9.1f %9.1f", row.name.c_str(), row.right ? "right" : "WRONG", row.loadMs, row.firstMs,
                row.callMs, row.queuedMs, row.recordedMs, gigabytes, gigaflops);
    if (bandwidth > 0)
      std::printf("  %8.1f", 100 * gigabytes / bandwidth);
    std::printf("\n");
    if (!row.verdict.empty())
      std::printf("    %s\n", row.verdict.c_str());
    std::fflush(stdout);
    wrong += !row.right;
  }
  std::printf("\n%zu models, %d wrong\n", artifacts.size(), wrong);
  return wrong ? 5 : 0;
}
