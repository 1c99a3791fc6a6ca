// Every verb of the tool, in the order of `graphc --help`.
#include "tools/graphc/Verb.h"

namespace graphc::tool {

std::span<const Verb> verbs() {
  static const Verb table[] = {
      {"run", "compile a model, run it once and print, store or check its outputs",
       "  graphc run mnist.onnx --input 1x1x28x28xf32=ramp\n"
       "  graphc run resnet50.onnx --test-data test_data_set_0 --tol network\n"
       "  graphc run net.onnx --input x=photo.npy --output logits.npy --threads 2",
       declareRun},
      {"compile", "write a .gcx artifact: plan, kernels, weights in one file",
       "  graphc compile net.onnx -o net.gcx\n"
       "  graphc compile net.onnx -o net.gcx --targets v3,v4,v4-amx\n"
       "  graphc run net.gcx --random",
       declareCompile},
      {"inspect", "show what a model becomes: summary, phases, plan, kernels, picture",
       "  graphc inspect net.onnx\n"
       "  graphc inspect net.onnx --phase fuse\n"
       "  graphc inspect net.onnx --kernels --asm\n"
       "  graphc inspect net.onnx --graph net.svg",
       declareInspect},
      {"bench", "measure latency and throughput",
       "  graphc bench net.onnx --random --threads 2\n"
       "  graphc bench net.onnx --input 1x3x224x224xf32=random --seconds 5 --json",
       declareBench},
      {"verify", "compare the compiled model with the reference interpreter, op by op",
       "  graphc verify net.onnx --random\n"
       "  graphc verify net.onnx --test-data test_data_set_0",
       declareVerify},
      {"cache", "list, explain and clear what was compiled before",
       "  graphc cache ls\n"
       "  graphc cache why net.onnx --shape x=[1..64]x3x224x224\n"
       "  graphc cache clear --cache DIR",
       declareCache},
      {"devices", "list the devices of this machine and why one is not available", "  graphc devices\n  graphc devices --json", declareDevices},
      {"doctor", "check drivers, libraries, CPU features and folders, and say what to install", "  graphc doctor", declareDoctor},
      {"explain", "list kernels, their source ops and why neighbours were not fused", "", nullptr, "use graphc inspect --remarks"},
      {"profile", "time each kernel of a run", "", nullptr, "use graphc bench for whole runs"},
      {"plan", "predict memory and price the remedies", "", nullptr, "use graphc inspect --plan for the predicted peak"},
      {"reduce", "shrink a failing .mlir", "", nullptr, "use graphc-reduce"},
  };
  return table;
}

} // namespace graphc::tool
