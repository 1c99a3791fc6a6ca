#include "frontend/onnx/Node.h"
#include "frontend/onnx/GraphImport.h"

namespace graphc::onnx_import {

using namespace mlir;
using ::onnx::AttributeProto;

Node::Node(GraphImporter &importer, const ::onnx::NodeProto &proto, Scope &scope, int opset, Location loc)
    : Build(importer.opBuilder(), loc, importer.facts), importer(importer), proto(proto), scope(scope), opset(opset) {}

StringRef Node::op() const { return proto.op_type(); }

size_t Node::inputCount() const { return proto.input_size(); }
bool Node::has(size_t i) const { return i < inputCount() && !proto.input(i).empty(); }

Tensor &Node::in(size_t i) {
  if (!has(i))
    fail(Code::ModelMalformed, "input ", i, " is missing");
  TensorPtr t = scope.find(proto.input(i));
  assert(t && "importNode checks that inputs exist");
  if (!t->reason.empty())
    unsupported(t->reason);
  if (t->isSequence)
    fail(Code::TypeMismatch, "input ", i, " is a sequence, a tensor is expected");
  return *t;
}
Value Node::x(size_t i) { return importer.materialize(in(i), *this); }
std::optional<Known> Node::known(size_t i) { return importer.knownOf(in(i)); }

void Node::needsValue(size_t i, StringRef what) {
  Tensor &t = in(i);
  Failure failure{Code::UnsupportedOp, "", {}};
  if (t.from && !t.from->empty()) {
    failure.valueInputs = *t.from;
    failure.message = text(what.str(), " depends on the value of input ", joined(*t.from, ", "), ": it must be given when the model is compiled");
  } else {
    failure.message = text(what.str(), " ('", proto.input(i), "') is computed at run time; sizes must follow from the input sizes");
  }
  throw failure;
}

std::vector<AffineExpr> Node::sizes(size_t i, StringRef what) {
  auto k = known(i);
  if (!k)
    needsValue(i, what);
  if (k->floating)
    fail(Code::TypeMismatch, what.str(), " must be integers, got ", typeText(element(i)));
  return k->ints;
}
std::vector<int64_t> Node::ints(size_t i, StringRef what) {
  auto k = known(i);
  if (!k)
    needsValue(i, what);
  auto c = k->constants();
  if (!c && k->floating)
    fail(Code::TypeMismatch, what.str(), " must be integers, got ", typeText(element(i)));
  if (!c)
    unsupported(what.str(), " is the symbolic size ", graph::toString(ArrayRef<AffineExpr>(k->ints)), "; a constant is needed here");
  return *c;
}
int64_t Node::intScalar(size_t i, StringRef what) {
  auto v = ints(i, what);
  if (v.size() != 1)
    fail(Code::ShapeMismatch, what.str(), " must be one number, got ", v.size());
  return v[0];
}
std::vector<double> Node::floatVector(size_t i, StringRef what) {
  auto k = known(i);
  if (!k) {
    // Half floats are not folded, but a literal can be read.
    needsValue(i, what);
  }
  if (k->floating)
    return k->floats;
  auto c = ints(i, what);
  return {c.begin(), c.end()};
}
double Node::floatScalar(size_t i, StringRef what) {
  auto v = floatVector(i, what);
  if (v.size() != 1)
    fail(Code::ShapeMismatch, what.str(), " must be one number, got ", v.size());
  return v[0];
}

const AttributeProto *Node::find(StringRef name) const {
  for (const AttributeProto &a : proto.attribute()) {
    if (a.name() != name)
      continue;
    if (a.ref_attr_name().empty())
      return &a;
    // Inside a function body: the attribute of the call, if it was given.
    if (!scope.attributes)
      fail(Code::ModelMalformed, "attribute '", a.name(), "' refers to '", a.ref_attr_name(), "' outside a function");
    auto it = scope.attributes->find(a.ref_attr_name());
    return it == scope.attributes->end() ? nullptr : &it->second;
  }
  return nullptr;
}

static const AttributeProto *typed(const Node &n, StringRef name, AttributeProto::AttributeType type, const char *typeName) {
  const AttributeProto *a = n.find(name);
  // Models of IR version 1 and 2 may leave the type out.
  if (a && a->type() != AttributeProto::UNDEFINED && a->type() != type)
    fail(Code::TypeMismatch, "attribute '", name.str(), "' must be ", typeName);
  return a;
}
int64_t Node::i(StringRef name, int64_t otherwise) const {
  auto *a = typed(*this, name, AttributeProto::INT, "an int");
  return a ? a->i() : otherwise;
}
double Node::f(StringRef name, double otherwise) const {
  auto *a = typed(*this, name, AttributeProto::FLOAT, "a float");
  return a ? a->f() : otherwise;
}
std::string Node::s(StringRef name, StringRef otherwise) const {
  auto *a = typed(*this, name, AttributeProto::STRING, "a string");
  return a ? a->s() : otherwise.str();
}
std::vector<int64_t> Node::ints(StringRef name) const {
  auto *a = typed(*this, name, AttributeProto::INTS, "a list of ints");
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : std::vector<int64_t>();
}
std::vector<double> Node::floats(StringRef name) const {
  auto *a = typed(*this, name, AttributeProto::FLOATS, "a list of floats");
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::vector<double>();
}
std::vector<std::string> Node::strings(StringRef name) const {
  auto *a = typed(*this, name, AttributeProto::STRINGS, "a list of strings");
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
}
std::shared_ptr<Literal> Node::tensor(StringRef name) const {
  auto *a = typed(*this, name, AttributeProto::TENSOR, "a tensor");
  return a ? decodeTensor(a->t(), std::nullopt, importer.literalSource()) : nullptr;
}
const ::onnx::GraphProto *Node::graphAttr(StringRef name) const {
  auto *a = typed(*this, name, AttributeProto::GRAPH, "a graph");
  return a ? &a->g() : nullptr;
}

size_t Node::outputCount() const { return proto.output_size(); }
bool Node::wants(size_t i) const { return i < outputCount() && !proto.output(i).empty(); }

static TensorPtr define(Node &n, size_t i) {
  auto t = std::make_shared<Tensor>();
  t->name = n.proto.output(i);
  // What the contents depend on, as far as inputs could be bound to values.
  for (const std::string &name : n.proto.input()) {
    TensorPtr source = name.empty() ? nullptr : n.scope.find(name);
    if (!source || !t->from)
      continue;
    if (!source->from || t->from->size() + source->from->size() > 8)
      t->from.reset();
    else
      t->from->insert(source->from->begin(), source->from->end());
  }
  n.scope.values[t->name] = t;
  return t;
}
void Node::out(size_t i, Value v) {
  if (!wants(i))
    return;
  TensorPtr t = define(*this, i);
  t->value = v;
  t->type = mlir::cast<RankedTensorType>(v.getType());
}
void Node::outKnown(size_t i, RankedTensorType type, Known known) {
  if (!wants(i))
    return;
  assert(type.hasStaticShape() && type.getNumElements() == static_cast<int64_t>(known.size()) && "contents must fill the shape");
  TensorPtr t = define(*this, i);
  t->type = type;
  t->known = std::move(known);
}
void Node::outLiteral(size_t i, std::shared_ptr<Literal> literal) {
  if (!wants(i))
    return;
  TensorPtr t = define(*this, i);
  t->type = literal->type;
  t->literal = std::move(literal);
}
void Node::outSame(size_t i, size_t input) {
  if (!wants(i))
    return;
  Tensor source = in(input);
  TensorPtr t = define(*this, i);
  std::string name = t->name;
  auto from = source.from;
  *t = std::move(source);
  t->name = name;
  t->from = from;
}
void Node::outReshaped(size_t input, ArrayRef<AffineExpr> dims) {
  auto type = graph::tensorType(dims, element(input));
  if (auto k = known(input); k && type.hasStaticShape() && type.getNumElements() == static_cast<int64_t>(k->size()))
    return outKnown(0, type, *k);
  out(reshape(x(input), dims));
}
bool Node::outPicked(size_t input, ArrayRef<AffineExpr> dims, const std::function<std::vector<int64_t>()> &positions) {
  auto type = graph::tensorType(dims, element(input));
  auto k = known(input);
  if (!k || !type.hasStaticShape() || type.getNumElements() > kMaxKnown)
    return false;
  outKnown(0, type, k->pick(positions()));
  return true;
}

std::optional<Dims> Node::declaredDims(size_t i) const {
  if (!wants(i))
    return std::nullopt;
  auto it = scope.declared.find(proto.output(i));
  return it == scope.declared.end() ? std::nullopt : std::optional<Dims>(it->second);
}

std::vector<int64_t> Node::axes(size_t input, int64_t rank, bool *given) {
  std::vector<int64_t> list;
  bool present = false;
  if (hasAttr("axes")) {
    list = ints("axes");
    present = true;
  } else if (has(input)) {
    list = ints(input, "axes");
    present = true;
  }
  for (int64_t &a : list)
    a = axis(a, rank);
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    fail(Code::ShapeMismatch, "axes name an axis twice");
  if (given)
    *given = present && !list.empty();
  return list;
}

void Node::remark(const std::string &message) { importer.report->remark(text(proto.name().empty() ? proto.op_type() : proto.name(), ": ", message)); }

} // namespace graphc::onnx_import
