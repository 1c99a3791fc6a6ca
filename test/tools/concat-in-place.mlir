// Parts of a concatenation that lie one after the other are computed where they belong; only a part that exists elsewhere is copied.
// RUN: graphc inspect %s --plan | FileCheck %s
// RUN: graphc verify %s --random
// CHECK: %3'z' : f32[1, 11, 6] Output 0
// CHECK-NEXT: Alias of %3'z'
// CHECK-NEXT: Alias of %3'z' + 96
// CHECK-NEXT: Alias of %3'z' + 168
// CHECK: 3 'concat' copy
// CHECK-NOT: copy
func.func @main(%x: tensor<1x4x6xf32> {graph.name = "x"}, %y: tensor<1x2x6xf32> {graph.name = "y"}, %w: tensor<6x6xf32> {graph.name = "w"}) -> (tensor<1x11x6xf32> {graph.name = "z"}) {
  %a = graph.exp %x : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %b = graph.matmul %y, %w : (tensor<1x2x6xf32>, tensor<6x6xf32>) -> tensor<1x2x6xf32>
  %c = graph.neg %x : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %s = graph.slice %x from <[0, 1, 0]> step [1, 1, 1] : (tensor<1x4x6xf32>) -> tensor<1x1x6xf32>
  %z = graph.concat %a, %b, %s, %c axis 1 : (tensor<1x4x6xf32>, tensor<1x2x6xf32>, tensor<1x1x6xf32>, tensor<1x4x6xf32>) -> tensor<1x11x6xf32>
  return %z : tensor<1x11x6xf32>
}
