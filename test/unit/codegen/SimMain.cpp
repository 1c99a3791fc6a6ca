// Opens the simulated device and NVRTC before the tests of kernels on it; without NVRTC they are skipped, by this program's name.
#include "test/unit/codegen/SimKernel.h"

#include <cstdlib>
#include <iostream>

using namespace graphc;
using graphc::test::Simulator;

Simulator &Simulator::get() {
  static Simulator simulator;
  return simulator;
}

std::string Simulator::findings() {
  using Reports = decltype(graphcCudasimReports);
  using Clear = decltype(graphcCudasimClear);
  const GraphcCudasimReport *reports = nullptr;
  size_t count = reinterpret_cast<Reports *>(driver->find("graphcCudasimReports"))(&reports);
  std::string text;
  for (size_t i = 0; i < count; ++i)
    if (reports[i].isError)
      text += std::string(reports[i].message) + "\n";
  reinterpret_cast<Clear *>(driver->find("graphcCudasimClear"))();
  return text;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("GRAPHC_CUDASIM", "check=races,report=none", 1);
  auto nvrtc = cuda::Nvrtc::open(cuda::Nvrtc::candidates({}));
  if (!nvrtc.ok()) {
    std::cout << "skipped: " << nvrtc.status().message() << "\n";
    return 77;
  }
  auto driver = cuda::Driver::open(GRAPHC_CUDASIM_LIBRARY);
  if (!driver.ok()) {
    std::cerr << driver.status().message() << "\n";
    return 1;
  }
  Simulator::get() = {*driver, *nvrtc};
  CUdevice device;
  CUcontext context;
  for (Status status : {(*driver)->deviceGet(&device, 0), (*driver)->primaryCtxRetain(&context, device), (*driver)->ctxSetCurrent(context)})
    if (!status.ok()) {
      std::cerr << status.message() << "\n";
      return 1;
    }
  return RUN_ALL_TESTS();
}
