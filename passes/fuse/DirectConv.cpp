// The form a contracting kernel likes (codegen/common/Contract.h): no guards in the sum, output channels next to each other in
// the weight.
//
//     %y = conv %x, %w {pads = 2}      =>     %p = pad %x                        (stored)
//                                             %q = transpose %w [2, 3, 1, 0]     (prepared, or stored where weights change)
//                                             %y = conv %p, (transpose %q) {by = "kernel"}
//
// The library is as good or better where its blocked kernels have channels enough to fill their registers and work enough to hide the
// call, and always for depthwise convolutions: README.md of runtime/devices/cpu has the numbers.
#include "passes/fuse/DirectConv.h"
#include "passes/simplify/ChannelShuffle.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

/// Elements of one image; nothing when its size is not known.
static std::optional<int64_t> imageElements(Value v) {
  int64_t elements = 1;
  for (AffineExpr d : ArrayRef(dimsOf(v.getType())).drop_front()) {
    auto size = constantSize(d);
    if (!size)
      return std::nullopt;
    elements *= *size;
  }
  return elements;
}

bool graphc::runsDirect(ConvOp op) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  auto results = imageElements(op.getResult());
  if (!op.getChannelsLast() || !weight.getElementType().isF32() || !imageElements(op.getX()) || !results || *results == 0 ||
      !weight.hasStaticShape())
    return false;
  // Weights that change with every call (in training) are packed in every call.
  if (!dependsOnWeightsOnly(op.getWeight()) && weight.getNumElements() > *results)
    return false;
  for (int64_t pad : llvm::concat<const int64_t>(op.getPadsLow(), op.getPadsHigh()))
    if (pad < 0)
      return false;
  // Lanes lie along the output channels (of one group); where there are too few, along the taps of a row of the window.
  int64_t perGroup = weight.getDimSize(0) / op.getGroups(), inputs = weight.getDimSize(1);
  bool depthwise = perGroup == 1 && inputs == 1 && op.getGroups() >= 4;
  return perGroup >= 4 || depthwise || (op.getGroups() == 1 && op.getDilations().back() == 1 && weight.getShape().back() * inputs >= 8);
}

std::optional<StringRef> graphc::directConvReason(ConvOp op, const TargetInfo &target) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  if (!runsDirect(op))
    return std::nullopt;
  int64_t outputs = weight.getDimSize(0), inputs = weight.getDimSize(1), groups = op.getGroups();
  int64_t depth = weight.getNumElements() / outputs, rowTaps = weight.getShape().back();
  double products = double(*imageElements(op.getResult())) * double(depth);
  if (outputs == groups && outputs > 1) // depthwise: the library's own kernels are as fast
    return std::nullopt;
  if (groups > 1)
    return "its channels come in groups";
  if (inputs <= 4)
    return "few input channels";
  if (!dependsOnWeightsOnly(op.getWeight())) // the library packs them as fast
    return std::nullopt;
  if (outputs == 1)
    return "one output channel";
  constexpr int64_t kLongRow = 12;
  if (rowTaps >= kLongRow)
    return "a long filter";
  // An odd number of vectors, from three on, meets each broadcast alone: about as fast as the library, so not worth a stored padding.
  bool padded = llvm::any_of(op.getPadsLow(), [](int64_t p) { return p != 0; }) || llvm::any_of(op.getPadsHigh(), [](int64_t p) { return p != 0; });
  int64_t vectors = llvm::divideCeil(outputs * 4, target.vectorBytes);
  constexpr double kTiny = 5e6;
  if (products <= kTiny && depth > inputs && (vectors == 1 || vectors % 2 == 0 || !padded))
    return "it is tiny";
  return std::nullopt;
}

void graphc::prepareDirectConv(ConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto low = op.getPadsLow(), high = op.getPadsHigh();
  if (llvm::any_of(low, [](int64_t p) { return p != 0; }) || llvm::any_of(high, [](int64_t p) { return p != 0; })) {
    SmallVector<AffineExpr> sizes = dimsOf(op.getX().getType());
    SmallVector<int64_t> before(sizes.size(), 0);
    for (auto [s, pads] : llvm::enumerate(llvm::zip(low, high))) {
      before[1 + s] = std::get<0>(pads);
      sizes[1 + s] = constantDim(*constantSize(sizes[1 + s]) + std::get<0>(pads) + std::get<1>(pads), b.getContext());
    }
    auto padded = PadOp::create(b, loc, withDims(op.getX().getType(), sizes), op.getX(), b.getDenseI64ArrayAttr(before),
                                b.getStringAttr("constant"), b.getF64FloatAttr(0));
    padded->setAttr(kStoredAttr, b.getUnitAttr());
    op.getXMutable().assign(padded);
    SmallVector<int64_t> none(low.size(), 0);
    op.setPadsLow(none);
    op.setPadsHigh(none);
  }
  else if (auto shuffle = channelShuffleOf(op.getX()))
    for (Operation *part : shuffle->ops)
      part->setAttr(kReadThroughAttr, b.getUnitAttr());
  // [M, C, window…] to [window…, C, M] and, for the reader, back.
  unsigned rank = cast<RankedTensorType>(op.getWeight().getType()).getRank();
  SmallVector<int64_t> pack, unpack(rank);
  for (unsigned d = 2; d < rank; ++d)
    pack.push_back(d);
  pack.push_back(1);
  pack.push_back(0);
  for (auto [to, from] : llvm::enumerate(pack))
    unpack[from] = to;
  auto packed = TransposeOp::create(b, loc, op.getWeight(), pack);
  if (!dependsOnWeightsOnly(op.getWeight()))
    packed->setAttr(kStoredAttr, b.getUnitAttr());
  auto unpacked = TransposeOp::create(b, loc, packed, unpack);
  unpacked->setAttr(kUnpackAttr, b.getUnitAttr());
  op.getWeightMutable().assign(unpacked);
}
