// Walks one scheduled kernel and writes CUDA C++.
//
// Values become expressions: what is used once where it stands is written into its use, everything else gets a name that says
// what it is (in0_1, sum_2). Indices are `int` when every buffer and domain is known to stay below 2^31, `long long` otherwise.
#pragma once
#include "codegen/common/Access.h"
#include "codegen/cuda/Attention.h"
#include "codegen/cuda/Contraction.h"
#include "codegen/cuda/CudaCodegen.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace graphc::codegen::cuda {

/// Whether the elements that `lanes` neighbouring values of `iv` access are one pack, which may start wherever their buffer is
/// aligned. `guarded`: also of loads with a fill value, whose guard the caller looks at.
bool isPack(kernel::AccessOp op, mlir::Value iv, int64_t lanes, bool guarded = false);

/// C++ spelling of a kernel's element type; `index` is the kernel's own index type.
std::string typeName(mlir::Type type, llvm::StringRef index);

class KernelPrinter {
public:
  explicit KernelPrinter(kernel::FuncOp kernel);
  mlir::FailureOr<KernelSource> print();

  /// A device function `NAME(x)` of a math op, printed from the shared expansion.
  static std::string helperFunction(llvm::StringRef name, mlir::MLIRContext *context);

private:
  /// An expression; `atom` says that it needs no parentheses.
  struct Text {
    std::string text;
    bool atom = true;
  };
  using Lines = std::function<void()>;

  KernelPrinter() = default;

  //===-- text --------------------------------------------------------------------------------------------------===//
  void line(const llvm::Twine &text);
  void open(const llvm::Twine &text) {
    line(text + " {");
    ++depth_;
  }
  void close(llvm::StringRef after = "") {
    --depth_;
    line("}" + after);
  }
  std::string fresh(llvm::StringRef base);

  //===-- ValuePrinter.cpp: scalars ---------------------------------------------------------------------------------===//
  void printOps(mlir::Block &block);
  void printOp(mlir::Operation *op);
  std::optional<Text> expression(mlir::Operation *op);
  Text floatMath(mlir::Operation *op);
  Text literal(mlir::TypedAttr value);
  Text compareFloats(mlir::arith::CmpFOp op);
  Text call(llvm::StringRef function, std::initializer_list<std::string> arguments);
  std::string use(mlir::Value value);  // with parentheses where needed
  std::string raw(mlir::Value value);  // as an argument or initialiser
  void set(mlir::Value value, Text text) { names_[value] = std::move(text); }
  void define(mlir::Operation *op, Text text);
  bool isInlined(mlir::Operation *op, const Text &text);
  std::string type(mlir::Type type) { return typeName(type, index_); }

  //===-- IndexPrinter.cpp: affine expressions, loads, stores, checks --------------------------------------------------===//
  Text affine(mlir::AffineExpr expr, const ValueSpace &space);
  std::string affineRaw(mlir::AffineExpr expr, const ValueSpace &space) { return affine(expr, space).text; }
  bool isNonNegative(mlir::AffineExpr expr, const ValueSpace &space);
  std::string offset(const LinearAccess &access) { return affineRaw(access.offset, access.space); }
  /// Conditions under which every index lies inside its dim; empty when that is known.
  std::string inBounds(const LinearAccess &access);
  void printLoad(kernel::LoadOp op);
  void printStore(kernel::StoreOp op);
  void printCheck(kernel::CheckIndexOp op);
  std::string element(mlir::Value buffer, llvm::StringRef offset);
  std::string sizeText(kernel::LoopOp loop, unsigned dim);
  /// `sizes` of a loop multiplied.
  std::string countText(kernel::LoopOp loop, unsigned first, unsigned count);
  /// Names the ivs [first, first + count) of a loop from one number in row-major order.
  void decode(kernel::LoopOp loop, unsigned first, unsigned count, llvm::StringRef linear);
  std::string joined(llvm::ArrayRef<std::string> factors);

  //===-- LoopPrinter.cpp: one thread a point ----------------------------------------------------------------------===//
  void printPerThread(kernel::ParallelOp op);
  void printPack(kernel::ParallelOp op, int64_t lanes);
  void printNest(kernel::LoopOp op, llvm::StringRef step, const Lines &body);
  void printMap(kernel::MapOp op);
  void printReduce(kernel::ReduceOp op);
  void printScan(kernel::ScanOp op);
  std::vector<std::string> declareState(kernel::ReduceOp op);
  void combineInto(kernel::ReduceOp op, llvm::ArrayRef<std::string> state, llvm::ArrayRef<std::string> other);

  //===-- GroupPrinter.cpp: a group of threads a point ------------------------------------------------------------------===//
  void printGroup(kernel::ParallelOp op);
  void planRegisters(kernel::ParallelOp op);
  void groupReduce(kernel::ReduceOp op);
  void groupMap(kernel::MapOp op);
  void printShare(kernel::LoopOp pass, const Lines &eachElement);
  void combineAcrossGroup(kernel::ReduceOp op, llvm::ArrayRef<std::string> state);

  //===-- TilePrinter.cpp, TransposePrinter.cpp: shared memory ------------------------------------------------------===//
  struct Bringing;
  void printTiles(kernel::ParallelOp op);
  Bringing planBringing(kernel::ParallelOp op, const Contraction &match, bool rows);
  void printLines(kernel::ParallelOp op, Bringing &plan);
  void printBringing(kernel::ParallelOp op, const Contraction &match, const Bringing &plan, bool wholeSteps);
  void printProducts(mlir::Type element);
  void printAfterSum(kernel::ParallelOp op, const Contraction &match);
  void printTransposed(kernel::ParallelOp op);

  //===-- AttentionPrinter.cpp ----------------------------------------------------------------------------------------===//
  void printAttention(kernel::ParallelOp op, const Attention &match);
  void printLinesTo(llvm::StringRef tile, kernel::ParallelOp op, mlir::Value factor, mlir::Value lineIv, mlir::Value elementIv, int64_t lines,
                    int64_t width, int64_t size, llvm::StringRef first, llvm::StringRef count);
  void printAmongMembers(const std::string &value, const std::function<std::string(const std::string &)> &join);

  std::string header();
  std::string signature();

  kernel::FuncOp kernel_;
  std::string text_;
  unsigned depth_ = 0;
  std::string index_ = "int";
  llvm::DenseMap<mlir::Value, Text> names_;
  llvm::DenseSet<mlir::Value> nonNegative_;
  llvm::StringMap<unsigned> counts_;
  llvm::DenseSet<mlir::Value> stored_;
  std::set<std::string> helpers_;
  /// Loads and stores that go elsewhere than to their buffer: packs of neighbouring elements, tiles in shared memory.
  llvm::DenseMap<mlir::Operation *, std::string> packs_;
  std::string alignedName_; // of the flag that says whether packs may move as one access
  LaunchShape launch_;
  bool failed_ = false;

  // A group of threads at one point.
  struct Group {
    int64_t size = 0;        // threads at one point
    bool strided = false;    // `columns`: they are `across` threads apart
    int64_t across = 1;      // points of one block
    std::string member;      // this thread's number in its group
  } group_;

  /// Elements of a row that stay in registers from the first pass that has them to the last that needs them.
  struct Kept {
    std::string name;
    bool filled = false;       // an earlier pass has loaded or computed it
    unsigned passesLeft = 0;   // that store it
  };
  std::vector<Kept> kept_;
  llvm::DenseMap<mlir::Operation *, unsigned> keptIndex_; // access -> kept_
};

} // namespace graphc::codegen::cuda
