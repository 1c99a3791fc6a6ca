// Gradients that differences contradict: what the check must find.
func.func @first_order(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = graph.stop_gradient %x : (tensor<3xf64>) -> tensor<3xf64>
  %1 = graph.mul %0, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
// 2 s x - s^2 with s = stop(x) has the value x^2 and the gradient 2 s, which is right; the gradient of that is not.
func.func @second_order(%x: tensor<3xf64>) -> tensor<3xf64> {
  %s = graph.stop_gradient %x : (tensor<3xf64>) -> tensor<3xf64>
  %two = graph.constant dense<2.0> : tensor<f64>
  %0 = graph.mul %s, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %1 = graph.mul %0, %two : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  %2 = graph.mul %s, %s : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %3 = graph.sub %1, %2 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %3 : tensor<3xf64>
}
