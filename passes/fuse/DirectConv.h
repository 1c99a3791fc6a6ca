// Convolutions that a generated kernel runs faster than the library: which they are, and how they are brought into its form.
#pragma once
#include "ir/graph/Graph.h"
#include "ir/target/TargetInfo.h"

namespace graphc {

/// Marks a transpose that undoes a packing: it is read inside the kernel that uses the weight, never stored.
inline constexpr llvm::StringLiteral kUnpackAttr = "unpack";
/// Marks a channel shuffle that the convolution behind it reads through: its index costs a few scalar operations per channel.
inline constexpr llvm::StringLiteral kReadThroughAttr = "read_through";

/// Marks padding that is stored, because the kernel behind it reads every element several times.
inline constexpr llvm::StringLiteral kStoredAttr = "stored";

/// Whether a generated kernel can run this convolution in registers.
bool runsDirect(graph::ConvOp op);

/// Why a generated kernel should run this convolution, or nothing when the library should.
std::optional<llvm::StringRef> directConvReason(graph::ConvOp op, const TargetInfo &target);

/// Padding becomes an op of its own, the weight [window…, C/groups, M] (packed once, as it depends on weights alone).
void prepareDirectConv(graph::ConvOp op);

} // namespace graphc
