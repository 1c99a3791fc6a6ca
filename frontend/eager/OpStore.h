// Compiled ops on disk: what one process has compiled the next one loads without the compiler.
//
// An entry is a graph (its text and types), its plan and its kernels' objects, under the call's key or, for a gradient, under the
// graph it is of. The entries hold for one build of graphc and one CPU level; both are part of the key.
#pragma once

#include "frontend/compile/OpCompiler.h"
#include "runtime/cache/CompileCache.h"
#include "runtime/memory/MappedFile.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace graphc::eager {

/// Bytes of an entry and back; nothing when they are damaged.
std::string encodeProgram(const OpProgram &program);
std::optional<OpProgram> decodeProgram(std::string_view bytes);
std::string encodeGradient(const OpGradient &gradient);
std::optional<OpGradient> decodeGradient(std::string_view bytes);
std::string encodeCode(const CompiledOp &op);
std::optional<CompiledOp> decodeCode(std::string_view bytes);

/// Folders to look in, the first of which is written to unless it is read-only.
class OpStore {
public:
  /// `identity`: of the build and the CPU level. Empty when the folder cannot be used; `problem` then says why.
  static std::optional<OpStore> open(const std::string &folder, std::string identity, bool readOnly, std::string &problem);
  std::optional<std::string> find(const char *kind, std::string_view key);
  void store(const char *kind, std::string_view key, std::string_view bytes);

private:
  OpStore(CompileCache cache, std::string identity, bool readOnly) : cache_(std::move(cache)), identity_(std::move(identity)), readOnly_(readOnly) {}
  std::string keyOf(std::string_view key) const;
  CompileCache cache_;
  std::string identity_;
  bool readOnly_;
};

/// Compiled ops that come with a build: one file for each of two CPU levels, beside the library, mapped and read where it lies.
/// Every entry has a checksum; what is damaged or of another build counts as missing.
class OpSeed {
public:
  /// The file beside this code that fits the machine the compiler compiles for.
  static std::optional<OpSeed> ofBuild(const OpCompiler &compiler);
  /// Nothing when there is no such file or it is of another identity.
  static std::optional<OpSeed> open(const std::string &path, const std::string &identity);
  std::optional<std::string> find(const char *kind, std::string_view key) const;
  /// "ops-v4.seed"
  static std::string fileName(const std::string &level) { return "ops-" + level + ".seed"; }

private:
  std::shared_ptr<const MappedFile> file_;
  std::string_view entries_; // sorted
  std::string identity_;
};

/// Writes such a file.
class OpSeedWriter {
public:
  /// `identity`: of the compiler whose code is added.
  explicit OpSeedWriter(std::string identity) : identity_(std::move(identity)) {}
  void add(const char *kind, std::string_view key, std::string bytes);
  Status write(const std::string &path) const;

private:
  std::string identity_;
  std::map<std::string, std::string> entries_;
};

} // namespace graphc::eager
