// A run that is killed and resumed is the uninterrupted run, to the bit; a file that is not whole is refused.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/checkpoint.h"
#include "frontend/graphc/nn.h"
#include "frontend/graphc/safetensors.h"
#include "frontend/graphc/schedules.h"
#include "frontend/tensor/ReadFile.h"
#include "test/unit/nn/Fill.h"

#include <filesystem>
#include <fstream>

using namespace graphc;
using testing::HasSubstr;

namespace {

std::string scratch(const char *name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

data::Dataset points() {
  HostTensor x = *HostTensor::allocate(DType::F32, {24, 3}), y = *HostTensor::allocate(DType::I64, {24});
  for (int64_t k = 0; k < 24; ++k) {
    for (int64_t j = 0; j < 3; ++j)
      x.data<float>()[k * 3 + j] = static_cast<float>((k * 5 + j * 7) % 11) / 11;
    y.data<int64_t>()[k] = k % 2;
  }
  std::vector<HostTensor> fields;
  fields.push_back(std::move(x));
  fields.push_back(std::move(y));
  return data::fromTensors(std::move(fields)).map([](HostTensor row, data::RandomStream &random) {
    HostTensor noisy = *row.clone();
    noisy.data<float>()[0] += static_cast<float>(random.uniform() * .1);
    return noisy;
  });
}

struct Training {
  nn::Sequential net{nn::Linear(3, 8), nn::Tanh(), nn::Dropout(.3), nn::BatchNorm1d(8), nn::Linear(8, 2)};
  optim::AdamW opt{net->parameters(), {.lr = .05}};
  optim::CosineAnnealing schedule{opt, {.steps = 20}};
  data::DataLoader loader{points(), {.batchSize = 4, .shuffle = true, .seed = 5}};
  optim::Ema ema{net->parameters(), .9};
  int64_t steps = 0;
  double best = 1e9;
  Checkpoint checkpoint{{"net", net}, {"opt", opt}, {"schedule", schedule}, {"loader", loader}, {"rng", generator()}, {"ema", ema}, {"steps", steps}, {"best", best}};

  /// Batches until `last` steps were made.
  void trainTo(int64_t last) {
    while (steps < last)
      for (data::Batch &batch : loader) {
        Tensor x = fromVector(batch[0].values<float>(), {4, 3}), y = fromVector(batch[1].values<int64_t>(), {4});
        opt.zeroGrad();
        Tensor loss = crossEntropy(net(x), y);
        loss.backward();
        opt.step();
        schedule.step();
        ema.update();
        best = std::min(best, loss.item<double>());
        if (++steps == last)
          break;
      }
  }
};

TEST(Checkpoint, KilledAndResumedIsUninterruptedToTheBit) {
  manualSeed(7);
  Training whole;
  whole.trainTo(15);
  for (int64_t killAt : {4, 6, 7}) { // in mid-epoch, at an epoch's last batch, after the first of the next
    manualSeed(7);
    {
      Training killed;
      killed.trainTo(killAt);
      killed.checkpoint.save(scratch("run.ckpt"));
      killed.trainTo(killAt + 1); // lost
    }
    manualSeed(12345);
    Training resumed;
    resumed.checkpoint.load(scratch("run.ckpt"));
    EXPECT_EQ(resumed.steps, killAt);
    resumed.trainTo(15);
    for (size_t k = 0; k < whole.net->stateDict().size(); ++k)
      EXPECT_TRUE(equal(whole.net->stateDict()[k].second, resumed.net->stateDict()[k].second)) << whole.net->stateDict()[k].first << ", killed at " << killAt;
    EXPECT_TRUE(equal(whole.ema.averages()[0], resumed.ema.averages()[0]));
    EXPECT_EQ(whole.best, resumed.best);
  }
}

TEST(Checkpoint, IsASafetensorsFile) {
  Training run;
  run.trainTo(1);
  run.checkpoint.save(scratch("plain.ckpt"));
  std::map<std::string, std::string> metadata;
  auto tensors = loadSafetensors(scratch("plain.ckpt"), &metadata);
  std::set<std::string> names;
  for (const auto &[name, tensor] : tensors)
    names.insert(name);
  EXPECT_TRUE(names.contains("net/0.weight"));
  EXPECT_TRUE(names.contains("opt/group0.0.exp_avg"));
  EXPECT_EQ(metadata["loader/consumed"], "1");
  EXPECT_EQ(metadata["steps/value"], "1");
}

TEST(Checkpoint, DamageIsFoundAndChangesNothing) {
  Training run;
  run.trainTo(2);
  run.checkpoint.save(scratch("whole.ckpt"));
  std::string bytes = *readFile(scratch("whole.ckpt"));
  Tensor before = run.net->parameters()[0].detach().clone();
  auto damaged = [&](const std::string &content) {
    std::ofstream(scratch("bad.ckpt"), std::ios::binary) << content;
    std::string message = "accepted";
    try {
      run.checkpoint.load(scratch("bad.ckpt"));
    } catch (const Error &problem) {
      message = problem.message();
    }
    EXPECT_TRUE(equal(run.net->parameters()[0].detach(), before));
    return message;
  };
  EXPECT_THAT(damaged(bytes.substr(0, bytes.size() - 1)), HasSubstr("bad.ckpt': truncated: tensor "));
  EXPECT_THAT(damaged(bytes.substr(0, 100)), HasSubstr("bad.ckpt': truncated: the header has "));
  EXPECT_THAT(damaged(""), HasSubstr("bad.ckpt': truncated: "));
  std::string flipped = bytes;
  flipped[flipped.size() - 3] ^= 1;
  EXPECT_THAT(damaged(flipped), HasSubstr("bad.ckpt': the checkpoint is damaged: its contents hash to "));
  size_t digit = bytes.find("\"steps/value\":\"2\"");
  ASSERT_NE(digit, std::string::npos);
  flipped = bytes;
  flipped[digit + 15] = '3';
  EXPECT_THAT(damaged(flipped), HasSubstr("the checkpoint is damaged"));
  EXPECT_EQ(damaged(bytes), "accepted");
}

TEST(Checkpoint, OfAnotherRunIsRefused) {
  Training run;
  run.checkpoint.save(scratch("a.ckpt"));
  Checkpoint fewer{{"net", run.net}};
  EXPECT_ERROR(fewer.load(scratch("a.ckpt")), Code::WeightFile,
               text("'", scratch("a.ckpt"), "': the checkpoint holds net opt schedule loader rng ema steps best, the program has net"));
  nn::Linear other(3, 9);
  Checkpoint one{{"net", nn::Linear(3, 8)}}, two{{"net", other}};
  one.save(scratch("b.ckpt"));
  EXPECT_ERROR(two.load(scratch("b.ckpt")), Code::WeightFile,
               text("'", scratch("b.ckpt"),
                    "': net: the state is of another model: 'weight' is f32[8, 3] in the state and f32[9, 3] in the model; 'bias' is f32[8] in the state and "
                    "f32[9] in the model"));
  other->save(scratch("c.safetensors"));
  EXPECT_ERROR(two.load(scratch("c.safetensors")), Code::WeightFile, HasSubstr("no checkpoint: a safetensors file of something else"));
  EXPECT_ERROR(two.add("net", Checkpoint::Part(other)), Code::InvalidOption, "checkpoint: two parts are called 'net'");
  EXPECT_ERROR(two.add("a/b", Checkpoint::Part(other)), Code::InvalidOption, HasSubstr("cannot be called 'a/b'"));
}

TEST(Checkpoint, ASaveThatFailsLeavesTheOldOne) {
  Training run;
  std::filesystem::path folder = scratch("kept");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  run.checkpoint.save((folder / "x.ckpt").string());
  std::string before = *readFile((folder / "x.ckpt").string());
  Checkpoint failing{{"net", run.net}, {"user", Checkpoint::Part([]() -> SavedState { throw std::runtime_error("no"); },
                                                                 [](const SavedState &) { return std::function<void()>([] {}); })}};
  EXPECT_THROW(failing.save((folder / "x.ckpt").string()), std::runtime_error);
  EXPECT_EQ(*readFile((folder / "x.ckpt").string()), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

} // namespace
