// graphc-differentiate: what it cannot do is said with a location.
// RUN: graphc-opt %s -split-input-file -verify-diagnostics -graphc-differentiate

// expected-error @below {{the result to differentiate must be one floating-point number (a tensor of rank 0), got 'tensor<4xf32>'; reduce it with a sum or a mean}}
func.func @vector(%x: tensor<4xf32> {graph.differentiate}) -> tensor<4xf32> attributes {graph.gradient_of = 0 : i64} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 of type 'tensor<i64>' has no gradient: only floating-point tensors do}}
func.func @integer(%n: tensor<i64> {graph.differentiate}, %x: tensor<f32>) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{graph.gradient_of must be the number of one of the function's 1 results}}
func.func @number(%x: tensor<f32> {graph.differentiate}) -> tensor<f32> attributes {graph.gradient_of = 1 : i64} {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{no argument is marked graph.differentiate: nothing to differentiate by}}
func.func @nothing(%x: tensor<f32>) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  return %x : tensor<f32>
}

// -----

func.func @product(%x: tensor<4xf32> {graph.differentiate}, %i: tensor<1xi64>, %u: tensor<1xf32>) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  // expected-error @below {{graph.scatter_elements with reduction "mul" has no gradient rule; none, add, max and min have one}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "mul"} : (tensor<4xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<4xf32>
  %1 = graph.reduce "sum" %0 axes [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @weights(%x: tensor<2x3xf32>, %l: tensor<2xi64>, %w: tensor<3xf32> {graph.differentiate}) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  // expected-error @below {{graph.cross_entropy: the class weights have no gradient; pass a tensor that does not require one}}
  %0 = graph.cross_entropy %x, %l, %w : (tensor<2x3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @unbounded(%go: tensor<i1>, %x: tensor<f32> {graph.differentiate}) -> tensor<f32> attributes {graph.gradient_of = 0 : i64} {
  // expected-error@+1 {{a while loop without a bound has no gradient: declare the most iterations that it may run (`max`), or use a scan}}
  %r:2 = graph.while (%go, %x) {
  ^bb0(%g: tensor<i1>, %v: tensor<f32>):
    %w = graph.mul %v, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %g, %w : tensor<i1>, tensor<f32>
  } : (tensor<i1>, tensor<f32>) -> (tensor<i1>, tensor<f32>)
  return %r#1 : tensor<f32>
}
