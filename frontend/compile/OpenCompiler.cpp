// Finds and loads the compiler's library. Linked into programs that must start without it.
#include "frontend/compile/CompilerLibrary.h"
#include "frontend/compile/Identity.h"

#include <dlfcn.h>
#include <filesystem>

namespace graphc {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLibrary = "libgraphc.so.0";

/// The runtime's library, or the program where it is linked in.
std::string runtimeFile() { return fileOfCode(reinterpret_cast<const void *>(&codeName)); }

/// Both libraries are installed side by side; empty when the compiler's is not there.
std::string libraryBesideRuntime() {
  std::error_code ignored;
  fs::path path = fs::path(runtimeFile()).parent_path() / kLibrary;
  return fs::exists(path, ignored) ? path.string() : "";
}

} // namespace

Result<const CompilerEntry *> openCompiler() {
  std::string path = libraryBesideRuntime();
  // By name, the loader also looks along the program's own search path.
  void *library = ::dlopen(path.empty() ? kLibrary : path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return error(Code::DeviceUnavailable, "the compiler cannot be loaded: ", ::dlerror(),
                 "; install libgraphc beside libgraphc_runtime, or run a .gcx, which needs none");
  using Door = const CompilerEntry *();
  auto *door = reinterpret_cast<Door *>(::dlsym(library, "graphc_compiler_entry"));
  if (!door || door()->layout != CompilerEntry::kLayout)
    return error(Code::DeviceUnavailable, "'", path.empty() ? kLibrary : path, "' belongs to another version of graphc; install both from one build");
  return door();
}

std::string compilerIdentity() {
  std::string compiler = libraryBesideRuntime();
  return text("graphc ", GRAPHC_VERSION, " ", elfIdentity(compiler.empty() ? runtimeFile() : compiler), " ", elfIdentity(runtimeFile()));
}

} // namespace graphc
