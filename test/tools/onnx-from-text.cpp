// onnx-from-text IN.onnxtxt -o OUT.onnx: turns a model written in ONNX's own text syntax into a model file, so that
// tests can show the model they are about. `-` reads standard input. Example of the syntax:
//
//   <ir_version: 8, opset_import: ["" : 17]>
//   relu_then_add (float[N, 4] x) => (float[N, 4] y) {
//     r = Relu (x)
//     y = Add (r, r)
//   }

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char **argv) {
  if (argc != 4 || std::strcmp(argv[2], "-o") != 0) {
    std::cerr << "usage: onnx-from-text IN.onnxtxt -o OUT.onnx\n";
    return 2;
  }
  std::string text;
  if (std::strcmp(argv[1], "-") == 0) {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(argv[1]);
    if (!in) {
      std::cerr << "onnx-from-text: cannot read " << argv[1] << "\n";
      return 1;
    }
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  // Lines that start with // are lit's; the parser knows no comments.
  std::string stripped;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end + 1;
    size_t first = text.find_first_not_of(" \t", begin);
    if (text.compare(first == std::string::npos ? end : first, 2, "//") != 0)
      stripped.append(text, begin, end - begin);
    begin = end;
  }
  onnx::ModelProto model;
  auto status = onnx::OnnxParser::Parse(model, stripped.c_str());
  if (!status.IsOK()) {
    std::cerr << "onnx-from-text: " << argv[1] << ": " << status.ErrorMessage() << "\n";
    return 1;
  }
  std::ofstream out(argv[3], std::ios::binary);
  if (!model.SerializeToOstream(&out) || !out.flush()) {
    std::cerr << "onnx-from-text: cannot write " << argv[3] << "\n";
    return 1;
  }
  return 0;
}
