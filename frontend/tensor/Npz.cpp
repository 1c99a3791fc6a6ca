// The few zip records that numpy.savez uses. The central directory is what counts (APPNOTE 4.3.6); local headers are
// visited only for their length. Sizes above 4 GiB come in zip64 extra fields, which numpy writes for every entry.
#include "frontend/tensor/Npz.h"

#include "frontend/tensor/Npy.h"
#include "frontend/tensor/ReadFile.h"

#include <array>
#include <cstring>
#include <limits>

namespace graphc {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kIn64 = 0xffffffff;

uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
      entries[i] = value;
    }
    return entries;
  }();
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes)
    crc = table[(crc ^ byte) & 0xff] ^ (crc >> 8);
  return ~crc;
}

/// Little-endian reads with a sticky failure instead of a check after each.
struct Reader {
  std::string_view bytes;
  size_t at = 0;
  bool good = true;

  uint64_t take(int size) {
    if (!good || bytes.size() < at || bytes.size() - at < static_cast<size_t>(size)) {
      good = false;
      return 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < size; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    at += size;
    return value;
  }
  std::string_view takeText(size_t size) {
    if (!good || bytes.size() < at || bytes.size() - at < size) {
      good = false;
      return {};
    }
    at += size;
    return bytes.substr(at - size, size);
  }
};

struct Entry {
  std::string name;
  uint64_t method = 0, crc = 0, stored = 0, size = 0, offset = 0;
};

void put(std::string &out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    out += static_cast<char>(value >> (8 * i));
}

Result<std::vector<Entry>> readDirectory(std::string_view bytes, const std::string &path) {
  auto malformed = [&](const char *what) { return error(Code::ModelMalformed, "'", path, "': ", what); };
  // The end record is 22 bytes and a comment of at most 65535.
  size_t end = std::string_view::npos;
  for (size_t back = 22; back <= bytes.size() && back <= 22 + 65535; ++back)
    if (std::memcmp(bytes.data() + bytes.size() - back, "PK\5\6", 4) == 0) {
      end = bytes.size() - back;
      break;
    }
  if (end == std::string_view::npos)
    return malformed("not a .npz file, or truncated (no end of a zip directory)");
  Reader tail{bytes, end + 10};
  uint64_t count = tail.take(2), directorySize = tail.take(4), directory = tail.take(4);
  (void)directorySize;
  if ((count == 0xffff || directory == kIn64) && end >= 20) {
    Reader locator{bytes, end - 20};
    if (locator.take(4) == kLocator64) {
      locator.take(4);
      Reader end64{bytes, static_cast<size_t>(locator.take(8))};
      if (end64.take(4) == kEnd64) {
        end64.at += 28;
        count = end64.take(8);
        end64.take(8);
        directory = end64.take(8);
        if (!end64.good)
          return malformed("truncated zip directory");
      }
    }
  }
  std::vector<Entry> entries;
  Reader reader{bytes, static_cast<size_t>(directory)};
  for (uint64_t i = 0; i < count; ++i) {
    if (reader.take(4) != kCentral)
      return malformed("broken zip directory");
    Entry entry;
    reader.take(6);
    entry.method = reader.take(2);
    reader.take(4);
    entry.crc = reader.take(4);
    entry.stored = reader.take(4);
    entry.size = reader.take(4);
    uint64_t nameSize = reader.take(2), extraSize = reader.take(2), commentSize = reader.take(2);
    reader.take(8);
    entry.offset = reader.take(4);
    entry.name = std::string(reader.takeText(nameSize));
    Reader extra{reader.takeText(extraSize)};
    reader.takeText(commentSize);
    while (extra.good && extra.at < extra.bytes.size()) {
      uint64_t id = extra.take(2);
      Reader field{extra.takeText(extra.take(2))};
      if (id != 1)
        continue;
      if (entry.size == kIn64)
        entry.size = field.take(8);
      if (entry.stored == kIn64)
        entry.stored = field.take(8);
      if (entry.offset == kIn64)
        entry.offset = field.take(8);
    }
    if (!reader.good)
      return malformed("truncated zip directory");
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace

Result<NamedTensors> readNpz(const std::string &path) {
  GRAPHC_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  GRAPHC_ASSIGN_OR_RETURN(std::vector<Entry> entries, readDirectory(bytes, path));
  NamedTensors tensors;
  for (Entry &entry : entries) {
    std::string where = text(path, ":", entry.name);
    if (entry.method != 0)
      return error(Code::ModelMalformed, "'", where, "': compressed; write the file with numpy.savez, not savez_compressed");
    Reader local{bytes, static_cast<size_t>(entry.offset)};
    if (local.take(4) != kLocal)
      return error(Code::ModelMalformed, "'", where, "': its zip header is not where the directory says");
    local.at += 22;
    uint64_t nameSize = local.take(2), extraSize = local.take(2);
    local.takeText(nameSize + extraSize);
    std::string_view data = local.takeText(entry.stored);
    if (!local.good)
      return error(Code::ModelMalformed, "'", where, "': truncated");
    if (crc32(data) != entry.crc)
      return error(Code::ModelMalformed, "'", where, "': checksum differs, the file is damaged");
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, decodeNpy(data, where));
    if (entry.name.ends_with(".npy"))
      entry.name.resize(entry.name.size() - 4);
    tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return tensors;
}

Status writeNpz(const std::string &path, const NamedTensors &tensors) {
  std::string out, directory;
  for (const auto &[name, tensor] : tensors) {
    std::string data = encodeNpy(tensor), file = name + ".npy";
    if (out.size() > std::numeric_limits<uint32_t>::max() - data.size() - 1024)
      return error(Code::FileSystem, "cannot write '", path, "': more than 4 GiB; write single .npy files");
    uint32_t crc = crc32(data), offset = static_cast<uint32_t>(out.size());
    std::string common; // what both headers say of the entry, from "version needed" on
    put(common, 20, 2), put(common, 0, 2), put(common, 0, 2);
    put(common, 0, 2), put(common, 0x21, 2); // midnight, 1 January 1980: the same input gives the same bytes
    put(common, crc, 4), put(common, data.size(), 4), put(common, data.size(), 4);
    put(common, file.size(), 2), put(common, 0, 2);
    put(out, kLocal, 4), out += common, out += file, out += data;
    put(directory, kCentral, 4), put(directory, 20, 2), directory += common;
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4), put(directory, offset, 4);
    directory += file;
  }
  size_t start = out.size();
  out += directory;
  put(out, kEnd, 4), put(out, 0, 2), put(out, 0, 2), put(out, tensors.size(), 2), put(out, tensors.size(), 2);
  put(out, directory.size(), 4), put(out, start, 4), put(out, 0, 2);
  return writeFileAtomically(path, out);
}

} // namespace graphc
