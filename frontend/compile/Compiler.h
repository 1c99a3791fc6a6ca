// From a model file to a loaded executable. No MLIR in this header.
#pragma once
#include "codegen/cuda/Resources.h"
#include "runtime/base/HostTensor.h"
#include "runtime/exec/Executable.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graphc {

struct CompileOptions {
  std::string device = "cpu";    // cpu, sim[:N] or cuda[:N]: where the executable runs
  std::shared_ptr<ComputeDevice> openDevice; // that device, when it is open already
  RecordPolicy record = RecordPolicy::Never; // whether its calls are recorded and replayed
  /// Of a CUDA device: what to compile for, "sm_90" for machine code or "compute_80" for PTX; empty: what the device wants.
  std::vector<std::string> architectures;
  std::vector<std::string> nvrtc; // names and paths of NVRTC to try; empty: the loader's and /usr/local/cuda's
  bool keepResources = false;    // fill CompiledModel::resources, for each real architecture (sm_90)
  bool planOnly = false;         // fill CompiledModel::plan and load nothing: no device is needed
  std::string cpuLevel = "host"; // v3, v4, v4-bf16, v4-amx, host
  std::string amp;                 // "bf16": mixed precision by op class; empty: the model's own types
  int threads = 0;               // of the executable and of compilation; 0: as many as the process may use
  /// That calls of the executable share; null: one of its own when there is more than one thread.
  std::shared_ptr<ThreadPool> pool;
  std::vector<std::string> shapes; // "NAME=[1..64]x3x?x224"
  /// Values of inputs that sizes depend on, by name (see CompiledModel::valueInputs).
  std::map<std::string, HostTensor> constantInputs;

  bool fuse = true;           // false: one group per op, for `verify`
  bool probeGroups = false;      // every group's results become outputs named "probe:…"
  bool strict = false;        // what would be one line of warning is an error
  std::string cacheDir;       // folder of the compile cache; empty: none is used
  std::string dumpPhasesDir;  // numbered .mlir files
  std::string fromPhase;      // the module in a .mlir file is the result of this phase
  std::string toPhase;        // stop after this phase
  std::string printIrAfter;   // pass or phase name; printed on stderr
  bool keepKernelText = false; // fill KernelText
  bool keepPhaseText = false;  // fill CompiledModel::phases
  bool remarks = false;        // fill CompiledModel::remarks
  /// Levels whose kernels an artifact shall hold: fills CompiledModel::objects.
  std::vector<std::string> objectLevels;
  bool keepObjects = false; // fill CompiledModel::kernelObjects
};

/// A problem or a warning of the compiler, ready to print.
struct CompileDiagnostic {
  enum Severity { Error, Warning, Remark, Note } severity = Error;
  Code code = Code::CompileFailed;
  std::string message;
};

struct KernelText {
  std::string name, llvmIr, assembly; // on a CUDA device the CUDA C++ stands in for LLVM's IR, and assembly is empty
  std::vector<std::string> sourceOps;
};

struct PhaseTime {
  std::string name;
  double ms = 0;
};

/// Every kernel of the plan for one CPU level, as a shared object's bytes.
struct LevelObject {
  std::string level;
  std::vector<std::byte> sharedObject;
};

/// A file whose contents the result depends on, besides the model itself.
struct ModelFile {
  std::string name; // as the plan's weights call it; empty when it holds none
  std::string path;
};

struct CompiledModel {
  /// Null when compilation stopped at `toPhase`.
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<plan::PlanT> plan;  // with planOnly,
  std::vector<WeightBytes> weights;   //   and the bytes of its files
  std::vector<codegen::cuda::KernelResources> resources;
  std::vector<PhaseTime> times; // phases, then "codegen", "link", "load"
  std::vector<KernelText> kernels;
  std::vector<LevelObject> objects;
  std::vector<std::string> kernelObjects; // relocatable, for cpuLevel; linkSharedObject makes one object of them
  std::vector<ModelFile> files;
  std::vector<std::pair<std::string, std::string>> phases; // name, IR
  std::vector<CompileDiagnostic> remarks;
  std::string cpuLevel;
  double compileMs() const;
};

struct CompileResult {
  Status status;
  CompiledModel model;
  std::vector<CompileDiagnostic> diagnostics;
  /// Inputs whose values the model's sizes depend on: compile again with them in `constantInputs`.
  std::vector<std::string> valueInputs;
  /// Of an .onnx model, in order, also when compilation failed: what positions mean to whoever supplies those values.
  std::vector<std::string> inputNames;
};

/// `path`: .onnx, or .mlir of any phase.
CompileResult compileFile(const std::string &path, const CompileOptions &options = {});

/// Phases in order, with what each does: for `--help` and `inspect`.
struct PhaseInfo {
  std::string name, does;
};
std::vector<PhaseInfo> phaseList();

} // namespace graphc
