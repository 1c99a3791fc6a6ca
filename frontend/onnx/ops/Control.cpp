// If, Loop, Scan. A branch or loop that is decided while importing leaves no control flow: a known condition is the branch it
// takes. Otherwise bodies become those of graph.if, graph.while and graph.scan:
//   Loop of a known count whose condition stays true    scan; the iteration number is a slice of 0, 1, 2 …
//   Loop with a condition                               while that carries the condition and the iteration number; with stacked
//                                                       results and a known limit, a scan whose body does nothing once the condition
//                                                       is false, and whose stacks are cut behind the last iteration that ran
//   a body that rolled up cannot be imported            repeated, where the count is a known number: sizes that grow, sequences,
//   (sizes that change, sequences …)                    numbers that decide sizes
#include "frontend/onnx/GraphImport.h"
#include "frontend/onnx/Node.h"
#include "ir/graph/Control.h"

#include <onnx/onnx_pb.h>

namespace graphc::onnx_import {

using namespace mlir;
using ::onnx::GraphProto;

namespace {

/// Iterations of a loop that is written out.
constexpr int64_t kMaxUnrolled = 256;

TensorPtr tensorOf(Value v) {
  auto t = std::make_shared<Tensor>();
  t->value = v;
  t->type = cast<RankedTensorType>(v.getType());
  t->from.reset();
  return t;
}
TensorPtr knownTensor(Known known, Type elementType) {
  auto t = std::make_shared<Tensor>();
  t->known = std::move(known);
  t->type = RankedTensorType::get({}, elementType);
  return t;
}

const GraphProto &bodyOf(Node &n, StringRef name) {
  const GraphProto *body = n.graphAttr(name);
  if (!body)
    fail(Code::ModelMalformed, "has no ", name.str());
  return *body;
}

void give(Node &n, size_t i, TensorPtr t) {
  if (n.wants(i))
    n.scope.values[n.proto.output(static_cast<int>(i))] = std::move(t);
}
void poisonOutputs(Node &n) {
  for (size_t i = 0; i < n.outputCount(); ++i) {
    auto t = std::make_shared<Tensor>();
    t->poisoned = true;
    give(n, i, t);
  }
}
bool anyPoisoned(ArrayRef<TensorPtr> tensors) {
  return llvm::any_of(tensors, [](const TensorPtr &t) { return t->poisoned; });
}

/// A body under construction: a block in the program, whose ops move into the op that is built in the end.
class Body {
public:
  explicit Body(Node &n) : n(n) {
    holder = graph::ScanOp::create(n.b, n.loc, n.size(0), ValueRange(), ValueRange(), TypeRange(), false);
  }
  ~Body() { holder->erase(); }
  Body(const Body &) = delete;

  Block &block() { return holder.getBody().front(); }
  Value argument(Type type) { return block().addArgument(type, n.loc); }
  std::vector<TensorPtr> import(const GraphProto &graph, ArrayRef<TensorPtr> inputs = {}) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&block());
    auto outputs = n.importer.inlineGraph(graph, n.scope, inputs);
    if (static_cast<int>(outputs.size()) != graph.output_size())
      fail(Code::ModelMalformed, "a body gives ", outputs.size(), " of its ", graph.output_size(), " outputs");
    return outputs;
  }
  /// Builds at the end of the block.
  template <typename F> auto atEnd(F build) {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&block());
    return build();
  }
  llvm::SmallVector<Value> values(ArrayRef<TensorPtr> tensors) {
    return atEnd([&] {
      llvm::SmallVector<Value> values;
      for (const TensorPtr &t : tensors)
        values.push_back(n.importer.materialize(*t, n));
      return values;
    });
  }
  /// Ends the block with `yields` and moves it into `region`, whose block's arguments `arguments` replace those here.
  void moveTo(Region &region, ValueRange arguments, ValueRange yields) {
    Block &to = region.front();
    for (auto [from, replacement] : llvm::zip_equal(block().getArguments(), arguments))
      from.replaceAllUsesWith(replacement);
    llvm::SmallVector<Value> yielded;
    for (Value v : yields) { // an argument that is yielded as it is
      auto argument = dyn_cast<BlockArgument>(v);
      yielded.push_back(argument && argument.getOwner() == &block() ? arguments[argument.getArgNumber()] : v);
    }
    to.getOperations().splice(to.end(), block().getOperations());
    OpBuilder at = OpBuilder::atBlockEnd(&to);
    graph::YieldOp::create(at, n.loc, yielded);
  }

private:
  Node &n;
  graph::ScanOp holder;
};

//===-- If ----------------------------------------------------------------------------------------------------------===//
/// "Drop this dim when its size is 1", as torch's squeeze is exported: the rest of the graph can only follow one of the two, the one
/// with the dim dropped. Whether the sizes agree is checked before the call.
void assumeEqualSizes(Node &n, const GraphProto &branch) {
  auto [a, b] = *n.in(0).equalSizes;
  n.assumeEqual(a, b, "the branches of an If give different shapes; graphc follows the one for equal sizes");
  n.remark(text("its branches give different shapes: taken to be the one for ", graph::toString(a), " = ", graph::toString(b), ", which is checked in each call"));
  auto outputs = n.importer.inlineGraph(branch, n.scope);
  for (size_t i = 0; i < n.outputCount() && i < outputs.size(); ++i)
    give(n, i, outputs[i]);
}

void importIf(Node &n) {
  const GraphProto *graphs[] = {&bodyOf(n, "then_branch"), &bodyOf(n, "else_branch")};
  auto condition = n.known(0);
  if (auto value = condition ? condition->constants() : std::nullopt; value && value->size() == 1) {
    auto outputs = n.importer.inlineGraph(*graphs[value->front() ? 0 : 1], n.scope);
    if (outputs.size() < n.outputCount())
      fail(Code::ModelMalformed, "the branch has ", outputs.size(), " outputs, the node ", n.outputCount());
    for (size_t i = 0; i < n.outputCount(); ++i)
      give(n, i, outputs[i]);
    return;
  }
  Value chosen = n.x(0);
  if (!n.type(0).hasStaticShape() || n.type(0).getNumElements() != 1)
    fail(Code::ShapeMismatch, "the condition must be one bool, got shape ", graph::toString(n.dimsOf(0)));
  chosen = n.reshape(chosen, {});
  Body first(n), second(n);
  std::vector<TensorPtr> outputs[] = {first.import(*graphs[0]), second.import(*graphs[1])};
  if (anyPoisoned(outputs[0]) || anyPoisoned(outputs[1]))
    return poisonOutputs(n);
  if (outputs[0].size() != outputs[1].size() || outputs[0].size() < n.outputCount())
    fail(Code::ModelMalformed, "the branches have ", outputs[0].size(), " and ", outputs[1].size(), " outputs, the node ", n.outputCount());
  for (auto [a, b] : llvm::zip(outputs[0], outputs[1])) {
    if (a->isSequence || b->isSequence)
      unsupported("branches that give sequences, under a condition that only the data decides");
    if (a->type != b->type && n.in(0).equalSizes)
      return assumeEqualSizes(n, *graphs[0]);
    if (a->type != b->type)
      unsupported("the condition is known only at run time, and the branches give shapes ", graph::toString(graph::dimsOf(a->type)), " and ",
                  graph::toString(graph::dimsOf(b->type)));
  }
  auto yields0 = first.values(outputs[0]), yields1 = second.values(outputs[1]);
  auto op = graph::IfOp::create(n.b, n.loc, ValueRange(yields0).getTypes(), chosen);
  first.moveTo(op.getThenBody(), {}, yields0);
  second.moveTo(op.getElseBody(), {}, yields1);
  for (size_t i = 0; i < n.outputCount(); ++i)
    n.out(i, op.getResult(i));
}

//===-- Loop --------------------------------------------------------------------------------------------------------===//
class LoopImport {
public:
  explicit LoopImport(Node &n) : n(n), body(bodyOf(n, "body")) {
    if (body.input_size() < 2 || body.output_size() < 1 || body.output_size() < body.input_size() - 1)
      fail(Code::ModelMalformed, "the body has ", body.input_size(), " inputs and ", body.output_size(), " outputs");
    carried = static_cast<size_t>(body.input_size()) - 2;
    stacked = static_cast<size_t>(body.output_size()) - 1 - carried;
    if (n.inputCount() != carried + 2 || n.outputCount() > carried + stacked)
      fail(Code::ModelMalformed, "has ", n.inputCount(), " inputs and ", n.outputCount(), " outputs, but its body takes ", carried, " carried values and gives ",
           stacked, " stacked ones");
    if (n.has(0))
      if (auto known = n.known(0); known && known->size() == 1 && !known->floating)
        trips = known->ints[0];
    if (n.has(1))
      if (auto known = n.known(1))
        if (auto value = known->constants(); value && value->size() == 1)
          start = value->front() != 0;
    if (!n.has(1))
      start = true;
    if (start == false)
      trips = n.size(0);
    for (size_t i = 0; i < carried; ++i) {
      TensorPtr t = n.scope.find(n.proto.input(static_cast<int>(2 + i)));
      if (!t)
        fail(Code::ModelMalformed, "carried value ", i, " is left out");
      sequences |= t->isSequence;
      if (!t->isSequence)
        n.in(2 + i); // reports what cannot be used
      inits.push_back(t);
    }
  }

  void run() {
    auto count = trips ? graph::constantSize(*trips) : std::nullopt;
    bool countable = count && *count <= kMaxUnrolled && start.has_value();
    // An input whose value would decide how often the loop runs.
    auto decides = [&](size_t i) { return n.has(i) && !n.known(i) && n.in(i).from && !n.in(i).from->empty(); };
    std::optional<size_t> open = decides(0) ? std::optional<size_t>(0) : decides(1) ? std::optional<size_t>(1) : std::nullopt;
    if (!countable && !open)
      return roll();
    // What cannot be one body may still be written out: try, and forget what was said about the attempt.
    if (!sequences && rolls())
      return;
    if (!countable)
      n.needsValue(*open, *open == 0 ? "the number of iterations" : "the condition");
    writeOut(*count);
  }

private:
  bool rolls() {
    Report attempt, *report = std::exchange(n.importer.report, &attempt);
    bool refused = false;
    try {
      roll();
    } catch (Failure &) {
      refused = true;
    }
    n.importer.report = report;
    return !refused && attempt.clean();
  }

  void roll() {
    if (sequences)
      unsupported("a loop that carries sequences, whose number of iterations is not known");
    if (trips && !n.facts.require(*trips, 0) && !graph::constantSize(*trips))
      unsupported("whether the number of iterations ", graph::toString(*trips), " is negative cannot be decided");
    Body rolled(n);
    std::vector<TensorPtr> inputs(2);
    for (TensorPtr &t : inits)
      inputs.push_back(tensorOf(rolled.argument(t->type)));
    Value number = rolled.argument(RankedTensorType::get({}, n.i64()));
    inputs[0] = tensorOf(number);
    inputs[0]->type = RankedTensorType::get({}, n.i64());
    inputs[1] = knownTensor(Known::of({n.size(1)}), n.i1());
    auto outputs = rolled.import(body, inputs);
    if (anyPoisoned(outputs)) {
      for (const TensorPtr &t : outputs)
        if (t->poisoned && n.importer.report->clean())
          fail(Code::Internal, "the body gives no output");
      return poisonOutputs(n);
    }
    for (const TensorPtr &t : outputs)
      if (t->isSequence)
        unsupported("a loop whose body gives sequences");
    for (size_t i = 0; i < carried; ++i)
      if (outputs[1 + i]->type != inits[i]->type)
        unsupported("carried value ", i, " has shape ", graph::toString(graph::dimsOf(inits[i]->type)), " at the start and ",
                    graph::toString(graph::dimsOf(outputs[1 + i]->type)), " after an iteration");
    bool goesOn = false;
    if (auto known = n.importer.knownOf(*outputs[0]))
      if (auto value = known->constants(); value && value->size() == 1)
        goesOn = value->front() != 0;
    llvm::SmallVector<Value> first;
    for (TensorPtr &t : inits)
      first.push_back(n.importer.materialize(*t, n));
    auto next = rolled.values(ArrayRef(outputs).drop_front());
    if (trips && start && goesOn)
      return asScan(rolled, first, next);
    auto last = rolled.atEnd([&] { return n.reshape(n.importer.materialize(*outputs[0], n), {}); });
    if (stacked == 0)
      return asWhile(rolled, number, first, next, last);
    if (!trips)
      unsupported("stacked results of a loop whose largest number of iterations is not known");
    asGuardedScan(rolled, first, next, last);
  }

  Value numbers() { return n.iota({*trips}, 0, n.i64()); }

  void asScan(Body &rolled, ValueRange first, ValueRange next) {
    llvm::SmallVector<Type> slices(next.drop_front(carried).getTypes());
    auto op = graph::ScanOp::create(n.b, n.loc, *trips, first, numbers(), slices, false);
    rolled.moveTo(op.getBody(), op.getBody().getArguments(), next);
    giveAll(op.getResults());
  }

  /// Carries the condition, the iteration number, then the loop's own values.
  void asWhile(Body &rolled, Value number, ValueRange first, ValueRange next, Value last) {
    auto count = trips ? graph::constantSize(*trips) : std::nullopt;
    Value limit;
    if (!count && (n.has(0) || trips))
      limit = trips ? n.sizeScalar(*trips, n.i64()) : n.cast(n.reshape(n.x(0), {}), n.i64());
    Value zero = n.scalarInt(0, n.i64());
    Value condition = start == true ? n.scalarInt(1, n.i1()) : n.reshape(n.x(1), {});
    if (limit)
      condition = n.logicalAnd(condition, n.less(zero, limit));
    llvm::SmallVector<Value> inits{condition, zero};
    llvm::append_range(inits, first);
    llvm::SmallVector<Value> yields = rolled.atEnd([&] {
      Value following = n.add(number, n.scalarInt(1, n.i64()));
      Value more = limit ? n.logicalAnd(last, n.less(following, limit)) : last;
      return llvm::SmallVector<Value>{more, following};
    });
    llvm::append_range(yields, next);
    auto op = graph::WhileOp::create(n.b, n.loc, inits, count ? n.b.getI64IntegerAttr(std::max<int64_t>(*count, 0)) : IntegerAttr());
    llvm::SmallVector<Value> arguments(op.getBody().getArguments().drop_front(2));
    arguments.push_back(op.getBody().getArgument(1));
    rolled.moveTo(op.getBody(), arguments, yields);
    giveAll(op.getResults().drop_front(2));
  }

  /// As many iterations as the loop may have; those behind its end pass on what they got.
  void asGuardedScan(Body &rolled, ValueRange first, ValueRange next, Value last) {
    Value condition = start == true ? n.scalarInt(1, n.i1()) : n.reshape(n.x(1), {});
    llvm::SmallVector<Value> inits{condition};
    llvm::append_range(inits, first);
    llvm::SmallVector<Type> slices(next.drop_front(carried).getTypes());
    slices.push_back(condition.getType());
    auto op = graph::ScanOp::create(n.b, n.loc, *trips, inits, numbers(), slices, false);
    OpBuilder::InsertionGuard guard(n.b);
    auto outside = n.b.saveInsertionPoint();
    Block &block = op.getBody().front();
    n.b.setInsertionPointToEnd(&block);
    llvm::SmallVector<Value> yields{last};
    llvm::append_range(yields, next);
    auto step = graph::IfOp::create(n.b, n.loc, ValueRange(yields).getTypes(), block.getArgument(0));
    llvm::SmallVector<Value> arguments(block.getArguments().drop_front());
    rolled.moveTo(step.getThenBody(), arguments, yields);
    n.b.setInsertionPointToEnd(&step.getElseBody().front());
    llvm::SmallVector<Value> passed(block.getArguments().take_front(1 + carried));
    for (Type type : ArrayRef(slices).drop_back())
      passed.push_back(n.broadcast(n.scalarInt(0, cast<RankedTensorType>(type).getElementType()), graph::dimsOf(type)));
    graph::YieldOp::create(n.b, n.loc, passed);
    n.b.setInsertionPointToEnd(&block);
    llvm::SmallVector<Value> all(step.getResults());
    all.push_back(block.getArgument(0));
    graph::YieldOp::create(n.b, n.loc, all);
    n.b.restoreInsertionPoint(outside);
    llvm::SmallVector<Value> results(op.getResults().slice(1, carried));
    Value ran = op.getResults().back();
    AffineExpr length = n.facts.fresh("loop");
    for (Value stack : op.getResults().drop_front(1 + carried).drop_back()) {
      Dims dims = Build::dims(stack);
      dims[0] = length;
      results.push_back(graph::CompressOp::create(n.b, n.loc, graph::tensorType(dims, Build::elementType(stack)), stack, ran, n.b.getI64IntegerAttr(0)));
    }
    giveAll(results);
  }

  void giveAll(ValueRange results) {
    for (size_t i = 0; i < n.outputCount(); ++i)
      n.out(i, results[i]);
  }

  /// The body once for each iteration.
  void writeOut(int64_t count) {
    std::vector<TensorPtr> values = inits;
    std::vector<llvm::SmallVector<Value>> stacks(stacked);
    for (int64_t i = 0; i < count; ++i) {
      std::vector<TensorPtr> inputs{knownTensor(Known::of({n.size(i)}), n.i64()), knownTensor(Known::of({n.size(1)}), n.i1())};
      inputs.insert(inputs.end(), values.begin(), values.end());
      auto outputs = n.importer.inlineGraph(body, n.scope, inputs);
      if (anyPoisoned(outputs))
        return poisonOutputs(n);
      values.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<ptrdiff_t>(carried));
      for (size_t s = 0; s < stacked; ++s)
        stacks[s].push_back(n.unsqueeze(n.importer.materialize(*outputs[1 + carried + s], n), 0));
      auto known = n.importer.knownOf(*outputs[0]);
      auto value = known ? known->constants() : std::nullopt;
      if (!value || value->size() != 1)
        unsupported("a loop that carries sequences or changing sizes under a condition that only the data decides");
      if (!value->front())
        break;
    }
    for (size_t i = 0; i < n.outputCount(); ++i) {
      if (i < carried) {
        give(n, i, values[i]);
        continue;
      }
      if (stacks[i - carried].empty())
        unsupported("stacked results of a loop that never runs");
      n.out(i, n.concat(stacks[i - carried], 0));
    }
  }

  Node &n;
  const GraphProto &body;
  size_t carried = 0, stacked = 0;
  std::optional<AffineExpr> trips; // the largest number of iterations
  std::optional<bool> start;       // the condition at the start
  bool sequences = false;
  std::vector<TensorPtr> inits;
};
void importLoop(Node &n) { LoopImport(n).run(); }

//===-- Scan --------------------------------------------------------------------------------------------------------===//
/// `x` with `axis` in front; and back.
Value axisFirst(Node &n, Value x, int64_t axis) {
  llvm::SmallVector<int64_t> perm{axis};
  for (int64_t d = 0; d < Build::rank(x); ++d)
    if (d != axis)
      perm.push_back(d);
  return axis == 0 ? x : n.transpose(x, perm);
}
Value axisBack(Node &n, Value x, int64_t axis) {
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 1; d < Build::rank(x); ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + axis, 0);
  return axis == 0 ? x : n.transpose(x, perm);
}
Value flipped(Node &n, Value x) {
  AffineExpr count = Build::dims(x)[0];
  return n.slice(x, 0, graph::simplify(count - 1), count, -1);
}

class ScanImport {
public:
  explicit ScanImport(Node &n) : n(n), body(bodyOf(n, "body")), first(n.opset < 9 ? 1 : 0) {
    scanned = static_cast<size_t>(n.i("num_scan_inputs", 0));
    size_t inputs = n.inputCount() - first;
    if (scanned < 1 || scanned > inputs || body.input_size() != static_cast<int>(inputs))
      fail(Code::ModelMalformed, "has ", inputs, " inputs, of which ", scanned, " are scanned, and its body takes ", body.input_size());
    carried = inputs - scanned;
    if (body.output_size() < static_cast<int>(carried))
      fail(Code::ModelMalformed, "carries ", carried, " values, but its body gives ", body.output_size());
    stacked = static_cast<size_t>(body.output_size()) - carried;
    inputDirections = directions(n.opset < 9 ? "directions" : "scan_input_directions", scanned);
    outputDirections = directions("scan_output_directions", stacked);
    inputAxes = numbers("scan_input_axes", scanned);
    outputAxes = numbers("scan_output_axes", stacked);
  }

  void run() {
    llvm::SmallVector<Value> inits, slices;
    for (size_t i = 0; i < carried; ++i)
      inits.push_back(n.x(first + i));
    for (size_t i = 0; i < scanned; ++i)
      slices.push_back(n.x(first + carried + i));
    if (n.opset < 9)
      return perBatch(inits, slices);
    for (size_t i = 0; i < scanned; ++i)
      slices[i] = axisFirst(n, slices[i], Build::axis(inputAxes[i], Build::rank(slices[i])));
    auto results = build(inits, slices);
    if (results.empty())
      return poisonOutputs(n);
    for (size_t i = 0; i < stacked; ++i) {
      Value &stack = results[carried + i];
      stack = axisBack(n, stack, Build::axis(outputAxes[i], Build::rank(stack)));
    }
    for (size_t i = 0; i < n.outputCount(); ++i)
      n.out(i, results[i]);
  }

private:
  std::vector<int64_t> numbers(StringRef name, size_t count) {
    std::vector<int64_t> list = n.ints(name);
    if (list.empty())
      list.resize(count);
    if (list.size() != count)
      fail(Code::ModelMalformed, name.str(), " has ", list.size(), " entries for ", count, " values");
    return list;
  }
  std::vector<int64_t> directions(StringRef name, size_t count) {
    std::vector<int64_t> list = numbers(name, count);
    for (int64_t d : list)
      if (d != 0 && d != 1)
        fail(Code::ModelMalformed, name.str(), " has the entry ", d, "; 0 is forward and 1 is backward");
    return list;
  }

  /// Opset 8 has a batch in front of everything: each of its elements is a scan of its own.
  void perBatch(ArrayRef<Value> inits, ArrayRef<Value> slices) {
    if (n.has(0))
      unsupported("sequence_lens");
    llvm::SmallVector<Value> all(inits);
    llvm::append_range(all, slices);
    for (Value v : all)
      if (Build::rank(v) < 1)
        fail(Code::ShapeMismatch, "every input needs a batch dim in front");
    AffineExpr batch = Build::dims(all[0])[0];
    for (Value v : all)
      n.requireSame(Build::dims(v)[0], batch, "the batch");
    Body outer(n);
    llvm::SmallVector<Value> arguments;
    for (Value v : all)
      arguments.push_back(outer.argument(graph::sliceType(v.getType())));
    auto results = outer.atEnd([&] { return build(ArrayRef(arguments).take_front(carried), ArrayRef(arguments).drop_front(carried)); });
    if (results.empty())
      return poisonOutputs(n);
    auto op = graph::ScanOp::create(n.b, n.loc, batch, ValueRange(), all, ValueRange(results).getTypes(), false);
    outer.moveTo(op.getBody(), op.getBody().getArguments(), results);
    for (size_t i = 0; i < n.outputCount(); ++i)
      n.out(i, op.getResult(i));
  }

  /// Values after the last iteration, then stacks along dim 0; empty when the body could not be imported.
  llvm::SmallVector<Value> build(ArrayRef<Value> inits, ArrayRef<Value> slices) {
    // Everything backwards is a scan in reverse; otherwise what goes backwards is turned around before or behind.
    bool reverse = llvm::all_of(inputDirections, [](int64_t d) { return d == 1; });
    llvm::SmallVector<Value> turned(slices);
    for (size_t i = 0; i < scanned; ++i) {
      if (Build::rank(turned[i]) < 1)
        fail(Code::ShapeMismatch, "scanned input ", i, " has no dim to scan along");
      if ((inputDirections[i] == 1) != reverse)
        turned[i] = flipped(n, turned[i]);
    }
    AffineExpr count = Build::dims(turned[0])[0];
    for (Value v : turned)
      n.requireSame(count, Build::dims(v)[0], "the scanned length");
    Body rolled(n);
    std::vector<TensorPtr> inputs;
    for (Value v : inits)
      inputs.push_back(tensorOf(rolled.argument(v.getType())));
    for (Value v : turned)
      inputs.push_back(tensorOf(rolled.argument(graph::sliceType(v.getType()))));
    auto outputs = rolled.import(body, inputs);
    if (anyPoisoned(outputs))
      return {};
    for (size_t i = 0; i < carried; ++i)
      if (outputs[i]->type != inits[i].getType())
        unsupported("carried value ", i, " has shape ", Build::shapeText(inits[i]), " at the start and ", graph::toString(graph::dimsOf(outputs[i]->type)),
                    " after an iteration");
    auto next = rolled.values(outputs);
    auto op = graph::ScanOp::create(n.b, n.loc, count, inits, turned, ValueRange(next).drop_front(carried).getTypes(), reverse);
    rolled.moveTo(op.getBody(), op.getBody().getArguments(), next);
    llvm::SmallVector<Value> results(op.getResults());
    // Stacks are written where slices are read; outputs are in order of the iterations, or against it.
    for (size_t i = 0; i < stacked; ++i)
      if ((outputDirections[i] == 1) != reverse)
        results[carried + i] = flipped(n, results[carried + i]);
    return results;
  }

  Node &n;
  const GraphProto &body;
  size_t first; // input number of the first carried value
  size_t carried = 0, scanned = 0, stacked = 0;
  std::vector<int64_t> inputDirections, outputDirections, inputAxes, outputAxes;
};
void importScan(Node &n) { ScanImport(n).run(); }

const Handler table[] = {
    {"If", 1, importIf},
    {"Loop", 1, importLoop},
    {"Scan", 8, importScan},
};

} // namespace

ArrayRef<Handler> controlOps() { return table; }

} // namespace graphc::onnx_import
