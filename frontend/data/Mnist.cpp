#include "frontend/graphc/datasets.h"
#include "frontend/tensor/Raise.h"

#include <cstring>
#include <filesystem>

namespace graphc::data {
namespace {

namespace fs = std::filesystem;

/// The file under its plain or its gzipped name.
std::optional<std::string> found(const std::string &folder, const std::string &name) {
  for (const char *suffix : {"", ".gz"})
    if (fs::path path = fs::path(folder) / (name + suffix); fs::exists(path))
      return path.string();
  return std::nullopt;
}

struct Pair {
  std::string images, labels;
};
std::optional<Pair> foundPair(const std::string &folder, const std::string &prefix) {
  auto images = found(folder, prefix + "-images-idx3-ubyte"), labels = found(folder, prefix + "-labels-idx1-ubyte");
  if (images && labels)
    return Pair{*images, *labels};
  return std::nullopt;
}

Dataset load(const Pair &files) {
  HostTensor images = readIdx(files.images), bytes = readIdx(files.labels);
  if (images.dtype() != DType::U8 || images.shape().rank() != 3)
    raise(Code::ModelMalformed, "'", files.images, "': images must be u8[count, height, width], these are ", images.dtype(), images.shape());
  if (bytes.dtype() != DType::U8 || bytes.shape().rank() != 1 || bytes.shape()[0] != images.shape()[0])
    raise(Code::ModelMalformed, "'", files.labels, "': labels must be u8[", images.shape()[0], "], these are ", bytes.dtype(), bytes.shape());
  HostTensor labels = orRaise(HostTensor::allocate(DType::I64, bytes.shape()));
  std::copy_n(bytes.data<uint8_t>(), bytes.elements(), labels.data<int64_t>());
  std::vector<HostTensor> fields;
  fields.push_back(std::move(images));
  fields.push_back(std::move(labels));
  return fromTensors(std::move(fields));
}

// The 10,000 published test images serve both ends when they are all there is.
constexpr int64_t kTestOnlyTrain = 9000;

} // namespace

Mnist mnist(const std::string &folder) {
  auto train = foundPair(folder, "train"), test = foundPair(folder, "t10k");
  if (train && test) {
    Dataset trainSet = load(*train), testSet = load(*test);
    return {trainSet, testSet, text("MNIST from ", folder, ": ", trainSet.size(), " training and ", testSet.size(), " test images")};
  }
  if (test) {
    Dataset all = load(*test);
    int64_t split = all.size() * kTestOnlyTrain / 10000;
    return {all.subset(0, split), all.subset(split, all.size()),
            text("MNIST from ", folder, ": only the test file is there, its first ", split, " images train, its last ", all.size() - split, " test")};
  }
  raise(Code::ModelUnreadable, "no MNIST in '", folder,
        "': it needs train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz; "
        "they can be downloaded from https://ossci-datasets.s3.amazonaws.com/mnist/");
}

} // namespace graphc::data
