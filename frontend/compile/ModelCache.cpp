#include "frontend/compile/ModelCache.h"

#include "frontend/compile/LinkObjects.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/devices/cpu/LibraryCall.h"
#include "runtime/memory/MappedFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace graphc {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr const char *kNeeds = "needs", *kModel = "model";
/// Rises when entries of an older form must not be found.
constexpr int64_t kForm = 2;

/// The contents of a file as 32 digits. Read, not mapped: hundreds of megabytes of weights would count as this process' memory.
Result<std::string> contentOf(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error(Code::ModelUnreadable, "cannot read \"", path, "\": ", std::strerror(errno));
  CacheKey key;
  std::vector<std::byte> buffer(1 << 20);
  while (true) {
    ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      int reason = errno;
      ::close(fd);
      if (count < 0)
        return error(Code::ModelUnreadable, "cannot read \"", path, "\": ", std::strerror(reason));
      return key.str();
    }
    key.add(std::span<const std::byte>(buffer.data(), static_cast<size_t>(count)));
  }
}

/// Differs whenever a file was written meanwhile.
std::string stampOf(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return "";
  return text(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".",
              info.st_ctim.tv_nsec);
}

int64_t changedNs(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec : INT64_MAX;
}

int64_t nowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

fs::path folderOf(const std::string &model) { return fs::path(model).parent_path(); }

std::string levelText(const CompileOptions &options) {
  if (options.cpuLevel != "host")
    return options.cpuLevel;
  auto host = cpu::hostLevel();
  return host ? std::string(cpu::levelName(*host)) : "none";
}

} // namespace

Result<ModelCache> ModelCache::open(const std::string &folder, std::string identity, std::function<void(const std::string &)> warn) {
  auto cache = CompileCache::open({folder});
  if (!cache.ok())
    return cache.status();
  return ModelCache(*std::move(cache), std::move(identity), std::move(warn));
}

bool ModelCache::serves(const std::string &path, const CompileOptions &options) {
  // Spelled out so that a new option does not compile before someone has said what it means here (and in components()).
  const auto &[device, openDevice, record, architectures, nvrtc, keepResources, planOnly, cpuLevel, amp, threads, pool, shapes, constantInputs, fuse, probeGroups, strict, cacheDir, dumpPhasesDir, fromPhase, toPhase, printIrAfter, keepKernelText,
               keepPhaseText, remarks, objectLevels, keepObjects] = options;
  (void)openDevice, (void)record, (void)nvrtc, (void)cpuLevel, (void)amp, (void)threads, (void)pool, (void)shapes, (void)constantInputs, (void)strict, (void)cacheDir, (void)keepObjects;
  // Artifacts for a device are not kept whole yet; their kernels are.
  return device == "cpu" && architectures.empty() && !keepResources && !planOnly && fs::path(path).extension() == ".onnx" && fuse && !probeGroups && dumpPhasesDir.empty() && fromPhase.empty() && toPhase.empty() && printIrAfter.empty() &&
         !keepKernelText && !keepPhaseText && !remarks && objectLevels.empty();
}

std::map<std::string, std::string> ModelCache::components(const std::string &path, const CompileOptions &options, const std::string &content) const {
  // Threads change neither plan nor kernels, and the library packs alike for any number of them.
  std::string shapes;
  for (const std::string &shape : options.shapes)
    shapes += (shapes.empty() ? "" : " ") + shape;
  std::error_code ignored;
  return {{"path", fs::weakly_canonical(path, ignored).string()}, // not part of the key
          {"content", content},
          {"shapes", shapes},
          {"level", levelText(options)},
          {"amp", options.amp},
          {"library", cpu::libraryVersion()},
          {"build", identity_}};
}

std::string ModelCache::needsKey(const std::map<std::string, std::string> &components) const {
  CacheKey key;
  key.add(kForm);
  for (const auto &[name, value] : components)
    if (name != "path")
      key.add(name).add(value);
  return key.str();
}

std::optional<ModelCache::Needs> ModelCache::readNeeds(const std::string &key) {
  int64_t damagedBefore = cache_.counters().damaged;
  auto bytes = cache_.find(kNeeds, key);
  if (cache_.counters().damaged > damagedBefore)
    warn_("an entry of the compile cache is damaged and is made anew: what the model reads");
  if (!bytes)
    return std::nullopt;
  const auto *begin = reinterpret_cast<const char *>(bytes->data());
  json parsed = json::parse(begin, begin + bytes->size(), nullptr, false);
  if (!parsed.is_object())
    return std::nullopt;
  Needs needs;
  for (const json &file : parsed["files"])
    needs.files.push_back({file[0], file[1]});
  needs.values = parsed["values"].get<std::vector<std::string>>();
  needs.inputNames = parsed["inputs"].get<std::vector<std::string>>();
  return needs;
}

Result<std::string> ModelCache::modelKey(const std::string &path, const std::string &needsKey, const Needs &needs, const CompileOptions &options,
                                         std::map<std::string, WeightBytes> *outerFiles) const {
  CacheKey key;
  key.add(needsKey);
  for (const ModelFile &file : needs.files) {
    std::string full = (folderOf(path) / file.path).string();
    if (full != path) {
      GRAPHC_ASSIGN_OR_RETURN(std::string content, contentOf(full));
      key.add(file.name).add(content);
    }
    if (!outerFiles || file.name.empty())
      continue;
    GRAPHC_ASSIGN_OR_RETURN(auto mapped, MappedFile::open(full));
    (*outerFiles)[file.name] = {mapped->bytes(), mapped};
  }
  for (const auto &[name, value] : options.constantInputs) {
    key.add(name).add(static_cast<int64_t>(value.dtype())).add(value.shape().str());
    key.add(std::span(static_cast<const std::byte *>(value.raw()), value.sizeBytes()));
  }
  return key.str();
}

Result<std::optional<CompiledModel>> ModelCache::find(const std::string &path, CompileOptions &options, const InputValues &values) {
  auto start = std::chrono::steady_clock::now();
  startedNs_ = nowNs();
  stamp_ = stampOf(path);
  GRAPHC_ASSIGN_OR_RETURN(content_, contentOf(path));
  std::string key = needsKey(components(path, options, content_));
  std::optional<Needs> needs = readNeeds(key);
  if (!needs)
    return std::optional<CompiledModel>();
  for (const std::string &wanted : needs->values)
    for (size_t i = 0; values && i < needs->inputNames.size(); ++i) {
      if (needs->inputNames[i] != wanted || options.constantInputs.contains(wanted))
        continue;
      GRAPHC_ASSIGN_OR_RETURN(std::optional<HostTensor> value, values(needs->inputNames, i));
      if (value)
        options.constantInputs.emplace(wanted, *std::move(value));
    }
  ArtifactOptions load;
  auto entryKey = modelKey(path, key, *needs, options, &load.outerFiles);
  if (!entryKey.ok()) // a file is gone: the compiler says it best
    return std::optional<CompiledModel>();
  auto entry = cache_.findFile(kModel, *entryKey);
  if (!entry)
    return std::optional<CompiledModel>();

  if (options.pool) {
    load.pool = options.pool;
  } else if (options.threads > 1) {
    SpinPoolOptions pool;
    pool.threads = options.threads;
    load.pool = std::make_shared<SpinPool>(pool);
  }
  load.level = cpu::levelFromName(levelText(options));
  CompiledModel model;
  load.log = [&](LogLevel level, const std::string &line) {
    if (level == LogLevel::Warning)
      model.remarks.push_back({CompileDiagnostic::Warning, Code::Ok, line});
  };
  auto mapped = MappedFile::open(*entry);
  if (!mapped.ok()) // another process has just removed it
    return std::optional<CompiledModel>();
  auto executable = loadArtifact(*entry, load);
  if (!executable.ok()) {
    cache_.removeDamaged(kModel, *entryKey);
    warn_("an entry of the compile cache cannot be used and is made anew: " + executable.status().message());
    return std::optional<CompiledModel>();
  }
  auto summary = summarizeArtifact((*mapped)->bytes());
  if (summary.ok())
    for (const auto &[name, line] : summary->notes)
      if (name.starts_with("warning ")) // warning NUMBER CODE
        model.remarks.push_back({CompileDiagnostic::Warning, static_cast<Code>(std::atoi(name.c_str() + name.rfind(' '))), line});
  model.executable = *executable;
  model.cpuLevel = levelText(options);
  model.times.push_back({"load", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()});
  return std::optional<CompiledModel>(std::move(model));
}

void ModelCache::store(const std::string &path, const CompileOptions &options, const CompileResult &result) {
  const CompiledModel &model = result.model;
  auto level = cpu::levelFromName(model.cpuLevel);
  if (!model.executable || !level || !serves(path, options) || stampOf(path) != stamp_)
    return;
  Needs needs;
  json files = json::array();
  for (const ModelFile &file : model.files) {
    // Written while the compiler read it, perhaps: then nobody knows what it read.
    if (changedNs(file.path) > startedNs_)
      return;
    std::string relative = fs::path(file.path).lexically_proximate(folderOf(path)).string();
    needs.files.push_back({file.name, relative});
    files.push_back({file.name, relative});
  }
  auto parts = components(path, options, content_);
  std::string key = needsKey(parts);
  auto entryKey = modelKey(path, key, needs, options, nullptr);
  if (!entryKey.ok())
    return;
  json valueInputs = json::array();
  for (const auto &[name, value] : options.constantInputs)
    valueInputs.push_back(name);
  std::string description = json{{"files", files}, {"values", valueInputs}, {"inputs", result.inputNames}}.dump();
  Status status = cache_.store(kNeeds, key, std::as_bytes(std::span(description.data(), description.size())));
  if (status.ok())
    status = cache_.storeFile(kModel, *entryKey, [&](const std::string &file) -> Status {
      std::vector<ArtifactKernels> kernels;
      if (!model.kernelObjects.empty()) {
        GRAPHC_ASSIGN_OR_RETURN(std::vector<std::byte> linked, linkSharedObject(model.kernelObjects));
        kernels.push_back({*level, std::move(linked)});
      }
      ArtifactWriteOptions write;
      write.leaveOutPacked = true;
      for (const auto &weights : model.executable->plan().files) {
        bool outside = std::any_of(needs.files.begin(), needs.files.end(), [&](const ModelFile &known) { return known.name == weights->path; });
        write.outerFiles.push_back({outside ? weights->path : "", weights->bytes});
      }
      write.notes = parts;
      int number = 10'000; // their order is that of the names
      for (const auto *list : {&result.diagnostics, &model.remarks})
        for (const CompileDiagnostic &d : *list)
          if (d.severity == CompileDiagnostic::Warning && d.code != Code::CacheUnusable && d.code != Code::ArtifactCorrupt)
            write.notes.emplace(text("warning ", number++, " ", static_cast<int>(d.code)), d.message);
      return writeArtifact(file, *model.executable, kernels, *cpu::hostLevel(), write);
    });
  if (!status.ok())
    warn_("the compile cache keeps nothing new: " + status.message());
}

Result<std::string> ModelCache::explainMiss(const std::string &path, CompileOptions &options, const InputValues &values) {
  if (std::error_code ignored; !fs::exists(path, ignored))
    return error(Code::ModelUnreadable, "cannot read \"", path, "\": there is no such file");
  if (!serves(path, options)) {
    const char *kept = options.device != "cpu"                  ? "models for a device are not kept whole"
                       : fs::path(path).extension() != ".onnx" ? "only .onnx models are kept whole"
                                                                : "with options that look into the compiler nothing is kept whole";
    return text(kept, "; each kernel is");
  }
  GRAPHC_ASSIGN_OR_RETURN(auto found, find(path, options, values));
  if (found)
    return std::string();
  auto parts = components(path, options, content_);
  // The entry that is nearest: of this file, else of these contents, with the fewest differences.
  std::optional<std::vector<std::string>> nearest;
  for (const CompileCache::Entry &entry : cache_.list()) {
    if (entry.kind != kModel)
      continue;
    auto mapped = MappedFile::open(entry.path);
    if (!mapped.ok())
      continue;
    auto summary = summarizeArtifact((*mapped)->bytes());
    if (!summary.ok() || (summary->notes["path"] != parts["path"] && summary->notes["content"] != parts["content"]))
      continue;
    std::vector<std::string> differences;
    auto differs = [&](const char *name, auto describe) {
      if (std::string &before = summary->notes[name]; before != parts[name])
        differences.push_back(describe(before, parts[name]));
    };
    differs("content", [](auto &, auto &) { return std::string("the model's file has changed since"); });
    differs("shapes", [](auto &before, auto &now) { return text("it was compiled with ", before.empty() ? "the model's own sizes" : "--shape " + before, ", not with ",
                                                                now.empty() ? "the model's own sizes" : "--shape " + now); });
    differs("amp", [](auto &before, auto &now) { return text("it was compiled with ", before.empty() ? "no --amp" : "--amp " + before, ", not with ",
                                                             now.empty() ? "no --amp" : "--amp " + now); });
    differs("level", [](auto &before, auto &now) { return text("it was compiled for ", before, ", not for ", now); });
    differs("library", [](auto &before, auto &now) { return text("it was packed for ", before, ", here is ", now); });
    differs("build", [](auto &, auto &) { return std::string("another build of graphc compiled it"); });
    if (differences.empty())
      differences.push_back("an external data file or the value of an input that sizes depend on differs");
    if (!nearest || differences.size() < nearest->size())
      nearest = std::move(differences);
  }
  return nearest ? joined(*nearest, "; ") : std::string("no such model has been compiled yet");
}

} // namespace graphc
