// Fatbinaries: PTX inside is found, unpacked and run; machine code alone is refused by name. The images are put together
// by hand here, entry by entry; with a CUDA Toolkit at hand its own `fatbinary` makes one more of each kind.
#include "test/unit/cudasim/SimulatedDriver.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace graphc::cudasim::test {
namespace {

enum class Packing { None, Lz4, Zstd };

template <class T>
void put(std::string &into, size_t offset, T value) {
  std::memcpy(into.data() + offset, &value, sizeof value);
}

std::string packed(const std::string &text, Packing packing) {
  std::string out;
  if (packing == Packing::Lz4) { // the first half as literals, then a copy of a long run, then the rest
    size_t rest = text.size();
    auto length = [&](size_t n) {
      for (n -= 15; n >= 255; n -= 255)
        out += char(255);
      out += char(n);
    };
    // Literals; a copy of the 20 blanks that the text repeats (it ends with 41 of them); five literals.
    size_t literals = rest - 5 - 20;
    out += char(0xF0 | 0xF);
    length(literals);
    out += text.substr(0, literals);
    out += char(1); // one byte back, so the copy overlaps itself
    out += char(0);
    out += char(20 - 4 - 15);
    out += char(0x50);
    out += text.substr(rest - 5);
  } else if (packing == Packing::Zstd) { // one raw block
    out = std::string("\x28\xB5\x2F\xFD\xA0", 5) + std::string(4, 0) + std::string(3, 0) + text;
    put(out, 5, uint32_t(text.size()));
    uint32_t header = uint32_t(text.size()) << 3 | 1;
    std::memcpy(out.data() + 9, &header, 3);
  } else {
    out = text;
  }
  return out;
}

std::string entry(uint16_t kind, uint32_t target, const std::string &text, Packing packing) {
  std::string data = packed(text, packing), header(80, 0);
  size_t size = data.size();
  data.resize((data.size() + 7) / 8 * 8);
  put(header, 0, kind);
  put(header, 2, uint16_t(0x101));
  put(header, 4, uint32_t(header.size()));
  put(header, 8, uint64_t(data.size()));
  put(header, 16, uint32_t(packing == Packing::None ? 0 : size));
  put(header, 28, target);
  put(header, 40, uint64_t(packing == Packing::Lz4 ? 0x2011 : packing == Packing::Zstd ? 0x8011 : 0x11));
  put(header, 56, uint64_t(packing == Packing::None ? 0 : text.size()));
  return header + data;
}

std::string fatbin(const std::string &entries) {
  std::string header(16, 0);
  put(header, 0, uint32_t(0xBA55ED50));
  put(header, 4, uint16_t(1));
  put(header, 6, uint16_t(16));
  put(header, 8, uint64_t(entries.size()));
  return header + entries;
}

class Images : public Simulator {
protected:
  void expectRuns(const void *image) {
    CUmodule loaded = nullptr;
    OK(CU(cuModuleLoadFatBinary)(&loaded, image)) << allReports();
    CUfunction fill = nullptr;
    OK(CU(cuModuleGetFunction)(&fill, loaded, "fill"));
    CUdeviceptr data = alloc(64);
    int n = 64, value = 21;
    void *params[] = {&data, &n, &value};
    OK(CU(cuLaunchKernel)(fill, 1, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
    EXPECT_EQ(read(data, 64), std::vector<int>(64, 21));
  }
  std::string ptx = kernelsPtx + std::string(41, ' ');
};

TEST_F(Images, PtxInsideIsUnpacked) {
  for (Packing packing : {Packing::None, Packing::Lz4, Packing::Zstd}) {
    SCOPED_TRACE(int(packing));
    expectRuns(fatbin(entry(2, 80, "machine code", Packing::None) + entry(1, 80, ptx, packing)).data());
  }
}

TEST_F(Images, TheNewestTargetThatFitsIsTaken) {
  std::string newer = ptx;
  newer.replace(newer.find("sm_80"), 5, "sm_90");
  expectRuns(fatbin(entry(1, 90, newer, Packing::None) + entry(1, 80, ptx, Packing::None) + entry(1, 75, "not PTX", Packing::None)).data());
}

TEST_F(Images, WrappersAndLibraries) {
  std::string image = fatbin(entry(1, 80, ptx, Packing::Lz4));
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void *data;
    void *file = nullptr;
  } wrapper;
  wrapper.data = image.data();
  expectRuns(&wrapper);
  CUlibrary library = nullptr;
  OK(CU(cuLibraryLoadData)(&library, &wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  OK(CU(cuLibraryGetKernelCount)(&count, library));
  EXPECT_EQ(count, 6u);
}

TEST_F(Images, MachineCodeAloneIsRefusedByName) {
  CUmodule loaded = nullptr;
  CUlibrary library = nullptr;
  std::string image = fatbin(entry(2, 80, "machine code", Packing::None) + entry(1, 100, ptx, Packing::None));
  EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, CU(cuModuleLoadData)(&loaded, image.data()));
  EXPECT_NE(allReports().find("machine code for sm_80, PTX for sm_100"), std::string::npos) << allReports();
  EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, CU(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  std::string damaged = fatbin(entry(1, 80, ptx, Packing::Lz4));
  for (size_t i = 100; i < damaged.size(); ++i)
    damaged[i] = char(i * 7);
  EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, CU(cuModuleLoadData)(&loaded, damaged.data()));
  EXPECT_NE(allReports().find("damaged"), std::string::npos) << allReports();
}

TEST_F(Images, WhatTheToolkitWrites) {
  std::string tool = GRAPHC_CUDA_TOOLKIT "/bin/fatbinary";
  if (!std::filesystem::exists(tool))
    GTEST_SKIP() << "the CUDA Toolkit's fatbinary is not installed";
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "graphc-fatbin";
  std::filesystem::create_directories(folder);
  std::string source = (folder / "kernels.ptx").string(), target = (folder / "kernels.fatbin").string();
  std::ofstream(source) << ptx;
  for (const char *mode : {"none", "speed", "default", "size"}) {
    SCOPED_TRACE(mode);
    std::string command = tool + " -64 --create=" + target + " --compress-mode=" + mode + " --image3=kind=ptx,sm=80,file=" + source;
    if (std::system((command + " >/dev/null 2>&1").c_str()) != 0)
      continue; // a toolkit without that mode
    std::ifstream file(target, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    expectRuns(bytes.str().data());
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace graphc::cudasim::test
