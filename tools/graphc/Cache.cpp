// graphc cache: what was compiled before and is kept on disk.
#include "frontend/compile/CompilerLibrary.h"
#include "frontend/compile/ModelCache.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/Text.h"
#include "runtime/cache/CompileCache.h"
#include "runtime/memory/MappedFile.h"
#include "tools/graphc/Model.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Tensors.h"
#include "tools/graphc/Verb.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>

namespace graphc::tool {
namespace {

struct Options {
  std::string what;
  ModelOptions model;
  InputOptions inputs;
};

/// Why a model would be compiled although there is a cache.
Result<int> why(Options &options, const std::string &folder) {
  if (options.model.model.empty())
    return error(Code::InvalidOption, "cache why: which MODEL?");
  GRAPHC_RETURN_IF_ERROR(options.model.check());
  GRAPHC_ASSIGN_OR_RETURN(ModelCache models, ModelCache::open(folder, compilerIdentity(), [](const std::string &line) { std::cerr << "graphc: warning: " << line << "\n"; }));
  CompileOptions compile = compileOptionsOf(options.model);
  GRAPHC_ASSIGN_OR_RETURN(std::string reason, models.explainMiss(options.model.model, compile, options.inputs.provider()));
  std::cout << options.model.model << ": " << (reason.empty() ? "found in the cache" : "not found: " + reason) << "\n";
  return kExitOk;
}

/// Which model an entry holds.
std::string nameOf(const CompileCache::Entry &entry) {
  auto mapped = entry.kind == "model" ? MappedFile::open(entry.path) : Result<std::shared_ptr<const MappedFile>>(Status(Code::CacheUnusable, "no model"));
  if (!mapped.ok())
    return "";
  auto summary = summarizeArtifact((*mapped)->bytes());
  return summary.ok() ? "  " + summary->notes["path"] : "  (damaged)";
}

Result<int> cache(Options &options) {
  std::string folder = options.model.cacheFolder();
  if (folder.empty())
    return error(Code::CacheUnusable, options.model.cache == "off" ? "--cache off: there is no cache to look at; name its folder with --cache DIR"
                                                                   : "neither XDG_CACHE_HOME nor HOME is set; name a folder with --cache DIR");
  if (options.what != "ls" && options.what != "clear" && options.what != "why")
    return error(Code::InvalidOption, "cache ", options.what, " is unknown; valid are ls, why and clear");
  std::error_code ignored;
  if (options.what != "why" && !std::filesystem::exists(folder, ignored)) {
    std::cout << folder << ": empty\n";
    return kExitOk;
  }
  if (options.what == "why")
    return why(options, folder);
  GRAPHC_ASSIGN_OR_RETURN(CompileCache entries, CompileCache::open({folder}));
  std::vector<CompileCache::Entry> list = entries.list();
  if (options.what == "clear") {
    GRAPHC_RETURN_IF_ERROR(entries.clear());
    std::cout << folder << ": " << list.size() << " entries removed\n";
    return kExitOk;
  }
  std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.lastUsed > b.lastUsed; });
  for (const CompileCache::Entry &entry : list) {
    std::time_t used = entry.lastUsed;
    std::tm local{};
    localtime_r(&used, &local);
    std::cout << std::put_time(&local, "%Y-%m-%d %H:%M  ") << std::setw(10) << entry.bytes << "  " << entry.kind << "  " << entry.key << nameOf(entry) << "\n";
  }
  std::cout << folder << ": " << list.size() << " entries, " << std::fixed << std::setprecision(1)
            << static_cast<double>(entries.totalBytes()) / (1 << 20) << " MiB\n";
  return kExitOk;
}

} // namespace

Action declareCache(CLI::App &app) {
  auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, "ls: list what is kept; why MODEL: why it would be compiled again; clear: remove everything")->required();
  options->model.declare(app);
  app.get_option("MODEL")->required(false);
  options->inputs.declare(app);
  return [options] { return cache(*options); };
}

} // namespace graphc::tool
