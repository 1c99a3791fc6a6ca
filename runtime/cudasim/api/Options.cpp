#include "runtime/cudasim/api/Options.h"

#include <charconv>
#include <thread>

namespace graphc::cudasim {

namespace {

bool parseNumber(std::string_view text, uint64_t &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

bool parseBytes(std::string_view text, uint64_t &value) {
  size_t digits = text.find_first_not_of("0123456789");
  if (!parseNumber(text.substr(0, digits), value))
    return false;
  std::string_view unit = digits == std::string_view::npos ? std::string_view() : text.substr(digits);
  int shift = unit.empty() || unit == "B" ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (shift < 0 || value > (~uint64_t(0) >> shift))
    return false;
  value <<= shift;
  return true;
}

bool parseChecks(std::string_view list, Checks &checks) {
  while (!list.empty()) {
    size_t plus = list.find('+');
    std::string_view name = list.substr(0, plus);
    list = plus == std::string_view::npos ? std::string_view() : list.substr(plus + 1);
    if (name == "races")
      checks.sharedRaces = checks.globalRaces = true;
    else if (name == "shared-races")
      checks.sharedRaces = true;
    else if (name == "global-races")
      checks.globalRaces = true;
    else if (name == "uninitialised")
      checks.uninitialised = true;
    else if (name == "same-value")
      checks.sameValueWrites = true;
    else if (name == "strict-fences")
      checks.strictFences = true;
    else if (name == "none")
      checks = {.bounds = false, .barriers = false, .asyncCopies = false};
    else if (name == "default")
      checks = {};
    else
      return false;
  }
  return true;
}

} // namespace

bool parseOptions(std::string_view text, Options &options, std::string &error) {
  Options result = options;
  bool ccGiven = false;
  std::string_view level;
  while (!text.empty()) {
    size_t comma = text.find_first_of(",;");
    std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty())
      continue;
    size_t equals = item.find('=');
    std::string_view key = item.substr(0, equals);
    std::string_view value = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    auto wants = [&](const char *accepted) {
      error = "cudasim option \"" + std::string(item) + "\": " + std::string(key) + " takes " + accepted;
      return false;
    };
    auto onOff = [&](bool &flag) {
      if (value != "on" && value != "off")
        return wants("on or off");
      flag = value == "on";
      return true;
    };
    uint64_t number = 0;
    if (key == "gpu") {
      std::string upper(value);
      for (char &c : upper)
        c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
      auto model = DeviceModel::named(upper);
      if (!model)
        return wants("a100, h200, rtx4090 or b200");
      int major = result.model.major, minor = result.model.minor;
      result.model = *model;
      if (ccGiven) {
        result.model.major = major;
        result.model.minor = minor;
      }
      result.shapesDevices = true;
    } else if (key == "cc") {
      int major = 0, minor = 0;
      if (value == "10.0")
        major = 10;
      else if (value.size() == 3 && value[1] == '.' && value[0] >= '0' && value[0] <= '9' && value[2] >= '0' &&
               value[2] <= '9')
        major = value[0] - '0', minor = value[2] - '0';
      auto model = DeviceModel::forCapability(major, minor);
      if (!model)
        return wants("8.0, 8.9, 9.0 or 10.0");
      result.model = *model;
      result.shapesDevices = ccGiven = true;
    } else if (key == "devices") {
      if (!parseNumber(value, number) || number > 64)
        return wants("a number from 0 to 64");
      result.devices = unsigned(number);
      result.shapesDevices = true;
    } else if (key == "memory") {
      if (!parseBytes(value, number) || number < (uint64_t(1) << 20))
        return wants("a size of at least 1MiB, such as 512MiB or 16GiB");
      result.memoryBytes = number;
      result.shapesDevices = true;
    } else if (key == "seed") {
      if (!parseNumber(value, result.seed))
        return wants("a number");
    } else if (key == "schedule") {
      if (value == "lazy")
        result.schedule = SchedulePolicy::Lazy;
      else if (value == "random")
        result.schedule = SchedulePolicy::Random;
      else if (value == "adversarial")
        result.schedule = SchedulePolicy::Adversarial;
      else if (value == "eager")
        result.schedule = SchedulePolicy::Eager;
      else
        return wants("lazy, random, adversarial or eager");
    } else if (key == "threads") {
      if (!parseNumber(value, number) || number > 1024)
        return wants("a number of host threads, or 0 for all");
      result.hostThreads = number ? unsigned(number) : std::max(1u, std::thread::hardware_concurrency());
    } else if (key == "check") {
      bool definedBefore = result.checks.uninitialised;
      if (!parseChecks(value, result.checks))
        return wants("races, shared-races, global-races, uninitialised, same-value, strict-fences, default or none, "
                     "joined by +");
      result.shapesDevices |= result.checks.uninitialised != definedBefore;
    } else if (key == "streams") {
      if (!onOff(result.streams))
        return false;
    } else if (key == "hostwatch") {
      if (!onOff(result.hostWatch))
        return false;
    } else if (key == "counters") {
      if (!onOff(result.counters))
        return false;
    } else if (key == "action") {
      if (value != "fail" && value != "log")
        return wants("fail or log");
      result.failOnFinding = value == "fail";
    } else if (key == "report") {
      if (value.empty())
        return wants("stderr, none or a file name");
      result.report = value;
    } else if (key == "idle") {
      if (!parseNumber(value, number) || number > 3600000)
        return wants("milliseconds; 0 switches it off");
      result.idleMs = unsigned(number);
    } else if (key == "steps") {
      if (!parseNumber(value, result.stepBudget))
        return wants("a number of warp instructions");
    } else if (key == "stack") {
      if (!parseBytes(value, number) || number > (uint64_t(512) << 10))
        return wants("a size of at most 512KiB");
      result.stackBytes = uint32_t(number);
    } else if (key == "level") {
      level = value;
    } else {
      error = "cudasim option \"" + std::string(item) +
              "\" is unknown: gpu, cc, devices, memory, seed, schedule, threads, check, streams, hostwatch, action, "
              "counters, report, idle, steps, stack and level exist";
      return false;
    }
  }
  if (!level.empty() && !setHandlerLevel(level)) { // last: it takes effect at once
    error = "cudasim option \"level=" + std::string(level) + "\": level takes x86-64, x86-64-v3 or x86-64-v4, if this processor has it";
    return false;
  }
  options = result;
  return true;
}

} // namespace graphc::cudasim
