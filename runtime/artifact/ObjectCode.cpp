#include "runtime/artifact/ObjectCode.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace graphc {

namespace {

Status damaged(const char *what) { return error(Code::ArtifactCorrupt, "kernel object: ", what); }

/// Functions that compiled kernels may call.
const std::pair<const char *, void *> kLibrary[] = {
    {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
    {"memset", reinterpret_cast<void *>(&std::memset)},
    {"memmove", reinterpret_cast<void *>(&std::memmove)},
};

/// The tables of an object, each checked to lie inside its bytes.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes(bytes) {}

  template <typename T>
  bool read(uint64_t offset, T &value) const {
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return true;
  }
  bool inside(uint64_t offset, uint64_t size) const { return offset <= bytes.size() && size <= bytes.size() - offset; }
  /// A name of a string table, ended by a zero inside it.
  bool name(const Elf64_Shdr &table, uint32_t at, std::string &out) const {
    if (at >= table.sh_size)
      return false;
    const char *begin = reinterpret_cast<const char *>(bytes.data() + table.sh_offset) + at;
    size_t length = strnlen(begin, table.sh_size - at);
    out.assign(begin, length);
    return length < table.sh_size - at;
  }

  std::span<const std::byte> bytes;
};

constexpr uint64_t kThunkBytes = 16; // jmp *2(%rip); pad; address

} // namespace

Result<std::shared_ptr<const ObjectCode>> ObjectCode::load(std::span<const std::byte> object) {
  Reader file(object);
  Elf64_Ehdr header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_REL || header.e_machine != EM_X86_64 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > 4096)
    return damaged("the bytes are no x86-64 object");
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t s = 0; s < sections.size(); ++s)
    if (!file.read(header.e_shoff + s * sizeof(Elf64_Shdr), sections[s]) ||
        (sections[s].sh_type != SHT_NOBITS && !file.inside(sections[s].sh_offset, sections[s].sh_size)))
      return damaged("a section lies outside");

  // Where each loaded section goes; behind them one address and one jump for each symbol.
  std::vector<uint64_t> place(sections.size(), UINT64_MAX);
  uint64_t total = 0;
  const Elf64_Shdr *symbolTable = nullptr;
  for (size_t s = 0; s < sections.size(); ++s) {
    const Elf64_Shdr &section = sections[s];
    if (section.sh_type == SHT_SYMTAB)
      symbolTable = &section;
    if (!(section.sh_flags & SHF_ALLOC))
      continue;
    uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
    if (alignment > 4096 || (alignment & (alignment - 1)) || section.sh_size > (uint64_t{1} << 28))
      return damaged("a section has no sensible size or alignment");
    total = (total + alignment - 1) & ~(alignment - 1);
    place[s] = total;
    total += section.sh_size;
  }
  if (!symbolTable || symbolTable->sh_link >= sections.size() || symbolTable->sh_entsize != sizeof(Elf64_Sym))
    return damaged("there is no symbol table");
  size_t symbolCount = symbolTable->sh_size / sizeof(Elf64_Sym);
  const Elf64_Shdr &names = sections[symbolTable->sh_link];
  if (names.sh_type != SHT_STRTAB || symbolCount > 65536)
    return damaged("the symbol names are missing");
  uint64_t slots = (total + 15) & ~uint64_t{15}, thunks = slots + ((symbolCount * 8 + 15) & ~uint64_t{15});
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t bytes = (thunks + symbolCount * kThunkBytes + page - 1) & ~(page - 1);

  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error(Code::OutOfMemory, "kernel object: no memory for ", bytes, " bytes of code");
  std::shared_ptr<ObjectCode> code(new ObjectCode);
  code->memory_ = memory;
  code->bytes_ = bytes;
  auto *base = static_cast<std::byte *>(memory);
  for (size_t s = 0; s < sections.size(); ++s)
    if (place[s] != UINT64_MAX && sections[s].sh_type != SHT_NOBITS)
      std::memcpy(base + place[s], object.data() + sections[s].sh_offset, sections[s].sh_size);

  std::vector<uint64_t> addresses(symbolCount);
  for (size_t i = 1; i < symbolCount; ++i) {
    Elf64_Sym symbol;
    std::string name;
    if (!file.read(symbolTable->sh_offset + i * sizeof(Elf64_Sym), symbol))
      return damaged("the symbol table is cut short");
    if (!file.name(names, symbol.st_name, name))
      return damaged("a symbol has no name");
    if (symbol.st_shndx == SHN_UNDEF) {
      for (const auto &[known, address] : kLibrary)
        if (name == known)
          addresses[i] = reinterpret_cast<uint64_t>(address);
      if (!addresses[i] && !name.empty())
        return error(Code::KernelMissing, "kernel object: '", name, "' is not defined");
    } else if (symbol.st_shndx == SHN_ABS) {
      addresses[i] = symbol.st_value;
    } else if (symbol.st_shndx < sections.size() && place[symbol.st_shndx] != UINT64_MAX) {
      if (symbol.st_value > sections[symbol.st_shndx].sh_size)
        return damaged("a symbol lies outside its section");
      addresses[i] = reinterpret_cast<uint64_t>(base + place[symbol.st_shndx]) + symbol.st_value;
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
        code->symbols_[name] = reinterpret_cast<void *>(addresses[i]);
    }
    std::memcpy(base + slots + i * 8, &addresses[i], 8);
    const unsigned char jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90}; // jmp *(8 bytes from here)
    std::memcpy(base + thunks + i * kThunkBytes, jump, 8);
    std::memcpy(base + thunks + i * kThunkBytes + 8, &addresses[i], 8);
  }

  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type == SHT_REL && section.sh_info < sections.size() && place[section.sh_info] != UINT64_MAX)
      return damaged("relocations without addends");
    if (section.sh_type != SHT_RELA || section.sh_info >= sections.size() || place[section.sh_info] == UINT64_MAX)
      continue;
    const Elf64_Shdr &target = sections[section.sh_info];
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      if (!file.read(section.sh_offset + at, relocation))
        return damaged("the relocations are cut short");
      uint64_t index = ELF64_R_SYM(relocation.r_info), type = ELF64_R_TYPE(relocation.r_info);
      uint64_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
      if (index >= symbolCount || relocation.r_offset > target.sh_size || width > target.sh_size - relocation.r_offset)
        return damaged("a relocation lies outside its section");
      std::byte *where = base + place[section.sh_info] + relocation.r_offset;
      uint64_t here = reinterpret_cast<uint64_t>(where), symbol = addresses[index];
      if (type == R_X86_64_PLT32 && static_cast<int64_t>(symbol + static_cast<uint64_t>(relocation.r_addend) - here) !=
                                        static_cast<int32_t>(symbol + static_cast<uint64_t>(relocation.r_addend) - here))
        symbol = reinterpret_cast<uint64_t>(base + thunks + index * kThunkBytes);
      if (type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX)
        symbol = reinterpret_cast<uint64_t>(base + slots + index * 8);
      uint64_t value = symbol + static_cast<uint64_t>(relocation.r_addend);
      switch (type) {
      case R_X86_64_NONE:
        continue;
      case R_X86_64_64:
        break;
      case R_X86_64_PC64:
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        value -= here;
        break;
      default:
        return error(Code::ArtifactVersion, "kernel object: relocation type ", type, " is not known here");
      }
      if (width == 4 && static_cast<int64_t>(value) != static_cast<int32_t>(value))
        return damaged("a relocation does not reach");
      std::memcpy(where, &value, width);
    }
  }
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0)
    return error(Code::LibraryFailed, "kernel object: the system allows no executable memory");
  return std::shared_ptr<const ObjectCode>(std::move(code));
}

ObjectCode::~ObjectCode() {
  if (memory_)
    munmap(memory_, bytes_);
}

void *ObjectCode::symbol(const std::string &name) const {
  auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

} // namespace graphc
