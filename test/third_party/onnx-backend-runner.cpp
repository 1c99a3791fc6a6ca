// onnx-backend-runner FOLDER… --list FILE: runs ONNX backend tests (FOLDER/SUITE/TEST/model.onnx with
// test_data_set_N/{input,output}_K.pb) in this process' children, so that a crash is counted instead of ending the run.
//
// The list names what is not supported, grouped by reason. The run fails when a test that is not listed does not pass,
// when a listed one passes, and on any crash.
#include "frontend/tensor/CompareTensors.h"
#include "frontend/tensor/ReadFile.h"
#include "frontend/tensor/TensorProtoFile.h"
#include "frontend/compile/CompilerLibrary.h"
#include "tools/graphc/Model.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <poll.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace graphc;
using namespace graphc::tool;
namespace fs = std::filesystem;

namespace {

enum class Verdict { Pass, Fail, Unsupported, Crash };
constexpr const char *kVerdicts[] = {"pass", "fail", "unsupported", "crash"};

struct Test {
  std::string suite, name;
  fs::path folder;
  std::string id() const { return suite + "/" + name; }
};

struct Outcome {
  Verdict verdict = Verdict::Crash;
  std::string message;
};

struct Options {
  std::vector<std::string> folders, suites = {"node", "simple", "pytorch-converted", "pytorch-operator"};
  std::string list, filter, junit, update;
  int jobs = 1, timeoutSeconds = 120;
  bool verbose = false;
};

// ---- one test, in a child --------------------------------------------------------------------------------------

Result<std::vector<HostTensor>> readNumbered(const fs::path &folder, const char *kind) {
  std::vector<HostTensor> tensors;
  while (true) {
    fs::path file = folder / text(kind, "_", tensors.size(), ".pb");
    if (!fs::exists(file))
      return tensors;
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(file.string()));
    tensors.push_back(std::move(tensor));
  }
}

Outcome ofStatus(const Status &status) {
  bool unsupported = status.code() == Code::UnsupportedOp || status.code() == Code::UnsupportedByLibrary;
  return {unsupported ? Verdict::Unsupported : Verdict::Fail, status.str()};
}

/// Old archives store bf16 tensors as their bits in u16.
void reinterpretBf16(Result<std::vector<HostTensor>> &tensors, std::span<const Port> ports) {
  if (!tensors.ok())
    return;
  for (size_t i = 0; i < std::min(tensors->size(), ports.size()); ++i)
    if (HostTensor &tensor = (*tensors)[i]; ports[i].dtype == DType::BF16 && tensor.dtype() == DType::U16) {
      auto copy = HostTensor::borrow(DType::BF16, tensor.shape(), tensor.raw()).clone();
      if (copy.ok())
        tensor = *std::move(copy);
    }
}

Outcome runDataSet(Model &model, const fs::path &folder) {
  auto inputs = readNumbered(folder, "input"), expected = readNumbered(folder, "output");
  reinterpretBf16(inputs, model.inputs());
  reinterpretBf16(expected, model.outputs());
  if (!inputs.ok())
    return {Verdict::Unsupported, inputs.status().str()};
  if (!expected.ok())
    return {Verdict::Unsupported, expected.status().str()};
  auto outputs = model.run(*inputs);
  if (!outputs.ok())
    return ofStatus(outputs.status());
  if (outputs->size() < expected->size())
    return {Verdict::Fail, text(outputs->size(), " outputs, expected ", expected->size())};
  for (size_t i = 0; i < expected->size(); ++i)
    if (Comparison comparison = compareTensors((*outputs)[i], (*expected)[i], Tolerance::node()); !comparison.matches)
      return {Verdict::Fail, text("output ", i, " ", comparison.message)};
  return {Verdict::Pass, ""};
}

Outcome runTest(const Test &test) {
  ModelOptions options;
  options.model = (test.folder / "model.onnx").string();
  options.threads = 1;
  options.cache = "off";
  // Sizes may depend on the values of inputs: those of the first data set.
  ValueProvider values = [&](std::span<const std::string>, size_t index) -> Result<std::optional<HostTensor>> {
    fs::path file = test.folder / "test_data_set_0" / text("input_", index, ".pb");
    if (!fs::exists(file))
      return std::optional<HostTensor>();
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(file.string()));
    return std::optional(std::move(tensor));
  };
  auto model = Model::load(options, values);
  if (!model.ok())
    return ofStatus(model.status());
  int sets = 0;
  for (; fs::exists(test.folder / text("test_data_set_", sets)); ++sets)
    if (Outcome outcome = runDataSet(*model, test.folder / text("test_data_set_", sets)); outcome.verdict != Verdict::Pass)
      return outcome;
  if (sets == 0)
    return {Verdict::Fail, "no test_data_set_0"};
  return {Verdict::Pass, ""};
}

// ---- children --------------------------------------------------------------------------------------------------

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t test = 0;
  std::string said;
  std::chrono::steady_clock::time_point deadline;
};

Child start(const Test &test, size_t index, const Options &options) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw std::runtime_error(text("pipe: ", std::strerror(errno)));
  std::cout.flush();
  pid_t pid = fork();
  if (pid < 0)
    throw std::runtime_error(text("fork: ", std::strerror(errno)));
  if (pid == 0) {
    ::close(ends[0]);
    rlimit memory{size_t{8} << 30, size_t{8} << 30}; // a runaway allocation is this test's failure, not the machine's
    setrlimit(RLIMIT_AS, &memory);
    rlimit core{0, 0};
    setrlimit(RLIMIT_CORE, &core);
    if (!options.verbose && !std::freopen("/dev/null", "w", stderr))
      _exit(3);
    Outcome outcome;
    try {
      outcome = runTest(test);
    } catch (const std::exception &problem) {
      outcome = {Verdict::Crash, text("exception: ", problem.what())};
    }
    std::string message = text(static_cast<int>(outcome.verdict), " ", outcome.message);
    for (size_t done = 0; done < message.size();) {
      ssize_t put = ::write(ends[1], message.data() + done, message.size() - done);
      if (put <= 0)
        break;
      done += static_cast<size_t>(put);
    }
    _exit(0); // no destructors: what the child tears down is not what is tested
  }
  ::close(ends[1]);
  return {pid, ends[0], index, "", std::chrono::steady_clock::now() + std::chrono::seconds(options.timeoutSeconds)};
}

Outcome finish(const Child &child, bool timedOut) {
  int status = 0;
  waitpid(child.pid, &status, 0);
  ::close(child.pipe);
  if (timedOut)
    return {Verdict::Crash, "took too long"};
  if (WIFSIGNALED(status))
    return {Verdict::Crash, text("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")};
  if (child.said.size() < 2 || child.said[0] < '0' || child.said[0] > '3')
    return {Verdict::Crash, text("exit code ", WEXITSTATUS(status), " without a verdict")};
  return {static_cast<Verdict>(child.said[0] - '0'), child.said.substr(2)};
}

std::vector<Outcome> runAll(const std::vector<Test> &tests, const Options &options) {
  std::vector<Outcome> outcomes(tests.size());
  std::vector<Child> running;
  size_t next = 0;
  while (next < tests.size() || !running.empty()) {
    while (next < tests.size() && static_cast<int>(running.size()) < options.jobs) {
      running.push_back(start(tests[next], next, options));
      ++next;
    }
    std::vector<pollfd> polled;
    for (const Child &child : running)
      polled.push_back({child.pipe, POLLIN, 0});
    poll(polled.data(), polled.size(), 1000);
    for (size_t i = running.size(); i-- > 0;) {
      Child &child = running[i];
      bool ended = false, timedOut = std::chrono::steady_clock::now() > child.deadline;
      if (polled[i].revents) {
        char buffer[4096];
        ssize_t got = ::read(child.pipe, buffer, sizeof buffer);
        if (got > 0)
          child.said.append(buffer, static_cast<size_t>(got));
        else
          ended = true;
      }
      if (timedOut && !ended)
        kill(child.pid, SIGKILL);
      if (ended || timedOut) {
        outcomes[child.test] = finish(child, timedOut && !ended);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  return outcomes;
}

// ---- the list --------------------------------------------------------------------------------------------------

/// `# reason` lines, each followed by the tests it explains: `SUITE/NAME`.
std::map<std::string, std::string> readList(const std::string &path) {
  std::map<std::string, std::string> reasons;
  auto file = readFile(path);
  if (!file.ok())
    throw std::runtime_error(file.status().message());
  std::istringstream lines(*file);
  std::string reason = "no reason given";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# "))
      reason = line.substr(2);
    else if (!line.empty() && line[0] != '#')
      reasons[line] = reason;
  }
  return reasons;
}

/// What to file a test under. The importer's report is "N nodes are not supported:", then "Op (opset N) x COUNT (names)" and
/// an indented reason: the op and the reason, without what differs from model to model.
std::string reasonOf(const Outcome &outcome) {
  std::istringstream lines(outcome.message);
  std::string first, line, reason;
  std::getline(lines, first);
  if (first.find("not supported:") == std::string::npos) {
    // "output 0 differs in 3 of 4 elements …": one reason for all of these.
    return first.find("differs in") != std::string::npos ? "wrong values" : first.empty() ? kVerdicts[static_cast<int>(outcome.verdict)] : first;
  }
  while (std::getline(lines, line)) {
    line.erase(0, line.find_first_not_of(' '));
    line = line.substr(0, line.find(" x "));
    line = line.substr(0, line.find(" (opset"));
    reason += (reason.empty() ? "" : ": ") + line;
  }
  return reason;
}

void writeList(const std::string &path, const std::vector<Test> &tests, const std::vector<Outcome> &outcomes) {
  std::map<std::string, std::set<std::string>> groups;
  for (size_t i = 0; i < tests.size(); ++i)
    if (outcomes[i].verdict != Verdict::Pass)
      groups[reasonOf(outcomes[i])].insert(tests[i].id());
  std::ofstream out(path);
  for (const auto &[reason, names] : groups) {
    out << "# " << reason << "\n";
    for (const std::string &name : names)
      out << name << "\n";
    out << "\n";
  }
}

std::string xmlText(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::vector<Test> findTests(const Options &options) {
  std::vector<Test> tests;
  for (const std::string &folder : options.folders)
    for (const std::string &suite : options.suites) {
      if (!fs::is_directory(fs::path(folder) / suite))
        continue;
      std::vector<Test> found;
      for (const auto &entry : fs::directory_iterator(fs::path(folder) / suite))
        if (fs::exists(entry.path() / "model.onnx"))
          found.push_back({suite, entry.path().filename().string(), entry.path()});
      std::sort(found.begin(), found.end(), [](const Test &a, const Test &b) { return a.name < b.name; });
      for (Test &test : found)
        if (options.filter.empty() || test.id().find(options.filter) != std::string::npos)
          tests.push_back(std::move(test));
    }
  return tests;
}

int run(const Options &options) {
  std::vector<Test> tests = findTests(options);
  if (tests.empty()) {
    std::cerr << "onnx-backend-runner: no tests in " << joined(options.folders) << "\n";
    return 2;
  }
  std::vector<Outcome> outcomes = runAll(tests, options);
  if (!options.update.empty())
    writeList(options.update, tests, outcomes);

  std::map<std::string, std::string> listed;
  if (!options.list.empty())
    listed = readList(options.list);
  std::map<std::string, std::map<Verdict, int>> table;
  std::ofstream junit;
  if (!options.junit.empty()) {
    junit.open(options.junit);
    junit << "<testsuite name=\"onnx-backend\">\n";
  }
  int wrong = 0;
  for (size_t i = 0; i < tests.size(); ++i) {
    const Outcome &outcome = outcomes[i];
    ++table[tests[i].suite][outcome.verdict];
    auto reason = listed.find(tests[i].id());
    bool isListed = reason != listed.end();
    std::string problem;
    if (outcome.verdict == Verdict::Crash)
      problem = "crashes: " + outcome.message;
    else if (outcome.verdict == Verdict::Pass && isListed)
      problem = "passes now, but is listed: remove it (" + reason->second + ")";
    else if (outcome.verdict != Verdict::Pass && !isListed)
      problem = text(kVerdicts[static_cast<int>(outcome.verdict)], ": ", outcome.message);
    if (!problem.empty()) {
      ++wrong;
      std::cout << tests[i].id() << " " << problem << "\n";
    }
    if (junit) {
      junit << "<testcase classname=\"onnx-backend." << xmlText(tests[i].suite) << "\" name=\"" << xmlText(tests[i].name) << "\">";
      if (!problem.empty())
        junit << "<failure message=\"" << xmlText(problem) << "\"/>";
      else if (isListed)
        junit << "<skipped message=\"" << xmlText(reason->second) << "\"/>";
      junit << "</testcase>\n";
    }
  }
  if (junit)
    junit << "</testsuite>\n";

  std::cout << "suite                 pass   fail  unsupported  crash\n";
  std::map<Verdict, int> total;
  auto row = [](const std::string &name, std::map<Verdict, int> &counts) {
    char line[128];
    std::snprintf(line, sizeof line, "%-20s %5d  %5d  %11d  %5d\n", name.c_str(), counts[Verdict::Pass], counts[Verdict::Fail],
                  counts[Verdict::Unsupported], counts[Verdict::Crash]);
    std::cout << line;
  };
  for (auto &[suite, counts] : table) {
    row(suite, counts);
    for (auto &[verdict, count] : counts)
      total[verdict] += count;
  }
  row("all", total);
  std::cout << wrong << " differ from the list\n";
  return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("runs ONNX backend tests and compares with a list of the unsupported");
  Options options;
  app.add_option("FOLDER", options.folders, "folders that hold node/, simple/, …")->required();
  app.add_option("--suite", options.suites, "suites to run");
  app.add_option("--list", options.list, "the tests that do not pass, by reason");
  app.add_option("--update", options.update, "write such a list from this run");
  app.add_option("--filter", options.filter, "only tests whose SUITE/NAME contains this");
  app.add_option("--junit", options.junit, "write a JUnit file");
  app.add_option("-j,--jobs", options.jobs, "tests at a time");
  app.add_option("--timeout", options.timeoutSeconds, "seconds per test");
  app.add_flag("--verbose", options.verbose, "show what the compiler prints");
  CLI11_PARSE(app, argc, argv);
  // Loaded once, before the children are forked.
  if (auto compiler = graphc::openCompiler(); !compiler.ok()) {
    std::cerr << "onnx-backend-runner: " << compiler.status().message() << "\n";
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception &problem) {
    std::cerr << "onnx-backend-runner: " << problem.what() << "\n";
    return 2;
  }
}
