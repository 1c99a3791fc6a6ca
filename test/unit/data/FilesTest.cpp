// IDX, MNIST, drawn digits, PNG, JPEG and folders of images.
#include "frontend/graphc/datasets.h"
#include "frontend/tensor/ReadFile.h"
#include "test/unit/data/Expect.h"

#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <jpeglib.h>

using namespace graphc;
using namespace graphc::data;
using testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

fs::path freshFolder(const std::string &name) {
  fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

void writeBytes(const fs::path &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void gzipFile(const fs::path &from, const fs::path &to) {
  std::string bytes = *readFile(from.string());
  gzFile file = gzopen(to.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

TEST(Idx, EveryTypeComesBackPlainAndGzipped) {
  fs::path folder = freshFolder("idx");
  std::vector<HostTensor> tensors;
  tensors.push_back(HostTensor::of<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 255}));
  tensors.push_back(HostTensor::of<int8_t>({2}, {-1, 5}));
  tensors.push_back(HostTensor::of<int16_t>({2}, {-300, 5}));
  tensors.push_back(HostTensor::of<int32_t>({1, 1, 2}, {-70000, 5}));
  tensors.push_back(HostTensor::of<float>({2}, {1.5f, -2}));
  tensors.push_back(HostTensor::of<double>({2}, {1.25, 1e300}));
  for (const HostTensor &tensor : tensors) {
    writeIdx(folder / "a", tensor);
    gzipFile(folder / "a", folder / "a.gz");
    for (const char *name : {"a", "a.gz"}) {
      HostTensor back = readIdx(folder / name);
      EXPECT_EQ(back.dtype(), tensor.dtype());
      EXPECT_EQ(back.shape(), tensor.shape());
      EXPECT_EQ(std::memcmp(back.raw(), tensor.raw(), tensor.sizeBytes()), 0);
    }
  }
  // Big-endian, as published: 00 00 0B 01, one size, one i16.
  writeBytes(folder / "b", std::string("\0\0\x0b\x01\0\0\0\x01\x01\x02", 10));
  EXPECT_EQ(readIdx(folder / "b").values<int16_t>()[0], 0x0102);
}

TEST(Idx, RefusesWhatIsNotWhole) {
  fs::path folder = freshFolder("idx-bad");
  auto refuses = [&](const std::string &bytes, const std::string &what) {
    writeBytes(folder / "x", bytes);
    EXPECT_ERROR(readIdx(folder / "x"), Code::ModelMalformed, HasSubstr(what));
  };
  refuses("hello", "not an IDX file (it must begin with two zero bytes)");
  refuses(std::string("\0\0\x07\x01", 4), "IDX type 7 is unknown");
  refuses(std::string("\0\0\x08\x02\0\0\0\1", 8), "truncated in the header");
  refuses(std::string("\0\0\x08\x01\0\0\0\3\1\2", 10), "shape [3] of u8 does not fit its 2 bytes of data");
  refuses(std::string("\0\0\x08\x01\0\0\0\1\1\2", 10), "shape [1] of u8 does not fit its 2 bytes of data");
  writeIdx(folder / "y", HostTensor::of<uint8_t>({3}, {1, 2, 3}));
  gzipFile(folder / "y", folder / "y.gz");
  refuses(readFile((folder / "y.gz").string())->substr(0, 20), "not a whole gzip file (truncated)");
  EXPECT_ERROR(writeIdx(folder / "z", HostTensor::of<int64_t>({1}, {1})), Code::TypeMismatch, HasSubstr("IDX has no i64"));
}

void writeMnist(const fs::path &folder, const std::string &prefix, int64_t count) {
  HostTensor images = *HostTensor::allocate(DType::U8, {count, 28, 28}), labels = *HostTensor::allocate(DType::U8, {count});
  std::iota(labels.data<uint8_t>(), labels.data<uint8_t>() + count, 0);
  for (int64_t k = 0; k < count; ++k)
    std::memset(images.data<uint8_t>() + k * 784, static_cast<int>(k), 784);
  writeIdx(folder / (prefix + "-images-idx3-ubyte"), images);
  writeIdx(folder / (prefix + "-labels-idx1-ubyte"), labels);
}

TEST(Mnist, FullFilesTestFileAloneAndNothing) {
  fs::path folder = freshFolder("mnist");
  EXPECT_ERROR(mnist(folder), Code::ModelUnreadable,
               text("no MNIST in '", folder.string(),
                    "': it needs train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz; "
                    "they can be downloaded from https://ossci-datasets.s3.amazonaws.com/mnist/"));
  writeMnist(folder, "t10k", 20);
  Mnist split = mnist(folder);
  EXPECT_EQ(split.train.size(), 18);
  EXPECT_EQ(split.test.size(), 2);
  EXPECT_EQ(split.test.get(1).fields[1].values<int64_t>()[0], 19);
  EXPECT_THAT(split.description, HasSubstr("only the test file is there"));
  writeMnist(folder, "train", 30);
  Mnist full = mnist(folder);
  EXPECT_EQ(full.train.size(), 30);
  EXPECT_EQ(full.test.size(), 20);
  Sample sample = full.train.get(29);
  EXPECT_EQ(sample.fields[0].shape(), (Shape{28, 28}));
  EXPECT_EQ(sample.fields[0].values<uint8_t>()[783], 29);
  EXPECT_EQ(sample.fields[1].values<int64_t>()[0], 29);
  writeIdx(folder / "train-labels-idx1-ubyte", HostTensor::of<uint8_t>({2}, {1, 2}));
  EXPECT_ERROR(mnist(folder), Code::ModelMalformed, HasSubstr("labels must be u8[30], these are u8[2]"));
}

TEST(Mnist, RealFiles) {
  std::string folder = std::string(GRAPHC_SHARED_DIR) + "/data/mnist";
  if (std::string(GRAPHC_SHARED_DIR).empty() || !fs::exists(folder))
    GTEST_SKIP() << "no data/mnist in GRAPHC_SHARED_DIR";
  Mnist real = mnist(folder);
  EXPECT_EQ(real.train.size(), 9000);
  EXPECT_EQ(real.test.size(), 1000);
  EXPECT_EQ(real.train.get(0).fields[1].values<int64_t>()[0], 7); // the first published test digit
  std::vector<int> counts(10);
  double sum = 0;
  for (int64_t k = 0; k < 9000; ++k) {
    Sample sample = real.train.get(k);
    ++counts[sample.fields[1].values<int64_t>()[0]];
    for (uint8_t pixel : sample.fields[0].values<uint8_t>())
      sum += pixel;
  }
  EXPECT_NEAR(sum / (9000. * 784 * 255), .1325, .003);
  for (int count : counts)
    EXPECT_GT(count, 700);
}

TEST(DrawnDigits, AreSeededAndEachDigitHasItsShape) {
  Mnist drawn = drawnDigits(400, 100, 3), same = drawnDigits(400, 100, 3), other = drawnDigits(400, 100, 4);
  EXPECT_THAT(drawn.description, HasSubstr("synthetic"));
  Sample a = drawn.train.get(5), b = same.train.get(5);
  EXPECT_EQ(std::memcmp(a.fields[0].raw(), b.fields[0].raw(), 784), 0);
  // Nearest class mean: digits that look alike within a class and unlike between classes are told apart well above chance.
  std::vector<std::vector<double>> means(10, std::vector<double>(784));
  std::vector<int> counts(10);
  for (int64_t k = 0; k < 400; ++k) {
    Sample sample = drawn.train.get(k);
    int64_t label = sample.fields[1].values<int64_t>()[0];
    ++counts[label];
    for (int p = 0; p < 784; ++p)
      means[label][p] += sample.fields[0].values<uint8_t>()[p];
  }
  int right = 0;
  for (int64_t k = 0; k < 100; ++k) {
    Sample sample = drawn.test.get(k);
    int best = 0;
    double nearest = 1e300;
    for (int digit = 0; digit < 10; ++digit) {
      ASSERT_GT(counts[digit], 15);
      double distance = 0;
      for (int p = 0; p < 784; ++p)
        distance += std::pow(means[digit][p] / counts[digit] - sample.fields[0].values<uint8_t>()[p], 2);
      if (distance < nearest)
        nearest = distance, best = digit;
    }
    right += best == sample.fields[1].values<int64_t>()[0];
  }
  EXPECT_GT(right, 60);
  EXPECT_LT(right, 100) << "trivial digits teach nothing";
  Sample first = other.train.get(5);
  EXPECT_NE(std::memcmp(a.fields[0].raw(), first.fields[0].raw(), 784), 0);
}

std::string jpegOf(const HostTensor &image, int quality) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  info.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  info.input_components = static_cast<int>(image.shape()[2]);
  info.in_color_space = info.input_components == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto *row = const_cast<unsigned char *>(image.data<unsigned char>()) + info.next_scanline * info.image_width * info.input_components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char *>(buffer), size);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  return bytes;
}

HostTensor gradient(int64_t height, int64_t width, int64_t channels) {
  HostTensor image = *HostTensor::allocate(DType::U8, {height, width, channels});
  for (int64_t k = 0; k < image.elements(); ++k)
    image.data<uint8_t>()[k] = static_cast<uint8_t>((k / channels % width) * 4 + (k % channels) * 40 + k / channels / width);
  return image;
}

TEST(Images, PngIsExactAndJpegIsClose) {
  fs::path folder = freshFolder("images");
  for (int64_t channels : {1, 3}) {
    HostTensor image = gradient(17, 23, channels);
    writePng(folder / "a.png", image);
    HostTensor back = readImage(folder / "a.png");
    EXPECT_EQ(back.shape(), image.shape());
    EXPECT_EQ(std::memcmp(back.raw(), image.raw(), image.sizeBytes()), 0);
    HostTensor jpeg = decodeImage(jpegOf(image, 95), "memory");
    ASSERT_EQ(jpeg.shape(), image.shape());
    for (int64_t k = 0; k < image.elements(); ++k)
      ASSERT_NEAR(jpeg.values<uint8_t>()[k], image.values<uint8_t>()[k], 24);
    EXPECT_EQ(readImage(folder / "a.png", 3).shape(), (Shape{17, 23, 3}));
    EXPECT_EQ(decodeImage(jpegOf(image, 90), "memory", 1).shape(), (Shape{17, 23, 1}));
    EXPECT_EQ(decodeImage(jpegOf(image, 90), "memory", 3).shape(), (Shape{17, 23, 3}));
  }
}

TEST(Images, BadFilesAreNamed) {
  fs::path folder = freshFolder("images-bad");
  HostTensor image = gradient(32, 32, 3);
  writePng(folder / "a.png", image);
  std::string png = *readFile((folder / "a.png").string()), jpeg = jpegOf(image, 80);
  EXPECT_ERROR(decodeImage("BM6", "x.bmp"), Code::ModelMalformed, "'x.bmp': neither a PNG nor a JPEG (by its first bytes)");
  EXPECT_ERROR(decodeImage(png, "x", 2), Code::InvalidOption, HasSubstr("channels must be 0 (as in the file), 1 or 3, not 2"));
  for (size_t length = 8; length + 12 < png.size(); length += 37) // the end chunk itself carries nothing
    EXPECT_ERROR(decodeImage(png.substr(0, length), "cut.png"), Code::ModelMalformed, HasSubstr("'cut.png': not a readable PNG: "));
  for (size_t length = 3; length + 2 < jpeg.size(); length += 41)
    EXPECT_ERROR(decodeImage(jpeg.substr(0, length), "cut.jpg"), Code::ModelMalformed, HasSubstr("'cut.jpg': not a readable JPEG: "));
  EXPECT_ERROR(readImage(folder / "none.png"), Code::ModelUnreadable, HasSubstr("cannot open"));
  EXPECT_ERROR(writePng(folder / "b.png", HostTensor::of<float>({1, 1}, {1})), Code::ShapeMismatch, HasSubstr("not f32[1, 1]"));
}

TEST(ImageFolder, ClassesInOrderOfTheirNames) {
  fs::path folder = freshFolder("folder");
  EXPECT_ERROR(imageFolder(folder), Code::ModelUnreadable, HasSubstr("has no folders; each class needs one of its own"));
  fs::create_directories(folder / "dog" / "big");
  fs::create_directories(folder / "cat");
  writePng(folder / "dog" / "2.png", gradient(4, 5, 3));
  writePng(folder / "dog" / "big" / "1.PNG", gradient(4, 5, 3));
  EXPECT_ERROR(imageFolder(folder), Code::ModelUnreadable, HasSubstr("class 'cat'"));
  writeBytes(folder / "cat" / "notes.txt", "no image");
  writeBytes(folder / "cat" / "c.jpeg", jpegOf(gradient(6, 6, 1), 90));
  ImageFolder images = imageFolder(folder);
  EXPECT_THAT(images.classes, testing::ElementsAre("cat", "dog"));
  ASSERT_EQ(images.dataset.size(), 3);
  EXPECT_THAT(images.paths[0], testing::EndsWith("cat/c.jpeg"));
  EXPECT_THAT(images.paths[1], testing::EndsWith("dog/2.png"));
  EXPECT_EQ(images.dataset.get(0).fields[0].shape(), (Shape{6, 6, 3}));
  EXPECT_EQ(images.dataset.get(2).fields[1].values<int64_t>()[0], 1);
  writeBytes(folder / "dog" / "2.png", "rubbish");
  DataLoader loader(images.dataset, {.workers = 1});
  loader.start();
  loader.next();
  EXPECT_ERROR(loader.next(), Code::ModelMalformed, testing::AllOf(HasSubstr("data loader: sample 1 (batch 1): "), HasSubstr("2.png': neither a PNG nor a JPEG")));
}

} // namespace
