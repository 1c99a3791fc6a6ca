// Kernels that run on several lists of buffers in one call (ir/kernel/Segments.h).
#include "test/unit/codegen/Harness.h"

using namespace graphc::test;

// Segments: lists of buffers one behind the other, each as long as its own scalar says; ranges begin and end in any of them.
TEST(Segments, EachUpdatesItsOwnBuffers) {
  CpuKernel kernel(R"(
    kernel.func @scale(%x: memref<?xf32>, %f: memref<f32>, %y: memref<?xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> ()>, affine_map<()[s0] -> (s0)>], kernel.segments = 3 : i64} {
      kernel.parallel (%i) to (symbol(%n)) {
        %v = kernel.load %x[%i] : memref<?xf32>
        %s = kernel.load %f[] : memref<f32>
        %p = arith.mulf %v, %s : f32
        kernel.store %p, %y[%i] : memref<?xf32>
      }
    })");
  ASSERT_NE(kernel.entry, nullptr);
  std::vector<int64_t> sizes = {100, 1, 77};
  float factors[] = {2, 3, 5};
  int64_t total = 0;
  for (int64_t size : sizes)
    total += kernel.range({size});
  EXPECT_EQ(total, 128 + 64 + 128);
  for (int64_t pieces : {1, 2, 3, 7, 320}) {
    std::vector<std::vector<float>> in;
    std::vector<Guarded<float>> out;
    std::vector<void *> buffers;
    for (int64_t size : sizes) {
      in.push_back(randomFloats(size, -2, 2, size));
      out.emplace_back(size, -1.0f);
    }
    for (size_t s = 0; s < sizes.size(); ++s)
      buffers.insert(buffers.end(), {in[s].data(), &factors[s], out[s].data()});
    GraphcKernelContext context{&kernel.error, nullptr, 0};
    for (int64_t piece = 0; piece < pieces; ++piece)
      kernel.entry(buffers.data(), sizes.data(), &context, total * piece / pieces, total * (piece + 1) / pieces);
    for (size_t s = 0; s < sizes.size(); ++s) {
      out[s].check();
      for (int64_t i = 0; i < sizes[s]; ++i)
        ASSERT_EQ(out[s][i], in[s][i] * factors[s]) << "segment " << s << ", " << i << " of " << pieces << " pieces";
    }
  }
}
