#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/SharedObject.h"
#include "runtime/artifact/ZipFile.h"
#include "runtime/devices/cpu/LibraryCall.h"
#include "runtime/memory/MappedFile.h"
#include "runtime/plan/PlanCheck.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc {

namespace {

using json = nlohmann::json;
constexpr int kFormatVersion = 1;

constexpr const char *kWeights = "weights.bin";

/// XXH3 of bytes that come in pieces.
class Hash {
public:
  Hash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Hash() { XXH3_freeState(state_); }
  Hash(const Hash &) = delete;
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_, bytes.data(), bytes.size()); }
  std::string text() const {
    char buffer[20];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state_)));
    return buffer;
  }

private:
  XXH3_state_t *state_;
};

/// `file`: whose pages are let go of as soon as they are hashed, so that checking an artifact costs no memory.
std::string hashText(std::span<const std::byte> bytes, const MappedFile *file = nullptr) {
  Hash hash;
  constexpr size_t kChunk = 4 << 20;
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    auto chunk = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
    hash.add(chunk);
    if (file)
      file->release(chunk);
  }
  return hash.text();
}

template <typename Container>
std::span<const std::byte> bytesOf(const Container &container) {
  return std::as_bytes(std::span(container.data(), container.size()));
}

/// Sections by name, each verified against the manifest.
struct Opened {
  json manifest;
  std::map<std::string, std::span<const std::byte>> sections;
};

Result<Opened> open(std::span<const std::byte> file, bool checkHashes, const MappedFile *mapped = nullptr) {
  GRAPHC_ASSIGN_OR_RETURN(auto entries, readZip(file));
  Opened opened;
  std::map<std::string, ZipEntry> byName;
  for (const ZipEntry &entry : entries)
    byName[entry.name] = entry;
  auto found = byName.find("manifest.json");
  if (found == byName.end())
    return error(Code::ArtifactCorrupt, "the file has no manifest.json; it is no .gcx");
  auto manifestBytes = file.subspan(found->second.offset, found->second.bytes);
  if (crc32(manifestBytes) != found->second.crc)
    return error(Code::ArtifactCorrupt, "section 'manifest.json' is damaged (checksum mismatch)");
  opened.manifest = json::parse(reinterpret_cast<const char *>(manifestBytes.data()),
                                reinterpret_cast<const char *>(manifestBytes.data()) + manifestBytes.size(), nullptr, false);
  if (opened.manifest.is_discarded() || !opened.manifest.is_object())
    return error(Code::ArtifactCorrupt, "section 'manifest.json' is no JSON object");
  int version = opened.manifest.value("format", 0);
  if (version != kFormatVersion)
    return error(Code::ArtifactVersion, "the artifact has format ", version, ", this runtime reads ", kFormatVersion,
                 "; compile the model again");
  for (const auto &section : opened.manifest.at("sections")) {
    std::string name = section.at("name");
    uint64_t bytes = section.at("bytes");
    auto entry = byName.find(name);
    if (entry == byName.end() || entry->second.bytes != bytes)
      return error(Code::ArtifactCorrupt, "section '", name, "' should have ", bytes, " bytes, but has ",
                   entry == byName.end() ? 0 : entry->second.bytes);
    auto data = file.subspan(entry->second.offset, bytes);
    if (checkHashes && hashText(data, mapped) != section.at("xxh3").get<std::string>())
      return error(Code::ArtifactCorrupt, "section '", name, "' is damaged (checksum mismatch); copy or compile the artifact again");
    opened.sections[name] = data;
  }
  for (const char *name : {"plan.bin", kWeights})
    if (!opened.sections.count(name))
      return error(Code::ArtifactCorrupt, "the artifact has no section '", name, "'");
  return opened;
}

/// nlohmann throws on missing or mistyped fields; one place turns that into a status.
template <typename Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const json::exception &failure) {
    return error(Code::ArtifactCorrupt, "section 'manifest.json' is damaged: ", failure.what());
  }
}

/// What goes into an artifact, gathered by the writers below.
struct Content {
  plan::PlanT &plan;
  const std::vector<ArtifactKernels> &kernels;
  std::vector<std::span<const std::byte>> weights; // each 64-byte aligned
  uint64_t weightBytes = 0;
  std::vector<PackedWeight> packed;
  std::string packedLevel;
  json absent = json::array();
  const std::map<std::string, std::string> &notes;

  /// Where `bytes` come to lie in weights.bin.
  std::unique_ptr<plan::WeightDataT> addWeight(std::span<const std::byte> bytes) {
    weightBytes = (weightBytes + 63) / 64 * 64;
    auto weight = std::make_unique<plan::WeightDataT>();
    weight->file = 0;
    weight->offset = weightBytes;
    weight->bytes = bytes.size();
    weights.push_back(bytes);
    weightBytes += bytes.size();
    return weight;
  }
};

Status writeSections(const std::string &path, Content &content);

/// Per buffer, whether a command of `main` names it or an alias of it. Constants that only `prepare` read (a weight in f32 of
/// which the calls use the bf16 form) have no place in an artifact.
std::vector<bool> namedByMain(const plan::PlanT &plan) {
  std::vector<bool> named(plan.buffers.size());
  plan::walkCommands(plan.main, [&](const plan::CommandT &command, int) {
    for (int buffer : plan::buffersOf(command))
      named[buffer] = named[plan::rootOf(plan, buffer)] = true;
  });
  return named;
}

} // namespace

Status writeDeviceArtifact(const std::string &path, const plan::PlanT &source, std::span<const WeightBytes> weightFiles,
                           const std::map<std::string, std::string> &notes) {
  if (source.target == plan::Target::Cpu)
    return error(Code::Internal, "the plan of '", source.model, "' is for the processor; its kernels are written with it");
  std::unique_ptr<plan::PlanT> plan(plan::GetPlan(plan::toBytes(source).data())->UnPack());
  Content content{*plan, {}, {}, 0, {}, "", json::array(), notes};
  for (auto &buffer : plan->buffers) {
    if (buffer->kind != plan::BufferKind::Weight || buffer->weight->file < 0)
      continue; // small constants stay in the plan
    const plan::WeightDataT &weight = *buffer->weight;
    if (static_cast<size_t>(weight.file) >= weightFiles.size() || weight.offset > weightFiles[weight.file].bytes.size() ||
        weight.bytes > weightFiles[weight.file].bytes.size() - weight.offset)
      return error(Code::WeightFile, "weight '", buffer->name, "' lies outside its file");
    buffer->weight = content.addWeight(weightFiles[weight.file].bytes.subspan(weight.offset, weight.bytes));
  }
  plan->files.clear();
  plan->files.push_back(std::make_unique<plan::WeightFileT>());
  plan->files[0]->path = kWeights;
  plan->files[0]->bytes = content.weightBytes;
  return writeSections(path, content);
}

Status writeArtifact(const std::string &path, const Executable &executable, const std::vector<ArtifactKernels> &kernels,
                     cpu::Level packedLevel, const ArtifactWriteOptions &options) {
  // Constants move into one file; what `prepare` computed is a constant now.
  auto plan = std::make_unique<plan::PlanT>(executable.plan());
  Content content{*plan, kernels, {}, 0, executable.packedWeights(), std::string(cpu::levelName(packedLevel)), json::array(), options.notes};
  std::vector<std::unique_ptr<plan::WeightFileT>> files(1);
  std::map<int, int> outerIndex; // old file index -> new
  // What is packed is told by its source's address, so only a constant that shares it with no other can be left out.
  std::vector<bool> named = namedByMain(*plan);
  plan->exprs.push_back(plan::Expr(plan::ExprOp::Const, 0, 0, 0));
  int zero = static_cast<int>(plan->exprs.size()) - 1;
  std::map<const std::byte *, int> sharing;
  for (size_t i = 0; i < plan->buffers.size(); ++i)
    ++sharing[executable.constant(static_cast<int>(i)).data()];
  for (size_t i = 0; i < plan->buffers.size(); ++i) {
    plan::BufferT &buffer = *plan->buffers[i];
    bool isPrepared = buffer.kind == plan::BufferKind::Prepared;
    auto rootKind = plan->buffers[plan::rootOf(*plan, static_cast<int>(i))]->kind;
    if (!named[i] && (rootKind == plan::BufferKind::Weight || rootKind == plan::BufferKind::Prepared)) {
      buffer.dims = {zero};
      buffer.alias_offset = -1;
      if (buffer.kind != plan::BufferKind::Alias) {
        buffer.kind = plan::BufferKind::Weight;
        buffer.weight = content.addWeight({});
      }
      continue;
    }
    if (buffer.kind != plan::BufferKind::Weight && !isPrepared)
      continue;
    if (!isPrepared && buffer.weight->file >= 0 && static_cast<size_t>(buffer.weight->file) < options.outerFiles.size() &&
        !options.outerFiles[buffer.weight->file].path.empty()) {
      const auto &outer = options.outerFiles[buffer.weight->file];
      auto [entry, isNew] = outerIndex.try_emplace(buffer.weight->file, static_cast<int>(files.size()));
      if (isNew) {
        auto file = std::make_unique<plan::WeightFileT>();
        file->path = outer.path;
        file->bytes = outer.bytes;
        files.push_back(std::move(file));
      }
      buffer.weight->file = entry->second;
      continue;
    }
    std::span<const std::byte> bytes = executable.constant(static_cast<int>(i));
    if (options.leaveOutPacked && !executable.readsConstant(static_cast<int>(i)) && (isPrepared || sharing[bytes.data()] == 1)) {
      buffer.kind = plan::BufferKind::Prepared;
      buffer.weight.reset();
      content.absent.push_back(i);
      continue;
    }
    if (isPrepared && bytes.empty() &&
        std::none_of(buffer.dims.begin(), buffer.dims.end(), [&](int dim) { return plan->exprs[dim].value() == 0; }))
      return error(Code::Internal, "prepared constant '", buffer.name, "' was released after packing; load with keepPrepared to write an artifact");
    buffer.kind = plan::BufferKind::Weight;
    buffer.weight = content.addWeight(bytes);
  }
  plan->prepare.clear();
  files[0] = std::make_unique<plan::WeightFileT>();
  files[0]->path = kWeights;
  files[0]->bytes = content.weightBytes;
  plan->files = std::move(files);
  return writeSections(path, content);
}

namespace {

Status writeSections(const std::string &path, Content &content) {
  const plan::PlanT *plan = &content.plan;
  const std::vector<ArtifactKernels> &kernels = content.kernels;
  const std::vector<PackedWeight> &packed = content.packed;
  std::vector<uint8_t> planBytes = plan::toBytes(*plan);
  std::string planText = plan::planText(*plan);
  std::vector<std::span<const std::byte>> packedPieces;
  json packedIndex = json::array();
  uint64_t packedAt = 0;
  for (const PackedWeight &weight : packed) {
    packedAt = (packedAt + 63) / 64 * 64;
    packedIndex.push_back(
        {{"buffer", weight.buffer}, {"from", weight.offset}, {"format", weight.format}, {"offset", packedAt}, {"bytes", weight.bytes.size()}});
    packedPieces.push_back(weight.bytes);
    packedAt += weight.bytes.size();
  }

  // Hashes of sections made of pieces, with the gaps that align them.
  auto hashPieces = [](const std::vector<std::span<const std::byte>> &list) {
    static const std::byte zeros[64] = {};
    Hash hash;
    uint64_t at = 0;
    for (const auto &piece : list) {
      uint64_t gap = (64 - at % 64) % 64;
      hash.add({zeros, gap});
      hash.add(piece);
      at += gap + piece.size();
    }
    return hash.text();
  };
  std::string packedName = "packed/" + content.packedLevel + ".bin";
  json manifest;
  manifest["format"] = kFormatVersion;
  manifest["producer"] = plan->producer;
  manifest["model"] = plan->model;
  json sections = json::array();
  auto describe = [&](const std::string &name, uint64_t bytes, std::string hash) {
    sections.push_back({{"name", name}, {"bytes", bytes}, {"xxh3", std::move(hash)}});
  };
  describe("plan.bin", planBytes.size(), hashText(bytesOf(planBytes)));
  describe("plan.txt", planText.size(), hashText(bytesOf(planText)));
  json levels = json::array();
  for (const ArtifactKernels &entry : kernels) {
    std::string level(cpu::levelName(entry.level));
    levels.push_back(level);
    describe("kernels/" + level + ".so", entry.sharedObject.size(), hashText(entry.sharedObject));
  }
  describe(kWeights, content.weightBytes, hashPieces(content.weights));
  if (!packed.empty()) {
    describe(packedName, packedAt, hashPieces(packedPieces));
    manifest["packed"] = {{"section", packedName}, {"entries", packedIndex}};
  }
  if (plan->target == plan::Target::Cuda) {
    std::set<std::string> architectures;
    for (const auto &module : plan->modules)
      for (const auto &image : module->images)
        architectures.insert(image->arch);
    manifest["architectures"] = architectures;
  }
  if (!content.absent.empty())
    manifest["absent"] = content.absent;
  if (!content.notes.empty())
    manifest["notes"] = content.notes;
  manifest["levels"] = levels;
  manifest["sections"] = sections;
  std::string manifestText = manifest.dump(1);

  GRAPHC_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::create(path));
  GRAPHC_RETURN_IF_ERROR(zip.add("manifest.json", bytesOf(manifestText)));
  GRAPHC_RETURN_IF_ERROR(zip.add("plan.bin", bytesOf(planBytes)));
  GRAPHC_RETURN_IF_ERROR(zip.add("plan.txt", bytesOf(planText)));
  for (const ArtifactKernels &entry : kernels)
    GRAPHC_RETURN_IF_ERROR(zip.add("kernels/" + std::string(cpu::levelName(entry.level)) + ".so", entry.sharedObject));
  GRAPHC_RETURN_IF_ERROR(zip.add(kWeights, content.weights, true));
  if (!packed.empty())
    GRAPHC_RETURN_IF_ERROR(zip.add(packedName, packedPieces, true));
  return zip.finish();
}

Result<std::shared_ptr<const Executable>> loadOpened(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                                     const MappedFile *mapped, const ArtifactOptions &options);
} // namespace

Result<std::shared_ptr<const Executable>> loadArtifact(const std::string &path, const ArtifactOptions &options) {
  auto mapped = MappedFile::open(path);
  if (!mapped.ok())
    return error(Code::ArtifactUnreadable, mapped.status().message());
  auto executable = loadOpened((*mapped)->bytes(), *mapped, mapped->get(), options);
  if (!executable.ok())
    return error(executable.status().code(), "'", path, "': ", executable.status().message());
  return executable;
}

Result<std::shared_ptr<const Executable>> loadArtifact(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                                       const ArtifactOptions &options) {
  return loadOpened(file, std::move(owner), nullptr, options);
}

namespace {

/// Bytes of every file of the plan: the artifact's own weights, then those that lie outside.
Result<std::vector<WeightBytes>> weightFilesOf(const plan::PlanT &plan, WeightBytes own, const std::map<std::string, WeightBytes> &outer) {
  std::vector<WeightBytes> files;
  for (const auto &file : plan.files) {
    if (file && file->path == kWeights) {
      files.push_back(own);
      continue;
    }
    auto found = outer.find(file ? file->path : "");
    if (found == outer.end())
      return error(Code::WeightFile, "the artifact leaves its weights in '", file ? file->path : "",
                   "' and is of use only to the compile cache; write one that stands alone with graphc compile");
    files.push_back(found->second);
  }
  return files;
}

Result<std::shared_ptr<const Executable>> loadOpened(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                                                     const MappedFile *mapped, const ArtifactOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<const Executable>> {
    GRAPHC_ASSIGN_OR_RETURN(Opened opened, open(file, true, mapped));
    auto planSection = opened.sections["plan.bin"];
    GRAPHC_ASSIGN_OR_RETURN(auto plan, plan::fromBytes({reinterpret_cast<const uint8_t *>(planSection.data()), planSection.size()}));

    LoadOptions load;
    load.pool = options.pool;
    load.log = options.log;
    load.serialCutoffNs = options.serialCutoffNs;
    load.libraryThreads = options.libraryThreads;
    GRAPHC_ASSIGN_OR_RETURN(load.weightFiles, weightFilesOf(*plan, {opened.sections[kWeights], owner}, options.outerFiles));
    load.keepAlive = owner;
    if (plan->target != plan::Target::Cpu || options.device) {
      load.device = options.device;
      load.record = options.record;
      return Executable::load(std::move(plan), std::move(load));
    }

    std::vector<std::string> levels = opened.manifest.at("levels");
    std::optional<cpu::Level> host = cpu::hostLevel(), chosen = chooseLevel(levels, options.level);
    if (!chosen && !plan->kernels.empty())
      return error(Code::ArtifactTarget, "the artifact has kernels for ", levels.empty() ? "no CPU level" : joined(levels), ", this machine is ",
                   host ? cpu::levelName(*host) : "below v3",
                   options.level ? text(" and ", cpu::levelName(*options.level), " was asked for") : std::string(),
                   "; compile with --targets that include it");

    if (opened.manifest.contains("absent"))
      load.absentConstants = opened.manifest["absent"].get<std::vector<int>>();
    if (!plan->kernels.empty()) {
      std::string section = "kernels/" + std::string(cpu::levelName(*chosen)) + ".so";
      if (!opened.sections.count(section))
        return error(Code::ArtifactCorrupt, "the artifact has no section '", section, "'");
      GRAPHC_ASSIGN_OR_RETURN(auto object, SharedObject::load(opened.sections[section], "graphc:" + plan->model));
      for (const auto &kernel : plan->kernels) {
        void *function = object->symbol(kernel->symbol);
        if (!function)
          return error(Code::KernelMissing, "section '", section, "' lacks the kernel '", kernel->symbol, "'");
        load.kernels.push_back(reinterpret_cast<GraphcKernelFn>(function));
      }
      load.keepAlive = object;
    }
    if (opened.manifest.contains("packed")) {
      const json &packed = opened.manifest["packed"];
      auto section = opened.sections.find(packed.at("section").get<std::string>());
      std::string version = cpu::libraryVersion();
      size_t foreign = 0;
      for (const json &entry : packed.at("entries")) {
        uint64_t offset = entry.at("offset"), bytes = entry.at("bytes");
        if (section == opened.sections.end() || offset > section->second.size() || bytes > section->second.size() - offset)
          return error(Code::ArtifactCorrupt, "a packed weight lies at [", offset, ", +", bytes, ") outside its section");
        std::string format = entry.at("format");
        foreign += format.compare(0, version.size(), version) != 0;
        load.packedWeights.push_back({entry.at("buffer"), entry.value("from", int64_t{0}), std::move(format), section->second.subspan(offset, bytes)});
      }
      if (foreign && options.log)
        options.log(LogLevel::Remark, text(foreign, " weights were packed for another machine or library and are packed again (here: ",
                                           version, ")"));
    }
    return Executable::load(std::move(plan), std::move(load));
  });
}

} // namespace

std::optional<cpu::Level> chooseLevel(const std::vector<std::string> &levels, std::optional<cpu::Level> asked) {
  std::optional<cpu::Level> host = cpu::hostLevel(), chosen;
  for (const std::string &name : levels)
    if (auto level = cpu::levelFromName(name); level && host && *level <= *host && (!asked || *level == *asked))
      if (!chosen || *level > *chosen)
        chosen = level;
  return chosen;
}

Result<ArtifactSummary> summarizeArtifact(std::span<const std::byte> file) {
  return guarded([&]() -> Result<ArtifactSummary> {
    GRAPHC_ASSIGN_OR_RETURN(Opened opened, open(file, false));
    ArtifactSummary summary;
    summary.producer = opened.manifest.value("producer", "");
    summary.model = opened.manifest.value("model", "");
    summary.levels = opened.manifest.at("levels").get<std::vector<std::string>>();
    for (const auto &section : opened.manifest.at("sections"))
      summary.sections.push_back({section.at("name"), section.at("bytes")});
    if (opened.manifest.contains("notes"))
      summary.notes = opened.manifest["notes"].get<std::map<std::string, std::string>>();
    return summary;
  });
}

} // namespace graphc
