// PTX as text, parsed: what the grammar says, before any instruction is understood.
//
// Names inside functions are resolved by scope here (registers, variables, labels); mnemonics stay text, split at the
// dots, for Decode*.cpp to consume piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace graphc::cudasim::ptx {

enum class Space : uint8_t { Generic, Register, Const, Global, Local, Param, Shared };

enum class Type : uint8_t {
  None, Pred,
  B8, B16, B32, B64, B128,
  U8, U16, U32, U64,
  S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, TF32, F32, F64, F32x2,
  E4M3, E5M2, E4M3x2, E5M2x2, // only in conversions and mma
};
/// Bytes of one value; a predicate counts as zero.
unsigned sizeOf(Type type);
/// The type a dotless suffix names ("f16x2"), or None.
Type typeNamed(std::string_view text);

struct Location {
  uint32_t ptxLine = 0, file = 0, line = 0;
};

struct Operand {
  enum class Kind : uint8_t {
    Register, ///< reg; negate for `!p`
    Pair,     ///< `p|q`: reg and reg2 (either −1 for `_`)
    Sink,     ///< `_`
    Integer, Float32, Float64,
    Special,  ///< name: "%tid.x"
    Variable, ///< of the function: var, offset in value
    Symbol,   ///< module-level name or label, offset in value
    Vector,   ///< `{…}`
    Address,  ///< `[base + value]`; base is reg, var, name, or nothing (absolute); elements hold further coordinates
    List,     ///< `(…)` of a call
  };
  Kind kind = Kind::Sink;
  bool negate = false; ///< `!p`; in video instructions also `-r`
  int reg = -1, reg2 = -1, var = -1;
  int64_t value = 0;
  double real = 0;
  std::string_view name;
  std::string_view selector; ///< of a register in video instructions: "h1", "b3210"
  std::vector<Operand> elements;
};

struct Instruction {
  std::vector<std::string_view> parts; ///< mnemonic split at dots: {"ld", "global", "v4", "b32"}
  std::string_view text;               ///< whole statement, for reports
  std::vector<Operand> operands;
  int guard = -1;
  bool guardNegated = false;
  int scope = 0;
  Location at;
};

struct Initializer {
  struct Item {
    bool isSymbol = false, generic = false, isFloat = false;
    int64_t value = 0; ///< or the offset from the symbol
    uint64_t mask = 0; ///< `0xFF00(symbol)`, zero when absent
    double real = 0;
    std::string_view symbol;
  };
  std::vector<Item> items;
};

struct Variable {
  std::string_view name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint32_t align = 1;
  uint64_t size = 0;      ///< bytes; zero for `extern .shared x[]`
  uint32_t elementBytes = 1;
  bool isExtern = false, unsizedArray = false;
  bool isRegister = false; ///< `.reg` parameter of a .func
  int reg = -1;
  Initializer initializer;
  uint32_t line = 0;
};

struct Label {
  std::string_view name;
  int scope = 0;
  uint32_t index = 0; ///< the instruction it precedes
};

struct Function {
  std::string_view name;
  bool isEntry = false, hasBody = false;
  std::vector<int> params, results; ///< indices into variables
  std::vector<Variable> variables;
  std::vector<Type> registers;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<int> scopeParents{-1};
  /// `.branchtargets` lists by their label, for brx.idx.
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> branchTargets;
  uint32_t reqntid[3] = {0, 0, 0}, maxntid[3] = {0, 0, 0}, minctapersm = 0, maxnreg = 0;
  uint32_t line = 0;
  /// Something in the body the parser knows but the simulator cannot do; refuses the function, not the module.
  std::string refused;
  /// The instruction index of a label visible from `scope`, or −1.
  int findLabel(std::string_view name, int scope) const;
};

struct Program {
  int version = 0; ///< 84 for 8.4
  std::string target;
  std::vector<std::string> files; ///< by .file number
  std::vector<Variable> globals;
  std::vector<Function> functions;
  std::unordered_map<std::string_view, int> globalIndex, functionIndex;
};

/// Parses `text` (which must outlive the program). False, with `error` as "line N: …", when it is not PTX.
bool parse(std::string_view text, Program &program, std::string &error);

} // namespace graphc::cudasim::ptx
