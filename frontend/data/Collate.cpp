#include "frontend/graphc/data.h"
#include "frontend/tensor/Raise.h"

#include <cstring>

namespace graphc::data {

std::vector<HostTensor> stackSamples(std::vector<Sample> samples) {
  if (samples.empty())
    raise(Code::InvalidOption, "stackSamples: an empty batch");
  const std::vector<HostTensor> &first = samples[0].fields;
  std::vector<HostTensor> batch;
  for (size_t field = 0; field < first.size(); ++field) {
    std::vector<int64_t> dims = {static_cast<int64_t>(samples.size())};
    dims.insert(dims.end(), first[field].shape().begin(), first[field].shape().end());
    HostTensor stacked = orRaise(HostTensor::allocate(first[field].dtype(), Shape(std::move(dims))));
    char *to = static_cast<char *>(stacked.raw());
    for (size_t k = 0; k < samples.size(); ++k) {
      const std::vector<HostTensor> &fields = samples[k].fields;
      if (fields.size() != first.size())
        raise(Code::ShapeMismatch, "sample ", k, " of the batch has ", fields.size(), " fields, the first has ", first.size());
      const HostTensor &value = fields[field];
      if (value.dtype() != first[field].dtype() || value.shape() != first[field].shape())
        raise(Code::ShapeMismatch, "field ", field, " of sample ", k, " of the batch is ", value.dtype(), value.shape(), ", of the first ",
              first[field].dtype(), first[field].shape(), "; give a collate function or make them equal");
      std::memcpy(to + k * value.sizeBytes(), value.raw(), value.sizeBytes());
    }
    batch.push_back(std::move(stacked));
  }
  return batch;
}

} // namespace graphc::data
