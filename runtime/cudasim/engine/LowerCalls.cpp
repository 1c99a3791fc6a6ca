// Lowering: calls, direct and through pointers, the frames of recursive functions, alloca.
//
// A call is inlined: the `.func` body is lowered once per call site with its registers renamed and its `.param` variables
// bound to the caller's. That keeps one flat program per kernel. Functions that may reach themselves are lowered once,
// ahead of everything else (so that "lowest pc first" lets the deepest lanes return before the others go on), and called
// through a frame (see CallSite).
#include "runtime/cudasim/engine/Lower.h"

#include <algorithm>

namespace graphc::cudasim {

using ptx::Operand;
using ptx::Type;

/// Where an argument or a result in memory lies in the current frame.
int64_t Lowering::placeOf(const Operand &op) {
  if (op.kind != Operand::Kind::Variable)
    refuse("an argument of this function must be a .param variable");
  return localOffset(op.var);
}
const Operand &Lowering::elementOf(const Operand *list, size_t index, const char *what) const {
  if (!list || index >= list->elements.size())
    refuse(std::string(what) + " is missing");
  return list->elements[index];
}

// -- recursion -----------------------------------------------------------------------------------------------------

/// Functions that a body calls, those through pointers included.
std::vector<const ptx::Function *> Lowering::calleesOf(const ptx::Function &function) {
  std::vector<const ptx::Function *> result;
  auto add = [&](const ptx::Function *callee) {
    if (callee->hasBody && std::find(result.begin(), result.end(), callee) == result.end())
      result.push_back(callee);
  };
  for (const ptx::Instruction &instruction : function.instructions) {
    if (instruction.parts[0] != "call")
      continue;
    for (const Operand &op : instruction.operands) {
      if (op.kind == Operand::Kind::Symbol) {
        auto found = program.functionIndex.find(op.name);
        if (found != program.functionIndex.end())
          add(&program.functions[found->second]);
      } else if (op.kind == Operand::Kind::Register) {
        for (const ptx::Function *callee : calledByPointer())
          add(callee);
      }
    }
  }
  return result;
}

/// Gives every function that may reach itself a frame, its parameters first.
void Lowering::findRecursion() {
  std::map<const ptx::Function *, std::vector<const ptx::Function *>> callees;
  std::vector<const ptx::Function *> order{&entry};
  for (size_t i = 0; i < order.size(); ++i)
    for (const ptx::Function *callee : callees[order[i]] = calleesOf(*order[i]))
      if (std::find(order.begin(), order.end(), callee) == order.end())
        order.push_back(callee);
  auto reachesItself = [&](const ptx::Function *function) {
    std::vector<const ptx::Function *> seen = callees[function];
    for (size_t i = 0; i < seen.size(); ++i)
      for (const ptx::Function *next : callees[seen[i]])
        if (std::find(seen.begin(), seen.end(), next) == seen.end())
          seen.push_back(next);
    return std::find(seen.begin(), seen.end(), function) != seen.end();
  };
  for (size_t i = 1; i < order.size(); ++i) {
    if (!reachesItself(order[i]))
      continue;
    const ptx::Function &function = *order[i];
    frameOf[&function] = uint32_t(out.frames.size());
    recursive.push_back({&function, {}, {}, 0});
    Frame frame{function.name, 0, 0};
    auto place = [&](const std::vector<int> &formals, std::vector<uint32_t> &offsets) {
      for (int index : formals) {
        const ptx::Variable &formal = function.variables[index];
        uint32_t align = std::max(8u, formal.align);
        frame.localBytes = (frame.localBytes + align - 1) / align * align;
        offsets.push_back(frame.localBytes);
        frame.localBytes += uint32_t(std::max<uint64_t>(formal.size, 1));
      }
    };
    place(function.params, recursive.back().params);
    place(function.results, recursive.back().results);
    out.frames.push_back(frame);
  }
  if (!recursive.empty())
    useStack();
}

void Lowering::useStack() {
  out.usesStack = true;
  out.frameBase = special(FrameBase).ref; // patched with the other references to special registers
  out.stackTop = special(StackTop).ref;
}

Ref Lowering::frameBase() { return frame < 0 ? constant(0, 4).ref : special(FrameBase).ref; }

/// One body, called from everywhere.
void Lowering::lowerRecursive(size_t index) {
  Recursive &self = recursive[index];
  const ptx::Function &function = *self.function;
  frame = int(index);
  self.begin = uint32_t(lowered.code.size());
  instances.push_back({&function, 0, {}, {}, {}});
  Instance &instance = instances.back();
  instance.localOf.resize(function.variables.size(), -1);
  for (size_t i = 0; i < function.params.size(); ++i)
    instance.localOf[function.params[i]] = self.params[i];
  for (size_t i = 0; i < function.results.size(); ++i)
    instance.localOf[function.results[i]] = self.results[i];
  // Register parameters travel in the frame.
  std::vector<std::pair<int, Value>> incoming;
  auto inFrame = [&](AccessKind access, uint32_t offset, unsigned bytes, Value value) {
    MemOp &mem = newMem({MemSpace::Local, false, special(FrameBase), false, false, offset});
    mem.access = access;
    mem.elementBytes = uint8_t(bytes);
    mem.regBytes = bytes == 8 ? 8 : 4;
    bool isLoad = access == AccessKind::Load;
    Inst &inst = emit(Kind::Masked, isLoad ? table.load(mem) : table.store(mem), isLoad ? Class::Load : Class::Store);
    inst.mem = &mem;
    use(mem.address, special(FrameBase), true);
    if (isLoad)
      def(mem.values[0], value.reg, true);
    else
      use(mem.values[0], value);
  };
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ptx::Variable &formal = function.variables[function.params[i]];
    if (!formal.isRegister)
      continue;
    unsigned bytes = ptx::sizeOf(formal.type);
    int loaded = temporary(bytes == 8 ? RegClass::Wide : RegClass::Word);
    inFrame(AccessKind::Load, self.params[i], bytes, {0, loaded});
    incoming.push_back({formal.reg, {0, loaded}});
  }
  lowerBody(instance, incoming);
  at = nullptr;
  for (size_t i = 0; i < function.results.size(); ++i) {
    const ptx::Variable &formal = function.variables[function.results[i]];
    if (formal.isRegister)
      inFrame(AccessKind::Store, self.results[i], ptx::sizeOf(formal.type), {0, instance.registerBase + formal.reg});
  }
  emit(Kind::Return, nullptr, Class::Control);
  frame = -1;
}

void Lowering::callThroughFrame(uint32_t callee, const Operand *results, const Operand *arguments) {
  const Recursive &target = recursive[callee];
  const ptx::Function &function = *target.function;
  out.calls.emplace_back();
  CallSite &site = out.calls.back();
  site.frame = callee;
  site.caller = frame;
  std::vector<std::pair<size_t, Value>> values;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ptx::Variable &formal = function.variables[function.params[i]];
    const Operand &actual = elementOf(arguments, i, "an argument");
    if (formal.isRegister) {
      values.push_back({site.argumentRegisters.size(), value(actual, formal.type)});
      site.argumentRegisters.push_back({0, target.params[i], uint8_t(ptx::sizeOf(formal.type) == 8 ? 8 : 4)});
    } else {
      site.arguments.push_back({uint32_t(placeOf(actual)), target.params[i], uint32_t(formal.size)});
    }
  }
  std::vector<int> destinations;
  for (size_t i = 0; i < function.results.size(); ++i) {
    const ptx::Variable &formal = function.variables[function.results[i]];
    const Operand &actual = elementOf(results, i, "a result");
    if (formal.isRegister) {
      destinations.push_back(destination(actual, ptx::sizeOf(formal.type)));
      site.resultRegisters.push_back({0, target.results[i], uint8_t(ptx::sizeOf(formal.type) == 8 ? 8 : 4)});
    } else {
      site.results.push_back({target.results[i], uint32_t(placeOf(actual)), uint32_t(formal.size)});
    }
  }
  unguarded = true; // lowerCall branches around the whole of it
  frameCalls.push_back({uint32_t(lowered.code.size()), callee});
  Inst &call = emit(Kind::Call, nullptr, Class::Control);
  call.call = &site;
  for (auto &[index, from] : values)
    use(site.argumentRegisters[index].ref, from);
  Inst &after = emit(Kind::Masked, runAfterCall, Class::Control);
  after.call = &site;
  for (size_t i = 0; i < destinations.size(); ++i)
    def(site.resultRegisters[i].ref, destinations[i], true);
  unguarded = false;
}

// -- the stack -----------------------------------------------------------------------------------------------------

bool Lowering::usesAlloca(const ptx::Function &function) const {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [](const ptx::Instruction &instruction) { return instruction.parts[0] == "alloca"; });
}

/// A register that holds the stack's top.
int Lowering::stackSave(RegClass cls) {
  useStack();
  int saved = temporary(cls);
  bool wide = cls == RegClass::Wide;
  unaryInto(wide ? table.convert(Type::U64, Type::U32, CvtRound::Default, 0) : table.integer(Op::Mov, Type::B32), saved,
            special(StackTop), wide ? Kind::Simd64 : Kind::Simd32, Class::Move);
  return saved;
}
void Lowering::stackRestore(Value saved) {
  useStack();
  bool wide = saved.reg >= 0 && classOf(saved.reg) == RegClass::Wide;
  Inst &inst = emit(Kind::Masked, runStackRestore, Class::Control);
  inst.wide = wide;
  use(inst.a, saved);
}

/// alloca.type d, size {, align}; stacksave.type d; stackrestore.type a.
void Lowering::lowerStack(std::string_view opcode) {
  Type type = mods->takeType();
  if (type != Type::U32 && type != Type::U64)
    refuse("needs .u32 or .u64");
  unsigned bytes = ptx::sizeOf(type);
  if (opcode == "stacksave") {
    int d = destination(operand(0), bytes);
    move(d, {0, stackSave(bytes == 8 ? RegClass::Wide : RegClass::Word)});
  } else if (opcode == "stackrestore") {
    stackRestore(value(operand(0), type));
  } else {
    useStack();
    uint64_t align = hasOperand(2) ? immediate(operand(2), Type::U32) : 8;
    if (align == 0 || align > 4096 || (align & (align - 1)))
      refuse("the alignment must be a power of two up to 4096");
    Value size = value(operand(1), type);
    int d = destination(operand(0), bytes);
    Inst &inst = emit(Kind::Masked, runAlloca, Class::Control);
    inst.sub = inst.wide = bytes == 8;
    inst.imm = int64_t(align);
    use(inst.a, size);
    def(inst.d, d, true);
  }
}

// -- call sites ----------------------------------------------------------------------------------------------------

void Lowering::lowerCall() {
  mods->take("uni");
  const auto &ops = at->operands;
  size_t next = 0;
  const Operand *results = nullptr, *arguments = nullptr;
  if (ops.size() > next && ops[next].kind == Operand::Kind::List)
    results = &ops[next++];
  const Operand &target = operand(next++);
  if (ops.size() > next && ops[next].kind == Operand::Kind::List)
    arguments = &ops[next++];
  if (target.kind == Operand::Kind::Register) {
    lowerIndirectCall(target, results, arguments);
    return;
  }
  if (target.kind != Operand::Kind::Symbol)
    refuse("expected a function");
  auto found = program.functionIndex.find(target.name);
  if (found == program.functionIndex.end())
    refuse("call of an unknown function " + std::string(target.name));
  const ptx::Function &callee = program.functions[found->second];
  auto argument = [&](size_t index) -> const Operand & {
    if (!arguments || index >= arguments->elements.size())
      refuse("an argument is missing");
    return arguments->elements[index];
  };
  if (!callee.hasBody) {
    if (target.name == "vprintf") {
      std::vector<Ref> &list = newList(3);
      list[0] = Ref(placeOf(argument(0)));
      list[1] = Ref(placeOf(argument(1)));
      list[2] = results && !results->elements.empty() ? Ref(placeOf(results->elements[0])) : ~0u;
      for (Ref &ref : list) // raw numbers times four, so that they never look like special registers
        ref = ref == ~0u ? 0xFFFFFFFCu : ref * 4;
      Inst &inst = emit(Kind::Masked, runPrintf, Class::Control);
      inst.list = list.data();
      inst.a = frameBase();
    } else if (target.name == "__assertfail") {
      std::vector<Ref> &list = newList(4);
      for (size_t i = 0; i < 4; ++i)
        list[i] = Ref(placeOf(argument(i))) * 4;
      Inst &inst = emit(Kind::Masked, runAssertFail, Class::Control);
      inst.list = list.data();
      inst.a = frameBase();
    } else {
      refuse("function " + std::string(target.name) + " has no body and the simulator does not provide it");
    }
    return;
  }
  // A guarded call skips the body.
  int skip = -1;
  if (at->guard >= 0) {
    skip = int(lowered.code.size());
    Inst &inst = emit(Kind::Branch, nullptr, Class::Control);
    inst.guardFlip = ~inst.guardFlip;
  }
  inlineCall(callee, results, arguments);
  if (skip >= 0)
    lowered.code[skip].target = uint32_t(lowered.code.size());
}

/// The callee's body, with its parameters bound to these operands, for all lanes that come here.
void Lowering::inlineCall(const ptx::Function &callee, const Operand *results, const Operand *arguments) {
  auto recursive = frameOf.find(&callee);
  if (recursive != frameOf.end()) {
    callThroughFrame(recursive->second, results, arguments);
    return;
  }
  if (lowered.code.size() > 2000000)
    refuse("the function is too large after inlining");
  instances.push_back({&callee, 0, {}, {}, {}});
  Instance &instance = instances.back();
  instance.localOf.resize(callee.variables.size(), -1);
  const ptx::Instruction *callSite = at;
  ptx::Instruction unguarded = *at;
  unguarded.guard = -1;
  at = &unguarded;
  std::vector<std::pair<int, Value>> incoming; // callee register index → value
  for (size_t i = 0; i < callee.params.size(); ++i) {
    const ptx::Variable &formal = callee.variables[callee.params[i]];
    const Operand &actual = elementOf(arguments, i, "an argument");
    if (formal.isRegister)
      incoming.push_back({formal.reg, value(actual, formal.type)});
    else
      instance.localOf[callee.params[i]] = placeOf(actual);
  }
  for (size_t i = 0; i < callee.results.size(); ++i)
    if (!callee.variables[callee.results[i]].isRegister)
      instance.localOf[callee.results[i]] = placeOf(elementOf(results, i, "a result"));
  bool frees = usesAlloca(callee); // what it allocates ends with it
  int top = frees ? stackSave(RegClass::Word) : -1;
  lowerBody(instance, incoming);
  if (frees)
    stackRestore({0, top});
  for (size_t i = 0; i < callee.results.size(); ++i) {
    const ptx::Variable &formal = callee.variables[callee.results[i]];
    if (formal.isRegister)
      move(registerOf(elementOf(results, i, "a result")), {0, instance.registerBase + formal.reg});
  }
  at = callSite;
}

/// Functions whose address some instruction or initialiser takes.
const std::vector<const ptx::Function *> &Lowering::calledByPointer() {
  if (addressTaken)
    return *addressTaken;
  addressTaken.emplace();
  auto take = [&](std::string_view name) {
    auto it = program.functionIndex.find(name);
    if (it == program.functionIndex.end())
      return;
    const ptx::Function *function = &program.functions[it->second];
    if (function->hasBody && !function->isEntry && std::find(addressTaken->begin(), addressTaken->end(), function) == addressTaken->end())
      addressTaken->push_back(function);
  };
  for (const ptx::Variable &variable : program.globals)
    for (const ptx::Initializer::Item &item : variable.initializer.items)
      if (item.isSymbol)
        take(item.symbol);
  for (const ptx::Function &function : program.functions)
    for (const ptx::Instruction &instruction : function.instructions)
      if (instruction.parts[0] != "call")
        for (const Operand &op : instruction.operands)
          if (op.kind == Operand::Kind::Symbol)
            take(op.name);
  return *addressTaken;
}

/// A chain of compares over all functions that fit; each body is inlined behind its compare.
void Lowering::lowerIndirectCall(const Operand &pointer, const Operand *results, const Operand *arguments) {
  Value target = value(pointer, Type::B64);
  auto setPredicate = [&](int d, Value from, bool negated, PredOp op = PredOp::Mov, Value with = {predTrue, -1}, bool negatedWith = false) {
    Inst &inst = emit(Kind::Masked, table.predicate(op), Class::Control);
    inst.flags = uint32_t(negated) | uint32_t(negatedWith) << 1;
    use(inst.a, from);
    use(inst.b, with);
    def(inst.d, d, true);
  };
  int missing = temporary(RegClass::Predicate), hit = temporary(RegClass::Predicate);
  unguarded = true;
  setPredicate(missing, trueValue(), true);
  unguarded = false;
  setPredicate(missing, trueValue(), false);
  auto fits = [&](const std::vector<int> &formals, const ptx::Function &callee, const Operand *actuals) {
    if (formals.size() != (actuals ? actuals->elements.size() : 0))
      return false;
    for (size_t i = 0; i < formals.size(); ++i) {
      const Operand &actual = actuals->elements[i];
      const ptx::Variable &formal = callee.variables[formals[i]];
      if (formal.isRegister != (actual.kind != Operand::Kind::Variable))
        return false;
      if (!formal.isRegister && current->function->variables[actual.var].size != formal.size)
        return false;
    }
    return true;
  };
  for (const ptx::Function *callee : calledByPointer()) {
    if (!fits(callee->params, *callee, arguments) || !fits(callee->results, *callee, results))
      continue; // runBadCall says so if it is ever called
    unguarded = true;
    Inst &compare = emit(Kind::Masked, table.compare(Type::U64, Cmp::Eq, false), Class::Control);
    use(compare.a, target);
    use(compare.b, constant(functionAddress(size_t(callee - program.functions.data())), 8));
    def(compare.d, hit, true);
    setPredicate(hit, {0, hit}, false, PredOp::And, {0, missing});
    setPredicate(missing, {0, missing}, false, PredOp::And, {0, hit}, true);
    size_t skip = lowered.code.size();
    Inst &branch = emit(Kind::Branch, nullptr, Class::Control);
    use(branch.guard, {0, hit});
    branch.guardFlip = ~0u;
    unguarded = false;
    inlineCall(*callee, results, arguments);
    lowered.code[skip].target = uint32_t(lowered.code.size());
  }
  unguarded = true;
  Inst &bad = emit(Kind::Masked, runBadCall, Class::Control);
  use(bad.guard, {0, missing});
  unguarded = false;
}

} // namespace graphc::cudasim
