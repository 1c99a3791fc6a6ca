#include "codegen/common/Access.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;

int ValueSpace::find(Value value) const {
  auto it = llvm::find(values, value);
  return it == values.end() ? -1 : static_cast<int>(it - values.begin());
}

/// Index of a scalar argument among the kernel's scalars, or -1.
static int scalarNumber(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return -1;
  auto kernel = dyn_cast<kernel::FuncOp>(argument.getOwner()->getParentOp());
  return kernel ? static_cast<int>(argument.getArgNumber() - kernel.getNumBuffers()) : -1;
}

SmallVector<AffineExpr> ValueSpace::rewrite(AffineMap map, ValueRange operands) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> replacements;
  for (Value operand : operands) {
    APInt constant;
    if (matchPattern(operand, m_ConstantInt(&constant))) {
      replacements.push_back(getAffineConstantExpr(constant.getSExtValue(), context));
      continue;
    }
    if (int scalar = scalarNumber(operand); scalar >= 0) {
      replacements.push_back(getAffineSymbolExpr(scalar, context));
      continue;
    }
    int at = find(operand);
    if (at < 0) {
      at = values.size();
      values.push_back(operand);
    }
    replacements.push_back(getAffineDimExpr(at, context));
  }
  auto dims = ArrayRef(replacements).take_front(map.getNumDims());
  auto symbols = ArrayRef(replacements).drop_front(map.getNumDims());
  SmallVector<AffineExpr> result;
  for (AffineExpr expr : map.getResults())
    result.push_back(expr.replaceDimsAndSymbols(dims, symbols));
  return result;
}

/// One past the largest symbol used.
static unsigned numSymbols(AffineExpr expr) {
  unsigned count = 0;
  expr.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      count = std::max(count, symbol.getPosition() + 1);
  });
  return count;
}

static unsigned numDims(AffineExpr expr) {
  unsigned count = 0;
  expr.walk([&](AffineExpr e) {
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      count = std::max(count, dim.getPosition() + 1);
  });
  return count;
}

static AffineExpr simplify(AffineExpr expr) { return simplifyAffineExpr(expr, numDims(expr), numSymbols(expr)); }

std::optional<AffineExpr> codegen::coefficientOf(AffineExpr expr, unsigned dim) {
  MLIRContext *context = expr.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (!expr.isFunctionOfDim(dim))
    return zero;
  if (isa<AffineDimExpr>(expr))
    return getAffineConstantExpr(1, context);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    auto left = coefficientOf(binary.getLHS(), dim), right = coefficientOf(binary.getRHS(), dim);
    if (!left || !right)
      return std::nullopt;
    return simplify(*left + *right);
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    if (right.isFunctionOfDim(dim))
      std::swap(left, right);
    auto inner = coefficientOf(left, dim);
    if (!inner || !right.isSymbolicOrConstant())
      return std::nullopt;
    return simplify(*inner * right);
  }
  return std::nullopt;
}

std::optional<AffineExpr> LinearAccess::coefficient(Value value) const {
  int at = space.find(value);
  if (at < 0)
    return getAffineConstantExpr(0, offset.getContext());
  return coefficientOf(offset, at);
}

LinearAccess codegen::linearise(kernel::AccessOp op) {
  LinearAccess access;
  access.indices = access.space.rewrite(op.getIndexMap(), op.getIndexOperands());
  auto buffer = cast<BlockArgument>(op.getAccessBuffer());
  auto kernel = cast<kernel::FuncOp>(buffer.getOwner()->getParentOp());
  AffineMap dims = kernel.getBufferDims(buffer.getArgNumber());
  access.dims.assign(dims.getResults().begin(), dims.getResults().end());
  AffineExpr offset = getAffineConstantExpr(0, op.getContext());
  AffineExpr stride = getAffineConstantExpr(1, op.getContext());
  for (int d = static_cast<int>(access.dims.size()) - 1; d >= 0; --d) {
    offset = offset + access.indices[d] * stride;
    stride = stride * access.dims[d];
  }
  access.offset = simplify(offset);
  return access;
}

std::optional<AffineExpr> codegen::sizeOf(kernel::LoopOp loop, unsigned dim) {
  ValueSpace space;
  AffineExpr size = space.rewrite(loop.getSizeMap(), loop.getSizeMapOperands())[dim];
  if (!size.isSymbolicOrConstant())
    return std::nullopt;
  return simplify(size);
}

std::optional<int64_t> codegen::constantOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

/// Sum of products: a sorted list of (sorted factors, coefficient). Affine simplification leaves s0 * s1 and s1 * s0
/// apart; this does not. Division and modulo stay opaque factors.
using Monomials = std::map<std::vector<const void *>, int64_t>;

static Monomials expand(AffineExpr expr) {
  if (auto constant = constantOf(expr))
    return *constant ? Monomials{{{}, *constant}} : Monomials{};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Add) {
    Monomials sum = expand(binary.getLHS());
    for (auto &[factors, count] : expand(binary.getRHS()))
      if ((sum[factors] += count) == 0)
        sum.erase(factors);
    return sum;
  }
  if (binary && expr.getKind() == AffineExprKind::Mul) {
    Monomials product;
    Monomials right = expand(binary.getRHS());
    for (auto &[a, m] : expand(binary.getLHS()))
      for (auto &[b, n] : right) {
        std::vector<const void *> factors(a);
        factors.insert(factors.end(), b.begin(), b.end());
        std::sort(factors.begin(), factors.end());
        if ((product[factors] += m * n) == 0)
          product.erase(factors);
      }
    return product;
  }
  return {{{expr.getAsOpaquePointer()}, 1}};
}

bool codegen::provedEqual(AffineExpr a, AffineExpr b) { return a == b || expand(a) == expand(b); }

llvm::SmallDenseSet<Value> codegen::storedBuffers(kernel::FuncOp kernel) {
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](kernel::StoreOp store) { stored.insert(store.getBuffer()); });
  return stored;
}
