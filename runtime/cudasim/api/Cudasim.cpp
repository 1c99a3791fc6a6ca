// The simulator's own C entry points (cudasim.h).
#include "runtime/cudasim/cudasim.h"
#include "runtime/cudasim/api/Actions.h"

using namespace graphc::cudasim;

#define CUDASIM_EXPORT __attribute__((visibility("default")))

namespace {

/// A part of an allocation begins or ends in stream order.
class PartAction final : public Action {
public:
  bool begins = true;
  uint64_t base = 0, size = 0;
  std::string label;

  std::string describe() const override {
    return std::string(begins ? "hand-out" : "return") + " of " + std::to_string(size) + " pool bytes" +
           (label.empty() ? "" : " (" + label + ")");
  }
  bool survivesFailure() const override { return true; }
  void run(Operation &operation) override {
    Driver &driver = Driver::get();
    MemoryRecord *record = driver.findMemory(base);
    if (!record)
      return;
    driver.touch(operation, AccessKind::Write, base, base + size);
    if (begins)
      record->device->memory->annotate(base, size, label);
    else
      record->device->memory->unannotate(base);
  }
};

int submitPart(Driver &driver, void *handle, std::shared_ptr<PartAction> action) {
  Stream *stream = driver.stream(static_cast<CUstream>(handle));
  MemoryRecord *record = driver.findMemory(action->base);
  if (!stream || stream->capture || !record || !record->onDevice() || !action->size ||
      action->base + action->size > record->base + record->size)
    return 1;
  return driver.submit(*stream, std::move(action)) == CUDA_SUCCESS ? 0 : 1;
}

} // namespace

extern "C" {

CUDASIM_EXPORT int graphcCudasimConfigure(const char *text) {
  Call call(__func__, __builtin_return_address(0));
  Driver &driver = call.driver;
  Options next = driver.options;
  next.shapesDevices = false;
  std::string error;
  if (!text || !parseOptions(text, next, error)) {
    driver.lastError = text ? error : "cudasim options: a null pointer was passed";
    return 1; // the last good options stay
  }
  if (driver.initialised && next.shapesDevices) {
    driver.lastError = "cudasim options gpu, cc, devices, memory and check=uninitialised must come before cuInit";
    return 2;
  }
  driver.lastError.clear();
  driver.optionError.clear();
  driver.options = next;
  driver.log.setTarget(next.report);
  if (driver.initialised) {
    driver.scheduler.configure(next.schedule, next.seed);
    driver.hostWatch.setEnabled(next.hostWatch && next.streams);
    driver.startIdleRunner();
  }
  return 0;
}

CUDASIM_EXPORT const char *graphcCudasimError(void) {
  Call call(__func__, __builtin_return_address(0));
  return call.driver.lastError.c_str();
}

CUDASIM_EXPORT size_t graphcCudasimReports(const GraphcCudasimReport **reports) {
  Call call(__func__, __builtin_return_address(0));
  if (call.driver.initialised)
    call.driver.collectHostTouches();
  return call.driver.log.reports(reports);
}

CUDASIM_EXPORT void graphcCudasimClear(void) {
  Call call(__func__, __builtin_return_address(0));
  call.driver.log.clear();
}

CUDASIM_EXPORT size_t graphcCudasimLaunches(const GraphcCudasimLaunch **launches) {
  Call call(__func__, __builtin_return_address(0));
  return call.driver.log.launches(launches);
}

CUDASIM_EXPORT size_t graphcCudasimUnsupportedCalls(const GraphcCudasimCall **calls) {
  Call call(__func__, __builtin_return_address(0));
  return call.driver.log.unsupportedCalls(calls);
}

CUDASIM_EXPORT int graphcCudasimAnnotate(uint64_t address, uint64_t bytes, const char *label) {
  Call call(__func__, __builtin_return_address(0));
  MemoryRecord *record = call.driver.findMemory(address);
  if (!record || !record->onDevice())
    return 1;
  return record->device->memory->annotate(address, bytes, label ? label : "") ? 0 : 1;
}

CUDASIM_EXPORT int graphcCudasimUnannotate(uint64_t address) {
  Call call(__func__, __builtin_return_address(0));
  MemoryRecord *record = call.driver.findMemory(address);
  if (!record || !record->onDevice())
    return 1;
  return record->device->memory->unannotate(address) ? 0 : 1;
}

CUDASIM_EXPORT int graphcCudasimAnnotateIn(void *stream, uint64_t address, uint64_t bytes, const char *label) {
  Call call(__func__, __builtin_return_address(0));
  auto action = std::make_shared<PartAction>();
  action->base = address;
  action->size = bytes;
  action->label = label ? label : "";
  return submitPart(call.driver, stream, std::move(action));
}

CUDASIM_EXPORT int graphcCudasimUnannotateIn(void *stream, uint64_t address, uint64_t bytes) {
  Call call(__func__, __builtin_return_address(0));
  auto action = std::make_shared<PartAction>();
  action->begins = false;
  action->base = address;
  action->size = bytes;
  return submitPart(call.driver, stream, std::move(action));
}

CUDASIM_EXPORT void graphcCudasimReset(void) {
  Call call(__func__, __builtin_return_address(0));
  call.driver.reset();
}

} // extern "C"
