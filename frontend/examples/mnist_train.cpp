// Trains a convolutional network on MNIST.
//
//   mnist_train [--data DIR] [--epochs N] [--batch N] [--device cpu] [--mode eager|default] [--checkpoint FILE] [--resume FILE] …
//
// DIR holds MNIST's files, all four or only the test images (of which the first 9,000 train and the last 1,000 test). Without
// --data it trains on digits it draws itself. After every epoch the whole run goes into the checkpoint; --resume goes on from
// there, bit for bit as if nothing had happened. With --compile (or --mode default) the whole step is one compiled program. The last line
// is the test accuracy.
#include "frontend/graphc/graphc.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <unistd.h>

using namespace graphc;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv1 = add("conv1", nn::Conv2d({.in = 1, .out = 32, .kernel = 3, .padding = 1}));
  nn::Conv2d conv2 = add("conv2", nn::Conv2d({.in = 32, .out = 64, .kernel = 3, .padding = 1}));
  nn::Linear hidden = add("hidden", nn::Linear(3136, 256)), classes = add("classes", nn::Linear(256, 10));
  nn::Dropout drop = add("drop", nn::Dropout(.5));
  Tensor forward(const Tensor &images) {
    Tensor x = maxPool2d(relu(conv1(images)), 2);
    x = maxPool2d(relu(conv2(x)), 2);
    return classes(drop(relu(hidden(x.flatten(1)))));
  }
};

/// One line that is drawn again and again, on a terminal only.
class ProgressBar {
public:
  ProgressBar(std::string title, int64_t total) : title_(std::move(title)), total_(total), started_(Clock::now()), shown_(isatty(STDERR_FILENO)) {}
  ~ProgressBar() {
    if (shown_)
      std::cerr << "\r\033[K";
  }
  void update(int64_t done, double loss) {
    if (!shown_ || total_ == 0)
      return;
    double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    double left = seconds / static_cast<double>(std::max<int64_t>(done, 1)) * static_cast<double>(total_ - done);
    constexpr int64_t kWidth = 30;
    int64_t filled = kWidth * done / total_;
    std::cerr << '\r' << title_ << " [" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] " << done << '/' << total_ << "  loss "
              << std::fixed << std::setprecision(4) << loss << "  " << static_cast<int64_t>(left + .5) << " s left \033[K" << std::flush;
  }

private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  int64_t total_;
  Clock::time_point started_;
  bool shown_;
};

struct Options {
  std::string data, device = "cpu", mode = "eager", amp, checkpoint, resume;
  int64_t epochs = 5, batch = 64, workers = 1, limit = 0;
  double rate = 1e-3;
  uint64_t seed = 1;
};

double accuracy(const nn::Handle<Net> &net, data::DataLoader &loader, Device device) {
  NoGrad guard;
  net->eval();
  int64_t right = 0, all = 0;
  for (data::Batch &batch : loader) {
    Tensor x = data::take(batch, 0).to(device), y = data::take(batch, 1).to(device);
    right += eq(net(x).argmax(1), y).sum().item<int64_t>();
    all += y.numel();
  }
  net->train();
  return all ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

void run(const Options &options) {
  if (options.mode != "eager" && options.mode != "default")
    throw Error(error(Code::InvalidOption, "--mode ", options.mode, ": this build trains with --mode eager or --mode default, which compiles the step"));
  bool compiled = options.mode == "default";
  if (!options.amp.empty())
    throw Error(error(Code::InvalidOption, "--amp ", options.amp, ": this build trains in f32 only; leave --amp out"));
  Device device(options.device);
  manualSeed(options.seed);
  data::Mnist mnist = options.data.empty() ? data::drawnDigits() : data::mnist(options.data);
  std::cout << mnist.description;
  if (options.limit > 0) {
    for (data::Dataset *images : {&mnist.train, &mnist.test})
      *images = images->subset(0, std::min(options.limit, images->size()));
    std::cout << "; --limit uses " << mnist.train.size() << " and " << mnist.test.size();
  }
  std::cout << '\n';
  auto prepared = [](const data::Dataset &images) { return images.map(data::toTensor()).map(data::normalize(.1307, .3081)); };
  data::DataLoader train(prepared(mnist.train), {.batchSize = options.batch, .shuffle = true, .workers = static_cast<int>(options.workers),
                                                 .persistent = options.workers > 0, .seed = options.seed});
  data::DataLoader test(prepared(mnist.test), {.batchSize = 250});

  auto net = nn::make<Net>();
  net->to(device);
  optim::Adam optimizer(net->parameters(), {.lr = options.rate});
  double lossSum = 0;
  Checkpoint checkpoint{{"net", net}, {"opt", optimizer}, {"loader", train}, {"rng", generator()}, {"loss", lossSum}};
  if (!options.resume.empty()) {
    checkpoint.load(options.resume);
    std::cout << "resumed from " << options.resume << " in epoch " << train.epoch() + 1 << '\n';
  }

  auto step = [&](const Tensor &x, const Tensor &y) {
    Tensor loss = crossEntropy(net(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss.detach();
  };
  auto fast = compile(step, {.state = {net, optimizer}});

  double reached = accuracy(net, test, device);
  while (static_cast<int64_t>(train.epoch()) < options.epochs) {
    auto started = std::chrono::steady_clock::now();
    int64_t epoch = static_cast<int64_t>(train.epoch()) + 1, images = 0;
    if (train.state().consumed == 0)
      lossSum = 0;
    {
      ProgressBar bar(text("epoch ", epoch, "/", options.epochs), train.size());
      for (data::Batch &batch : train) {
        Tensor x = data::take(batch, 0).to(device), y = data::take(batch, 1).to(device);
        Tensor loss = compiled ? fast(x, y) : step(x, y);
        lossSum += loss.item<double>();
        images += y.numel();
        bar.update(train.state().consumed, lossSum / static_cast<double>(train.state().consumed));
      }
    }
    reached = accuracy(net, test, device);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    std::cout << "epoch " << epoch << '/' << options.epochs << "  loss " << std::fixed << std::setprecision(4) << lossSum / static_cast<double>(train.size())
              << "  test accuracy " << std::setprecision(2) << 100 * reached << " %  " << std::setprecision(1) << seconds << " s  "
              << std::setprecision(0) << static_cast<double>(images) / seconds << " images/s" << std::endl;
    if (!options.checkpoint.empty())
      checkpoint.save(options.checkpoint);
  }
  std::cout << "test accuracy " << std::fixed << std::setprecision(2) << 100 * reached << " %" << std::endl;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("trains a convolutional network on MNIST, or on drawn digits without --data");
  app.add_option("--data", options.data, "folder with MNIST's files, plain or .gz");
  app.add_option("--epochs", options.epochs, "passes over the training images")->capture_default_str();
  app.add_option("--batch", options.batch, "images per step")->capture_default_str();
  app.add_option("--rate", options.rate, "Adam's learning rate")->capture_default_str();
  app.add_option("--device", options.device, "where to train")->capture_default_str();
  app.add_option("--mode", options.mode, "eager, or default: the whole step is compiled")->capture_default_str();
  app.add_flag_callback("--compile", [&] { options.mode = "default"; }, "the same as --mode default");
  app.add_option("--amp", options.amp, "mixed precision: bf16 or fp16");
  app.add_option("--checkpoint", options.checkpoint, "file that holds the run after every epoch");
  app.add_option("--resume", options.resume, "checkpoint to go on from");
  app.add_option("--workers", options.workers, "threads that load images")->capture_default_str();
  app.add_option("--limit", options.limit, "use so many images only");
  app.add_option("--seed", options.seed, "of initial weights, order and dropout")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &problem) {
    return app.exit(problem) ? 2 : 0;
  }
  try {
    run(options);
  } catch (const Error &problem) {
    std::cerr << "mnist_train: error " << problem.what() << '\n';
    return 1;
  }
}
