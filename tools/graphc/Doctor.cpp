// graphc doctor: everything that graphc may need here, its version, and what to install when it is missing.
#include "tools/graphc/Machine.h"
#include "tools/graphc/Verb.h"

#include "runtime/base/Text.h"

#include <dlfcn.h>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <unistd.h>

namespace graphc::tool {
namespace {

enum class Mark { Fine, Absent, Wrong };

void line(Mark mark, std::string_view what, std::string_view said) {
  constexpr const char *kMarks[] = {"ok      ", "absent  ", "problem "};
  std::cout << kMarks[static_cast<int>(mark)] << what << std::string(what.size() < 14 ? 14 - what.size() : 1, ' ') << said << "\n";
}

bool checkCpu() {
  CpuInfo cpu = queryCpu();
  if (cpu.level.empty()) {
    line(Mark::Wrong, "cpu", text(cpu.name, ": graphc needs AVX2, FMA, F16C and BMI2, which this processor lacks"));
    return false;
  }
  line(Mark::Fine, "cpu", text(cpu.name, ", ", cpu.cores, " usable cores, ", cpu.memoryBytes >> 20, " MiB of memory"));
  line(Mark::Fine, "cpu level", text(cpu.level, " (", joined(cpu.features, " "), ")"));
  return true;
}

/// oneDNN is linked, not looked up: its own word for its version.
bool checkDnnl() {
  struct Version {
    int major, minor, patch;
  };
  if (auto *version = reinterpret_cast<const Version *(*)()>(dlsym(RTLD_DEFAULT, "dnnl_version"))) {
    line(Mark::Fine, "oneDNN", text(version()->major, ".", version()->minor, ".", version()->patch));
    return true;
  }
  void *library = dlopen("libdnnl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (auto *version = library ? reinterpret_cast<const Version *(*)()>(dlsym(library, "dnnl_version")) : nullptr) {
    line(Mark::Fine, "oneDNN", text(version()->major, ".", version()->minor, ".", version()->patch));
    return true;
  }
  line(Mark::Wrong, "oneDNN", "libdnnl.so.2 was not found; install libdnnl2");
  return false;
}

bool checkCache() {
  namespace fs = std::filesystem;
  std::string folder = cacheFolder();
  if (folder.empty()) {
    line(Mark::Wrong, "cache folder", "neither XDG_CACHE_HOME nor HOME is set; name a folder with --cache DIR");
    return false;
  }
  // It is made on first use: what must be writable is the nearest folder that exists.
  fs::path existing = folder;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!fs::is_directory(existing, ignored) || access(existing.c_str(), W_OK) != 0) {
    line(Mark::Wrong, "cache folder", text(folder, " cannot be written; name another with --cache DIR"));
    return false;
  }
  line(Mark::Fine, "cache folder", folder);
  return true;
}

void checkCuda() {
  CudaDriver driver = queryCudaDriver();
  auto say = [](const LibraryInfo &library) {
    if (library.reason.empty())
      line(Mark::Fine, library.name, text(library.version, " (", library.file, ")"));
    else
      line(Mark::Absent, library.name, text(library.reason, "; ", library.remedy));
  };
  say(driver.library);
  for (const LibraryInfo &library : queryCudaLibraries())
    say(library);
}

Result<int> doctor() {
  std::cout << "graphc " << GRAPHC_VERSION << "\n";
  bool fine = checkCpu();
  fine &= checkDnnl();
  fine &= checkCache();
  checkCuda();
  std::cout << (fine ? "graphc can run models on cpu here" : "graphc cannot run models here; see the problems above") << "\n";
  return fine ? kExitOk : kExitDevice;
}

} // namespace

Action declareDoctor(CLI::App &) { return doctor; }

} // namespace graphc::tool
