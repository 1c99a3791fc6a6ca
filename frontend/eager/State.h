// What a ThreadContext holds beside its public switches, and what all contexts of a process share.
#pragma once

#include "frontend/compile/OpCompiler.h"
#include "frontend/eager/Dispatch.h"
#include "frontend/eager/OpStore.h"
#include "frontend/eager/Tracing.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/custom_op.h"

#include <deque>
#include <map>
#include <unordered_map>

namespace graphc {

class Context; // runtime/exec

namespace eager {

struct KeyHash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const;
};
struct KeyEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};
template <typename T>
using KeyMap = std::unordered_map<std::string, T, KeyHash, KeyEqual>;

/// Compiler, threads and functions: one of each per process, made when first needed.
class Services {
public:
  static Services &get();
  OpCompiler &compiler() { return compiler_; }
  const std::shared_ptr<ThreadPool> &pool() { return pool_; }
  /// What came compiled with the build or, if a folder of such is set, an earlier process has compiled.
  std::optional<std::string> findStored(const char *kind, const std::string &key);
  void store(const char *kind, const std::string &key, const std::string &bytes);
  /// A definition that lives as long as the process: functions are known by the address of its name.
  const OpDefinition &keep(OpDefinition definition);
  /// Forgets every function of the process and of this thread's context, as a new process would begin.
  void forget();
  /// An empty folder: none.
  void setStore(const std::string &folder);
  /// All functions that other processes find again.
  std::vector<std::shared_ptr<Function>> functions();
  /// Loads what was compiled, now or earlier. `weights`: bytes of its constants, which are then kept for an artifact.
  Result<std::shared_ptr<const Executable>> load(CompiledOp op, std::optional<WeightBytes> weights = {});
  /// Opened when first asked for, never closed. Not the CPU.
  Result<std::shared_ptr<ComputeDevice>> device(const DeviceId &id);
  /// The function stored under `key`, or null; `add` keeps the first of two that raced.
  std::shared_ptr<Function> find(std::string_view key);
  std::shared_ptr<Function> add(std::string_view key, std::shared_ptr<Function> function);

private:
  Services();
  std::shared_ptr<ThreadPool> pool_;
  OpCompiler compiler_;
  std::optional<OpStore> store_;
  std::optional<OpSeed> seed_;
  std::mutex storeMutex_;
  std::mutex mutex_;
  KeyMap<std::shared_ptr<Function>> functions_;
  std::deque<OpDefinition> definitions_;
  std::map<std::string, std::shared_ptr<ComputeDevice>> devices_;
};

} // namespace eager

struct ThreadContext::State {
  eager::KeyMap<std::shared_ptr<eager::Function>> functions;
  /// A context per executable and sizes, so that alternating sizes are not resolved anew.
  eager::KeyMap<std::shared_ptr<Context>> contexts;
  OpStatistics statistics;
  Generator generator;
  eager::Recorder *recorder = nullptr; // while a program is traced
  int64_t stream = 0;
};

} // namespace graphc
