// Runs a compiled model the way a program would that embeds the runtime.
//
//   embed MODEL.gcx [RUNS]
//
// Inputs are zeros (sizes that the model leaves open become 1); prints the outputs' shapes and how long a call takes.
#include <graphc/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: embed MODEL.gcx [RUNS]\n";
    return 2;
  }
  int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 10;
  try {
    graphc::RuntimeOptions options;
    options.log = [](const std::string &line) { std::cerr << "graphc: " << line << "\n"; };
    graphc::Runtime runtime(options);
    graphc::Model model = runtime.load(argv[1]);

    std::vector<graphc::HostTensor> inputs;
    for (const graphc::ModelTensor &input : model.inputs()) {
      std::vector<int64_t> shape;
      for (const std::string &dim : input.dims) {
        bool number = dim.find_first_not_of("0123456789") == std::string::npos;
        int64_t smallest = 1;
        for (const graphc::ModelSymbol &symbol : model.symbols())
          if (symbol.name == dim)
            smallest = std::max<int64_t>(symbol.lo, symbol.multiple);
        shape.push_back(number ? std::stoll(dim) : smallest);
      }
      auto tensor = graphc::HostTensor::allocate(input.dtype, shape);
      if (!tensor.ok())
        throw graphc::Error(tensor.status());
      std::memset((*tensor).raw(), 0, tensor->sizeBytes());
      std::cout << "input " << input.name << " " << input.text << "\n";
      inputs.push_back(*std::move(tensor));
    }

    graphc::BoundCall call = model.bind(std::move(inputs));
    double best = 1e30;
    for (int i = 0; i < runs; ++i) {
      auto start = std::chrono::steady_clock::now();
      call.run();
      best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    for (size_t i = 0; i < model.outputs().size(); ++i)
      std::cout << "output " << model.outputs()[i].name << " " << call.outputs()[i].dtype() << call.outputs()[i].shape() << "\n";
    std::cout << "a call takes " << best << " µs on " << runtime.threads() << " threads\n";
  } catch (const graphc::Error &failure) {
    std::cerr << "embed: " << failure.what() << "\n";
    return 1;
  }
}
