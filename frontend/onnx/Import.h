// ONNX model -> module with one function `main` of the graph dialect. The only header of this folder that others need.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace graphc {

/// One size of `--shape NAME=[1..64]x3x?x224`: fixed, or symbolic with an optional range.
struct ShapeDim {
  bool symbolic = false;
  int64_t size = 0;        // when fixed
  int64_t lo = 0, hi = -1; // when symbolic; hi < 0: no upper bound
};

/// "x=[1..64]x3x?x224" -> {"x", {…}}; without "NAME=" the name is empty and means the only input. A scalar is "x=".
Result<std::pair<std::string, std::vector<ShapeDim>>> parseShapeOption(std::string_view text);

struct ImportOptions {
  /// Sizes of inputs that replace those of the model, by input name ("" = the only input).
  std::map<std::string, std::vector<ShapeDim>> shapes;
  /// Inputs bound to these values while importing. They stay arguments of `main`, unused; see valueInputs.
  std::map<std::string, HostTensor> constantInputs;
};

/// code Ok = a remark. The message names node and location.
struct ImportDiagnostic {
  Code code = Code::Ok;
  std::string message;
};
using DiagnosticSink = std::function<void(const ImportDiagnostic &)>;

/// The file name under which weights of `sideBytes` are referenced.
inline constexpr const char *kSideFile = "<side>";

struct ImportResult {
  /// Null after an error. Has the attributes `graph.model` (the path) and, when inputs were bound, `graph.value_inputs`.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Weights that are not raw bytes in a file: varints, tensors held by attributes.
  std::string sideBytes;
  /// Names of the files that hold external data, below the model's folder.
  std::vector<std::string> externalFiles;
  /// Inputs on whose *values* sizes depend (the shape of a Reshape, the k of a TopK …). When an import fails for lack of
  /// them, import again with `constantInputs` holding the values at hand.
  std::vector<std::string> valueInputs;
  /// In order, also after an error: what a position means before the model could be imported.
  std::vector<std::string> inputNames;
};

/// Loads the dialects it needs into `context`. Every problem found goes to `sink`.
ImportResult importOnnx(const std::string &path, const ImportOptions &options, mlir::MLIRContext &context,
                        const DiagnosticSink &sink);

/// The same for a model in memory, which must stay alive as long as its weights are read; `name` stands for its path, and
/// external data is looked up below the folder of `name`.
ImportResult importOnnxBytes(std::string_view bytes, const std::string &name, const ImportOptions &options,
                             mlir::MLIRContext &context, const DiagnosticSink &sink);

} // namespace graphc
