// Many threads calling one model at once, against two callers on one thread each.
//
//   concurrent-calls MODEL.gcx [--callers N] [--seconds S] [--rounds R] [--json]
//
// Both sides take turns, R rounds of S seconds; the best round of each counts. Every answer is compared with that of a lone
// call, to the bit. Threads are those of the process at their most, this program's main thread not counted.
#include "frontend/graphc/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <iostream>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <thread>

using namespace graphc;

namespace {

using Clock = std::chrono::steady_clock;

HostTensor randomTensor(const ModelTensor &port, const Model &model) {
  std::vector<int64_t> shape;
  for (const std::string &dim : port.dims) {
    int64_t size = 1;
    for (const ModelSymbol &symbol : model.symbols())
      if (symbol.name == dim)
        size = std::max<int64_t>({1, symbol.lo, symbol.multiple});
    shape.push_back(dim.find_first_not_of("0123456789") == std::string::npos ? std::stoll(dim) : size);
  }
  auto tensor = HostTensor::allocate(port.dtype, shape);
  if (!tensor.ok())
    throw Error(tensor.status());
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  std::memset(tensor->raw(), 0, tensor->sizeBytes());
  if (port.dtype == DType::F32)
    for (int64_t i = 0; i < tensor->elements(); ++i)
      tensor->data<float>()[i] = values(random);
  return *std::move(tensor);
}

int threadsOfThisProcess() {
  int count = 0;
  DIR *folder = ::opendir("/proc/self/task");
  while (dirent *entry = ::readdir(folder))
    count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
}

/// Of this process so far, all threads.
double cpuMs() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto ms = [](const timeval &time) { return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

struct Round {
  double perSecond = 0, medianMs = 0, p99Ms = 0, maxMs = 0;
  double cpuMs = 0; // of all threads, per call: what a busy machine does not change
  int threads = 0;
  int64_t calls = 0, wrong = 0;
};

Round measure(const Model &model, const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &answer, int callers, double seconds) {
  std::vector<std::vector<double>> latencies(callers);
  std::atomic<int> ready{0};
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([&, caller] {
      std::vector<HostTensor> outputs;
      model.run(inputs, outputs); // warm: contexts exist
      ready.fetch_add(1);
      while (ready.load() < callers)
        std::this_thread::yield();
      while (!stop.load(std::memory_order_relaxed)) {
        auto start = Clock::now();
        model.run(inputs, outputs);
        latencies[caller].push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        for (size_t i = 0; i < outputs.size(); ++i)
          if (std::memcmp(outputs[i].raw(), answer[i].raw(), answer[i].sizeBytes()) != 0)
            wrong.fetch_add(1);
      }
    });
  while (ready.load() < callers)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto start = Clock::now();
  double cpuStart = cpuMs();
  Round round;
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    round.threads = std::max(round.threads, threadsOfThisProcess() - 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> all;
  for (const auto &list : latencies)
    all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  round.calls = static_cast<int64_t>(all.size());
  round.wrong = wrong;
  round.cpuMs = (cpuMs() - cpuStart) / static_cast<double>(std::max<int64_t>(1, round.calls));
  round.perSecond = static_cast<double>(all.size()) / elapsed;
  if (!all.empty()) {
    round.medianMs = all[all.size() / 2];
    round.p99Ms = all[std::min(all.size() - 1, all.size() * 99 / 100)];
    round.maxMs = all.back();
  }
  return round;
}

void print(const char *name, const Round &round, bool json) {
  std::ostringstream line;
  if (json)
    line << "{\"setting\":\"" << name << "\",\"per_second\":" << round.perSecond << ",\"median_ms\":" << round.medianMs << ",\"p99_ms\":" << round.p99Ms
         << ",\"max_ms\":" << round.maxMs << ",\"cpu_ms\":" << round.cpuMs << ",\"threads\":" << round.threads << ",\"calls\":" << round.calls << ",\"wrong\":" << round.wrong << "}";
  else
    line << name << ": " << round.perSecond << " calls/s, median " << round.medianMs << " ms, P99 " << round.p99Ms << " ms, max " << round.maxMs << " ms, processor " << round.cpuMs << " ms a call, "
         << round.threads << " threads, " << round.wrong << " wrong of " << round.calls;
  std::cout << line.str() << std::endl;
}

} // namespace

int main(int argc, char **argv) {
  std::string path;
  int callers = 8, rounds = 3;
  double seconds = 2;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--json")
      json = true;
    else if (argument == "--callers" && i + 1 < argc)
      callers = std::atoi(argv[++i]);
    else if (argument == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (argument == "--rounds" && i + 1 < argc)
      rounds = std::atoi(argv[++i]);
    else
      path = argument;
  }
  if (path.empty() || callers < 1 || rounds < 1 || !(seconds > 0)) {
    std::cerr << "usage: concurrent-calls MODEL.gcx [--callers N] [--seconds S] [--rounds R] [--json]\n";
    return 2;
  }
  try {
    Runtime alone({.threads = 1}), pooled({.threads = 2});
    Model serial = alone.load(path), shared = pooled.load(path);
    std::vector<HostTensor> inputs, answer, again;
    for (const ModelTensor &port : serial.inputs())
      inputs.push_back(randomTensor(port, serial));
    serial.run(inputs, answer);
    shared.run(inputs, again);
    Round two, many;
    auto keepBest = [](Round &best, Round next) {
      int64_t wrong = best.wrong + next.wrong;
      int threads = std::max(best.threads, next.threads);
      if (next.perSecond > best.perSecond)
        best = next;
      best.wrong = wrong;
      best.threads = threads;
    };
    for (int round = 0; round < rounds; ++round) {
      // A lone call may be cut into other slices than a shared one: each setting is compared with its own kind.
      keepBest(two, measure(serial, inputs, answer, 2, seconds));
      keepBest(many, measure(shared, inputs, again, callers, seconds));
    }
    print("two callers, one thread each", two, json);
    print((std::to_string(callers) + " callers, pool of two").c_str(), many, json);
    if (!json)
      std::cout << "throughput " << many.perSecond / two.perSecond << " of the first (by processor time " << two.cpuMs / many.cpuMs << "); P99 " << many.p99Ms / many.medianMs << " × the median\n";
    return two.wrong || many.wrong ? 1 : 0;
  } catch (const Error &failure) {
    std::cerr << "concurrent-calls: " << failure.what() << "\n";
    return 1;
  }
}
