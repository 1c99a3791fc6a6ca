// compile(): the programs of one function, and which of them a call takes.
#include "frontend/graphc/compile.h"

#include "frontend/eager/Dispatch.h"
#include "frontend/trace/Program.h"

#include <algorithm>
#include <optional>

namespace graphc::detail {

struct CompiledCore::State {
  CompileSettings settings;
  std::vector<std::unique_ptr<trace::Program>> programs; // the one used last comes first
  std::vector<trace::OpenAxis> changed;                  // sizes that have changed since the first call
  CompileReport report;

  /// The declared dims and those that have changed.
  std::vector<trace::OpenAxis> openAxes(const CallLeaves &leaves) const {
    std::vector<trace::OpenAxis> axes;
    for (const Dim &dim : settings.dims) {
      bool any = false;
      for (size_t i = 0; i < leaves.tensors.size(); ++i) {
        const Tensor &tensor = leaves.tensors[i];
        bool named = dim.arguments.empty() || std::ranges::find(dim.arguments, static_cast<int>(i)) != dim.arguments.end();
        if (!named || !tensor.defined() || tensor.dim() <= dim.axis)
          continue;
        any = true;
        int64_t size = tensor.size(dim.axis);
        if (size < dim.lo || size > dim.hi)
          eager::failWith(Code::SymbolRange, "compile: tensor argument ", i, " has size ", size, " in axis ", dim.axis, ", '", dim.name, "' is declared to be in [",
                          dim.lo, ", ", dim.hi, "]");
        for (const trace::OpenAxis &same : axes)
          if (int64_t other = leaves.tensors[static_cast<size_t>(same.argument)].size(same.axis); same.name == dim.name && other != size)
            eager::failWith(Code::SymbolRange, "compile: '", dim.name, "' is ", other, " in tensor argument ", same.argument, " (axis ", same.axis, ") and ", size,
                            " in tensor argument ", i, " (axis ", dim.axis, "); declare two Dims when these sizes may differ");
        axes.push_back({dim.name, dim.lo, dim.hi, static_cast<int>(i), dim.axis});
      }
      if (!any)
        eager::failWith(Code::InvalidOption, "compile: no tensor argument has the axis ", dim.axis, " that '", dim.name, "' names");
    }
    axes.insert(axes.end(), changed.begin(), changed.end());
    return axes;
  }

  /// Notes which sizes differ from those of the last program, to be left open in the next one.
  void noteChanges(const CallLeaves &leaves) {
    for (auto &[axis, before] : programs.front()->changedSizes(leaves)) {
      int64_t now = leaves.tensors[static_cast<size_t>(axis.argument)].size(axis.axis);
      // Sizes of 0 and 1 mean something else: nothing, and repetition.
      if (now < 2 || before < 2 || std::ranges::any_of(changed, [&](const trace::OpenAxis &known) { return known.argument == axis.argument && known.axis == axis.axis; }))
        continue;
      axis.lo = 2;
      axis.hi = Dim::kUnbounded;
      axis.name = graphc::text("size", before);
      changed.push_back(axis);
    }
    // Sizes that were equal and no longer are have been one by chance.
    for (size_t i = 0; i < changed.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (changed[k].name == changed[i].name && leaves.tensors[static_cast<size_t>(changed[k].argument)].size(changed[k].axis) !=
                                                     leaves.tensors[static_cast<size_t>(changed[i].argument)].size(changed[i].axis))
          changed[i].name += "_";
  }
};

CompiledCore::CompiledCore(CompileSettings settings) : state_(std::make_unique<State>()) { state_->settings = std::move(settings); }
CompiledCore::~CompiledCore() = default;
const CompileReport &CompiledCore::report() const { return state_->report; }
std::string CompiledCore::ir() const { return state_->programs.empty() ? "" : state_->programs.front()->ir(); }

void CompiledCore::save(const std::string &path) const {
  if (state_->programs.empty())
    eager::failWith(codes::InvalidArgument, "save: the function has not been called yet; call it once, so that it is known what to compile");
  state_->programs.front()->save(path);
}

CallOutcome CompiledCore::call(CallLeaves leaves, const std::function<CallOutcome(CallLeaves &)> &fn) {
  ++state_->report.calls;
  auto &programs = state_->programs;
  std::string reason;
  std::optional<trace::Program::Recorded> asIs; // what the function does for this call
  // One made for these very sizes is faster than one for all.
  for (bool open : {false, true})
    for (size_t p = 0; p < programs.size(); ++p) {
      if (programs[p]->isOpen() != open)
        continue;
      std::string why = programs[p]->mismatch(leaves);
      if (why.empty() && !programs[p]->isVerified(leaves)) {
        if (!asIs)
          asIs = trace::Program::recordAsIs(state_->settings, leaves, fn);
        why = programs[p]->verify(*asIs, leaves);
        if (!why.empty())
          reason = why = "the function does something else for these values: " + why;
      }
      if (why.empty()) {
        std::rotate(programs.begin(), programs.begin() + static_cast<std::ptrdiff_t>(p), programs.begin() + static_cast<std::ptrdiff_t>(p) + 1);
        return programs[0]->run(leaves);
      }
      if (p == 0 && reason.empty())
        reason = why;
    }
  if (static_cast<int>(programs.size()) >= state_->settings.recompileLimit)
    eager::failWith(codes::InvalidArgument, "compile: the ", programs.size(), " programs that recompileLimit allows do not hold for this call: ", reason,
                    "; declare sizes that change with .dims, or raise .recompileLimit");
  if (!programs.empty())
    state_->noteChanges(leaves);
  std::vector<trace::OpenAxis> open = state_->openAxes(leaves);
  std::erase_if(open, [&](const trace::OpenAxis &axis) {
    int64_t size = leaves.tensors[static_cast<size_t>(axis.argument)].size(axis.axis);
    return size < axis.lo || size > axis.hi;
  });
  auto program = trace::Program::make(state_->settings, open, leaves, fn, state_->report);
  ++state_->report.programs;
  if (!reason.empty()) {
    state_->report.reasons.push_back(reason);
    if (state_->settings.log)
      state_->settings.log(graphc::text("compiled again: ", reason));
  }
  programs.insert(programs.begin(), std::move(program));
  if (std::string why = programs[0]->mismatch(leaves); !why.empty())
    eager::failWith(Code::Internal, "compile: a program does not hold right after it was made: ", why);
  return programs[0]->run(leaves);
}

} // namespace graphc::detail
