// The form a contracting kernel likes (codegen/common/Contract.h): no guards in the sum, output channels next to each other in
// the weight.
//
//     %y = conv %x, %w {pads = 2}      =>     %p = pad %x                        (stored)
//                                             %q = transpose %w [2, 3, 1, 0]     (prepared)
//                                             %y = conv %p, (transpose %q) {by = "kernel"}
//
// The library is better where its blocked kernels have channels enough to fill their registers and work enough to hide the
// call: everything but first layers, small images, channel groups and filters along one dim.
#include "passes/fuse/DirectConv.h"
#include "passes/simplify/ChannelShuffle.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

static std::optional<int64_t> elementsOf(Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  return type.hasStaticShape() ? std::optional(type.getNumElements()) : std::nullopt;
}

std::optional<StringRef> graphc::directConvReason(ConvOp op, const TargetInfo &target) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  auto results = elementsOf(op.getResult());
  if (!op.getChannelsLast() || !weight.getElementType().isF32() || !elementsOf(op.getX()) || !results || !weight.hasStaticShape() ||
      *results == 0 || !dependsOnWeightsOnly(op.getWeight()))
    return std::nullopt;
  for (int64_t pad : llvm::concat<const int64_t>(op.getPadsLow(), op.getPadsHigh()))
    if (pad < 0)
      return std::nullopt;
  int64_t outputs = weight.getDimSize(0), inputs = weight.getDimSize(1), groups = op.getGroups();
  int64_t perGroup = outputs / groups, depth = weight.getNumElements() / outputs;
  bool depthwise = groups > 1 && inputs == 1 && perGroup == 1;
  double products = double(*results) * double(depth);
  // Lanes lie along the channels of a group.
  if (!depthwise && perGroup < 4)
    return std::nullopt;
  if (depthwise)
    return std::nullopt;
  if (groups > 1)
    return "its channels come in groups";
  if (inputs <= 4)
    return "few input channels";
  constexpr double kTiny = 1.5e6;
  if (products <= kTiny && depth > inputs)
    return "it is tiny";
  return std::nullopt;
}

void graphc::prepareDirectConv(ConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto low = op.getPadsLow(), high = op.getPadsHigh();
  if (llvm::any_of(low, [](int64_t p) { return p != 0; }) || llvm::any_of(high, [](int64_t p) { return p != 0; })) {
    auto type = cast<RankedTensorType>(op.getX().getType());
    SmallVector<int64_t> before(type.getRank(), 0), sizes(type.getShape());
    for (auto [s, pads] : llvm::enumerate(llvm::zip(low, high))) {
      before[1 + s] = std::get<0>(pads);
      sizes[1 + s] += std::get<0>(pads) + std::get<1>(pads);
    }
    auto padded = PadOp::create(b, loc, RankedTensorType::get(sizes, type.getElementType()), op.getX(), b.getDenseI64ArrayAttr(before),
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
  auto unpacked = TransposeOp::create(b, loc, packed, unpack);
  unpacked->setAttr(kUnpackAttr, b.getUnitAttr());
  op.getWeightMutable().assign(unpacked);
}
