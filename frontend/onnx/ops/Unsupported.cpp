// Operators that exist but are not imported, and why. They appear in the one report of a model.
#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

namespace {
constexpr StringRef kSequence = "values that are sequences or optionals are not supported";
constexpr StringRef kString = "strings are not supported";
constexpr StringRef kRandom = "random numbers are not supported";
constexpr StringRef kVision = "this vision operator is not supported";

struct Reason {
  StringRef op, reason;
};
const Reason table[] = {
    {"SequenceMap", kSequence}, {"Optional", kSequence}, {"OptionalGetElement", kSequence}, {"OptionalHasElement", kSequence},
    {"StringNormalizer", kString}, {"StringConcat", kString}, {"StringSplit", kString}, {"RegexFullMatch", kString}, {"TfIdfVectorizer", kString},
    {"RandomNormal", kRandom}, {"RandomNormalLike", kRandom}, {"RandomUniform", kRandom}, {"RandomUniformLike", kRandom}, {"Bernoulli", kRandom}, {"Multinomial", kRandom},
    {"DeformConv", kVision}, {"RoiAlign", kVision}, {"MaxRoiPool", kVision}, {"ImageDecoder", kVision},
    {"BitCast", "reinterpreting the bits of a tensor is not supported"},
    {"Det", "determinants are not supported"},
    {"LinearAttention", "linear attention is not supported"},
    {"CausalConvWithState", "convolution with carried state is not supported"},
};
} // namespace

StringRef unsupportedReason(StringRef domain, StringRef op) {
  if (domain == "ai.onnx.ml")
    return "classical machine learning operators are not supported";
  if (domain == "ai.onnx.preview.training")
    return "training operators are not supported in models";
  if (!domain.empty())
    return "the domain is unknown and the model holds no function of this name";
  for (const Reason &r : table)
    if (r.op == op)
      return r.reason;
  return "";
}

} // namespace graphc::onnx_import
