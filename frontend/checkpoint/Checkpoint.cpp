// Parts to one safetensors file and back. The metadata says which format this is, which parts there are, and a hash of names,
// values and data: a flipped bit is an error, not a subtly different run.
#include "frontend/graphc/checkpoint.h"

#include "frontend/graphc/safetensors.h"
#include "frontend/tensor/Raise.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace graphc {
namespace {

constexpr const char *kFormat = "graphc.checkpoint", *kVersion = "1", *kHash = "graphc.hash", *kParts = "graphc.parts";

using Tensors = std::vector<std::pair<std::string, Tensor>>;
using Values = std::map<std::string, std::string>;

/// Of everything but the hash itself; tensors by name, so that the order in the file does not matter.
std::string hashOf(const Tensors &tensors, const Values &values) {
  auto destroy = [](XXH3_state_t *state) { XXH3_freeState(state); };
  std::unique_ptr<XXH3_state_t, decltype(destroy)> state(XXH3_createState(), destroy);
  XXH3_64bits_reset(state.get());
  auto feed = [&](const std::string &word) { XXH3_64bits_update(state.get(), word.data(), word.size() + 1); }; // with its end
  for (const auto &[name, value] : values)
    if (name != kHash) {
      feed(name);
      feed(value);
    }
  std::map<std::string, Tensor> sorted(tensors.begin(), tensors.end());
  for (const auto &[name, tensor] : sorted) {
    Tensor dense = tensor.detach().cpu().contiguous();
    feed(name);
    feed(dense.describe());
    if (dense.numel())
      XXH3_64bits_update(state.get(), dense.dataPtr(), static_cast<size_t>(dense.numel() * dense.itemSize()));
  }
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return digits;
}

} // namespace

Checkpoint::Part Checkpoint::Part::ofModule(std::shared_ptr<nn::Module> module) {
  auto save = [module] {
    SavedState state;
    state.tensors = module->stateDict();
    return state;
  };
  auto prepare = [module](const SavedState &state) -> std::function<void()> {
    return [commit = module->prepareLoad(state.tensors)] { commit(); };
  };
  return Part(save, prepare);
}

Checkpoint::Part::Part(data::DataLoader &loader) {
  save = [&loader] {
    data::LoaderState now = loader.state();
    SavedState state;
    state.set("seed", std::to_string(now.seed));
    state.set("epoch", std::to_string(now.epoch));
    state.set("consumed", now.consumed);
    state.set("samples", now.samples);
    state.set("batchSize", now.batchSize);
    return state;
  };
  prepare = [&loader](const SavedState &state) -> std::function<void()> {
    data::LoaderState then;
    then.seed = std::strtoull(state.word("seed", "data loader").c_str(), nullptr, 10);
    then.epoch = std::strtoull(state.word("epoch", "data loader").c_str(), nullptr, 10);
    then.consumed = state.integer("consumed", "data loader");
    then.samples = state.integer("samples", "data loader");
    then.batchSize = state.integer("batchSize", "data loader");
    loader.check(then);
    return [&loader, then] { loader.restore(then); };
  };
}

Checkpoint::Part::Part(Generator &generator) {
  save = [&generator] {
    SavedState state;
    state.set("seed", std::to_string(generator.seed()));
    state.set("offset", std::to_string(generator.offset()));
    return state;
  };
  prepare = [&generator](const SavedState &state) -> std::function<void()> {
    uint64_t seed = std::strtoull(state.word("seed", "random generator").c_str(), nullptr, 10);
    uint64_t offset = std::strtoull(state.word("offset", "random generator").c_str(), nullptr, 10);
    return [&generator, seed, offset] { generator.setState(seed, offset); };
  };
}

Checkpoint::Part::Part(int64_t &value) {
  save = [&value] {
    SavedState state;
    state.set("value", value);
    return state;
  };
  prepare = [&value](const SavedState &state) -> std::function<void()> { return [&value, read = state.integer("value", "checkpoint")] { value = read; }; };
}
Checkpoint::Part::Part(double &value) {
  save = [&value] {
    SavedState state;
    state.set("value", value);
    return state;
  };
  prepare = [&value](const SavedState &state) -> std::function<void()> { return [&value, read = state.number("value", "checkpoint")] { value = read; }; };
}

Checkpoint::Checkpoint(std::initializer_list<std::pair<std::string, Part>> parts) {
  for (const auto &[name, part] : parts)
    add(name, part);
}

void Checkpoint::add(const std::string &name, Part part) {
  if (name.empty() || name.find('/') != std::string::npos || name.find(' ') != std::string::npos)
    raise(Code::InvalidOption, "checkpoint: a part cannot be called '", name, "': names are not empty and hold neither '/' nor spaces");
  for (const auto &[other, ignored] : parts_)
    if (other == name)
      raise(Code::InvalidOption, "checkpoint: two parts are called '", name, "'");
  parts_.emplace_back(name, std::move(part));
}

void Checkpoint::save(const std::string &path) const {
  Tensors tensors;
  Values values = {{kFormat, kVersion}};
  std::vector<std::string> names;
  for (const auto &[name, part] : parts_) {
    SavedState state = part.save();
    for (auto &[local, tensor] : state.tensors)
      tensors.emplace_back(name + "/" + local, tensor);
    for (auto &[local, value] : state.values)
      values[name + "/" + local] = value;
    names.push_back(name);
  }
  values[kParts] = joined(names, " ");
  values[kHash] = hashOf(tensors, values);
  saveSafetensors(path, tensors, values);
}

void Checkpoint::load(const std::string &path) {
  Values values;
  Tensors tensors = loadSafetensors(path, &values);
  auto bad = [&](auto &&...parts) { raise(Code::WeightFile, "'", path, "': ", parts...); };
  if (!values.contains(kFormat))
    bad("no checkpoint: a safetensors file of something else");
  if (values[kFormat] != kVersion)
    bad("a checkpoint of version ", values[kFormat], ", this is version ", kVersion);
  // Tied tensors are named in the metadata, which the hash did not see.
  for (const auto &[name, tensor] : tensors)
    values.erase(name);
  if (std::string found = hashOf(tensors, values); found != values[kHash])
    bad("the checkpoint is damaged: its contents hash to ", found, ", ", values[kHash], " is written in it");
  std::vector<std::string> mine;
  for (const auto &[name, part] : parts_)
    mine.push_back(name);
  if (joined(mine, " ") != values[kParts])
    bad("the checkpoint holds ", values[kParts], ", the program has ", joined(mine, " "));
  std::map<std::string, SavedState> states;
  auto split = [](const std::string &name) { return std::pair(name.substr(0, name.find('/')), name.substr(name.find('/') + 1)); };
  for (auto &[name, tensor] : tensors) {
    auto [part, local] = split(name);
    states[part].tensors.emplace_back(local, tensor);
  }
  for (auto &[name, value] : values)
    if (name.find('/') != std::string::npos) {
      auto [part, local] = split(name);
      states[part].values[local] = value;
    }
  std::vector<std::function<void()>> commits;
  for (const auto &[name, part] : parts_)
    try {
      commits.push_back(part.prepare(states[name]));
    } catch (const Error &problem) {
      raise(problem.code(), "'", path, "': ", name, ": ", problem.message());
    }
  for (auto &commit : commits)
    commit();
}

} // namespace graphc
