// The formula is run in chunks of kLanes result points: one pass over the nodes computes kLanes values of each, so the
// cost of interpreting is shared. Reductions loop around the nodes that belong to them.
#include "codegen/reference/Evaluate.h"
#include "codegen/reference/Parallel.h"
#include "codegen/reference/Scalars.h"
#include "runtime/base/Float16.h"
#include <bit>
#include <mutex>

namespace graphc::reference {
namespace {

constexpr int kLanes = 256;

/// The first index out of range that anybody saw.
struct RangeError {
  std::mutex mutex;
  bool seen = false;
  int64_t value = 0, limit = 0;
  void report(int64_t v, int64_t l) {
    std::lock_guard lock(mutex);
    if (!seen)
      value = v, limit = l;
    seen = true;
  }
};

class Evaluator {
public:
  Evaluator(const Formula &formula, RangeError &error)
      : formula(formula), error(error), lanes(new std::byte[formula.nodes.size() * kLanes * 8]) {
    for (size_t id = 0; id < formula.nodes.size(); ++id)
      if (formula.nodes[id].code == NodeCode::Constant) {
        const FormulaNode &node = formula.nodes[id];
        for (int l = 0; l < kLanes; ++l)
          node.type.isFloat() ? void(floats(id)[l] = std::bit_cast<double>(node.payload)) : void(integers(id)[l] = node.payload);
      }
  }

  /// Result points [begin, begin + n) in row-major order.
  void run(int64_t begin, int n, WideTensor &result) {
    lanesUsed = n;
    setPositions(begin);
    runBody(formula.loops[0]);
    if (result.isFloat())
      std::copy_n(floats(formula.result), n, result.floats() + begin);
    else
      std::copy_n(integers(formula.result), n, result.integers() + begin);
  }

private:
  double *floats(int node) { return reinterpret_cast<double *>(lanes.get() + size_t(node) * kLanes * 8); }
  int64_t *integers(int node) { return reinterpret_cast<int64_t *>(lanes.get() + size_t(node) * kLanes * 8); }

  void setPositions(int64_t begin) {
    const FormulaLoop &loop = formula.loops[0];
    int rank = loop.sizes.size();
    llvm::SmallVector<int64_t> at(rank);
    for (int d = rank - 1; d >= 0; --d) {
      at[d] = begin % loop.sizes[d];
      begin /= loop.sizes[d];
    }
    for (int l = 0; l < lanesUsed; ++l) {
      for (int d = 0; d < rank; ++d)
        integers(loop.positions[d])[l] = at[d];
      for (int d = rank - 1; d >= 0; --d) {
        if (++at[d] < loop.sizes[d])
          break;
        at[d] = 0;
      }
    }
  }

  void runBody(const FormulaLoop &loop) {
    for (int id : loop.body)
      runNode(id);
  }

  void copyLanes(int to, int from) { std::copy_n(integers(from), lanesUsed, integers(to)); }

  void runLoop(const FormulaLoop &loop) {
    int results = loop.init.size(), rank = loop.sizes.size();
    for (int r = 0; r < results; ++r)
      copyLanes(loop.accumulators[r], loop.init[r]);
    int64_t points = 1;
    for (int64_t size : loop.sizes)
      points *= size;
    llvm::SmallVector<int64_t> at(rank, 0);
    for (int d = 0; d < rank && points; ++d)
      std::fill_n(integers(loop.positions[d]), lanesUsed, 0);
    for (int64_t point = 0; point < points; ++point) {
      runBody(loop);
      advance(loop);
      for (int d = rank - 1; d >= 0; --d) {
        at[d] = at[d] + 1 < loop.sizes[d] ? at[d] + 1 : 0;
        std::fill_n(integers(loop.positions[d]), lanesUsed, at[d]);
        if (at[d])
          break;
      }
    }
    for (int r = 0; r < results; ++r)
      copyLanes(loop.results[r], loop.accumulators[r]);
  }

  /// All accumulators take their next value at once.
  void advance(const FormulaLoop &loop) {
    int results = loop.next.size();
    if (results > 1)
      for (int r = 0; r < results; ++r)
        if (formula.nodes[loop.next[r]].code == NodeCode::Accumulator)
          return advanceThroughCopy(loop);
    for (int r = 0; r < results; ++r)
      copyLanes(loop.accumulators[r], loop.next[r]);
  }
  void advanceThroughCopy(const FormulaLoop &loop) {
    std::vector<std::vector<int64_t>> next;
    for (int id : loop.next)
      next.emplace_back(integers(id), integers(id) + lanesUsed);
    for (size_t r = 0; r < next.size(); ++r)
      std::copy(next[r].begin(), next[r].end(), integers(loop.accumulators[r]));
  }

  template <ScalarKind kind>
  void floatUnaryLanes(const FormulaNode &node, int id) {
    const double *a = floats(node.a);
    double *out = floats(id);
    for (int l = 0; l < lanesUsed; ++l)
      out[l] = floatUnary<kind>(a[l]);
  }
  template <ScalarKind kind>
  void binaryLanes(const FormulaNode &node, int id) {
    ScalarType type = node.type;
    if constexpr (kind != ScalarKind::And && kind != ScalarKind::Or && kind != ScalarKind::Xor &&
                  kind != ScalarKind::ShiftLeft && kind != ScalarKind::ShiftRight)
      if (type.isFloat()) {
        const double *a = floats(node.a), *b = floats(node.b);
        double *out = floats(id);
        for (int l = 0; l < lanesUsed; ++l)
          out[l] = floatBinary<kind>(a[l], b[l]);
        return;
      }
    const int64_t *a = integers(node.a), *b = integers(node.b);
    int64_t *out = integers(id);
    for (int l = 0; l < lanesUsed; ++l)
      out[l] = integerBinary<kind>(a[l], b[l], type);
    wrapLanes(out, type);
  }
  void wrapLanes(int64_t *out, ScalarType type) {
    if (type.width != 64)
      for (int l = 0; l < lanesUsed; ++l)
        out[l] = wrap(out[l], type);
  }

  template <typename T, typename Compare>
  void compareLanes(const T *a, const T *b, int64_t *out, Compare compare) {
    for (int l = 0; l < lanesUsed; ++l)
      out[l] = compare(a[l], b[l]);
  }
  template <typename Compare>
  void compare(const FormulaNode &node, int id, Compare compare) {
    ScalarType type = formula.nodes[node.a].type;
    if (type.isFloat())
      return compareLanes(floats(node.a), floats(node.b), integers(id), compare);
    if (type.isWideUnsigned())
      return compareLanes(integers(node.a), integers(node.b), integers(id),
                          [&](int64_t x, int64_t y) { return compare(uint64_t(x), uint64_t(y)); });
    compareLanes(integers(node.a), integers(node.b), integers(id), compare);
  }

  void runUnary(const FormulaNode &node, int id) {
    if (node.kind == ScalarKind::IsNaN) {
      bool isFloat = formula.nodes[node.a].type.isFloat();
      for (int l = 0; l < lanesUsed; ++l)
        integers(id)[l] = isFloat && std::isnan(floats(node.a)[l]);
      return;
    }
    if (!node.type.isFloat()) {
      for (int l = 0; l < lanesUsed; ++l)
        integers(id)[l] = wrap(integerUnary(node.kind, integers(node.a)[l], node.type), node.type);
      return;
    }
    switch (node.kind) {
#define CASE(k) case ScalarKind::k: return floatUnaryLanes<ScalarKind::k>(node, id);
      CASE(Neg) CASE(Abs) CASE(Sign) CASE(Exp) CASE(Expm1) CASE(Log) CASE(Log1p) CASE(Sqrt) CASE(Sin) CASE(Cos) CASE(Tan)
      CASE(Asin) CASE(Acos) CASE(Atan) CASE(Sinh) CASE(Cosh) CASE(Asinh) CASE(Acosh) CASE(Atanh) CASE(Erf) CASE(Tanh)
      CASE(Ceil) CASE(Floor) CASE(RoundEven)
#undef CASE
    default: llvm_unreachable("not a unary operation on floats");
    }
  }

  void runBinary(const FormulaNode &node, int id) {
    switch (node.kind) {
#define CASE(k) case ScalarKind::k: return binaryLanes<ScalarKind::k>(node, id);
      CASE(Add) CASE(Sub) CASE(Mul) CASE(Div) CASE(Pow) CASE(Max) CASE(Min) CASE(Mod) CASE(Rem)
      CASE(And) CASE(Or) CASE(Xor) CASE(ShiftLeft) CASE(ShiftRight)
#undef CASE
    case ScalarKind::Equal: return compare(node, id, [](auto a, auto b) { return a == b; });
    case ScalarKind::NotEqual: return compare(node, id, [](auto a, auto b) { return a != b; });
    case ScalarKind::Less: return compare(node, id, [](auto a, auto b) { return a < b; });
    case ScalarKind::LessEqual: return compare(node, id, [](auto a, auto b) { return a <= b; });
    default: llvm_unreachable("not a binary operation");
    }
  }

  void roundLanes(const double *a, double *out, int64_t rounding) {
    for (int l = 0; l < lanesUsed; ++l)
      out[l] = rounding == 1   ? double(float(a[l]))
               : rounding == 2 ? double(halfToFloat(doubleToHalf(a[l])))
                               : double(bfloatToFloat(doubleToBfloat(a[l])));
  }

  void runCast(const FormulaNode &node, int id) {
    ScalarType from = formula.nodes[node.a].type, to = node.type;
    if (from.isFloat() && to.isFloat())
      return roundLanes(floats(node.a), floats(id), node.payload);
    for (int l = 0; l < lanesUsed; ++l) {
      if (from.isFloat())
        integers(id)[l] = saturate(floats(node.a)[l], to);
      else if (to.isFloat())
        floats(id)[l] = from.isWideUnsigned() ? double(uint64_t(integers(node.a)[l])) : double(integers(node.a)[l]);
      else
        integers(id)[l] = to.cls == ScalarType::Bool ? integers(node.a)[l] != 0 : wrap(integers(node.a)[l], to);
    }
  }

  void runLoad(const FormulaNode &node, int id) {
    const FormulaLoad &load = formula.loads[node.payload];
    const int64_t *offset = integers(load.offset);
    auto loadLanes = [&](auto *out, const auto *data, const auto *fill) {
      if (load.fill >= 0 && !load.checks.empty()) {
        for (int l = 0; l < lanesUsed; ++l) {
          bool inside = true;
          for (auto &[index, size] : load.checks)
            inside &= integers(index)[l] >= 0 && integers(index)[l] < size;
          out[l] = inside ? data[offset[l]] : fill[l];
        }
        return;
      }
      for (int l = 0; l < lanesUsed; ++l) {
        assert(offset[l] >= 0 && offset[l] < load.tensor.elements() && "a formula read outside its operand without a fill value");
        out[l] = data[offset[l]];
      }
    };
    // An empty operand has nothing to load, not even for lanes whose value is never used.
    if (load.tensor.elements() == 0 && load.fill < 0)
      std::fill_n(integers(id), lanesUsed, 0);
    else if (node.type.isFloat())
      loadLanes(floats(id), load.tensor.floats(), load.fill >= 0 ? floats(load.fill) : nullptr);
    else
      loadLanes(integers(id), load.tensor.integers(), load.fill >= 0 ? integers(load.fill) : nullptr);
  }

  void runNode(int id) {
    const FormulaNode &node = formula.nodes[id];
    switch (node.code) {
    case NodeCode::Constant: return; // filled once
    case NodeCode::Unary: return runUnary(node, id);
    case NodeCode::Binary: return runBinary(node, id);
    case NodeCode::Cast: return runCast(node, id);
    case NodeCode::Load: return runLoad(node, id);
    case NodeCode::RunLoop: return runLoop(formula.loops[node.payload]);
    case NodeCode::FloorDiv:
    case NodeCode::CeilDiv:
      for (int l = 0; l < lanesUsed; ++l) {
        int64_t a = integers(node.a)[l], b = integers(node.b)[l];
        if (node.code == NodeCode::CeilDiv)
          a += b - 1;
        int64_t q = a / b;
        integers(id)[l] = q - (a % b != 0 && (a < 0) != (b < 0));
      }
      return;
    case NodeCode::Select:
      // Bits are moved, so floats may travel as integers.
      for (int l = 0; l < lanesUsed; ++l)
        integers(id)[l] = integers(node.c)[l] ? integers(node.a)[l] : integers(node.b)[l];
      return;
    case NodeCode::BoundedIndex:
      for (int l = 0; l < lanesUsed; ++l) {
        int64_t at = integers(node.a)[l];
        if (at < 0 || at >= node.payload) {
          error.report(at, node.payload);
          at = std::clamp<int64_t>(at, 0, std::max<int64_t>(node.payload - 1, 0));
        }
        integers(id)[l] = at;
      }
      return;
    case NodeCode::Position:
    case NodeCode::Accumulator:
    case NodeCode::LoopResult: llvm_unreachable("filled in by its loop");
    }
  }

  const Formula &formula;
  RangeError &error;
  std::unique_ptr<std::byte[]> lanes;
  int lanesUsed = 0;
};

} // namespace

Status evaluate(const Formula &formula, WideTensor &result, const std::string &what) {
  RangeError error;
  // A piece is a run of chunks: long enough to pay for a thread's lanes.
  int64_t grain = std::max<int64_t>(kLanes, (result.elements() / 64 + kLanes - 1) / kLanes * kLanes);
  parallelFor(result.elements(), grain, [&](int64_t begin, int64_t end) {
    Evaluator evaluator(formula, error);
    for (int64_t at = begin; at < end; at += kLanes)
      evaluator.run(at, static_cast<int>(std::min<int64_t>(kLanes, end - at)), result);
  });
  if (error.seen)
    return graphc::error(Code::IndexOutOfRange, what, ": index ", error.value, " is out of range for size ", error.limit);
  return {};
}

} // namespace graphc::reference
