// Programs that open the driver by its usual name find the simulator where the alias folder is on their path.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

namespace {

struct Outcome {
  int exitCode;
  std::string output;
};

Outcome run(const std::string &environment, const std::string &arguments = "") {
  std::string command = environment + " LD_LIBRARY_PATH=" GRAPHC_CUDASIM_ALIAS " " GRAPHC_FOREIGN_PROGRAM " " +
                        arguments + " 2>&1";
  Outcome outcome{-1, ""};
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return outcome;
  std::array<char, 512> buffer;
  while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  outcome.exitCode = WEXITSTATUS(pclose(pipe));
  return outcome;
}

TEST(ForeignProgram, RunsOnTheAlias) {
  Outcome outcome = run("");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("1 x Simulated"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("42 42"), std::string::npos) << outcome.output;
}

TEST(ForeignProgram, TakesOptionsFromTheEnvironment) {
  Outcome outcome = run("GRAPHC_CUDASIM=devices=2,gpu=h200,seed=5");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("2 x Simulated H200"), std::string::npos) << outcome.output;
  outcome = run("GRAPHC_CUDASIM=speed=fast");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.output.find("speed=fast"), std::string::npos) << outcome.output;
}

TEST(ForeignProgram, ItsBugIsReportedWithBothCallSites) {
  Outcome outcome = run("", "race");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.output.find("p_cuCtxSynchronize(): 719"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("stream-race"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("cudasim-foreign"), std::string::npos) << "names the program: " << outcome.output;
}

} // namespace
