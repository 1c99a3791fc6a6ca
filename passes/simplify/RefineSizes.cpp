// Before: a size symbol that the function's `symbols` attribute pins to one value. After: that number in every type.
//
//     symbols = {n = {lo = 4, hi = 4}},  tensor<?xf32, #graph.dims<[n]>>      →      tensor<4xf32>
#include "passes/simplify/Patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {

void refineSizes(Operation *root) {
  root->walk([](func::FuncOp function) {
    auto symbols = function->getAttrOfType<DictionaryAttr>("symbols");
    if (!symbols)
      return;
    DenseMap<AffineExpr, AffineExpr> pinned;
    SmallVector<NamedAttribute> left;
    for (NamedAttribute entry : symbols) {
      auto facts = dyn_cast<DictionaryAttr>(entry.getValue());
      auto lo = facts ? facts.getAs<IntegerAttr>("lo") : IntegerAttr(), hi = facts ? facts.getAs<IntegerAttr>("hi") : IntegerAttr();
      if (lo && hi && lo.getInt() == hi.getInt())
        pinned[symbolDim(entry.getName(), function.getContext())] = constantDim(lo.getInt(), function.getContext());
      else
        left.push_back(entry);
    }
    if (pinned.empty())
      return;
    AttrTypeReplacer replacer;
    auto refined = [&](ArrayRef<AffineExpr> dims) {
      return llvm::map_to_vector(dims, [&](AffineExpr d) { return simplify(d.replace(pinned)); });
    };
    replacer.addReplacement([&](DimsAttr dims) -> Attribute { return DimsAttr::get(dims.getContext(), refined(dims.getDims())); });
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
      auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
      if (!dims)
        return std::nullopt;
      return std::pair<Type, WalkResult>(tensorType(refined(dims.getDims()), type.getElementType()), WalkResult::skip());
    });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    if (left.empty())
      function->removeAttr("symbols");
    else
      function->setAttr("symbols", DictionaryAttr::get(function.getContext(), left));
  });
}

} // namespace graphc
