// Attention and rotary position embedding.
#include "frontend/onnx/Node.h"

#include <cmath>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [B, S, H * D] -> [B, H, S, D].
Value splitHeads(Node &n, Value x, int64_t heads) {
  Dims d = Build::dims(x);
  AffineExpr size = heads > 0 ? divideSizes({d[2]}, {n.size(heads)}, n.ctx()) : AffineExpr();
  if (!size)
    fail(Code::ShapeMismatch, heads, " heads do not divide the hidden size ", graph::toString(d[2]));
  return n.transpose(n.reshape(x, {d[0], d[1], n.size(heads), size}), {0, 2, 1, 3});
}

void importAttention(Node &n) {
  Value q = n.x(0), k = n.x(1), v = n.x(2);
  bool flat = n.rankOf(0) == 3;
  if ((n.rankOf(0) != 3 && n.rankOf(0) != 4) || n.rankOf(1) != n.rankOf(0) || n.rankOf(2) != n.rankOf(0))
    fail(Code::ShapeMismatch, "Q, K and V need the same rank of 3 or 4, got ", n.rankOf(0), ", ", n.rankOf(1), ", ", n.rankOf(2));
  Type type = n.element(0);
  if (flat) {
    int64_t qHeads = n.i("q_num_heads", 0), kvHeads = n.i("kv_num_heads", 0);
    q = splitHeads(n, q, qHeads);
    k = splitHeads(n, k, kvHeads);
    v = splitHeads(n, v, kvHeads);
  }
  bool past = n.has(4) && n.has(5);
  AffineExpr offset = n.size(0);
  if (past) {
    offset = n.dimsOf(4)[2];
    k = n.concat({n.x(4), k}, 2);
    v = n.concat({n.x(5), v}, 2);
  }
  n.out(1, k);
  n.out(2, v);
  int64_t queries = n.staticDim(q, 1, "the number of heads"), keys = n.staticDim(k, 1, "the number of heads");
  if (keys < 1 || queries % keys != 0)
    fail(Code::ShapeMismatch, queries, " query heads are no multiple of ", keys, " key heads");
  if (queries != keys) {
    // Every key head serves a run of query heads.
    auto repeat = [&](Value x) {
      Dims d = Build::dims(x);
      Value wide = n.broadcast(n.unsqueeze(x, 2), {d[0], d[1], n.size(queries / keys), d[2], d[3]});
      return n.reshape(wide, {d[0], n.size(queries), d[2], d[3]});
    };
    k = repeat(k);
    v = repeat(v);
  }
  Dims dq = Build::dims(q), dk = Build::dims(k);
  AffineExpr s = dq[2], t = dk[2];
  auto headSize = graph::constantSize(dq[3]);
  if (!headSize)
    unsupported("a symbolic head size");
  double scale = n.hasAttr("scale") ? n.f("scale", 1) : 1 / std::sqrt(static_cast<double>(*headSize));

  // The additive bias: mask, causal frontier, window, number of valid keys. `canMaskRow`: a row may have no key left.
  Value bias;
  bool canMaskRow = false;
  auto addBias = [&](Value allowed) {
    Value b = n.select(allowed, n.scalar(0, type), n.scalar(kMinusInfinity, type));
    bias = bias ? n.add(bias, b) : b;
  };
  if (n.has(3)) {
    Value mask = n.x(3);
    bool boolean = Build::isBool(n.element(3));
    if (auto missing = graph::constantSize(graph::simplify(t - n.dimsOf(3).back())); missing && *missing > 0 && !graph::isSize(n.dimsOf(3).back(), 1)) {
      llvm::SmallVector<int64_t> low(n.rankOf(3), 0), high(n.rankOf(3), 0);
      high.back() = *missing;
      mask = n.pad(mask, low, high, "constant", boolean ? 0 : kMinusInfinity);
    }
    if (boolean)
      addBias(mask);
    else
      bias = n.cast(mask, type);
    canMaskRow = true;
  }
  Value rows = n.iota({s, n.size(1)}, 0, n.i64()), columns = n.iota({n.size(1), t}, 1, n.i64());
  Value frontier; // the last key each query sees
  bool perBatch = n.has(6) && !past;
  if (perBatch)
    frontier = n.add(n.reshape(n.sub(n.cast(n.x(6), n.i64()), n.sizeScalar(s, n.i64())), {dq[0], n.size(1), n.size(1), n.size(1)}), rows);
  else
    frontier = n.add(rows, n.sizeScalar(offset, n.i64()));
  int64_t leftWindow = n.i("left_window_size", -1), rightWindow = n.i("right_window_size", -1);
  if (n.i("is_causal", 0)) {
    addBias(n.lessEqual(columns, frontier));
    canMaskRow |= perBatch;
  }
  if (leftWindow >= 0 || rightWindow >= 0) {
    Value distance = n.sub(frontier, columns);
    if (leftWindow >= 0)
      addBias(n.lessEqual(distance, n.scalarInt(leftWindow, n.i64())));
    if (rightWindow >= 0)
      addBias(n.lessEqual(n.neg(distance), n.scalarInt(rightWindow, n.i64())));
    canMaskRow = true;
  }
  if (n.has(6)) {
    Value length = n.reshape(n.cast(n.x(6), n.i64()), {dq[0], n.size(1), n.size(1), n.size(1)});
    addBias(n.less(columns, length));
    canMaskRow = true;
  }
  Dims full{dq[0], dq[1], s, t};
  if (bias) {
    auto joined = graph::broadcastDims(full, Build::dims(bias));
    if (!joined || joined->size() != 4)
      fail(Code::ShapeMismatch, "a mask of shape ", Build::shapeText(bias), " does not broadcast to ", graph::toString(full));
  }

  // A row without any key gives zeros, not NaN.
  Value empty;
  if (bias && canMaskRow) {
    Value wide = Build::rank(bias) == 0 ? n.broadcast(bias, {n.size(1), n.size(1)}) : Build::rank(bias) == 1 ? n.unsqueeze(bias, 0) : bias;
    Value most = n.reduce("max", wide, {Build::rank(wide) - 1}, true);
    empty = n.equal(most, n.scalar(kMinusInfinity, type));
  }
  double softcap = n.f("softcap", 0);
  int64_t mode = n.i("qk_matmul_output_mode", 0);
  Value y;
  if (softcap == 0 && !n.wants(3)) {
    llvm::SmallVector<Value> operands{q, k, v};
    if (bias)
      operands.push_back(bias);
    y = n.make<graph::AttentionOp>(operands, {n.attr("scale", scale)});
    if (empty)
      y = n.select(empty, n.scalar(0, type), y);
  } else {
    Value root = n.scalar(std::sqrt(scale), type);
    Value scores = n.matmul(n.mul(q, root), n.mul(k, root), false, true), shown = scores;
    if (softcap > 0) {
      Value cap = n.scalar(softcap, type);
      scores = n.mul(n.tanh(n.div(scores, cap)), cap);
    }
    // Opset 24 shows the capped scores as mode 0 and 1 alike when a cap is set.
    if (softcap > 0 || mode == 1)
      shown = scores;
    if (bias)
      scores = n.add(scores, bias);
    if (mode == 2)
      shown = scores;
    Value weights = n.softmax(scores, 3);
    if (empty)
      weights = n.select(empty, n.scalar(0, type), weights);
    if (mode == 3)
      shown = weights;
    n.out(3, shown);
    y = n.matmul(weights, v);
  }
  if (flat) {
    Dims d = Build::dims(y);
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {d[0], d[2], graph::simplify(d[1] * d[3])});
  }
  n.out(0, y);
}

void importRotary(Node &n) {
  Value x = n.x(0), cos = n.x(1), sin = n.x(2);
  bool flat = n.rankOf(0) == 3;
  Dims original = n.dimsOf(0);
  if (flat)
    x = splitHeads(n, x, n.i("num_heads", 0));
  if (Build::rank(x) != 4)
    fail(Code::ShapeMismatch, "needs rank 3 or 4, got ", graph::toString(original));
  // [B, H, S, D]; the caches become [B or 1, 1, S, R / 2].
  int64_t head = n.staticDim(x, 3, "the head size"), rotated = n.i("rotary_embedding_dim", 0);
  if (rotated == 0)
    rotated = head;
  if (rotated < 0 || rotated > head || rotated % 2)
    fail(Code::ShapeMismatch, "rotary_embedding_dim is ", rotated, " for head size ", head);
  if (n.has(3)) {
    cos = n.gather(cos, n.x(3), 0);
    sin = n.gather(sin, n.x(3), 0);
  }
  if (Build::rank(cos) != 3)
    fail(Code::ShapeMismatch, "the caches need rank ", n.has(3) ? 2 : 3);
  n.requireSame(Build::dims(cos)[2], n.size(rotated / 2), "the caches hold half of the rotated size");
  cos = n.unsqueeze(cos, 1);
  sin = n.unsqueeze(sin, 1);
  bool interleaved = n.i("interleaved", 0) != 0;
  AffineExpr half = n.size(rotated / 2);
  Value a = interleaved ? n.slice(x, 3, n.size(0), half, 2) : n.slice(x, 3, n.size(0), half);
  Value b = interleaved ? n.slice(x, 3, n.size(1), half, 2) : n.slice(x, 3, half, half);
  Value real = n.sub(n.mul(cos, a), n.mul(sin, b)), imaginary = n.add(n.mul(sin, a), n.mul(cos, b));
  Value y;
  if (interleaved) {
    Dims d = Build::dims(real);
    y = n.reshape(n.concat({n.unsqueeze(real, 4), n.unsqueeze(imaginary, 4)}, 4), {d[0], d[1], d[2], n.size(rotated)});
  } else {
    y = n.concat({real, imaginary}, 3);
  }
  if (rotated != head)
    y = n.concat({y, n.slice(x, 3, n.size(rotated), n.size(head - rotated))}, 3);
  n.out(flat ? n.reshape(n.transpose(y, {0, 2, 1, 3}), original) : y);
}

const Handler table[] = {
    {"Attention", 23, importAttention},
    {"RotaryEmbedding", 23, importRotary},
};

} // namespace

ArrayRef<Handler> attentionOps() { return table; }

} // namespace graphc::onnx_import
