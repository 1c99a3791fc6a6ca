// graph.batch_norm_training.
// RUN: graphc-op-test %s

// case: channels are dim 1
// in: 2x3x4xf32=[[[-0.484375 0.09375 0.671875 -0.265625][0.3125 -0.625 -0.046875 0.53125][-0.40625 0.171875 0.75 -0.1875]][[0.390625 -0.546875 0.03125 0.609375][-0.328125 0.25 -0.6875 -0.109375][0.46875 -0.46875 0.109375 0.6875]]]
// in: 3xf32=[1.0 0.5 2.0]
// in: 3xf32=[0.0 1.0 -1.0]
// in: 3xf32=[0.5 -1.0 0.0]
// in: 3xf32=[1.0 2.0 0.5]
// in: f32=0.100000001
// out: 2x3x4xf32=[[[-1.23914886 0.0708085075 1.38076591 -0.743489325][1.48451781 0.350037038 1.0496335 1.74923003][-3.47829771 -0.858383 1.76153183 -2.48697877]][[0.743489325 -1.38076591 -0.0708085075 1.23914886][0.709289312 1.40888584 0.274405003 0.974001467][0.48697865 -3.76153183 -1.14161706 1.47829771]]]
// out: 3xf32=[0.456250012 -0.908789039 0.0140624996]
// out: 3xf32=[0.922258675 1.81950986 0.472258657]
// out: 3xf32=[0.0625 -0.087890625 0.140625]
// out: 3xf32=[2.26587224 2.42022562 2.26587224]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x3x4xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}, %u: tensor<3xf32> {graph.name = "u"}, %v: tensor<3xf32> {graph.name = "v"}, %w: tensor<f32> {graph.name = "w"}) -> (tensor<2x3x4xf32> {graph.name = "r0"}, tensor<3xf32> {graph.name = "r1"}, tensor<3xf32> {graph.name = "r2"}, tensor<3xf32> {graph.name = "r3"}, tensor<3xf32> {graph.name = "r4"}) {
  %0:5 = graph.batch_norm_training %x, %y, %z, %u, %v, %w {epsilon = 1.0e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----
// case: channels last
// in: 2x4x3xf32=[[[-0.484375 0.15625 -0.71875][-0.078125 0.5625 -0.3125][0.328125 -0.546875 0.09375][0.734375 -0.140625 0.5]][[-0.375 0.265625 -0.609375][0.03125 0.671875 -0.203125][0.4375 -0.4375 0.203125][-0.671875 -0.03125 0.609375]]]
// in: 3xf32=[1.0 0.5 2.0]
// in: 3xf32=[0.0 1.0 -1.0]
// in: 3xf32=[0.5 -1.0 0.0]
// in: 3xf32=[1.0 2.0 0.5]
// in: f32=0.25
// out: 2x4x3xf32=[[[-1.03833234 1.11441207 -3.90305185][-0.149554044 1.6101979 -2.12706733][0.739224315 0.256321341 -0.351082504][1.62800264 0.752107084 1.4249022]][[-0.79904592 1.24789286 -3.4249022][0.0897324309 1.74367869 -1.64891744][0.978510797 0.389802128 0.127067223][-1.44853783 0.885587871 1.90305197]]]
// out: 3xf32=[0.372558594 -0.734375 -0.013671875]
// out: 3xf32=[0.80969131 1.54795623 0.434797019]
// out: 3xf32=[-0.009765625 0.0625 -0.0546875]
// out: 3xf32=[2.18776202 2.44079161 2.18582726]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<2x4x3xf32> {graph.name = "x"}, %y: tensor<3xf32> {graph.name = "y"}, %z: tensor<3xf32> {graph.name = "z"}, %u: tensor<3xf32> {graph.name = "u"}, %v: tensor<3xf32> {graph.name = "v"}, %w: tensor<f32> {graph.name = "w"}) -> (tensor<2x4x3xf32> {graph.name = "r0"}, tensor<3xf32> {graph.name = "r1"}, tensor<3xf32> {graph.name = "r2"}, tensor<3xf32> {graph.name = "r3"}, tensor<3xf32> {graph.name = "r4"}) {
  %0:5 = graph.batch_norm_training %x, %y, %z, %u, %v, %w {channels_last, epsilon = 1.0e-05 : f64} : (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----
// case: 1, 2, 4: the running variance is unbiased
// in: 3x1xf32=[[1.0][2.0][4.0]]
// in: 1xf32=[1.0]
// in: 1xf32=[0.0]
// in: 1xf32=[0.0]
// in: 1xf32=[1.0]
// in: f32=0.100000001
// out: 3x1xf32=[[-1.06904149][-0.267260313][1.33630192]]
// out: 1xf32=[0.233333334]
// out: 1xf32=[1.13333333]
// out: 1xf32=[2.33333325]
// out: 1xf32=[0.801781178]
// tol: 1e-5 1e-6
func.func @main(%x: tensor<3x1xf32> {graph.name = "x"}, %y: tensor<1xf32> {graph.name = "y"}, %z: tensor<1xf32> {graph.name = "z"}, %u: tensor<1xf32> {graph.name = "u"}, %v: tensor<1xf32> {graph.name = "v"}, %w: tensor<f32> {graph.name = "w"}) -> (tensor<3x1xf32> {graph.name = "r0"}, tensor<1xf32> {graph.name = "r1"}, tensor<1xf32> {graph.name = "r2"}, tensor<1xf32> {graph.name = "r3"}, tensor<1xf32> {graph.name = "r4"}) {
  %0:5 = graph.batch_norm_training %x, %y, %z, %u, %v, %w {epsilon = 1.0e-05 : f64} : (tensor<3x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<f32>) -> (tensor<3x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<3x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
