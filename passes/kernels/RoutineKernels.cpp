// Routines as loop nests, for targets whose runtime has none. All of them keep the order the routine promises, so their
// results do not depend on how many threads run them:
//   topk         an element's place is the number of elements that go before it: quadratic in the axis, without any order of work
//   scatter      points that cannot meet run side by side; updates that may meet run one after the other
//   cumulative   one after the other along the axis, side by side across it
#include "passes/kernels/RoutineKernels.h"
#include "passes/kernels/AttentionKernel.h"
#include "passes/kernels/KernelBuilder.h"
#include "passes/kernels/KernelFrame.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

namespace {

Type elementOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

int64_t positiveAxis(int64_t axis, Value v) {
  int64_t rank = cast<RankedTensorType>(v.getType()).getRank();
  return axis < 0 ? axis + rank : axis;
}

/// `index` with `at` inserted before position `axis`.
SmallVector<AffineExpr> inserted(ArrayRef<AffineExpr> index, unsigned axis, AffineExpr at) {
  SmallVector<AffineExpr> all(index);
  all.insert(all.begin() + axis, at);
  return all;
}

SmallVector<AffineExpr> without(ArrayRef<AffineExpr> dims, unsigned axis) {
  SmallVector<AffineExpr> rest(dims);
  rest.erase(rest.begin() + axis);
  return rest;
}

class RoutineKernel {
public:
  RoutineKernel(KernelBuilder &b, KernelFrame &frame) : b(b), frame(frame), i64(IntegerType::get(b.context(), 64)) {}

  LogicalResult build(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](TopKOp o) { return topk(o); })
        .Case([&](CumulativeOp o) { return cumulative(o); })
        .Case([&](ScatterElementsOp o) { return scatterElements(o); })
        .Case([&](ScatterNDOp o) { return scatterNd(o); })
        .Case([&](AttentionOp o) { return buildAttention(b, o, result(0)), success(); })
        .Default([](Operation *o) { return o->emitOpError() << "is none of the routines that have kernels"; });
  }

private:
  Value result(unsigned i) { return frame.outputArguments()[i]; }

  LogicalResult topk(TopKOp op) {
    Value x = op.getX();
    auto dims = dimsOf(x.getType());
    unsigned axis = positiveAxis(op.getAxis(), x);
    bool largest = op.getLargest();
    b.parallel(dims, [&](ArrayRef<AffineExpr> index) {
      Expr mine = b.load(x, index, std::nullopt), place = b.indexValue(index[axis]);
      // How many go before this one: better ones, and equal ones further in front. NaN is larger than every number.
      Expr rank = b.reduce(
          {dims[axis]}, {b.constantInt(0, i64)},
          [&](ArrayRef<AffineExpr> other) {
            SmallVector<AffineExpr> at(index);
            at[axis] = other[0];
            Expr theirs = b.load(x, at, std::nullopt);
            Expr less = largest ? mine < theirs : theirs < mine, equal = mine == theirs;
            if (isa<FloatType>(mine.type)) {
              Expr nanMine = isNaN(mine), nanTheirs = isNaN(theirs);
              less = less || (largest ? nanTheirs && !nanMine : nanMine && !nanTheirs);
              equal = equal || (nanMine && nanTheirs);
            }
            Expr before = less || (equal && b.indexValue(other[0]) < place);
            return SmallVector<Expr>{select(before, b.constantInt(1, i64), b.constantInt(0, i64))};
          },
          [&](ArrayRef<Expr> l, ArrayRef<Expr> r) { return SmallVector<Expr>{l[0] + r[0]}; })[0];
      Expr chosen = rank < b.indexValue(dimsOf(op.getValues().getType())[axis]);
      SmallVector<AffineExpr> at(index);
      at[axis] = b.computedIndex(rank, nullptr);
      b.storeTo(mine.castTo(elementOf(op.getValues())), result(0), at, chosen);
      b.storeTo(place, result(1), at, chosen);
    });
    return success();
  }

  LogicalResult cumulative(CumulativeOp op) {
    Value x = op.getX();
    auto dims = dimsOf(x.getType());
    unsigned axis = positiveAxis(op.getAxis(), x);
    Type type = computeType(elementOf(x));
    bool product = op.getKind() == "prod";
    b.parallel(without(dims, axis), [&](ArrayRef<AffineExpr> outer) {
      b.scan({dims[axis]}, {b.constant(product ? 1 : 0, type)}, [&](ArrayRef<AffineExpr> step, ArrayRef<Expr> before) {
        AffineExpr at = op.getReverse() ? dims[axis] - 1 - step[0] : step[0];
        auto index = inserted(outer, axis, at);
        Expr value = b.load(x, index, std::nullopt);
        Expr after = product ? before[0] * value : before[0] + value;
        b.storeTo((op.getExclusive() ? before[0] : after).castTo(elementOf(op.getResult())), result(0), index, std::nullopt);
        return SmallVector<Expr>{after};
      });
    });
    return success();
  }

  /// What an element becomes under an update.
  void update(Value buffer, Type element, StringRef reduction, Expr value, ArrayRef<AffineExpr> at, std::optional<Expr> condition) {
    if (reduction != "none") {
      Expr old = b.loadFrom(buffer, element, at).castTo(computeType(element));
      value = reduction == "add"   ? old + value
              : reduction == "mul" ? old * value
              : reduction == "max" ? max(old, value)
                                   : min(old, value);
    }
    b.storeTo(value.castTo(element), buffer, at, condition); // a scan runs in sequence
  }

  /// A possibly negative index along a dim of `size`, checked.
  AffineExpr checked(Expr position, AffineExpr size) {
    Expr p = position.castTo(i64);
    return b.computedIndex(select(p < b.constantInt(0, i64), p + b.indexValue(size), p), size);
  }

  LogicalResult scatterElements(ScatterElementsOp op) {
    Value x = op.getX(), indices = op.getIndices(), updates = op.getUpdates();
    auto dims = dimsOf(x.getType()), count = dimsOf(indices.getType());
    unsigned axis = positiveAxis(op.getAxis(), x);
    Type element = elementOf(x);
    auto outerCount = without(count, axis);
    // Lines along the axis never meet. Where there are fewer lines of updates than of elements, the others are copies.
    b.parallel(without(dims, axis), [&](ArrayRef<AffineExpr> outer) {
      b.map({dims[axis]}, [&](ArrayRef<AffineExpr> along) {
        auto index = inserted(outer, axis, along[0]);
        b.storeTo(b.load(x, index, std::nullopt).castTo(element), result(0), index, std::nullopt);
      });
      Expr inside;
      for (auto [o, size, whole] : llvm::zip(outer, outerCount, without(dims, axis)))
        if (size != whole) {
          Expr in = b.indexValue(o) < b.indexValue(size);
          inside = inside.builder ? inside && in : in;
        }
      b.scan({count[axis]}, {}, [&](ArrayRef<AffineExpr> step, ArrayRef<Expr>) {
        auto from = inserted(outer, axis, step[0]);
        std::optional<Expr> zero, none;
        // Guarded: there may be no update at this place.
        Type indexType = computeType(elementOf(indices));
        Expr position = b.load(indices, from, inside.builder ? std::optional(b.constantInt(0, indexType)) : none);
        Expr value = b.load(updates, from, inside.builder ? std::optional(b.constant(0, computeType(element))) : none);
        auto at = inserted(outer, axis, checked(position, dims[axis]));
        update(result(0), element, op.getReduction(), value, at, inside.builder ? std::optional(inside) : none);
        return SmallVector<Expr>{};
      });
    });
    return success();
  }

  LogicalResult scatterNd(ScatterNDOp op) {
    Value x = op.getX(), indices = op.getIndices(), updates = op.getUpdates();
    auto dims = dimsOf(x.getType()), count = dimsOf(indices.getType());
    auto depth = constantSize(count.back());
    if (!depth)
      return op.emitOpError() << "has an index of unknown depth";
    Type element = elementOf(x);
    unsigned batch = count.size() - 1;
    // A point owns what lies at one first index and one place of the slices; it looks at every update and takes its own.
    SmallVector<AffineExpr> outer;
    if (*depth > 0)
      outer.push_back(dims[0]);
    llvm::append_range(outer, ArrayRef(dims).drop_front(*depth));
    b.parallel(outer, [&](ArrayRef<AffineExpr> point) {
      ArrayRef<AffineExpr> slice = point.drop_front(*depth > 0);
      SmallVector<AffineExpr> middle;
      for (int64_t d = 1; d < *depth; ++d)
        middle.push_back(dims[d]);
      auto indexOf = [&](ArrayRef<AffineExpr> inner) {
        SmallVector<AffineExpr> index(point.take_front(*depth > 0));
        llvm::append_range(index, inner);
        llvm::append_range(index, slice);
        return index;
      };
      auto copy = [&](ArrayRef<AffineExpr> inner) {
        auto index = indexOf(inner);
        b.storeTo(b.load(x, index, std::nullopt).castTo(element), result(0), index, std::nullopt);
      };
      if (middle.empty())
        copy({});
      else
        b.map(middle, copy);
      b.scan(ArrayRef(count).take_front(batch), {}, [&](ArrayRef<AffineExpr> step, ArrayRef<Expr>) {
        SmallVector<AffineExpr> at, from(step);
        llvm::append_range(from, slice);
        std::optional<Expr> mine;
        for (int64_t d = 0; d < *depth; ++d) {
          SmallVector<AffineExpr> read(step);
          read.push_back(b.constantIndex(d));
          AffineExpr position = checked(b.load(indices, read, std::nullopt), dims[d]);
          if (d == 0)
            mine = b.indexValue(position) == b.indexValue(point[0]);
          at.push_back(d == 0 ? point[0] : position);
        }
        llvm::append_range(at, slice);
        update(result(0), element, op.getReduction(), b.load(updates, from, std::nullopt), at, mine);
        return SmallVector<Expr>{};
      });
    });
    return success();
  }

  KernelBuilder &b;
  KernelFrame &frame;
  Type i64;
};
} // namespace

bool graphc::hasRoutineKernel(Operation *op) { return isa<TopKOp, CumulativeOp, ScatterElementsOp, ScatterNDOp, AttentionOp>(op); }

FailureOr<plan::DispatchOp> graphc::buildRoutineKernel(GroupOp group, ModuleOp module, StringRef name, OpBuilder &b) {
  // The last op is the routine; what may stand before it renames elements of its operands.
  Operation *op = group.getBody().front().getTerminator()->getPrevNode();
  KernelFrame frame(group, op->getResults(), module, name);
  OpBuilder kb(group.getContext());
  kb.setInsertionPointToStart(&frame.func.getBody().front());
  KernelBuilder builder(kb, group.getLoc(), frame.buffers, frame.scalars);
  builder.setCurrent(op);
  if (failed(RoutineKernel(builder, frame).build(op))) {
    frame.func.erase();
    return failure();
  }
  return frame.dispatch(group, builder.sites(), {}, /*cost=*/100, b);
}
