// Hugging Face's safetensors files: an 8-byte header length, a JSON header (name → dtype, shape, byte range), then the data.
//
// Reading trusts nothing: header length, JSON, dtypes, shapes, ranges, overlaps, holes and the file's end are all checked
// before a byte of data is handed out. Writing is atomic and gives the same bytes for the same tensors. Names that share
// memory (tied weights) are stored once; the others are kept as `name → stored name` in the metadata, as Hugging Face's
// `save_model` does.
#pragma once

#include "frontend/tensor/Npz.h"
#include "runtime/base/HostTensor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graphc {

class MappedFile;

/// A checked, mapped file. The tensors it hands out borrow its memory.
class Safetensors {
public:
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    size_t begin, end; // bytes, counted from the file's start
  };

  static Result<Safetensors> open(const std::string &path);

  /// In the order of their data.
  const std::vector<Entry> &entries() const { return entries_; }
  const std::map<std::string, std::string> &metadata() const { return metadata_; }
  /// Null when neither a tensor nor an alias has this name.
  const Entry *find(const std::string &name) const;
  /// Names that were tied to a stored tensor when the file was written: alias → stored name.
  std::map<std::string, std::string> aliases() const;
  const std::byte *data(const Entry &entry) const;
  /// A copy that owns its bytes, aligned.
  Result<HostTensor> read(const Entry &entry) const;

private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

struct SafetensorsWrite {
  std::string name;
  const HostTensor *tensor;
};
/// Metadata may not name a tensor: those keys are taken by tied names.
Status writeSafetensors(const std::string &path, const std::vector<SafetensorsWrite> &tensors,
                        const std::map<std::string, std::string> &metadata = {});

/// Everything in the file, aliases left out.
Result<NamedTensors> readSafetensors(const std::string &path);

} // namespace graphc
