// Contractions in f32 go to the library; bf16 ones where the target multiplies bf16; what is decided stays decided.
// RUN: graphc-opt --pass-pipeline='builtin.module(func.func(graphc-select))' %s | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: graphc-opt --pass-pipeline='builtin.module(func.func(graphc-select{bf16=true}))' %s | FileCheck %s --check-prefixes=CHECK,BF16

// CHECK-LABEL: func.func @choices(
// CHECK: graph.matmul {{.*}}by = "library"{{.*}} -> tensor<2x2xf32>
// PLAIN: graph.matmul {{.*}}by = "kernel"{{.*}} -> tensor<2x2xbf16>
// BF16: graph.matmul {{.*}}by = "library"{{.*}} -> tensor<2x2xbf16>
// CHECK: graph.matmul {{.*}}by = "kernel"{{.*}} -> tensor<2x2xi32>
// CHECK: graph.matmul {{.*}}by = "kernel"{{.*}} -> tensor<2x2xf32>
func.func @choices(%x: tensor<2x2xf32>, %h: tensor<2x2xbf16>, %i: tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xf32>) {
  %a = graph.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = graph.matmul %h, %h : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %c = graph.matmul %i, %i : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %d = graph.matmul %x, %x {by = "kernel"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %a, %b, %c, %d : tensor<2x2xf32>, tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xf32>
}

// In a loop's body a product that takes less time than a library call is a kernel.
// CHECK-LABEL: func.func @step(
// CHECK: graph.matmul {{.*}}by = "kernel"{{.*}} -> tensor<1x4xf32>
// CHECK: graph.matmul {{.*}}by = "library"{{.*}} -> tensor<1x256xf32>
func.func @step(%h: tensor<1x4xf32>, %w: tensor<4x4xf32>, %g: tensor<1x256xf32>, %v: tensor<256x256xf32>) -> (tensor<1x4xf32>, tensor<1x256xf32>) {
  %r:2 = graph.scan <[100]> carry(%h, %g) over() {
  ^bb0(%c: tensor<1x4xf32>, %d: tensor<1x256xf32>):
    %a = graph.matmul %c, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %b = graph.matmul %d, %v : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
    graph.yield %a, %b : tensor<1x4xf32>, tensor<1x256xf32>
  } : (tensor<1x4xf32>, tensor<1x256xf32>) -> (tensor<1x4xf32>, tensor<1x256xf32>)
  return %r#0, %r#1 : tensor<1x4xf32>, tensor<1x256xf32>
}
