#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/safetensors.h"
#include "frontend/tensor/Raise.h"
#include "frontend/tensor/Safetensors.h"

#include <cstring>

namespace graphc {

void saveSafetensors(const std::string &path, const std::vector<std::pair<std::string, Tensor>> &tensors,
                     const std::map<std::string, std::string> &metadata) {
  NoGrad guard;
  std::vector<Tensor> held;
  std::vector<HostTensor> borrowed;
  std::vector<SafetensorsWrite> writes;
  held.reserve(tensors.size());
  borrowed.reserve(tensors.size()); // pointers into it are kept
  for (const auto &[name, tensor] : tensors) {
    if (!tensor.defined())
      raise(Code::InvalidOption, "'", path, "': tensor '", name, "' is undefined");
    // Dense host memory; a tensor that already is keeps its address, by which tied ones are recognised.
    held.push_back(tensor.detach().cpu().contiguous());
    const Tensor &dense = held.back();
    borrowed.push_back(HostTensor::borrow(dense.dtype(), Shape(std::vector<int64_t>(dense.sizes().begin(), dense.sizes().end())),
                                          static_cast<const void *>(dense.dataPtr())));
    writes.push_back({name, &borrowed.back()});
  }
  orRaise(writeSafetensors(path, writes, metadata));
}

std::vector<std::pair<std::string, Tensor>> loadSafetensors(const std::string &path, std::map<std::string, std::string> *metadata) {
  Safetensors file = orRaise(Safetensors::open(path));
  std::map<std::string, const Safetensors::Entry *> named;
  for (const Safetensors::Entry &entry : file.entries())
    named[entry.name] = &entry;
  for (const auto &[alias, name] : file.aliases())
    named[alias] = file.find(name);
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<const Safetensors::Entry *, Tensor> read;
  for (const auto &[name, entry] : named) {
    Tensor &tensor = read[entry];
    if (!tensor.defined()) {
      tensor = empty(entry->shape.dims(), {.dtype = entry->dtype, .device = Device::cpu()});
      if (entry->end > entry->begin)
        std::memcpy(tensor.dataPtr(), file.data(*entry), entry->end - entry->begin);
    }
    tensors.emplace_back(name, tensor);
  }
  if (metadata)
    *metadata = file.metadata();
  return tensors;
}

} // namespace graphc
