#include "frontend/graphc/data.h"
#include "frontend/tensor/Npy.h"
#include "frontend/tensor/Raise.h"

#include <cstring>

namespace graphc::data {
namespace {

void checkIndex(int64_t index, int64_t size) {
  if (index < 0 || index >= size)
    raise(Code::IndexOutOfRange, "dataset: index ", index, " is out of range for ", size, " samples");
}

class Subset : public MapSource {
public:
  Subset(Dataset base, std::vector<int64_t> indices) : base_(std::move(base)), indices_(std::move(indices)) {}
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Sample get(int64_t index, RandomStream &random) const override { return base_.get(indices_[index], random); }

private:
  Dataset base_;
  std::vector<int64_t> indices_;
};

class Concat : public MapSource {
public:
  explicit Concat(std::vector<Dataset> parts) : parts_(std::move(parts)) {}
  int64_t size() const override {
    int64_t total = 0;
    for (const Dataset &part : parts_)
      total += part.size();
    return total;
  }
  Sample get(int64_t index, RandomStream &random) const override {
    size_t part = 0;
    while (index >= parts_[part].size())
      index -= parts_[part++].size();
    return parts_[part].get(index, random);
  }

private:
  std::vector<Dataset> parts_;
};

/// Rows of tensors, handed out without a copy: they live as long as the dataset.
class Rows : public MapSource {
public:
  explicit Rows(std::vector<HostTensor> fields) : fields_(std::move(fields)) {
    if (fields_.empty())
      raise(Code::InvalidOption, "fromTensors: needs at least one tensor");
    for (size_t k = 0; k < fields_.size(); ++k) {
      if (fields_[k].shape().rank() == 0)
        raise(Code::ShapeMismatch, "fromTensors: tensor ", k, " has rank 0; the first dimension counts the samples");
      if (fields_[k].shape()[0] != fields_[0].shape()[0])
        raise(Code::ShapeMismatch, "fromTensors: tensor ", k, " holds ", fields_[k].shape()[0], " samples, the first ", fields_[0].shape()[0]);
    }
  }
  int64_t size() const override { return fields_[0].shape()[0]; }
  Sample get(int64_t index, RandomStream &) const override {
    Sample sample;
    for (const HostTensor &field : fields_) {
      std::vector<int64_t> dims(field.shape().begin() + 1, field.shape().end());
      Shape shape(std::move(dims));
      size_t rowBytes = static_cast<size_t>(shape.elements()) * sizeOf(field.dtype());
      sample.fields.push_back(HostTensor::borrow(field.dtype(), shape, static_cast<const std::byte *>(field.raw()) + index * rowBytes));
    }
    return sample;
  }

private:
  std::vector<HostTensor> fields_;
};

} // namespace

Dataset::Dataset(std::shared_ptr<const MapSource> source) : map_(std::move(source)) {}
Dataset::Dataset(std::shared_ptr<const StreamSource> source) : stream_(std::move(source)) {}

int64_t Dataset::size() const {
  if (!map_)
    raise(Code::InvalidOption, "dataset: a stream does not know how many samples it has");
  return map_->size();
}

Sample Dataset::transform(Sample sample, RandomStream &random) const {
  for (const SampleTransform &each : transforms_)
    sample = each(std::move(sample), random);
  return sample;
}

Sample Dataset::get(int64_t index, RandomStream &random) const {
  checkIndex(index, size());
  return transform(map_->get(index, random), random);
}

Sample Dataset::get(int64_t index, uint64_t seed, uint64_t epoch) const {
  RandomStream random(seed, epoch, static_cast<uint64_t>(index));
  return get(index, random);
}

Dataset Dataset::mapSample(SampleTransform transform) const {
  Dataset result = *this;
  result.transforms_.push_back(std::move(transform));
  return result;
}

Dataset Dataset::map(Transform transform, size_t field) const {
  return mapSample([transform = std::move(transform), field](Sample sample, RandomStream &random) {
    if (field >= sample.fields.size())
      raise(Code::IndexOutOfRange, "map: field ", field, " is out of range, samples have ", sample.fields.size());
    sample.fields[field] = transform(std::move(sample.fields[field]), random);
    return sample;
  });
}

Dataset Dataset::subset(std::vector<int64_t> indices) const {
  for (int64_t index : indices)
    checkIndex(index, size());
  return Dataset(std::make_shared<Subset>(*this, std::move(indices)));
}

Dataset Dataset::subset(int64_t begin, int64_t end) const {
  if (begin < 0 || end > size() || begin > end)
    raise(Code::IndexOutOfRange, "subset: [", begin, ", ", end, ") is not inside ", size(), " samples");
  std::vector<int64_t> indices;
  for (int64_t index = begin; index < end; ++index)
    indices.push_back(index);
  return subset(std::move(indices));
}

Dataset concat(std::vector<Dataset> parts) {
  for (const Dataset &part : parts)
    part.size(); // a stream is refused here, not in the middle of training
  return Dataset(std::make_shared<Concat>(std::move(parts)));
}

Dataset fromTensors(std::vector<HostTensor> fields) { return Dataset(std::make_shared<Rows>(std::move(fields))); }

Dataset fromNpy(const std::vector<std::string> &paths) {
  std::vector<HostTensor> fields;
  for (const std::string &path : paths)
    fields.push_back(orRaise(readNpy(path)));
  return fromTensors(std::move(fields));
}

} // namespace graphc::data
