#include "frontend/compile/PlanWriter.h"
#include "codegen/common/Schedule.h"
#include "frontend/compile/PlanEntries.h"
#include "ir/graph/Control.h"
#include "ir/kernel/Segments.h"
#include "passes/fuse/StridedView.h"
#include "passes/kernels/LibraryCalls.h"
#include "passes/plan/PlaceBuffers.h"

using namespace mlir;
using namespace graphc;
using graphc::graph::constantSize;
using graphc::graph::DimsAttr;
using graphc::graph::dimsOf;

namespace {

class PlanWriter {
public:
  PlanWriter(ModuleOp module, codegen::cuda::DeviceCode *device) : module(module), device(device), ctx(module.getContext()), plan(std::make_unique<plan::PlanT>()) {}

  FailureOr<std::unique_ptr<plan::PlanT>> write() {
    auto func = module.lookupSymbol<func::FuncOp>("main");
    if (!func)
      return module.emitError("has no function @main"), failure();
    plan->version = plan::kPlanVersion;
    plan->producer = "graphc";
    if (auto model = module->getAttrOfType<StringAttr>("graph.model"))
      plan->model = model.str();
    for (auto kernel : module.getOps<kernel::FuncOp>()) {
      kernels[kernel.getSymName()] = {(int)plan->kernels.size(), kernel};
      auto entry = std::make_unique<plan::KernelT>();
      entry->symbol = kernel.getSymName().str();
      if (auto sources = kernel.getSources())
        for (Attribute source : *sources)
          entry->source_ops.push_back(cast<StringAttr>(source).str());
      if (device)
        addLaunch(*entry, device->kernels[plan->kernels.size()], device->moduleOf[plan->kernels.size()]);
      plan->kernels.push_back(std::move(entry));
    }
    if (device)
      addModules(*plan, *device);
    if (failed(writeParameters(func)))
      return failure();
    commands = &plan->main;
    Block &block = func.getBody().front();
    for (Operation &op : block.without_terminator())
      if (failed(writeOp(&op)))
        return failure();
    writeReturns(func, block.getTerminator());
    return std::move(plan);
  }

private:
  //===-- sizes -------------------------------------------------------------------------------------------------===//
  int expr(AffineExpr e) {
    if (auto it = exprs.find(e); it != exprs.end())
      return it->second;
    plan::Expr node;
    if (auto c = dyn_cast<AffineConstantExpr>(e)) {
      node = plan::Expr(plan::ExprOp::Const, 0, 0, c.getValue());
    } else if (auto s = dyn_cast<AffineSymbolExpr>(e)) {
      node = plan::Expr(plan::ExprOp::Symbol, symbol(s.getPosition()), 0, 0);
    } else {
      auto binary = cast<AffineBinaryOpExpr>(e);
      plan::ExprOp op = e.getKind() == AffineExprKind::Add        ? plan::ExprOp::Add
                        : e.getKind() == AffineExprKind::Mul      ? plan::ExprOp::Mul
                        : e.getKind() == AffineExprKind::FloorDiv ? plan::ExprOp::FloorDiv
                        : e.getKind() == AffineExprKind::CeilDiv  ? plan::ExprOp::CeilDiv
                                                                  : plan::ExprOp::Mod;
      int a = expr(binary.getLHS()), b = expr(binary.getRHS());
      node = plan::Expr(op, a, b, 0);
    }
    plan->exprs.push_back(node);
    return exprs[e] = plan->exprs.size() - 1;
  }
  std::vector<int> exprList(ArrayRef<AffineExpr> list) {
    std::vector<int> ids;
    for (AffineExpr e : list)
      ids.push_back(expr(e));
    return ids;
  }
  int symbol(unsigned id) {
    auto [it, inserted] = symbols.try_emplace(id, plan->symbols.size());
    if (inserted) {
      auto entry = std::make_unique<plan::SymbolT>();
      entry->name = ctx->getOrLoadDialect<graph::GraphDialect>()->symbolName(id);
      plan->symbols.push_back(std::move(entry));
    }
    return it->second;
  }
  /// bytes of `elements` elements
  int byteExpr(AffineExpr elements, Type type) {
    int64_t size = std::max(1u, cast<RankedTensorType>(type).getElementTypeBitWidth() / 8);
    return expr(graph::simplify(elements * size));
  }

  //===-- buffers -----------------------------------------------------------------------------------------------===//
  plan::BufferT &addBuffer(RankedTensorType type, std::string name, plan::BufferKind kind, int index = -1) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->name = std::move(name);
    buffer->dtype = planDType(type.getElementType());
    buffer->dims = exprList(dimsOf(type));
    buffer->kind = kind;
    buffer->index = index;
    plan->buffers.push_back(std::move(buffer));
    return *plan->buffers.back();
  }
  plan::BufferT &addBuffer(Value value, plan::BufferKind kind, int index = -1) {
    auto &buffer = addBuffer(cast<RankedTensorType>(value.getType()), nameOf(value.getLoc()), kind, index);
    buffers[value] = plan->buffers.size() - 1;
    return buffer;
  }
  int buffer(Value v) {
    assert(buffers.count(v) && "a value is defined before it is used");
    return buffers.lookup(v);
  }
  int fileIndex(StringRef path) {
    for (auto [i, file] : llvm::enumerate(plan->files))
      if (file->path == path)
        return i;
    auto file = std::make_unique<plan::WeightFileT>();
    file->path = path.str();
    plan->files.push_back(std::move(file));
    return plan->files.size() - 1;
  }

  LogicalResult writeParameters(func::FuncOp func) {
    auto ranges = func->getAttrOfType<DictionaryAttr>("symbols");
    for (auto [i, arg] : llvm::enumerate(func.getArguments())) {
      auto name = func.getArgAttrOfType<StringAttr>(i, "graph.name");
      for (auto [d, dim] : llvm::enumerate(dimsOf(arg.getType()))) {
        auto s = dyn_cast<AffineSymbolExpr>(dim);
        if (!s)
          continue;
        auto &entry = *plan->symbols[symbol(s.getPosition())];
        if (entry.input < 0) {
          entry.input = i;
          entry.dim = d;
        }
        auto range = ranges ? dyn_cast_or_null<DictionaryAttr>(ranges.get(entry.name)) : DictionaryAttr();
        auto bound = [&](StringRef key, int64_t otherwise) {
          auto attr = range ? range.getAs<IntegerAttr>(key) : IntegerAttr();
          return attr ? attr.getInt() : otherwise;
        };
        entry.lo = bound("lo", entry.lo);
        entry.hi = bound("hi", entry.hi);
        entry.multiple = bound("multiple", entry.multiple);
      }
      addBuffer(arg, plan::BufferKind::Input, i).name = name ? name.str() : "arg" + std::to_string(i);
      auto param = std::make_unique<plan::ParamT>();
      param->name = plan->buffers.back()->name;
      param->buffer = plan->buffers.size() - 1;
      plan->inputs.push_back(std::move(param));
    }
    for (auto arg : func.getArguments())
      for (AffineExpr dim : dimsOf(arg.getType())) {
        LogicalResult known = success();
        dim.walk([&](AffineExpr e) {
          if (auto s = dyn_cast<AffineSymbolExpr>(e); s && plan->symbols[symbol(s.getPosition())]->input < 0)
            known = failure();
        });
        if (failed(known))
          return func.emitError() << "size " << graph::toString(dim) << " of an input uses a symbol that no input has as a size of its own";
      }
    plan->outputs.resize(func.getNumResults());
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      auto name = func.getResultAttrOfType<StringAttr>(i, "graph.name");
      plan->outputs[i] = std::make_unique<plan::ParamT>();
      plan->outputs[i]->name = name ? name.str() : "result" + std::to_string(i);
      if (auto tied = func.getResultAttrOfType<IntegerAttr>(i, kUpdates))
        plan->outputs[i]->updates = static_cast<int>(tied.getInt());
    }
    return success();
  }

  /// The concatenation whose part `result` can be computed in place: its parts lie one after the other (every dim before the axis
  /// is 1), nobody else reads this one, and it may live anywhere.
  plan::ConcatOp concatInto(OpResult result) {
    if (!result.hasOneUse() || !isa<plan::DispatchOp, plan::LibraryOp>(result.getOwner()) || placeOf(result) != "temp")
      return {};
    auto concat = dyn_cast<plan::ConcatOp>(*result.getUsers().begin());
    if (!concat || concat.getPrepare() || concat->getBlock() != result.getOwner()->getBlock())
      return {};
    for (AffineExpr dim : ArrayRef(dimsOf(concat.getType())).take_front(concat.getAxis()))
      if (!graph::isSize(dim, 1))
        return {};
    return concat;
  }
  static StringRef placeOf(OpResult result) {
    auto places = result.getOwner()->getAttrOfType<ArrayAttr>("place");
    return places ? cast<StringAttr>(places[result.getResultNumber()]).getValue() : StringRef();
  }
  /// First element of the part that `operand` is.
  AffineExpr partOffset(plan::ConcatOp concat, unsigned operand) {
    AffineExpr offset = graph::constantDim(0, ctx);
    for (Value before : concat.getInputs().take_front(operand))
      offset = offset + dimsOf(before.getType())[concat.getAxis()];
    return graph::simplify(offset * denseStrides(dimsOf(concat.getType()), ctx)[concat.getAxis()]);
  }

  /// Buffers of an op's results as `place` says.
  void placeResults(Operation *op) {
    assert(op->hasAttr("place") && "the plan phase places every result");
    for (OpResult result : op->getResults()) {
      if (buffers.count(result))
        continue; // a concatenation that a part was placed in before
      if (plan::ConcatOp concat = concatInto(result)) {
        placeResults(concat);
        auto &part = addBuffer(result, plan::BufferKind::Alias);
        part.alias_of = buffer(concat.getResult());
        AffineExpr offset = partOffset(concat, result.use_begin()->getOperandNumber());
        if (!graph::isSize(offset, 0)) {
          int bytes = byteExpr(offset, result.getType());
          plan->buffers[buffers.lookup(result)]->alias_offset = bytes;
        }
        continue;
      }
      StringRef place = placeOf(result);
      unsigned number = 0;
      if (place.consume_front("output ") && !place.getAsInteger(10, number)) {
        addBuffer(result, plan::BufferKind::Output, number);
        plan->outputs[number]->buffer = plan->buffers.size() - 1;
      } else if (place.consume_front("yield ") && !place.getAsInteger(10, number)) {
        addBuffer(result, plan::BufferKind::Alias).alias_of = yieldTargets[number];
      } else if (place.consume_front("inplace ") && !place.getAsInteger(10, number)) {
        addBuffer(result, plan::BufferKind::Alias).alias_of = buffer(op->getOperand(number));
      } else if (place == "prepared") {
        addBuffer(result, plan::BufferKind::Prepared);
      } else {
        addBuffer(result, plan::BufferKind::Temp);
      }
    }
  }

  //===-- commands ----------------------------------------------------------------------------------------------===//
  template <typename Action>
  plan::CommandT &addCommand(Operation *op, Action action, std::vector<int> reads, std::vector<int> writes) {
    auto command = std::make_unique<plan::CommandT>();
    command->name = nameOf(op->getLoc());
    if (command->name.empty())
      command->name = op->getName().stripDialect().str();
    command->location = textOf(op->getLoc());
    command->reads = std::move(reads);
    command->writes = std::move(writes);
    command->action.Set(std::move(action));
    auto &list = op->hasAttr("prepare") ? plan->prepare : *commands;
    list.push_back(std::move(command));
    return *list.back();
  }
  std::vector<int> bufferList(ValueRange values) {
    std::vector<int> ids;
    for (Value v : values)
      ids.push_back(buffer(v));
    return ids;
  }
  std::unique_ptr<plan::OperandT> denseOperand(Value v) {
    auto operand = std::make_unique<plan::OperandT>();
    operand->buffer = buffer(v);
    // Stated: an output's buffer may be declared with the shape that a view gives it.
    operand->dims = exprList(dimsOf(v.getType()));
    return operand;
  }
  std::unique_ptr<plan::OperandT> absentOperand() { return std::make_unique<plan::OperandT>(); }

  LogicalResult writeOp(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](graph::ConstantOp o) { return writeConstant(o); })
        .Case([&](graph::GetWeightOp o) { return writeWeight(o); })
        .Case([&](plan::DispatchOp o) { return writeDispatch(o); })
        .Case([&](plan::LibraryOp o) { return writeLibrary(o); })
        .Case([&](plan::RoutineCallOp o) { return writeRoutine(o); })
        .Case([&](plan::ViewOp o) {
          auto &entry = addBuffer(o.getResult(), plan::BufferKind::Alias);
          entry.alias_of = buffer(o.getX());
          AffineExpr offset = o.getOffset().getDims()[0];
          if (!graph::isSize(offset, 0)) {
            int bytes = byteExpr(offset, o.getType());
            plan->buffers[buffers.lookup(o.getResult())]->alias_offset = bytes;
          }
          return success();
        })
        .Case([&](plan::ConcatOp o) { return writeConcat(o); })
        .Case([&](graph::IfOp o) { return writeIf(o); })
        .Case([&](graph::WhileOp o) { return writeWhile(o); })
        .Case([&](graph::ScanOp o) { return writeScan(o); })
        .Case([&](plan::CheckOp o) {
          auto sizes = o.getSizes().getDims();
          for (unsigned i = 1; i < sizes.size(); ++i) {
            plan::CheckT check;
            check.relation = plan::Relation::Eq;
            check.a = expr(sizes[0]);
            check.b = expr(sizes[i]);
            check.message = o.getMessage().str();
            addCommand(o, std::move(check), {}, {});
          }
          return success();
        })
        .Default([](Operation *op) {
          return op->emitOpError() << "is no plan command: the phases `fuse` and `kernels` leave none of these";
        });
  }

  LogicalResult writeConstant(graph::ConstantOp op) {
    auto elements = cast<DenseElementsAttr>(op.getValue());
    auto &entry = addBuffer(op.getResult(), plan::BufferKind::Weight);
    entry.weight = std::make_unique<plan::WeightDataT>();
    auto &bytes = entry.weight->inline_bytes;
    Type type = elements.getElementType();
    unsigned width = type.getIntOrFloatBitWidth();
    int64_t count = elements.getNumElements();
    if (width == 1) {
      for (bool b : elements.getValues<bool>())
        bytes.push_back(b);
    } else {
      ArrayRef<char> raw = elements.getRawData();
      bool splat = elements.isSplat();
      for (int64_t i = 0; i < (splat ? count : 1); ++i)
        bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    entry.weight->bytes = bytes.size();
    return success();
  }
  LogicalResult writeWeight(graph::GetWeightOp op) {
    auto weight = module.lookupSymbol<graph::WeightOp>(op.getWeight());
    if (!weight)
      return op.emitOpError() << "refers to @" << op.getWeight() << ", which is not defined";
    auto &entry = addBuffer(op.getResult(), plan::BufferKind::Weight);
    entry.name = op.getWeight().str();
    entry.weight = std::make_unique<plan::WeightDataT>();
    entry.weight->file = fileIndex(weight.getFile());
    entry.weight->offset = weight.getOffset();
    entry.weight->bytes = weight.getBytes();
    entry.weight->hash = weight.getHash();
    return success();
  }

  LogicalResult writeDispatch(plan::DispatchOp op) {
    auto it = kernels.find(op.getKernel());
    if (it == kernels.end())
      return op.emitOpError() << "calls @" << op.getKernel() << ", which is not defined";
    placeResults(op);
    auto [index, func] = it->second;
    plan::DispatchT dispatch;
    dispatch.kernel = index;
    // Each segment's operands, then its results.
    size_t segments = static_cast<size_t>(kernel::segmentsOf(func).value_or(1));
    auto ofSegment = [&](ValueRange values, size_t segment) {
      for (Value v : values.slice(segment * (values.size() / segments), values.size() / segments))
        dispatch.buffers.push_back(buffer(v));
    };
    for (size_t segment = 0; segment < segments; ++segment) {
      ofSegment(op.getInputs(), segment);
      ofSegment(op.getResults(), segment);
    }
    dispatch.scalars = exprList(op.getScalars().getDims());
    // The range is over the kernel's scalars; ours are expressions. Segments follow each other.
    AffineMap range = func.getRangeMap();
    ArrayRef<AffineExpr> scalars = op.getScalars().getDims();
    AffineExpr units = graph::constantDim(0, ctx);
    for (size_t segment = 0; segment < segments; ++segment)
      units = units + range.getResult(0).replaceSymbols(scalars.slice(segment * func.getNumScalars(), func.getNumScalars()));
    dispatch.range = expr(graph::simplify(units));
    dispatch.cost_ns = op.getCost().convertToDouble() * static_cast<double>(codegen::pointsPerUnit(func));
    if (auto sites = op.getSites())
      for (Attribute site : *sites) {
        auto entry = std::make_unique<plan::SiteT>();
        entry->name = cast<StringAttr>(site).str();
        entry->location = textOf(op.getLoc());
        dispatch.sites.push_back(std::move(entry));
      }
    addCommand(op, std::move(dispatch), bufferList(op.getInputs()), bufferList(op.getResults()));
    return success();
  }

  std::unique_ptr<plan::OperandT> stridedOperand(Value v, plan::StridedAttr view) {
    auto operand = std::make_unique<plan::OperandT>();
    operand->buffer = buffer(v);
    auto dims = view.getDims().getDims(), strides = view.getStrides().getDims();
    operand->dims = exprList(dims);
    auto dense = denseStrides(dims, ctx);
    bool isDense = true;
    for (auto [d, s, e] : llvm::zip(dims, strides, dense))
      isDense &= s == e || graph::isSize(d, 1);
    if (!isDense)
      operand->strides = exprList(strides);
    AffineExpr offset = view.getOffset().getDims()[0];
    if (!graph::isSize(offset, 0))
      operand->offset = expr(offset);
    return operand;
  }

  /// The result of an attention in the order of its product.
  std::unique_ptr<plan::OperandT> attentionResult(plan::LibraryOp op) {
    auto order = op.getResultOrder();
    if (!order)
      return denseOperand(op.getResult());
    auto stored = dimsOf(op.getResult().getType());
    auto storedStrides = denseStrides(stored, ctx);
    SmallVector<AffineExpr> dims(stored), strides(storedStrides);
    for (auto [i, place] : llvm::enumerate(*order)) {
      dims[place] = stored[i];
      strides[place] = storedStrides[i];
    }
    auto attr = [&](ArrayRef<AffineExpr> list) { return graph::DimsAttr::get(ctx, list); };
    return stridedOperand(op.getResult(), plan::StridedAttr::get(ctx, attr(dims), attr(strides), attr({graph::constantDim(0, ctx)})));
  }

  LogicalResult writeAttention(plan::LibraryOp op) {
    plan::LibraryT library;
    library.kind = plan::LibraryKind::Attention;
    auto operand = [&](unsigned i) { return stridedOperand(op.getInputs()[i], cast<plan::StridedAttr>(op.getViews()[i])); };
    for (unsigned i : {0, 1, 2})
      library.operands.push_back(operand(i));
    library.operands.push_back(attentionResult(op));
    if (op.getInputs().size() > 3)
      library.operands.push_back(operand(3));
    library.scale = op.getScale().convertToDouble();
    library.nan_to_zero = op.getNanToZero();
    library.compute = plan::DType::BF16;
    auto &command = addCommand(op, std::move(library), bufferList(op.getInputs()), {buffer(op.getResult())});
    command.flops = op.getCost().convertToDouble();
    return success();
  }

  LogicalResult writeLibrary(plan::LibraryOp op) {
    placeResults(op);
    if (op.getKind() == "attention")
      return writeAttention(op);
    plan::LibraryT library;
    library.kind = op.getKind() == "matmul" ? plan::LibraryKind::MatMul
                   : op.getKind() == "conv"             ? plan::LibraryKind::Conv
                   : op.getKind() == "conv_weight_grad" ? plan::LibraryKind::ConvWeightGrad
                                                        : plan::LibraryKind::Deconv;
    unsigned first = op.getBias() ? 3 : 2;
    auto operand = [&](unsigned i) { return stridedOperand(op.getInputs()[i], cast<plan::StridedAttr>(op.getViews()[i])); };
    library.operands.push_back(operand(0));
    bool weightGrad = library.kind == plan::LibraryKind::ConvWeightGrad; // writes what the others read
    library.operands.push_back(weightGrad ? denseOperand(op.getResult()) : operand(1));
    library.operands.push_back(op.getBias() ? operand(2) : absentOperand());
    auto resultView = op->getAttrOfType<plan::StridedAttr>(kResultViewAttr);
    library.operands.push_back(weightGrad   ? operand(1)
                               : resultView ? stridedOperand(op.getResult(), resultView)
                                            : denseOperand(op.getResult()));
    for (unsigned i = first; i < op.getInputs().size(); ++i)
      library.operands.push_back(operand(i));
    library.layout = op.getChannelsLast() ? plan::Layout::ChannelsLast : plan::Layout::ChannelsFirst;
    auto list = [](std::optional<ArrayRef<int64_t>> values) {
      return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
    };
    library.strides = list(op.getStrides());
    library.dilations = list(op.getDilations());
    for (int64_t pad : list(op.getPadsLow()))
      library.pads_begin.push_back(expr(graph::constantDim(pad, ctx)));
    for (int64_t pad : list(op.getPadsHigh()))
      library.pads_end.push_back(expr(graph::constantDim(pad, ctx)));
    library.groups = op.getGroups();
    for (Attribute attr : op.getPostOps()) {
      auto post = cast<plan::PostOpAttr>(attr);
      auto kind = postOpKind(post.getKind().getValue());
      if (!kind)
        return op.emitOpError() << "has the unknown post-op \"" << post.getKind().getValue() << "\"";
      auto entry = std::make_unique<plan::PostOpT>();
      entry->kind = *kind;
      entry->alpha = post.getAlpha().getValueAsDouble();
      entry->beta = post.getBeta().getValueAsDouble();
      entry->operand = post.getOperand() < 0 ? -1 : post.getOperand() - first + 4;
      library.post_ops.push_back(std::move(entry));
    }
    library.compute = planDType(cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType());
    auto &command = addCommand(op, std::move(library), bufferList(op.getInputs()), {buffer(op.getResult())});
    command.flops = op.getCost().convertToDouble();
    return success();
  }

  LogicalResult writeRoutine(plan::RoutineCallOp op) {
    placeResults(op);
    plan::RoutineT routine;
    routine.name = op.getName().str();
    for (Value v : op.getInputs())
      routine.operands.push_back(denseOperand(v));
    routine.num_inputs = op.getInputs().size();
    for (NamedAttribute attr : op.getParams()) {
      auto entry = routineAttribute(attr);
      if (!entry)
        return op.emitOpError() << "attribute " << attr.getName() << " has a type that routines do not take";
      routine.attributes.push_back(std::move(entry));
    }
    routine.exprs = exprList(op.getExprs().getDims());
    // A size the routine decides is at most the number of elements it looks at (boxes, for non-maximum suppression). It is handed
    // results with room for that many.
    AffineExpr bound = graph::product(dimsOf(op.getInputs()[op.getName() == "nms" ? 1 : 0].getType()), ctx);
    llvm::DenseMap<AffineExpr, AffineExpr> room;
    for (Attribute name : op.getSymbols())
      room[graph::symbolDim(cast<StringAttr>(name).getValue(), ctx)] = bound;
    std::vector<int> written;
    for (Value v : op.getResults()) {
      std::vector<int> roomDims;
      for (AffineExpr d : dimsOf(v.getType()))
        roomDims.push_back(expr(graph::simplify(d.replace(room))));
      auto operand = denseOperand(v);
      operand->dims = roomDims;
      int whole = operand->buffer;
      written.push_back(whole);
      routine.operands.push_back(std::move(operand));
      if (plan->buffers[whole]->dims == roomDims)
        continue;
      // Readers see a view of the decided size at the start of that room.
      plan->buffers[whole]->dims = roomDims;
      addBuffer(v, plan::BufferKind::Alias).alias_of = whole;
    }
    for (Attribute name : op.getSymbols()) {
      unsigned id = ctx->getOrLoadDialect<graph::GraphDialect>()->symbolId(cast<StringAttr>(name).getValue());
      int index = symbol(id);
      plan->symbols[index]->lo = 0;
      int limit = expr(bound);
      plan->symbols[index]->bound = limit;
      routine.symbols.push_back(index);
    }
    addCommand(op, std::move(routine), bufferList(op.getInputs()), written);
    return success();
  }
  LogicalResult writeConcat(plan::ConcatOp op) {
    placeResults(op);
    auto strides = denseStrides(dimsOf(op.getType()), ctx);
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      auto result = dyn_cast<OpResult>(input);
      if (result && concatInto(result))
        continue; // computed in place
      plan::CopyT copy;
      copy.src = denseOperand(input);
      copy.dst = denseOperand(op.getResult());
      copy.dst->dims = exprList(dimsOf(input.getType()));
      copy.dst->strides = exprList(strides);
      AffineExpr offset = partOffset(op, i);
      if (!graph::isSize(offset, 0))
        copy.dst->offset = expr(offset);
      addCommand(op, std::move(copy), {buffer(input)}, {buffer(op.getResult())});
    }
    return success();
  }

  //===-- control flow ------------------------------------------------------------------------------------------===//
  using CommandList = std::vector<std::unique_ptr<plan::CommandT>>;

  void copyTo(Operation *op, Value from, int to) {
    plan::CopyT copy;
    copy.src = denseOperand(from);
    copy.dst = std::make_unique<plan::OperandT>();
    copy.dst->buffer = to;
    copy.dst->dims = copy.src->dims;
    int source = copy.src->buffer;
    addCommand(op, std::move(copy), {source}, {to});
  }

  /// The commands of a body whose yielded values become `targets`.
  FailureOr<CommandList> writeBody(Region &body, std::vector<int> targets) {
    CommandList list;
    CommandList *outerCommands = std::exchange(commands, &list);
    std::vector<int> outerTargets = std::exchange(yieldTargets, std::move(targets));
    LogicalResult result = success();
    for (Operation &op : body.front().without_terminator())
      if (failed(result = writeOp(&op)))
        break;
    if (succeeded(result)) {
      Operation *yield = body.front().getTerminator();
      for (OpOperand &yielded : yield->getOpOperands()) {
        unsigned i = yielded.getOperandNumber();
        Value root = memoryRoot(yielded.get());
        auto computed = dyn_cast<OpResult>(root);
        auto argument = dyn_cast<BlockArgument>(root);
        bool there = computed ? placeOf(computed) == "yield " + std::to_string(i) && computed.getOwner()->getBlock() == yield->getBlock()
                              : argument && argument.getOwner() == yield->getBlock() && buffer(root) == yieldTargets[i];
        if (!there)
          copyTo(yield, yielded.get(), yieldTargets[i]);
      }
    }
    commands = outerCommands;
    yieldTargets = std::move(outerTargets);
    if (failed(result))
      return failure();
    return list;
  }

  /// Buffers that a command with bodies reads from outside.
  std::vector<int> readsOf(Operation *op) {
    std::vector<int> reads;
    for (Value v : graph::inputsOf(op))
      if (auto it = buffers.find(v); it != buffers.end())
        reads.push_back(it->second);
    return reads;
  }

  LogicalResult writeIf(graph::IfOp op) {
    placeResults(op);
    std::vector<int> results = bufferList(op.getResults());
    std::vector<int> reads = readsOf(op);
    plan::IfT branch;
    branch.condition = buffer(op.getCondition());
    auto thenList = writeBody(op.getThenBody(), results), elseList = writeBody(op.getElseBody(), results);
    if (failed(thenList) || failed(elseList))
      return failure();
    branch.then_commands = std::move(*thenList);
    branch.else_commands = std::move(*elseList);
    addCommand(op, std::move(branch), reads, results);
    return success();
  }

  /// Memory of the carried values: that of the results, with the operands in it.
  std::vector<int> startCarried(Operation *op, ValueRange inits) {
    std::vector<int> carried;
    for (auto [i, init] : llvm::enumerate(inits)) {
      OpResult result = op->getResult(i);
      if (!placeOf(result).starts_with("inplace "))
        copyTo(op, init, buffer(result));
      carried.push_back(buffer(result));
      buffers[op->getRegion(0).getArgument(i)] = carried.back();
    }
    return carried;
  }

  LogicalResult writeWhile(graph::WhileOp op) {
    placeResults(op);
    std::vector<int> carried = startCarried(op, op.getInits());
    std::vector<int> reads = readsOf(op);
    plan::LoopT loop;
    loop.condition = carried[0];
    if (op.getMaxTrips())
      loop.trip_count = expr(graph::constantDim(*op.getMaxTrips(), ctx));
    auto body = writeBody(op.getBody(), carried);
    if (failed(body))
      return failure();
    loop.body = std::move(*body);
    addCommand(op, std::move(loop), reads, carried);
    return success();
  }

  /// Slice `at` along dim 0 of a stack.
  int sliceOf(Value stack, AffineExpr at) {
    auto type = graph::sliceType(stack.getType());
    int bytes = byteExpr(at * graph::product(dimsOf(type), ctx), type);
    auto &part = addBuffer(type, nameOf(stack.getLoc()), plan::BufferKind::Alias);
    part.alias_of = buffer(stack);
    part.alias_offset = bytes;
    return plan->buffers.size() - 1;
  }

  LogicalResult writeScan(graph::ScanOp op) {
    placeResults(op);
    std::vector<int> targets = startCarried(op, op.getInits());
    std::vector<int> reads = readsOf(op), writes = bufferList(op.getResults());
    AffineExpr count = op.getCount();
    AffineExpr trip = graph::symbolDim("trip." + std::to_string(scans++), ctx);
    plan::LoopT loop;
    loop.trip_count = expr(count);
    loop.counter = symbol(cast<AffineSymbolExpr>(trip).getPosition());
    int last = expr(graph::simplify(count - 1));
    plan->symbols[loop.counter]->lo = 0;
    plan->symbols[loop.counter]->bound = last;
    AffineExpr at = op.getReverse() ? count - 1 - trip : trip;
    for (auto [scanned, argument] : llvm::zip_equal(op.getScanned(), op.getSliceArgs()))
      buffers[argument] = sliceOf(scanned, at);
    for (Value stacked : op.getStacked())
      targets.push_back(sliceOf(stacked, at));
    auto body = writeBody(op.getBody(), targets);
    if (failed(body))
      return failure();
    loop.body = std::move(*body);
    addCommand(op, std::move(loop), reads, writes);
    return success();
  }

  /// What could not be computed in an output's memory is copied there.
  void writeReturns(func::FuncOp func, Operation *terminator) {
    for (OpOperand &returned : terminator->getOpOperands()) {
      unsigned i = returned.getOperandNumber();
      auto &output = *plan->outputs[i];
      Value root = memoryRoot(returned.get());
      auto places = root.getDefiningOp() ? root.getDefiningOp()->getAttrOfType<ArrayAttr>("place") : ArrayAttr();
      bool inPlace = places && cast<StringAttr>(places[cast<OpResult>(root).getResultNumber()]).getValue() ==
                                   "output " + std::to_string(i);
      if (inPlace) {
        // The output has the returned value's shape, which a view may have changed.
        plan->buffers[output.buffer]->name = output.name;
        int outputBuffer = output.buffer;
        plan->buffers[outputBuffer]->dims = exprList(dimsOf(returned.get().getType()));
        continue;
      }
      int source = buffer(returned.get());
      auto entry = std::make_unique<plan::BufferT>();
      entry->name = output.name;
      entry->dtype = plan->buffers[source]->dtype;
      entry->dims = plan->buffers[source]->dims;
      entry->kind = plan::BufferKind::Output;
      entry->index = i;
      output.buffer = plan->buffers.size();
      plan->buffers.push_back(std::move(entry));
      plan::CopyT copy;
      copy.src = std::make_unique<plan::OperandT>();
      copy.src->buffer = source;
      copy.dst = std::make_unique<plan::OperandT>();
      copy.dst->buffer = output.buffer;
      addCommand(terminator, std::move(copy), {source}, {output.buffer});
    }
  }

  ModuleOp module;
  codegen::cuda::DeviceCode *device;
  MLIRContext *ctx;
  std::unique_ptr<plan::PlanT> plan;
  CommandList *commands = nullptr; // the list that is being written
  std::vector<int> yieldTargets;   // of the body that is being written
  unsigned scans = 0;
  llvm::DenseMap<AffineExpr, int> exprs;
  llvm::DenseMap<unsigned, int> symbols;
  llvm::DenseMap<Value, int> buffers;
  llvm::StringMap<std::pair<int, kernel::FuncOp>> kernels;
};
} // namespace

FailureOr<std::unique_ptr<plan::PlanT>> graphc::writePlan(ModuleOp module, codegen::cuda::DeviceCode *device) {
  return PlanWriter(module, device).write();
}
