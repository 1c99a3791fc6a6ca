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

// -----
// case: two batches, flipped corners
// in: 2x3x4xf32=[[[0 0 1 1][1 1 0 0][0 2 1 3]][[0 0 1 1][0 5 1 6][0 5.0999999 1 6.0999999]]]
// in: 2x1x3xf32=[[[0.89999998 0.80000001 0.69999999]][[0.1 0.89999998 0.94999999]]]
// out: 4x3xi64=[[0 0 0][0 0 2][1 0 2][1 0 0]]
func.func @main(%x: tensor<2x3x4xf32> {graph.name = "x"}, %y: tensor<2x1x3xf32> {graph.name = "y"}) -> (tensor<?x3xi64, #graph.dims<[k, 3]>> {graph.name = "r0"}) {
  %0 = graph.nms %x, %y {max_per_class = 5 : i64, iou_threshold = 0.5 : f64, score_threshold = 0.0 : f64} : (tensor<2x3x4xf32>, tensor<2x1x3xf32>) -> tensor<?x3xi64, #graph.dims<[k, 3]>>
  return %0 : tensor<?x3xi64, #graph.dims<[k, 3]>>
}

// -----
// case: center boxes, at most one
// in: 1x3x4xf32=[[[0.5 0.5 1 1][0.5 0.5 1 1.1][0.5 2.5 1 1]]]
// in: 1x1x3xf32=[[[0.30000001 0.89999998 0.5]]]
// out: 1x3xi64=[[0 0 1]]
func.func @main(%x: tensor<1x3x4xf32> {graph.name = "x"}, %y: tensor<1x1x3xf32> {graph.name = "y"}) -> (tensor<?x3xi64, #graph.dims<[k, 3]>> {graph.name = "r0"}) {
  %0 = graph.nms %x, %y {max_per_class = 1 : i64, iou_threshold = 0.5 : f64, score_threshold = 0.0 : f64, center_boxes} : (tensor<1x3x4xf32>, tensor<1x1x3xf32>) -> tensor<?x3xi64, #graph.dims<[k, 3]>>
  return %0 : tensor<?x3xi64, #graph.dims<[k, 3]>>
}
