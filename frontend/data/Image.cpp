// PNG through libpng's simplified interface, JPEG through libjpeg(-turbo). Neither library throws: libpng's simplified calls
// return a code, libjpeg's error exit jumps back here.
#include "frontend/graphc/datasets.h"
#include "frontend/tensor/AtomicFile.h"
#include "frontend/tensor/Raise.h"
#include "frontend/tensor/ReadFile.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h> // needs FILE, and says so in no header of its own

namespace graphc::data {
namespace {

HostTensor decodePng(std::string_view bytes, const std::string &name, int channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  auto bad = [&](const std::string &reason) {
    png_image_free(&image);
    raise(Code::ModelMalformed, "'", name, "': not a readable PNG: ", reason);
  };
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()))
    bad(image.message);
  bool colour = channels ? channels == 3 : (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Shape shape{image.height, image.width, colour ? 3 : 1};
  auto tensor = HostTensor::allocate(DType::U8, shape);
  if (!tensor.ok())
    bad(tensor.status().message());
  png_color black{};
  if (!png_image_finish_read(&image, &black, tensor->raw(), 0, nullptr))
    bad(image.message);
  return *std::move(tensor);
}

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr info) {
  auto *errors = static_cast<JpegErrors *>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}

void keepWarning(j_common_ptr info, int level) {
  // A cut-off file is only a warning to libjpeg, which fills the rest with grey. To a dataset it is an error.
  if (level < 0)
    leave(info);
}

/// Plain C on purpose: no object with a destructor lives in a frame that the jump leaves.
bool readHeader(jpeg_decompress_struct *info, JpegErrors *errors, std::string_view bytes, int channels) {
  if (setjmp(errors->back))
    return false;
  jpeg_mem_src(info, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  jpeg_read_header(info, TRUE);
  bool colour = channels ? channels == 3 : info->num_components > 1;
  info->out_color_space = colour ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_start_decompress(info);
  return true;
}

bool readRows(jpeg_decompress_struct *info, JpegErrors *errors, unsigned char *out) {
  if (setjmp(errors->back))
    return false;
  size_t stride = static_cast<size_t>(info->output_width) * info->output_components;
  while (info->output_scanline < info->output_height) {
    unsigned char *row = out + info->output_scanline * stride;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

HostTensor decodeJpeg(std::string_view bytes, const std::string &name, int channels) {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = leave;
  errors.emit_message = keepWarning;
  jpeg_create_decompress(&info);
  auto bad = [&](const std::string &reason) {
    jpeg_destroy_decompress(&info);
    raise(Code::ModelMalformed, "'", name, "': not a readable JPEG: ", reason);
  };
  if (!readHeader(&info, &errors, bytes, channels))
    bad(errors.message);
  auto tensor = HostTensor::allocate(DType::U8, {info.output_height, info.output_width, info.output_components});
  if (!tensor.ok())
    bad(tensor.status().message());
  if (!readRows(&info, &errors, tensor->data<unsigned char>()))
    bad(errors.message);
  jpeg_destroy_decompress(&info);
  return *std::move(tensor);
}

} // namespace

HostTensor decodeImage(std::string_view bytes, const std::string &name, int channels) {
  if (channels != 0 && channels != 1 && channels != 3)
    raise(Code::InvalidOption, "decodeImage: channels must be 0 (as in the file), 1 or 3, not ", channels);
  if (bytes.substr(0, 8) == std::string_view("\x89PNG\r\n\x1a\n", 8))
    return decodePng(bytes, name, channels);
  if (bytes.substr(0, 3) == "\xff\xd8\xff")
    return decodeJpeg(bytes, name, channels);
  raise(Code::ModelMalformed, "'", name, "': neither a PNG nor a JPEG (by its first bytes)");
}

HostTensor readImage(const std::string &path, int channels) { return decodeImage(orRaise(readFile(path)), path, channels); }

void writePng(const std::string &path, const HostTensor &image) {
  const Shape &shape = image.shape();
  int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  if (image.dtype() != DType::U8 || shape.rank() < 2 || shape.rank() > 3 || (channels != 1 && channels != 3) || image.elements() == 0)
    raise(Code::ShapeMismatch, "writePng: needs u8[height, width], [height, width, 1] or [height, width, 3], not ", image.dtype(), shape);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(shape[0]);
  png.width = static_cast<png_uint_32>(shape[1]);
  png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  std::string bytes;
  bool written = png_image_write_get_memory_size(png, size, 0, image.raw(), 0, nullptr);
  if (written) {
    bytes.resize(size);
    written = png_image_write_to_memory(&png, bytes.data(), &size, 0, image.raw(), 0, nullptr);
  }
  if (!written)
    raise(Code::LibraryFailed, "'", path, "': libpng: ", png.message);
  AtomicFile file = orRaise(AtomicFile::create(path));
  orRaise(file.write(bytes.data(), size));
  orRaise(file.commit());
}

} // namespace graphc::data
