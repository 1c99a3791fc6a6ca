// Compiles a model of one 2x3 input in this process and runs it, the input all ones.
#include <graphc/compile_model.h>

#include <iostream>

int main(int argc, char **argv) {
  try {
    graphc::Runtime runtime({.threads = 1});
    graphc::Model model = graphc::compileModel(runtime, argc > 1 ? argv[1] : "");
    float ones[6] = {1, 1, 1, 1, 1, 1};
    std::vector<graphc::HostTensor> inputs, outputs;
    inputs.push_back(graphc::HostTensor::borrow(graphc::DType::F32, {2, 3}, ones));
    model.run(inputs, outputs);
    for (float value : outputs[0].values<float>())
      std::cout << value << " ";
    std::cout << "\n";
  } catch (const graphc::Error &failure) {
    std::cerr << "compiles: " << failure.what() << "\n";
    return 1;
  }
}
