// ONNX tensors: element types, and literal data wherever it lies (in the model file, beside it, in a protobuf field).
#pragma once

#include "frontend/onnx/Failure.h"
#include "frontend/onnx/Sizes.h"
#include "frontend/onnx/WireFormat.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "runtime/base/HostTensor.h"

#include <memory>
#include <set>

namespace onnx {
class TensorProto;
}

namespace graphc::onnx_import {

/// The MLIR type of an ONNX element type number; null for those graphc does not have.
mlir::Type elementTypeOf(int32_t onnxType, mlir::MLIRContext *ctx);
/// "float8e4m3fn"
std::string elementTypeName(int32_t onnxType);
mlir::Type elementTypeOf(DType dtype, mlir::MLIRContext *ctx);
/// Bytes of one element in a file (bool: 1).
int64_t bytesOf(mlir::Type elementType);

/// A tensor whose bytes are known: little-endian, row-major.
struct Literal {
  mlir::RankedTensorType type;
  /// Where the bytes are in a file a weight may refer to; empty file: only in `owned`.
  std::string file;
  uint64_t offset = 0;
  /// The bytes, when they are at hand (always, except for external data).
  std::string_view bytes;
  std::string owned; // backs `bytes` when no file does
  std::string externalPath;
  /// Symbol of the graph.weight made of it.
  std::string weight;

  int64_t elements() const { return type.getNumElements(); }
  int64_t sizeBytes() const { return elements() * bytesOf(type.getElementType()); }
  /// Contents for shape arithmetic, when few.
  std::optional<Known> known() const;
  mlir::DenseElementsAttr dense() const;
};

struct LiteralSource {
  mlir::MLIRContext *ctx;
  std::string_view modelBytes; // of the whole file
  std::string modelFile;       // its name, for weights
  std::string folder;          // external data must lie below
  /// Gets the names of external files as they are met; may be null.
  std::shared_ptr<std::set<std::string>> externalFiles;
};

/// Decodes a tensor; `raw` is where its raw_data lies in the model file when the skeleton left it out. Fails on sizes that
/// do not fit the data, on types graphc does not have, on external data outside the folder.
std::shared_ptr<Literal> decodeTensor(const ::onnx::TensorProto &proto, std::optional<RawRange> raw, const LiteralSource &source);
std::shared_ptr<Literal> literalOf(const HostTensor &tensor, mlir::MLIRContext *ctx);
/// A literal of known contents (all constant).
std::shared_ptr<Literal> literalOf(const Known &known, mlir::RankedTensorType type);

/// One ONNX value during import. Its op is only built when something needs more than its contents.
struct Tensor {
  std::string name;
  mlir::RankedTensorType type;
  mlir::Value value;
  std::optional<Known> known;
  std::shared_ptr<Literal> literal;
  /// The small inputs whose values would make the contents known; nullopt when it depends on other data too.
  std::optional<std::set<std::string>> from = std::set<std::string>{};
  /// Of a bool that says whether two sizes are equal, where that is not known.
  std::optional<std::pair<mlir::AffineExpr, mlir::AffineExpr>> equalSizes;
  /// Not importable: an error was reported already, or `reason` says why any use is unsupported.
  bool poisoned = false;
  std::string reason;
  /// A list of values instead of a tensor (ops/Sequences.cpp).
  bool isSequence = false;
  std::vector<std::shared_ptr<Tensor>> items;
};
using TensorPtr = std::shared_ptr<Tensor>;

} // namespace graphc::onnx_import
