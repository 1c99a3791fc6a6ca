// Softmax, normalisations, attention, losses, dropout.

func.func @softmax_0(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.softmax %x {axis = 0 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @log_softmax_0(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.log_softmax %x {axis = 0 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @softmax_1(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @log_softmax_1(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @softmax_2(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.softmax %x {axis = 2 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @log_softmax_2(%x: tensor<3x5x2xf64>) -> tensor<3x5x2xf64> {
  %0 = graph.log_softmax %x {axis = 2 : i64} : (tensor<3x5x2xf64>) -> tensor<3x5x2xf64>
  return %0 : tensor<3x5x2xf64>
}
func.func @layer_norm(%x: tensor<2x3x4xf64>, %s: tensor<3x4xf64>, %b: tensor<3x4xf64>) -> tensor<2x3x4xf64> {
  %0 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-03 : f64} : (tensor<2x3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}
func.func @layer_norm_no_bias(%x: tensor<5x4xf64>, %s: tensor<4xf64>) -> tensor<5x4xf64> {
  %0 = graph.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-03 : f64} : (tensor<5x4xf64>, tensor<4xf64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
func.func @rms_norm(%x: tensor<3x5xf64>, %s: tensor<5xf64>) -> tensor<3x5xf64> {
  %0 = graph.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-03 : f64} : (tensor<3x5xf64>, tensor<5xf64>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}
func.func @batch_norm(%x: tensor<2x3x4xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<2x3x4xf64> {
  %0 = graph.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-03 : f64} : (tensor<2x3x4xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x4xf64>
  return %0 : tensor<2x3x4xf64>
}
func.func @batch_norm_last(%x: tensor<2x4x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {test.range = array<f64: 0.5, 2.0>}) -> tensor<2x4x3xf64> {
  %0 = graph.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-03 : f64, channels_last} : (tensor<2x4x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x4x3xf64>
  return %0 : tensor<2x4x3xf64>
}
func.func @instance_norm(%x: tensor<2x3x4x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<2x3x4x3xf64> {
  %0 = graph.instance_norm %x, %s, %b {epsilon = 1.0e-03 : f64} : (tensor<2x3x4x3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x4x3xf64>
  return %0 : tensor<2x3x4x3xf64>
}
func.func @group_norm(%x: tensor<2x6x3x2xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<2x6x3x2xf64> {
  %0 = graph.group_norm %x, %s, %b {groups = 2 : i64, epsilon = 1.0e-03 : f64} : (tensor<2x6x3x2xf64>, tensor<6xf64>, tensor<6xf64>) -> tensor<2x6x3x2xf64>
  return %0 : tensor<2x6x3x2xf64>
}
func.func @lrn(%x: tensor<2x5x3xf64>) -> tensor<2x5x3xf64> {
  %0 = graph.lrn %x {size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<2x5x3xf64>) -> tensor<2x5x3xf64>
  return %0 : tensor<2x5x3xf64>
}
func.func @batch_norm_training(%x: tensor<4x3x5xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64> {test.constant}, %v: tensor<3xf64> {test.constant}, %f: tensor<f64> {test.constant}) -> (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>) {
  %y, %nm, %nv, %mean, %inv = graph.batch_norm_training %x, %s, %b, %m, %v, %f {epsilon = 1.0e-03 : f64} : (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y, %mean, %inv : tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @batch_norm_training_last(%x: tensor<4x5x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64> {test.constant}, %v: tensor<3xf64> {test.constant}, %f: tensor<f64> {test.constant}) -> (tensor<4x5x3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %y, %nm, %nv, %mean, %inv = graph.batch_norm_training %x, %s, %b, %m, %v, %f {epsilon = 1.0e-03 : f64, channels_last} : (tensor<4x5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<4x5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y, %mean, %inv : tensor<4x5x3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @batch_norm_training_rows(%x: tensor<5x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64> {test.constant}, %v: tensor<3xf64> {test.constant}, %f: tensor<f64> {test.constant}) -> (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %y, %nm, %nv, %mean, %inv = graph.batch_norm_training %x, %s, %b, %m, %v, %f {epsilon = 1.0e-03 : f64} : (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y, %mean, %inv : tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @attention(%q: tensor<2x2x5x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x6xf64>) -> tensor<2x2x5x6xf64> {
  %0 = graph.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x2x5x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x6xf64>) -> tensor<2x2x5x6xf64>
  return %0 : tensor<2x2x5x6xf64>
}
func.func @attention_mask(%q: tensor<2x2x5x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x6xf64>, %m: tensor<5x3xf64>) -> tensor<2x2x5x6xf64> {
  %0 = graph.attention %q, %k, %v, %m {scale = 0.5 : f64} : (tensor<2x2x5x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x6xf64>, tensor<5x3xf64>) -> tensor<2x2x5x6xf64>
  return %0 : tensor<2x2x5x6xf64>
}
func.func @attention_keep(%q: tensor<2x2x5x4xf64>, %k: tensor<2x2x3x4xf64>, %v: tensor<2x2x3x6xf64>, %m: tensor<5x3xi1> {test.value = dense<[[true, false, true], [true, true, true], [false, false, false], [false, true, false], [true, true, false]]> : tensor<5x3xi1>}) -> tensor<2x2x5x6xf64> {
  %0 = graph.attention %q, %k, %v, %m {scale = 0.5 : f64, nan_to_zero} : (tensor<2x2x5x4xf64>, tensor<2x2x3x4xf64>, tensor<2x2x3x6xf64>, tensor<5x3xi1>) -> tensor<2x2x5x6xf64>
  return %0 : tensor<2x2x5x6xf64>
}
func.func @attention_shared(%q: tensor<2x2x5x4xf64>, %k: tensor<1x1x3x4xf64>, %v: tensor<1x2x3x6xf64>) -> tensor<2x2x5x6xf64> {
  %0 = graph.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x2x5x4xf64>, tensor<1x1x3x4xf64>, tensor<1x2x3x6xf64>) -> tensor<2x2x5x6xf64>
  return %0 : tensor<2x2x5x6xf64>
}
func.func @cross_entropy_none(%x: tensor<4x5xf64>, %l: tensor<4xi64> {test.value = dense<[0, 2, -100, 3]> : tensor<4xi64>}) -> tensor<4xf64> {
  %0 = graph.cross_entropy %x, %l {reduction = "none"} : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @cross_entropy_all_none(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<2x3xf64> {
  %0 = graph.cross_entropy %x, %l, %w {reduction = "none", smoothing = 0.1 : f64} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @nll_loss_none(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<2x3xf64> {
  %0 = graph.nll_loss %x, %l, %w {reduction = "none"} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
func.func @cross_entropy_sum(%x: tensor<4x5xf64>, %l: tensor<4xi64> {test.value = dense<[0, 2, -100, 3]> : tensor<4xi64>}) -> tensor<f64> {
  %0 = graph.cross_entropy %x, %l {reduction = "sum"} : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @cross_entropy_all_sum(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<f64> {
  %0 = graph.cross_entropy %x, %l, %w {reduction = "sum", smoothing = 0.1 : f64} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @nll_loss_sum(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<f64> {
  %0 = graph.nll_loss %x, %l, %w {reduction = "sum"} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @cross_entropy_mean(%x: tensor<4x5xf64>, %l: tensor<4xi64> {test.value = dense<[0, 2, -100, 3]> : tensor<4xi64>}) -> tensor<f64> {
  %0 = graph.cross_entropy %x, %l {reduction = "mean"} : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @cross_entropy_all_mean(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<f64> {
  %0 = graph.cross_entropy %x, %l, %w {reduction = "mean", smoothing = 0.1 : f64} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @nll_loss_mean(%x: tensor<2x4x3xf64>, %l: tensor<2x3xi64> {test.value = dense<[[0, 2, 1], [-100, 3, 3]]> : tensor<2x3xi64>}, %w: tensor<4xf64> {test.constant, test.range = array<f64: 0.5, 2.0>}) -> tensor<f64> {
  %0 = graph.nll_loss %x, %l, %w {reduction = "mean"} : (tensor<2x4x3xf64>, tensor<2x3xi64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @dropout(%x: tensor<5x7xf64>, %k: tensor<i64> {test.value = dense<7> : tensor<i64>}, %o: tensor<i64> {test.value = dense<3> : tensor<i64>}) -> tensor<5x7xf64> {
  %0 = graph.dropout %x, %k, %o {p = 0.4 : f64} : (tensor<5x7xf64>, tensor<i64>, tensor<i64>) -> tensor<5x7xf64>
  return %0 : tensor<5x7xf64>
}
// A network in small: several ops, a value with several readers.
func.func @network(%x: tensor<4x5xf64>, %w: tensor<6x5xf64>, %b: tensor<6xf64>, %v: tensor<3x6xf64>, %l: tensor<4xi64> {test.value = dense<[0, 2, 1, 2]> : tensor<4xi64>}) -> tensor<f64> {
  %0 = graph.matmul %x, %w {transpose_rhs} : (tensor<4x5xf64>, tensor<6x5xf64>) -> tensor<4x6xf64>
  %1 = graph.add %0, %b : (tensor<4x6xf64>, tensor<6xf64>) -> tensor<4x6xf64>
  %2 = graph.tanh %1 : (tensor<4x6xf64>) -> tensor<4x6xf64>
  %3 = graph.mul %2, %1 : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %4 = graph.matmul %3, %v {transpose_rhs} : (tensor<4x6xf64>, tensor<3x6xf64>) -> tensor<4x3xf64>
  %5 = graph.cross_entropy %4, %l : (tensor<4x3xf64>, tensor<4xi64>) -> tensor<f64>
  return %5 : tensor<f64>
}
