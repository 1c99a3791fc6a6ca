// Matrix products: MatMul, Gemm, Einsum.
#include "frontend/onnx/ops/Products.h"

#include <algorithm>
#include <cctype>

namespace graphc::onnx_import {

using namespace mlir;

Value numpyMatmul(Build &n, Value x, Value y) {
  int64_t a = Build::rank(x), b = Build::rank(y);
  if (a == 0 || b == 0)
    fail(Code::ShapeMismatch, "a scalar cannot be multiplied as a matrix: shapes ", Build::shapeText(x), " and ", Build::shapeText(y));
  if (a == 1)
    x = n.unsqueeze(x, 0);
  if (b == 1)
    y = n.unsqueeze(y, 1);
  Value result = n.matmul(x, y);
  if (b == 1)
    result = n.squeeze(result, Build::rank(result) - 1);
  if (a == 1)
    result = n.squeeze(result, Build::rank(result) - (b == 1 ? 1 : 2));
  return result;
}

namespace {

void importMatMul(Node &n) {
  if (n.element(0) != n.element(1))
    fail(Code::TypeMismatch, "operands have element types ", typeText(n.element(0)), " and ", typeText(n.element(1)));
  n.out(numpyMatmul(n, n.x(0), n.x(1)));
}

void importGemm(Node &n) {
  if (n.rankOf(0) != 2 || n.rankOf(1) != 2)
    fail(Code::ShapeMismatch, "A and B must be matrices, got ", graph::toString(n.dimsOf(0)), " and ", graph::toString(n.dimsOf(1)));
  if (n.element(0) != n.element(1))
    fail(Code::TypeMismatch, "A and B have element types ", typeText(n.element(0)), " and ", typeText(n.element(1)));
  Value y = n.matmul(n.x(0), n.x(1), n.i("transA", 0) != 0, n.i("transB", 0) != 0);
  double alpha = n.f("alpha", 1), beta = n.f("beta", 1);
  if (alpha != 1)
    y = n.mul(y, n.like(y, alpha));
  if (n.has(2) && beta != 0) {
    Value c = n.x(2);
    if (Build::rank(c) > 2)
      fail(Code::ShapeMismatch, "C has shape ", Build::shapeText(c), ", which does not broadcast to ", Build::shapeText(y));
    if (beta != 1)
      c = n.mul(c, n.like(c, beta));
    Dims result = Build::dims(y);
    y = n.add(y, c);
    for (size_t d = 0; d < result.size(); ++d)
      if (Build::rank(y) != 2 || (graph::constantSize(result[d]) && Build::dims(y)[d] != result[d]))
        fail(Code::ShapeMismatch, "C of shape ", Build::shapeText(c), " does not broadcast to ", graph::toString(result));
  }
  n.out(y);
}

//===-- Einsum ------------------------------------------------------------------------------------------------------===//
// Every operand is a value with one letter per dim. Letters are summed as soon as no later operand and not the result
// needs them; two operands meet in one matmul: letters of both that stay are batch, letters of both that go are contracted.

struct Term {
  Value value;
  std::string letters; // ellipsis dims are digits, counted from the right
};

bool has(const std::string &s, char c) { return s.find(c) != std::string::npos; }

/// A letter that occurs twice in one operand: its diagonal.
Term takeDiagonals(Node &n, Term t) {
  for (size_t i = 0; i < t.letters.size(); ++i) {
    size_t j = t.letters.find(t.letters[i], i + 1);
    if (j == std::string::npos)
      continue;
    int64_t rank = Build::rank(t.value);
    Dims d = Build::dims(t.value), first(rank, n.size(1)), second = first;
    n.requireSame(d[i], d[j], "einsum: both sizes of '" + t.letters.substr(i, 1) + "'");
    first[i] = d[i];
    second[j] = d[j];
    Value on = n.equal(n.iota(first, static_cast<int64_t>(i), n.i64()), n.iota(second, static_cast<int64_t>(j), n.i64()));
    Value kept = n.select(on, t.value, n.like(t.value, 0));
    t.value = n.reduce("sum", kept, {static_cast<int64_t>(j)}, false);
    t.letters.erase(j, 1);
    --i;
  }
  return t;
}

Term sumLetters(Node &n, Term t, const std::function<bool(char)> &needed) {
  llvm::SmallVector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < t.letters.size(); ++i)
    if (needed(t.letters[i]))
      kept += t.letters[i];
    else
      axes.push_back(static_cast<int64_t>(i));
  if (!axes.empty())
    t.value = n.reduce("sum", t.value, axes, false);
  t.letters = kept;
  return t;
}

/// Dims in the order of `letters`.
Value arrange(Node &n, const Term &t, const std::string &letters) {
  llvm::SmallVector<int64_t> perm;
  for (char c : letters)
    perm.push_back(static_cast<int64_t>(t.letters.find(c)));
  return n.transpose(t.value, perm);
}

Term multiply(Node &n, const Term &a, const Term &b, const std::function<bool(char)> &needed) {
  std::string batch, contracted, left, right;
  for (char c : a.letters) {
    if (!has(b.letters, c))
      left += c;
    else if (needed(c))
      batch += c;
    else
      contracted += c;
  }
  for (char c : b.letters)
    if (!has(a.letters, c))
      right += c;
  Value x = arrange(n, a, batch + left + contracted), y = arrange(n, b, batch + contracted + right);
  Dims dx = Build::dims(x), dy = Build::dims(y), xs, ys, result;
  size_t nb = batch.size();
  for (size_t i = 0; i < nb; ++i) {
    xs.push_back(dx[i]);
    ys.push_back(dy[i]);
    result.push_back(graph::isSize(dx[i], 1) ? dy[i] : dx[i]);
  }
  for (size_t i = 0; i < contracted.size(); ++i) {
    // A size of 1 repeats (ellipsis dims, and numpy's letters).
    AffineExpr &l = dx[nb + left.size() + i], &r = dy[nb + i];
    if (l != r && (graph::isSize(l, 1) || graph::isSize(r, 1))) {
      AffineExpr wide = graph::isSize(l, 1) ? r : l;
      l = r = wide;
      x = n.broadcast(x, dx);
      y = n.broadcast(y, dy);
    }
  }
  auto range = [&](const Dims &d, size_t from, size_t count) { return graph::product(refOf(d).slice(from, count), n.ctx()); };
  xs.push_back(range(dx, nb, left.size()));
  xs.push_back(range(dx, nb + left.size(), contracted.size()));
  ys.push_back(range(dy, nb, contracted.size()));
  ys.push_back(range(dy, nb + contracted.size(), right.size()));
  for (size_t i = 0; i < left.size(); ++i)
    result.push_back(dx[nb + i]);
  for (size_t i = 0; i < right.size(); ++i)
    result.push_back(dy[nb + contracted.size() + i]);
  Value product;
  if (contracted.empty()) {
    // Nothing is summed: an elementwise product of [batch, left, 1] and [batch, 1, right].
    product = n.mul(n.reshape(x, xs), n.reshape(y, ys));
  } else {
    product = n.matmul(n.reshape(x, xs), n.reshape(y, ys));
  }
  return {n.reshape(product, result), batch + left + right};
}

void importEinsum(Node &n) {
  std::string equation;
  for (char c : n.s("equation", ""))
    if (!std::isspace(static_cast<unsigned char>(c)))
      equation += c;
  size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  std::vector<std::string> specs(1);
  for (char c : left)
    if (c == ',')
      specs.emplace_back();
    else
      specs.back() += c;
  if (specs.size() != n.inputCount())
    fail(Code::ShapeMismatch, "equation '", equation, "' names ", specs.size(), " operands, the node has ", n.inputCount());
  size_t ellipsis = 0;
  // '...' becomes digits, '0' for the last of its dims.
  auto expand = [&](const std::string &spec, size_t dims) {
    std::string out;
    size_t at = spec.find("...");
    for (size_t i = 0; i < spec.size(); ++i) {
      if (i == at) {
        for (size_t d = dims; d-- > 0;)
          out += static_cast<char>('0' + d);
        i += 2;
      } else if (!std::isalpha(static_cast<unsigned char>(spec[i]))) {
        fail(Code::ModelMalformed, "equation '", equation, "' holds '", spec.substr(i, 1), "'");
      } else {
        out += spec[i];
      }
    }
    return out;
  };
  std::vector<Term> terms;
  for (size_t i = 0; i < specs.size(); ++i) {
    int64_t letters = std::count_if(specs[i].begin(), specs[i].end(), [](unsigned char c) { return std::isalpha(c); });
    int64_t dims = n.rankOf(i) - letters;
    bool dots = specs[i].find("...") != std::string::npos;
    if (dims < 0 || (dims > 0 && !dots) || dims > 9)
      fail(Code::ShapeMismatch, "operand ", i, " of rank ", n.rankOf(i), " does not fit '", specs[i], "' of equation '", equation, "'");
    ellipsis = std::max(ellipsis, static_cast<size_t>(dims));
    terms.push_back(takeDiagonals(n, {n.x(i), expand(specs[i], static_cast<size_t>(dims))}));
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = expand(equation.substr(arrow + 2), ellipsis);
  } else {
    // Implicit: ellipsis first, then every letter that occurs once, sorted.
    std::string all;
    for (const std::string &s : specs)
      all += s;
    for (size_t d = ellipsis; d-- > 0;)
      result += static_cast<char>('0' + d);
    std::string sorted;
    for (char c : all)
      if (std::isalpha(static_cast<unsigned char>(c)) && std::count(all.begin(), all.end(), c) == 1)
        sorted += c;
    std::sort(sorted.begin(), sorted.end());
    result += sorted;
  }
  auto neededAfter = [&](size_t next) {
    return [&, next](char c) {
      if (has(result, c))
        return true;
      for (size_t i = next; i < terms.size(); ++i)
        if (has(terms[i].letters, c))
          return true;
      return false;
    };
  };
  Term sum = sumLetters(n, terms[0], neededAfter(1));
  for (size_t i = 1; i < terms.size(); ++i) {
    auto needed = neededAfter(i + 1);
    // Letters of one operand alone go before the product.
    Term other = sumLetters(n, terms[i], [&](char c) { return has(sum.letters, c) || needed(c); });
    Term mine = sumLetters(n, sum, [&](char c) { return has(other.letters, c) || needed(c); });
    sum = multiply(n, mine, other, needed);
  }
  for (char c : result)
    if (!has(sum.letters, c))
      fail(Code::ModelMalformed, "equation '", equation, "': result letter '", std::string(1, c), "' is in no operand");
  n.out(arrange(n, sum, result));
}

const Handler table[] = {
    {"MatMul", 1, importMatMul},
    {"Gemm", 1, importGemm},
    {"Einsum", 12, importEinsum},
};

} // namespace

ArrayRef<Handler> contractionOps() { return table; }

} // namespace graphc::onnx_import
