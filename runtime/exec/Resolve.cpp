// From input shapes to addresses: symbols, expressions, memory, outputs, and the arrays the steps read.
//
// With the same shapes as the call before only the parameters' addresses can change, and only those are patched.
#include "runtime/exec/Context.h"
#include "runtime/exec/DeviceRun.h"

#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <cassert>

namespace graphc {

using plan::Action;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace

Context::Context(const Program &program, const StepList &list) : program_(program), list_(list) {
  const plan::PlanT &plan = *program.plan;
  symbols_.resize(plan.symbols.size());
  symbolKnown_.resize(plan.symbols.size());
  values_.resize(plan.exprs.size());
  if (program.hasLate)
    bounds_.resize(plan.exprs.size());
  groupBytes_.resize(list.groups.size());
  groupOffsets_.resize(list.groups.size());
  heap_.resize(list.heaps.size());
  heapStart_.resize(list.heaps.size());
  heapBytes_.resize(list.heaps.size());
  bool isMain = &list == &program.main;
  inputs_.resize(isMain ? plan.inputs.size() : 0);
  outputs_.resize(isMain ? plan.outputs.size() : 0);
  outputBytes_.resize(outputs_.size());
  outputPlaced_.resize(outputs_.size());
  addresses_.resize(list.slotBuffers.size());
  scalars_.resize(list.scalarExprs.size());
  steps_.resize(list.stepCount);
  libraries_.resize(list.libraries.size());
  workers_.resize(program.device ? 0 : program.concurrency());
  if (program.device)
    device_ = std::make_unique<DeviceRun>(*this);
  program.contextCount.fetch_add(1, std::memory_order_relaxed);
}

Context::~Context() {
  program_.contextAccount.remove(memoryBytes_ + lateScratchBytes_);
  for (int64_t bytes : stagingBytes_)
    program_.contextAccount.remove(bytes);
  for (int64_t bytes : heapBytes_)
    program_.contextAccount.remove(bytes);
  program_.contextCount.fetch_sub(1, std::memory_order_relaxed);
}

// ---- sizes -------------------------------------------------------------------------------------------------------

Status Context::checkInputs(std::span<const HostTensor> inputs) {
  const plan::PlanT &plan = *program_.plan;
  if (inputs.size() != inputs_.size()) {
    std::vector<std::string> names;
    for (const TensorInfo &info : program_.signature.inputs)
      names.push_back("'" + info.name + "' " + info.str());
    return error(Code::InputCount, "the model takes ", inputs_.size(), " inputs (", joined(names), "), but ", inputs.size(),
                 " were given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo &info = program_.buffers[plan.inputs[i]->buffer];
    auto mismatch = [&](Code code) {
      return error(code, "input '", plan.inputs[i]->name, "': expected ", program_.signature.inputs[i].str(), ", got ",
                   dtypeName(inputs[i].dtype()), inputs[i].shape());
    };
    bool empty = inputs[i].shape().rank() > 0 && inputs[i].elements() == 0; // needs no bytes
    if (!inputs[i].defined() && !empty)
      return error(Code::MissingInput, "input '", plan.inputs[i]->name, "' has no data; expected ", program_.signature.inputs[i].str());
    if (inputs[i].dtype() != info.dtype)
      return mismatch(Code::InputDType);
    if (inputs[i].shape().rank() != static_cast<int>(info.dims.size()))
      return mismatch(Code::InputRank);
  }
  return {};
}

bool Context::sameShapes(std::span<const HostTensor> inputs) const {
  size_t at = 0;
  for (const HostTensor &input : inputs)
    for (int64_t dim : input.shape().dims())
      if (at >= shapes_.size() || shapes_[at++] != dim)
        return false;
  return at == shapes_.size();
}

Status Context::evaluate(std::span<const int> order) {
  int failed = plan::evaluateExprs(program_.plan->exprs, order, symbols_, values_);
  if (failed >= 0)
    return error(Code::SymbolRange, "the size ", plan::exprText(*program_.plan, failed),
                 " does not fit 64 bits for these inputs");
  return {};
}

Status Context::bindSymbols(size_t count, const ShapeOf &shapeOf) {
  const plan::PlanT &plan = *program_.plan;
  std::fill(symbolKnown_.begin(), symbolKnown_.end(), false);
  for (size_t s = 0; s < symbols_.size(); ++s) {
    const plan::SymbolT &symbol = *plan.symbols[s];
    symbols_[s] = 0;
    // The prepare function has no inputs: nothing in it depends on their sizes.
    if (symbol.input < 0 || static_cast<size_t>(symbol.input) >= count)
      continue;
    int64_t value = shapeOf(symbol.input)[symbol.dim];
    if (value < symbol.lo || value > symbol.hi || value % symbol.multiple != 0) {
      std::string range = symbol.hi == INT64_MAX ? text("at least ", symbol.lo) : text("in [", symbol.lo, ", ", symbol.hi, "]");
      if (symbol.multiple > 1)
        range += text(" and a multiple of ", symbol.multiple);
      return error(Code::SymbolRange, "input '", plan.inputs[symbol.input]->name, "': size ", value, " of dimension ",
                   symbol.dim, " ('", symbol.name, "') must be ", range);
    }
    symbols_[s] = value;
    symbolKnown_[s] = true;
  }
  GRAPHC_RETURN_IF_ERROR(evaluate(program_.earlyExprs));
  for (size_t i = 0; i < count; ++i) {
    const auto &dims = program_.buffers[plan.inputs[i]->buffer].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t expected = values_[dims[d]], actual = shapeOf(static_cast<int>(i))[static_cast<int>(d)];
      if (expected == actual)
        continue;
      const plan::Expr &expr = plan.exprs[dims[d]];
      std::string why;
      if (expr.op() != plan::ExprOp::Const)
        why = text(": dimension ", d, " must be ", plan::exprText(plan, dims[d]), " = ", expected);
      if (expr.op() == plan::ExprOp::Symbol) {
        const plan::SymbolT &symbol = *plan.symbols[expr.a()];
        if (symbol.input >= 0)
          why += text(", the size of dimension ", symbol.dim, " of input '", plan.inputs[symbol.input]->name, "'");
      }
      return error(why.empty() ? Code::InputShape : Code::SymbolConflict, "input '", plan.inputs[i]->name, "': expected ",
                   program_.signature.inputs[i].str(), ", got ", dtypeName(program_.buffers[plan.inputs[i]->buffer].dtype),
                   Shape(shapeOf(static_cast<int>(i))), why);
    }
  }
  return {};
}

/// Expressions over symbols bound so far; those with unknown symbols get values nobody reads yet.
Status Context::evaluateLate() {
  const plan::PlanT &plan = *program_.plan;
  for (int index : program_.lateExprs) {
    const plan::Expr &expr = plan.exprs[index];
    if (expr.op() == plan::ExprOp::Symbol) {
      values_[index] = symbols_[expr.a()];
    } else {
      auto value = plan::applyExpr(expr.op(), values_[expr.a()], values_[expr.b()]);
      if (!value)
        return error(Code::SymbolRange, "the size ", plan::exprText(plan, index), " does not fit 64 bits");
      values_[index] = *value;
    }
  }
  return {};
}

Result<int64_t> Context::bytesOf(int buffer) const {
  const BufferInfo &info = program_.buffers[buffer];
  int64_t bytes = static_cast<int64_t>(sizeOf(info.dtype));
  bool empty = false;
  for (int dim : info.dims) {
    int64_t size = values_[dim];
    if (size < 0)
      return error(Code::SymbolRange, "buffer '", program_.plan->buffers[buffer]->name, "' ", program_.dimsText(buffer),
                   " would have the negative size ", size);
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, size, &bytes))
      return error(Code::OutOfMemory, "buffer '", program_.plan->buffers[buffer]->name, "' ", program_.dimsText(buffer),
                   " would need more than 2^63 bytes");
  }
  return empty ? 0 : bytes;
}

/// Sizes of the arena groups, their offsets, and with them the peak.
Status Context::planMemory() {
  const plan::PlanT &plan = *program_.plan;
  // Late sizes count with their bound: swap the values in for the moment.
  bool bounded = program_.hasLate;
  if (bounded) {
    bounds_ = values_;
    // A bound may itself depend on a size decided earlier: repeat until nothing grows.
    for (size_t pass = 0, changed = 1; changed && pass <= plan.symbols.size(); ++pass) {
      changed = 0;
      for (int index : program_.lateExprs) {
        const plan::Expr &expr = plan.exprs[index];
        int64_t before = bounds_[index];
        if (expr.op() == plan::ExprOp::Symbol) {
          const plan::SymbolT &symbol = *plan.symbols[expr.a()];
          bounds_[index] = symbol.bound >= 0 ? std::min(symbol.hi, bounds_[symbol.bound]) : symbol.hi != INT64_MAX ? symbol.hi : 0;
        } else {
          bounds_[index] = plan::applyExpr(expr.op(), bounds_[expr.a()], bounds_[expr.b()]).value_or(0);
        }
        changed += bounds_[index] != before;
      }
    }
    values_.swap(bounds_);
  }
  Status status;
  for (size_t g = 0; g < list_.groups.size() && status.ok(); ++g) {
    int64_t need = 0;
    for (int buffer : list_.groups[g]) {
      if (program_.buffers[buffer].late || program_.buffers[buffer].moving) // a slice lies within its root
        continue;
      auto bytes = bytesOf(buffer);
      if (!bytes.ok()) {
        status = bytes.status();
        break;
      }
      int64_t end = *bytes;
      bool overflow = false;
      for (int offset : program_.buffers[buffer].offsetExprs)
        overflow = overflow || values_[offset] < 0 || __builtin_add_overflow(end, values_[offset], &end);
      if (overflow) {
        status = error(Code::PlanInvalid, "view '", plan.buffers[buffer]->name, "' starts outside its buffer");
        break;
      }
      need = std::max(need, end);
    }
    groupBytes_[g] = need;
  }
  if (bounded)
    values_.swap(bounds_);
  GRAPHC_RETURN_IF_ERROR(status);
  arenaBytes_ = list_.planner.place(groupBytes_, groupOffsets_, workspace_);
  return {};
}

Status Context::resolveStepSizes(const Step &step) {
  Resolved &resolved = steps_[step.id];
  if (step.kind == Action::Dispatch) {
    for (int i = 0; i < step.scalarCount; ++i)
      scalars_[step.scalar + i] = values_[list_.scalarExprs[step.scalar + i]];
    resolved.range = valueOf(step.rangeExpr, 1);
    resolved.chunks = 1;
    int threads = program_.concurrency();
    if (threads > 1 && !step.serial) {
      double ns = step.costNs * static_cast<double>(valueOf(step.costScaleExpr, 1)) * static_cast<double>(resolved.range);
      int64_t grains = (resolved.range + step.grain - 1) / step.grain;
      if (ns >= program_.options.serialCutoffNs && grains > 1) {
        // Long commands get several chunks a thread, so that a thread losing its core for a while loses little.
        int64_t chunks = ns > 40 * program_.options.serialCutoffNs ? threads * 4 : threads;
        resolved.chunks = static_cast<int>(std::min(chunks, grains));
      }
    }
    scratchBytes_ = std::max(scratchBytes_, alignUp(valueOf(step.scratchExpr, 0)));
  } else if (step.kind == Action::Library) {
    cpu::LibraryCall &call = *list_.libraries[step.library];
    LibraryState &state = libraries_[step.library];
    bool same = state.kernel != nullptr;
    const std::vector<int> &exprs = call.geometryExprs();
    if (state.geometry.size() != exprs.size()) {
      state.geometry.assign(exprs.size(), -1);
      same = false;
    }
    for (size_t i = 0; i < exprs.size(); ++i)
      if (state.geometry[i] != values_[exprs[i]]) {
        state.geometry[i] = values_[exprs[i]];
        same = false;
      }
    if (!same) {
      auto before = std::move(state.bound);
      state.kernel.reset();
      auto kernel = call.kernelFor(state.geometry, exactLibraries_);
      if (!kernel.ok())
        return error(kernel.status().code(), where(step), ": ", kernel.status().message());
      state.kernel = *std::move(kernel);
      state.bound = call.bind(state.kernel, std::move(before));
    }
    resolved.chunks = state.kernel->slices();
    scratchBytes_ = std::max(scratchBytes_, alignUp(state.kernel->scratchBytes()));
  }
  bool largeCopy = false;
  if (step.kind == Action::Copy && program_.concurrency() > 1) {
    auto bytes = static_cast<double>(sizeOf(program_.buffers[step.operands[1].buffer].dtype));
    for (int dim : step.operands[1].dims)
      bytes *= static_cast<double>(values_[dim]);
    largeCopy = bytes >= kLargeCopyBytes;
  }
  if (resolved.chunks > 1 || largeCopy)
    shareable_ = true;
  return {};
}

Status Context::resolveAllSizes(const std::vector<Step> &steps) {
  for (const Step &step : steps) {
    if (!step.late) {
      GRAPHC_RETURN_IF_ERROR(resolveStepSizes(step));
      for (const OperandInfo &operand : step.operands)
        GRAPHC_RETURN_IF_ERROR(checkOperand(step, operand));
    }
    GRAPHC_RETURN_IF_ERROR(resolveAllSizes(step.body));
    GRAPHC_RETURN_IF_ERROR(resolveAllSizes(step.otherwise));
  }
  return {};
}

/// Everything that follows from the shapes alone.
Status Context::resolveShape() {
  if (program_.hasLate)
    GRAPHC_RETURN_IF_ERROR(evaluateLate());
  GRAPHC_RETURN_IF_ERROR(planMemory());
  scratchBytes_ = 0;
  shareable_ = false;
  GRAPHC_RETURN_IF_ERROR(resolveAllSizes(list_.steps));
  measured_ = {};
  measured_.arena = arenaBytes_;
  measured_.scratch = scratchBytes_ * program_.concurrency();
  addressesValid_ = false;
  return {};
}

/// Sizes that have come several times in a row are worth primitives of their own.
Status Context::specialise() {
  for (LibraryState &state : libraries_) {
    size_t index = static_cast<size_t>(&state - libraries_.data());
    if (list_.libraries[index]->dynamic())
      state.geometry.clear();
  }
  exactLibraries_ = true;
  Status status = resolveShape();
  exactLibraries_ = false;
  if (status.ok())
    status = reserveMemory();
  if (!status.ok())
    resolved_ = false;
  return status;
}

/// One block: the arena, then every worker's scratch.
Status Context::reserveMemory() {
  if (device_)
    return device_->reserveMemory();
  int64_t scratch = scratchBytes_ * program_.concurrency();
  int64_t need = arenaBytes_ + scratch;
  if (need > memoryBytes_ || !memory_) {
    memory_.reset();
    program_.contextAccount.remove(memoryBytes_);
    memoryBytes_ = 0;
    memory_ = allocateAligned(static_cast<size_t>(need));
    if (!memory_)
      return error(Code::OutOfMemory, "the call needs ", need, " bytes of temporary memory, which the system does not have");
    memoryBytes_ = need;
    program_.contextAccount.add(need);
  }
  arena_ = memory_.get();
  scratch_ = memory_.get() + arenaBytes_;
  for (size_t w = 0; w < workers_.size(); ++w)
    workers_[w].kernelContext = {&workers_[w].cell, scratch_ + static_cast<int64_t>(w) * scratchBytes_, scratchBytes_};
  return {};
}

/// An operand with sizes and strides of its own must stay inside its buffer.
Status Context::checkOperand(const Step &step, const OperandInfo &operand) {
  if (operand.buffer < 0)
    return {};
  int64_t low = valueOf(operand.offset, 0), high = low, dense = 1;
  for (size_t i = operand.dims.size(); i-- > 0;) {
    int64_t size = values_[operand.dims[i]];
    int64_t stride = operand.strides.empty() ? dense : values_[operand.strides[i]];
    if (size == 0)
      return {};
    int64_t reach = 0;
    if (size < 0 || __builtin_mul_overflow(size - 1, stride, &reach) || __builtin_mul_overflow(dense, size, &dense) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return error(Code::PlanInvalid, where(step), ": an operand's sizes and strides overflow");
  }
  auto bytes = bytesOf(operand.buffer);
  if (!bytes.ok())
    return bytes.status();
  int64_t elements = *bytes / static_cast<int64_t>(sizeOf(program_.buffers[operand.buffer].dtype));
  if (low < 0 || high >= elements)
    return error(Code::PlanInvalid, where(step), ": an operand touches elements ", low, "..", high, " of '",
                 program_.plan->buffers[operand.buffer]->name, "', which has ", elements);
  return {};
}

Result<MemoryUse> Context::predict(std::span<const Shape> shapes) {
  const plan::PlanT &plan = *program_.plan;
  if (shapes.size() != inputs_.size() && !program_.isStatic)
    return error(Code::InputCount, "the model takes ", inputs_.size(), " inputs, but ", shapes.size(), " shapes were given");
  resolved_ = false;
  shapes_.clear();
  if (program_.isStatic) {
    GRAPHC_RETURN_IF_ERROR(evaluate(program_.earlyExprs));
  } else {
    for (size_t i = 0; i < shapes.size(); ++i)
      if (shapes[i].rank() != static_cast<int>(program_.buffers[plan.inputs[i]->buffer].dims.size()))
        return error(Code::InputRank, "input '", plan.inputs[i]->name, "': expected ", program_.signature.inputs[i].str(),
                     ", got ", shapes[i]);
    GRAPHC_RETURN_IF_ERROR(bindSymbols(shapes.size(), [&](int i) -> const std::vector<int64_t> & { return shapes[i].dims(); }));
  }
  GRAPHC_RETURN_IF_ERROR(resolveShape());
  MemoryUse use = measured_;
  for (const auto &output : plan.outputs) {
    const BufferInfo &info = program_.buffers[output->buffer];
    if (info.late && program_.hasLate)
      values_.swap(bounds_);
    auto bytes = bytesOf(output->buffer);
    if (info.late && program_.hasLate)
      values_.swap(bounds_);
    if (!bytes.ok())
      return bytes.status();
    use.outputs += *bytes;
  }
  return use;
}

// ---- addresses ---------------------------------------------------------------------------------------------------

Result<void *> Context::addressOf(int buffer) {
  const BufferInfo &info = program_.buffers[buffer];
  int64_t offset = 0;
  for (int expr : info.offsetExprs)
    offset += values_[expr];
  std::byte *base = nullptr;
  int64_t room = 0;
  switch (info.place) {
  case Place::Constant:
    base = const_cast<std::byte *>(info.constant);
    room = info.constantBytes;
    break;
  case Place::Input: {
    base = inputs_[info.index];
    auto bytes = bytesOf(info.root);
    if (!bytes.ok())
      return bytes.status();
    room = *bytes;
    break;
  }
  case Place::Output:
    base = outputs_[info.index];
    room = outputBytes_[info.index];
    break;
  case Place::Arena:
    base = arena_ + groupOffsets_[info.index];
    room = groupBytes_[info.index];
    break;
  case Place::Heap:
    base = heapStart_[info.index];
    room = heapBytes_[info.index];
    break;
  }
  auto bytes = bytesOf(buffer);
  if (!bytes.ok())
    return bytes.status();
  if (!base || offset < 0 || *bytes > room - offset)
    return error(Code::PlanInvalid, "buffer '", program_.plan->buffers[buffer]->name, "' needs bytes [", offset, ", +", *bytes,
                 ") of '", program_.plan->buffers[info.root]->name, "', which has ", room);
  return static_cast<void *>(base + offset);
}

Status Context::outputMismatch(int output, const Shape &expected, DType dtype, const Shape &shape) const {
  const plan::PlanT &plan = *program_.plan;
  return error(Code::OutputBinding, "output '", plan.outputs[output]->name, "': expected ",
               dtypeName(program_.buffers[plan.outputs[output]->buffer].dtype), expected, " (", program_.signature.outputs[output].str(),
               "), but the bound tensor is ", dtypeName(dtype), shape);
}

Status Context::placeOutput(int output, std::span<HostTensor> outputs) {
  if (device_)
    return device_->placeOutput(output);
  const plan::PlanT &plan = *program_.plan;
  int buffer = plan.outputs[output]->buffer;
  const BufferInfo &info = program_.buffers[buffer];
  HostTensor &tensor = outputs[output];
  bool matches = tensor.defined() && tensor.dtype() == info.dtype && tensor.shape().rank() == static_cast<int>(info.dims.size());
  for (size_t d = 0; matches && d < info.dims.size(); ++d)
    matches = tensor.shape()[static_cast<int>(d)] == values_[info.dims[d]];
  if (!matches) {
    std::vector<int64_t> dims;
    for (int dim : info.dims)
      dims.push_back(values_[dim]);
    if (tensor.defined())
      return outputMismatch(output, Shape(dims), tensor.dtype(), tensor.shape());
    GRAPHC_RETURN_IF_ERROR(bytesOf(buffer).status());
    GRAPHC_ASSIGN_OR_RETURN(tensor, HostTensor::allocate(info.dtype, Shape(std::move(dims))));
    measured_.outputs += static_cast<int64_t>(tensor.sizeBytes());
  }
  outputs_[output] = static_cast<std::byte *>(tensor.raw());
  outputBytes_[output] = static_cast<int64_t>(tensor.sizeBytes());
  outputPlaced_[output] = true;
  return {};
}

Status Context::allocateHeap(int heap) {
  if (device_)
    return device_->allocateHeap(heap);
  auto bytes = bytesOf(list_.heaps[heap][0]);
  if (!bytes.ok())
    return bytes.status();
  int64_t need = *bytes;
  if (need > heapBytes_[heap] || !heap_[heap]) {
    heap_[heap].reset();
    program_.contextAccount.remove(heapBytes_[heap]);
    heapBytes_[heap] = 0;
    heap_[heap] = allocateAligned(static_cast<size_t>(need));
    if (!heap_[heap])
      return error(Code::OutOfMemory, "buffer '", program_.plan->buffers[list_.heaps[heap][0]]->name, "' needs ", need,
                   " bytes, which the system does not have");
    heapStart_[heap] = heap_[heap].get();
    heapBytes_[heap] = need;
    program_.contextAccount.add(need);
    measured_.late += need;
  }
  return {};
}

/// Points every step at its buffers. Patches only the parameters' slots when nothing else moved.
Status Context::bindParameters(std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
  const plan::PlanT &plan = *program_.plan;
  if (outputs.size() != outputs_.size())
    return error(Code::OutputBinding, "the model has ", outputs_.size(), " outputs, but ", outputs.size(), " were asked for");
  outputTensors_ = outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    static std::byte nothing[64];
    auto *address = static_cast<std::byte *>(const_cast<void *>(inputs[i].raw()));
    if (!address)
      address = nothing;
    if (address == inputs_[i] && addressesValid_)
      continue;
    inputs_[i] = address;
    if (addressesValid_)
      for (auto [slot, buffer] : list_.inputSlots[i])
        if (!program_.buffers[buffer].late && !program_.buffers[buffer].moving) {
          auto moved = addressOf(buffer);
          if (!moved.ok())
            return moved.status();
          addresses_[slot] = *moved;
        }
  }
  measured_.outputs = 0;
  measured_.late = 0;
  for (int64_t bytes : heapBytes_)
    measured_.late += bytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputPlaced_[i] = false;
    if (program_.buffers[plan.outputs[i]->buffer].late) {
      outputs_[i] = nullptr;
      continue;
    }
    std::byte *before = outputs_[i];
    GRAPHC_RETURN_IF_ERROR(placeOutput(static_cast<int>(i), outputs));
    if (addressesValid_ && outputs_[i] != before)
      for (auto [slot, buffer] : list_.outputSlots[i])
        if (!program_.buffers[buffer].late && !program_.buffers[buffer].moving) {
          auto moved = addressOf(buffer);
          if (!moved.ok())
            return moved.status();
          addresses_[slot] = *moved;
        }
  }
  if (program_.hasLate) {
    for (size_t s = 0; s < symbols_.size(); ++s)
      if (program_.lateSymbol[s])
        symbolKnown_[s] = false;
  }
  if (!addressesValid_) {
    GRAPHC_RETURN_IF_ERROR(resolveAddresses());
    addressesValid_ = true;
  }
  return {};
}

Status Context::resolveAddresses() { return resolveSteps(list_.steps); }

Status Context::resolveSteps(const std::vector<Step> &steps) {
  for (const Step &step : steps) {
    if (!step.late)
      GRAPHC_RETURN_IF_ERROR(resolveStep(step, step.moving ? Slots::Fixed : Slots::All));
    GRAPHC_RETURN_IF_ERROR(resolveSteps(step.body));
    GRAPHC_RETURN_IF_ERROR(resolveSteps(step.otherwise));
  }
  return {};
}

Status Context::resolveStep(const Step &step, Slots which) {
  for (int i = 0; i < step.slotCount; ++i) {
    int buffer = list_.slotBuffers[step.slot + i];
    if (which != Slots::All && (buffer >= 0 && program_.buffers[buffer].moving) != (which == Slots::Moving))
      continue;
    if (buffer < 0) {
      addresses_[step.slot + i] = nullptr;
      continue;
    }
    const BufferInfo &info = program_.buffers[buffer];
    // Some prepared constants were released after packing; the library call does not read them.
    if (step.kind == Action::Library && info.place == Place::Constant && !program_.prepared.empty() &&
        program_.plan->buffers[info.root]->kind == plan::BufferKind::Prepared && !program_.prepared[info.root]) {
      addresses_[step.slot + i] = nullptr;
      continue;
    }
    auto address = addressOf(buffer);
    if (!address.ok())
      return error(address.status().code(), where(step), ": ", address.status().message());
    addresses_[step.slot + i] = *address;
  }
  return {};
}

/// Iteration `trip` of a loop: what lies at a place of its own in each iteration moves on.
Status Context::countTo(int symbol, int64_t trip) {
  symbols_[symbol] = trip;
  symbolKnown_[symbol] = true;
  return evaluate(program_.movingExprs[static_cast<size_t>(symbol)]);
}

/// A command of the call has given a symbol its value: sizes that hang on it become known.
Status Context::symbolBound(int symbol, int64_t value, const Step &step) {
  const plan::PlanT &plan = *program_.plan;
  const plan::SymbolT &info = *plan.symbols[symbol];
  int64_t bound = info.bound >= 0 ? std::min(info.hi, values_[info.bound]) : info.hi;
  if (value < info.lo || value > bound || value % info.multiple != 0)
    return error(Code::SymbolRange, where(step), ": the size '", info.name, "' came out as ", value, ", outside [", info.lo, ", ",
                 bound, "]", info.multiple > 1 ? text(" or no multiple of ", info.multiple) : std::string());
  symbols_[symbol] = value;
  symbolKnown_[symbol] = true;
  return evaluateLate();
}

} // namespace graphc
