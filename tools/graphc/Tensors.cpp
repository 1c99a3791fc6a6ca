#include "tools/graphc/Tensors.h"

#include "frontend/tensor/TensorProtoFile.h"
#include "frontend/tensor/TensorSpec.h"

#include <charconv>
#include <filesystem>
#include <iostream>

namespace graphc::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> portNames(std::span<const Port> ports) {
  std::vector<std::string> names;
  for (const Port &port : ports)
    names.push_back("'" + port.name + "' (" + port.typeText() + ")");
  return names;
}

/// KIND_0.pb, KIND_1.pb, … of a folder, as far as they go without a gap.
std::vector<std::string> numberedFiles(const std::string &folder, std::string_view kind) {
  std::vector<std::string> files;
  while (true) {
    fs::path path = fs::path(folder) / text(kind, "_", files.size(), ".pb");
    if (std::error_code ignored; !fs::exists(path, ignored))
      return files;
    files.push_back(path.string());
  }
}

Result<HostTensor> randomFor(const Port &port, uint64_t seed) {
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < port.dims.size(); ++axis) {
    sizes.push_back(port.dims[axis].value_or(1));
    if (!port.dims[axis])
      std::cerr << "graphc: note: --random: size " << port.dimNames[axis] << " of input '" << port.name << "' is taken as 1; --input or --shape sets it\n";
  }
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(port.dtype, Shape(std::move(sizes))));
  fillRandom(tensor, seed);
  return tensor;
}

} // namespace

std::string Port::typeText() const {
  std::string spelled;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    spelled += (dims[axis] ? std::to_string(*dims[axis]) : dimNames[axis]) + "x";
  return spelled + std::string(dtypeName(dtype));
}

Result<std::vector<size_t>> assignPorts(std::span<const std::optional<std::string>> names, std::span<const Port> ports, std::string_view what) {
  std::vector<std::optional<size_t>> assigned(names.size());
  std::vector<bool> taken(ports.size(), false);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i])
      continue;
    for (size_t port = 0; port < ports.size(); ++port)
      if (ports[port].name == *names[i])
        assigned[i] = port;
    if (!assigned[i])
      return error(Code::UnknownName, "the model has no ", what, " '", *names[i], "'; its ", what, "s are ", joined(portNames(ports)));
    if (taken[*assigned[i]])
      return error(Code::InvalidOption, what, " '", *names[i], "' was given twice");
    taken[*assigned[i]] = true;
  }
  size_t next = 0;
  std::vector<size_t> result;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!assigned[i]) {
      while (next < ports.size() && taken[next])
        ++next;
      if (next == ports.size())
        return error(Code::InputCount, names.size(), " ", what, "s were given, the model has ", ports.size(), ports.empty() ? "" : ": ", joined(portNames(ports)));
      taken[next] = true;
      assigned[i] = next;
    }
    result.push_back(*assigned[i]);
  }
  return result;
}

void InputOptions::declare(CLI::App &app) {
  app.add_option("--input", inputs, "[NAME=]SPEC: FILE.npy, FILE.pb, 1x3xf32=0.5, 4xi64=[1 2 3 4], …=random:7 or …=ramp")->take_all();
  app.add_option("--test-data", testData, "folder with input_K.pb and output_K.pb");
  app.add_flag("--random{0}", random, "random values for the inputs not given; --random=SEED")->expected(0, 1);
}

namespace {

/// What --input and --test-data hold, put to the ports; undefined where nothing was given.
Result<std::vector<HostTensor>> readGiven(const InputOptions &options, std::span<const Port> ports) {
  std::vector<HostTensor> given(ports.size());
  std::vector<std::optional<std::string>> names;
  std::vector<HostTensor> tensors;
  for (const std::string &spec : options.inputs) {
    GRAPHC_ASSIGN_OR_RETURN(NamedTensor named, parseTensorSpec(spec));
    names.push_back(std::move(named.name));
    tensors.push_back(std::move(named.tensor));
  }
  if (!options.testData.empty()) {
    std::error_code ignored;
    if (!fs::is_directory(options.testData, ignored))
      return error(Code::ModelUnreadable, "--test-data '", options.testData, "' is not a folder");
    std::vector<std::string> files = numberedFiles(options.testData, "input");
    if (files.empty() && !ports.empty() && options.inputs.empty() && options.random.empty())
      return error(Code::ModelUnreadable, "--test-data '", options.testData, "' holds no input_0.pb");
    for (const std::string &file : files) {
      GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(file));
      names.emplace_back();
      tensors.push_back(std::move(tensor));
    }
  }
  GRAPHC_ASSIGN_OR_RETURN(std::vector<size_t> assigned, assignPorts(names, ports, "input"));
  for (size_t i = 0; i < assigned.size(); ++i)
    given[assigned[i]] = std::move(tensors[i]);
  return given;
}

} // namespace

Result<std::optional<HostTensor>> InputOptions::valueOf(std::span<const std::string> names, size_t index) const {
  std::vector<Port> ports;
  for (const std::string &name : names)
    ports.push_back({name, DType::F32, {}, {}});
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> given, readGiven(*this, ports));
  if (!given[index].defined())
    return std::optional<HostTensor>();
  return std::optional(std::move(given[index]));
}

Result<std::vector<HostTensor>> InputOptions::resolve(std::span<const Port> ports) const {
  GRAPHC_ASSIGN_OR_RETURN(std::vector<HostTensor> given, readGiven(*this, ports));
  std::optional<uint64_t> seed;
  if (!random.empty()) {
    uint64_t value = 0;
    auto [end, problem] = std::from_chars(random.data(), random.data() + random.size(), value);
    if (problem != std::errc() || end != random.data() + random.size())
      return error(Code::InvalidOption, "--random=", random, ": the seed must be a whole number");
    seed = value;
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given[i].defined())
      continue;
    if (!seed)
      return error(Code::MissingInput, "input '", ports[i].name, "' (", ports[i].typeText(), ") was not given; use --input ", ports[i].name,
                   "=SPEC, --test-data DIR or --random");
    GRAPHC_ASSIGN_OR_RETURN(given[i], randomFor(ports[i], *seed + i));
  }
  return given;
}

void ExpectedOptions::declare(CLI::App &app) {
  app.add_option("--expected", expected, "[NAME=]SPEC an output must match")->take_all();
  app.add_option("--tol", tol, "node (default): 1e-7 + 1e-3*|b|; network: 1e-3*|b| + 1e-5*max|b|; bf16: 2e-2*|b| + 3e-2*max|b|; exact");
  app.add_option("--rtol", rtol, "relative tolerance, instead of the rule's");
  app.add_option("--atol", atol, "absolute tolerance, instead of the rule's");
}

Result<Tolerance> ExpectedOptions::tolerance() const {
  Tolerance rule;
  if (tol.empty() || tol == "node")
    rule = Tolerance::node();
  else if (tol == "network")
    rule = Tolerance::network();
  else if (tol == "bf16")
    rule = Tolerance::bf16();
  else if (tol == "exact")
    rule = Tolerance::exact();
  else
    return error(Code::InvalidOption, "--tol ", tol, " is unknown; valid are node, network, bf16 and exact");
  for (auto [name, value] : {std::pair("--rtol", rtol), std::pair("--atol", atol)})
    if (value && !(*value >= 0))
      return error(Code::InvalidOption, name, " ", *value, " is negative or not a number");
  rule.rtol = rtol.value_or(rule.rtol);
  rule.atol = atol.value_or(rule.atol);
  return rule;
}

Result<std::vector<std::optional<HostTensor>>> ExpectedOptions::resolve(std::span<const Port> ports, const std::string &testData) const {
  std::vector<std::optional<std::string>> names;
  std::vector<HostTensor> tensors;
  for (const std::string &spec : expected) {
    GRAPHC_ASSIGN_OR_RETURN(NamedTensor named, parseTensorSpec(spec));
    names.push_back(std::move(named.name));
    tensors.push_back(std::move(named.tensor));
  }
  if (!testData.empty())
    for (const std::string &file : numberedFiles(testData, "output")) {
      GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(file));
      names.emplace_back();
      tensors.push_back(std::move(tensor));
    }
  GRAPHC_ASSIGN_OR_RETURN(std::vector<size_t> assigned, assignPorts(names, ports, "output"));
  std::vector<std::optional<HostTensor>> result(ports.size());
  for (size_t i = 0; i < assigned.size(); ++i)
    result[assigned[i]] = std::move(tensors[i]);
  if (!testData.empty() && tensors.empty())
    return error(Code::ModelUnreadable, "--test-data '", testData, "' holds no output_0.pb");
  return result;
}

} // namespace graphc::tool
