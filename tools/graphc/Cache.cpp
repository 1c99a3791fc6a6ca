// graphc cache: what was compiled before and is kept on disk.
#include "runtime/base/Text.h"
#include "runtime/cache/CompileCache.h"
#include "tools/graphc/Machine.h"
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
  std::string what, folder;
};

Result<int> cache(Options &options) {
  if (options.folder.empty())
    options.folder = cacheFolder();
  if (options.folder.empty())
    return error(Code::CacheUnusable, "neither XDG_CACHE_HOME nor HOME is set; name a folder with --cache DIR");
  if (options.what != "ls" && options.what != "clear")
    return error(Code::InvalidOption, "cache ", options.what, " is unknown; valid are ls and clear");
  std::error_code ignored;
  if (!std::filesystem::exists(options.folder, ignored)) {
    std::cout << options.folder << ": empty\n";
    return kExitOk;
  }
  GRAPHC_ASSIGN_OR_RETURN(CompileCache entries, CompileCache::open({options.folder}));
  std::vector<CompileCache::Entry> list = entries.list();
  if (options.what == "clear") {
    GRAPHC_RETURN_IF_ERROR(entries.clear());
    std::cout << options.folder << ": " << list.size() << " entries removed\n";
    return kExitOk;
  }
  std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.lastUsed > b.lastUsed; });
  for (const CompileCache::Entry &entry : list) {
    std::time_t used = entry.lastUsed;
    std::tm local{};
    localtime_r(&used, &local);
    std::cout << std::put_time(&local, "%Y-%m-%d %H:%M  ") << std::setw(10) << entry.bytes << "  " << entry.kind << "  " << entry.key << "\n";
  }
  std::cout << options.folder << ": " << list.size() << " entries, " << std::fixed << std::setprecision(1)
            << static_cast<double>(entries.totalBytes()) / (1 << 20) << " MiB\n";
  return kExitOk;
}

} // namespace

Action declareCache(CLI::App &app) {
  auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, "ls or clear")->required();
  app.add_option("--cache", options->folder, "the cache's folder (default: the user's)");
  return [options] { return cache(*options); };
}

} // namespace graphc::tool
