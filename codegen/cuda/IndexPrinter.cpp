// Indices: affine expressions, the element an access names, bounds.
#include "codegen/cuda/KernelPrinter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

bool KernelPrinter::isNonNegative(AffineExpr expr, const ValueSpace &space) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  if (isa<AffineSymbolExpr>(expr))
    return true; // scalars are sizes
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return nonNegative_.contains(space.values[dim.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Mod)
    return true;
  return isNonNegative(binary.getLHS(), space) && isNonNegative(binary.getRHS(), space);
}

static std::string wholeNumber(int64_t value) {
  bool fits = value == static_cast<int32_t>(value);
  return std::to_string(value) + (fits ? "" : "ll");
}

KernelPrinter::Text KernelPrinter::affine(AffineExpr expr, const ValueSpace &space) {
  auto wrapped = [&](AffineExpr part) {
    Text text = affine(part, space);
    return text.atom ? text.text : "(" + text.text + ")";
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {wholeNumber(constant.getValue()), constant.getValue() >= 0};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return {"n" + std::to_string(symbol.getPosition())};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {use(space.values[dim.getPosition()])};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    // a + b * -1 reads as a - b; sums need no parentheses on their left.
    std::string lead = affineRaw(left, space);
    if (auto constant = dyn_cast<AffineConstantExpr>(right); constant && constant.getValue() < 0)
      return {lead + " - " + affineRaw(getAffineConstantExpr(-constant.getValue(), expr.getContext()), space), false};
    if (auto product = dyn_cast<AffineBinaryOpExpr>(right); product && right.getKind() == AffineExprKind::Mul)
      if (auto factor = dyn_cast<AffineConstantExpr>(product.getRHS()); factor && factor.getValue() == -1)
        return {lead + " - " + wrapped(product.getLHS()), false};
    Text text = affine(right, space);
    bool product = right.getKind() == AffineExprKind::Mul;
    return {lead + " + " + (text.atom || product ? text.text : "(" + text.text + ")"), false};
  }
  case AffineExprKind::Mul:
    if (auto constant = dyn_cast<AffineConstantExpr>(right); constant && constant.getValue() == -1)
      return {"-" + wrapped(left), false};
    return {wrapped(left) + " * " + wrapped(right), false};
  case AffineExprKind::Mod:
    if (isNonNegative(left, space))
      return {wrapped(left) + " % " + wrapped(right), false};
    return call("floor_mod", {affineRaw(left, space), index_ + "(" + affineRaw(right, space) + ")"});
  case AffineExprKind::FloorDiv:
    if (isNonNegative(left, space))
      return {wrapped(left) + " / " + wrapped(right), false};
    return call("floor_div", {affineRaw(left, space), index_ + "(" + affineRaw(right, space) + ")"});
  case AffineExprKind::CeilDiv:
    return {"-floor_div(-" + wrapped(left) + ", " + index_ + "(" + affineRaw(right, space) + "))", false};
  default:
    llvm_unreachable("leaves are handled");
  }
}

std::string KernelPrinter::inBounds(const LinearAccess &access) {
  std::string all;
  auto require = [&](const std::string &condition) { all += (all.empty() ? "" : " && ") + condition; };
  for (auto [index, size] : llvm::zip(access.indices, access.dims)) {
    // A loop's own iv over a dim of its size is inside.
    if (auto dim = dyn_cast<AffineDimExpr>(index)) {
      auto iv = dyn_cast<BlockArgument>(access.space.values[dim.getPosition()]);
      auto loop = iv ? dyn_cast<kernel::LoopOp>(iv.getOwner()->getParentOp()) : kernel::LoopOp();
      if (loop && iv.getArgNumber() < loop.getIvs().size())
        if (auto trip = sizeOf(loop, iv.getArgNumber()); trip && provedEqual(*trip, size))
          continue;
    }
    auto fixed = constantOf(index), limit = constantOf(size);
    if (fixed && limit && *fixed >= 0 && *fixed < *limit)
      continue;
    Text text = affine(index, access.space);
    std::string at = text.atom ? text.text : "(" + text.text + ")";
    if (!isNonNegative(index, access.space))
      require(at + " >= 0");
    Text edge = affine(size, access.space);
    require(at + " < " + (edge.atom ? edge.text : "(" + edge.text + ")"));
  }
  return all;
}

std::string KernelPrinter::element(Value buffer, StringRef offset) { return names_[buffer].text + "[" + offset.str() + "]"; }

void KernelPrinter::printLoad(kernel::LoadOp op) {
  LinearAccess access = linearise(cast<kernel::AccessOp>(op.getOperation()));
  std::string text;
  if (auto pack = packs_.find(op); pack != packs_.end()) {
    text = pack->second;
  } else {
    text = element(op.getBuffer(), offset(access));
    if (op.getFill())
      if (std::string inside = inBounds(access); !inside.empty())
        text = inside + " ? " + text + " : " + use(op.getFill());
  }
  std::string name = fresh((names_[op.getBuffer()].text + "_value").c_str());
  line("const " + type(op.getValue().getType()) + " " + name + " = " + text + ";");
  set(op.getValue(), {name});
}

/// What an element becomes when `value` is combined into it; empty for kinds without a spelling.
static std::string combination(arith::AtomicRMWKind kind, Type element, const std::string &old, const std::string &value) {
  bool half = element.isF16() || element.isBF16();
  std::string a = half ? "widen(" + old + ")" : old, b = half ? "widen(" + value + ")" : value, text;
  using K = arith::AtomicRMWKind;
  switch (kind) {
  case K::assign:
    return value;
  case K::addf:
    text = a + " + " + b;
    break;
  case K::mulf:
    text = a + " * " + b;
    break;
  case K::maximumf:
    text = "maximum(" + a + ", " + b + ")";
    break;
  case K::minimumf:
    text = "minimum(" + a + ", " + b + ")";
    break;
  case K::addi:
    return "wrapping_add(" + a + ", " + b + ")";
  case K::muli:
    return "wrapping_mul(" + a + ", " + b + ")";
  case K::maxs:
    return a + " > " + b + " ? " + a + " : " + b;
  case K::mins:
    return a + " < " + b + " ? " + a + " : " + b;
  default:
    return "";
  }
  return half ? std::string(element.isF16() ? "narrow_f16(" : "narrow_bf16(") + text + ")" : text;
}

void KernelPrinter::printStore(kernel::StoreOp op) {
  LinearAccess access = linearise(cast<kernel::AccessOp>(op.getOperation()));
  std::string target;
  if (auto pack = packs_.find(op); pack != packs_.end())
    target = pack->second;
  else
    target = element(op.getBuffer(), offset(access));
  std::string condition = op.getCondition() ? use(op.getCondition()) : "";
  // What one group computes together is stored by its first member.
  if (group_.size && isa<kernel::ParallelOp>(op->getParentOp()))
    condition = std::string(group_.strided ? "live && " : "") + group_.member + " == 0" + (condition.empty() ? "" : " && " + condition);
  std::string lead = condition.empty() ? "" : "if (" + condition + ") ";
  if (op.getMode() == kernel::StoreMode::ordered)
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (auto parallel = dyn_cast<kernel::ParallelOp>(parent); parallel && parallel.getSizes().getNumResults()) {
        op.emitError() << "orders stores of different points, which run at once on a GPU";
        failed_ = true;
        return;
      }
  if (!op.getKind()) {
    line(lead + target + " = " + raw(op.getValue()) + ";");
    return;
  }
  Type element = op.getValue().getType();
  using K = arith::AtomicRMWKind;
  std::string value = raw(op.getValue());
  if (op.getMode() != kernel::StoreMode::atomic) {
    // In sequence: read, combine, write.
    if (std::string combined = combination(*op.getKind(), element, target, use(op.getValue())); !combined.empty())
      return line(lead + target + " = " + combined + ";");
  } else if (element.isInteger(32) || element.isInteger(64)) {
    StringRef atomic = *op.getKind() == K::addi ? (element.isInteger(64) ? "atomic_add" : "atomicAdd")
                       : *op.getKind() == K::maxs ? "atomicMax"
                       : *op.getKind() == K::mins ? "atomicMin"
                                                  : "";
    if (!atomic.empty())
      return line(lead + atomic + "(&" + target + ", " + value + ");");
  }
  op.emitError() << "combines into memory in a way that has no order-free spelling in CUDA C++";
  failed_ = true;
}

void KernelPrinter::printCheck(kernel::CheckIndexOp op) {
  std::string name = fresh("row");
  // Checked as the 64-bit number it was: cut to 32 bits it might look right.
  auto cast = op.getIndex().getDefiningOp<arith::IndexCastOp>();
  Value index = cast ? cast.getIn() : op.getIndex();
  line("const " + index_ + " " + name + " = " + index_ + "(check_index(" + raw(index) + ", " + raw(op.getSize()) + ", " +
       (op.getWrap() ? "true" : "false") + ", " + std::to_string(op.getSite()) + ", error));");
  nonNegative_.insert(op.getResult());
  set(op.getResult(), {name});
}

//===----------------------------------------------------------------------===//
// Domains
//===----------------------------------------------------------------------===//

std::string KernelPrinter::sizeText(kernel::LoopOp loop, unsigned dim) {
  ValueSpace space;
  AffineExpr size = space.rewrite(loop.getSizeMap(), loop.getSizeMapOperands())[dim];
  Text text = affine(size, space);
  return text.atom ? text.text : "(" + text.text + ")";
}

std::string KernelPrinter::joined(ArrayRef<std::string> factors) {
  if (factors.empty())
    return "1";
  int64_t product = 1;
  std::string rest;
  for (const std::string &factor : factors) {
    int64_t number;
    if (!StringRef(factor).rtrim('l').getAsInteger(10, number))
      product *= number;
    else
      rest += (rest.empty() ? "" : " * ") + factor;
  }
  if (rest.empty())
    return wholeNumber(product);
  return product == 1 ? rest : rest + " * " + wholeNumber(product);
}

std::string KernelPrinter::countText(kernel::LoopOp loop, unsigned first, unsigned count) {
  SmallVector<std::string> sizes;
  for (unsigned d = first; d < first + count; ++d)
    sizes.push_back(sizeText(loop, d));
  return joined(sizes);
}

void KernelPrinter::decode(kernel::LoopOp loop, unsigned first, unsigned count, StringRef linear) {
  SmallVector<std::string> lines;
  std::vector<std::string> inner;
  for (unsigned d = first + count; d-- > first;) {
    Value iv = loop.getIvs()[d];
    nonNegative_.insert(iv);
    std::string stride = joined(inner);
    std::string text = linear.str();
    if (!inner.empty())
      text += " / " + (StringRef(stride).contains('*') ? "(" + stride + ")" : stride);
    if (d != first)
      text += " % " + sizeText(loop, d);
    if (count == 1) {
      set(iv, {linear.str()});
      return;
    }
    std::string name = fresh((isa<kernel::ParallelOp>(loop.getOperation()) ? "i" : "k") + std::to_string(d));
    set(iv, {name});
    if (!iv.use_empty())
      lines.push_back("const " + index_ + " " + name + " = " + text + ";");
    inner.insert(inner.begin(), sizeText(loop, d));
  }
  for (const std::string &text : llvm::reverse(lines))
    line(text);
}
