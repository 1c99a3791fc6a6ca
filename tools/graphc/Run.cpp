// graphc run: compile, call once, then print, store or check the outputs.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/Npy.h"
#include "frontend/tensor/Npz.h"
#include "frontend/tensor/PrintTensor.h"
#include "frontend/tensor/TensorSpec.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Report.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <iostream>
#include <memory>

namespace graphc::tool {
namespace {

struct RunOptions {
  ModelOptions model;
  InputOptions inputs;
  ExpectedOptions expected;
  std::vector<std::string> outputs;
};

/// `[NAME=]FILE.npy` for one output, or `FILE.npz` for all of them.
Status storeOutputs(const std::vector<std::string> &files, std::span<const Port> ports, std::vector<HostTensor> &tensors) {
  std::vector<std::optional<std::string>> names;
  std::vector<std::string> paths;
  for (const std::string &file : files) {
    if (file.ends_with(".npz")) {
      NamedTensors all;
      for (size_t i = 0; i < ports.size(); ++i)
        all.emplace_back(ports[i].name, HostTensor::borrow(tensors[i].dtype(), tensors[i].shape(), tensors[i].raw()));
      GRAPHC_RETURN_IF_ERROR(writeNpz(file, all));
      continue;
    }
    if (!file.ends_with(".npy"))
      return error(Code::InvalidOption, "--output ", file, ": expected FILE.npy, NAME=FILE.npy or FILE.npz");
    size_t equals = file.find('=');
    names.push_back(equals == std::string::npos ? std::nullopt : std::optional(file.substr(0, equals)));
    paths.push_back(equals == std::string::npos ? file : file.substr(equals + 1));
  }
  GRAPHC_ASSIGN_OR_RETURN(std::vector<size_t> assigned, assignPorts(names, ports, "output"));
  for (size_t i = 0; i < assigned.size(); ++i)
    GRAPHC_RETURN_IF_ERROR(writeNpy(paths[i], tensors[assigned[i]]));
  return {};
}

Result<int> run(RunOptions &options) {
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  GRAPHC_ASSIGN_OR_RETURN(Tolerance tolerance, options.expected.tolerance());
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider()));
  if (!model.runnable()) {
    std::cerr << "graphc: stopped after phase " << options.model.toPhase << "\n";
    return kExitOk;
  }
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, options.inputs.resolve(model.inputs()));
  GRAPHC_ASSIGN_OR_RETURN(auto expected, options.expected.resolve(model.outputs(), options.inputs.testData));
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, model.run(inputs));
  GRAPHC_RETURN_IF_ERROR(storeOutputs(options.outputs, model.outputs(), outputs));

  bool checks = false;
  std::vector<std::string> mismatches;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &name = model.outputs()[i].name;
    if (!expected[i])
      continue;
    checks = true;
    Comparison comparison = compareTensors(outputs[i], *expected[i], tolerance);
    if (comparison.matches)
      std::cout << "output '" << name << "' " << comparison.message << "\n";
    else
      mismatches.push_back(text("output '", name, "' ", comparison.message));
  }
  std::cout.flush();
  if (!mismatches.empty())
    return reportMismatch(joined(mismatches, "\n"));
  if (!checks && options.outputs.empty())
    for (size_t i = 0; i < outputs.size(); ++i)
      std::cout << model.outputs()[i].name << ": " << tensorText(outputs[i], 1000) << "\n";
  std::cout.flush();
  GRAPHC_RETURN_IF_ERROR(model.keep());
  return kExitOk;
}

} // namespace

Action declareRun(CLI::App &app) {
  auto options = std::make_shared<RunOptions>(); // shared by CLI11's callbacks and the action
  options->model.declare(app);
  options->inputs.declare(app);
  options->expected.declare(app);
  app.add_option("--output", options->outputs, "[NAME=]FILE.npy for an output, FILE.npz for all")->take_all();
  return [options] { return run(*options); };
}

} // namespace graphc::tool
