// The two choices about threads that must be measured, not guessed.
//
//   thread-choices MODEL.gcx… [--threads N] [--seconds S]
//
// For each model: a call on one thread; on our pool, library calls cut into slices; on our pool, library calls left whole to the
// library's own threads. Then our pool with other limits below which work is not shared out. All settings take turns in short rounds,
// so that they see the same machine; minimum and median of the calls, in microseconds.
#include "runtime/artifact/Artifact.h"
#include "runtime/devices/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace graphc;

namespace {

using Clock = std::chrono::steady_clock;

struct Setting {
  std::string name;
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<Context> context;
  std::vector<HostTensor> outputs;
  std::vector<double> us;
};

template <typename T>
T take(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "thread-choices: %s\n", result.status().str().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void measure(const std::string &path, int threads, double seconds) {
  auto load = [&](const std::string &name, bool pooled, bool libraryThreads, double cutoffNs) {
    ArtifactOptions options;
    if (pooled) {
      SpinPoolOptions pool;
      pool.threads = threads;
      options.pool = std::make_shared<SpinPool>(pool);
    }
    options.libraryThreads = libraryThreads;
    if (cutoffNs >= 0)
      options.serialCutoffNs = cutoffNs;
    Setting setting{name, take(loadArtifact(path, options)), nullptr, {}, {}};
    setting.context = take(setting.executable->newContext());
    setting.outputs.resize(setting.executable->signature().outputs.size());
    return setting;
  };
  std::vector<Setting> settings;
  settings.push_back(load("one thread", false, false, -1));
  settings.push_back(load("own pool, slices", true, false, -1));
  settings.push_back(load("the library's threads", true, true, -1));
  for (double us : {0.0, 2.0, 4.0, 6.0, 10.0, 20.0, 50.0})
    settings.push_back(load("own pool, limit " + std::to_string(static_cast<int>(us)) + " us", true, false, us * 1000));

  std::vector<HostTensor> inputs;
  for (const TensorInfo &info : settings[0].executable->signature().inputs) {
    std::vector<int64_t> shape;
    for (const std::string &dim : info.dims)
      shape.push_back(std::max(1, std::atoi(dim.c_str())));
    inputs.push_back(take(HostTensor::allocate(info.dtype, shape)));
    std::memset(inputs.back().raw(), 0, inputs.back().sizeBytes());
  }
  auto call = [&](Setting &setting) {
    auto start = Clock::now();
    Status status = setting.executable->run(*setting.context, inputs, setting.outputs);
    double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!status.ok()) {
      std::fprintf(stderr, "thread-choices: %s\n", status.str().c_str());
      std::exit(1);
    }
    return us;
  };
  for (Setting &setting : settings)
    for (int warm = 0; warm < 3; ++warm)
      call(setting);
  auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds)
    for (Setting &setting : settings) {
      auto round = Clock::now();
      do
        setting.us.push_back(call(setting));
      while (std::chrono::duration<double, std::milli>(Clock::now() - round).count() < 20);
    }
  std::printf("%s, %d threads\n", path.c_str(), threads);
  for (Setting &setting : settings) {
    std::sort(setting.us.begin(), setting.us.end());
    std::printf("  %-26s min %10.1f  median %10.1f  (%zu calls)\n", setting.name.c_str(), setting.us.front(), setting.us[setting.us.size() / 2], setting.us.size());
  }
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> paths;
  int threads = 2;
  double seconds = 10;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (std::string(argv[i]) == "--seconds" && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else
      paths.push_back(argv[i]);
  if (paths.empty() || threads < 1 || !(seconds > 0)) {
    std::fprintf(stderr, "usage: thread-choices MODEL.gcx... [--threads N] [--seconds S]\n");
    return 2;
  }
  for (const std::string &path : paths)
    measure(path, threads, seconds);
}
