// New values of arguments (`graph.updates`), computed in place where that is right.
// RUN: graphc-op-test %s

// case: parameters of three shapes and their moments, updated alike
// in: 2x3xf32=[[1 2 3][4 5 6]]
// in: 2xf32=[1 -1]
// in: 1xf32=[2]
// in: 3xf32=[1 0 -1]
// in: f32=-0.25
// in: 2x3xf32=[[0 0 0][8 8 8]]
// in: 2xf32=[4 0]
// in: 1xf32=[-2]
// out: 2x3xf32=[[1.5 2 2.5][5.5 5 4.5]]
// out: 2x3xf32=[[-2 0 2][-2 4 10]]
// out: 2xf32=[1.5 0.5]
// out: 2xf32=[0 -6]
// out: 1xf32=[4]
// out: 1xf32=[-9]
func.func @main(%w: tensor<2x3xf32> {graph.name = "w"}, %b: tensor<2xf32> {graph.name = "b"}, %c: tensor<1xf32> {graph.name = "c"}, %x: tensor<3xf32> {graph.name = "x"}, %rate: tensor<f32> {graph.name = "rate"}, %mw: tensor<2x3xf32> {graph.name = "mw"}, %mb: tensor<2xf32> {graph.name = "mb"}, %mc: tensor<1xf32> {graph.name = "mc"}) -> (tensor<2x3xf32> {graph.name = "new_w", graph.updates = 0 : i64}, tensor<2x3xf32> {graph.name = "new_mw", graph.updates = 5 : i64}, tensor<2xf32> {graph.name = "new_b", graph.updates = 1 : i64}, tensor<2xf32> {graph.name = "new_mb", graph.updates = 6 : i64}, tensor<1xf32> {graph.name = "new_c", graph.updates = 2 : i64}, tensor<1xf32> {graph.name = "new_mc", graph.updates = 7 : i64}) {
  %half = graph.constant dense<0.5> : tensor<f32>
  %columns = graph.reshape %x : (tensor<3xf32>) -> tensor<3x1xf32>
  %0 = graph.matmul %w, %columns : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %1 = graph.reshape %0 : (tensor<2x1xf32>) -> tensor<2xf32>
  %y = graph.add %1, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %dy = graph.mul %y, %c : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  %dyc = graph.reshape %dy : (tensor<2xf32>) -> tensor<2x1xf32>
  %row = graph.reshape %x : (tensor<3xf32>) -> tensor<1x3xf32>
  %dw = graph.matmul %dyc, %row : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %dcs = graph.reduce "sum" %dy axes [0] keep : (tensor<2xf32>) -> tensor<1xf32>
  %sw = graph.mul %half, %mw : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %nmw = graph.add %sw, %dw : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %uw = graph.mul %rate, %dw : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %nw = graph.add %w, %uw : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %sb = graph.mul %half, %mb : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %nmb = graph.add %sb, %dy : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %ub = graph.mul %rate, %dy : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %nb = graph.add %b, %ub : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %sc = graph.mul %half, %mc : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %nmc = graph.add %sc, %dcs : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %uc = graph.mul %rate, %dcs : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %nc = graph.add %c, %uc : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %nw, %nmw, %nb, %nmb, %nc, %nmc : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>
}
