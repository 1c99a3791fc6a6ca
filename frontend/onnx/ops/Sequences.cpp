// Sequences whose length and positions are known while importing: torch's chunk, split and unbind. They are lists of
// values here and never reach the graph; a sequence that goes in or out of a model, or through a loop, is not supported.
#include "frontend/onnx/GraphImport.h"
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

using Items = std::vector<TensorPtr>;

const Items &sequence(Node &n, size_t i) {
  TensorPtr t = n.has(i) ? n.scope.find(n.proto.input(static_cast<int>(i))) : nullptr;
  if (!t || !t->isSequence)
    fail(Code::TypeMismatch, "input ", i, " is not a sequence");
  return t->items;
}
void outSequence(Node &n, Items items) {
  auto t = std::make_shared<Tensor>();
  t->name = n.proto.output(0);
  t->isSequence = true;
  t->items = std::move(items);
  n.scope.values[t->name] = t;
}
/// An input as an element: the value itself, under both names.
TensorPtr element(Node &n, size_t i) {
  n.in(i); // reports what cannot be used
  return n.scope.find(n.proto.input(static_cast<int>(i)));
}
/// A value of the graph that has no ONNX name.
TensorPtr unnamed(Node &n, Value v) {
  auto t = std::make_shared<Tensor>();
  t->value = v;
  t->type = mlir::cast<RankedTensorType>(v.getType());
  t->from.reset();
  return t;
}
/// Position `input` counted from the front, in [0, end); `otherwise` when it is left out.
int64_t position(Node &n, size_t input, int64_t end, int64_t otherwise) {
  int64_t p = n.has(input) ? n.intScalar(input, "the position") : otherwise;
  if (p < 0)
    p += end;
  if (p < 0 || p >= end)
    fail(Code::ShapeMismatch, "position ", p, " is out of range");
  return p;
}

void importConstruct(Node &n) {
  Items items;
  for (size_t i = 0; i < n.inputCount(); ++i)
    items.push_back(element(n, i));
  outSequence(n, std::move(items));
}
void importEmpty(Node &n) { outSequence(n, {}); }
void importInsert(Node &n) {
  Items items = sequence(n, 0);
  int64_t length = static_cast<int64_t>(items.size());
  // Inserting at the end is allowed; -1 is before the last.
  int64_t p = n.has(2) ? n.intScalar(2, "the position") : length;
  if (p < 0)
    p += length;
  if (p < 0 || p > length)
    fail(Code::ShapeMismatch, "position ", p, " is out of range for a sequence of ", length);
  items.insert(items.begin() + p, element(n, 1));
  outSequence(n, std::move(items));
}
void importErase(Node &n) {
  Items items = sequence(n, 0);
  items.erase(items.begin() + position(n, 1, static_cast<int64_t>(items.size()), -1));
  outSequence(n, std::move(items));
}
void importAt(Node &n) {
  const Items &items = sequence(n, 0);
  n.scope.values[n.proto.output(0)] = items[position(n, 1, static_cast<int64_t>(items.size()), 0)];
}
void importLength(Node &n) {
  n.outKnown(0, RankedTensorType::get({}, n.i64()), Known::of({n.size(static_cast<int64_t>(sequence(n, 0).size()))}));
}

void importConcat(Node &n) {
  bool fresh = n.i("new_axis", 0) != 0;
  std::vector<Value> parts;
  int64_t axis = 0;
  for (const TensorPtr &item : sequence(n, 0)) {
    Value v = n.importer.materialize(*item, n);
    if (parts.empty())
      axis = Build::axis(n.i("axis", 0), Build::rank(v) + fresh);
    parts.push_back(fresh ? n.unsqueeze(v, axis) : v);
  }
  if (parts.empty())
    fail(Code::ShapeMismatch, "an empty sequence cannot be concatenated");
  n.out(n.concat(parts, axis));
}

void importSplit(Node &n) {
  Value x = n.x(0);
  int64_t axis = Build::axis(n.i("axis", 0), n.rankOf(0)), total = n.staticDim(x, axis, "the split axis");
  std::vector<int64_t> sizes;
  bool drop = false;
  if (!n.has(1)) {
    sizes.assign(total, 1);
    drop = n.i("keepdims", 1) == 0;
  } else {
    auto split = n.ints(1, "split");
    if (n.rankOf(1) == 0) {
      if (split[0] < 1)
        fail(Code::ShapeMismatch, "split is ", split[0]);
      for (int64_t at = 0; at < total; at += split[0])
        sizes.push_back(std::min(split[0], total - at));
    } else {
      sizes = split;
    }
  }
  Items items;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > total - at)
      fail(Code::ShapeMismatch, "the parts do not fit size ", total);
    Value part = n.slice(x, axis, n.size(at), n.size(size));
    items.push_back(unnamed(n, drop ? n.squeeze(part, axis) : part));
    at += size;
  }
  if (at != total)
    fail(Code::ShapeMismatch, "the parts add up to ", at, ", the axis has ", total);
  outSequence(n, std::move(items));
}

const Handler table[] = {
    {"SequenceConstruct", 11, importConstruct},
    {"SequenceEmpty", 11, importEmpty},
    {"SequenceInsert", 11, importInsert},
    {"SequenceErase", 11, importErase},
    {"SequenceAt", 11, importAt},
    {"SequenceLength", 11, importLength},
    {"ConcatFromSequence", 11, importConcat},
    {"SplitToSequence", 11, importSplit},
};

} // namespace

ArrayRef<Handler> sequenceOps() { return table; }

} // namespace graphc::onnx_import
