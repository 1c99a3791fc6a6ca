// import-sweep DIR-or-MODEL... [--print] [--bind] [--values] [--shape NAME=SIZES]...: imports every .onnx file found and counts imported,
// unsupported, failed. With --bind, inputs whose values sizes depend on are read from test_data_set_0 and the model is
// imported again (what `graphc run` does). With --values the imported graph then runs on the reference interpreter, and
// its outputs are compared with the test data: an import fault shows without any kernel. Every model runs in a child
// process, so that a crash is one line and not the end.
#include "codegen/reference/Interpreter.h"
#include "frontend/onnx/Import.h"
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/TensorProtoFile.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <onnx/onnx_pb.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace graphc;

namespace {
enum Outcome { Imported = 0, Unsupported = 10, Failed = 11, Wrong = 12 };

std::string readBytes(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs every data set of a model's folder on the reference; an empty string when all outputs match.
std::string compareValues(ImportResult &imported, const fs::path &folder) {
  auto loadWeight = [&](graph::WeightOp weight) -> Result<HostTensor> {
    auto type = mlir::cast<mlir::RankedTensorType>(weight.getType());
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(reference::dtypeOfElement(type.getElementType()), Shape(type.getShape().vec())));
    std::string bytes = weight.getFile() == kSideFile ? imported.sideBytes : readBytes(folder / weight.getFile().str());
    if (bytes.size() < weight.getOffset() + tensor.sizeBytes())
      return error(Code::WeightFile, "weight ", weight.getSymName().str(), " lies outside its file");
    std::memcpy(tensor.raw(), bytes.data() + weight.getOffset(), tensor.sizeBytes());
    return tensor;
  };
  auto main = imported.module->lookupSymbol<mlir::func::FuncOp>("main");
  int sets = 0;
  for (; fs::exists(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
    fs::path data = folder / ("test_data_set_" + std::to_string(sets));
    std::vector<HostTensor> inputs;
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      auto tensor = readTensorProto((data / ("input_" + std::to_string(i) + ".pb")).string());
      if (!tensor.ok())
        return tensor.status().str();
      inputs.push_back(std::move(*tensor));
    }
    reference::Interpreter interpreter(*imported.module, loadWeight);
    auto outputs = interpreter.run(main, inputs);
    if (!outputs.ok())
      return outputs.status().str();
    for (size_t i = 0; i < outputs->size(); ++i) {
      auto want = readTensorProto((data / ("output_" + std::to_string(i) + ".pb")).string());
      if (!want.ok())
        return want.status().str();
      Comparison c = compareTensors((*outputs)[i], *want, Tolerance::node());
      if (!c.matches)
        return text("output ", i, ": ", c.message);
    }
  }
  return sets ? "" : "no test data";
}

int importOne(const std::string &path, bool print, bool bind, bool values,
              const std::map<std::string, std::vector<ShapeDim>> &shapes) {
  mlir::MLIRContext context;
  ImportOptions options;
  options.shapes = shapes;
  std::vector<ImportDiagnostic> problems;
  auto sink = [&](const ImportDiagnostic &d) {
    if (d.code != Code::Ok)
      problems.push_back(d);
    else if (print)
      std::cout << "remark: " << d.message << "\n";
  };
  ImportResult result = importOnnx(path, options, context, sink);
  // Values may be needed one after another: a shape, then what follows from it.
  std::set<std::string> asked;
  while (bind && !result.module && !result.valueInputs.empty()) {
    size_t before = options.constantInputs.size();
    onnx::ModelProto model;
    std::ifstream in(path, std::ios::binary);
    model.ParseFromIstream(&in);
    std::set<std::string> initializers;
    for (const auto &t : model.graph().initializer())
      initializers.insert(t.name());
    int index = 0;
    for (const auto &input : model.graph().input()) {
      if (initializers.count(input.name()))
        continue;
      fs::path file = fs::path(path).parent_path() / "test_data_set_0" / ("input_" + std::to_string(index++) + ".pb");
      if (std::find(result.valueInputs.begin(), result.valueInputs.end(), input.name()) == result.valueInputs.end() || options.constantInputs.count(input.name()))
        continue;
      if (auto tensor = readTensorProto(file.string()); tensor.ok())
        options.constantInputs.emplace(input.name(), std::move(*tensor));
    }
    if (options.constantInputs.size() == before)
      break;
    problems.clear();
    result = importOnnx(path, options, context, sink);
  }
  if (result.module && print) {
    mlir::OpPrintingFlags flags;
    result.module->print(llvm::outs(), flags);
    llvm::outs().flush(); // the child leaves through _exit
  }
  for (auto &p : problems)
    std::cout << "  " << codeName(p.code) << ": " << p.message << "\n";
  std::cout.flush();
  if (result.module && values) {
    std::string problem = compareValues(result, fs::path(path).parent_path());
    if (!problem.empty())
      std::cout << "  " << problem << "\n" << std::flush;
    return problem.empty() ? Imported : Wrong;
  }
  if (result.module)
    return Imported;
  return std::all_of(problems.begin(), problems.end(), [](auto &p) { return p.code == Code::UnsupportedOp; }) && !problems.empty() ? Unsupported : Failed;
}
} // namespace

int main(int argc, char **argv) {
  bool print = false, bind = false, values = false;
  std::vector<std::string> files;
  std::map<std::string, std::vector<ShapeDim>> shapes;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--print") {
      print = true;
    } else if (arg == "--bind") {
      bind = true;
    } else if (arg == "--shape" && i + 1 < argc) {
      auto parsed = parseShapeOption(argv[++i]);
      if (!parsed.ok()) {
        std::cerr << "import-sweep: " << parsed.status().str() << "\n";
        return 2;
      }
      shapes.insert(*parsed);
    } else if (arg == "--values") {
      bind = values = true;
    } else if (fs::is_directory(arg)) {
      for (const auto &entry : fs::recursive_directory_iterator(arg))
        if (entry.path().extension() == ".onnx")
          files.push_back(entry.path().string());
    } else {
      files.push_back(arg);
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::cerr << "usage: import-sweep DIR-or-MODEL... [--print] [--bind] [--values] [--shape NAME=SIZES]...\n";
    return 2;
  }
  int imported = 0, unsupported = 0, failed = 0, wrong = 0, crashed = 0;
  for (const std::string &file : files) {
    std::cout.flush();
    pid_t child = fork();
    if (child == 0)
      _exit(importOne(file, print, bind, values, shapes));
    int status = 0;
    waitpid(child, &status, 0);
    const char *word = "crash";
    if (!WIFEXITED(status)) {
      ++crashed;
    } else if (WEXITSTATUS(status) == Imported) {
      ++imported;
      word = "imported";
    } else if (WEXITSTATUS(status) == Unsupported) {
      ++unsupported;
      word = "unsupported";
    } else if (WEXITSTATUS(status) == Failed) {
      ++failed;
      word = "failed";
    } else if (WEXITSTATUS(status) == Wrong) {
      ++wrong;
      word = "wrong";
    } else {
      ++crashed;
    }
    std::cout << word << " " << file << "\n";
  }
  std::cout << files.size() << " models: " << imported << " imported, " << unsupported << " unsupported, " << failed << " failed, "
            << (values ? text(wrong, " wrong, ") : "") << crashed << " crashed\n";
  return crashed || failed || wrong ? 1 : 0;
}
