// Datasets that lie in files.
#pragma once

#include "frontend/graphc/data.h"

namespace graphc::data {

/// Train and test images, u8 [28, 28], with i64 labels.
struct Mnist {
  Dataset train, test;
  std::string description; // which files, how they were split
};
/// Reads the IDX files of MNIST (or anything with their names) in `folder`, plain or gzip. With the full files, train and
/// test are as published. With the 10,000 test images alone, the first 9,000 train and the last 1,000 test. Without any, the
/// error says where to get them.
Mnist mnist(const std::string &folder);
/// Digits drawn by the library from strokes, each differently sheared, scaled and shifted; for machines without any data.
Mnist drawnDigits(int64_t trainCount = 9000, int64_t testCount = 1000, uint64_t seed = 1);

/// An IDX file, plain or gzip (found by its first bytes).
HostTensor readIdx(const std::string &path);
void writeIdx(const std::string &path, const HostTensor &tensor);

/// Decodes PNG or JPEG (found by the first bytes): u8 [height, width, channels]. `channels` 0 keeps what the file has (grey 1,
/// colour 3; transparency is blended over black), 1 and 3 convert.
HostTensor readImage(const std::string &path, int channels = 0);
HostTensor decodeImage(std::string_view bytes, const std::string &name, int channels = 0);
/// Writes u8 [h, w], [h, w, 1] or [h, w, 3].
void writePng(const std::string &path, const HostTensor &image);

struct ImageFolder {
  Dataset dataset;                  // image u8 [h, w, c], label i64
  std::vector<std::string> classes; // folders in order of their names; a label is a position in it
  std::vector<std::string> paths;   // of each sample
};
/// `folder/CLASS/….png|jpg|jpeg`, subfolders included, in the order of names. Images are decoded when asked for.
ImageFolder imageFolder(const std::string &folder, int channels = 3);

} // namespace graphc::data
