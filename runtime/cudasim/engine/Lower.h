// Lowering PTX instructions to handler calls over virtual registers: the class behind Lower*.cpp.
#pragma once

#include "runtime/cudasim/engine/Function.h"
#include "runtime/cudasim/engine/Rare.h"
#include "runtime/cudasim/engine/handlers/Handlers.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace graphc::cudasim {

/// The function holds something the simulator cannot execute.
struct Refusal {
  std::string why;
};

/// The dotted pieces after the opcode. Each must be taken by someone: an unknown modifier is never ignored.
class Mods {
public:
  explicit Mods(const std::vector<std::string_view> &parts) : parts(parts) {}
  bool take(std::string_view name);
  bool has(std::string_view name) const;
  /// The first piece not yet taken that names a type; None when there is none.
  ptx::Type takeType();
  /// The first piece not yet taken, or empty.
  std::string_view takeNext();
  bool takePrefix(std::string_view prefix, std::string_view *rest = nullptr);
  void finish() const;

private:
  const std::vector<std::string_view> &parts;
  uint64_t used = 1; // the opcode itself
};

class Lowering {
public:
  Lowering(const ptx::Program &program, const ptx::Function &entry, const GlobalAddresses &globals,
           const DeviceModel &model, FunctionCode &out);
  void run();

private:
  const ptx::Program &program;
  const ptx::Function &entry;
  const GlobalAddresses &globals;
  const DeviceModel &model;
  FunctionCode &out;
  const Handlers &table;
  Lowered lowered;

  /// One inlined body.
  struct Instance {
    const ptx::Function *function;
    int registerBase;
    std::vector<int64_t> localOf;      ///< per variable: offset in the thread's local memory, or −1
    std::vector<uint32_t> codeAt;      ///< per PTX instruction, and the end
    std::vector<std::pair<uint32_t, int>> branches; ///< code index → PTX index
  };
  std::deque<Instance> instances;
  Instance *current = nullptr;
  /// A function that is called through a frame; where its parameters and results lie in it.
  struct Recursive {
    const ptx::Function *function;
    std::vector<uint32_t> params, results;
    uint32_t begin = 0; ///< its code
  };
  std::vector<Recursive> recursive;
  std::unordered_map<const ptx::Function *, uint32_t> frameOf;
  std::vector<std::pair<uint32_t, uint32_t>> frameCalls; ///< code index of a call → frame
  int frame = -1; ///< whose body is being lowered; −1: the kernel's
  std::optional<std::vector<const ptx::Function *>> addressTaken;
  std::unordered_map<int, int> upperHalf; ///< of 128-bit registers: the register of the upper 64 bits
  const ptx::Instruction *at = nullptr;
  Mods *mods = nullptr;
  bool unguarded = false; ///< emit without the instruction's guard (temporaries)

  /// A value read by an instruction: a virtual register, or a fixed reference.
  struct Value {
    Ref ref = 0;
    int reg = -1;
  };
  struct Address {
    MemSpace space = MemSpace::Global;
    bool constant = false;
    Value reg;
    bool wide = true, none = false;
    int64_t offset = 0;
  };

  [[noreturn]] void refuse(std::string why) const;
  const ptx::Operand &operand(size_t index) const;
  bool hasOperand(size_t index) const { return index < at->operands.size(); }

  // Emission (Lower.cpp)
  Inst &emit(Kind kind, Handler fn, Class cls);
  void use(Ref &where, Value value, bool isAddress = false);
  void def(Ref &where, int reg, bool alsoUse = false);
  int temporary(RegClass cls);
  Value constant(uint64_t bits, unsigned bytes);
  Value special(Special which);
  Value value(const ptx::Operand &op, ptx::Type type);
  Value valueOfSize(const ptx::Operand &op, unsigned bytes);
  Value predicate(const ptx::Operand &op, bool &negated);
  Value trueValue() const { return {predTrue, -1}; }
  uint64_t immediate(const ptx::Operand &op, ptx::Type type) const;
  Value addressValue(const ptx::Operand &op, unsigned bytes);
  int destination(const ptx::Operand &op, unsigned bytes);
  int predicateDestination(const ptx::Operand &op);
  RegClass classOf(int reg) const { return lowered.registers[reg]; }
  int registerOf(const ptx::Operand &op) const;
  /// The two halves of a 128-bit register.
  bool isWide128(const ptx::Operand &op) const;
  std::pair<int, int> halvesOf(const ptx::Operand &op) const;
  static Class classFor(ptx::Type type);
  std::vector<Ref> &newList(size_t size);

  void unaryInto(Handler fn, int d, Value a, Kind kind, Class cls);
  void move(int d, Value a);

  // Memory layout
  void layoutParams();
  void layoutShared();
  void collectShared(const ptx::Function &function, std::vector<const ptx::Function *> &seen);
  std::map<const ptx::Variable *, uint32_t> sharedOffset;
  std::map<std::string_view, const ptx::Variable *> sharedByName;
  std::map<const ptx::Variable *, uint32_t> paramOffset;
  void addShared(const ptx::Variable &variable);
  std::vector<const ptx::Variable *> dynamicShared;
  std::map<std::pair<uint64_t, unsigned>, Ref> constants;
  std::map<std::tuple<uint32_t, unsigned, unsigned, bool>, Ref> paramSlots;
  std::map<Special, uint32_t> specialIndex;
  /// In the thread's local memory, or in the frame of the function that is being lowered.
  int64_t localOffset(int variable);
  Value paramValue(uint32_t offset, unsigned bytes, unsigned regBytes, bool isSigned);

  // Instructions; calls and the stack are in LowerCalls.cpp
  void lowerBody(Instance &instance, const std::vector<std::pair<int, Value>> &incoming = {});
  void lower();
  void lowerCall();
  void lowerIndirectCall(const ptx::Operand &pointer, const ptx::Operand *results, const ptx::Operand *arguments);
  void inlineCall(const ptx::Function &callee, const ptx::Operand *results, const ptx::Operand *arguments);
  const std::vector<const ptx::Function *> &calledByPointer();
  std::vector<const ptx::Function *> calleesOf(const ptx::Function &function);
  void findRecursion();
  void lowerRecursive(size_t index);
  void callThroughFrame(uint32_t callee, const ptx::Operand *results, const ptx::Operand *arguments);
  int64_t placeOf(const ptx::Operand &op);
  const ptx::Operand &elementOf(const ptx::Operand *list, size_t index, const char *what) const;
  Ref frameBase();
  void useStack();
  bool usesAlloca(const ptx::Function &function) const;
  int stackSave(RegClass cls);
  void stackRestore(Value saved);
  void lowerStack(std::string_view opcode);
  void lowerIntegerOrFloat(std::string_view opcode);
  void lowerMov();
  void lowerCvt();
  void lowerCvta();
  void lowerSetp();
  void lowerSet();
  void lowerSelp();
  void lowerMad(bool isFma);
  void lowerMul();
  void lowerCarry(std::string_view opcode);
  void lowerBits(std::string_view opcode);
  void lowerLogic(std::string_view opcode);
  void simple(Handler fn, ptx::Type result, std::initializer_list<Value> sources, const ptx::Operand &d, Class cls,
              uint32_t flags = 0);

  // Rare instructions (LowerRare.cpp)
  bool lowerRare(std::string_view opcode);
  void rare(Handler fn, ptx::Type result, std::initializer_list<Value> sources, const RareForm &form, uint32_t flags = 0);
  void lowerLop3Predicate();
  void lowerMixedPrecision(std::string_view opcode);
  void lowerFmaOob();
  void lowerFp8Conversion();
  bool lowerVideo(std::string_view opcode);
  static uint32_t takeFloatFlags(Mods &mods);

  // Memory (LowerMemory.cpp)
  Address address(const ptx::Operand &op, MemSpace space, bool isParam = false);
  MemOp &newMem(const Address &address, unsigned caches = 1);
  void useAddress(MemOp &mem, const Address &address);
  bool takeSpace(MemSpace &space, bool &constant, bool &param);
  void takeSemantics(MemOp &mem);
  void takeHints(size_t &extraOperands);
  void lowerLoad();
  void lowerStore();
  void lowerAtomic(bool isRed);
  void lowerAtomic128(bool isCas, MemOp &semantics, const Address &to);
  void lowerAsync();

  // Synchronisation, warps and matrices (LowerWarp.cpp)
  void lowerMatrix(bool isStore);
  void lowerBarrier(std::string_view opcode);
  void lowerShfl();
  void lowerVote();
  void lowerMatch();
  void lowerRedux();
  void lowerElect();
  void lowerMma();
  Inst &emitMma(Handler fn, MmaShape shape, const size_t (&counts)[4]);
  void lowerMmaQuadPairs();
  void lowerMmaFp8(MmaShape shape, ptx::Type d, ptx::Type a, ptx::Type b);
  void lowerWmma();
  void lowerMbarrier();
  void lowerFence(std::string_view opcode);
  Value memberMask(const ptx::Operand &op) { return value(op, ptx::Type::B32); }
};

} // namespace graphc::cudasim
