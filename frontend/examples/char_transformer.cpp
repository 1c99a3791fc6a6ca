// A small GPT over characters: learns a text, then writes some of its own.
//
//   char_transformer [--text FILE] [--steps N] [--layers N] [--width D] [--heads N] [--length T] [--batch N] [--generate N] [--compile] …
//
// Without --text it learns a text that the program makes up: sums such as "12+7=19;", whose answers show at a glance whether it
// has learned anything.
#include "frontend/graphc/graphc.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <set>

using namespace graphc;

namespace {

struct Options {
  std::string text, save, mode = "eager";
  int64_t steps = 150, layers = 2, width = 64, heads = 4, length = 32, batch = 16, generate = 80;
  double rate = 3e-3, temperature = .7;
  uint64_t seed = 1;
};

struct Gpt : nn::Module {
  nn::Embedding token, place;
  nn::TransformerEncoder blocks;
  nn::Linear head;
  Gpt(int64_t characters, const Options &o)
      : token(add("token", nn::Embedding(characters, o.width))), place(add("place", nn::Embedding(o.length, o.width))),
        blocks(add("blocks", nn::TransformerEncoder({.embedding = o.width, .heads = o.heads, .feedforward = 4 * o.width, .dropout = .1, .gelu = true,
                                                     .batchFirst = true, .normFirst = true}, o.layers, true))),
        head(add("head", nn::Linear(o.width, characters))) {}
  /// Scores of the next character at every place: [batch, time] -> [batch, time, characters].
  Tensor forward(const Tensor &ids) {
    Tensor x = token(ids) + place(arange(Scalar(ids.size(1))));
    return head(blocks(x, nn::AttentionCall{.causal = true}));
  }
};

/// Pieces of a text and the same one character on; each epoch sees pieces from other places.
class Pieces : public data::MapSource {
public:
  Pieces(std::vector<int64_t> ids, int64_t length) : ids_(std::move(ids)), length_(length) {}
  int64_t size() const override { return std::max<int64_t>(1, static_cast<int64_t>(ids_.size()) / length_); }
  data::Sample get(int64_t, data::RandomStream &random) const override {
    size_t start = random.below(ids_.size() - static_cast<size_t>(length_));
    data::Sample sample;
    for (size_t shift : {0, 1})
      sample.fields.push_back(HostTensor::of<int64_t>({length_}, std::span<const int64_t>(ids_).subspan(start + shift, static_cast<size_t>(length_))));
    return sample;
  }

private:
  std::vector<int64_t> ids_;
  int64_t length_;
};

std::string sums() {
  std::string text;
  data::RandomStream random(7, 0, 0);
  while (text.size() < 20000) {
    uint64_t a = random.below(20), b = random.below(20);
    text += std::to_string(a) + '+' + std::to_string(b) + '=' + std::to_string(a + b) + ';';
  }
  return text;
}

std::string generate(const nn::Handle<Gpt> &gpt, const std::string &alphabet, std::vector<int64_t> ids, const Options &o) {
  NoGrad guard;
  gpt->eval();
  data::RandomStream random(o.seed, 0, 1);
  std::string out;
  for (int64_t k = 0; k < o.generate; ++k) {
    size_t from = ids.size() > static_cast<size_t>(o.length) ? ids.size() - static_cast<size_t>(o.length) : 0;
    std::vector<int64_t> window(ids.begin() + static_cast<int64_t>(from), ids.end());
    Tensor scores = gpt(fromVector(window, {1, static_cast<int64_t>(window.size())})).select(0, 0).select(0, -1);
    std::vector<float> chances = softmax(scores / Scalar(o.temperature), 0).toVector<float>();
    double draw = random.uniform();
    size_t next = 0;
    while (next + 1 < chances.size() && (draw -= chances[next]) >= 0)
      ++next;
    ids.push_back(static_cast<int64_t>(next));
    out += alphabet[next];
  }
  gpt->train();
  return out;
}

void run(const Options &o) {
  if (o.mode != "eager" && o.mode != "default")
    throw Error(error(Code::InvalidOption, "--mode ", o.mode, ": this build trains with --mode eager or --mode default, which compiles the step"));
  std::string text = sums();
  if (!o.text.empty()) {
    std::ifstream file(o.text, std::ios::binary);
    if (!file)
      throw Error(error(Code::ModelUnreadable, "cannot open '", o.text, "'"));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (static_cast<int64_t>(text.size()) < o.length + 2)
    throw Error(error(Code::InvalidOption, "the text has ", text.size(), " characters; --length ", o.length, " needs at least ", o.length + 2));
  std::set<char> characters(text.begin(), text.end());
  std::string alphabet(characters.begin(), characters.end());
  std::vector<int64_t> ids;
  for (char c : text)
    ids.push_back(static_cast<int64_t>(alphabet.find(c)));

  manualSeed(o.seed);
  auto gpt = nn::make<Gpt>(static_cast<int64_t>(alphabet.size()), o);
  int64_t weights = 0;
  for (const Tensor &parameter : gpt->parameters())
    weights += parameter.numel();
  std::cout << text.size() << " characters, " << alphabet.size() << " of them different; " << weights << " weights\n";
  optim::AdamW optimizer(gpt->parameters(), {.lr = o.rate, .weightDecay = .1});
  optim::CosineAnnealing schedule(optimizer, {.steps = std::max<int64_t>(1, o.steps), .lowest = o.rate / 10, .warmup = o.steps / 20});
  data::DataLoader loader(std::make_shared<Pieces>(ids, o.length), {.batchSize = o.batch, .workers = 1, .seed = o.seed});
  auto learn = [&](const Tensor &x, const Tensor &y) {
    Tensor loss = crossEntropy(gpt(x).flatten(0, 1), y.flatten());
    loss.backward();
    optim::clipGradNorm(gpt->parameters(), 1);
    optimizer.step();
    optimizer.zeroGrad();
    return loss.detach();
  };
  auto fast = compile(learn, {.state = {gpt, optimizer}});
  double sum = 0;
  int64_t every = std::max<int64_t>(1, o.steps / 5);
  for (int64_t step = 0; step < o.steps;)
    for (data::Batch &batch : loader) {
      Tensor x = data::take(batch, 0), y = data::take(batch, 1);
      Tensor loss = o.mode == "default" ? fast(x, y) : learn(x, y);
      schedule.step();
      sum += loss.item<double>();
      if (++step % every == 0) {
        std::cout << "step " << step << '/' << o.steps << "  loss " << std::fixed << std::setprecision(4) << sum / static_cast<double>(every) << std::endl;
        sum = 0;
      }
      if (step == o.steps)
        break;
    }
  if (!o.save.empty())
    gpt->save(o.save);
  std::cout << "it writes: " << generate(gpt, alphabet, {ids.begin(), ids.begin() + std::min<int64_t>(o.length, 8)}, o) << std::endl;
}

} // namespace

int main(int argc, char **argv) {
  Options o;
  CLI::App app("trains a small GPT over characters and lets it write");
  app.add_option("--text", o.text, "file to learn; without it, sums that the program makes up");
  app.add_option("--steps", o.steps, "training steps")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--layers", o.layers, "transformer layers")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--width", o.width, "features per character")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--heads", o.heads, "attention heads")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--length", o.length, "characters seen at once")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--batch", o.batch, "pieces per step")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rate", o.rate, "AdamW's highest learning rate")->capture_default_str();
  app.add_option("--generate", o.generate, "characters to write at the end")->capture_default_str();
  app.add_option("--temperature", o.temperature, "below 1: likelier characters")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--mode", o.mode, "eager, or default: the whole step is compiled")->capture_default_str();
  app.add_flag_callback("--compile", [&] { o.mode = "default"; }, "the same as --mode default");
  app.add_option("--save", o.save, "weights as a safetensors file");
  app.add_option("--seed", o.seed, "of weights, order, dropout and writing")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &problem) {
    return app.exit(problem) ? 2 : 0;
  }
  try {
    run(o);
  } catch (const Error &problem) {
    std::cerr << "char_transformer: error " << problem.what() << '\n';
    return 1;
  }
}
