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
