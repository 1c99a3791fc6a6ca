// Composites: a formula over other ops in passes/decompose, unless a target keeps them whole.
#ifndef GRAPHC_IR_GRAPH_COMPOSITE
#define GRAPHC_IR_GRAPH_COMPOSITE
include "ir/graph/GraphBase.td"

// Composites without HasVjp get the derivative of their formula. Autocast: Full where they are sums of many terms (norms,
// softmax, losses), which a low precision would ruin.
class Graph_CompositeOf<string mnemonic, list<Trait> traits, dag ins_, string autocast, dag outs_ = (outs GraphTensor:$result),
                        list<string> keeps = []>
    : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<CompositeInterface>,
        DeclareOpInterfaceMethods<AutocastInterface, !listconcat(["autocastClass"], keeps)>], traits)> {
  let arguments = ins_;
  let results = outs_;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = AutocastDefinition<autocast>.definition;
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::graphc::graph::typesAgree(l, r);
    }
  }];
}
// The type of the first operand.
class Graph_Composite<string mnemonic, list<Trait> traits, dag ins_, string autocast = "Full"> : Graph_CompositeOf<mnemonic, traits, ins_, autocast> {
  let extraClassDefinition = AutocastDefinition<autocast>.definition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(operands[0].getType());
      return ::llvm::success();
    }
  }];
}
def SoftmaxOp    : Graph_Composite<"softmax", [HasVjp], (ins GraphTensor:$x, I64Attr:$axis)>;
def LogSoftmaxOp : Graph_Composite<"log_softmax", [HasVjp], (ins GraphTensor:$x, I64Attr:$axis)>;
// Normalises over the dims from `axis` on; scale and bias broadcast to them.
def LayerNormOp : Graph_Composite<"layer_norm", [HasVjp], (ins GraphTensor:$x, GraphTensor:$scale, Optional<GraphTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon)>;
def RMSNormOp   : Graph_Composite<"rms_norm", [HasVjp], (ins GraphTensor:$x, GraphTensor:$scale, I64Attr:$axis, F64Attr:$epsilon)>;
// Channels are dim 1, or the last with channels_last.
def BatchNormOp : Graph_Composite<"batch_norm", [HasVjp], (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias,
    GraphTensor:$mean, GraphTensor:$variance, F64Attr:$epsilon, UnitAttr:$channels_last)>;
def InstanceNormOp : Graph_Composite<"instance_norm", [HasVjp], (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias, F64Attr:$epsilon)>;
// scale and bias are per channel.
def GroupNormOp : Graph_Composite<"group_norm", [HasVjp], (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias, I64Attr:$groups, F64Attr:$epsilon)>;
def LrnOp : Graph_Composite<"lrn", [], (ins GraphTensor:$x, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$bias)>;
// softmax(query key^T * scale + mask) value on [.., S, D], [.., T, D], [.., T, E], mask broadcasting to [.., S, T]; a
// boolean mask keeps what is true. With nan_to_zero a NaN probability counts as 0: a row that keeps nothing gives 0.
def AttentionOp : Graph_CompositeOf<"attention", [HasVjp], (ins GraphTensor:$query, GraphTensor:$key, GraphTensor:$value, Optional<GraphTensor>:$mask, F64Attr:$scale,
    UnitAttr:$nan_to_zero), "Low", (outs GraphTensor:$result), ["keepsOperand"]> {
  let extraClassDefinition = AutocastDefinition<"Low">.definition #
    "bool $cppClass::keepsOperand(unsigned operand) { return operand == 3; }"; // the mask
}

// Normalises by the statistics of the batch, and moves the running ones towards them: running + momentum (batch - running),
// by the unbiased variance. momentum is a rank-0 tensor, since a cumulative average changes it every step. The last two
// results are what the gradient needs.
def BatchNormTrainingOp : Graph_CompositeOf<"batch_norm_training", [HasVjp],
    (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias, GraphTensor:$running_mean, GraphTensor:$running_variance,
     GraphTensor:$momentum, F64Attr:$epsilon, UnitAttr:$channels_last), "Full",
    (outs GraphTensor:$result, GraphTensor:$new_running_mean, GraphTensor:$new_running_variance, GraphTensor:$mean,
     GraphTensor:$inverse_deviation)>;

// Reductions whose gradient is finite where that of their formula is not.
def LogSumExpOp : Graph_CompositeOf<"logsumexp", [HasVjp], (ins GraphTensor:$x, DenseI64ArrayAttr:$axes, UnitAttr:$keep), "Full">;
// (sum |x|^p)^(1/p); p may be 0 (count of what is not zero), infinity or -infinity.
def NormOp : Graph_CompositeOf<"norm", [HasVjp], (ins GraphTensor:$x, F64Attr:$p, DenseI64ArrayAttr:$axes, UnitAttr:$keep), "Full">;
// sqrt(sum (x - mean)^2 / (n - correction))
def StdOp : Graph_CompositeOf<"std", [HasVjp], (ins GraphTensor:$x, DenseI64ArrayAttr:$axes, F64Attr:$correction, UnitAttr:$keep), "Full">;

// Losses over classes in dim 1 of [N, C, ...] with labels [N, ...]. A label `ignore` counts nothing; any other outside [0, C) is
// reported. weight is one factor per class. reduction none | sum | mean; the mean is over the weights of the labels that
// count. smoothing moves that share of the target to all classes equally.
def CrossEntropyOp : Graph_CompositeOf<"cross_entropy", [HasVjp],
    (ins GraphTensor:$logits, GraphTensor:$labels, Optional<GraphTensor>:$weight,
     DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore,
     DefaultValuedAttr<F64Attr, "0.0">:$smoothing), "Full"> { let hasVerifier = 1; }
// The same on log-probabilities.
def NllLossOp : Graph_CompositeOf<"nll_loss", [HasVjp],
    (ins GraphTensor:$log_probabilities, GraphTensor:$labels, Optional<GraphTensor>:$weight,
     DefaultValuedAttr<StrAttr, "\"mean\"">:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore), "Full"> { let hasVerifier = 1; }

// x / (1 - p) where a uniform number drawn from key and offset (see random) is at least p, else 0. Its gradient is itself
// on the same key and offset: no mask is kept.
def DropoutOp : Graph_Composite<"dropout", [HasVjp], (ins GraphTensor:$x, GraphTensor:$key, GraphTensor:$offset, F64Attr:$p), "Natural">;
// Rows of weight. No gradient reaches row `padding`; a negative one is none.
def EmbeddingOp : Graph_CompositeOf<"embedding", [HasVjp],
    (ins GraphTensor:$weight, GraphTensor:$indices, DefaultValuedAttr<I64Attr, "-1">:$padding), "Natural">;
#endif
