// Bodies that do not fit their op.
// RUN: graphc-opt %s -split-input-file -verify-diagnostics

func.func @condition(%c: tensor<2xi1>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{needs one bool (tensor<i1>) as condition, got 'tensor<2xi1>'}}
  %r = graph.if %c {
    graph.yield %x : tensor<f32>
  } else {
    graph.yield %x : tensor<f32>
  } : (tensor<2xi1>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @branch(%c: tensor<i1>, %x: tensor<f32>, %y: tensor<2xf32>) -> tensor<f32> {
  // expected-error@+1 {{the second body yields (tensor<2xf32>), expected (tensor<f32>)}}
  %r = graph.if %c {
    graph.yield %x : tensor<f32>
  } else {
    graph.yield %y : tensor<2xf32>
  } : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @no_condition(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{carries its condition, one bool (tensor<i1>), as its first value, got (tensor<f32>)}}
  %r = graph.while (%x) {
  ^bb0(%v: tensor<f32>):
    graph.yield %v : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @length(%x: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{runs 3 times, but a scanned operand has shape [4]}}
  %r = graph.scan <[3]> carry() over(%x) {
  ^bb0(%v: tensor<f32>):
    graph.yield %v : tensor<f32>
  } : (tensor<4xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

func.func @slice(%x: tensor<3x2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{the body takes (tensor<f32>), expected (tensor<2xf32>)}}
  %r = graph.scan <[3]> carry() over(%x) {
  ^bb0(%v: tensor<f32>):
    graph.yield %v : tensor<f32>
  } : (tensor<3x2xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
