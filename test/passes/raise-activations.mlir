// gelu by erf and by tanh, silu and sigmoid, in the orders exporters multiply them.
// RUN: graphc-opt %s --graphc-raise | FileCheck %s

// CHECK-LABEL: @gelu_erf
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[Y:.*]] = graph.gelu %[[X]] : (
// CHECK-NEXT: return %[[Y]]
func.func @gelu_erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %u = graph.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = graph.erf %u : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p = graph.mul %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.mul %p, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// As GPT-2 is exported: 0.5 x first, the cube by pow.
// CHECK-LABEL: @gelu_tanh
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[Y:.*]] = graph.gelu %[[X]] {tanh}
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %c = graph.constant dense<0.0447149985> : tensor<f32>
  %k = graph.constant dense<0.797884583> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %h = graph.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p = graph.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %pc = graph.mul %p, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %s = graph.add %x, %pc : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %u = graph.mul %s, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %t = graph.tanh %u : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.add %t, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = graph.mul %h, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// As JAX writes it, where x is itself a product.
// CHECK-LABEL: @gelu_of_product
// CHECK: %[[X:.*]] = graph.mul
// CHECK: %[[Y:.*]] = graph.gelu %[[X]] {tanh}
// CHECK-NEXT: return %[[Y]]
func.func @gelu_of_product(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %c = graph.constant dense<0.0447149985> : tensor<f32>
  %k = graph.constant dense<0.797884583> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %x = graph.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x1 = graph.mul %c, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %x2 = graph.mul %x, %x1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x3 = graph.mul %x, %x2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %s = graph.add %x, %x3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %u = graph.mul %k, %s : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %t = graph.tanh %u : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.add %one, %t : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %gh = graph.mul %half, %g : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.mul %x, %gh : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @silu
// CHECK: %[[Y:.*]] = graph.silu
// CHECK-NEXT: return %[[Y]]
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %n = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %e = graph.exp %n : (tensor<4xf32>) -> tensor<4xf32>
  %d = graph.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %s = graph.reciprocal %d : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// The gate of one value on another is no silu.
// CHECK-LABEL: @gated
// CHECK: graph.sigmoid
// CHECK: graph.mul
func.func @gated(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.sigmoid %z : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.mul %x, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Another constant under erf.
// CHECK-LABEL: @not_gelu
// CHECK-NOT: graph.gelu
// CHECK: graph.erf
func.func @not_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %e = graph.erf %x : (tensor<4xf32>) -> tensor<4xf32>
  %g = graph.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p = graph.mul %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.mul %p, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
