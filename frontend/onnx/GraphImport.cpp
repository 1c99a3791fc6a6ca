#include "frontend/onnx/GraphImport.h"

#include "ir/graph/Control.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <queue>

namespace graphc::onnx_import {

using namespace mlir;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::ValueInfoProto;

namespace {

/// Literals up to this many elements become graph.constant, larger ones graph.weight.
constexpr int64_t kMaxConstant = 256;

std::string normalized(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }
std::string qualified(const std::string &domain, const std::string &op) { return domain.empty() ? op : domain + "." + op; }

/// Names a node reads, those its subgraphs capture included.
void readNames(const NodeProto &node, std::vector<std::string> &names) {
  for (const std::string &in : node.input())
    if (!in.empty())
      names.push_back(in);
  for (const auto &a : node.attribute()) {
    for (const NodeProto &inner : a.g().node())
      readNames(inner, names);
    for (const auto &out : a.g().output())
      names.push_back(out.name());
    for (const GraphProto &g : a.graphs())
      for (const NodeProto &inner : g.node())
        readNames(inner, names);
  }
}

} // namespace

TensorPtr Scope::find(const std::string &name) const {
  for (const Scope *s = this; s; s = s->parent)
    if (auto it = s->values.find(name); it != s->values.end())
      return it->second;
  return nullptr;
}

void Report::unsupported(const std::string &kind, const std::string &node, const std::string &reason) {
  Kind &k = kinds[kind];
  ++k.count;
  if (k.nodes.size() < 4)
    k.nodes.push_back(node);
  if (k.reasons.size() < 8)
    k.reasons.insert(reason);
}

void Report::send(const std::string &model, const DiagnosticSink &sink) const {
  for (const std::string &r : remarks)
    sink({Code::Ok, model + ": " + r});
  for (const ImportDiagnostic &e : errors)
    sink({e.code, model + ": " + e.message});
  if (kinds.empty())
    return;
  int nodes = 0;
  for (auto &[name, k] : kinds)
    nodes += k.count;
  std::string message = text(model, ": ", nodes, nodes == 1 ? " node is" : " nodes are", " not supported:");
  for (auto &[name, k] : kinds) {
    message += text("\n  ", name, " x ", k.count, " (", joined(k.nodes), k.count > static_cast<int>(k.nodes.size()) ? ", ..." : "", ")");
    for (const std::string &reason : k.reasons)
      message += text("\n      ", reason);
  }
  sink({Code::UnsupportedOp, message});
}

GraphImporter::GraphImporter(const ::onnx::ModelProto &model, std::vector<std::optional<RawRange>> raws, LiteralSource source,
                             const ImportOptions &options, std::string modelName)
    : facts(source.ctx), model(model), raws(std::move(raws)), source(std::move(source)), options(options),
      modelName(std::move(modelName)), ctx(this->source.ctx), builder(ctx) {}

void GraphImporter::loadHandlers() {
  for (auto table : {elementwiseOps(), movementOps(), indexOps(), generateOps(), reduceOps(), contractionOps(), convolutionOps(),
                     poolOps(), normOps(), quantizeOps(), resizeOps(), lossOps(), attentionOps(), routineOps(), sequenceOps(), controlOps(), recurrentOps(), signalOps()})
    for (const Handler &h : table)
      handlers[{h.domain, h.op}].push_back(h);
  for (RegisteredOperationName op : ctx->getRegisteredOperationsByDialect("graph"))
    if (auto *onnxName = op.getInterface<graph::OnnxNamed>(); onnxName && !onnxName->onnxName().empty())
      named[onnxName->onnxName()].push_back(op);
}

int GraphImporter::opsetOf(const std::string &domain, const Scope &scope) const {
  for (const Scope *s = &scope; s; s = s->parent)
    if (!s->opsets.empty()) {
      auto it = s->opsets.find(domain);
      return it == s->opsets.end() ? 1 : static_cast<int>(std::clamp<int64_t>(it->second, 1, 10000));
    }
  return 1;
}

std::string GraphImporter::nodeLabel(const NodeProto &node, const Scope &scope) const {
  std::string name = node.name();
  if (name.empty())
    name = node.output_size() && !node.output(0).empty() ? "-> " + node.output(0) : "unnamed";
  return "'" + scope.prefix + name + "'";
}

Location GraphImporter::locationOf(const NodeProto &node, const Scope &scope, int index) const {
  std::string name = node.name().empty() ? node.op_type() + "_" + std::to_string(index) : node.name();
  Location named = NameLoc::get(StringAttr::get(ctx, scope.prefix + name));
  return FusedLoc::get(ctx, {named, FileLineColLoc::get(ctx, modelName, index, 0)});
}

ImportResult GraphImporter::run(Report &to) {
  report = &to;
  loadHandlers();
  Location loc = FileLineColLoc::get(ctx, modelName, 0, 0);
  result.module = ModuleOp::create(loc);
  (*result.module)->setAttr("graph.model", builder.getStringAttr(modelName));
  builder.setInsertionPointToEnd(result.module->getBody());
  function = func::FuncOp::create(builder, loc, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());

  for (const auto &set : model.opset_import())
    top.opsets[normalized(set.domain())] = set.version();
  if (!top.opsets.count(""))
    top.opsets[""] = 1;
  addInitializers();
  addInputs();
  declareTypes(model.graph(), top);
  if (!to.clean())
    return std::move(result); // without its inputs nothing else can be judged
  importNodes(model.graph().node(), top, true);
  if (to.clean())
    finish();
  result.valueInputs.assign(valueInputs.begin(), valueInputs.end());
  return std::move(result);
}

void GraphImporter::declareTypes(const GraphProto &graph, Scope &scope) {
  auto declare = [&](const ValueInfoProto &info) {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape())
      return;
    Dims dims;
    for (const auto &d : info.type().tensor_type().shape().dim()) {
      if (!d.has_dim_value() || d.dim_value() < 0)
        return;
      dims.push_back(getAffineConstantExpr(d.dim_value(), ctx));
    }
    scope.declared[info.name()] = dims;
  };
  if (!options.shapes.empty())
    return; // declared sizes are those of the model's own input sizes
  for (const auto &info : graph.value_info())
    declare(info);
  for (const auto &info : graph.output())
    declare(info);
}

void GraphImporter::addInitializers() {
  int index = 0;
  for (const auto &proto : model.graph().initializer()) {
    auto raw = index < static_cast<int>(raws.size()) ? raws[index] : std::nullopt;
    ++index;
    auto t = std::make_shared<Tensor>();
    t->name = proto.name();
    if (proto.name().empty() || top.values.count(proto.name())) {
      report->error(Code::ModelMalformed, text("initializer '", proto.name(), proto.name().empty() ? "' has no name" : "' exists twice"));
      continue;
    }
    top.values[t->name] = t;
    try {
      t->literal = decodeTensor(proto, raw, source);
      t->type = t->literal->type;
    } catch (Failure &failure) {
      if (failure.code == Code::UnsupportedOp) {
        t->reason = failure.message;
      } else {
        report->error(failure.code, failure.message);
        t->poisoned = true;
      }
    }
  }
  if (model.graph().sparse_initializer_size() > 0)
    for (const auto &sparse : model.graph().sparse_initializer()) {
      auto t = std::make_shared<Tensor>();
      t->name = sparse.values().name();
      t->reason = "sparse initializer '" + t->name + "' is not supported";
      top.values[t->name] = t;
    }
}

void GraphImporter::addInputs() {
  std::set<std::string> seen;
  std::map<std::string, int64_t> fixedSymbols; // dim_param bound by --shape
  std::vector<const ValueInfoProto *> inputs;
  for (const ValueInfoProto &info : model.graph().input()) {
    if (!seen.insert(info.name()).second || info.name().empty()) {
      report->error(Code::ModelMalformed, text("input '", info.name(), info.name().empty() ? "' has no name" : "' is declared twice"));
      continue;
    }
    if (!top.values.count(info.name())) // IR version 3 repeats initializers as inputs
      inputs.push_back(&info);
  }
  for (auto *info : inputs)
    result.inputNames.push_back(info->name());
  auto shapeFor = [&](const std::string &name) -> const std::vector<ShapeDim> * {
    auto it = options.shapes.find(name);
    if (it == options.shapes.end() && inputs.size() == 1)
      it = options.shapes.find("");
    return it == options.shapes.end() ? nullptr : &it->second;
  };
  for (auto &[name, shape] : options.shapes)
    if (name.empty() ? inputs.size() != 1 : llvm::none_of(inputs, [&, &n = name](auto *i) { return i->name() == n; }))
      report->error(Code::InvalidOption, text("--shape names ", name.empty() ? "no input, and the model has several" : "'" + name + "'", "; the inputs are ",
                                              joined(llvm::map_range(inputs, [](auto *i) { return i->name(); }))));
  for (auto &[name, value] : options.constantInputs)
    if (llvm::none_of(inputs, [&, &n = name](auto *i) { return i->name() == n; }))
      report->error(Code::InvalidOption, text("a value is given for '", name, "', which is no input"));
  for (auto *info : inputs) // first the names that --shape fixes, as other inputs may carry them too
    if (auto *shape = shapeFor(info->name()); shape && info->type().tensor_type().shape().dim_size() == static_cast<int>(shape->size()))
      for (size_t i = 0; i < shape->size(); ++i)
        if (auto &d = info->type().tensor_type().shape().dim(i); d.has_dim_param() && !d.dim_param().empty() && !(*shape)[i].symbolic)
          fixedSymbols[d.dim_param()] = (*shape)[i].size;

  llvm::SmallVector<Type> types;
  llvm::SmallVector<DictionaryAttr> attrs;
  for (auto *info : inputs) {
    const std::string &name = info->name();
    auto t = std::make_shared<Tensor>();
    t->name = name;
    top.values[name] = t;
    auto bad = [&](const std::string &reason) { report->unsupported("input", "'" + name + "'", reason); };
    if (!info->type().has_tensor_type()) {
      bad("input '" + name + "' is not a tensor");
      continue;
    }
    const auto &tensor = info->type().tensor_type();
    Type element = elementTypeOf(tensor.elem_type(), ctx);
    if (!element) {
      bad("input '" + name + "' has element type " + elementTypeName(tensor.elem_type()));
      continue;
    }
    auto bound = options.constantInputs.find(name);
    const std::vector<ShapeDim> *shape = shapeFor(name);
    Dims dims;
    if (bound != options.constantInputs.end()) {
      t->literal = literalOf(bound->second, ctx);
      if (t->literal->type.getElementType() != element)
        report->error(Code::InputDType, text("the value given for input '", name, "' is ", dtypeName(bound->second.dtype()), ", the model wants ", elementTypeName(tensor.elem_type())));
      for (int64_t d : bound->second.shape())
        dims.push_back(getAffineConstantExpr(d, ctx));
    } else if (!tensor.has_shape() && !shape) {
      bad("input '" + name + "' has no declared rank; give its shape");
      continue;
    } else if (shape && tensor.has_shape() && tensor.shape().dim_size() != static_cast<int>(shape->size())) {
      report->error(Code::InvalidOption, text("--shape gives ", shape->size(), " sizes for input '", name, "', which has rank ", tensor.shape().dim_size()));
      continue;
    } else {
      int rank = shape ? static_cast<int>(shape->size()) : tensor.shape().dim_size();
      for (int i = 0; i < rank; ++i) {
        const auto *d = tensor.has_shape() ? &tensor.shape().dim(i) : nullptr;
        std::string param = d && d->has_dim_param() ? d->dim_param() : "";
        std::string fallback = name + "_d" + std::to_string(i);
        if (shape && !(*shape)[i].symbolic) {
          dims.push_back(getAffineConstantExpr((*shape)[i].size, ctx));
        } else if (shape) {
          const ShapeDim &s = (*shape)[i];
          std::string symbol = param.empty() ? fallback : param;
          dims.push_back(facts.symbol(symbol, s.lo, s.hi < 0 ? INT64_MAX : s.hi));
          if (d && d->has_dim_value() && d->dim_value() >= 0)
            facts.replaced[symbol] = d->dim_value();
        } else if (d->has_dim_value() && d->dim_value() >= 0) {
          dims.push_back(getAffineConstantExpr(d->dim_value(), ctx));
        } else if (auto fixed = fixedSymbols.find(param); fixed != fixedSymbols.end() && !param.empty()) {
          dims.push_back(getAffineConstantExpr(fixed->second, ctx));
        } else {
          dims.push_back(facts.symbol(param.empty() ? fallback : param));
        }
      }
    }
    int64_t total = 1;
    for (AffineExpr d : dims)
      if (auto c = graph::constantSize(d); c && __builtin_mul_overflow(total, std::max<int64_t>(*c, 1), &total)) {
        report->error(Code::ModelMalformed, text("input '", name, "': the number of elements overflows"));
        break;
      }
    t->type = graph::tensorType(dims, element);
    if (t->type.hasStaticShape() && t->type.getNumElements() <= kMaxKnown)
      t->from = std::set<std::string>{name};
    else
      t->from.reset();
    types.push_back(t->type);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("graph.name", builder.getStringAttr(name))));
    Value argument = function.getBody().front().addArgument(t->type, NameLoc::get(builder.getStringAttr(name)));
    if (!t->literal)
      t->value = argument;
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attrs);
  if (!options.constantInputs.empty()) {
    llvm::SmallVector<StringRef> names;
    for (auto &[name, value] : options.constantInputs)
      names.push_back(name);
    (*result.module)->setAttr("graph.value_inputs", builder.getStrArrayAttr(names));
  }
}

std::optional<Known> GraphImporter::knownOf(Tensor &t) {
  if (!t.known && t.literal && t.literal->elements() <= kMaxKnown)
    t.known = t.literal->known();
  return t.known;
}

std::string GraphImporter::weightFor(Literal &literal, const std::string &name) {
  if (!literal.weight.empty())
    return literal.weight;
  std::string unique = name;
  for (int i = 1; !weightNames.insert(unique).second || unique == "main"; ++i)
    unique = name + "_" + std::to_string(i);
  if (literal.file.empty()) {
    result.sideBytes.resize((result.sideBytes.size() + 63) / 64 * 64);
    literal.file = kSideFile;
    literal.offset = result.sideBytes.size();
    result.sideBytes.append(literal.bytes);
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  graph::WeightOp::create(builder, NameLoc::get(builder.getStringAttr(name)), unique, literal.type, literal.file, literal.offset, literal.sizeBytes());
  return literal.weight = unique;
}

Value GraphImporter::materialize(Tensor &t, Build &at) {
  if (t.value)
    return t.value;
  // What has no operands may be needed after the body that needs it first: it goes in front of the op with the body.
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = function.getBody().front();
  if (builder.getInsertionBlock() != &entry)
    builder.setInsertionPoint(graph::ancestorIn(entry, builder.getInsertionBlock()->getParentOp()));
  if (!t.literal && t.known) {
    if (t.known->floating || t.known->constants()) {
      t.literal = literalOf(*t.known, t.type);
    } else {
      Dims sizes(t.known->ints.begin(), t.known->ints.end());
      auto vector = RankedTensorType::get({static_cast<int64_t>(sizes.size())}, at.i64());
      Value v = graph::SizeOp::create(builder, at.loc, vector, graph::DimsAttr::get(ctx, sizes));
      return t.value = at.cast(at.reshape(v, graph::dimsOf(t.type)), t.type.getElementType());
    }
  }
  assert(t.literal && "a value is an op's result, a literal, or known contents");
  if (t.literal->elements() <= kMaxConstant)
    return t.value = at.constant(t.literal->dense());
  std::string symbol = weightFor(*t.literal, t.name);
  return t.value = graph::GetWeightOp::create(builder, at.loc, t.literal->type, symbol);
}

void GraphImporter::importNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, Scope &scope, bool outer) {
  int count = nodes.size();
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < count; ++i)
    for (const std::string &out : nodes[i].output()) {
      if (out.empty())
        continue;
      auto [it, fresh] = producer.try_emplace(out, i);
      if (!fresh)
        report->error(Code::ModelMalformed, text("value '", out, "' is produced twice, by ", nodeLabel(nodes[it->second], scope), " and ", nodeLabel(nodes[i], scope)));
      else if (scope.values.count(out))
        report->error(Code::ModelMalformed, text("value '", out, "' is produced by ", nodeLabel(nodes[i], scope), " but is also an input or initializer"));
    }
  // Nodes should be sorted but need not be: the first ready one in file order goes first.
  std::vector<std::vector<int>> users(count);
  std::vector<int> waiting(count, 0);
  for (int i = 0; i < count; ++i) {
    std::vector<std::string> names;
    readNames(nodes[i], names);
    for (const std::string &name : names)
      if (auto it = producer.find(name); it != producer.end()) {
        users[it->second].push_back(i);
        ++waiting[i];
      }
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < count; ++i)
    if (waiting[i] == 0)
      ready.push(i);
  int done = 0;
  std::vector<bool> visited(count, false);
  std::vector<int> order;
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    visited[i] = true;
    order.push_back(i);
    ++done;
    for (int user : users[i])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  if (done < count) {
    // Follow producers that wait until a node repeats: the cycle.
    int at = static_cast<int>(std::find(visited.begin(), visited.end(), false) - visited.begin());
    std::vector<int> path;
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      std::vector<std::string> names;
      readNames(nodes[at], names);
      for (const std::string &name : names)
        if (auto it = producer.find(name); it != producer.end() && !visited[it->second]) {
          at = it->second;
          break;
        }
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    std::reverse(path.begin(), path.end());
    std::vector<std::string> labels;
    for (size_t i = 0; i < path.size() && i < 8; ++i)
      labels.push_back(nodeLabel(nodes[path[i]], scope));
    if (path.size() > labels.size())
      labels.push_back("...");
    report->error(Code::ModelMalformed, text("the graph has a cycle: ", joined(labels, " -> "), " -> ", labels[0]));
    return;
  }
  for (int i : order)
    importNode(nodes[i], scope, i);
}

void GraphImporter::dispatch(Node &n, const std::string &domain) {
  const Handler *best = nullptr;
  int lowest = INT32_MAX;
  if (auto it = handlers.find({domain, n.proto.op_type()}); it != handlers.end())
    for (const Handler &h : it->second) {
      lowest = std::min(lowest, h.since);
      if (h.since <= n.opset && (!best || h.since > best->since))
        best = &h;
    }
  if (domain.empty())
    if (auto it = named.find(n.proto.op_type()); it != named.end()) {
      RegisteredOperationName op = it->second.front();
      int since = op.getInterface<graph::OnnxNamed>()->onnxSince();
      if (!best || (since <= n.opset && since > best->since))
        return importNamed(n, op);
    }
  if (best)
    return best->run(n);
  if (lowest != INT32_MAX)
    unsupported("the operator is supported from opset ", lowest);
  StringRef reason = unsupportedReason(domain, n.proto.op_type());
  unsupported(reason.empty() ? std::string("unknown operator") : reason.str());
}

void GraphImporter::importNode(const NodeProto &proto, Scope &scope, int index) {
  std::string domain = normalized(proto.domain());
  int opset = opsetOf(domain, scope);
  auto poison = [&] {
    for (const std::string &out : proto.output())
      if (!out.empty()) {
        auto t = std::make_shared<Tensor>();
        t->name = out;
        t->poisoned = true;
        scope.values[out] = t;
      }
  };
  std::string kind = qualified(domain, proto.op_type()) + " (opset " + std::to_string(opset) + ")";
  std::string label = nodeLabel(proto, scope);
  bool anyPoisoned = false;
  for (const std::string &in : proto.input()) {
    if (in.empty())
      continue;
    TensorPtr t = scope.find(in);
    if (!t) {
      report->error(Code::MissingInitializer, text("node ", label, " (", proto.op_type(), ") reads '", in, "', which is no input, initializer or output of another node"));
      return poison();
    }
    anyPoisoned |= t->poisoned;
  }
  try {
    if (inlineFunction(proto, scope))
      return;
    if (anyPoisoned) {
      // Its inputs could not be imported; still say when the operator itself is unknown.
      bool knownKind = handlers.count({domain, proto.op_type()}) || (domain.empty() && named.count(proto.op_type()));
      if (!knownKind) {
        StringRef reason = unsupportedReason(domain, proto.op_type());
        report->unsupported(kind, label, reason.empty() ? "unknown operator" : reason.str());
      }
      return poison();
    }
    Node n(*this, proto, scope, opset, locationOf(proto, scope, index));
    dispatch(n, domain);
    for (const std::string &out : proto.output())
      if (!out.empty() && !scope.values.count(out))
        unsupported("output '", out, "' is not supported");
  } catch (Failure &failure) {
    valueInputs.insert(failure.valueInputs.begin(), failure.valueInputs.end());
    if (failure.code == Code::UnsupportedOp)
      report->unsupported(kind, label, failure.message);
    else
      report->error(failure.code, text("node ", label, " (", proto.op_type(), "): ", failure.message));
    poison();
  } catch (const std::exception &e) {
    report->error(Code::Internal, text("node ", label, " (", proto.op_type(), "): ", e.what()));
    poison();
  }
}

std::vector<TensorPtr> GraphImporter::inlineGraph(const GraphProto &graph, Scope &outer, ArrayRef<TensorPtr> inputs) {
  Scope scope;
  scope.parent = &outer;
  scope.prefix = outer.prefix;
  scope.attributes = outer.attributes;
  for (const auto &proto : graph.initializer()) {
    auto t = std::make_shared<Tensor>();
    t->name = proto.name();
    t->literal = decodeTensor(proto, std::nullopt, source);
    t->type = t->literal->type;
    scope.values[t->name] = t;
  }
  for (int i = 0; i < graph.input_size() && i < static_cast<int>(inputs.size()); ++i)
    scope.values[graph.input(i).name()] = inputs[i];
  importNodes(graph.node(), scope, false);
  std::vector<TensorPtr> outputs;
  for (const auto &out : graph.output()) {
    TensorPtr t = scope.find(out.name());
    if (!t) {
      if (report->clean())
        fail(Code::ModelMalformed, "subgraph output '", out.name(), "' is produced by no node");
      t = std::make_shared<Tensor>();
      t->poisoned = true;
    }
    outputs.push_back(t);
  }
  return outputs;
}

/// Default attribute values of a function (field 11 of FunctionProto; newer than the schema at hand).
static std::vector<::onnx::AttributeProto> defaultAttributes(const ::onnx::FunctionProto &function) {
  std::vector<::onnx::AttributeProto> defaults;
  const auto &unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &field = unknown.field(i);
    ::onnx::AttributeProto a;
    if (field.number() == 11 && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED && a.ParseFromString(field.length_delimited()))
      defaults.push_back(std::move(a));
  }
  return defaults;
}

bool GraphImporter::inlineFunction(const NodeProto &node, Scope &outer) {
  const ::onnx::FunctionProto *body = nullptr;
  for (const auto &f : model.functions())
    if (f.name() == node.op_type() && normalized(f.domain()) == normalized(node.domain()))
      body = &f;
  if (!body)
    return false;
  if (callDepth >= 32 || ++calls > 10000)
    fail(Code::ModelMalformed, "function calls nest too deeply or repeat without end");
  Scope scope; // no parent: a function sees only its inputs
  scope.prefix = outer.prefix + (node.name().empty() ? node.op_type() : node.name()) + "/";
  for (const auto &set : body->opset_import())
    scope.opsets[normalized(set.domain())] = set.version();
  if (!scope.opsets.count(""))
    scope.opsets[""] = opsetOf("", outer);
  std::map<std::string, ::onnx::AttributeProto> attributes;
  for (auto &a : defaultAttributes(*body))
    attributes[a.name()] = a;
  for (const auto &a : node.attribute()) {
    if (a.ref_attr_name().empty()) {
      attributes[a.name()] = a;
    } else if (outer.attributes) {
      if (auto it = outer.attributes->find(a.ref_attr_name()); it != outer.attributes->end())
        attributes[a.name()] = it->second;
    }
  }
  scope.attributes = &attributes;
  for (int i = 0; i < body->input_size() && i < node.input_size(); ++i)
    if (!node.input(i).empty())
      scope.values[body->input(i)] = outer.find(node.input(i));
  ++callDepth;
  // Inputs left out are empty names inside.
  google::protobuf::RepeatedPtrField<NodeProto> nodes = body->node();
  std::set<std::string> missing;
  for (int i = 0; i < body->input_size(); ++i)
    if (!scope.values.count(body->input(i)))
      missing.insert(body->input(i));
  if (!missing.empty())
    for (NodeProto &inner : nodes)
      for (std::string &in : *inner.mutable_input())
        if (missing.count(in))
          in.clear();
  importNodes(nodes, scope, false);
  --callDepth;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    TensorPtr t = i < body->output_size() ? scope.find(body->output(i)) : nullptr;
    if (!t) {
      if (report->clean())
        fail(Code::ModelMalformed, "function '", body->name(), "' does not produce its output ", i);
      t = std::make_shared<Tensor>();
      t->poisoned = true;
    }
    outer.values[node.output(i)] = t;
  }
  return true;
}

void GraphImporter::finish() {
  llvm::SmallVector<Value> values;
  llvm::SmallVector<DictionaryAttr> attrs;
  Build at(builder, FileLineColLoc::get(ctx, modelName, model.graph().node_size(), 0), facts);
  std::set<std::string> seen;
  for (const ValueInfoProto &out : model.graph().output()) {
    TensorPtr t = top.find(out.name());
    if (!t || !seen.insert(out.name()).second) {
      report->error(Code::ModelMalformed, text("output '", out.name(), t ? "' is declared twice" : "' is produced by no node"));
      continue;
    }
    if (!t->reason.empty() || t->isSequence) {
      report->unsupported("output", "'" + out.name() + "'", t->isSequence ? "an output that is a sequence is not supported" : t->reason);
      continue;
    }
    const auto &declared = out.type().tensor_type();
    if (out.type().has_tensor_type() && declared.elem_type() != 0 && elementTypeOf(declared.elem_type(), ctx) != t->type.getElementType()) {
      report->error(Code::TypeMismatch, text("output '", out.name(), "' is declared ", elementTypeName(declared.elem_type()), ", but the graph computes ", typeText(t->type.getElementType())));
      continue;
    }
    // The location of an output that is a literal or known contents is its name.
    Build named(builder, NameLoc::get(builder.getStringAttr(out.name())), facts);
    values.push_back(materialize(*t, named));
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("graph.name", builder.getStringAttr(out.name()))));
  }
  if (model.graph().output_size() == 0)
    report->error(Code::ModelMalformed, "the model has no outputs");
  if (!report->clean())
    return;
  func::ReturnOp::create(builder, at.loc, values);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attrs);
  if (DictionaryAttr symbols = facts.attribute(); !symbols.empty())
    function->setAttr("symbols", symbols);

  // An exporter may have written the batch into the graph in ways that no rewrite undoes; say so.
  for (auto &[name, constant] : facts.replaced) {
    AffineExpr symbol = graph::symbolDim(name, ctx);
    bool reaches = false;
    for (Value v : values)
      for (AffineExpr d : graph::dimsOf(v.getType()))
        d.walk([&](AffineExpr e) { reaches |= e == symbol; });
    if (!reaches)
      report->remark(text("the size '", name, "', which the model had fixed to ", constant, ", reaches no output: the graph holds it as a constant somewhere"));
  }

  std::string problems;
  ScopedDiagnosticHandler capture(ctx, [&](Diagnostic &d) {
    llvm::raw_string_ostream(problems) << (problems.empty() ? "" : "; ") << d.getLocation() << ": " << d.str();
    return success();
  });
  if (failed(verify(*result.module)))
    report->error(Code::ShapeMismatch, "the imported graph does not verify: " + problems);
}

} // namespace graphc::onnx_import
