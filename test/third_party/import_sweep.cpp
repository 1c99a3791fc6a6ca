// import-sweep DIR-or-MODEL... [--print] [--bind]: imports every .onnx file found and counts imported, unsupported,
// failed. With --bind, inputs whose values sizes depend on are read from test_data_set_0 and the model is imported again
// (what `graphc run` does). Every import runs in a child process, so that a crash is one line and not the end.
#include "frontend/onnx/Import.h"
#include "frontend/tensor/TensorProtoFile.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
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
enum Outcome { Imported = 0, Unsupported = 10, Failed = 11 };

int importOne(const std::string &path, bool print, bool bind) {
  mlir::MLIRContext context;
  ImportOptions options;
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
  }
  for (auto &p : problems)
    std::cout << "  " << codeName(p.code) << ": " << p.message << "\n";
  std::cout.flush();
  if (result.module)
    return Imported;
  return std::all_of(problems.begin(), problems.end(), [](auto &p) { return p.code == Code::UnsupportedOp; }) && !problems.empty() ? Unsupported : Failed;
}
} // namespace

int main(int argc, char **argv) {
  bool print = false, bind = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--print") {
      print = true;
    } else if (arg == "--bind") {
      bind = true;
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
    std::cerr << "usage: import-sweep DIR-or-MODEL... [--print] [--bind]\n";
    return 2;
  }
  int imported = 0, unsupported = 0, failed = 0, crashed = 0;
  for (const std::string &file : files) {
    std::cout.flush();
    pid_t child = fork();
    if (child == 0)
      _exit(importOne(file, print, bind));
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
    } else {
      ++crashed;
    }
    std::cout << word << " " << file << "\n";
  }
  std::cout << files.size() << " models: " << imported << " imported, " << unsupported << " unsupported, " << failed << " failed, " << crashed << " crashed\n";
  return crashed ? 1 : 0;
}
