// graph.nms: non-maximum suppression.
// RUN: graphc-op-test %s

// case: keeps the best of overlapping boxes
// in: 1x6x4xf32=[[[0 0 1 1][0 0.1 1 1.1][0 -0.1 1 0.9][0 10 1 11][0 10.1 1 11.1][0 100 1 101]]]
// in: 1x1x6xf32=[[[0.9 0.75 0.6 0.95 0.5 0.3]]]
// out: 3x3xi64=[[0 0 3][0 0 0][0 0 5]]
func.func @main(%x: tensor<1x6x4xf32> {graph.name = "x"}, %y: tensor<1x1x6xf32> {graph.name = "y"}) -> (tensor<?x3xi64, #graph.dims<[k, 3]>> {graph.name = "r0"}) {
  %0 = graph.nms %x, %y {max_per_class = 3 : i64, iou_threshold = 0.5 : f64, score_threshold = 0.0 : f64} : (tensor<1x6x4xf32>, tensor<1x1x6xf32>) -> tensor<?x3xi64, #graph.dims<[k, 3]>>
  return %0 : tensor<?x3xi64, #graph.dims<[k, 3]>>
}

// -----
// case: score threshold
// in: 1x6x4xf32=[[[0 0 1 1][0 0.1 1 1.1][0 -0.1 1 0.9][0 10 1 11][0 10.1 1 11.1][0 100 1 101]]]
// in: 1x1x6xf32=[[[0.9 0.75 0.6 0.95 0.5 0.3]]]
// out: 2x3xi64=[[0 0 3][0 0 0]]
func.func @main(%x: tensor<1x6x4xf32> {graph.name = "x"}, %y: tensor<1x1x6xf32> {graph.name = "y"}) -> (tensor<?x3xi64, #graph.dims<[k, 3]>> {graph.name = "r0"}) {
  %0 = graph.nms %x, %y {max_per_class = 3 : i64, iou_threshold = 0.5 : f64, score_threshold = 0.4 : f64} : (tensor<1x6x4xf32>, tensor<1x1x6xf32>) -> tensor<?x3xi64, #graph.dims<[k, 3]>>
  return %0 : tensor<?x3xi64, #graph.dims<[k, 3]>>
}
