// Findings: where, what, and a text that names everything a reader needs.
#include "runtime/cudasim/engine/Launch.h"

#include <cstdio>

namespace graphc::cudasim {

const char *findingName(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds: return "out-of-bounds access";
  case FindingKind::UseAfterFree: return "use after free";
  case FindingKind::Misaligned: return "misaligned access";
  case FindingKind::WriteToConstant: return "write to constant memory";
  case FindingKind::NullPointer: return "null pointer access";
  case FindingKind::SharedRace: return "shared memory race";
  case FindingKind::GlobalRace: return "global memory race";
  case FindingKind::SameValueWrite: return "same-value writes";
  case FindingKind::Uninitialised: return "use of uninitialised memory";
  case FindingKind::PendingAsyncCopy: return "access to a pending asynchronous copy";
  case FindingKind::StackOverflow: return "stack overflow";
  case FindingKind::BarrierDivergence: return "barrier divergence";
  case FindingKind::ImpossibleBarrier: return "barrier that cannot complete";
  case FindingKind::PartialWarpMask: return "wrong member mask";
  case FindingKind::SyncCheck: return "barrier after partial exit";
  case FindingKind::Deadlock: return "deadlock";
  case FindingKind::Livelock: return "livelock";
  case FindingKind::StepBudget: return "step budget exhausted";
  case FindingKind::Trap: return "trap";
  case FindingKind::Assertion: return "assertion failed";
  case FindingKind::InvalidInstruction: return "invalid operation";
  }
  return "finding";
}

const char *statusName(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::Ok: return "ok";
  case LaunchStatus::InvalidConfiguration: return "invalid configuration";
  case LaunchStatus::OutOfResources: return "out of resources";
  case LaunchStatus::TooLargeCooperative: return "cooperative launch too large";
  case LaunchStatus::Refused: return "refused";
  case LaunchStatus::IllegalAddress: return "illegal address";
  case LaunchStatus::MisalignedAddress: return "misaligned address";
  case LaunchStatus::Trapped: return "trap";
  case LaunchStatus::Asserted: return "assertion failed";
  case LaunchStatus::Timeout: return "timeout";
  case LaunchStatus::LaunchFailed: return "launch failed";
  }
  return "unknown";
}

CodeSite codeSite(const LaunchState &launch, const Block &block, const Warp &warp, const Inst &inst, unsigned lane) {
  CodeSite site;
  const DebugSite &debug = launch.site(inst);
  site.ptxLine = debug.at.ptxLine;
  site.instruction = std::string(debug.text);
  // Instructions of several lines read better on one.
  std::string flat;
  bool blank = false;
  for (char c : site.instruction) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      blank = !flat.empty();
      continue;
    }
    if (blank)
      flat += ' ';
    blank = false;
    flat += c;
  }
  site.instruction = flat;
  if (debug.at.line && debug.at.file < launch.module->program.files.size()) {
    site.file = launch.module->program.files[debug.at.file];
    site.line = debug.at.line;
  }
  site.block = block.id;
  uint32_t thread = warp.index * 32 + lane;
  Dim3 shape = launch.config->block;
  site.thread = {thread % shape.x, thread / shape.x % shape.y, thread / (shape.x * shape.y)};
  return site;
}

static std::string dim(const Dim3 &d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}
static std::string siteText(const CodeSite &site) {
  std::string text = "block " + dim(site.block) + " thread " + dim(site.thread) + " at PTX line " +
                     std::to_string(site.ptxLine) + ": " + site.instruction;
  if (site.line)
    text += "\n      source " + (site.file.empty() ? std::string("line ") : site.file + ":") + std::to_string(site.line);
  return text;
}

static LaunchStatus statusFor(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds: case FindingKind::UseAfterFree: case FindingKind::WriteToConstant:
  case FindingKind::NullPointer:
    return LaunchStatus::IllegalAddress;
  case FindingKind::Misaligned: return LaunchStatus::MisalignedAddress;
  case FindingKind::Trap: return LaunchStatus::Trapped;
  case FindingKind::Assertion: return LaunchStatus::Asserted;
  case FindingKind::Livelock: case FindingKind::StepBudget: case FindingKind::Deadlock:
    return LaunchStatus::Timeout;
  default: return LaunchStatus::LaunchFailed;
  }
}

void report(Warp &warp, const Inst &inst, unsigned lane, FindingKind kind, std::string text, uint64_t address,
            uint32_t bytes, std::optional<CodeSite> other, bool isError, std::string allocation) {
  Block &block = *warp.block;
  LaunchState &launch = *block.launch;
  bool fatal = isError && (!launch.config->keepGoing || kind == FindingKind::Trap || kind == FindingKind::Assertion ||
                           kind == FindingKind::Deadlock || kind == FindingKind::Livelock ||
                           kind == FindingKind::StepBudget || kind == FindingKind::StackOverflow || kind == FindingKind::ImpossibleBarrier ||
                           kind == FindingKind::BarrierDivergence || kind == FindingKind::PartialWarpMask);
  std::lock_guard lock(launch.mutex);
  CodeSite site = codeSite(launch, block, warp, inst, lane);
  bool known = false;
  for (Finding &finding : launch.result->findings)
    if (finding.kind == kind && finding.site.ptxLine == site.ptxLine &&
        (finding.other ? finding.other->ptxLine : 0) == (other ? other->ptxLine : 0)) {
      ++finding.count;
      known = true;
      break;
    }
  if (!known && launch.result->findings.size() < launch.config->maxFindings) {
    Finding finding;
    finding.kind = kind;
    finding.isError = isError;
    finding.kernel = launch.function->info.name;
    finding.address = address;
    finding.bytes = bytes;
    finding.message = std::string(isError ? "error: " : "note: ") + findingName(kind) + " in kernel " + finding.kernel +
                      ": " + text + "\n    " + siteText(site);
    if (address) {
      char number[32];
      std::snprintf(number, sizeof number, "0x%llx", (unsigned long long)address);
      finding.message += "\n    address " + std::string(number) + (bytes ? ", " + std::to_string(bytes) + " bytes" : "");
    }
    if (!allocation.empty())
      finding.message += "\n    " + allocation;
    if (other)
      finding.message += "\n    and " + siteText(*other);
    finding.allocation = std::move(allocation);
    finding.site = std::move(site);
    finding.other = std::move(other);
    launch.result->findings.push_back(std::move(finding));
  }
  if (isError && launch.result->status == LaunchStatus::Ok && (fatal || !launch.config->keepGoing))
    launch.result->status = statusFor(kind);
  if (fatal) {
    warp.event = Event::Fault;
    launch.stop = true;
  }
}

std::string describeShared(const LaunchState &launch, uint64_t offset) {
  const LaunchState::SharedRange *nearest = nullptr;
  uint64_t best = ~uint64_t(0);
  for (const auto &range : launch.sharedRanges) {
    uint64_t distance = offset < range.lo ? range.lo - offset : offset >= range.hi ? offset - range.hi + 1 : 0;
    if (distance < best) {
      best = distance;
      nearest = &range;
    }
  }
  if (!nearest)
    return "this block has no shared memory";
  std::string what = nearest->symbol ? "shared variable " + nearest->symbol->name : std::string("dynamic shared memory");
  what += " of " + std::to_string(nearest->hi - nearest->lo) + " bytes";
  if (offset < nearest->lo)
    return std::to_string(nearest->lo - offset) + " bytes before the " + what;
  if (offset >= nearest->hi)
    return std::to_string(offset - nearest->hi) + " bytes past the end of the " + what;
  return "offset " + std::to_string(offset - nearest->lo) + " in the " + what;
}

} // namespace graphc::cudasim
