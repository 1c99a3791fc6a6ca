// graphc VERB …: finds the verb, parses its options, turns every failure into one line and an exit code.
#include "tools/graphc/Report.h"
#include "tools/graphc/Verb.h"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

using namespace graphc;
using namespace graphc::tool;

namespace {

constexpr const char *kExitCodes = "exit codes: 0 fine; 1 the model or an input is at fault; 2 the command line; 3 the device or environment;\n"
                                   "4 graphc itself (please report it with the reproducer it names); 5 outputs differ from what was expected";

void printHelp(std::ostream &out) {
  out << "graphc: compile and run tensor programs\n\nusage: graphc VERB [options]\n\n";
  for (const Verb &verb : verbs())
    if (verb.declare)
      out << "  " << verb.name << std::string(10 - verb.name.size(), ' ') << verb.summary << "\n";
  out << "\n`graphc VERB --help` shows a verb's options with an example. MODEL is an .onnx, .mlir or .gcx file.\n\n" << kExitCodes << "\n";
}

Status unknownVerb(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Verb &verb : verbs())
    if (verb.declare)
      known.push_back(verb.name);
  return error(Code::InvalidOption, "unknown verb '", name, "'; the verbs are ", joined(known));
}

int runVerb(const Verb &verb, std::vector<std::string> arguments) {
  CLI::App app(std::string(verb.summary), "graphc " + std::string(verb.name));
  app.footer("examples:\n" + std::string(verb.example) + "\n\n" + kExitCodes);
  app.get_formatter()->column_width(34);
  Action action = verb.declare(app);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // CLI11 takes them off the back
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    return kExitOk;
  } catch (const CLI::ParseError &problem) {
    return report(error(Code::InvalidOption, problem.what(), " (see graphc ", verb.name, " --help)"));
  }
  Result<int> result = action();
  return result.ok() ? *result : report(result.status());
}

int dispatch(const std::vector<std::string> &arguments) {
  if (arguments.empty()) {
    printHelp(std::cerr);
    return report(error(Code::InvalidOption, "a verb is missing"));
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    printHelp(std::cout);
    return kExitOk;
  }
  if (arguments[0] == "--version") {
    std::cout << "graphc " << GRAPHC_VERSION << "\n";
    return kExitOk;
  }
  for (const Verb &verb : verbs()) {
    if (verb.name != arguments[0])
      continue;
    if (!verb.declare)
      return report(error(Code::InvalidOption, "the verb '", verb.name, "' (", verb.summary, ") is not in this build; ", verb.notYet));
    return runVerb(verb, {arguments.begin() + 1, arguments.end()});
  }
  return report(unknownVerb(arguments[0]));
}

} // namespace

int main(int argc, char **argv) {
  std::ios::sync_with_stdio(false);
  try {
    int code = dispatch({argv + 1, argv + argc});
    std::cout.flush();
    if (!std::cout)
      return report(error(Code::FileSystem, "writing to standard output failed"));
    return code;
  } catch (const std::bad_alloc &) {
    return report(error(Code::OutOfMemory, "the machine has no memory left"));
  } catch (const std::exception &problem) {
    return report(error(Code::Internal, "unexpected exception: ", problem.what()));
  }
}
