#include "tools/graphc-cudasim/CommandLine.h"

#include <charconv>
#include <cstdlib>
#include <random>

namespace graphc::cudasim::tool {

const char *const helpText = R"(graphc-cudasim: run a CUDA kernel without a GPU, with every check on.

usage:
  graphc-cudasim run FILE.cu|FILE.ptx --kernel K --grid X[,Y,Z] --block X[,Y,Z] [--arg SPEC ...] [options]
  graphc-cudasim ptx FILE.cu [--kernel K] [--arch A] [-- NVRTC options]      print the PTX that NVRTC makes of it
  graphc-cudasim --help | --version

The kernel runs on the simulated device (libgraphc_cudasim.so), which executes PTX on the CPU. A .cu file is compiled
with NVRTC from an installed CUDA Toolkit; a .ptx file needs no toolkit. Every global, shared and local access is
checked against live allocations and for alignment; barriers that cannot complete, deadlocks and endless loops are
reported. A finding names kernel, block, thread, instruction and source line. Then the counters of the launch and an
analytic estimate of its time on three GPUs are printed.

what runs
  --kernel K           the kernel; for C++ templates its instance, such as 'scale<float>'. May be left out when the
                       .ptx file has one kernel
  --grid X[,Y,Z]       blocks (default 1)
  --block X[,Y,Z]      threads of a block (default 1)
  --shared BYTES       dynamic shared memory
  --cooperative        a cooperative launch (grid.sync)
  --arg SPEC           the next kernel argument:
                         1024x32xf32=zero         a buffer of zeros
                         1024x32xf32=random[:S]   floats in [-1, 1), integers in [-100, 100] (unsigned: [0, 100])
                         1024x32xf32=iota         0, 1, 2, ...
                         1024x32xf32=uninit       allocated and never written (with --check uninitialised)
                         1024x32xf32=@FILE.npy    the file's contents; '@FILE.npy' alone takes shape and type from it
                         i32:5   f32:0.5          a scalar
                         null                     a null pointer
                       types: f16 bf16 f32 f64 i1 i8 i16 i32 i64 u8 u16 u32 u64

what is shown
  --save K=FILE.npy    write argument K (counted from 0) after the run; bf16 is written as u2
  --print K            print the first elements of argument K after the run
  --no-counters        no counter report
  --quiet              findings only

checks
  --check LIST         more checks, separated by commas: races (shared and global memory), shared-races, global-races,
                       uninitialised, same-value, strict-fences; 'none' switches even bounds checks off
  --seed N             order of blocks and interleaving of warps; 0 (default) is in order. The same seed gives the same
                       run with one host thread
  --log-only           report findings and go on
  --threads N          host threads (default 1; 0 means all)
  --steps N            warp instructions after which the launch is stopped
  --stack SIZE         a thread's stack for recursion and alloca, such as 8KiB (default 1024 bytes)

device and compiler
  --gpu NAME           a100 (default), h200, rtx4090, b200
  --cc M.N             compute capability 8.0, 8.9, 9.0 or 10.0
  --arch A             virtual architecture for NVRTC (default: the device's, compute_80)
  --include DIR        as -I for NVRTC; -D and -I are taken too, and everything behind --
  --nvrtc FILE         the NVRTC library (default: libnvrtc.so by its usual names)
  --simulator FILE     the simulator library (default: the one beside this program)

exit status
  0 clean   1 the file or kernel is at fault   2 the command line   3 NVRTC or the simulator was not found
  5 a check found something

example
  graphc-cudasim run saxpy.cu --kernel saxpy --grid 4 --block 256 \
      --arg 1000xf32=iota --arg 1000xf32=random --arg f32:2 --arg i32:1000 --print 1
)";

namespace {

bool number(const std::string &text, uint64_t &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && failure == std::errc() && end == text.data() + text.size();
}

bool triple(const std::string &text, unsigned (&out)[3]) {
  size_t start = 0;
  for (int i = 0; i < 3; ++i) {
    size_t comma = text.find(',', start);
    uint64_t value;
    if (!number(text.substr(start, comma == std::string::npos ? comma : comma - start), value) || value > 0x7fffffff)
      return false;
    out[i] = unsigned(value);
    if (comma == std::string::npos)
      return true;
    start = comma + 1;
  }
  return false;
}

std::string fillArray(Array &array, const std::string &how, const std::string &text) {
  size_t count = array.count();
  if (how[0] == '@') {
    Array file;
    if (std::string problem = readNpy(how.substr(1), file); !problem.empty())
      return problem;
    bool sameBits = std::string(array.type->name) == "bf16" && std::string(file.type->name) == "u16";
    if (file.type != array.type && !sameBits)
      return "--arg " + text + ": the file holds " + file.type->name + ", not " + array.type->name;
    if (file.count() != count)
      return "--arg " + text + ": the file holds " + std::to_string(file.count()) + " elements, the shape asks for " +
             std::to_string(count);
    array.data = std::move(file.data);
    return "";
  }
  array.data.assign(count * array.type->bytes, std::byte(0));
  if (how == "zero")
    return "";
  if (how == "uninit") {
    array.data.clear();
    return "";
  }
  if (how == "iota") {
    for (size_t i = 0; i < count; ++i)
      storeElement(array, i, double(i));
    return "";
  }
  if (how == "random" || how.rfind("random:", 0) == 0) {
    uint64_t seed = 0;
    if (how.size() > 6 && !number(how.substr(7), seed))
      return "--arg " + text + ": random:SEED takes a number";
    std::mt19937_64 generator(seed);
    // By hand, since the standard's distributions differ between libraries.
    auto unit = [&] { return double(generator() >> 11) * 0x1p-53; };
    for (size_t i = 0; i < count; ++i)
      storeElement(array, i,
                   array.type->kind == ElementType::Float    ? unit() * 2 - 1
                   : array.type->kind == ElementType::Signed ? double(int(unit() * 201)) - 100
                   : std::string(array.type->name) == "i1"   ? double(int(unit() * 2))
                                                             : double(int(unit() * 101)));
    return "";
  }
  return "--arg " + text + ": contents are zero, random[:SEED], iota, uninit or @FILE.npy, not '" + how + "'";
}

} // namespace

std::string parseArgument(const std::string &text, Argument &argument) {
  argument.text = text;
  if (text == "null") {
    argument.kind = Argument::Null;
    return "";
  }
  if (!text.empty() && text[0] == '@') {
    argument.kind = Argument::Buffer;
    return readNpy(text.substr(1), argument.array);
  }
  size_t equals = text.find('=');
  if (equals == std::string::npos) {
    size_t colon = text.find(':');
    const ElementType *type = elementType(text.substr(0, colon));
    if (colon == std::string::npos || !type)
      return "--arg " + text + ": expected SHAPExTYPE=CONTENTS (4x5xf32=zero), TYPE:VALUE (i32:5), @FILE.npy or null";
    std::string value = text.substr(colon + 1);
    argument.kind = Argument::Scalar;
    argument.array.type = type;
    argument.array.data.resize(type->bytes);
    char *end = nullptr;
    if (type->kind == ElementType::Float) {
      storeElement(argument.array, 0, std::strtod(value.c_str(), &end));
    } else {
      // Through 64 bits rather than a double, so that large integers stay exact.
      int64_t integer = value[0] == '-' ? std::strtoll(value.c_str(), &end, 0)
                                        : int64_t(std::strtoull(value.c_str(), &end, 0));
      for (unsigned i = 0; i < type->bytes; ++i)
        argument.array.data[i] = std::byte(uint64_t(integer) >> (8 * i));
    }
    if (value.empty() || *end)
      return "--arg " + text + ": '" + value + "' is not a number";
    return "";
  }
  argument.kind = Argument::Buffer;
  std::string shape = text.substr(0, equals);
  size_t start = 0;
  while (true) {
    size_t x = shape.find('x', start);
    std::string part = shape.substr(start, x == std::string::npos ? x : x - start);
    if (x == std::string::npos) {
      argument.array.type = elementType(part);
      if (!argument.array.type)
        return "--arg " + text + ": '" + part + "' is no element type";
      break;
    }
    uint64_t extent;
    if (!number(part, extent))
      return "--arg " + text + ": '" + part + "' is no extent";
    argument.array.shape.push_back(extent);
    start = x + 1;
  }
  uint64_t bytes = argument.array.type->bytes;
  for (size_t extent : argument.array.shape)
    if (extent && bytes > (uint64_t(1) << 40) / extent)
      return "--arg " + text + ": is larger than 1 TiB";
    else
      bytes *= extent;
  return fillArray(argument.array, text.substr(equals + 1), text);
}

std::string parseCommandLine(const std::vector<std::string> &words, CommandLine &line) {
  if (words.empty())
    return "a verb is missing: run or ptx";
  if (words[0] != "run" && words[0] != "ptx")
    return "'" + words[0] + "' is no verb: run and ptx exist";
  line.ptxOnly = words[0] == "ptx";
  std::string gpu, checks;
  auto option = [&](const std::string &text) { line.options += (line.options.empty() ? "" : ",") + text; };
  for (size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i], value;
    bool joined = false;
    if (word == "--") {
      line.compilerOptions.insert(line.compilerOptions.end(), words.begin() + long(i) + 1, words.end());
      break;
    }
    if (word.rfind("--", 0) == 0) {
      size_t equals = word.find('=');
      if (equals != std::string::npos) {
        value = word.substr(equals + 1);
        word = word.substr(0, equals);
        joined = true;
      }
    }
    if (word.rfind("-I", 0) == 0 || word.rfind("-D", 0) == 0) {
      line.compilerOptions.push_back(word);
      continue;
    }
    if (word[0] != '-') {
      if (!line.file.empty())
        return "two files were given: " + line.file + " and " + word;
      line.file = word;
      continue;
    }
    if (word == "--cooperative") {
      line.cooperative = true;
      continue;
    }
    if (word == "--no-counters") {
      line.counters = false;
      continue;
    }
    if (word == "--quiet") {
      line.quiet = true;
      line.counters = false;
      continue;
    }
    if (word == "--log-only") {
      option("action=log");
      continue;
    }
    static const char *const known[] = {"--kernel", "--grid",  "--block", "--shared", "--arg",     "--save",
                                        "--print",  "--check", "--seed",  "--threads", "--steps",  "--stack", "--gpu",
                                        "--cc",     "--arch",  "--include", "--nvrtc", "--simulator"};
    bool exists = false;
    for (const char *name : known)
      exists |= word == name;
    if (!exists)
      return "'" + word + "' is no option; see graphc-cudasim --help";
    if (!joined) {
      if (i + 1 >= words.size())
        return word + " needs a value";
      value = words[++i];
    }
    uint64_t parsed = 0;
    if (word == "--kernel") {
      line.kernel = value;
    } else if (word == "--grid" || word == "--block") {
      if (!triple(value, word == "--grid" ? line.grid : line.block))
        return word + " " + value + ": expected X[,Y,Z]";
    } else if (word == "--shared") {
      if (!number(value, parsed) || parsed > (1u << 30))
        return "--shared " + value + ": expected a number of bytes";
      line.sharedBytes = unsigned(parsed);
    } else if (word == "--arg") {
      Argument argument;
      if (std::string problem = parseArgument(value, argument); !problem.empty())
        return problem;
      line.arguments.push_back(std::move(argument));
    } else if (word == "--save") {
      size_t equals = value.find('=');
      if (equals == std::string::npos || !number(value.substr(0, equals), parsed) || equals + 1 == value.size())
        return "--save " + value + ": expected K=FILE.npy";
      line.save[parsed] = value.substr(equals + 1);
    } else if (word == "--print") {
      if (!number(value, parsed))
        return "--print " + value + ": expected an argument's number, counted from 0";
      line.print.push_back(parsed);
    } else if (word == "--check") {
      for (char &c : value)
        if (c == ',')
          c = '+';
      option("check=" + value);
    } else if (word == "--seed" || word == "--threads" || word == "--steps" || word == "--stack" || word == "--gpu" || word == "--cc") {
      option(word.substr(2) + "=" + value);
    } else if (word == "--arch") {
      line.arch = value.rfind("sm_", 0) == 0 ? "compute_" + value.substr(3) : value;
    } else if (word == "--include") {
      line.compilerOptions.push_back("-I" + value);
    } else if (word == "--nvrtc") {
      line.nvrtcLibrary = value;
    } else {
      line.simulatorLibrary = value;
    }
  }
  if (line.file.empty())
    return "no file was given";
  for (const auto &[index, path] : line.save)
    if (index >= line.arguments.size() || line.arguments[index].kind != Argument::Buffer)
      return "--save " + std::to_string(index) + "=" + path + ": argument " + std::to_string(index) + " is no buffer";
  for (size_t index : line.print)
    if (index >= line.arguments.size() || line.arguments[index].kind != Argument::Buffer)
      return "--print " + std::to_string(index) + ": argument " + std::to_string(index) + " is no buffer";
  return "";
}

} // namespace graphc::cudasim::tool
