// A run in one file: model, optimizer, schedule, loader, random state and whatever else has a state, under names.
//
//   int64_t epoch = 0;
//   Checkpoint checkpoint{{"net", net}, {"opt", opt}, {"schedule", schedule}, {"loader", loader}, {"rng", generator()}, {"epoch", epoch}};
//   if (resume)
//     checkpoint.load("run.ckpt");
//   …
//   checkpoint.save("run.ckpt");
//
// The file is a safetensors file: tensors are called "net/conv.weight", "opt/group0.0.exp_avg", other values are metadata. It
// appears whole or not at all, carries a hash of everything in it, and nothing is changed by load() before every part has
// agreed to what it finds. A run that is killed and resumed continues bit for bit.
#pragma once

#include "frontend/graphc/data.h"
#include "frontend/graphc/module.h"
#include "frontend/graphc/random.h"
#include "frontend/graphc/state.h"

#include <concepts>
#include <functional>

namespace graphc {

class Checkpoint {
public:
  /// Something with a state. References must outlive the checkpoint.
  class Part {
  public:
    std::function<SavedState()> save;
    /// Checks, and gives what makes the change.
    std::function<std::function<void()>(const SavedState &)> prepare;

    Part(std::function<SavedState()> save, std::function<std::function<void()>(const SavedState &)> prepare)
        : save(std::move(save)), prepare(std::move(prepare)) {}
    template <std::derived_from<nn::Module> ModuleType>
    Part(const nn::Handle<ModuleType> &module) : Part(ofModule(module.pointer())) {}
    Part(std::shared_ptr<nn::Module> module) : Part(ofModule(std::move(module))) {}
    Part(data::DataLoader &loader);
    Part(Generator &generator);
    Part(int64_t &value);
    Part(double &value);
    /// Optimizers, schedules, averages, and types of the user's own with these two functions.
    template <typename T>
      requires requires(T &t, const SavedState &state) {
        { t.saveState() } -> std::convertible_to<SavedState>;
        { t.prepareLoad(state) } -> std::convertible_to<std::function<void()>>;
      }
    Part(T &t) : Part([&t] { return t.saveState(); }, [&t](const SavedState &state) -> std::function<void()> { return t.prepareLoad(state); }) {}

  private:
    static Part ofModule(std::shared_ptr<nn::Module> module);
  };

  Checkpoint() = default;
  Checkpoint(std::initializer_list<std::pair<std::string, Part>> parts);
  void add(const std::string &name, Part part);

  void save(const std::string &path) const;
  /// Every part of this checkpoint must be in the file; what else the file holds is an error, too.
  void load(const std::string &path);

private:
  std::vector<std::pair<std::string, Part>> parts_;
};

} // namespace graphc
