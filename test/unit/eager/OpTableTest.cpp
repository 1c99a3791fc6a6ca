// One test for every op of a table: values against a formula in double, dtypes, empty operands, rank 0, strided operands, in
// place, gradients of first and second order. An op is defined by one line; what a line can say is `Op`. Functions of one operand
// have a table of their own in OpsTest.cpp.
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;

namespace {

using List = std::vector<Tensor>;

enum class Result { Same, Bool };

struct Op {
  std::string name;
  int operands = 1;
  std::function<Tensor(const List &)> run;
  /// Of numbers, when the op is elementwise.
  std::function<double(const double *)> formula = {};
  /// Of the first operand's rows, for the others; a row in, a row (or one number) out.
  std::function<std::vector<double>(const std::vector<double> &)> row = {};
  double low = -1, high = 1;
  bool differentiable = true, integers = false, broadcasts = true;
  Result result = Result::Same;
  std::function<Tensor &(Tensor &, const List &)> inPlace = {};
  /// Takes rank 0, and gives nothing for nothing.
  bool anyRank = true;
};


#define GRAPHC_METHOD_OF(method) [](Tensor & x, const List &o) -> Tensor & { return x.method(o[1]); }

std::vector<Op> table() {
  std::vector<Op> ops;
  auto elementwise = [&](const char *name, int operands, std::function<Tensor(const List &)> run, std::function<double(const double *)> formula) -> Op & {
    return ops.emplace_back(Op{.name = name, .operands = operands, .run = std::move(run), .formula = std::move(formula)});
  };
  auto rows = [&](const char *name, std::function<Tensor(const List &)> run, std::function<std::vector<double>(const std::vector<double> &)> row) -> Op & {
    return ops.emplace_back(Op{.name = name, .run = std::move(run), .row = std::move(row), .anyRank = false});
  };
  auto ints = [](Op &op) -> Op & {
    op.integers = true;
    return op;
  };
  auto range = [](Op &op, double low, double high) -> Op & {
    op.low = low, op.high = high;
    return op;
  };

  ints(elementwise("add", 2, [](const List &x) { return x[0] + x[1]; }, [](const double *x) { return x[0] + x[1]; })).inPlace = GRAPHC_METHOD_OF(add_);
  ints(elementwise("addScaled", 2, [](const List &x) { return add(x[0], x[1], 3); }, [](const double *x) { return x[0] + 3 * x[1]; })).inPlace =
      [](Tensor &x, const List &o) -> Tensor & { return x.add_(o[1], 3); };
  ints(elementwise("sub", 2, [](const List &x) { return x[0] - x[1]; }, [](const double *x) { return x[0] - x[1]; })).inPlace = GRAPHC_METHOD_OF(sub_);
  ints(elementwise("mul", 2, [](const List &x) { return x[0] * x[1]; }, [](const double *x) { return x[0] * x[1]; })).inPlace = GRAPHC_METHOD_OF(mul_);
  range(elementwise("div", 2, [](const List &x) { return x[0] / x[1]; }, [](const double *x) { return x[0] / x[1]; }), .5, 2).inPlace = GRAPHC_METHOD_OF(div_);
  range(elementwise("pow", 2, [](const List &x) { return pow(x[0], x[1]); }, [](const double *x) { return std::pow(x[0], x[1]); }), .5, 2);
  ints(elementwise("maximum", 2, [](const List &x) { return maximum(x[0], x[1]); }, [](const double *x) { return std::max(x[0], x[1]); }));
  ints(elementwise("minimum", 2, [](const List &x) { return minimum(x[0], x[1]); }, [](const double *x) { return std::min(x[0], x[1]); }));
  range(elementwise("atan2", 2, [](const List &x) { return atan2(x[0], x[1]); }, [](const double *x) { return std::atan2(x[0], x[1]); }), .3, 2);
  elementwise("rsub", 1, [](const List &x) { return rsub(x[0], 2); }, [](const double *x) { return 2 - x[0]; });
  range(elementwise("rdiv", 1, [](const List &x) { return rdiv(x[0], 2); }, [](const double *x) { return 2 / x[0]; }), .5, 2);
  elementwise("addcmul", 3, [](const List &x) { return addcmul(x[0], x[1], x[2], 2); }, [](const double *x) { return x[0] + 2 * x[1] * x[2]; }).inPlace =
      [](Tensor &x, const List &o) -> Tensor & { return x.addcmul_(o[1], o[2], 2); };
  range(elementwise("addcdiv", 3, [](const List &x) { return addcdiv(x[0], x[1], x[2], 2); }, [](const double *x) { return x[0] + 2 * x[1] / x[2]; }), .5, 2).inPlace =
      [](Tensor &x, const List &o) -> Tensor & { return x.addcdiv_(o[1], o[2], 2); };
  elementwise("lerp", 2, [](const List &x) { return lerp(x[0], x[1], .3); }, [](const double *x) { return x[0] + .3 * (x[1] - x[0]); }).inPlace =
      [](Tensor &x, const List &o) -> Tensor & { return x.lerp_(o[1], .3); };
  elementwise("where", 2, [](const List &x) { return where(x[0] > .1, x[0], x[1]); }, [](const double *x) { return x[0] > .1 ? x[0] : x[1]; });
  elementwise("maskedFill", 2, [](const List &x) { return maskedFill(x[0], x[1] > .1, 7); }, [](const double *x) { return x[1] > .1 ? 7 : x[0]; }).inPlace =
      [](Tensor &x, const List &o) -> Tensor & { return x.maskedFill_(o[1] > .1, 7); };
  elementwise("clamp", 1, [](const List &x) { return clamp(x[0], -.4, .3); }, [](const double *x) { return std::clamp(x[0], -.4, .3); }).inPlace =
      [](Tensor &x, const List &) -> Tensor & { return x.clamp_(-.4, .3); };
  elementwise("smoothL1", 2, [](const List &x) { return smoothL1Loss(x[0], x[1], Reduction::None, .5); },
              [](const double *x) { double d = std::abs(x[0] - x[1]); return d < .5 ? d * d : d - .25; }).broadcasts = false;
  elementwise("remainder", 2, [](const List &x) { return remainder(x[0], x[1] * 0 + .3); }, [](const double *x) { return x[0] - .3 * std::floor(x[0] / .3); }).differentiable = false;
  using Compare = Tensor (*)(const TensorArg &, const Tensor &);
  for (auto [name, op, formula] : std::initializer_list<std::tuple<const char *, Compare, double (*)(const double *)>>{
           {"eq", eq, [](const double *x) -> double { return x[0] == x[1]; }}, {"ne", ne, [](const double *x) -> double { return x[0] != x[1]; }},
           {"lt", lt, [](const double *x) -> double { return x[0] < x[1]; }}, {"le", le, [](const double *x) -> double { return x[0] <= x[1]; }},
           {"gt", gt, [](const double *x) -> double { return x[0] > x[1]; }}, {"ge", ge, [](const double *x) -> double { return x[0] >= x[1]; }}}) {
    Op &made = ints(elementwise(name, 2, [op](const List &x) { return op(x[0], x[1]); }, formula));
    made.differentiable = false;
    made.result = Result::Bool;
  }

  auto total = [](const std::vector<double> &r) { double s = 0; for (double v : r) s += v; return s; };
  auto mean = [=](const std::vector<double> &r) { return total(r) / static_cast<double>(r.size()); };
  auto spread = [=](const std::vector<double> &r) { double m = mean(r), s = 0; for (double v : r) s += (v - m) * (v - m); return s; };
  rows("sum", [](const List &x) { return x[0].sum({-1}); }, [=](const auto &r) { return std::vector{total(r)}; });
  rows("mean", [](const List &x) { return x[0].mean({-1}); }, [=](const auto &r) { return std::vector{mean(r)}; });
  rows("prod", [](const List &x) { return x[0].prod(-1); }, [](const auto &r) { double p = 1; for (double v : r) p *= v; return std::vector{p}; });
  rows("amax", [](const List &x) { return x[0].amax({-1}); }, [](const auto &r) { return std::vector{*std::max_element(r.begin(), r.end())}; });
  rows("amin", [](const List &x) { return x[0].amin({-1}); }, [](const auto &r) { return std::vector{*std::min_element(r.begin(), r.end())}; });
  rows("max", [](const List &x) { return x[0].max(-1).first; }, [](const auto &r) { return std::vector{*std::max_element(r.begin(), r.end())}; });
  rows("var", [](const List &x) { return x[0].var({-1}); }, [=](const auto &r) { return std::vector{spread(r) / (static_cast<double>(r.size()) - 1)}; });
  rows("std", [](const List &x) { return x[0].std({-1}, 0); }, [=](const auto &r) { return std::vector{std::sqrt(spread(r) / static_cast<double>(r.size()))}; });
  rows("norm", [](const List &x) { return x[0].norm(3, {-1}); }, [](const auto &r) {
    double s = 0;
    for (double v : r)
      s += std::pow(std::abs(v), 3);
    return std::vector{std::cbrt(s)};
  });
  rows("logsumexp", [](const List &x) { return x[0].logsumexp({-1}); }, [](const auto &r) { double s = 0; for (double v : r) s += std::exp(v); return std::vector{std::log(s)}; });
  rows("softmax", [](const List &x) { return x[0].softmax(-1); }, [](std::vector<double> r) {
    double s = 0;
    for (double v : r)
      s += std::exp(v);
    for (double &v : r)
      v = std::exp(v) / s;
    return r;
  });
  rows("logSoftmax", [](const List &x) { return x[0].logSoftmax(-1); }, [](std::vector<double> r) {
    double s = 0;
    for (double v : r)
      s += std::exp(v);
    for (double &v : r)
      v -= std::log(s);
    return r;
  });
  rows("cumsum", [](const List &x) { return x[0].cumsum(-1); }, [](std::vector<double> r) { for (size_t i = 1; i < r.size(); ++i) r[i] += r[i - 1]; return r; });
  rows("cumprod", [](const List &x) { return x[0].cumprod(-1); }, [](std::vector<double> r) { for (size_t i = 1; i < r.size(); ++i) r[i] *= r[i - 1]; return r; });
  rows("layerNorm", [](const List &x) { return layerNorm(x[0], {x[0].size(-1)}); }, [=](std::vector<double> r) {
    double m = mean(r), d = std::sqrt(spread(r) / static_cast<double>(r.size()) + 1e-5);
    for (double &v : r)
      v = (v - m) / d;
    return r;
  });
  rows("flip", [](const List &x) { return x[0].flip({-1}); }, [](std::vector<double> r) { std::reverse(r.begin(), r.end()); return r; });
  rows("roll", [](const List &x) { return roll(x[0], 1, -1); }, [](std::vector<double> r) { std::rotate(r.begin(), r.end() - 1, r.end()); return r; });
  rows("pad", [](const List &x) { return pad(x[0], {1, 2}); }, [](std::vector<double> r) { r.insert(r.begin(), 0); r.insert(r.end(), 2, 0); return r; });
  rows("cat", [](const List &x) { return cat({x[0], x[0] * 2}, -1); }, [](std::vector<double> r) { size_t n = r.size(); for (size_t i = 0; i < n; ++i) r.push_back(2 * r[i]); return r; });
  rows("repeat", [](const List &x) { return repeat(x[0], {1, 2}); }, [](std::vector<double> r) { size_t n = r.size(); for (size_t i = 0; i < n; ++i) r.push_back(r[i]); return r; });
  rows("sort", [](const List &x) { return x[0].sort(-1).first; }, [](std::vector<double> r) { std::sort(r.begin(), r.end()); return r; });
  rows("topk", [](const List &x) { return x[0].topk(2, -1).first; }, [](std::vector<double> r) { std::sort(r.rbegin(), r.rend()); return std::vector{r[0], r[1]}; });
  rows("matmul", [](const List &x) { return matmul(x[0], filled({5, 2}, 41, DType::F64).to(x[0].dtype())); }, [](const auto &r) {
    std::vector<double> w = filled({5, 2}, 41, DType::F64).toVector<double>(), y(2);
    for (size_t i = 0; i < r.size(); ++i)
      for (size_t j = 0; j < 2; ++j)
        y[j] += r[i] * w[2 * i + j];
    return y;
  });
  rows("indexSelect", [](const List &x) { return x[0].indexSelect(-1, tensor({4, 0, 4})); }, [](const auto &r) { return std::vector{r[4], r[0], r[4]}; });
  return ops;
}

const std::vector<Op> &ops() {
  static const std::vector<Op> all = table();
  return all;
}

/// Operand k of an op, [4, 5], elements apart from each other.
Tensor operand(const Op &op, int k) { return (filled({4, 5}, 37 + 6 * k, DType::F64) + .75) * ((op.high - op.low) / 1.5) + op.low; }
List operandsOf(const Op &op) {
  List list;
  for (int k = 0; k < op.operands; ++k)
    list.push_back(operand(op, k));
  return list;
}

std::vector<double> expected(const Op &op, const List &x) {
  std::vector<double> values;
  if (op.formula) {
    std::vector<std::vector<double>> in;
    for (const Tensor &each : x)
      in.push_back(each.toVector<double>());
    for (size_t i = 0; i < in[0].size(); ++i) {
      double at[3];
      for (size_t k = 0; k < in.size(); ++k)
        at[k] = in[k][i];
      values.push_back(op.formula(at));
    }
    return values;
  }
  std::vector<double> all = x[0].toVector<double>();
  for (auto row = all.begin(); row != all.end(); row += 5)
    for (double v : op.row({row, row + 5}))
      values.push_back(v);
  return values;
}

class OpTable : public testing::TestWithParam<size_t> {
protected:
  const Op &op = ops()[GetParam()];
  List x = operandsOf(op);
  List as(DType dtype) const {
    List list;
    for (const Tensor &each : x)
      list.push_back(each.to(dtype));
    return list;
  }
};

class OpInPlace : public OpTable {};

TEST_P(OpTable, valuesInEveryDtype) {
  std::vector<double> wanted = expected(op, x);
  Tensor result = op.run(x);
  EXPECT_EQ(result.dtype(), op.result == Result::Bool ? DType::Bool : DType::F64);
  expectValues(result, {result.sizes().begin(), result.sizes().end()}, wanted, 1e-9);
  for (auto [dtype, tolerance] : {std::pair{DType::F32, 2e-5}, {DType::F16, 2e-2}, {DType::BF16, 1e-1}}) {
    Tensor narrow = op.run(as(dtype));
    EXPECT_EQ(narrow.dtype(), op.result == Result::Bool ? DType::Bool : dtype) << op.name;
    if (op.result == Result::Same && op.name != "remainder")
      expectValues(narrow, {result.sizes().begin(), result.sizes().end()}, wanted, tolerance);
  }
  if (op.integers)
    for (DType dtype : {DType::I64, DType::I32, DType::I16, DType::I8, DType::U8}) {
      List whole;
      for (const Tensor &each : x)
        whole.push_back(floor((each + 1) * 5).to(dtype));
      List wide;
      for (const Tensor &each : whole)
        wide.push_back(each.to(DType::F64));
      Tensor got = op.run(whole);
      EXPECT_EQ(got.dtype(), op.result == Result::Bool ? DType::Bool : dtype) << op.name;
      if (dtype != DType::U8 || op.name != "sub")
        expectValues(got, {4, 5}, expected(op, wide));
    }
}

TEST_P(OpTable, stridedOperands) {
  Tensor wanted = op.run(x);
  List turned, spaced;
  for (const Tensor &each : x) {
    turned.push_back(each.t().contiguous().t());
    Tensor wide = zeros({8, 11}, {.dtype = DType::F64});
    Tensor part = wide.slice(0, 0, 8, 2).slice(1, 1, 11, 2);
    part.copy_(each);
    spaced.push_back(part);
  }
  EXPECT_TRUE(allclose(op.run(turned), wanted, 1e-12)) << op.name;
  EXPECT_TRUE(allclose(op.run(spaced), wanted, 1e-12)) << op.name;
  if (op.formula && op.operands == 2 && op.broadcasts) {
    List broadcast = {x[0], x[1].slice(0, 0, 1)};
    EXPECT_TRUE(allclose(op.run(broadcast), op.run({x[0], x[1].slice(0, 0, 1).expand({4, 5}).clone()}), 1e-12)) << op.name;
  }
}

TEST_P(OpTable, emptyAndRankZero) {
  List none;
  for (const Tensor &each : x)
    none.push_back(each.slice(0, 0, 0));
  Tensor nothing = op.run(none);
  EXPECT_EQ(nothing.numel(), 0) << op.name;
  EXPECT_EQ(nothing.size(0), 0) << op.name;
  if (!op.anyRank)
    return;
  List one;
  for (const Tensor &each : x)
    one.push_back(each[1][2]);
  Tensor result = op.run(one);
  EXPECT_EQ(result.dim(), 0) << op.name;
  EXPECT_NEAR(result.item<double>(), expected(op, x)[7], 1e-9) << op.name;
}

TEST_P(OpInPlace, writesWhereTheTensorLies) {
  Tensor wanted = op.run(x), self = x[0].clone();
  uint32_t before = self.version();
  void *data = self.dataPtr();
  op.inPlace(self, x);
  EXPECT_TRUE(allclose(self, wanted, 1e-12));
  EXPECT_EQ(self.dataPtr(), data);
  EXPECT_EQ(self.version(), before + 1);
  Tensor turned = x[0].t().contiguous().t();
  op.inPlace(turned, x);
  EXPECT_TRUE(allclose(turned, wanted, 1e-12));
  // The history of what was written over is the out-of-place op's.
  Tensor leaf = x[0].clone().requiresGrad_(), other = x[0].clone().requiresGrad_();
  Tensor written = leaf * 1.0;
  op.inPlace(written, x);
  written.sum().backward();
  List same = x;
  same[0] = other * 1.0;
  op.run(same).sum().backward();
  EXPECT_TRUE(allclose(leaf.grad(), other.grad(), 1e-12));
}

TEST_P(OpTable, gradients) {
  List leaves;
  for (const Tensor &each : x)
    leaves.push_back(each.clone().requiresGrad_());
  if (op.result == Result::Bool) {
    EXPECT_FALSE(op.run(leaves).requiresGrad());
    return;
  }
  if (!op.differentiable)
    return; // it jumps
  // Smaller: every element is moved by itself.
  List few;
  for (const Tensor &each : x)
    few.push_back(op.formula ? each.slice(0, 0, 2).slice(1, 0, 2).clone() : each.slice(0, 0, 2).clone());
  EXPECT_EQ(checkGradients([&](const List &in) { return op.run(in); }, few, {.secondOrder = true}), "") << op.name;
}

std::vector<size_t> withMethod() {
  std::vector<size_t> those;
  for (size_t k = 0; k < ops().size(); ++k)
    if (ops()[k].inPlace)
      those.push_back(k);
  return those;
}

INSTANTIATE_TEST_SUITE_P(All, OpTable, testing::Range(size_t{0}, ops().size()), [](const auto &info) { return ops()[info.param].name; });
INSTANTIATE_TEST_SUITE_P(All, OpInPlace, testing::ValuesIn(withMethod()), [](const auto &info) { return ops()[info.param].name; });

} // namespace
