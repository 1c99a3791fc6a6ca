#include "runtime/plan/PlanCheck.h"

#include "runtime/base/Shape.h"

#include <algorithm>

namespace graphc::plan {

static void walk(const std::vector<std::unique_ptr<CommandT>> &commands, int topLevel,
                 const std::function<void(const CommandT &, int)> &visit) {
  for (size_t i = 0; i < commands.size(); ++i) {
    int index = topLevel >= 0 ? topLevel : static_cast<int>(i);
    visit(*commands[i], index);
    if (const IfT *branch = commands[i]->action.AsIf()) {
      walk(branch->then_commands, index, visit);
      walk(branch->else_commands, index, visit);
    } else if (const LoopT *loop = commands[i]->action.AsLoop()) {
      walk(loop->body, index, visit);
    }
  }
}

void walkCommands(const std::vector<std::unique_ptr<CommandT>> &commands,
                  const std::function<void(const CommandT &, int)> &visit) {
  walk(commands, -1, visit);
}

std::vector<const OperandT *> operandsOf(const CommandT &command) {
  std::vector<const OperandT *> operands;
  auto add = [&](const std::unique_ptr<OperandT> &operand) {
    if (operand)
      operands.push_back(operand.get());
  };
  if (const LibraryT *library = command.action.AsLibrary())
    std::for_each(library->operands.begin(), library->operands.end(), add);
  if (const RoutineT *routine = command.action.AsRoutine())
    std::for_each(routine->operands.begin(), routine->operands.end(), add);
  if (const CopyT *copy = command.action.AsCopy()) {
    add(copy->src);
    add(copy->dst);
  }
  if (const FillT *fill = command.action.AsFill())
    add(fill->dst);
  return operands;
}

std::vector<int> buffersOf(const CommandT &command) {
  std::vector<int> buffers = command.reads;
  buffers.insert(buffers.end(), command.writes.begin(), command.writes.end());
  for (const OperandT *operand : operandsOf(command))
    if (operand->buffer >= 0)
      buffers.push_back(operand->buffer);
  if (const DispatchT *dispatch = command.action.AsDispatch())
    buffers.insert(buffers.end(), dispatch->buffers.begin(), dispatch->buffers.end());
  if (const BindT *bind = command.action.AsBind(); bind && bind->buffer >= 0)
    buffers.push_back(bind->buffer);
  if (const IfT *branch = command.action.AsIf())
    buffers.push_back(branch->condition);
  if (const LoopT *loop = command.action.AsLoop(); loop && loop->condition >= 0)
    buffers.push_back(loop->condition);
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  return buffers;
}

int rootOf(const PlanT &plan, int buffer) {
  while (plan.buffers[buffer]->kind == BufferKind::Alias)
    buffer = plan.buffers[buffer]->alias_of;
  return buffer;
}

std::string describe(const CommandT &command, int index) {
  std::string result = text("command ", index, " '", command.name, "'");
  if (!command.location.empty())
    result += text(" (", command.location, ")");
  return result;
}

namespace {

class Checker {
public:
  explicit Checker(const PlanT &plan) : plan(plan) {}

  Status run() {
    GRAPHC_RETURN_IF_ERROR(checkExprs());
    GRAPHC_RETURN_IF_ERROR(checkBuffers());
    GRAPHC_RETURN_IF_ERROR(checkParams(plan.inputs, BufferKind::Input, "input"));
    GRAPHC_RETURN_IF_ERROR(checkParams(plan.outputs, BufferKind::Output, "output"));
    for (const auto &output : plan.outputs)
      if (output->updates < -1 || output->updates >= static_cast<int>(plan.inputs.size()))
        return invalid("output '", output->name, "' updates input ", output->updates, " of ", plan.inputs.size());
    GRAPHC_RETURN_IF_ERROR(checkSymbols());
    for (const auto &kernel : plan.kernels)
      if (!kernel || !optionalExpr(kernel->scratch))
        return invalid("kernel '", kernel ? kernel->symbol : "?", "': its scratch size is not an expression of the plan");
    GRAPHC_RETURN_IF_ERROR(checkTarget());
    GRAPHC_RETURN_IF_ERROR(checkList(plan.prepare, true, 0));
    return checkList(plan.main, false, 0);
  }

private:
  template <typename... Parts>
  static Status invalid(Parts &&...parts) {
    return error(Code::PlanInvalid, "plan: ", std::forward<Parts>(parts)...);
  }

  bool isExpr(int index) const { return index >= 0 && index < static_cast<int>(plan.exprs.size()); }
  bool optionalExpr(int index) const { return index == -1 || isExpr(index); }
  bool isBuffer(int index) const { return index >= 0 && index < static_cast<int>(plan.buffers.size()); }
  bool isSymbol(int index) const { return index >= 0 && index < static_cast<int>(plan.symbols.size()); }
  bool areExprs(const std::vector<int> &list) const {
    return std::all_of(list.begin(), list.end(), [&](int i) { return isExpr(i); });
  }
  bool areBuffers(const std::vector<int> &list) const {
    return std::all_of(list.begin(), list.end(), [&](int i) { return isBuffer(i); });
  }

  Status checkExprs() {
    for (int i = 0; i < static_cast<int>(plan.exprs.size()); ++i) {
      const Expr &expr = plan.exprs[i];
      if (expr.op() < ExprOp::MIN || expr.op() > ExprOp::MAX)
        return invalid("expression ", i, " has the unknown operator ", static_cast<int>(expr.op()));
      if (expr.op() == ExprOp::Const)
        continue;
      if (expr.op() == ExprOp::Symbol) {
        if (!isSymbol(expr.a()))
          return invalid("expression ", i, " names symbol ", expr.a(), " of ", plan.symbols.size());
      } else if (expr.a() < 0 || expr.a() >= i || expr.b() < 0 || expr.b() >= i) {
        return invalid("expression ", i, " uses expressions ", expr.a(), " and ", expr.b(),
                       ", which must come before it");
      }
    }
    return {};
  }

  Status checkSymbols() {
    for (size_t i = 0; i < plan.symbols.size(); ++i) {
      if (!plan.symbols[i])
        return invalid("symbol ", i, " is missing");
      const SymbolT &symbol = *plan.symbols[i];
      if (symbol.lo > symbol.hi || symbol.multiple < 1 || !optionalExpr(symbol.bound))
        return invalid("symbol '", symbol.name, "' has the empty range [", symbol.lo, ", ", symbol.hi, "], a multiple of ",
                       symbol.multiple, " or a bound that is no expression");
      if (symbol.input == -1)
        continue;
      if (symbol.input < 0 || symbol.input >= static_cast<int>(plan.inputs.size()))
        return invalid("symbol '", symbol.name, "' is defined by input ", symbol.input, " of ", plan.inputs.size());
      const BufferT &buffer = *plan.buffers[plan.inputs[symbol.input]->buffer];
      if (symbol.dim < 0 || symbol.dim >= static_cast<int>(buffer.dims.size()))
        return invalid("symbol '", symbol.name, "' is defined by dimension ", symbol.dim, " of input '",
                       plan.inputs[symbol.input]->name, "', which has ", buffer.dims.size());
    }
    return {};
  }

  Status checkTarget() {
    if (plan.target > Target::MAX)
      return invalid("is for the unknown target ", static_cast<int>(plan.target));
    if (plan.target != Target::Cuda)
      return {};
    for (size_t i = 0; i < plan.modules.size(); ++i) {
      if (!plan.modules[i] || plan.modules[i]->images.empty())
        return invalid("module ", i, " has no code");
      for (const auto &image : plan.modules[i]->images) {
        if (!image || image->kind > ImageKind::MAX || image->bytes.empty())
          return invalid("module '", plan.modules[i]->name, "' has an image without code");
        if (image->kind == ImageKind::PTX && image->bytes.back() != 0)
          return invalid("module '", plan.modules[i]->name, "': its PTX for ", image->arch, " does not end with a zero byte");
      }
    }
    for (const auto &kernel : plan.kernels) {
      if (kernel->module_index < 0 || kernel->module_index >= static_cast<int>(plan.modules.size()))
        return invalid("kernel '", kernel->symbol, "' lies in module ", kernel->module_index, " of ", plan.modules.size());
      if (kernel->threads < 1 || kernel->threads > 1024 || kernel->dynamic_shared < 0 || kernel->items_per_block < 1 ||
          kernel->max_blocks < 0)
        return invalid("kernel '", kernel->symbol, "' cannot be launched with ", kernel->threads, " threads, ",
                       kernel->dynamic_shared, " bytes of shared memory, ", kernel->items_per_block, " items per block and at most ",
                       kernel->max_blocks, " blocks");
    }
    return {};
  }

  Status checkParams(const std::vector<std::unique_ptr<ParamT>> &params, BufferKind kind, const char *what) {
    for (size_t i = 0; i < params.size(); ++i) {
      if (!params[i] || !isBuffer(params[i]->buffer))
        return invalid(what, " ", i, " has no buffer");
      const BufferT &buffer = *plan.buffers[params[i]->buffer];
      if (buffer.kind != kind || buffer.index != static_cast<int>(i))
        return invalid(what, " ", i, " '", params[i]->name, "' points to buffer ", params[i]->buffer,
                       ", which is not declared as this ", what);
    }
    return {};
  }

  Status checkBuffers() {
    for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
      if (!plan.buffers[i])
        return invalid("buffer ", i, " is missing");
      const BufferT &buffer = *plan.buffers[i];
      auto name = [&] { return text("buffer ", i, " '", buffer.name, "'"); };
      if (buffer.dtype > DType::MAX || buffer.kind > BufferKind::MAX)
        return invalid(name(), " has an unknown element type or kind");
      if (!areExprs(buffer.dims))
        return invalid(name(), " has a dimension that is not an expression of the plan");
      size_t params = buffer.kind == BufferKind::Input ? plan.inputs.size() : plan.outputs.size();
      if ((buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output) &&
          (buffer.index < 0 || buffer.index >= static_cast<int>(params)))
        return invalid(name(), " is parameter ", buffer.index, " of ", params);
      if (buffer.kind == BufferKind::Weight)
        GRAPHC_RETURN_IF_ERROR(checkWeight(buffer, name()));
      if (buffer.kind == BufferKind::Alias) {
        if (!isBuffer(buffer.alias_of) || !optionalExpr(buffer.alias_offset))
          return invalid(name(), " is an alias of buffer ", buffer.alias_of, ", which does not exist");
        int steps = 0, at = i;
        while (plan.buffers[at] && plan.buffers[at]->kind == BufferKind::Alias) {
          at = plan.buffers[at]->alias_of;
          if (!isBuffer(at) || ++steps > static_cast<int>(plan.buffers.size()))
            return invalid(name(), " is an alias of itself");
        }
      }
    }
    return {};
  }

  Status checkWeight(const BufferT &buffer, const std::string &name) {
    if (!buffer.weight)
      return invalid(name, " is a weight without data");
    const WeightDataT &weight = *buffer.weight;
    uint64_t bytes = weight.bytes;
    if (weight.file == -1) {
      if (!weight.inline_bytes.empty() || weight.bytes)
        bytes = weight.inline_bytes.size();
    } else {
      if (weight.file < 0 || weight.file >= static_cast<int>(plan.files.size()) || !plan.files[weight.file])
        return invalid(name, " lies in file ", weight.file, " of ", plan.files.size());
      const WeightFileT &file = *plan.files[weight.file];
      // Files of unknown size are checked when they are opened.
      if (file.bytes)
        if (weight.offset > file.bytes || weight.bytes > file.bytes - weight.offset)
        return invalid(name, ": bytes [", weight.offset, ", +", weight.bytes, ") leave file '", file.path, "' of ", file.bytes,
                       " bytes");
    }
    std::vector<int64_t> dims;
    for (int dim : buffer.dims) {
      if (plan.exprs[dim].op() != ExprOp::Const)
        return invalid(name, " is a weight of symbolic size ", dimOf(dim));
      dims.push_back(plan.exprs[dim].value());
    }
    auto elements = Shape(dims).checkedElements();
    if (!elements || static_cast<uint64_t>(*elements) > bytes / sizeOf(toDType(buffer.dtype)))
      return invalid(name, ": shape ", Shape(dims), " of ", dtypeName(toDType(buffer.dtype)), " needs more than its ", bytes,
                     " bytes");
    return {};
  }

  static std::string dimOf(int dim) { return text("(expression ", dim, ")"); }

  Status checkOperand(const OperandT &operand, const std::string &command) {
    if (operand.buffer == -1)
      return {};
    if (!isBuffer(operand.buffer))
      return invalid(command, ": operand names buffer ", operand.buffer, " of ", plan.buffers.size());
    if (!areExprs(operand.dims) || !areExprs(operand.strides) || !optionalExpr(operand.offset))
      return invalid(command, ": operand '", plan.buffers[operand.buffer]->name,
                     "' has a size, stride or offset that is not an expression of the plan");
    size_t rank = operand.dims.empty() ? plan.buffers[operand.buffer]->dims.size() : operand.dims.size();
    if (!operand.strides.empty() && operand.strides.size() != rank)
      return invalid(command, ": operand '", plan.buffers[operand.buffer]->name, "' has ", operand.strides.size(),
                     " strides for ", rank, " dimensions");
    return {};
  }

  Status checkList(const std::vector<std::unique_ptr<CommandT>> &commands, bool prepare, int depth) {
    if (depth > 32)
      return invalid("control flow nests deeper than 32 levels");
    for (size_t i = 0; i < commands.size(); ++i) {
      if (!commands[i])
        return invalid("command ", i, " is missing");
      GRAPHC_RETURN_IF_ERROR(checkCommand(*commands[i], describe(*commands[i], static_cast<int>(i)), prepare, depth));
    }
    return {};
  }

  Status checkCommand(const CommandT &command, const std::string &name, bool prepare, int depth) {
    if (plan.target == Target::Cuda && command.action.type == Action::Library)
      return invalid(name, ": library calls cannot run on a CUDA device in this build");
    if (command.stream < -1 || command.stream > 255)
      return invalid(name, ": stream ", command.stream, " is outside 0..255");
    for (const OperandT *operand : operandsOf(command))
      GRAPHC_RETURN_IF_ERROR(checkOperand(*operand, name));
    if (!areBuffers(buffersOf(command)))
      return invalid(name, ": a buffer index is out of range for ", plan.buffers.size(), " buffers");
    for (int buffer : buffersOf(command)) {
      const BufferT &root = *plan.buffers[rootOf(plan, buffer)];
      if (root.kind == BufferKind::Temp && root.in_prepare != prepare)
        return invalid(name, ": temporary '", root.name, "' belongs to the ", root.in_prepare ? "prepare" : "main", " list");
      if (prepare && (root.kind == BufferKind::Input || root.kind == BufferKind::Output))
        return invalid(name, ": '", root.name, "' is a parameter of the call and cannot be used while preparing");
    }
    for (int buffer : command.writes) {
      const BufferT &root = *plan.buffers[rootOf(plan, buffer)];
      bool constant = root.kind == BufferKind::Weight || (root.kind == BufferKind::Prepared && !prepare);
      if (constant || root.kind == BufferKind::Input)
        return invalid(name, ": writes '", root.name, "', which is ", constant ? "constant" : "an input");
    }

    switch (command.action.type) {
    case Action::Dispatch: {
      const DispatchT &dispatch = *command.action.AsDispatch();
      if (dispatch.kernel < 0 || dispatch.kernel >= static_cast<int>(plan.kernels.size()))
        return invalid(name, ": calls kernel ", dispatch.kernel, " of ", plan.kernels.size());
      if (!areExprs(dispatch.scalars) || !optionalExpr(dispatch.range) || !optionalExpr(dispatch.cost_scale) ||
          dispatch.grain < 1)
        return invalid(name, ": a scalar, range, cost or grain is not valid");
      return {};
    }
    case Action::Library: {
      const LibraryT &library = *command.action.AsLibrary();
      if (library.kind > LibraryKind::MAX || library.operands.size() < 4)
        return invalid(name, ": a library call needs source, weights, bias and destination");
      for (size_t i = 0; i < library.operands.size(); ++i)
        if (!library.operands[i] || (library.operands[i]->buffer < 0 && i != 1 && i != 2))
          return invalid(name, ": library operand ", i, " is missing");
      if (!areExprs(library.pads_begin) || !areExprs(library.pads_end) || library.groups < 1)
        return invalid(name, ": paddings or groups are not valid");
      for (const auto &op : library.post_ops) {
        bool binary = op && op->kind >= PostOpKind::BinaryAdd && op->kind <= PostOpKind::BinaryMin;
        if (!op || op->kind > PostOpKind::MAX ||
            (binary && (op->operand < 4 || op->operand >= static_cast<int>(library.operands.size()))))
          return invalid(name, ": a post-op names an operand that does not exist");
      }
      return {};
    }
    case Action::Routine: {
      const RoutineT &routine = *command.action.AsRoutine();
      if (!areExprs(routine.exprs) || routine.num_inputs < 0 ||
          routine.num_inputs > static_cast<int>(routine.operands.size()))
        return invalid(name, ": routine '", routine.name, "' has arguments that are not valid");
      for (int symbol : routine.symbols)
        if (!isSymbol(symbol) || plan.symbols[symbol]->input >= 0)
          return invalid(name, ": routine '", routine.name, "' defines symbol ", symbol, ", which it cannot");
      return {};
    }
    case Action::Copy:
      if (!command.action.AsCopy()->src || !command.action.AsCopy()->dst || command.action.AsCopy()->src->buffer < 0 ||
          command.action.AsCopy()->dst->buffer < 0)
        return invalid(name, ": a copy needs a source and a destination");
      return {};
    case Action::Fill:
      if (!command.action.AsFill()->dst || command.action.AsFill()->dst->buffer < 0)
        return invalid(name, ": a fill needs a destination");
      return {};
    case Action::Check: {
      const CheckT &check = *command.action.AsCheck();
      if (check.relation > Relation::MAX || !isExpr(check.a) || !isExpr(check.b))
        return invalid(name, ": a check compares two expressions");
      return {};
    }
    case Action::Bind: {
      const BindT &bind = *command.action.AsBind();
      if (!isSymbol(bind.symbol) || plan.symbols[bind.symbol]->input >= 0 || !optionalExpr(bind.element) ||
          (bind.buffer < 0 && !isExpr(bind.expr)))
        return invalid(name, ": binds symbol ", bind.symbol, ", which it cannot");
      if (bind.buffer >= 0 && isFloat(toDType(plan.buffers[bind.buffer]->dtype)))
        return invalid(name, ": binds a symbol to floating-point buffer '", plan.buffers[bind.buffer]->name, "'");
      return {};
    }
    case Action::If: {
      const IfT &branch = *command.action.AsIf();
      if (sizeOf(toDType(plan.buffers[branch.condition]->dtype)) != 1)
        return invalid(name, ": the condition '", plan.buffers[branch.condition]->name, "' is not a bool");
      GRAPHC_RETURN_IF_ERROR(checkList(branch.then_commands, prepare, depth + 1));
      return checkList(branch.else_commands, prepare, depth + 1);
    }
    case Action::Loop: {
      const LoopT &loop = *command.action.AsLoop();
      if (!optionalExpr(loop.trip_count) || (loop.trip_count < 0 && loop.condition < 0))
        return invalid(name, ": a loop needs a trip count or a condition");
      if (loop.condition >= 0 && sizeOf(toDType(plan.buffers[loop.condition]->dtype)) != 1)
        return invalid(name, ": the condition '", plan.buffers[loop.condition]->name, "' is not a bool");
      if (loop.counter >= 0 && (!isSymbol(loop.counter) || plan.symbols[loop.counter]->input >= 0))
        return invalid(name, ": counts in symbol ", loop.counter, ", which it cannot");
      return checkList(loop.body, prepare, depth + 1);
    }
    case Action::NONE:
      break;
    }
    return invalid(name, ": has no action this runtime knows");
  }

  const PlanT &plan;
};

} // namespace

Status checkPlan(const PlanT &plan) { return Checker(plan).run(); }

} // namespace graphc::plan
