// Recorded calls: the autograd node of a function, which runs the function's compiled gradient.
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/ops.h"
#include "runtime/autograd/Engine.h"

#include <algorithm>
#include <ranges>

namespace graphc::eager {

namespace {

/// A tensor kept for backward, as the function saw it.
struct Saved {
  TensorRef tensor;
  uint32_t version = 0;
  int8_t rank = 0;
  bool isResult = false;
  int resultNumber = 0;
  int64_t dims[6];                    // of ranks up to 6
  std::unique_ptr<int64_t[]> strides; // when not dense; also dims of higher ranks
};

class FunctionNode final : public Node {
public:
  FunctionNode(std::shared_ptr<Function> function, const Gradient &gradient, int results) : Node(results), function_(std::move(function)), gradient_(gradient) {}

  std::string name() const override { return function_->name + "Backward"; }

  /// `results` have the program's sizes; tensors made of them have `shape` when that is given.
  void save(std::span<Operand> operands, std::span<const int64_t> symbols, std::span<TensorRef> results, const ResultShape *shape) {
    size_t room = symbols.size();
    for (const Operand &operand : operands)
      room += static_cast<size_t>(operand.tensor->rank);
    for (const TensorRef &result : results)
      room += static_cast<size_t>(result->rank);
    numbers_.reserve(room);
    numbers_.assign(symbols.begin(), symbols.end());
    ends_.reserve(1 + operands.size() + results.size());
    ends_.push_back(static_cast<uint16_t>(numbers_.size()));
    for (size_t i = 0; i < operands.size(); ++i) {
      if (gradient_.needs >> i & 1)
        numbers_.insert(numbers_.end(), operands[i].tensor->sizes, operands[i].tensor->sizes + operands[i].tensor->rank);
      ends_.push_back(static_cast<uint16_t>(numbers_.size()));
    }
    for (const TensorRef &result : results) {
      numbers_.insert(numbers_.end(), result->sizes, result->sizes + result->rank);
      ends_.push_back(static_cast<uint16_t>(numbers_.size()));
    }
    arguments_ = operands.size();
    saved_.resize(gradient_.info.inputs.size());
    for (size_t i = 0; i < saved_.size(); ++i) {
      const GradientInput &input = gradient_.info.inputs[i];
      if (input.kind == GradientInput::Argument)
        keep(saved_[i], operands[input.index]);
      else if (input.kind == GradientInput::Result)
        keepResult(saved_[i], *results[input.index], input.index, shape);
    }
  }

  void releaseSaved() override {
    for (const Saved &saved : saved_)
      released_ |= bool(saved.tensor);
    saved_.clear();
  }

  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &options) override {
    if (released_)
      throw AutogradFailure{error(codes::AutogradMisuse, "backward: ", name(), " has run before and its saved tensors are freed; pass retainGraph = true to "
                                  "the first backward() to go through this graph a second time")};
    const OpGradient &info = gradient_.info;
    Operand operands[kMaxInputs + 8];
    assert(info.inputs.size() <= kMaxInputs + 8);
    for (size_t i = 0; i < info.inputs.size(); ++i) {
      const GradientInput &input = info.inputs[i];
      if (input.kind == GradientInput::ResultGradient)
        takeGradient(operands[i], in, input.index);
      else
        restore(saved_[i], operands[i]);
    }
    TensorRef results[kMaxInputs];
    size_t count = info.program.results.size();
    if (count) {
      std::span<TensorRef> span(results, count);
      runRecorded(gradient_.function, std::span<Operand>(operands, info.inputs.size()), part(0), span);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!(gradient_.needs >> i & 1) || i >= info.gradients.size())
        continue;
      int from = info.gradients[i];
      if (from == OpGradient::kNone)
        continue;
      if (from >= 0) {
        out[i] = results[from];
        // One result may serve two operands; its sizes are changed only while it is ours alone.
        if (out[i]->refs.load() > 2 || !std::ranges::equal(out[i]->sizeSpan(), argumentSizes(i)))
          out[i] = sized(out[i], argumentSizes(i), out[i]->refs.load() <= 2);
      } else {
        const GradientInput &passed = info.inputs[static_cast<size_t>(-2 - from)];
        TensorRef gradient = passed.kind == GradientInput::ResultGradient ? in[passed.index] : operands[-2 - from].tensor;
        out[i] = sized(gradient, argumentSizes(i), false);
      }
    }
  }

private:
  static void keep(Saved &saved, const Operand &operand) {
    saved.tensor = operand.tensor;
    saved.version = operand.tensor->storage->version.load(std::memory_order_relaxed);
    saved.rank = static_cast<int8_t>(operand.rank);
    if (operand.dense && operand.rank <= 6) {
      std::copy(operand.dims, operand.dims + operand.rank, saved.dims);
      return;
    }
    saved.strides = std::make_unique<int64_t[]>(2 * static_cast<size_t>(operand.rank));
    std::copy(operand.dims, operand.dims + operand.rank, saved.strides.get());
    std::copy(operand.strides, operand.strides + operand.rank, saved.strides.get() + operand.rank);
  }

  /// A result points to this node: what is kept is its memory alone.
  static void keepResult(Saved &saved, TensorImpl &result, int number, const ResultShape *shape) {
    Operand operand;
    operand.tensor = detail::newView(result.storage, result.dtype, result.sizeSpan(), result.strideSpan(), result.offset);
    if (shape)
      reshapeFresh(*operand.tensor, shape->sizes);
    operand.rank = result.rank;
    std::copy(result.sizes, result.sizes + result.rank, operand.dims);
    std::copy(result.strides, result.strides + result.rank, operand.strides);
    keep(saved, operand);
    saved.isResult = true;
    saved.resultNumber = number;
  }

  void restore(const Saved &saved, Operand &operand) {
    uint32_t version = saved.tensor->storage->version.load(std::memory_order_relaxed);
    if (version != saved.version)
      throw AutogradFailure{error(codes::AutogradMisuse, "backward: ", name(), " needs ", saved.isResult ? "the result " : "the operand ",
                                  nameOf(*saved.tensor), " of ", function_->name, ", which was changed in place: it is at version ", version,
                                  ", expected version ", saved.version, "; change a clone() instead, or change it before ", function_->name)};
    operand.tensor = saved.tensor;
    if (saved.isResult && GradMode::isEnabled()) {
      // For gradients of gradients it is this node's result again.
      operand.tensor = detail::newView(saved.tensor->storage, saved.tensor->dtype, saved.tensor->sizeSpan(), saved.tensor->strideSpan(),
                                       saved.tensor->offset);
      operand.tensor->requiresGrad = true;
      AutogradMeta &meta = autogradMeta(*operand.tensor);
      meta.gradFn = NodeRef(this);
      meta.outputNumber = saved.resultNumber;
    }
    operand.rank = saved.rank;
    operand.dense = !saved.strides || detail::isDense({saved.strides.get(), static_cast<size_t>(saved.rank)},
                                                      {saved.strides.get() + saved.rank, static_cast<size_t>(saved.rank)});
    const int64_t *dims = saved.strides ? saved.strides.get() : saved.dims;
    std::copy(dims, dims + saved.rank, operand.dims);
    if (saved.strides)
      std::copy(dims + saved.rank, dims + 2 * saved.rank, operand.strides);
    else
      detail::denseStrides({operand.dims, static_cast<size_t>(operand.rank)}, operand.strides);
  }

  /// Where the gradients that came are.
  static detail::DeviceId gradientDevice(const std::vector<TensorRef> &in) {
    auto given = std::ranges::find_if(in, [](const TensorRef &each) { return bool(each); });
    return given == in.end() ? detail::DeviceId() : (*given)->storage->device;
  }

  /// A gradient under the sizes the function gave its result.
  void takeGradient(Operand &operand, std::vector<TensorRef> &in, int result) {
    TensorRef &gradient = in[static_cast<size_t>(result)];
    std::span<const int64_t> dims = part(1 + arguments_ + static_cast<size_t>(result));
    if (!gradient) {
      DType dtype = function_->program.results[result].dtype;
      Recorder *tracing = recorder();
      gradient = tracing ? tracing->full(dtype, dims, 0) : newTensorOn(gradientDevice(in), dtype, dims);
      if (!gradient)
        failWith(Code::OutOfMemory, name(), ": no memory for a gradient");
      if (!tracing)
        fill(*gradient, 0);
    }
    bool same = std::ranges::equal(gradient->sizeSpan(), dims);
    if (!gradient->dense && !same)
      gradient = ref(wrap(gradient).contiguous());
    operand.tensor = gradient;
    operand.rank = static_cast<int>(dims.size());
    operand.dense = gradient->dense;
    std::copy(dims.begin(), dims.end(), operand.dims);
    if (gradient->dense)
      detail::denseStrides(dims, operand.strides);
    else
      std::copy(gradient->strides, gradient->strides + gradient->rank, operand.strides);
  }

  static TensorRef sized(const TensorRef &gradient, std::span<const int64_t> sizes, bool fresh) {
    if (std::ranges::equal(gradient->sizeSpan(), sizes))
      return gradient;
    if (fresh) {
      reshapeFresh(*gradient, sizes);
      return gradient;
    }
    return ref(wrap(gradient).reshape(sizes));
  }

  std::shared_ptr<Function> function_;
  const Gradient &gradient_; // lives as long as function_
  std::vector<Saved> saved_;
  // Symbols, then the sizes of each argument that needs a gradient, then of each result as the program has them.
  std::span<const int64_t> part(size_t i) const {
    size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {numbers_.data() + begin, ends_[i] - begin};
  }
  std::span<const int64_t> argumentSizes(size_t i) const { return part(1 + i); }
  std::vector<int64_t> numbers_;
  std::vector<uint16_t> ends_;
  size_t arguments_ = 0;
  bool released_ = false;
};

} // namespace

void runRecorded(const std::shared_ptr<Function> &function, std::span<Operand> operands, std::span<const int64_t> symbols,
                 std::span<TensorRef> results, const ResultShape *shape) {
  ThreadContext &context = ThreadContext::current();
  uint64_t needs = 0;
  if (context.gradEnabled)
    for (size_t i = 0; i < operands.size(); ++i)
      if (requiresGradNow(*operands[i].tensor) && isFloat(operands[i].tensor->dtype))
        needs |= uint64_t(1) << i;
  uint64_t given = 0;
  if (needs)
    for (size_t r = 0; r < function->program.results.size(); ++r)
      if (isFloat(function->program.results[r].dtype))
        given |= uint64_t(1) << r;
  if (!given) {
    runFunction(*function, operands, symbols, results);
    for (TensorRef &result : results) {
      if (shape)
        reshapeFresh(*result, shape->sizes);
      if (context.inferenceMode)
        result->storage->inference = true;
    }
    return;
  }
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].tensor->storage->inference)
      failWith(codes::AutogradMisuse, function->name, ": ", nameOf(*operands[i].tensor),
               " was made in inference mode and cannot be saved for backward; clone() it outside first");
  const Gradient &gradient = function->gradient(needs, given);
  // Dense copies that running makes are not what is saved.
  auto node = NodeRef::adopt(new FunctionNode(function, gradient, static_cast<int>(results.size())));
  Edge edges[kMaxInputs + 8];
  for (size_t i = 0; i < operands.size(); ++i)
    if (needs >> i & 1)
      edges[i] = gradientEdge(*operands[i].tensor);
  Operand before[kMaxInputs + 8];
  bool anyStrided = false;
  for (const Operand &operand : operands)
    anyStrided |= !operand.dense;
  if (anyStrided)
    std::copy(operands.begin(), operands.end(), before);
  runFunction(*function, operands, symbols, results);
  node->edges.assign(edges, edges + operands.size());
  node->sequence = nextSequence();
  static_cast<FunctionNode &>(*node).save(anyStrided ? std::span<Operand>(before, operands.size()) : operands, symbols, results, shape);
  for (size_t r = 0; r < results.size(); ++r) {
    if (shape)
      reshapeFresh(*results[r], shape->sizes);
    if (!(given >> r & 1))
      continue;
    results[r]->requiresGrad = true;
    AutogradMeta &meta = autogradMeta(*results[r]);
    meta.gradFn = node;
    meta.outputNumber = static_cast<int>(r);
  }
}

} // namespace graphc::eager
