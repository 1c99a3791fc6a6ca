// Runs a user's own kernel on the simulated CUDA device: compile, load, fill arguments, launch, report.
//
// Everything goes through the exported driver API of libgraphc_cudasim.so, opened by path, so the tool is also an
// example of a program on the simulator.
#include "runtime/cudasim/cudasim.h"
#include "tools/graphc-cudasim/CommandLine.h"
#include "tools/graphc-cudasim/Nvrtc.h"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace graphc::cudasim::tool;

namespace {

constexpr int clean = 0, badInput = 1, badCommandLine = 2, badEnvironment = 3, foundSomething = 5;

int fail(int code, const std::string &text) {
  std::fprintf(stderr, "graphc-cudasim: error: %s\n", text.c_str());
  return code;
}

/// The driver functions of the simulator that are used here.
struct Simulator {
  void *library = nullptr;
  bool complete = true;

  template <typename F>
  F *get(const char *name) {
    void *found = library ? dlsym(library, name) : nullptr;
    complete &= found != nullptr;
    return reinterpret_cast<F *>(found);
  }
};

std::string openSimulator(const CommandLine &line, Simulator &simulator) {
  std::vector<std::string> names;
  if (!line.simulatorLibrary.empty()) {
    names.push_back(line.simulatorLibrary);
  } else {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
      std::string folder(self, size_t(length));
      folder = folder.substr(0, folder.rfind('/'));
      names.push_back(folder + "/../lib/libgraphc_cudasim.so");
      names.push_back(folder + "/../lib64/libgraphc_cudasim.so");
    }
    names.push_back("libgraphc_cudasim.so");
  }
  for (const std::string &name : names)
    if ((simulator.library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)))
      return "";
  return "the simulator library was not found: " + std::string(dlerror()) + "; name it with --simulator";
}

bool readFile(const std::string &path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return false;
  std::stringstream all;
  all << file.rdbuf();
  text = all.str();
  return true;
}

std::string lineOf(const std::string &text, size_t number) {
  std::istringstream lines(text);
  std::string current;
  for (size_t i = 1; std::getline(lines, current); ++i)
    if (i == number)
      return current;
  return "";
}

/// The text of the lines a report names ("source kernel.cu:12", else "PTX line 40"), below the report.
std::string excerpt(const std::string &report, const std::string &ptx) {
  std::string result;
  std::vector<std::string> shown;
  const std::string mark = "source ";
  for (size_t at = report.find(mark); at != std::string::npos; at = report.find(mark, at + 1)) {
    std::string place = report.substr(at + mark.size(), report.find_first_of(" \n", at + mark.size()) - at - mark.size());
    size_t colon = place.rfind(':');
    size_t number = colon == std::string::npos ? 0 : std::strtoul(place.c_str() + colon + 1, nullptr, 10);
    std::string text;
    if (!number || std::find(shown.begin(), shown.end(), place) != shown.end() ||
        !readFile(place.substr(0, colon), text))
      continue;
    shown.push_back(place);
    size_t slash = place.rfind('/', colon);
    result += "    " + place.substr(slash == std::string::npos ? 0 : slash + 1) + " | " + lineOf(text, number) + "\n";
  }
  const std::string ptxMark = "PTX line ";
  if (result.empty())
    for (size_t at = report.find(ptxMark); at != std::string::npos; at = report.find(ptxMark, at + 1)) {
      size_t number = std::strtoul(report.c_str() + at + ptxMark.size(), nullptr, 10);
      std::string place = "PTX:" + std::to_string(number);
      if (!number || std::find(shown.begin(), shown.end(), place) != shown.end())
        continue;
      shown.push_back(place);
      result += "    " + place + " | " + lineOf(ptx, number) + "\n";
    }
  return result;
}

void printArray(const Argument &argument, size_t index) {
  size_t count = argument.array.count(), shown = std::min<size_t>(count, 16);
  std::printf("argument %zu (%s):", index, argument.text.c_str());
  for (size_t i = 0; i < shown; ++i)
    std::printf(" %.9g", loadElement(argument.array, i));
  std::printf(shown < count ? " ... (%zu elements)\n" : "\n", count);
}

/// The only `.entry` of a PTX text, or nothing.
std::string onlyKernel(const std::string &ptx) {
  std::string name;
  for (size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) {
    size_t start = ptx.find_first_not_of(" \t\r\n", at + 6);
    if (start == std::string::npos)
      break;
    if (!name.empty())
      return "";
    name = ptx.substr(start, ptx.find_first_of(" \t\r\n(", start) - start);
  }
  return name;
}

int run(CommandLine &line) {
  std::string source;
  if (!readFile(line.file, source))
    return fail(badInput, line.file + ": cannot be read");
  bool isPtx = line.file.size() > 4 && line.file.compare(line.file.size() - 4, 4, ".ptx") == 0;
  if (line.ptxOnly && isPtx)
    return fail(badCommandLine, line.file + " is PTX already");

  Simulator simulator;
  int major = 8, minor = 0;
  decltype(&cuInit) init = nullptr;
  decltype(&cuGetErrorName) errorName = nullptr;
  if (!line.ptxOnly) {
    if (std::string problem = openSimulator(line, simulator); !problem.empty())
      return fail(badEnvironment, problem);
    auto configure = simulator.get<int(const char *)>("graphcCudasimConfigure");
    auto configureError = simulator.get<const char *()>("graphcCudasimError");
    init = simulator.get<CUresult(unsigned)>("cuInit");
    errorName = simulator.get<CUresult(CUresult, const char **)>("cuGetErrorName");
    auto attribute = simulator.get<CUresult(int *, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
    if (!simulator.complete)
      return fail(badEnvironment, "the library is not the simulated CUDA device");
    // Reports are printed here, with source lines.
    std::string options = "report=none,counters=" + std::string(line.counters ? "on" : "off") +
                          (line.options.empty() ? "" : "," + line.options);
    if (configure(options.c_str()))
      return fail(badCommandLine, configureError());
    if (CUresult status = init(0)) {
      const char *name = "";
      errorName(status, &name);
      return fail(badEnvironment, std::string("the simulated device does not start: ") + name);
    }
    attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  }

  std::string ptx, kernel = line.kernel;
  if (isPtx) {
    ptx = source;
    if (kernel.empty() && (kernel = onlyKernel(ptx)).empty())
      return fail(badCommandLine, line.file + " does not have exactly one kernel: name one with --kernel");
  } else {
    if (kernel.empty() && !line.ptxOnly)
      return fail(badCommandLine, "--kernel is missing");
    CompiledSource compiled;
    std::string problem;
    std::string arch = line.arch.empty() ? "compute_" + std::to_string(major * 10 + minor) : line.arch;
    CompileStatus status =
        compileCuda(line.nvrtcLibrary, line.file, source, kernel, arch, line.compilerOptions, compiled, problem);
    if (!compiled.log.empty())
      std::fprintf(stderr, "%s", compiled.log.c_str());
    if (status != CompileStatus::Ok)
      return fail(status == CompileStatus::NoCompiler ? badEnvironment : badInput, problem);
    ptx = compiled.ptx;
    kernel = compiled.kernel;
  }
  if (line.ptxOnly) {
    std::fwrite(ptx.data(), 1, ptx.size(), stdout);
    return clean;
  }

#define DRIVER(name, abi) auto name = simulator.get<std::remove_pointer_t<decltype(&::abi)>>(#abi)
  DRIVER(retain, cuDevicePrimaryCtxRetain);
  DRIVER(setCurrent, cuCtxSetCurrent);
  DRIVER(load, cuModuleLoadDataEx);
  DRIVER(getFunction, cuModuleGetFunction);
  DRIVER(functionAttribute, cuFuncSetAttribute);
  DRIVER(paramInfo, cuFuncGetParamInfo);
  DRIVER(alloc, cuMemAlloc_v2);
  DRIVER(toDevice, cuMemcpyHtoD_v2);
  DRIVER(toHost, cuMemcpyDtoH_v2);
  DRIVER(launch, cuLaunchKernel);
  DRIVER(launchCooperative, cuLaunchCooperativeKernel);
  DRIVER(synchronise, cuCtxSynchronize);
  DRIVER(errorString, cuGetErrorString);
  auto getReports = simulator.get<size_t(const GraphcCudasimReport **)>("graphcCudasimReports");
  auto getLaunches = simulator.get<size_t(const GraphcCudasimLaunch **)>("graphcCudasimLaunches");
  if (!simulator.complete)
    return fail(badEnvironment, "the library lacks functions of the driver API");
  auto describe = [&](CUresult status) {
    const char *name = "unknown", *text = "";
    errorName(status, &name);
    errorString(status, &text);
    return std::string(name) + " (" + text + ")";
  };
  auto printReports = [&] {
    const GraphcCudasimReport *reports = nullptr;
    size_t count = getReports(&reports), errors = 0;
    for (size_t i = 0; i < count; ++i) {
      errors += reports[i].isError != 0;
      std::fprintf(stderr, "==== %s: %s\n%s", reports[i].isError ? "finding" : "note", reports[i].kind,
                   reports[i].message);
      if (!*reports[i].message || reports[i].message[std::strlen(reports[i].message) - 1] != '\n')
        std::fputc('\n', stderr);
      std::fputs(excerpt(reports[i].message, ptx).c_str(), stderr);
    }
    return errors;
  };

  CUcontext context;
  CUmodule module;
  CUfunction function;
  if (CUresult status = retain(&context, 0))
    return fail(badEnvironment, describe(status));
  setCurrent(context);
  std::string log(8192, 0);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  if (CUresult status = load(&module, ptx.c_str(), 2, options, values))
    return fail(badInput, line.file + ": the module does not load: " + describe(status) + "\n" + log.c_str());
  if (CUresult status = getFunction(&function, module, kernel.c_str()))
    return fail(badInput, line.file + ": there is no kernel '" + line.kernel + "' (" + describe(status) + ")");
  if (line.sharedBytes > 48 * 1024)
    if (CUresult status =
            functionAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(line.sharedBytes)))
      return fail(badInput, "--shared " + std::to_string(line.sharedBytes) + ": " + describe(status));

  // The arguments must be as many and as large as the kernel's parameters: a wrong list would read as garbage.
  size_t wanted = 0, offset, size;
  while (paramInfo(function, wanted, &offset, &size) == CUDA_SUCCESS)
    ++wanted;
  if (wanted != line.arguments.size())
    return fail(badCommandLine, "kernel " + line.kernel + " takes " + std::to_string(wanted) + " arguments, " +
                                    std::to_string(line.arguments.size()) + " were given");
  std::vector<CUdeviceptr> pointers(line.arguments.size(), 0);
  std::vector<void *> parameters;
  for (size_t i = 0; i < line.arguments.size(); ++i) {
    Argument &argument = line.arguments[i];
    paramInfo(function, i, &offset, &size);
    size_t given = argument.kind == Argument::Scalar ? argument.array.type->bytes : 8;
    if (given != size)
      return fail(badCommandLine, "argument " + std::to_string(i) + " (" + argument.text + ") has " +
                                      std::to_string(given) + " bytes, the kernel's parameter " + std::to_string(size));
    if (argument.kind == Argument::Scalar) {
      parameters.push_back(argument.array.data.data());
      continue;
    }
    size_t bytes = argument.array.type ? argument.array.count() * argument.array.type->bytes : 0;
    if (argument.kind == Argument::Buffer) {
      if (CUresult status = alloc(&pointers[i], std::max<size_t>(bytes, 1)))
        return fail(badInput, "argument " + std::to_string(i) + " (" + argument.text + "): " + describe(status));
      if (!argument.array.data.empty())
        toDevice(pointers[i], argument.array.data.data(), argument.array.data.size());
    }
    parameters.push_back(&pointers[i]);
  }
  synchronise();

  CUresult status =
      line.cooperative
          ? launchCooperative(function, line.grid[0], line.grid[1], line.grid[2], line.block[0], line.block[1],
                              line.block[2], line.sharedBytes, nullptr, parameters.data())
          : launch(function, line.grid[0], line.grid[1], line.grid[2], line.block[0], line.block[1], line.block[2],
                   line.sharedBytes, nullptr, parameters.data(), nullptr);
  if (status) {
    printReports();
    return fail(badInput, "the launch is refused: " + describe(status));
  }
  status = synchronise();
  if (!status)
    for (size_t i = 0; i < line.arguments.size(); ++i) {
      Argument &argument = line.arguments[i];
      bool shown = line.save.count(i) || std::find(line.print.begin(), line.print.end(), i) != line.print.end();
      if (argument.kind != Argument::Buffer || !shown)
        continue;
      argument.array.data.resize(argument.array.count() * argument.array.type->bytes);
      if (!argument.array.data.empty())
        toHost(argument.array.data.data(), pointers[i], argument.array.data.size());
    }
  size_t errors = printReports();
  if (!status) {
    for (size_t index : line.print)
      printArray(line.arguments[index], index);
    for (const auto &[index, path] : line.save)
      if (std::string problem = writeNpy(path, line.arguments[index].array); !problem.empty())
        return fail(badInput, problem);
  }
  const GraphcCudasimLaunch *launches = nullptr;
  if (line.counters && getLaunches(&launches))
    std::fputs(launches[0].table, stdout);
  if (errors)
    return foundSomething;
  if (status)
    return fail(badInput, describe(status));
  if (!line.quiet)
    std::printf("clean: no check found anything\n");
  return clean;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (const std::string &word : words) {
    if (word == "--")
      break;
    if (word == "--help" || word == "-h") {
      std::fputs(helpText, stdout);
      return clean;
    }
    if (word == "--version") {
      std::puts("graphc-cudasim " GRAPHC_VERSION);
      return clean;
    }
  }
  CommandLine line;
  if (std::string problem = parseCommandLine(words, line); !problem.empty())
    return fail(badCommandLine, problem + " (graphc-cudasim --help explains)");
  return run(line);
}
