// compile(): the programs of one function, and which of them a call takes.
#include "frontend/graphc/compile.h"

#include "frontend/eager/Dispatch.h"
#include "frontend/trace/Program.h"

namespace graphc::detail {

struct CompiledCore::State {
  CompileSettings settings;
  std::vector<std::unique_ptr<trace::Program>> programs; // the one used last comes first
  CompileReport report;
};

CompiledCore::CompiledCore(CompileSettings settings) : state_(std::make_unique<State>()) { state_->settings = std::move(settings); }
CompiledCore::~CompiledCore() = default;
const CompileReport &CompiledCore::report() const { return state_->report; }
std::string CompiledCore::ir() const { return state_->programs.empty() ? "" : state_->programs.front()->ir(); }

CallOutcome CompiledCore::call(CallLeaves leaves, const std::function<CallOutcome(CallLeaves &)> &fn) {
  ++state_->report.calls;
  auto &programs = state_->programs;
  std::string reason;
  for (size_t p = 0; p < programs.size(); ++p) {
    std::string why = programs[p]->mismatch(leaves);
    if (why.empty()) {
      std::rotate(programs.begin(), programs.begin() + static_cast<std::ptrdiff_t>(p), programs.begin() + static_cast<std::ptrdiff_t>(p) + 1);
      return programs[0]->run(leaves);
    }
    if (p == 0)
      reason = why;
  }
  if (static_cast<int>(programs.size()) >= state_->settings.recompileLimit)
    eager::failWith(codes::InvalidArgument, "compile: the ", programs.size(), " programs that recompileLimit allows do not hold for this call: ", reason,
                    "; declare sizes that change with .dims, or raise .recompileLimit");
  auto program = trace::Program::make(state_->settings, leaves, fn, state_->report);
  ++state_->report.programs;
  if (!reason.empty()) {
    state_->report.reasons.push_back(reason);
    if (state_->settings.log)
      state_->settings.log(text("compiled again: ", reason));
  }
  programs.insert(programs.begin(), std::move(program));
  if (std::string why = programs[0]->mismatch(leaves); !why.empty())
    eager::failWith(Code::Internal, "compile: a program does not hold right after it was made: ", why);
  return programs[0]->run(leaves);
}

} // namespace graphc::detail
