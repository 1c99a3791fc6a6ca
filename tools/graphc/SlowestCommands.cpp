#include "tools/graphc/SlowestCommands.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace graphc::tool {
namespace {

/// Sums what one call spends in each top-level command (a loop's body runs many times), then keeps the least over all calls.
class CommandTimes final : public ProfileSink {
public:
  explicit CommandTimes(size_t commands) : call(commands), least(commands, std::numeric_limits<int64_t>::max()) {}
  void command(int index, const plan::CommandT &, int64_t startNs, int64_t endNs, int) override { call[index] += endNs - startNs; }
  void endCall() {
    for (size_t i = 0; i < call.size(); ++i)
      least[i] = std::min(least[i], call[i]);
    std::fill(call.begin(), call.end(), 0);
  }

  std::vector<int64_t> call, least;
};

std::string nameOf(const Executable &executable, int index) {
  const plan::CommandT &command = *executable.plan().main[index];
  std::string what;
  if (auto *dispatch = command.action.AsDispatch())
    what = "kernel " + executable.plan().kernels[dispatch->kernel]->symbol;
  else if (auto *library = command.action.AsLibrary())
    what = executable.implementation(index).empty() ? plan::EnumNameLibraryKind(library->kind)
                                                    : text(plan::EnumNameLibraryKind(library->kind), " ", executable.implementation(index));
  else if (auto *routine = command.action.AsRoutine())
    what = "routine " + routine->name;
  else
    what = plan::EnumNameAction(command.action.type);
  return text(command.name, ": ", what);
}

} // namespace

Result<std::vector<CommandCost>> costOfCommands(Model &model, std::span<const HostTensor> inputs, double seconds) {
  const Executable &executable = *model.details().executable;
  CommandTimes times(executable.plan().main.size());
  RunOptions options;
  options.profile = &times;
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  do {
    GRAPHC_RETURN_IF_ERROR(model.runAgain(inputs, options));
    times.endCall();
  } while (std::chrono::steady_clock::now() < end);

  int64_t total = 0;
  for (int64_t ns : times.least)
    total += ns;
  std::vector<CommandCost> costs;
  for (size_t i = 0; i < times.least.size(); ++i)
    costs.push_back({nameOf(executable, static_cast<int>(i)), static_cast<double>(times.least[i]) / 1e3,
                     static_cast<double>(times.least[i]) / static_cast<double>(std::max<int64_t>(1, total))});
  std::stable_sort(costs.begin(), costs.end(), [](const CommandCost &a, const CommandCost &b) { return a.us > b.us; });
  return costs;
}

} // namespace graphc::tool
