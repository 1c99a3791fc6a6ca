// Matrix products and what is made of them.
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <map>
#include <optional>

namespace graphc {

using namespace eager;

namespace {

/// A matrix that lies transposed in memory is handed over as it lies.
Tensor matrixOperand(const Tensor &x, bool &transposed) {
  transposed = false;
  if (x.dim() < 2 || x.impl()->dense)
    return x;
  Tensor flipped = x.transpose(-2, -1);
  if (!flipped.impl()->dense)
    return x;
  transposed = true;
  return flipped;
}

DType productType(const char *op, const Tensor &a, const Tensor &b) {
  checkDevices(op, {&a, &b});
  if (a.dtype() != b.dtype())
    failWith(Code::TypeMismatch, op, ": ", nameOf(a), " and ", nameOf(b), " must have one dtype; convert one with to()");
  return a.dtype();
}

/// Matrices of so few elements that the library's call costs more than the product: one kernel of products and sums then.
bool isTiny(const Tensor &a, const Tensor &b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  return x.rank == 2 && y.rank == 2 && x.dense && y.dense && (x.dtype == DType::F32 || x.dtype == DType::F64) && x.elements <= 64 && y.elements <= 64 &&
         x.elements * y.elements <= 1024 && !recorder();
}

Tensor product(const char *op, const Tensor &a, const Tensor &b) {
  DType dtype = productType(op, a, b);
  if (a.size(-1) != b.size(-2))
    failWith(Code::ShapeMismatch, op, ": ", nameOf(a), " and ", nameOf(b), " do not fit: the last size of the first, ", a.size(-1),
             ", must be the last but one of the second, ", b.size(-2));
  bool flipA, flipB;
  Tensor x = matrixOperand(a, flipA), y = matrixOperand(b, flipB);
  if (isTiny(x, y) && !(flipA && flipB)) {
    Call call(op);
    call.attribute("sum").attribute(flipA).attribute(flipB).input(x, dtype).input(y, dtype);
    return call.run([&](GraphBuilder &g) {
      auto seen = [&](int i, std::vector<std::string> dims) { return g.op("reshape", {g.input(i)}, "", OpValueType{dtype, std::move(dims)}); };
      auto rows = flipB ? seen(0, {g.dim(0, 0), "1", g.dim(0, 1)}) : seen(0, {g.dim(0, 0), g.dim(0, 1), "1"});
      auto columns = flipA ? seen(1, {g.dim(1, 0), "1", g.dim(1, 1)}) : seen(1, {"1", g.dim(1, 0), g.dim(1, 1)});
      g.result(g.op("reduce", {g.mul(rows, columns)}, text("kind = \"sum\", axes = array<i64: ", flipA ? 0 : flipB ? 2 : 1, ">")));
    });
  }
  Call call(op);
  call.attribute(flipA).attribute(flipB).input(x, dtype).input(y, dtype);
  return call.run([&](GraphBuilder &g) {
    std::string flags = std::string(flipA ? "transpose_lhs" : "") + (flipA && flipB ? ", " : "") + (flipB ? "transpose_rhs" : "");
    g.result(g.op("matmul", {g.input(0), g.input(1)}, flags));
  });
}

} // namespace

Tensor matmul(const TensorArg &a, const Tensor &b) {
  OpScope scope("matmul");
  productType("matmul", a, b);
  if (a.dim() == 0 || b.dim() == 0)
    failWith(Code::ShapeMismatch, "matmul: ", nameOf(a), " and ", nameOf(b), ": both need at least one dim; mul() multiplies by a number");
  if (a.dim() == 1 && b.dim() == 1)
    return dot(a, b);
  if (a.dim() == 1)
    return product("matmul", a.unsqueeze(0), b).squeeze(-2);
  if (b.dim() == 1)
    return product("matmul", a, b.unsqueeze(1)).squeeze(-1);
  // A batch of rows times one matrix is one product.
  if (a.dim() > 2 && b.dim() == 2 && a.impl()->dense && a.size(-1) == b.size(0)) {
    std::vector<int64_t> sizes(a.sizes().begin(), a.sizes().end() - 1);
    sizes.push_back(b.size(1));
    int64_t rows = 1;
    for (int64_t d = 0; d + 1 < a.dim(); ++d)
      rows *= a.size(d);
    return product("matmul", a.reshape({rows, a.size(-1)}), b).reshape(sizes);
  }
  for (int64_t d = 3; d <= std::min(a.dim(), b.dim()); ++d)
    if (a.size(-d) != b.size(-d) && a.size(-d) != 1 && b.size(-d) != 1)
      failWith(Code::ShapeMismatch, "matmul: the batch sizes of ", nameOf(a), " and ", nameOf(b), " do not broadcast: ", a.size(-d), " and ", b.size(-d));
  return product("matmul", a, b);
}

static void needRank(const char *op, const Tensor &a, int64_t rank) {
  if (!a.defined() || a.dim() != rank)
    failWith(Code::ShapeMismatch, op, ": ", a.defined() ? nameOf(a) : "an undefined tensor", " does not have rank ", rank);
}
Tensor mm(const TensorArg &a, const Tensor &b) {
  OpScope scope("mm");
  needRank("mm", a, 2);
  needRank("mm", b, 2);
  return product("mm", a, b);
}
Tensor bmm(const TensorArg &a, const Tensor &b) {
  OpScope scope("bmm");
  needRank("bmm", a, 3);
  needRank("bmm", b, 3);
  if (a.size(0) != b.size(0))
    failWith(Code::ShapeMismatch, "bmm: ", nameOf(a), " and ", nameOf(b), " have batches of ", a.size(0), " and ", b.size(0));
  return product("bmm", a, b);
}
Tensor mv(const TensorArg &a, const Tensor &b) {
  OpScope scope("mv");
  needRank("mv", a, 2);
  needRank("mv", b, 1);
  return matmul(a, b);
}
Tensor dot(const TensorArg &a, const Tensor &b) {
  OpScope scope("dot");
  needRank("dot", a, 1);
  needRank("dot", b, 1);
  DType dtype = productType("dot", a, b);
  if (a.size(0) != b.size(0))
    failWith(Code::ShapeMismatch, "dot: ", nameOf(a), " and ", nameOf(b), " have different lengths");
  Call call("dot");
  call.input(a, dtype).input(b, dtype);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("reduce", {g.mul(g.input(0), g.input(1))}, "kind = \"sum\", axes = array<i64: 0>"));
  });
}
Tensor outer(const TensorArg &a, const Tensor &b) {
  OpScope scope("outer");
  needRank("outer", a, 1);
  needRank("outer", b, 1);
  return mul(a.unsqueeze(1), b.unsqueeze(0));
}
Tensor addmm(const TensorArg &bias, const Tensor &a, const Tensor &b, Scalar beta, Scalar alpha) {
  OpScope scope("addmm");
  Tensor result = mm(a, b);
  if (alpha.toDouble() != 1)
    result = mul(result, alpha);
  // A factor of 0 keeps infinities and NaN of the bias out, and gives it a gradient of 0.
  if (beta.toDouble() == 0)
    return add(result, maskedFill(bias, scalarTensor(true), 0));
  return add(result, bias, beta);
}

Tensor linear(const TensorArg &x, const Tensor &weight, const Tensor &bias) {
  OpScope scope("linear");
  DType dtype = productType("linear", x, weight);
  needRank("linear", weight, 2);
  if (x.dim() == 0 || x.size(-1) != weight.size(1))
    failWith(Code::ShapeMismatch, "linear: the input ", nameOf(x), " does not fit the weight ", nameOf(weight), ": its last size must be ", weight.size(1));
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != weight.size(0)))
    failWith(Code::ShapeMismatch, "linear: the bias ", nameOf(bias), " does not fit the weight ", nameOf(weight), ": it must have ", weight.size(0), " elements");
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end() - 1);
  sizes.push_back(weight.size(0));
  if (weight.numel() == 0) {
    // Nothing is summed: zeros and the bias.
    Tensor nothing = zeros(sizes, {.dtype = dtype, .device = x.device()});
    return bias.defined() ? add(nothing, bias) : nothing;
  }
  Tensor rows = x.dim() == 2 ? Tensor(x) : x.reshape({-1, x.size(-1)});
  bool flip;
  rows = matrixOperand(rows, flip);
  Call call("linear");
  call.attribute(flip).input(rows, dtype).input(weight, dtype).fixed();
  if (bias.defined())
    call.input(bias, productType("linear", x, bias)).fixed();
  Tensor result = call.run([&](GraphBuilder &g) {
    auto y = g.op("matmul", {g.input(0), g.input(1)}, flip ? "transpose_lhs, transpose_rhs" : "transpose_rhs");
    g.result(bias.defined() ? g.add(y, g.input(2)) : y);
  });
  return x.dim() == 2 ? result : result.reshape(sizes);
}

//===-- einsum ----------------------------------------------------------------------------------------------------===//
namespace {

struct Labelled {
  Tensor tensor;
  std::string labels;
};

/// Sums away labels that `keep` does not have.
Labelled reduceTo(Labelled x, const std::string &keep) {
  std::vector<int64_t> axes;
  std::string rest;
  for (size_t d = 0; d < x.labels.size(); ++d)
    if (keep.find(x.labels[d]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(d));
    else
      rest += x.labels[d];
  if (axes.empty())
    return x;
  return {x.tensor.sum(axes), rest};
}

Tensor ordered(const Labelled &x, const std::string &labels) {
  std::vector<int64_t> dims;
  for (char label : labels)
    dims.push_back(static_cast<int64_t>(x.labels.find(label)));
  return x.labels == labels ? x.tensor : x.tensor.permute(dims);
}

/// Two operands to one; labels in neither `keep` are summed.
Labelled contract(Labelled a, Labelled b, const std::string &keep, const std::map<char, int64_t> &size) {
  a = reduceTo(a, keep + b.labels);
  b = reduceTo(b, keep + a.labels);
  std::string batch, summed, onlyA, onlyB;
  for (char label : a.labels) {
    bool shared = b.labels.find(label) != std::string::npos;
    (shared ? keep.find(label) != std::string::npos ? batch : summed : onlyA) += label;
  }
  for (char label : b.labels)
    if (a.labels.find(label) == std::string::npos)
      onlyB += label;
  auto count = [&](const std::string &labels) {
    int64_t n = 1;
    for (char label : labels)
      n *= size.at(label);
    return n;
  };
  Tensor x = ordered(a, batch + onlyA + summed).reshape({count(batch), count(onlyA), count(summed)});
  Tensor y = ordered(b, batch + summed + onlyB).reshape({count(batch), count(summed), count(onlyB)});
  std::vector<int64_t> sizes;
  for (char label : batch + onlyA + onlyB)
    sizes.push_back(size.at(label));
  return {bmm(x, y).reshape(sizes), batch + onlyA + onlyB};
}

} // namespace

namespace {

/// "..." of each term becomes letters of its own: the last ones of a list that serves all terms, so that they broadcast from the
/// right. Gives the equation's two sides; the second is empty when there is none.
struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> result;
  std::string dots; // letters for "...", of the term with most
};

Equation parseEquation(const std::string &equation, const std::vector<Tensor> &operands) {
  std::string text = equation;
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  Equation parsed;
  std::string left = text.substr(0, arrow);
  for (size_t start = 0;;) {
    size_t comma = left.find(',', start);
    parsed.terms.push_back(left.substr(start, comma - start));
    if (comma == std::string::npos)
      break;
    start = comma + 1;
  }
  if (parsed.terms.size() != operands.size())
    failWith(codes::InvalidArgument, "einsum: \"", equation, "\" names ", parsed.terms.size(), " operands, ", operands.size(), " are given");
  if (arrow != std::string::npos)
    parsed.result = text.substr(arrow + 2);
  // Letters that the equation does not use itself.
  std::string letters;
  for (char c = 1; c < 'A'; ++c)
    if (c != '.' && c != ',')
      letters += c;
  size_t most = 0;
  std::vector<size_t> covered(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    size_t dots = parsed.terms[i].find("...");
    size_t named = parsed.terms[i].size() - (dots == std::string::npos ? 0 : 3), rank = static_cast<size_t>(operands[i].dim());
    if (named > rank || (dots == std::string::npos && named < rank))
      failWith(Code::ShapeMismatch, "einsum: \"", parsed.terms[i], "\" of \"", equation, "\" does not name the ", rank, " dims of ", nameOf(operands[i]));
    covered[i] = rank - named;
    most = std::max(most, covered[i]);
  }
  parsed.dots = letters.substr(0, most);
  for (size_t i = 0; i < operands.size(); ++i)
    if (size_t at = parsed.terms[i].find("..."); at != std::string::npos)
      parsed.terms[i].replace(at, 3, parsed.dots.substr(most - covered[i]));
  if (parsed.result)
    if (size_t at = parsed.result->find("..."); at != std::string::npos)
      parsed.result->replace(at, 3, parsed.dots);
  return parsed;
}

} // namespace

Tensor einsum(const std::string &equation, const std::vector<Tensor> &operands) {
  OpScope scope("einsum");
  if (operands.empty())
    failWith(codes::InvalidArgument, "einsum: no operands");
  checkDevices("einsum", {&operands[0]});
  Equation parsed = parseEquation(equation, operands);
  std::vector<Labelled> terms;
  std::map<char, int64_t> size, seen;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor &operand = operands[i];
    checkDevices("einsum", {&operands[0], &operand});
    const std::string &labels = parsed.terms[i];
    Labelled term{operand, ""};
    for (size_t d = 0; d < labels.size(); ++d) {
      char label = labels[d];
      bool ofDots = parsed.dots.find(label) != std::string::npos;
      if (!ofDots && !std::isalpha(static_cast<unsigned char>(label)))
        failWith(codes::InvalidArgument, "einsum: \"", label, "\" in \"", equation, "\" is no letter");
      int64_t n = operand.size(static_cast<int64_t>(d));
      auto [it, first] = size.try_emplace(label, n);
      if (!first && it->second != n && it->second != 1 && n != 1)
        failWith(Code::ShapeMismatch, "einsum: ", ofDots ? std::string("...") : std::string(1, label), " of \"", equation, "\" has sizes ", it->second, " and ", n);
      it->second = std::max(it->second, n);
      ++seen[label];
      if (size_t before = term.labels.find(label); before != std::string::npos) {
        // A label twice in one operand is its diagonal, which comes last.
        term.tensor = term.tensor.diagonal(0, static_cast<int64_t>(before), static_cast<int64_t>(term.labels.size()));
        term.labels.erase(before, 1);
        // Dims behind the second place follow in their order; the diagonal goes behind all: put it back to this place.
        term.tensor = term.tensor.movedim(-1, static_cast<int64_t>(term.labels.size()));
      }
      term.labels += label;
    }
    terms.push_back(std::move(term));
  }
  // Sizes of 1 repeat.
  for (Labelled &term : terms) {
    std::vector<int64_t> wide;
    for (char label : term.labels)
      wide.push_back(size.at(label));
    term.tensor = broadcastTo(term.tensor, wide);
  }
  std::string result = parsed.dots;
  for (auto [label, times] : seen)
    if (times == 1 && parsed.dots.find(label) == std::string::npos)
      result += label;
  result = parsed.result.value_or(result);
  for (size_t i = 0; i < result.size(); ++i)
    if (!size.count(result[i]) || result.find(result[i]) != i)
      failWith(codes::InvalidArgument, "einsum: \"", result[i], "\" of the result in \"", equation, "\" is unknown or given twice");
  Labelled sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string keep = result;
    for (size_t k = i + 1; k < terms.size(); ++k)
      keep += terms[k].labels;
    sum = contract(sum, terms[i], keep, size);
  }
  return ordered(reduceTo(sum, result), result);
}

Tensor Tensor::matmul(const TensorArg &other) const { return graphc::matmul(*this, other); }
Tensor Tensor::mm(const TensorArg &other) const { return graphc::mm(*this, other); }
Tensor Tensor::bmm(const TensorArg &other) const { return graphc::bmm(*this, other); }

} // namespace graphc
