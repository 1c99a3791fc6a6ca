// Loading: parse, place module variables in device memory, decode every entry.
#include "runtime/cudasim/engine/Function.h"

#include <algorithm>
#include <cstring>

namespace graphc::cudasim {

ModuleCode::~ModuleCode() {
  if (memory)
    for (const GlobalInfo &global : globals)
      if (global.address)
        memory->free(global.address);
}

Module::Module() : impl(std::make_unique<ModuleCode>()) {}
Module::~Module() = default;

size_t Module::functionCount() const { return impl->functions.size(); }
const FunctionInfo &Module::function(size_t index) const { return impl->functions[index]->info; }
int Module::findFunction(std::string_view name) const {
  for (size_t i = 0; i < impl->functions.size(); ++i)
    if (impl->functions[i]->info.name == name)
      return int(i);
  return -1;
}
const std::vector<GlobalInfo> &Module::globals() const { return impl->globals; }
const GlobalInfo *Module::findGlobal(std::string_view name) const {
  for (const GlobalInfo &global : impl->globals)
    if (global.name == name)
      return &global;
  return nullptr;
}
std::string_view Module::target() const { return impl->program.target; }
int Module::ptxVersion() const { return impl->program.version; }
const std::vector<std::string> &Module::sourceFiles() const { return impl->program.files; }

/// "sm_90a" → 90 and 'a'; anything else → 0.
static int targetNumber(std::string_view target, char &suffix) {
  suffix = 0;
  if (target.substr(0, 3) != "sm_")
    return 0;
  int number = 0;
  size_t i = 3;
  while (i < target.size() && target[i] >= '0' && target[i] <= '9')
    number = number * 10 + (target[i++] - '0');
  if (i < target.size())
    suffix = target[i++];
  return i == target.size() ? number : 0;
}

std::unique_ptr<Module> Module::load(std::string_view ptx, const DeviceModel &model, MemorySpace &memory,
                                     std::string &errorLog, Failure *failure) {
  auto fail = [&](Failure kind, std::string text) {
    errorLog = std::move(text);
    if (failure)
      *failure = kind;
    return nullptr;
  };
  if (failure)
    *failure = Failure::None;
  if (ptx.substr(0, 4) == "\x7f"
                          "ELF")
    return fail(Failure::NotPtx, "the image is a cubin (ELF machine code); the simulator runs PTX only: compile with "
                                 "-ptx, or keep PTX in the fatbinary (-gencode arch=compute_XX,code=compute_XX)");
  if (ptx.size() >= 4 && (std::memcmp(ptx.data(), "\x50\xED\x55\xBA", 4) == 0))
    return fail(Failure::NotPtx, "the image is a fatbinary; pass the PTX text itself");
  while (!ptx.empty() && ptx.back() == 0)
    ptx.remove_suffix(1);
  std::unique_ptr<Module> module(new Module);
  ModuleCode &code = *module->impl;
  code.text = std::string(ptx);
  if (!ptx::parse(code.text, code.program, errorLog))
    return fail(Failure::InvalidPtx, errorLog);
  const ptx::Program &program = code.program;
  if (program.version > 94 || program.version < 60)
    return fail(Failure::UnsupportedVersion, ".version " + std::to_string(program.version / 10) + "." +
                                                 std::to_string(program.version % 10) + " is not supported (6.0 to 9.4 are)");
  char suffix;
  int number = targetNumber(program.target, suffix);
  if (number == 0)
    return fail(Failure::InvalidPtx, "unknown .target " + program.target);
  int device = model.capability();
  if (number > device || (suffix == 'a' && number != device) || (suffix == 'f' && number / 10 != device / 10))
    return fail(Failure::UnsupportedTarget, ".target " + program.target + " does not run on a device of compute capability " +
                                                std::to_string(model.major) + "." + std::to_string(model.minor));
  // Module variables.
  code.memory = &memory;
  GlobalAddresses addresses;
  for (const ptx::Variable &variable : program.globals) {
    if (variable.space == ptx::Space::Shared)
      continue;
    if (variable.isExtern)
      return fail(Failure::InvalidPtx, "line " + std::to_string(variable.line) + ": unresolved extern variable " +
                                           std::string(variable.name));
    uint64_t address = memory.allocate(std::max<uint64_t>(variable.size, 1), std::max<uint64_t>(variable.align, 256),
                                       AllocationKind::ModuleGlobal, std::string(variable.name));
    if (!address)
      return fail(Failure::OutOfMemory, "no memory for module variable " + std::string(variable.name));
    addresses[variable.name] = address;
    code.globals.push_back({std::string(variable.name), address, variable.size, variable.space == ptx::Space::Const});
  }
  for (const ptx::Variable &variable : program.globals) {
    if (variable.space == ptx::Space::Shared)
      continue;
    auto *bytes = reinterpret_cast<unsigned char *>(addresses[variable.name]);
    std::memset(bytes, 0, variable.size);
    memory.markDefined(addresses[variable.name], variable.size);
    size_t offset = 0;
    for (const ptx::Initializer::Item &item : variable.initializer.items) {
      uint64_t value = uint64_t(item.value);
      if (item.isSymbol) {
        auto it = addresses.find(item.symbol);
        if (it == addresses.end()) {
          if (!program.functionIndex.count(item.symbol))
            return fail(Failure::InvalidPtx, "line " + std::to_string(variable.line) + ": unknown name " +
                                                 std::string(item.symbol) + " in an initialiser");
          value += functionAddress(size_t(program.functionIndex.at(item.symbol)));
        } else {
          value += it->second;
        }
        if (item.mask)
          value = (value & item.mask) >> __builtin_ctzll(item.mask);
      } else if (item.isFloat) {
        if (variable.type == ptx::Type::F64) {
          std::memcpy(&value, &item.real, 8);
        } else {
          float f = float(item.real);
          value = 0;
          std::memcpy(&value, &f, 4);
        }
      }
      unsigned size = ptx::sizeOf(variable.type);
      if (offset + size > variable.size)
        return fail(Failure::InvalidPtx, "line " + std::to_string(variable.line) + ": too many initialisers for " +
                                             std::string(variable.name));
      std::memcpy(bytes + offset, &value, std::min(size, 8u));
      offset += size;
    }
    if (variable.space == ptx::Space::Const)
      memory.setReadOnly(addresses[variable.name]);
  }
  for (const ptx::Function &function : program.functions)
    if (function.isEntry && function.hasBody)
      code.functions.push_back(decodeFunction(program, function, addresses, model));
  uint32_t constBytes = 0;
  for (const GlobalInfo &global : code.globals)
    constBytes += global.constant ? uint32_t(global.size) : 0;
  for (auto &function : code.functions)
    function->info.constBytes = constBytes;
  return module;
}

} // namespace graphc::cudasim
