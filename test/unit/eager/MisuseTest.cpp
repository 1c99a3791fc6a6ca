// Each misuse has one message, exactly.
#include "test/unit/eager/Expect.h"

#include <limits>

using namespace graphc;
using namespace graphc::test;

TEST(Misuse, span) {
  Tensor w = zeros({2}, {.requiresGrad = true});
  w.setName("w");
  EXPECT_EQ(messageOf([&] { w.span<float>(); }, codes::TensorAccess), "span: \"w\" f32[2] requires grad; call detach() first");
  EXPECT_EQ(messageOf([&] { zeros({2}).span<double>(); }, Code::TypeMismatch), "span: f32[2] holds f32, not f64; convert it with to()");
  EXPECT_EQ(messageOf([&] { zeros({2, 3}).t().span<float>(); }, codes::TensorAccess),
            "span: f32[3, 2] is a view with strides [1, 3]; call contiguous() first");
  EXPECT_EQ(messageOf([&] { zeros({2}).item<float>(); }, codes::TensorAccess), "item: f32[2] has 2 elements, not one");
}

TEST(Misuse, devices) {
  // No machine has so many.
  EXPECT_THAT(messageOf([] { zeros({2}, {.device = "cuda:999"}); }, Code::DeviceUnavailable), testing::StartsWith("zeros: "));
}

TEST(Misuse, shapes) {
  EXPECT_EQ(messageOf([] { zeros({2, 3}) + zeros({4}); }, Code::ShapeMismatch), "add: f32[2, 3] and f32[4] do not broadcast: dim 1 has sizes 3 and 4");
  EXPECT_EQ(messageOf([] { matmul(zeros({2, 3}), zeros({4, 5})); }, Code::ShapeMismatch),
            "matmul: f32[2, 3] and f32[4, 5] do not fit: the last size of the first, 3, must be the last but one of the second, 4");
  EXPECT_EQ(messageOf([] { matmul(zeros({2, 3}), zeros({3, 5}, {.dtype = DType::F64})); }, Code::TypeMismatch),
            "matmul: f32[2, 3] and f64[3, 5] must have one dtype; convert one with to()");
  EXPECT_EQ(messageOf([] { conv2d(zeros({1, 3, 8, 8}), zeros({4, 2, 3, 3})); }, Code::ShapeMismatch),
            "conv2d: the input f32[1, 3, 8, 8] with 3 channels does not fit the weight f32[4, 2, 3, 3] in 1 group: it needs 2");
  EXPECT_EQ(messageOf([] { crossEntropy(zeros({4, 3}), zeros({5}, {.dtype = DType::I64})); }, Code::ShapeMismatch),
            "crossEntropy: the labels i64[5] do not fit the input f32[4, 3]; expected one label for each position, sizes [4]");
  EXPECT_EQ(messageOf([] { zeros({2, 3}).view({4}); }, Code::ShapeMismatch), "view: sizes [4] have 4 elements, f32[2, 3] has 6");
}

TEST(Misuse, rankZeroHasNoSizes) {
  EXPECT_EQ(messageOf([] { tensor(1.).size(0); }, codes::InvalidArgument), "size: f32[] has rank 0 and so no axis 0");
  EXPECT_EQ(messageOf([] { tensor(1.).stride(-1); }, codes::InvalidArgument), "stride: f32[] has rank 0 and so no axis -1");
  using Op = void (*)(const Tensor &);
  for (auto [name, op] : std::initializer_list<std::pair<std::string, Op>>{{"unfold", [](const Tensor &x) { x.unfold(0, 1, 1); }},
                                                                          {"chunk", [](const Tensor &x) { x.chunk(2); }},
                                                                          {"unbind", [](const Tensor &x) { x.unbind(); }},
                                                                          {"split", [](const Tensor &x) { x.split(1); }},
                                                                          {"unflatten", [](const Tensor &x) { x.unflatten(0, {1, 1}); }},
                                                                          {"narrow", [](const Tensor &x) { x.narrow(0, 0, 1); }}})
    EXPECT_EQ(messageOf([&] { op(tensor(1.)); }, codes::InvalidArgument), name + ": f32[] has rank 0 and so no axis 0");
}

TEST(Misuse, hugeViewsDoNotWrapAround) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(messageOf([] { ones({2}).asStrided({3}, {most / 2}); }, Code::ShapeMismatch),
            "asStrided: sizes [3], strides [4611686018427387903] and offset 0 leave the 2 elements of the storage");
  EXPECT_EQ(messageOf([] { ones({4}).asStrided({3, 1}, {most / 2 + 1, 1}); }, Code::ShapeMismatch),
            "asStrided: sizes [3, 1], strides [4611686018427387904, 1] and offset 0 leave the 4 elements of the storage");
  EXPECT_EQ(messageOf([] { ones({5}).narrow(0, 3, most); }, codes::InvalidArgument),
            "narrow: start 3 and length 9223372036854775807 leave [0, 5] of axis 0");
}

TEST(Misuse, labels) {
  EXPECT_EQ(messageOf([] { crossEntropy(zeros({2, 3}), tensor({1, 7})); }, Code::IndexOutOfRange), "crossEntropy: label 7 is out of range [0, 2]");
  EXPECT_EQ(messageOf([] { embedding(tensor({0, 9}), zeros({4, 2})); }, Code::IndexOutOfRange), "embedding: index 9 is out of range [0, 3]");
}

TEST(Misuse, backwardTwice) {
  Tensor w = ones({2}, {.requiresGrad = true});
  Tensor loss = (w * w).sum();
  loss.backward();
  EXPECT_EQ(messageOf([&] { loss.backward(); }, codes::AutogradMisuse),
            "backward: mulBackward has run before and its saved tensors are freed; pass retainGraph = true to the first backward() to go through this graph a second time");
}

TEST(Misuse, backwardOfManyElementsOrOfNothing) {
  Tensor w = ones({2}, {.requiresGrad = true});
  EXPECT_EQ(messageOf([&] { (w * 2).backward(); }, codes::AutogradMisuse),
            "backward: f32[2] has 2 elements; only a tensor of one element needs no gradient given, else pass one or take a sum()");
  EXPECT_EQ(messageOf([&] { ones({1}).backward(); }, codes::AutogradMisuse),
            "backward: f32[1] does not require grad and no op that does made it; set requiresGrad on what it was computed from");
}

TEST(Misuse, inPlaceOnASavedTensor) {
  Tensor w = ones({3}, {.requiresGrad = true});
  Tensor x = w * 2;
  x.setName("x");
  Tensor loss = (x * x).sum();
  x.add_(1);
  EXPECT_EQ(messageOf([&] { loss.backward(); }, codes::AutogradMisuse),
            "backward: mulBackward needs the operand \"x\" f32[3] of mul, which was changed in place: it is at version 1, expected version 0; change a clone() instead, or change it before mul");
}

TEST(Misuse, inPlaceOnALeaf) {
  Tensor w = ones({3}, {.requiresGrad = true});
  w.setName("w");
  EXPECT_EQ(messageOf([&] { w.add_(1); }, codes::AutogradMisuse),
            "add_: \"w\" f32[3] is a leaf that requires grad and cannot be changed in place; do it under NoGrad, or change a clone()");
  NoGrad guard;
  w.add_(1);
  expectValues(w, {3}, {2, 2, 2});
}

TEST(Misuse, inPlaceOnViewsThatCannotTakeIt) {
  Tensor w = ones({4}, {.requiresGrad = true});
  Tensor x = w * 2;
  Tensor half = x.split(2)[0];
  EXPECT_EQ(messageOf([&] { half.mul_(2); }, codes::AutogradMisuse),
            "mul_: f32[2] is one of several views made by one op (split, chunk, unbind) and cannot be changed in place; use slice() or select()");
  Tensor view;
  {
    NoGrad guard;
    view = x.slice(0, 0, 2);
  }
  EXPECT_EQ(messageOf([&] { view.mul_(w.slice(0, 0, 2)); }, codes::AutogradMisuse),
            "mul_: f32[2] is a view made under NoGrad and cannot take a gradient in place; make the view again outside");
  EXPECT_EQ(messageOf([&] { w.slice(0, 0, 2).mul_(2); }, codes::AutogradMisuse),
            "mul_: f32[2] is a view of the leaf f32[4] that requires grad and cannot be changed in place; do it under NoGrad");
}

TEST(Misuse, dtypesInPlace) {
  Tensor x = tensor({1, 2});
  EXPECT_EQ(messageOf([&] { x.add_(0.5); }, Code::TypeMismatch), "add_: the result is f32 and cannot be written back into i64[2]; in-place ops keep the dtype");
  EXPECT_EQ(messageOf([] { tensor({1, 2}).mean(); }, Code::TypeMismatch), "mean: i64[2] is no float; convert it with to() first");
  EXPECT_EQ(messageOf([] { tensor({1, 2}).requiresGrad_(); }, codes::AutogradMisuse), "requiresGrad_: i64[2] is no float; only floats have gradients");
}

TEST(Misuse, inference) {
  Tensor x;
  {
    InferenceMode guard;
    x = ones({2}) * 2;
  }
  Tensor w = ones({2}, {.requiresGrad = true});
  EXPECT_EQ(messageOf([&] { w * x; }, codes::AutogradMisuse), "mul: f32[2] was made in inference mode and cannot be saved for backward; clone() it outside first");
  EXPECT_EQ(messageOf([&] { x.add_(1); }, codes::AutogradMisuse), "add_: f32[2] was made in inference mode and cannot be changed outside; clone() it first");
}

TEST(Misuse, undefined) {
  EXPECT_EQ(messageOf([] { Tensor() + ones({1}); }, codes::InvalidArgument), "add: an operand is an undefined tensor");
  EXPECT_EQ(messageOf([] { Tensor().sizes(); }, codes::InvalidArgument), "an undefined tensor was used; give it a value first");
}

TEST(Misuse, errorsSayWhereTheCallIs) {
  auto placeOf = [](auto &&run) {
    try {
      run();
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), codeName(error.code()) + ": " + error.message() + " (" + error.where().file_name() + ":" +
                                               std::to_string(error.where().line()) + ")");
      EXPECT_TRUE(std::string_view(error.where().file_name()).ends_with("MisuseTest.cpp"));
      return static_cast<int>(error.where().line());
    }
    return 0;
  };
  Tensor a = zeros({2, 3}), b = zeros({4});
  int line = __LINE__;
  EXPECT_EQ(placeOf([&] { a + b; }), line + 1);
  EXPECT_EQ(placeOf([&] { matmul(a, b); }), line + 2);
  EXPECT_EQ(placeOf([&] { a.mul_(b); }), line + 3);
  EXPECT_EQ(placeOf([&] { a.view({5}); }), line + 4);
  EXPECT_EQ(placeOf([&] { glu(a, 1); }), line + 5); // what the op calls inside does not count
  EXPECT_EQ(CallSite::current().line(), 0u);        // nothing is left behind
}

TEST(Misuse, messagesNameWhatWasCalled) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(messageOf([] { zeros({-1}); }, Code::ShapeMismatch), "zeros: size -1 is negative");
  EXPECT_EQ(messageOf([] { randn({2, -3}); }, Code::ShapeMismatch), "randn: size -3 is negative");
  EXPECT_EQ(messageOf([] { ones({2}).expand({-5}); }, Code::ShapeMismatch), "expand: size -5 of dim 0 is negative; -1 keeps a size");
  EXPECT_EQ(messageOf([] { repeat(ones({2}), {-1}); }, codes::InvalidArgument), "repeat: -1 is negative");
  EXPECT_EQ(messageOf([] { repeat(ones({2}), {most}); }, Code::ShapeMismatch), "repeat: 9223372036854775807 times 2 elements are too many");
  EXPECT_EQ(messageOf([] { indexAdd(ones({2, 2}), 0, tensor({0, 5}), ones({2, 2})); }, Code::IndexOutOfRange), "indexAdd: index 5 is out of range [-2, 1] of dimension 0");
  EXPECT_EQ(messageOf([] { remainder(ones({2}), ones({3})); }, Code::ShapeMismatch),
            "remainder: f32[2] and f32[3] do not broadcast: dim 0 has sizes 2 and 3");
  EXPECT_EQ(messageOf([] { lt(ones({2}), ones({3})); }, Code::ShapeMismatch), "lt: f32[2] and f32[3] do not broadcast: dim 0 has sizes 2 and 3");
  EXPECT_EQ(messageOf([] { maskedFill(ones({2}), ones({2}), 0); }, Code::TypeMismatch), "maskedFill: the mask f32[2] is not bool; compare it with 0");
  EXPECT_EQ(messageOf([] { logSoftmax(ones({2}), 3); }, codes::InvalidArgument), "logSoftmax: axis 3 is out of range for rank 1");
  EXPECT_EQ(messageOf([] { argsort(ones({2}), 2); }, codes::InvalidArgument), "argsort: axis 2 is out of range for rank 1");
  EXPECT_EQ(messageOf([] { addmm(ones({2}), ones({2, 3}), ones({2, 3})); }, Code::ShapeMismatch),
            "addmm: f32[2, 3] and f32[2, 3] do not fit: the last size of the first, 3, must be the last but one of the second, 2");
  Tensor two = ones({1, 2, 4, 4}), weight = ones({2, 2, 3, 3});
  EXPECT_EQ(messageOf([&] { conv2d(two, weight, {}, {.groups = 0}); }, codes::InvalidArgument), "conv2d: groups is 0, at least 1 is needed");
  EXPECT_EQ(messageOf([&] { conv2d(two, weight, {}, {.stride = most}); }, codes::InvalidArgument), "conv2d: stride 9223372036854775807 is more than 1073741824");
  EXPECT_EQ(messageOf([&] { conv2d(ones({1, 0, 4, 4}), ones({2, 0, 3, 3})); }, Code::ShapeMismatch), "conv2d: the weight f32[2, 0, 3, 3] has no elements");
  EXPECT_EQ(messageOf([&] { maxPool2d(two, most); }, codes::InvalidArgument), "maxPool2d: window 9223372036854775807 is more than 1073741824");
  EXPECT_EQ(messageOf([&] { interpolate(two, {0, 0}); }, Code::ShapeMismatch),
            "interpolate: dim 2 of f32[1, 2, 4, 4] cannot become 0 from 4; both must be at least 1");
}

TEST(Misuse, probabilities) {
  EXPECT_EQ(messageOf([] { bernoulli(tensor({.5, 1.5})); }, codes::InvalidArgument),
            "bernoulli: the probabilities f32[2] must lie in [0, 1]; its elements reach from 0.5 to 1.5");
  EXPECT_EQ(messageOf([] { zeros({2}).bernoulli_(-1); }, codes::InvalidArgument), "bernoulli_: the probability -1 is not in [0, 1]");
  EXPECT_EQ(messageOf([] { binaryCrossEntropy(tensor({-.5, .5}), zeros({2})); }, codes::InvalidArgument),
            "binaryCrossEntropy: the input f32[2] must lie in [0, 1]; its elements reach from -0.5 to 0.5; use binaryCrossEntropyWithLogits() for scores, or apply sigmoid()");
  EXPECT_EQ(messageOf([] { dropout(ones({2}), 2, true); }, codes::InvalidArgument), "dropout: the probability 2 is not in [0, 1]");
}
