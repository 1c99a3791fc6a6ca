// graphc-op-test FILE.mlir [--device D]: runs every case of an op's value test (format: README.md) on every device
// that this build runs models on, and says which case differs where.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/ReadFile.h"
#include "frontend/tensor/TensorSpec.h"
#include "test/ops/RunCase.h"

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace graphc;
using namespace graphc::test;

namespace {

struct Case {
  std::string name, module;
  int line = 0; // of the case in its file
  std::vector<HostTensor> inputs, outputs;
  Tolerance tolerance = Tolerance::exact();
  std::map<std::string, std::string> notOn; // device -> reason
};

Result<std::vector<Case>> parseCases(const std::string &text) {
  std::vector<Case> cases(1);
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    Case &current = cases.back();
    auto after = [&](std::string_view word) { return line.starts_with(word) ? std::optional(line.substr(word.size())) : std::nullopt; };
    auto here = [&](const Status &status) { return error(status.code(), "line ", number, ": ", status.message()); };
    if (line == "// -----") {
      cases.emplace_back();
    } else if (auto name = after("// case: ")) {
      current.name = *name;
      current.line = number;
    } else if (auto spec = after("// in: ")) {
      auto tensor = parseTensorSpec(*spec);
      if (!tensor.ok())
        return here(tensor.status());
      current.inputs.push_back(std::move(tensor->tensor));
    } else if (auto spec = after("// out: ")) {
      auto tensor = parseTensorSpec(*spec);
      if (!tensor.ok())
        return here(tensor.status());
      current.outputs.push_back(std::move(tensor->tensor));
    } else if (auto numbers = after("// tol: ")) {
      std::istringstream(*numbers) >> current.tolerance.rtol >> current.tolerance.atol;
    } else if (auto device = after("// not-on: ")) {
      size_t colon = device->find(": ");
      if (colon == std::string::npos)
        return here(error(Code::InvalidOption, "not-on needs a reason: `// not-on: cpu: the reason`"));
      current.notOn[device->substr(0, colon)] = device->substr(colon + 2);
    }
    current.module += line + "\n";
  }
  for (const Case &one : cases)
    if (one.name.empty() || one.outputs.empty())
      return error(Code::InvalidOption, "a case before line ", one.line, " lacks `// case:` or `// out:`");
  return cases;
}

/// What is wrong with the case on the device; empty when nothing is.
std::string check(const Case &one, const std::string &device) {
  auto outputs = runCase(device, one.module, one.inputs);
  if (!outputs.ok())
    return outputs.status().str();
  if (outputs->size() != one.outputs.size())
    return text(outputs->size(), " outputs, expected ", one.outputs.size());
  for (size_t i = 0; i < outputs->size(); ++i)
    if (Comparison comparison = compareTensors((*outputs)[i], one.outputs[i], one.tolerance); !comparison.matches)
      return text("output ", i, " ", comparison.message);
  return "";
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> devices = caseDevices();
  if (argc == 4 && std::string_view(argv[2]) == "--device")
    devices = {argv[3]};
  else if (argc != 2) {
    std::cerr << "usage: graphc-op-test FILE.mlir [--device reference|cpu|cpu:LEVEL]\n";
    return 2;
  }
  auto text = readFile(argv[1]);
  auto cases = text.ok() ? parseCases(*text) : Result<std::vector<Case>>(text.status());
  if (!cases.ok()) {
    std::cerr << argv[1] << ": " << cases.status().message() << "\n";
    return 2;
  }
  int failed = 0, passed = 0;
  for (const Case &one : *cases)
    for (const std::string &device : devices) {
      std::string wrong = check(one, device);
      auto excuse = one.notOn.find(device.substr(0, device.find(':')));
      if (excuse != one.notOn.end()) {
        if (wrong.empty()) {
          std::cout << argv[1] << ":" << one.line << ": " << device << ": '" << one.name << "' passes now; remove its not-on line\n";
          ++failed;
        }
        continue;
      }
      ++(wrong.empty() ? passed : failed);
      if (!wrong.empty())
        std::cout << argv[1] << ":" << one.line << ": " << device << ": '" << one.name << "': " << wrong << "\n";
    }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 && passed > 0 ? 0 : 1;
}
