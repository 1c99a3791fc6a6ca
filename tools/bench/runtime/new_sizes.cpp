// What a size costs that was never seen, in a model compiled for a range of sizes.
//
//   new-sizes MODEL.gcx [--sizes N] [--rounds R]
//
// The model's first symbolic size takes its values in turn: first 1, 2, 4 … (the prepared buckets), then N sizes between them, each
// called five times. "New" is the first call of a size, "same" the last. R times over (default 9) with the model loaded anew, and the
// least of each counts: a first call comes only once, and a fastest of four would be compared with one. Processor time of the calling
// thread. One thread.
#include "frontend/graphc/runtime.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>

using namespace graphc;

namespace {

double threadUs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

std::vector<HostTensor> inputsFor(const Model &model, int64_t size) {
  std::vector<HostTensor> inputs;
  for (const ModelTensor &port : model.inputs()) {
    std::vector<int64_t> shape;
    for (const std::string &dim : port.dims) {
      bool fixed = dim.find_first_not_of("0123456789") == std::string::npos;
      shape.push_back(fixed ? std::stoll(dim) : dim == model.symbols()[0].name ? size : 1);
    }
    auto tensor = HostTensor::allocate(port.dtype, shape);
    if (!tensor.ok())
      throw Error(tensor.status());
    std::memset(tensor->raw(), 0, tensor->sizeBytes());
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

struct Cost {
  double newUs = 0, sameUs = 0;
};

Cost callAt(const Model &model, int64_t size) {
  auto inputs = inputsFor(model, size);
  Cost cost;
  std::vector<HostTensor> outputs;
  for (int call = 0; call < 5; ++call) {
    double start = threadUs();
    model.run(inputs, outputs);
    double us = threadUs() - start;
    if (call == 0)
      cost.newUs = us;
    cost.sameUs = us;
  }
  return cost;
}

/// What each of `count` sizes between the buckets costs, in a model just loaded.
std::map<int64_t, Cost> measure(const Model &model, int count) {
  if (model.symbols().empty())
    throw Error(Status(Code::InvalidOption, "the model has no symbolic size; compile it with --shape"));
  const ModelSymbol &symbol = model.symbols()[0];
  int64_t most = std::min<int64_t>(symbol.hi, 64);
  std::vector<int64_t> buckets;
  for (int64_t size = std::max<int64_t>(1, symbol.lo); size <= most; size *= 2)
    buckets.push_back(size);
  // The largest first, so that the arena does not grow later.
  std::reverse(buckets.begin(), buckets.end());
  for (int64_t size : buckets)
    callAt(model, size);
  std::map<int64_t, Cost> costs;
  for (int64_t size = most - 1; size > symbol.lo && static_cast<int>(costs.size()) < count; size -= std::max<int64_t>(1, most / (count + 1)))
    if (std::find(buckets.begin(), buckets.end(), size) == buckets.end())
      costs[size] = callAt(model, size);
  return costs;
}

} // namespace

int main(int argc, char **argv) {
  std::string path;
  int count = 12, rounds = 9;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--sizes" && i + 1 < argc)
      count = std::atoi(argv[++i]);
    else if (std::string(argv[i]) == "--rounds" && i + 1 < argc)
      rounds = std::max(1, std::atoi(argv[++i]));
    else
      path = argv[i];
  if (path.empty()) {
    std::cerr << "usage: new-sizes MODEL.gcx [--sizes N] [--rounds R]\n";
    return 2;
  }
  try {
    Runtime runtime({.threads = 1});
    std::map<int64_t, Cost> costs;
    for (int round = 0; round < rounds; ++round)
      for (auto [size, cost] : measure(runtime.load(path), count)) {
        auto [best, isFirst] = costs.try_emplace(size, cost);
        best->second.newUs = std::min(best->second.newUs, cost.newUs);
        best->second.sameUs = std::min(best->second.sameUs, cost.sameUs);
      }
    std::vector<double> extra;
    for (auto [size, cost] : costs) {
      extra.push_back(cost.newUs - cost.sameUs);
      std::cout << size << ": new " << cost.newUs << " us, same " << cost.sameUs << " us, more " << extra.back() << " us\n";
    }
    std::sort(extra.begin(), extra.end());
    if (!extra.empty())
      std::cout << "a new size costs " << extra[extra.size() / 2] << " us more (median of " << extra.size() << ")\n";
  } catch (const Error &failure) {
    std::cerr << "new-sizes: " << failure.what() << "\n";
    return 1;
  }
}
