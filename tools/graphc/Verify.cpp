// graphc verify: the compiled model against the reference interpreter; says which phase, group and op diverges.
#include "frontend/compile/CompilerLibrary.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Report.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <iostream>
#include <memory>
#include <unistd.h>

namespace graphc::tool {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string tol;
};

/// What is being done, on a terminal only.
void showProgress(const std::string &what) {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\x1b[K" << what.substr(0, 100) << std::flush;
}

Result<int> verify(Options &options) {
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  if (options.model.model.ends_with(".gcx"))
    return error(Code::InvalidOption, "'", options.model.model, "': an artifact does not hold the graph it was made from; verify the .onnx or .mlir");
  ExpectedOptions tolerance;
  tolerance.tol = !options.tol.empty() ? options.tol : options.model.amp.empty() ? "network" : "bf16";
  VerifyOptions verifying;
  GRAPHC_ASSIGN_OR_RETURN(verifying.outputs, tolerance.tolerance());
  // The inputs' names and types are the compiled model's to know.
  GRAPHC_ASSIGN_OR_RETURN(Model model, Model::load(options.model, options.inputs.provider()));
  if (!model.runnable())
    return error(Code::InvalidOption, "--to-phase has no use here: verify runs the whole model");
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs, options.inputs.resolve(model.inputs()));
  verifying.compile = compileOptionsOf(options.model);
  verifying.compile.constantInputs = model.takeConstantInputs();
  verifying.progress = showProgress;
  GRAPHC_ASSIGN_OR_RETURN(const CompilerEntry *compiler, openCompiler());
  auto report = compiler->verifyFile(options.model.model, std::move(verifying), inputs);
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\x1b[K";
  if (!report.ok())
    return report.status();

  std::vector<std::string> problems;
  for (const VerifyFinding &finding : report->findings) {
    constexpr const char *kKinds[] = {"phase ", "group ", "", "", "not checked: "};
    std::string line = text(kKinds[finding.kind], finding.name, finding.kind == VerifyFinding::NotChecked ? ": " : " ", finding.message);
    if (finding.kind == VerifyFinding::NotChecked)
      std::cout << line << "\n";
    else
      problems.push_back(line);
  }
  if (!report->matches())
    return reportMismatch(joined(problems, "\n"));
  std::cout << "verified: " << report->phases << " phases, " << report->groups << " groups and the whole model match the reference interpreter\n";
  return kExitOk;
}

} // namespace

Action declareVerify(CLI::App &app) {
  auto options = std::make_shared<Options>();
  options->model.declare(app);
  options->inputs.declare(app);
  app.add_option("--tol", options->tol, "rule for the model's outputs: network (default; bf16 with --amp), node, bf16 or exact");
  return [options] { return verify(*options); };
}

} // namespace graphc::tool
