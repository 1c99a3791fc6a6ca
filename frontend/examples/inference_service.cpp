// Answers requests with a compiled model: `graphc compile` or Compiled::save() made it, only the runtime is linked.
//
//   inference_service MODEL.gcx [--clients N] [--requests N]
//
// N clients ask at once, each on a thread of its own, with inputs drawn from its number; they share the model, the pool and nothing else.
// Prints what a request cost (median, 99th percentile, requests a second) and a sum of the answers, which is the same for any number of
// clients.
#include <graphc/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

using namespace graphc;

namespace {

/// Numbers in [-1, 1) that depend on the request alone; integers are 0 or 1.
HostTensor drawn(const ModelTensor &input, const std::vector<int64_t> &shape, uint64_t request) {
  auto tensor = HostTensor::allocate(input.dtype, shape);
  if (!tensor.ok())
    throw Error(tensor.status());
  uint64_t state = request * 0x9E3779B97F4A7C15u + 1;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 40;
  };
  std::memset(tensor->raw(), 0, tensor->sizeBytes());
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    if (input.dtype == DType::F32)
      static_cast<float *>(tensor->raw())[i] = static_cast<float>(next()) / (1 << 23) - 1;
    else if (input.dtype == DType::I64)
      static_cast<int64_t *>(tensor->raw())[i] = static_cast<int64_t>(next() & 1);
  }
  return *std::move(tensor);
}

std::vector<int64_t> smallestShape(const Model &model, const ModelTensor &input) {
  std::vector<int64_t> shape;
  for (const std::string &dim : input.dims) {
    int64_t size = 1;
    if (dim.find_first_not_of("0123456789") == std::string::npos)
      size = std::stoll(dim);
    for (const ModelSymbol &symbol : model.symbols())
      if (symbol.name == dim)
        size = std::max<int64_t>({1, symbol.lo, symbol.multiple});
    shape.push_back(size);
  }
  return shape;
}

} // namespace

int main(int argc, char **argv) {
  int clients = 2, requests = 200;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if ((word == "--clients" || word == "--requests") && i + 1 < argc)
      (word == "--clients" ? clients : requests) = std::max(1, std::atoi(argv[++i]));
    else if (path.empty() && word[0] != '-')
      path = word;
    else
      path = "", i = argc;
  }
  if (path.empty()) {
    std::cerr << "usage: inference_service MODEL.gcx [--clients N] [--requests N]\n";
    return 2;
  }
  try {
    Runtime runtime;
    Model model = runtime.load(path);
    std::mutex mutex;
    std::vector<double> latencies;
    double sum = 0;
    std::exception_ptr failure;
    auto serve = [&](int client) {
      try {
        std::vector<HostTensor> inputs, outputs;
        for (int request = client; request < requests; request += clients) {
          inputs.clear();
          for (const ModelTensor &input : model.inputs())
            inputs.push_back(drawn(input, smallestShape(model, input), static_cast<uint64_t>(request)));
          outputs.clear();
          auto started = std::chrono::steady_clock::now();
          model.run(inputs, outputs);
          double microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - started).count();
          double answer = 0;
          if (outputs[0].dtype() == DType::F32)
            for (int64_t i = 0; i < outputs[0].elements(); ++i)
              answer += static_cast<const float *>(outputs[0].raw())[i];
          std::lock_guard lock(mutex);
          latencies.push_back(microseconds);
          sum += answer;
        }
      } catch (...) {
        std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    };
    auto started = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client)
      threads.emplace_back(serve, client);
    for (std::thread &thread : threads)
      thread.join();
    if (failure)
      std::rethrow_exception(failure);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    std::sort(latencies.begin(), latencies.end());
    auto percentile = [&](double part) { return latencies[static_cast<size_t>(part * static_cast<double>(latencies.size() - 1))]; };
    std::cout << std::fixed << std::setprecision(1) << latencies.size() << " requests by " << clients << " clients: median " << percentile(.5) << " µs, 99 % within "
              << percentile(.99) << " µs, " << std::setprecision(0) << static_cast<double>(latencies.size()) / seconds << " a second\n"
              << "answers add up to " << std::setprecision(2) << sum << std::endl;
  } catch (const Error &problem) {
    std::cerr << "inference_service: error " << problem.what() << '\n';
    return 1;
  }
}
