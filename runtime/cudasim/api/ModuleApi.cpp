// Modules, functions and libraries from PTX text; the linker calls as far as PTX goes; occupancy.
#include "runtime/cudasim/api/Driver.h"
#include "runtime/cudasim/api/Image.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace graphc::cudasim;

namespace graphc::cudasim {

static CUresult codeOf(Module::Failure failure) {
  switch (failure) {
  case Module::Failure::None:
    return CUDA_SUCCESS;
  case Module::Failure::InvalidPtx:
    return CUDA_ERROR_INVALID_PTX;
  case Module::Failure::UnsupportedTarget:
  case Module::Failure::NotPtx:
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  case Module::Failure::UnsupportedVersion:
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  case Module::Failure::OutOfMemory:
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult refuseImage(Driver &driver, const std::string &log) {
  driver.note("module-load", "a module was refused: " + log + "\n  called from " + captureSite().text() + "\n");
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult loadInto(Driver &driver, Context *context, std::string_view text, std::string &log,
                         LoadedModule *&result) {
  Module::Failure failure = Module::Failure::None;
  auto module = Module::load(text, context->device->model, *context->device->memory, log, &failure);
  if (!module) {
    CUresult code = codeOf(failure);
    driver.note("module-load", "a module was refused: " + log + "\n  called from " + captureSite().text() + "\n");
    return code ? code : CUDA_ERROR_INVALID_IMAGE;
  }
  auto loaded = std::make_unique<LoadedModule>();
  loaded->context = context;
  loaded->module = std::move(module);
  result = driver.modules.add(std::move(loaded));
  for (const GlobalInfo &global : result->module->globals()) {
    if (!global.size)
      continue;
    MemoryRecord record;
    record.base = global.address;
    record.size = global.size;
    record.kind = MemoryRecord::Kind::Module;
    record.context = context;
    record.device = context->device;
    record.id = driver.nextId++;
    driver.memory[record.base] = record;
  }
  return CUDA_SUCCESS;
}

static Function *functionIn(Driver &driver, LoadedModule *module, size_t index) {
  for (Function *function : driver.functions.all())
    if (function->module == module && function->index == index)
      return function;
  auto function = std::make_unique<Function>();
  function->module = module;
  function->index = index;
  uint32_t fixed = module->module->function(index).staticSharedBytes;
  function->maxDynamicShared = fixed < 48 * 1024 ? 48 * 1024 - fixed : 0;
  return driver.functions.add(std::move(function));
}

static CUresult setFunctionAttribute(Function &function, int attribute, int value) {
  const DeviceModel &model = function.module->context->device->model;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || uint32_t(value) + function.info().staticSharedBytes > model.sharedPerBlockOptin)
      return CUDA_ERROR_INVALID_VALUE;
    function.maxDynamicShared = uint32_t(value);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    if (value < -1 || value > 100)
      return CUDA_ERROR_INVALID_VALUE;
    function.carveout = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    return value == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult getFunctionAttribute(const Function &function, int attribute, int &value) {
  const FunctionInfo &info = function.info();
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
    // What launches: the declared bound, and what the registers allow.
    uint32_t most = std::min(info.maxThreadsPerBlock, function.module->context->device->model.maxThreadsPerBlock);
    while (most > 32 && !residentBlocks(info, function.module->context->device->model, most, 0))
      most -= 32;
    value = int(most);
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    value = int(info.staticSharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    value = int(info.constBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    value = int(info.localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    value = int(info.registers);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION: {
    std::string_view target = function.module->module->target();
    value = 0;
    for (char c : target)
      if (c >= '0' && c <= '9')
        value = value * 10 + (c - '0');
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    value = function.module->context->device->model.capability();
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    value = int(function.maxDynamicShared);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    value = function.carveout;
    return CUDA_SUCCESS;
  default:
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    value = 0; // clusters: none
    return CUDA_SUCCESS;
  }
}

static CUresult libraryModule(Driver &driver, Library &library, Context *context, LoadedModule *&module) {
  LoadedModule *&slot = library.loaded[context];
  if (!slot) {
    std::string log;
    if (CUresult failure = loadInto(driver, context, library.image, log, slot)) {
      library.loaded.erase(context);
      return failure;
    }
  }
  module = slot;
  return CUDA_SUCCESS;
}

CUresult functionOf(Kernel &kernel, Context *context, Function *&function) {
  Driver &driver = Driver::get();
  auto known = kernel.functions.find(context);
  if (known != kernel.functions.end()) {
    function = known->second;
    return CUDA_SUCCESS;
  }
  LoadedModule *module = nullptr;
  if (CUresult failure = libraryModule(driver, *kernel.library, context, module))
    return failure;
  int index = module->module->findFunction(kernel.name);
  if (index < 0)
    return CUDA_ERROR_NOT_FOUND;
  function = functionIn(driver, module, size_t(index));
  for (auto [attribute, value] : kernel.attributes)
    if (CUresult bad = setFunctionAttribute(*function, attribute, value))
      return bad;
  kernel.functions[context] = function;
  return CUDA_SUCCESS;
}

void Driver::unloadModule(LoadedModule *module) {
  for (Function *function : std::vector<Function *>(functions.all()))
    if (function->module == module) {
      for (Kernel *kernel : kernels.all())
        std::erase_if(kernel->functions, [&](auto &entry) { return entry.second == function; });
      functions.erase(function);
    }
  for (Library *library : libraries.all())
    std::erase_if(library->loaded, [&](auto &entry) { return entry.second == module; });
  for (const GlobalInfo &global : module->module->globals()) {
    auto it = memory.find(global.address);
    if (it != memory.end() && it->second.kind == MemoryRecord::Kind::Module)
      releaseMemory(it);
  }
  modules.erase(module);
}

static bool readFile(const char *path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return false;
  std::stringstream all;
  all << file.rdbuf();
  text = all.str();
  return true;
}

} // namespace graphc::cudasim

namespace {

struct LinkState {
  std::vector<std::string> inputs;
};

CUmodule handleOf(LoadedModule *module) { return reinterpret_cast<CUmodule>(module); }

CUresult loadData(Driver &driver, Context *context, CUmodule *result, const void *image, unsigned optionCount,
                  CUjit_option *options, void **values) {
  if (!result || !image || (optionCount && (!options || !values)))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  std::string log, ptx;
  LoadedModule *module = nullptr;
  CUresult status = ptxOfImage(image, context->device->model.capability(), ptx, log) ? loadInto(driver, context, ptx, log, module)
                                                                                      : refuseImage(driver, log);
  // The logs' sizes come in by value and go out as the number of bytes written.
  char *buffer = nullptr;
  size_t *sizeSlot = nullptr;
  for (unsigned i = 0; i < optionCount; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      sizeSlot = reinterpret_cast<size_t *>(&values[i]);
    else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
      values[i] = nullptr;
  }
  if (sizeSlot) {
    size_t size = *sizeSlot & 0xffffffffu;
    size_t used = 0;
    if (buffer && size && status) {
      used = std::min(size - 1, log.size());
      std::memcpy(buffer, log.data(), used);
      buffer[used] = 0;
    }
    *sizeSlot = used;
  }
  if (status)
    return status;
  *result = handleOf(module);
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *result, const void *image, unsigned optionCount, CUjit_option *options,
                            void **values) {
  CUDASIM_ENTER(Live);
  return loadData(driver, context, result, image, optionCount, options, values);
}

CUresult cuModuleLoadData(CUmodule *result, const void *image) {
  CUDASIM_ENTER(Live);
  return loadData(driver, context, result, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(CUmodule *result, const void *image) {
  CUDASIM_ENTER(Live);
  return loadData(driver, context, result, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoad(CUmodule *result, const char *path) {
  CUDASIM_ENTER(Live);
  std::string text;
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  if (!readFile(path, text))
    return CUDA_ERROR_FILE_NOT_FOUND;
  return loadData(driver, context, result, text.c_str(), 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule handle) {
  CUDASIM_ENTER(Context);
  LoadedModule *module = driver.modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  driver.synchronise(*module->context); // its code may be queued
  driver.unloadModule(module);
  return context->outcome();
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  CUDASIM_ENTER(Init);
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *result, CUmodule handle, const char *name) {
  CUDASIM_ENTER(Live);
  LoadedModule *module = driver.modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result || !name)
    return CUDA_ERROR_INVALID_VALUE;
  int index = module->module->findFunction(name);
  if (index < 0)
    return CUDA_ERROR_NOT_FOUND;
  *result = reinterpret_cast<CUfunction>(functionIn(driver, module, size_t(index)));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  CUDASIM_ENTER(Live);
  LoadedModule *module = driver.modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = unsigned(module->module->functionCount());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule handle) {
  CUDASIM_ENTER(Live);
  LoadedModule *module = driver.modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!functions || !count)
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count && i < module->module->functionCount(); ++i)
    functions[i] = reinterpret_cast<CUfunction>(functionIn(driver, module, i));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  CUDASIM_ENTER(Live);
  LoadedModule *module = driver.modules.find(handle);
  if (!module)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!name || (!address && !bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const GlobalInfo *global = module->module->findGlobal(name);
  if (!global)
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = global->address;
  if (bytes)
    *bytes = global->size;
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ functions

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  return value ? getFunctionAttribute(*function, attribute, *value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  return function ? setFunctionAttribute(*function, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  CUDASIM_ENTER(Live);
  return driver.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig) {
  CUDASIM_ENTER(Live);
  return driver.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction handle) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!module)
    return CUDA_ERROR_INVALID_VALUE;
  *module = handleOf(function->module);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction handle) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = function->info().name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!offset || index >= function->info().params.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = function->info().params[index].offset;
  if (size)
    *size = function->info().params[index].size;
  return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle) {
  CUDASIM_ENTER(Live);
  if (!driver.functions.find(handle))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!state)
    return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle) {
  CUDASIM_ENTER(Live);
  return driver.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// ------------------------------------------------------------------------------------------------ libraries

CUresult cuLibraryLoadData(CUlibrary *result, const void *code, CUjit_option *, void **, unsigned, CUlibraryOption *,
                           void **, unsigned) {
  CUDASIM_ENTER(Init);
  if (!result || !code)
    return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_unique<Library>();
  std::string log;
  if (!ptxOfImage(code, driver.devices.front()->model.capability(), library->image, log))
    return refuseImage(driver, log);
  *result = reinterpret_cast<CUlibrary>(driver.libraries.add(std::move(library)));
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary *result, const char *path, CUjit_option *jit, void **jitValues,
                               unsigned jitCount, CUlibraryOption *options, void **values, unsigned count) {
  std::string text;
  if (!result || !path)
    return CUDA_ERROR_INVALID_VALUE;
  if (!readFile(path, text))
    return CUDA_ERROR_FILE_NOT_FOUND;
  return cuLibraryLoadData(result, text.c_str(), jit, jitValues, jitCount, options, values, count);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  CUDASIM_ENTER(Init);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  auto loaded = library->loaded;
  for (auto &[owner, module] : loaded) {
    driver.synchronise(*owner);
    driver.unloadModule(module);
  }
  for (Kernel *kernel : std::vector<Kernel *>(driver.kernels.all()))
    if (kernel->library == library)
      driver.kernels.erase(kernel);
  driver.libraries.erase(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *result, CUlibrary handle) {
  CUDASIM_ENTER(Live);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  LoadedModule *module = nullptr;
  if (CUresult failure = libraryModule(driver, *library, context, module))
    return failure;
  *result = handleOf(module);
  return CUDA_SUCCESS;
}

static CUresult kernelNamed(Driver &driver, Library &library, const std::string &name, CUkernel *result) {
  for (Kernel *kernel : driver.kernels.all())
    if (kernel->library == &library && kernel->name == name) {
      *result = reinterpret_cast<CUkernel>(kernel);
      return CUDA_SUCCESS;
    }
  auto kernel = std::make_unique<Kernel>();
  kernel->library = &library;
  kernel->name = name;
  *result = reinterpret_cast<CUkernel>(driver.kernels.add(std::move(kernel)));
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *result, CUlibrary handle, const char *name) {
  CUDASIM_ENTER(Live);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result || !name)
    return CUDA_ERROR_INVALID_VALUE;
  LoadedModule *module = nullptr;
  if (CUresult failure = libraryModule(driver, *library, context, module))
    return failure;
  if (module->module->findFunction(name) < 0)
    return CUDA_ERROR_NOT_FOUND;
  return kernelNamed(driver, *library, name, result);
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary handle) {
  CUDASIM_ENTER(Live);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  LoadedModule *module = nullptr;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult failure = libraryModule(driver, *library, context, module))
    return failure;
  *count = unsigned(module->module->functionCount());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary handle) {
  CUDASIM_ENTER(Live);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  LoadedModule *module = nullptr;
  if (!kernels || !count)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult failure = libraryModule(driver, *library, context, module))
    return failure;
  for (unsigned i = 0; i < count && i < module->module->functionCount(); ++i)
    kernelNamed(driver, *library, module->module->function(i).name, &kernels[i]);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle, const char *name) {
  CUDASIM_ENTER(Live);
  Library *library = driver.libraries.find(handle);
  if (!library)
    return CUDA_ERROR_INVALID_HANDLE;
  LoadedModule *module = nullptr;
  if (CUresult failure = libraryModule(driver, *library, context, module))
    return failure;
  return cuModuleGetGlobal_v2(address, bytes, handleOf(module), name);
}

CUresult cuKernelGetFunction(CUfunction *result, CUkernel handle) {
  CUDASIM_ENTER(Live);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  Function *function = nullptr;
  if (CUresult failure = functionOf(*kernel, context, function))
    return failure;
  *result = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *result, CUkernel handle) {
  CUDASIM_ENTER(Init);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel || !result)
    return kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *result = reinterpret_cast<CUlibrary>(kernel->library);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel handle) {
  CUDASIM_ENTER(Init);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel || !name)
    return kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal) {
  CUDASIM_ENTER(Live);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  Function *function = nullptr;
  if (CUresult failure = functionOf(*kernel, context, function))
    return failure;
  return value ? getFunctionAttribute(*function, attribute, *value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice ordinal) {
  CUDASIM_ENTER(Live);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  Function *function = nullptr;
  if (CUresult failure = functionOf(*kernel, context, function))
    return failure;
  if (CUresult bad = setFunctionAttribute(*function, attribute, value))
    return bad;
  for (auto &[other, same] : kernel->functions)
    setFunctionAttribute(*same, attribute, value);
  kernel->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size) {
  CUDASIM_ENTER(Live);
  Kernel *kernel = driver.kernels.find(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  Function *function = nullptr;
  if (CUresult failure = functionOf(*kernel, context, function))
    return failure;
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(function), index, offset, size);
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  return driver.kernels.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// ------------------------------------------------------------------------------------------------ linking

CUresult cuLinkCreate_v2(unsigned, CUjit_option *, void **, CUlinkState *state) {
  CUDASIM_ENTER(Live);
  if (!state)
    return CUDA_ERROR_INVALID_VALUE;
  *state = reinterpret_cast<CUlinkState>(new LinkState);
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *, unsigned,
                          CUjit_option *, void **) {
  CUDASIM_ENTER(Live);
  if (!state || !data)
    return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_PTX)
    return CUDA_ERROR_NOT_SUPPORTED;
  std::string text(static_cast<const char *>(data), size);
  while (!text.empty() && text.back() == 0)
    text.pop_back();
  reinterpret_cast<LinkState *>(state)->inputs.push_back(std::move(text));
  return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size) {
  CUDASIM_ENTER(Live);
  auto *link = reinterpret_cast<LinkState *>(state);
  if (!link || !image)
    return CUDA_ERROR_INVALID_VALUE;
  if (link->inputs.size() != 1) {
    driver.note("module-load", "the simulated device links exactly one PTX input, got " +
                                   std::to_string(link->inputs.size()) + "\n");
    return link->inputs.empty() ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_NOT_SUPPORTED;
  }
  // The "linked image" is the PTX itself: cuModuleLoadData takes it as it is.
  *image = link->inputs[0].data();
  if (size)
    *size = link->inputs[0].size() + 1;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  CUDASIM_ENTER(Init);
  if (!state)
    return CUDA_ERROR_INVALID_VALUE;
  delete reinterpret_cast<LinkState *>(state);
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------ occupancy

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int blockSize,
                                                              size_t dynamicBytes, unsigned) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    if (Kernel *kernel = driver.kernels.find(handle))
      if (CUresult failure = functionOf(*kernel, context, function))
        return failure;
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!blocks || blockSize <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const DeviceModel &model = function->module->context->device->model;
  *blocks = uint32_t(blockSize) > function->info().maxThreadsPerBlock || dynamicBytes > model.sharedPerBlockOptin
                ? 0
                : int(residentBlocks(function->info(), model, uint32_t(blockSize), uint32_t(dynamicBytes)));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int blockSize,
                                                     size_t dynamicBytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, blockSize, dynamicBytes, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGrid, int *bestBlock, CUfunction handle,
                                                   CUoccupancyB2DSize dynamicOf, size_t dynamicBytes, int limit,
                                                   unsigned) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    if (Kernel *kernel = driver.kernels.find(handle))
      if (CUresult failure = functionOf(*kernel, context, function))
        return failure;
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!minGrid || !bestBlock)
    return CUDA_ERROR_INVALID_VALUE;
  const DeviceModel &model = function->module->context->device->model;
  int most = int(std::min(function->info().maxThreadsPerBlock, model.maxThreadsPerBlock));
  if (limit > 0)
    most = std::min(most, limit);
  int bestThreads = 0;
  *minGrid = *bestBlock = 0;
  for (int size = (most + 31) / 32 * 32; size >= 32; size -= 32) {
    int threads = std::min(size, most);
    size_t bytes = dynamicOf ? dynamicOf(threads) : dynamicBytes;
    int resident = int(residentBlocks(function->info(), model, uint32_t(threads), uint32_t(bytes)));
    if (resident * threads > bestThreads) {
      bestThreads = resident * threads;
      *bestBlock = threads;
      *minGrid = resident * int(model.multiprocessors);
    }
  }
  return bestThreads ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGrid, int *bestBlock, CUfunction handle, CUoccupancyB2DSize dynamicOf,
                                          size_t dynamicBytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGrid, bestBlock, handle, dynamicOf, dynamicBytes, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int blockSize) {
  CUDASIM_ENTER(Live);
  Function *function = driver.functions.find(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!bytes || blocks <= 0 || blockSize <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const DeviceModel &model = function->module->context->device->model;
  uint32_t most = model.sharedPerBlockOptin;
  while (most && int(residentBlocks(function->info(), model, uint32_t(blockSize), most)) < blocks)
    most = most >= 256 ? most - 256 : 0;
  *bytes = most;
  return CUDA_SUCCESS;
}

} // extern "C"
