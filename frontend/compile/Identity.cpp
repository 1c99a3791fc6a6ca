#include "frontend/compile/Identity.h"

#include "runtime/base/Text.h"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>

namespace graphc {

std::string fileOfCode(const void *address) {
  Dl_info info;
  return ::dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string elfIdentity(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return "";
  std::ifstream file(path, std::ios::binary);
  auto read = [&](uint64_t at, void *to, size_t bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file.read(static_cast<char *>(to), static_cast<std::streamsize>(bytes)));
  };
  Elf64_Ehdr header;
  if (read(0, &header, sizeof header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64)
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!read(header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize, &segment, sizeof segment) || segment.p_type != PT_NOTE ||
          segment.p_filesz > 4096)
        continue;
      std::string notes(segment.p_filesz, '\0');
      if (!read(segment.p_offset, notes.data(), notes.size()))
        continue;
      for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes.data() + at, sizeof note);
        size_t name = at + sizeof note, content = name + (note.n_namesz + 3) / 4 * 4;
        size_t next = content + (static_cast<size_t>(note.n_descsz) + 3) / 4 * 4;
        if (content > notes.size() || next > notes.size())
          break;
        if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string_view("GNU", 4)) == 0) {
          std::string digits;
          for (char c : notes.substr(content, note.n_descsz))
            for (int half : {4, 0})
              digits += "0123456789abcdef"[(c >> half) & 15];
          return digits;
        }
        at = next;
      }
    }
  return text(info.st_size, "-", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

} // namespace graphc
