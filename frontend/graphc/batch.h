// From what a loader hands out to tensors.
#pragma once

#include "frontend/graphc/data.h"
#include "frontend/graphc/factories.h"

#include <memory>
#include <utility>

namespace graphc::data {

/// A tensor on the CPU that takes over the memory; nothing is copied.
inline Tensor take(HostTensor host) {
  auto held = std::make_shared<HostTensor>(std::move(host));
  return fromBlob(held->raw(), held->shape().dims(), held->dtype(), [held] {});
}
/// Field `field` of a batch, which gives it away.
inline Tensor take(Batch &batch, size_t field) {
  if (field >= batch.fields.size())
    throw Error(error(Code::IndexOutOfRange, "take: the batch has ", batch.fields.size(), " fields, there is no field ", field));
  return take(std::exchange(batch.fields[field], HostTensor()));
}

} // namespace graphc::data
