#include "runtime/devices/cuda/Driver.h"

#include <dlfcn.h>

namespace graphc::cuda {

DriverEntry::DriverEntry(Driver &driver, const char *name, bool optional) : driver_(driver), name_(name), optional_(optional) {
  driver.entries_.push_back(this);
}

Status DriverEntry::failure(CUresult code) const {
  Code kind = code == CUDA_ERROR_OUT_OF_MEMORY ? Code::OutOfMemory : Code::DeviceUnavailable;
  return error(kind, name_, " failed: ", driver_.meaning(code));
}

Driver::~Driver() {
  if (handle_)
    dlclose(handle_);
}

std::string Driver::versionText() const { return text(version_ / 1000, ".", version_ % 1000 / 10); }

std::string Driver::meaning(CUresult code) const {
  const char *name = nullptr, *words = nullptr;
  if (getErrorName.raw(code, &name) != CUDA_SUCCESS || !name)
    return text("unknown error code ", static_cast<int>(code));
  if (getErrorString.raw(code, &words) != CUDA_SUCCESS || !words)
    words = "no description";
  return text(name, " (", static_cast<int>(code), "): ", words);
}

void *Driver::find(const char *name) const { return dlsym(handle_, name); }

Result<std::shared_ptr<const Driver>> Driver::open(const std::string &library, const std::string &simulatorOptions) {
  std::shared_ptr<Driver> driver(new Driver);
  driver->library_ = library;
  driver->handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!driver->handle_)
    return error(Code::DeviceUnavailable, "the CUDA driver library ", library, " cannot be opened: ", dlerror());
  std::vector<std::string> missing;
  for (DriverEntry *entry : driver->entries_) {
    entry->address_ = dlsym(driver->handle_, entry->name_);
    if (!entry->address_ && !entry->optional_)
      missing.push_back(entry->name_);
  }
  if (!driver->driverGetVersion)
    return error(Code::DeviceUnavailable, library, " is not a CUDA driver: it has no cuDriverGetVersion");
  GRAPHC_RETURN_IF_ERROR(driver->driverGetVersion(&driver->version_));
  if (driver->version_ < kMinimumVersion)
    return error(Code::DeviceUnavailable, "the CUDA driver ", library, " is version ", driver->versionText(), "; graphc needs ",
                 kMinimumVersion / 1000, ".", kMinimumVersion % 1000 / 10, " or newer");
  if (!missing.empty())
    return error(Code::DeviceUnavailable, "the CUDA driver ", library, " (", driver->versionText(), ") lacks ", joined(missing));
  if (!simulatorOptions.empty()) {
    auto *configure = reinterpret_cast<int (*)(const char *)>(driver->find("graphcCudasimConfigure"));
    auto *problem = reinterpret_cast<const char *(*)()>(driver->find("graphcCudasimError"));
    if (!configure || !problem)
      return error(Code::InvalidOption, library, " is not the simulated device: it has no options such as \"", simulatorOptions, "\"");
    if (configure(simulatorOptions.c_str()))
      return error(Code::InvalidOption, problem());
  }
  if (CUresult code = driver->init.raw(0); code == CUDA_ERROR_NO_DEVICE)
    return error(Code::DeviceUnavailable, "the CUDA driver ", library, " (", driver->versionText(), ") reports no GPU");
  else if (code != CUDA_SUCCESS)
    return error(Code::DeviceUnavailable, "cuInit failed: ", driver->meaning(code));
  GRAPHC_RETURN_IF_ERROR(driver->deviceGetCount(&driver->deviceCount_));
  if (driver->deviceCount_ == 0)
    return error(Code::DeviceUnavailable, "the CUDA driver ", library, " (", driver->versionText(), ") reports no GPU");
  return std::shared_ptr<const Driver>(std::move(driver));
}

} // namespace graphc::cuda
