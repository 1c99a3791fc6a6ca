// Says what kind of file each argument is, with magika's network compiled by graphc.
//
//   file_type MODEL_FOLDER FILE…
//
// MODEL_FOLDER holds model.onnx and config.min.json as the Python package `magika` ships them (magika/models/NAME).
// The network reads 2048 tokens: 1024 from the file's beginning and 1024 from its end, each a byte or the padding token.
#include "frontend/compile/Compiler.h"
#include "runtime/exec/Executable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

/// The parts of magika's config that the token rule and the answer need.
struct Config {
  size_t beginSize, endSize, blockSize;
  int32_t paddingToken;
  std::vector<std::string> labels;
};

Config readConfig(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  nlohmann::json json = nlohmann::json::parse(file);
  return {json.at("beg_size"), json.at("end_size"), json.at("block_size"), json.at("padding_token"), json.at("target_labels_space")};
}

std::string readBlock(std::ifstream &file, std::streamoff begin, size_t size) {
  std::string block(size, '\0');
  file.clear();
  file.seekg(begin);
  file.read(block.data(), static_cast<std::streamsize>(size));
  block.resize(static_cast<size_t>(file.gcount()));
  return block;
}

constexpr const char *kWhiteSpace = " \t\n\r\v\f";

/// The first block without leading white space, its first `beginSize` bytes, padded on the right; then the last block
/// without trailing white space, its last `endSize` bytes, padded on the left.
std::vector<int32_t> tokensOf(const std::string &path, const Config &config) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    throw std::runtime_error("cannot open " + path);
  auto size = static_cast<size_t>(file.tellg());
  size_t block = std::min(size, config.blockSize);
  std::string begin = readBlock(file, 0, block);
  std::string end = readBlock(file, static_cast<std::streamoff>(size - block), block);
  begin.erase(0, std::min(begin.find_first_not_of(kWhiteSpace), begin.size()));
  end.erase(end.find_last_not_of(kWhiteSpace) + 1);

  std::vector<int32_t> tokens(config.beginSize + config.endSize, config.paddingToken);
  size_t fromBegin = std::min(begin.size(), config.beginSize), fromEnd = std::min(end.size(), config.endSize);
  auto byte = [](char c) { return static_cast<int32_t>(static_cast<unsigned char>(c)); };
  std::transform(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(fromBegin), tokens.begin(), byte);
  std::transform(end.end() - static_cast<std::ptrdiff_t>(fromEnd), end.end(), tokens.end() - static_cast<std::ptrdiff_t>(fromEnd), byte);
  return tokens;
}

void require(const graphc::Status &status) {
  if (!status.ok())
    throw std::runtime_error(status.str());
}

int classify(const std::string &folder, const std::vector<std::string> &files) {
  Config config = readConfig(folder + "/config.min.json");
  graphc::CompileResult compiled = graphc::compileFile(folder + "/model.onnx");
  require(compiled.status);
  const graphc::Executable &network = *compiled.model.executable;

  std::string summary;
  for (const std::string &path : files) {
    std::vector<int32_t> tokens = tokensOf(path, config);
    std::vector<graphc::HostTensor> inputs, outputs(1);
    inputs.push_back(graphc::HostTensor::borrow(graphc::DType::I32, {1, static_cast<int64_t>(tokens.size())}, tokens.data()));
    require(network.run(inputs, outputs));
    auto scores = outputs[0].values<float>();
    size_t best = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    std::string name = path.substr(path.find_last_of('/') + 1), label = config.labels.at(best);
    std::cout << name << ": " << label << " (" << std::fixed << std::setprecision(1) << scores[best] * 100 << " %)\n";
    summary += (summary.empty() ? "" : ", ") + name + " is " + label;
  }
  std::cout << "asked the network about " << files.size() << (files.size() == 1 ? " file: " : " files: ") << summary << "\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr << "usage: file_type MODEL_FOLDER FILE…\n";
    return 2;
  }
  try {
    return classify(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception &problem) {
    std::cerr << "file_type: " << problem.what() << "\n";
    return 1;
  }
}
