// Compiling a model inside another program: the library `graphc`, which brings MLIR and LLVM along.
//
//   graphc::Runtime runtime;
//   graphc::Model model = graphc::compileModel(runtime, "resnet50.onnx");
//
// Throws graphc::Error. The model runs on the runtime's pool, like those it loads.
#pragma once

#include "frontend/graphc/runtime.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace graphc {

struct CompileModelOptions {
  /// Sizes of inputs: "NAME=[1..64]x3x?x224"; '?' and ranges stay symbolic.
  std::vector<std::string> shapes;
  std::string cpuLevel = "host"; // v3, v4, v4-bf16, v4-amx, host
  /// Where compiled models are kept and found again; empty: nowhere.
  std::string cacheFolder;
  bool strict = false; // what would be a line of warning is an error
  /// Values of inputs that sizes depend on (the shape operand of a Reshape …), by name.
  std::map<std::string, HostTensor> constantInputs;
  /// Warnings, one line each.
  std::function<void(const std::string &line)> log;
};

Model compileModel(Runtime &runtime, const std::string &path, CompileModelOptions options = {});

} // namespace graphc
