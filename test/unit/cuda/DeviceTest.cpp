// The verbs of a CUDA device, on the simulated one with all its checks: memory, queues, events, copies, recordings.
#include "SimDevice.h"

#include <cstring>
#include <random>

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

const char *const kSource = R"(
extern "C" __global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2;
}
extern "C" __global__ void broken() { __trap(); }
)";

class Verbs : public SimDevice {
protected:
  void SetUp() override {
    std::string reason;
    if (!nvrtc(reason))
      GTEST_SKIP() << reason;
    begin();
  }
  void begin(const std::string &options = {}, CachingAllocatorOptions memory = {}) {
    kernels.clear();
    module.reset();
    SimDevice::begin(options, memory);
    auto loaded = device->loadModule(moduleOf(kSource));
    ASSERT_TRUE(loaded.ok()) << loaded.status().str();
    module = *loaded;
  }
  void TearDown() override {
    kernels.clear();
    module.reset();
    SimDevice::TearDown();
  }
  Status twice(Queue &queue, DeviceAddress address, int n) {
    if (!kernels.contains("twice"))
      kernels["twice"] = *module->kernel("twice", 128, 0);
    void *arguments[] = {&address, &n};
    LaunchWork work{kernels["twice"].get(), (n + 127) / 128, 128, 0, arguments};
    return queue.launch(work);
  }
  std::shared_ptr<const DeviceModule> module;
  std::map<std::string, std::unique_ptr<DeviceKernel>> kernels;
};

TEST_F(Verbs, DeviceSaysWhatItIs) {
  EXPECT_EQ(device->id().str(), "sim:0");
  EXPECT_TRUE(device->properties().simulated);
  EXPECT_THAT(device->properties().name, HasSubstr("Simulated"));
  EXPECT_EQ(device->properties().architecture, "sm_80");
  EXPECT_GT(device->properties().memoryBytes, 0);
}

TEST_F(Verbs, RoundTripThroughAKernel) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  DeviceTensor x = upload<float>({1000}, values);
  ASSERT_FINE(twice(device->defaultQueue(), x.address(), 1000));
  std::vector<float> result = download<float>(x);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(result[i], 2 * values[i]);
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, MissingKernelsAndUnknownArchitecturesAreNamed) {
  auto kernel = module->kernel("thrice", 128, 0);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), Code::KernelMissing);
  EXPECT_THAT(kernel.status().message(), HasSubstr("module 'test' has no kernel 'thrice': cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500)"));
  plan::CudaModuleT newer = moduleOf(kSource);
  newer.images[0]->arch = "compute_90";
  auto loaded = device->loadModule(newer);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::ArtifactTarget);
  EXPECT_THAT(loaded.status().message(), HasSubstr("was compiled for compute_90; none of these runs on sim:0, which is sm_80 and takes PTX only"));
  plan::CudaModuleT damaged = moduleOf(kSource);
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\nthis is no PTX";
  damaged.images[0]->bytes.assign(text.c_str(), text.c_str() + text.size() + 1);
  loaded = device->loadModule(damaged);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.status().message(), HasSubstr("cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218)"));
}

TEST_F(Verbs, TheBestImageIsChosen) {
  plan::CudaModuleT module = moduleOf(kSource);
  // A cubin for this architecture would come first on a GPU; the simulator takes PTX only. A newer PTX cannot run.
  auto cubin = std::make_unique<plan::CudaImageT>();
  cubin->arch = "sm_80";
  cubin->kind = plan::ImageKind::CUBIN;
  cubin->bytes = {1, 2, 3};
  module.images.push_back(std::move(cubin));
  auto newer = std::make_unique<plan::CudaImageT>();
  newer->arch = "compute_100";
  newer->bytes = {0};
  module.images.push_back(std::move(newer));
  EXPECT_TRUE(device->loadModule(module).ok());
}

TEST_F(Verbs, DeviceThatDoesNotExist) {
  auto opened = cuda::openCudaDevice({DeviceId::Kind::Sim, 3}, cudaOptions);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::DeviceUnavailable);
  EXPECT_THAT(opened.status().message(), HasSubstr("device 'sim:3' does not exist: the driver has 1 device"));
}

TEST_F(Verbs, ABlockMayBeReusedInItsQueueWithoutWaiting) {
  std::vector<float> ones(1000, 1);
  for (int round = 0; round < 5; ++round) {
    DeviceTensor x = upload<float>({1000}, ones);
    ASSERT_FINE(twice(device->defaultQueue(), x.address(), 1000));
    // x is freed here while its kernel is still queued; the next round gets the same block.
  }
  EXPECT_EQ(device->memory().statistics().segment.all.current, 1);
  ASSERT_FINE(device->synchronize());
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, AnotherQueuesUseDelaysReuse) {
  auto queue = *device->newQueue();
  DeviceTensor x = upload<float>({1000}, std::vector<float>(1000, 1));
  DeviceAddress address = x.address();
  ASSERT_FINE(useIn(*queue, x));
  ASSERT_FINE(twice(*queue, x.address(), 1000));
  x = {};
  DeviceTensor y = upload<float>({1000}, std::vector<float>(1000, 3));
  EXPECT_NE(y.address(), address);
  ASSERT_FINE(device->synchronize());
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, WithoutTheRecordOfThatUseTheSimulatorReports) {
  auto queue = *device->newQueue();
  DeviceTensor x = upload<float>({1000}, std::vector<float>(1000, 1));
  ASSERT_FINE(queue->wait(*x.ready)); // but not: x.memory->usedBy(*queue)
  ASSERT_FINE(twice(*queue, x.address(), 1000));
  x = {};
  DeviceTensor y = upload<float>({1000}, std::vector<float>(1000, 3));
  EXPECT_FALSE(device->synchronize().ok());
  EXPECT_NE(reports(), "");
}

TEST_F(Verbs, WritingPastABlockMeetsARedZone) {
  DeviceTensor x = upload<float>({1000}, std::vector<float>(1000, 1)), neighbour = upload<float>({1000}, std::vector<float>(1000, 1));
  ASSERT_EQ(device->memory().statistics().segment.all.current, 1) << "both lie in one allocation of the driver";
  ASSERT_FINE(twice(device->defaultQueue(), x.address(), 1001));
  EXPECT_FALSE(device->synchronize().ok());
  EXPECT_THAT(reports(), HasSubstr("out-of-bounds"));
}

TEST_F(Verbs, AFailedDeviceSaysSo) {
  auto kernel = *module->kernel("broken", 1, 0);
  LaunchWork work{kernel.get(), 1, 1, 0, nullptr};
  ASSERT_FINE(device->defaultQueue().launch(work));
  Status status = device->synchronize();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::DeviceUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("sim:0: cuCtxSynchronize failed: CUDA_ERROR_"));
  EXPECT_THAT(status.message(), HasSubstr("the device cannot be used any more in this process"));
}

TEST_F(Verbs, PinnedCopiesOverlapAndAreSafe) {
  auto pinned = *PinnedMemory::allocate(device, 4000);
  auto *values = static_cast<float *>(pinned.data());
  std::fill(values, values + 1000, 4.0f);
  DeviceTensor x = *DeviceTensor::fromHost(device, HostTensor::borrow(DType::F32, {1000}, static_cast<void *>(values)), device->defaultQueue());
  pinned.reset(); // returned to the pool while the copy is still queued
  auto next = *PinnedMemory::allocate(device, 4000);
  EXPECT_NE(next.data(), values) << "the copy still reads it";
  std::memset(next.data(), 0, 4000);
  EXPECT_EQ(download<float>(x), std::vector<float>(1000, 4.0f));
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, StridedCopiesAndFillsOfEverySize) {
  std::mt19937 random(3);
  for (int elementBytes : {1, 2, 4, 8})
    for (int round = 0; round < 12; ++round) {
      // A random permutation of a random box, into a box with gaps; sometimes a broadcast.
      size_t rank = random() % 5;
      std::vector<int64_t> dims(rank), src(rank), dst(rank);
      std::vector<size_t> order(rank);
      for (size_t d = 0; d < rank; ++d) {
        dims[d] = 1 + static_cast<int64_t>(random() % 6);
        order[d] = d;
      }
      std::shuffle(order.begin(), order.end(), random);
      int64_t stride = 1, srcElements = 1, dstElements = 1;
      for (size_t d : order) {
        src[d] = random() % 5 == 0 ? 0 : stride;
        stride *= dims[d];
      }
      srcElements = stride;
      stride = 1;
      for (size_t d = rank; d-- > 0;) {
        dst[d] = stride;
        stride *= dims[d] + static_cast<int64_t>(random() % 2);
      }
      dstElements = std::max<int64_t>(stride, 1);
      std::vector<uint8_t> source(static_cast<size_t>(srcElements * elementBytes)), target(static_cast<size_t>(dstElements * elementBytes), 0xEE);
      for (uint8_t &byte : source)
        byte = static_cast<uint8_t>(random());
      auto in = upload<uint8_t>({static_cast<int64_t>(source.size())}, source);
      auto out = upload<uint8_t>({static_cast<int64_t>(target.size())}, target);
      ASSERT_FINE(device->defaultQueue().copy({out.address(), in.address(), elementBytes, dims, dst, src}));
      std::vector<int64_t> index(rank);
      auto each = [&](auto &&visit) {
        std::fill(index.begin(), index.end(), 0);
        for (bool more = true; more;) {
          int64_t from = 0, to = 0;
          for (size_t d = 0; d < rank; ++d) {
            from += index[d] * src[d];
            to += index[d] * dst[d];
          }
          visit(from, to);
          more = false;
          for (size_t d = rank; d-- > 0 && !more;)
            if (++index[d] < dims[d])
              more = true;
            else
              index[d] = 0;
        }
      };
      each([&](int64_t from, int64_t to) {
        std::memcpy(target.data() + to * elementBytes, source.data() + from * elementBytes, static_cast<size_t>(elementBytes));
      });
      ASSERT_EQ(download<uint8_t>(out), target) << elementBytes << " bytes, round " << round;
      uint64_t bits = (uint64_t(random()) << 32) | random();
      ASSERT_FINE(device->defaultQueue().fill({out.address(), elementBytes, dims, dst, bits}));
      each([&](int64_t, int64_t to) { std::memcpy(target.data() + to * elementBytes, &bits, static_cast<size_t>(elementBytes)); });
      ASSERT_EQ(download<uint8_t>(out), target) << "fill of " << elementBytes << " bytes, round " << round;
    }
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, OutOfMemoryAndRecovery) {
  begin("memory=64MiB");
  DeviceTensor big = *DeviceTensor::allocate(device, DType::F32, {8 << 20}, device->defaultQueue(), "activations");
  auto refused = DeviceTensor::allocate(device, DType::F32, {12 << 20}, device->defaultQueue(), "logits");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::OutOfMemory);
  EXPECT_THAT(refused.status().message(), HasSubstr("sim:0 is out of memory: asked for 48.00 MiB for 'logits'; of its 64.00 MiB"));
  EXPECT_THAT(refused.status().message(), HasSubstr("'activations' 32.00 MiB"));
  EXPECT_TRUE(DeviceTensor::allocate(device, DType::F32, {2 << 20}, device->defaultQueue()).ok()) << "a smaller step works";
  big = {};
  EXPECT_TRUE(DeviceTensor::allocate(device, DType::F32, {12 << 20}, device->defaultQueue()).ok()) << "the cache was released";
  ASSERT_FINE(device->memory().emptyCache());
  EXPECT_EQ(device->memory().statistics().reservedBytes.all.current, 0);
  ASSERT_FINE(device->synchronize());
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, CopiesBetweenDevices) {
  begin("devices=2");
  auto second = open(1);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(device->canAccess(*second));
  DeviceTensor x = upload<float>({1000}, std::vector<float>(1000, 5));
  ASSERT_FINE(twice(device->defaultQueue(), x.address(), 1000));
  DeviceTensor y = *x.to(second, second->defaultQueue());
  x = {};
  DeviceTensor other = upload<float>({1000}, std::vector<float>(1000, 1)); // may get x's block: the copy comes first
  EXPECT_EQ(y.memory->device(), second);
  EXPECT_EQ(download<float>(y), std::vector<float>(1000, 10));
  EXPECT_EQ(download<float>(other), std::vector<float>(1000, 1));
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, ARecordingIsReplayedOnOtherAddresses) {
  auto queue = *device->newQueue();
  DeviceTensor a = upload<float>({1000}, std::vector<float>(1000, 1)), b = upload<float>({1000}, std::vector<float>(1000, 10)),
               c = upload<float>({1000}, std::vector<float>(1000, 0));
  ASSERT_FINE(device->synchronize());
  const int64_t dims[] = {1000}, strides[] = {1};
  ASSERT_FINE(queue->beginRecording());
  ASSERT_FINE(twice(*queue, a.address(), 1000));
  RecordedWork kernel = *queue->lastRecorded();
  ASSERT_FINE(queue->copy({c.address(), a.address(), 4, dims, strides, strides}));
  RecordedWork copy = *queue->lastRecorded();
  auto recording = queue->endRecording();
  ASSERT_TRUE(recording.ok()) << recording.status().str();
  EXPECT_EQ((*recording)->workCount(), 2);
  EXPECT_EQ(download<float>(a), std::vector<float>(1000, 1)) << "recording does nothing";
  ASSERT_FINE((*recording)->launch(device->defaultQueue()));
  EXPECT_EQ(download<float>(c), std::vector<float>(1000, 2));
  DeviceAddress address = b.address();
  int n = 1000;
  void *arguments[] = {&address, &n};
  ASSERT_FINE((*recording)->update(kernel, LaunchWork{kernels["twice"].get(), 8, 128, 0, arguments}));
  ASSERT_FINE((*recording)->update(copy, CopyWork{c.address(), b.address(), 4, dims, strides, strides}));
  ASSERT_FINE((*recording)->launch(device->defaultQueue()));
  EXPECT_EQ(download<float>(c), std::vector<float>(1000, 20));
  EXPECT_EQ(download<float>(a), std::vector<float>(1000, 2)) << "a was left alone";
  EXPECT_EQ(reports(), "");
}

TEST_F(Verbs, AQueuesMemoryOutlivesIt) {
  auto queue = *device->newQueue();
  DeviceMemory memory = *DeviceMemory::allocate(device, 4000, *queue, "x");
  queue.reset();
  DeviceAddress address = memory.address();
  memory.reset();
  DeviceMemory next = *DeviceMemory::allocate(device, 4000, device->defaultQueue(), "y");
  EXPECT_EQ(next.address(), address) << "the default queue inherits it";
}

} // namespace
