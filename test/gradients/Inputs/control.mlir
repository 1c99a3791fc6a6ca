// Ops with bodies.

func.func @if_first(%c: tensor<i1> {test.value = dense<true> : tensor<i1>}, %x: tensor<2x3xf64>, %w: tensor<3xf64>) -> tensor<2x3xf64> {
  %r = graph.if %c {
    %e = graph.exp %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %m = graph.mul %e, %w : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
    graph.yield %m : tensor<2x3xf64>
  } else {
    %m = graph.tanh %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
    graph.yield %m : tensor<2x3xf64>
  } : (tensor<i1>) -> tensor<2x3xf64>
  return %r : tensor<2x3xf64>
}
func.func @if_second(%c: tensor<i1> {test.value = dense<false> : tensor<i1>}, %x: tensor<2x3xf64>, %w: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = graph.sin %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %r:2 = graph.if %c {
    %e = graph.exp %y : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %m = graph.mul %e, %w : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
    graph.yield %m, %w : tensor<2x3xf64>, tensor<3xf64>
  } else {
    %m = graph.tanh %y : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %v = graph.exp %w : (tensor<3xf64>) -> tensor<3xf64>
    %p = graph.mul %m, %m : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    graph.yield %p, %v : tensor<2x3xf64>, tensor<3xf64>
  } : (tensor<i1>) -> (tensor<2x3xf64>, tensor<3xf64>)
  %s = graph.mul %r#0, %r#1 : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %s : tensor<2x3xf64>
}
// One body passes on what the other computes from; an if in an if.
func.func @if_nested(%c: tensor<i1> {test.value = dense<true> : tensor<i1>}, %d: tensor<i1> {test.value = dense<false> : tensor<i1>}, %x: tensor<3xf64>) -> tensor<3xf64> {
  %r = graph.if %c {
    %e = graph.exp %x : (tensor<3xf64>) -> tensor<3xf64>
    %n = graph.if %d {
      graph.yield %e : tensor<3xf64>
    } else {
      %q = graph.mul %e, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %t = graph.tanh %q : (tensor<3xf64>) -> tensor<3xf64>
      graph.yield %t : tensor<3xf64>
    } : (tensor<i1>) -> tensor<3xf64>
    %s = graph.mul %n, %e : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    graph.yield %s : tensor<3xf64>
  } else {
    graph.yield %x : tensor<3xf64>
  } : (tensor<i1>) -> tensor<3xf64>
  return %r : tensor<3xf64>
}

// A recurrent layer: every kind of operand, and all of its results.
func.func @scan(%xs: tensor<4x2x3xf64>, %h: tensor<2x3xf64>, %w: tensor<3x3xf64>) -> tensor<4x2x3xf64> {
  %r:2 = graph.scan <[4]> carry(%h) over(%xs) {
  ^bb0(%hidden: tensor<2x3xf64>, %x: tensor<2x3xf64>):
    %p = graph.matmul %hidden, %w : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
    %s = graph.add %p, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %t = graph.tanh %s : (tensor<2x3xf64>) -> tensor<2x3xf64>
    graph.yield %t, %s : tensor<2x3xf64>, tensor<2x3xf64>
  } : (tensor<2x3xf64>, tensor<4x2x3xf64>) -> (tensor<2x3xf64>, tensor<4x2x3xf64>)
  %y = graph.mul %r#1, %r#0 : (tensor<4x2x3xf64>, tensor<2x3xf64>) -> tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}
func.func @scan_reverse(%xs: tensor<?x2xf64, #graph.dims<[n, 2]>> {test.shape = array<i64: 3, 2>}, %h: tensor<2xf64>) -> tensor<?x2xf64, #graph.dims<[n, 2]>> {
  %r:2 = graph.scan <[n]> reverse carry(%h) over(%xs) {
  ^bb0(%c: tensor<2xf64>, %x: tensor<2xf64>):
    %two = graph.constant dense<2.0> : tensor<f64>
    %p = graph.mul %c, %x : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %s = graph.add %p, %two : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
    graph.yield %s, %p : tensor<2xf64>, tensor<2xf64>
  } : (tensor<2xf64>, tensor<?x2xf64, #graph.dims<[n, 2]>>) -> (tensor<2xf64>, tensor<?x2xf64, #graph.dims<[n, 2]>>)
  return %r#1 : tensor<?x2xf64, #graph.dims<[n, 2]>>
}
// Carried values that change places, an integer among them, a slice that is not used.
func.func @scan_swaps(%xs: tensor<3x2xf64>, %us: tensor<3x2xf64>, %a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %r:3 = graph.scan <[3]> carry(%a, %zero, %b) over(%xs, %us) {
  ^bb0(%p: tensor<2xf64>, %i: tensor<i64>, %q: tensor<2xf64>, %x: tensor<2xf64>, %u: tensor<2xf64>):
    %s = graph.sin %x : (tensor<2xf64>) -> tensor<2xf64>
    %next = graph.mul %p, %s : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %j = graph.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %q, %j, %next : tensor<2xf64>, tensor<i64>, tensor<2xf64>
  } : (tensor<2xf64>, tensor<i64>, tensor<2xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> (tensor<2xf64>, tensor<i64>, tensor<2xf64>)
  %y = graph.add %r#0, %r#2 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}
// A choice in a loop: x grows while it is small.
func.func @scan_of_if(%xs: tensor<3x2xf64>, %h: tensor<2xf64>) -> tensor<2xf64> {
  %half = graph.constant dense<0.5> : tensor<f64>
  %r = graph.scan <[3]> carry(%h) over(%xs) {
  ^bb0(%c: tensor<2xf64>, %x: tensor<2xf64>):
    %sum = graph.reduce "sum" %x axes [0] : (tensor<2xf64>) -> tensor<f64>
    %small = graph.less %sum, %half : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %n = graph.if %small {
      %e = graph.exp %x : (tensor<2xf64>) -> tensor<2xf64>
      %m = graph.mul %e, %c : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      graph.yield %m : tensor<2xf64>
    } else {
      %m = graph.mul %x, %x : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %s = graph.add %m, %c : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      graph.yield %s : tensor<2xf64>
    } : (tensor<i1>) -> tensor<2xf64>
    graph.yield %n : tensor<2xf64>
  } : (tensor<2xf64>, tensor<3x2xf64>) -> (tensor<2xf64>)
  return %r : tensor<2xf64>
}
func.func @scan_of_scan(%xs: tensor<2x3xf64>, %w: tensor<f64>) -> tensor<2x3xf64> {
  %one = graph.constant dense<1.0> : tensor<f64>
  %r:2 = graph.scan <[2]> carry(%one) over(%xs) {
  ^bb0(%c: tensor<f64>, %row: tensor<3xf64>):
    %s:2 = graph.scan <[3]> carry(%c) over(%row) {
    ^bb0(%t: tensor<f64>, %x: tensor<f64>):
      %p = graph.mul %t, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %u = graph.add %p, %w : (tensor<f64>, tensor<f64>) -> tensor<f64>
      graph.yield %u, %p : tensor<f64>, tensor<f64>
    } : (tensor<f64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
    graph.yield %s#0, %s#1 : tensor<f64>, tensor<3xf64>
  } : (tensor<f64>, tensor<2x3xf64>) -> (tensor<f64>, tensor<2x3xf64>)
  return %r#1 : tensor<2x3xf64>
}

// Three of at most five iterations run.
func.func @while(%x: tensor<2xf64>, %w: tensor<2xf64>) -> tensor<2xf64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %three = graph.constant dense<3> : tensor<i64>
  %true = graph.constant dense<true> : tensor<i1>
  %r:3 = graph.while (%true, %zero, %x) max 5 {
  ^bb0(%go: tensor<i1>, %i: tensor<i64>, %v: tensor<2xf64>):
    %p = graph.mul %v, %w : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %s = graph.sin %p : (tensor<2xf64>) -> tensor<2xf64>
    %n = graph.add %s, %v : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %j = graph.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %more = graph.less %j, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %more, %j, %n : tensor<i1>, tensor<i64>, tensor<2xf64>
  } : (tensor<i1>, tensor<i64>, tensor<2xf64>) -> (tensor<i1>, tensor<i64>, tensor<2xf64>)
  return %r#2 : tensor<2xf64>
}
