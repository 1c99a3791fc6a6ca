// `.gcx`: a compiled model in one file.
//
//   manifest.json        format version, producer, sections with sizes and hashes, CPU levels, packed weights
//   plan.bin, plan.txt   the plan and its readable copy
//   weights.bin          every constant that calls read, 64-byte aligned, prepared ones included
//   kernels/LEVEL.so     the kernels for one CPU level
//   packed/LEVEL.bin     constants in the library's layout for that level
//
// All hashes are checked before anything is used; weights are mapped, not copied. The compile cache keeps a leaner kind: weights
// that lie unchanged in the model stay there, and constants that were packed are left out.
#pragma once

#include "runtime/devices/cpu/CpuLevel.h"
#include "runtime/exec/Executable.h"

#include <map>
#include <string>
#include <vector>

namespace graphc {

/// Kernels for one level, as one shared object that exports every Plan.kernels symbol.
struct ArtifactKernels {
  cpu::Level level;
  std::vector<std::byte> sharedObject;
};

struct ArtifactWriteOptions {
  /// Weights that lie in these files (by index of Executable::plan().files; an empty path: not so) are named by offset
  /// instead of copied. Such an artifact needs the same files at load.
  struct OuterFile {
    std::string path;
    uint64_t bytes = 0;
  };
  std::vector<OuterFile> outerFiles;
  /// Leave out prepared constants of which a call here reads only the packed form; other machines must compile anew.
  bool leaveOutPacked = false;
  /// Kept in the manifest for whoever asks.
  std::map<std::string, std::string> notes;
};

/// Writes what `executable` runs: its plan without `prepare`, its constants, `kernels` for the levels asked for, and what the
/// library has packed for `packedLevel` (this machine's).
Status writeArtifact(const std::string &path, const Executable &executable, const std::vector<ArtifactKernels> &kernels,
                     cpu::Level packedLevel, const ArtifactWriteOptions &options = {});

/// A plan for a device holds its own code, so it is written as it is, without any device at hand: constants beside it, `prepare`
/// left to whoever loads it. `weightFiles` are the bytes of `plan.files`.
Status writeDeviceArtifact(const std::string &path, const plan::PlanT &plan, std::span<const WeightBytes> weightFiles,
                           const std::map<std::string, std::string> &notes = {});

struct ArtifactOptions {
  /// Where an artifact for a device runs; null: on the processor.
  std::shared_ptr<ComputeDevice> device;
  RecordPolicy record = RecordPolicy::Never;
  std::shared_ptr<ThreadPool> pool;
  LogFn log;
  double serialCutoffNs = LoadOptions().serialCutoffNs;
  bool libraryThreads = LoadOptions().libraryThreads;
  std::optional<cpu::Level> level; // default: the best that file and machine share
  /// Files outside that hold weights, by the path the artifact calls them.
  std::map<std::string, WeightBytes> outerFiles;
};

/// From a path (mapped) or from memory that `owner` keeps alive.
Result<std::shared_ptr<const Executable>> loadArtifact(const std::string &path, const ArtifactOptions &options);
Result<std::shared_ptr<const Executable>> loadArtifact(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                                       const ArtifactOptions &options);

/// The best of `levels` that this machine has; only `asked` when that is given. Nothing when there is none.
std::optional<cpu::Level> chooseLevel(const std::vector<std::string> &levels, std::optional<cpu::Level> asked = {});

/// Names, sizes, levels and notes, for `inspect` and the cache. Checks the manifest only.
struct ArtifactSummary {
  std::string producer, model;
  std::vector<std::string> levels;
  std::vector<std::pair<std::string, uint64_t>> sections;
  std::map<std::string, std::string> notes;
};
Result<ArtifactSummary> summarizeArtifact(std::span<const std::byte> file);

} // namespace graphc
