#include "frontend/compile/LinkObjects.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace graphc {
namespace {

namespace fs = std::filesystem;

/// A folder of our own, gone at the end.
struct ScratchFolder {
  fs::path path;
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "graphc-link-XXXXXX").string();
    if (char *made = ::mkdtemp(pattern.data()))
      path = made;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

/// Exit code, or -1 when there is no such program.
int runProgram(const char *program, const std::vector<std::string> &arguments) {
  std::vector<char *> argv = {const_cast<char *>(program)};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, program, nullptr, nullptr, argv.data(), environ) != 0)
    return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

} // namespace

Result<std::vector<std::byte>> linkSharedObject(const std::vector<std::string> &objects) {
  ScratchFolder scratch;
  if (scratch.path.empty())
    return error(Code::FileSystem, "no folder for linking can be made below '", fs::temp_directory_path().string(), "': ", std::strerror(errno));
  std::string output = (scratch.path / "kernels.so").string();
  // Names of files must not show in the result: the same kernels give the same bytes.
  std::vector<std::string> arguments = {"-shared", "--build-id=none", "-z", "noexecstack", "-soname", "graphc-kernels", "-o", output};
  for (size_t i = 0; i < objects.size(); ++i) {
    std::string file = (scratch.path / text("k", i, ".o")).string();
    std::ofstream out(file, std::ios::binary);
    out.write(objects[i].data(), static_cast<std::streamsize>(objects[i].size()));
    out.close();
    if (!out)
      return error(Code::FileSystem, "cannot write '", file, "'");
    arguments.push_back(file);
  }
  int code = -1;
  for (const char *linker : {"ld.lld-22", "ld.lld"})
    if (code = runProgram(linker, arguments); code != -1 && code != 127)
      break;
  if (code == -1 || code == 127)
    return error(Code::LibraryFailed, "linking an artifact's kernels needs the program ld.lld on PATH; install lld-22");
  if (code != 0)
    return error(Code::Internal, "ld.lld failed with exit code ", code, " while linking ", objects.size(), " kernels");
  std::ifstream in(output, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto *begin = reinterpret_cast<const std::byte *>(bytes.data());
  return std::vector<std::byte>(begin, begin + bytes.size());
}

} // namespace graphc
