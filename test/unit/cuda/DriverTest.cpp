// The driver table: what is missing is said, and a failing call names itself, its code and what that means.
#include "runtime/devices/cuda/Driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace graphc;
using testing::HasSubstr;

TEST(CudaDriver, OpensTheSimulator) {
  auto driver = cuda::Driver::open(GRAPHC_CUDASIM_LIBRARY);
  ASSERT_TRUE(driver.ok()) << driver.status().str();
  EXPECT_GE((*driver)->version(), cuda::Driver::kMinimumVersion);
  EXPECT_GE((*driver)->deviceCount(), 1);
  EXPECT_NE((*driver)->find("graphcCudasimConfigure"), nullptr);
  EXPECT_EQ((*driver)->find("noSuchFunction"), nullptr);
}

TEST(CudaDriver, AFailingCallNamesCallCodeAndMeaning) {
  auto driver = cuda::Driver::open(GRAPHC_CUDASIM_LIBRARY);
  ASSERT_TRUE(driver.ok()) << driver.status().str();
  CUdevice device = 0;
  Status status = (*driver)->deviceGet(&device, 99);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::DeviceUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE (101): "));
  EXPECT_GT(status.message().size(), std::string("cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE (101): ").size());
  // The name is the one in the library, version and all.
  CUdeviceptr nowhere = 0;
  EXPECT_THAT((*driver)->memAlloc(&nowhere, 0).message(), HasSubstr("cuMemAlloc_v2 failed: CUDA_ERROR_"));
}

TEST(CudaDriver, WhatIsNotThereIsSaid) {
  auto missing = cuda::Driver::open("libcuda-that-does-not-exist.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::DeviceUnavailable);
  EXPECT_THAT(missing.status().message(), HasSubstr("libcuda-that-does-not-exist.so.1 cannot be opened"));
  auto other = cuda::Driver::open("libm.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.status().message(), HasSubstr("libm.so.6 is not a CUDA driver"));
}
