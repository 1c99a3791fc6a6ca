#include "runtime/exec/Program.h"

#include "runtime/exec/Context.h"
#include "runtime/exec/LiveRanges.h"
#include "runtime/memory/MappedFile.h"
#include "runtime/plan/Exprs.h"
#include "runtime/plan/PlanCheck.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc {

using plan::Action;
using plan::BufferKind;

Status Program::build(std::unique_ptr<plan::PlanT> planIn, LoadOptions optionsIn) {
  plan = std::move(planIn);
  options = std::move(optionsIn);
  GRAPHC_RETURN_IF_ERROR(plan::checkPlan(*plan));
  GRAPHC_RETURN_IF_ERROR(buildDevice());
  if (!device && options.kernels.size() != plan->kernels.size())
    return error(Code::KernelMissing, "the plan of '", plan->model, "' has ", plan->kernels.size(), " kernels, but ",
                 options.kernels.size(), " functions were given");
  for (size_t i = 0; !device && i < options.kernels.size(); ++i)
    if (!options.kernels[i])
      return error(Code::KernelMissing, "kernel '", plan->kernels[i]->symbol, "' has no function");

  counter.resize(plan->symbols.size());
  for (const auto *list : {&plan->prepare, &plan->main})
    plan::walkCommands(*list, [&](const plan::CommandT &command, int) {
      if (const plan::LoopT *loop = command.action.AsLoop(); loop && loop->counter >= 0)
        counter[loop->counter] = true;
    });
  // One that sizes depend on is like any other size that is known late.
  std::function<void(int)> leaveOut = [&](int expr) {
    const plan::Expr &source = plan->exprs[expr];
    if (source.op() == plan::ExprOp::Symbol)
      counter[source.a()] = false;
    else if (source.op() != plan::ExprOp::Const)
      leaveOut(source.a()), leaveOut(source.b());
  };
  if (std::find(counter.begin(), counter.end(), true) != counter.end())
    for (const auto &buffer : plan->buffers)
      std::for_each(buffer->dims.begin(), buffer->dims.end(), leaveOut);
  lateSymbol.resize(plan->symbols.size());
  isStatic = true;
  for (size_t i = 0; i < lateSymbol.size(); ++i) {
    lateSymbol[i] = plan->symbols[i]->input < 0 && !counter[i];
    hasLate = hasLate || lateSymbol[i];
    isStatic = isStatic && counter[i];
  }
  lateExpr_ = plan::dependsOnSymbols(plan->exprs, lateSymbol);
  movingExpr_ = plan::dependsOnSymbols(plan->exprs, counter);
  for (int i = 0; i < static_cast<int>(plan->exprs.size()); ++i) {
    if (lateExpr_[i])
      lateExprs.push_back(i);
    if (!lateExpr_[i] && !movingExpr_[i])
      earlyExprs.push_back(i);
  }
  movingExprs.resize(plan->symbols.size());
  for (size_t s = 0; s < counter.size(); ++s) {
    if (!counter[s])
      continue;
    std::vector<bool> only(counter.size());
    only[s] = true;
    auto depends = plan::dependsOnSymbols(plan->exprs, only);
    for (int i = 0; i < static_cast<int>(plan->exprs.size()); ++i)
      if (depends[i])
        movingExprs[s].push_back(i);
  }

  packing = std::make_unique<cpu::PackingCache>(&packedAccount);
  GRAPHC_RETURN_IF_ERROR(buildBuffers());
  GRAPHC_RETURN_IF_ERROR(loadConstants());
  if (!plan->prepare.empty()) {
    GRAPHC_RETURN_IF_ERROR(buildList(prepare, plan->prepare, true));
    GRAPHC_RETURN_IF_ERROR(runPrepare());
  }
  for (const PackedWeight &weight : options.packedWeights) {
    if (weight.buffer < 0 || weight.buffer >= static_cast<int>(buffers.size()) || !buffers[weight.buffer].constant)
      continue;
    // Of an absent constant only the whole was packed.
    if (weight.offset != 0 && (weight.offset < 0 || weight.offset >= buffers[weight.buffer].constantBytes || absent[weight.buffer]))
      return error(Code::PlanInvalid, "plan: a packed part of '", plan->buffers[weight.buffer]->name, "' begins at byte ", weight.offset, " of ",
                   buffers[weight.buffer].constantBytes);
    packing->adopt(buffers[weight.buffer].constant + weight.offset, weight.format, {weight.bytes.data(), static_cast<int64_t>(weight.bytes.size())});
  }
  GRAPHC_RETURN_IF_ERROR(buildList(main, plan->main, false));
  GRAPHC_RETURN_IF_ERROR(checkFixedOffsets());
  GRAPHC_RETURN_IF_ERROR(checkFixedViews());
  buildSignature();
  if (isStatic) {
    // Resolves every size, so that libraries choose and pack now and mistakes surface at load.
    // The context stays as the first call's.
    auto context = std::make_unique<Context>(*this, main);
    GRAPHC_RETURN_IF_ERROR(context->predict({}).status());
    reportSlowLibraries(*context, main.steps);
    findReadConstants(*context);
    releaseUnusedPrepared();
    freeContexts[0].store(context.release());
  }
  for (size_t i = 0; i < absent.size(); ++i)
    if (absent[i] && (constantsRead.empty() || constantsRead[i]))
      return error(Code::ArtifactTarget, "constant '", plan->buffers[i]->name, "' was left out of the artifact, and a call here needs it; compile the model again");
  return {};
}

Status Program::buildBuffers() {
  buffers.resize(plan->buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const plan::BufferT &source = *plan->buffers[i];
    BufferInfo &info = buffers[i];
    info.dtype = plan::toDType(source.dtype);
    info.dims = source.dims;
    info.root = static_cast<int>(i);
    for (int dim : info.dims)
      info.late = info.late || lateExpr_[dim];
    if (info.dims.size() > 16)
      return error(Code::PlanInvalid, "plan: buffer '", source.name, "' has ", info.dims.size(), " dimensions; at most 16 are supported");
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferInfo &info = buffers[i];
    int at = static_cast<int>(i);
    while (plan->buffers[at]->kind == BufferKind::Alias) {
      if (int offset = plan->buffers[at]->alias_offset; offset >= 0) {
        info.offsetExprs.push_back(offset);
        info.late = info.late || lateExpr_[offset];
        info.moving = info.moving || movingExpr_[offset];
      }
      at = plan->buffers[at]->alias_of;
    }
    info.root = at;
    switch (plan->buffers[at]->kind) {
    case BufferKind::Input:
      info.place = Place::Input;
      info.index = plan->buffers[at]->index;
      break;
    case BufferKind::Output:
      info.place = Place::Output;
      info.index = plan->buffers[at]->index;
      break;
    case BufferKind::Weight:
    case BufferKind::Prepared:
      info.place = Place::Constant;
      break;
    default:
      info.place = Place::Arena; // or Heap, decided by buildArena
    }
  }
  // A view into something whose place is only known later is itself late.
  for (BufferInfo &info : buffers)
    if (info.place == Place::Output || info.place == Place::Arena)
      info.late = info.late || buffers[info.root].late;
  return {};
}

Status Program::loadConstants() {
  files = std::move(options.weightFiles);
  if (files.empty()) {
    for (const auto &file : plan->files) {
      std::string path = file->path;
      if (!options.weightFolder.empty() && !path.empty() && path[0] != '/')
        path = options.weightFolder + "/" + path;
      auto mapped = MappedFile::open(path);
      if (!mapped.ok())
        return error(Code::WeightFile, "weights of '", plan->model, "': ", mapped.status().message());
      files.push_back({(*mapped)->bytes(), *mapped});
    }
  }
  if (files.size() != plan->files.size())
    return error(Code::WeightFile, "the plan of '", plan->model, "' names ", plan->files.size(), " weight files, but ",
                 files.size(), " were given");
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].bytes.size() < plan->files[i]->bytes)
      return error(Code::WeightFile, "weight file '", plan->files[i]->path, "' has ", files[i].bytes.size(), " bytes, but the model was compiled with ",
                   plan->files[i]->bytes, "; it was truncated or changed");

  std::vector<const std::byte *> address(buffers.size(), nullptr);
  absent.resize(buffers.size());
  for (int buffer : options.absentConstants) {
    if (buffer < 0 || buffer >= static_cast<int>(buffers.size()) || plan->buffers[buffer]->kind != BufferKind::Prepared || !plan->prepare.empty())
      return error(Code::PlanInvalid, "plan: buffer ", buffer, " of ", buffers.size(), " is said to be absent, but is no prepared constant");
    absent[buffer] = true;
  }
  prepared.resize(buffers.size());
  preparedSize.assign(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const plan::BufferT &source = *plan->buffers[i];
    if (source.kind == BufferKind::Weight) {
      const plan::WeightDataT &weight = *source.weight;
      std::span<const std::byte> bytes;
      if (weight.file >= 0) {
        size_t size = files[weight.file].bytes.size();
        if (weight.offset > size || weight.bytes > size - weight.offset)
          return error(Code::WeightFile, "weight '", source.name, "' lies at bytes [", weight.offset, ", +", weight.bytes, ") of '",
                       plan->files[weight.file]->path, "', which has ", size);
        bytes = files[weight.file].bytes.subspan(weight.offset, weight.bytes);
      }
      else {
        bytes = std::as_bytes(std::span(weight.inline_bytes));
      }
      if (options.checkWeightHashes && weight.hash && XXH3_64bits(bytes.data(), bytes.size()) != weight.hash)
        return error(Code::WeightFile, "weight '", source.name, "': its ", bytes.size(),
                     " bytes differ from those the model was compiled with (checksum mismatch)");
      static const std::byte nothing[64] = {};
      address[i] = bytes.empty() ? nothing : bytes.data();
      buffers[i].constantBytes = static_cast<int64_t>(bytes.size());
      weightBytes += static_cast<int64_t>(bytes.size());
    } else if (source.kind == BufferKind::Prepared && absent[i]) {
      // An address that stands for the constant in the packing cache; nothing is read there.
      address[i] = reinterpret_cast<const std::byte *>(&source);
      packing->refuse(address[i]);
    } else if (source.kind == BufferKind::Prepared) {
      std::vector<int64_t> dims;
      for (int dim : source.dims) {
        if (plan->exprs[dim].op() != plan::ExprOp::Const)
          return error(Code::PlanInvalid, "plan: prepared buffer '", source.name, "' has a symbolic size");
        dims.push_back(plan->exprs[dim].value());
      }
      auto elements = Shape(dims).checkedElements();
      int64_t bytes = 0;
      if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(sizeOf(buffers[i].dtype)), &bytes))
        return error(Code::PlanInvalid, "plan: prepared buffer '", source.name, "' has the impossible shape ", Shape(dims));
      if (!device)
        prepared[i] = allocateAligned(static_cast<size_t>(bytes));
      if (!device && !prepared[i])
        return error(Code::OutOfMemory, "preparing '", source.name, "' needs ", bytes, " bytes, which the system does not have");
      preparedSize[i] = bytes;
      address[i] = prepared[i].get();
      buffers[i].constantBytes = bytes;
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].root == static_cast<int>(i))
      buffers[i].constant = address[i];
  if (device)
    GRAPHC_RETURN_IF_ERROR(uploadConstants());
  for (BufferInfo &info : buffers)
    if (info.place == Place::Constant) {
      info.constant = buffers[info.root].constant;
      info.constantBytes = buffers[info.root].constantBytes;
    }
  return {};
}

Status Program::buildList(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, bool prepareList) {
  list.cells = std::make_shared<std::vector<std::vector<std::string>>>(1);
  GRAPHC_RETURN_IF_ERROR(buildSteps(list, commands, -1, list.steps));
  GRAPHC_RETURN_IF_ERROR(buildArena(list, commands, prepareList));
  list.inputSlots.resize(plan->inputs.size());
  list.outputSlots.resize(plan->outputs.size());
  for (int slot = 0; slot < static_cast<int>(list.slotBuffers.size()); ++slot) {
    int buffer = list.slotBuffers[slot];
    if (buffer < 0)
      continue;
    if (buffers[buffer].place == Place::Input)
      list.inputSlots[buffers[buffer].index].push_back({slot, buffer});
    else if (buffers[buffer].place == Place::Output)
      list.outputSlots[buffers[buffer].index].push_back({slot, buffer});
  }
  if (device) {
    buildDeviceList(list, commands);
    return {};
  }
  return buildLibraries(list, list.steps);
}

Status Program::buildSteps(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, int topIndex,
                           std::vector<Step> &steps) {
  steps.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    const plan::CommandT &command = *commands[i];
    Step &step = steps.emplace_back();
    step.kind = command.action.type;
    step.command = &command;
    step.topIndex = topIndex >= 0 ? topIndex : static_cast<int>(i);
    step.id = list.stepCount++;
    step.slot = static_cast<int>(list.slotBuffers.size());
    step.scalar = static_cast<int>(list.scalarExprs.size());
    auto needs = [&](int expr) {
      if (expr >= 0 && (lateExpr_[expr] || movingExpr_[expr]))
        step.late = true;
    };
    auto needsBuffer = [&](int buffer) {
      if (buffer >= 0 && buffers[buffer].late)
        step.late = true;
      if (buffer >= 0 && buffers[buffer].moving)
        step.moving = true;
    };

    for (const plan::OperandT *operand : plan::operandsOf(command)) {
      OperandInfo &info = step.operands.emplace_back();
      info.buffer = operand->buffer;
      if (operand->buffer < 0)
        continue;
      info.dims = operand->dims.empty() ? buffers[operand->buffer].dims : operand->dims;
      info.strides = operand->strides;
      info.offset = operand->offset;
      if (info.dims.size() > 16)
        return error(Code::PlanInvalid, "plan: ", plan::describe(command, step.topIndex), ": an operand has ", info.dims.size(),
                     " dimensions; at most 16 are supported");
      needsBuffer(info.buffer);
      needs(info.offset);
      for (int dim : info.dims)
        needs(dim);
      for (int stride : info.strides)
        needs(stride);
    }

    switch (step.kind) {
    case Action::Dispatch: {
      const plan::DispatchT &dispatch = *command.action.AsDispatch();
      for (int buffer : dispatch.buffers) {
        list.slotBuffers.push_back(buffer);
        needsBuffer(buffer);
      }
      for (int scalar : dispatch.scalars) {
        list.scalarExprs.push_back(scalar);
        needs(scalar);
      }
      step.kernel = device ? nullptr : options.kernels[dispatch.kernel];
      if (device && !dispatch.sites.empty()) {
        step.cell = static_cast<int>(list.cells->size());
        std::string place = text("'", command.name, "'", command.location.empty() ? "" : text(" (", command.location, ")"));
        auto &places = list.cells->emplace_back();
        for (size_t site = 0; site < dispatch.sites.size(); ++site)
          places.push_back(placeOfSite(dispatch, static_cast<int>(site), place));
      }
      step.rangeExpr = dispatch.range;
      step.costScaleExpr = dispatch.cost_scale;
      step.scratchExpr = plan->kernels[dispatch.kernel]->scratch;
      step.costNs = dispatch.cost_ns > 0 ? dispatch.cost_ns : 100;
      step.grain = dispatch.grain;
      step.serial = dispatch.serial;
      needs(step.rangeExpr);
      needs(step.costScaleExpr);
      needs(step.scratchExpr);
      break;
    }
    case Action::Library:
      for (const OperandInfo &operand : step.operands)
        list.slotBuffers.push_back(operand.buffer);
      for (int expr : command.action.AsLibrary()->pads_begin)
        needs(expr);
      for (int expr : command.action.AsLibrary()->pads_end)
        needs(expr);
      break;
    case Action::Routine: {
      const plan::RoutineT &routine = *command.action.AsRoutine();
      step.routine = cpu::findRoutine(routine.name);
      if (!step.routine) {
        std::vector<std::string_view> known;
        for (const cpu::RoutineEntry &entry : cpu::allRoutines())
          known.push_back(entry.name);
        return error(Code::PlanInvalid, "plan: ", plan::describe(command, step.topIndex), ": there is no routine '", routine.name,
                     "'; this runtime has ", joined(known));
      }
      int outputs = static_cast<int>(routine.operands.size()) - routine.num_inputs;
      if (routine.num_inputs < step.routine->minInputs || routine.num_inputs > step.routine->maxInputs ||
          outputs != step.routine->outputs || static_cast<int>(routine.symbols.size()) > step.routine->maxSymbols)
        return error(Code::PlanInvalid, "plan: ", plan::describe(command, step.topIndex), ": routine '", routine.name, "' takes ",
                     step.routine->minInputs, "..", step.routine->maxInputs, " inputs, ", step.routine->outputs, " outputs and decides at most ",
                     step.routine->maxSymbols, " sizes; the plan gives ", routine.num_inputs, ", ", outputs, " and ",
                     routine.symbols.size());
      for (int expr : routine.exprs)
        needs(expr);
      break;
    }
    case Action::Check:
      needs(command.action.AsCheck()->a);
      needs(command.action.AsCheck()->b);
      break;
    case Action::Bind:
      needs(command.action.AsBind()->element);
      needs(command.action.AsBind()->expr);
      break;
    case Action::If:
      GRAPHC_RETURN_IF_ERROR(buildSteps(list, command.action.AsIf()->then_commands, step.topIndex, steps[i].body));
      GRAPHC_RETURN_IF_ERROR(buildSteps(list, command.action.AsIf()->else_commands, step.topIndex, steps[i].otherwise));
      break;
    case Action::Loop:
      GRAPHC_RETURN_IF_ERROR(buildSteps(list, command.action.AsLoop()->body, step.topIndex, steps[i].body));
      break;
    default:
      break;
    }
    Step &done = steps[i];
    done.slotCount = done.kind == Action::Dispatch || done.kind == Action::Library
                         ? static_cast<int>(list.slotBuffers.size()) - done.slot
                         : 0;
    done.scalarCount = done.kind == Action::Dispatch ? static_cast<int>(list.scalarExprs.size()) - done.scalar : 0;
  }
  return {};
}

Status Program::buildLibraries(StepList &list, std::vector<Step> &steps) {
  for (Step &step : steps) {
    GRAPHC_RETURN_IF_ERROR(buildLibraries(list, step.body));
    GRAPHC_RETURN_IF_ERROR(buildLibraries(list, step.otherwise));
    if (step.kind != Action::Library)
      continue;
    std::vector<cpu::LibraryOperand> operands;
    for (const OperandInfo &operand : step.operands) {
      cpu::LibraryOperand &info = operands.emplace_back();
      if (operand.buffer < 0)
        continue;
      const BufferInfo &buffer = buffers[operand.buffer];
      info.present = true;
      info.dtype = buffer.dtype;
      // While preparing, prepared buffers still change.
      bool constant = buffer.place == Place::Constant &&
                      (&list == &main || plan->buffers[buffer.root]->kind == BufferKind::Weight);
      if (constant) {
        int64_t offset = 0;
        for (int expr : buffer.offsetExprs) {
          if (plan->exprs[expr].op() != plan::ExprOp::Const)
            constant = false;
          offset += plan->exprs[expr].value();
        }
        if (constant && offset >= 0 && offset <= buffer.constantBytes)
          info.constant = buffer.constant + offset;
      }
    }
    auto call = cpu::LibraryCall::create(*plan, *step.command->action.AsLibrary(), std::move(operands), *packing, options.libraryThreads ? 1 : concurrency());
    if (!call.ok())
      return error(call.status().code(), plan::describe(*step.command, step.topIndex), ": ", call.status().message());
    step.library = static_cast<int>(list.libraries.size());
    list.libraries.push_back(*std::move(call));
  }
  return {};
}

Status Program::buildArena(StepList &list, const std::vector<std::unique_ptr<plan::CommandT>> &commands, bool prepareList) {
  // Live ranges come from the commands themselves, so a wrong one in the plan can only make the arena larger.
  std::vector<int> roots;
  for (const BufferInfo &info : buffers)
    roots.push_back(info.root);
  LiveRanges ranges = liveRanges(commands, roots);
  std::vector<int> &first = ranges.first, &last = ranges.last;
  std::vector<bool> unboundedSymbol(lateSymbol.size());
  for (size_t s = 0; s < lateSymbol.size(); ++s)
    unboundedSymbol[s] = lateSymbol[s] && plan->symbols[s]->bound < 0 && plan->symbols[s]->hi == INT64_MAX;
  auto unbounded = plan::dependsOnSymbols(plan->exprs, unboundedSymbol);
  std::vector<ArenaItem> items;
  std::vector<int> groupOf(buffers.size(), -1);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const plan::BufferT &source = *plan->buffers[i];
    if (source.kind != BufferKind::Temp || source.in_prepare != prepareList || last[i] < 0)
      continue;
    if (source.first_use >= 0)
      first[i] = std::min(first[i], ranges.topLevel[std::min<size_t>(source.first_use, commands.size())]);
    if (source.last_use >= 0)
      last[i] = std::max(last[i], ranges.topLevel[std::min<size_t>(source.last_use + 1, commands.size())]);
    // Late sizes with a bound live in the arena at their bound, others on the heap.
    bool bounded = std::none_of(buffers[i].dims.begin(), buffers[i].dims.end(), [&](int dim) { return unbounded[dim]; });
    buffers[i].place = bounded ? Place::Arena : Place::Heap;
    if (bounded) {
      groupOf[i] = static_cast<int>(list.groups.size());
      list.groups.push_back({static_cast<int>(i)});
      items.push_back({0, first[i], last[i]});
    } else {
      groupOf[i] = static_cast<int>(list.heaps.size());
      list.heaps.push_back({static_cast<int>(i)});
    }
    buffers[i].index = groupOf[i];
    // An arena buffer sized by its bound has a fixed address; a heap buffer has none before its size is known.
    if (bounded)
      buffers[i].late = false;
  }
  for (size_t j = 0; j < buffers.size(); ++j) {
    int root = buffers[j].root;
    if (static_cast<int>(j) == root || groupOf[root] < 0)
      continue;
    buffers[j].place = buffers[root].place;
    buffers[j].index = groupOf[root];
    (buffers[root].place == Place::Arena ? list.groups : list.heaps)[groupOf[root]].push_back(static_cast<int>(j));
    // A view of late size is looked up when its command runs, and must then fit what its root got.
    buffers[j].late = buffers[root].late;
    for (int dim : buffers[j].dims)
      buffers[j].late = buffers[j].late || lateExpr_[dim];
    for (int offset : buffers[j].offsetExprs)
      buffers[j].late = buffers[j].late || lateExpr_[offset];
  }
  list.planner = ArenaPlanner(items);
  return {};
}

/// Offsets the compiler wrote down are for reading; they must still make sense, or the artifact is damaged.
Status Program::checkFixedOffsets() const {
  if (plan->arena_bytes < 0)
    return {};
  for (size_t i = 0; i < buffers.size(); ++i) {
    const plan::BufferT &source = *plan->buffers[i];
    if (source.kind != BufferKind::Temp || source.in_prepare || source.arena_offset < 0)
      continue;
    std::vector<int64_t> dims;
    for (int dim : source.dims)
      if (plan->exprs[dim].op() == plan::ExprOp::Const)
        dims.push_back(plan->exprs[dim].value());
    auto elements = Shape(dims).checkedElements();
    int64_t bytes = 0, end = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(sizeOf(buffers[i].dtype)), &bytes) ||
        __builtin_add_overflow(source.arena_offset, bytes, &end) || end > plan->arena_bytes)
      return error(Code::PlanInvalid, "plan: temporary '", source.name, "' lies at ", source.arena_offset, " + ", bytes,
                   " bytes, outside the arena of ", plan->arena_bytes);
  }
  return {};
}

/// Views whose place does not depend on a call must lie inside what they view; the others are checked by every call.
Status Program::checkFixedViews() const {
  auto moving = plan::dependsOnSymbols(plan->exprs, std::vector<bool>(plan->symbols.size(), true));
  std::vector<int> fixed;
  for (int i = 0; i < static_cast<int>(plan->exprs.size()); ++i)
    if (!moving[i])
      fixed.push_back(i);
  std::vector<int64_t> symbols(plan->symbols.size()), values(plan->exprs.size());
  if (int failed = plan::evaluateExprs(plan->exprs, fixed, symbols, values); failed >= 0)
    return error(Code::PlanInvalid, "plan: the size ", plan::exprText(*plan, failed), " does not fit 64 bits");
  auto bytesOf = [&](int buffer) -> std::optional<int64_t> {
    std::vector<int64_t> dims;
    for (int dim : buffers[buffer].dims)
      dims.push_back(values[dim]);
    auto elements = Shape(dims).checkedElements();
    int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(sizeOf(buffers[buffer].dtype)), &bytes))
      return std::nullopt;
    return bytes;
  };
  auto isFixed = [&](const std::vector<int> &exprs) { return std::none_of(exprs.begin(), exprs.end(), [&](int expr) { return moving[expr]; }); };
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const BufferInfo &view = buffers[i];
    if (view.root == i || !isFixed(view.dims) || !isFixed(view.offsetExprs) || !isFixed(buffers[view.root].dims))
      continue;
    int64_t begin = 0, end = 0;
    bool inside = true;
    for (int expr : view.offsetExprs)
      inside = inside && !__builtin_add_overflow(begin, values[expr], &begin) && begin >= 0;
    auto bytes = bytesOf(i), room = bytesOf(view.root);
    // A group of the arena is as large as its largest view.
    if (view.place == Place::Arena || view.place == Place::Heap)
      room = INT64_MAX;
    if (!inside || !bytes || !room || __builtin_add_overflow(begin, *bytes, &end) || end > *room)
      return error(Code::PlanInvalid, "plan: buffer '", plan->buffers[i]->name, "' ", dimsText(i), " begins at byte ", begin, " of '",
                   plan->buffers[view.root]->name, "' ", dimsText(view.root), ", and leaves it");
  }
  return {};
}

std::string Program::dimsText(int buffer) const {
  return std::string(dtypeName(buffers[buffer].dtype)) + plan::dimsText(*plan, buffers[buffer].dims);
}

void Program::buildSignature() {
  auto describe = [&](const std::vector<std::unique_ptr<plan::ParamT>> &params, std::vector<TensorInfo> &out) {
    for (const auto &param : params) {
      TensorInfo &info = out.emplace_back();
      info.name = param->name;
      info.dtype = buffers[param->buffer].dtype;
      for (int dim : buffers[param->buffer].dims)
        info.dims.push_back(plan::exprText(*plan, dim));
    }
  };
  describe(plan->inputs, signature.inputs);
  describe(plan->outputs, signature.outputs);
  for (const auto &symbol : plan->symbols)
    if (symbol->input >= 0)
      signature.symbols.push_back({symbol->name, symbol->lo, symbol->hi, symbol->multiple});
}

Status Program::runPrepare() {
  Context context(*this, prepare);
  Status status = context.run(std::span<const HostTensor>(), std::span<HostTensor>(), RunOptions());
  if (!status.ok())
    return error(status.code(), "preparing the weights: ", status.message());
  return {};
}

void Program::reportSlowLibraries(const Context &context, const std::vector<Step> &steps) const {
  for (const Step &step : steps) {
    reportSlowLibraries(context, step.body);
    reportSlowLibraries(context, step.otherwise);
    if (step.kind == Action::Library && context.librarySlow(step.library))
      log(LogLevel::Remark, text("'", step.command->name, "': the library has only its slow general implementation for this call (",
                                 context.implementation(step.library), ")"));
  }
}

/// Constants that only fed a packing are not read again: those a call's library kernels have packed.
void Program::findReadConstants(const Context &context) {
  constantsRead.assign(buffers.size(), false);
  std::function<void(const std::vector<Step> &)> visit = [&](const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      visit(step.body);
      visit(step.otherwise);
      if (step.kind != Action::Library) {
        for (int buffer : plan::buffersOf(*step.command))
          constantsRead[buffers[buffer].root] = true;
        continue;
      }
      for (size_t i = 0; i < step.operands.size(); ++i)
        if (step.operands[i].buffer >= 0 && (i != 1 || context.libraryReads(step.library, 1)))
          constantsRead[buffers[step.operands[i].buffer].root] = true;
    }
  };
  visit(main.steps);
}

void Program::releaseUnusedPrepared() {
  if (options.keepPrepared)
    return;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (prepared[i] && !constantsRead[i]) {
      prepared[i].reset();
      preparedSize[i] = 0;
    }
}

} // namespace graphc
