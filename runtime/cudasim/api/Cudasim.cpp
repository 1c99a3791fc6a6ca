// The simulator's own C entry points (cudasim.h).
#include "runtime/cudasim/cudasim.h"
#include "runtime/cudasim/api/Driver.h"

using namespace graphc::cudasim;

#define CUDASIM_EXPORT __attribute__((visibility("default")))

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

CUDASIM_EXPORT void graphcCudasimReset(void) {
  Call call(__func__, __builtin_return_address(0));
  call.driver.reset();
}

} // extern "C"
