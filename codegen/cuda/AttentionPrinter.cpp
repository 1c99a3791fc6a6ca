// Attention in one pass over the keys. A block keeps its queries in shared memory and its results in registers; keys and values come
// in steps of 32, scores never leave the multiprocessor. Whenever a larger score turns up, what was summed so far is made smaller.
#include "codegen/cuda/Attention.h"
#include "codegen/cuda/KernelPrinter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

static std::string text(int64_t number) { return std::to_string(number); }

/// Brings lines of a factor into shared memory, zeros behind the last line and the last element.
void KernelPrinter::printLinesTo(StringRef tile, kernel::ParallelOp op, Value factor, Value lineIv, Value elementIv, int64_t lines, int64_t width,
                                 int64_t size, StringRef first, StringRef count) {
  SmallVector<kernel::LoadOp> packs;
  int64_t lanes = size % 4 == 0 ? 4 : 1;
  for (Operation *inner : sliceOf(op, factor))
    if (auto load = dyn_cast<kernel::LoadOp>(inner); load && lanes > 1 && load.getType().getIntOrFloatBitWidth() <= 32 &&
                                                     isPack(cast<kernel::AccessOp>(inner), elementIv, lanes))
      packs.push_back(load);
  if (packs.empty())
    lanes = 1;
  auto saved = names_;
  auto savedPacks = packs_;
  std::string each = text(lanes), across = text(width / lanes);
  line("#pragma unroll 4");
  open("for (int slot = threadIdx.x; slot < " + text(lines * width / lanes) + "; slot += " + text(AttentionShape::threads) + ")");
  line("const int at_line = slot / " + across + ", element = slot % " + across + " * " + each + ";");
  line("const " + index_ + " line = " + first.str() + " + at_line;");
  line("Pack<float, " + each + "> factor = {};");
  open("if (line < " + count.str() + (width > size ? " && element < " + text(size) : "") + ")");
  set(lineIv, {"line"});
  set(elementIv, {"element"});
  nonNegative_.insert(lineIv);
  nonNegative_.insert(elementIv);
  for (kernel::LoadOp load : packs) {
    std::string buffer = names_[load.getBuffer()].text, name = fresh(buffer + "_pack");
    line("const auto " + name + " = load_pack<" + each + ">(" + buffer + " + " + offset(linearise(cast<kernel::AccessOp>(load.getOperation()))) +
         ", " + alignedName_ + ");");
    packs_[load] = name + ".at[lane]";
  }
  line("#pragma unroll");
  open("for (int lane = 0; lane < " + each + "; ++lane)");
  set(elementIv, {"element + lane", false});
  for (Operation *inner : sliceOf(op, factor))
    if (!isa<kernel::LoopOp>(inner))
      printOp(inner);
  line("factor.at[lane] = " + raw(factor) + ";");
  close();
  close();
  line("store_pack(&" + tile.str() + "[at_line][element], factor);");
  close();
  names_ = saved;
  packs_ = savedPacks;
}

/// Shares `value`, one number of each member, among the eight members of a group.
void KernelPrinter::printAmongMembers(const std::string &value, const std::function<std::string(const std::string &)> &join) {
  line("#pragma unroll");
  open("for (int step = " + text(AttentionShape::members / 2) + "; step > 0; step /= 2)");
  line("const float theirs = __shfl_xor_sync(0xffffffffu, " + value + ", step);");
  line(value + " = " + join("theirs") + ";");
  close();
}

void KernelPrinter::printAttention(kernel::ParallelOp op, const Attention &match) {
  AttentionShape shape(match);
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  kernel::ReduceOp keys = match.keys, scores = match.scores;
  auto overKeys = cast<kernel::LoopOp>(keys.getOperation());
  Value queryIv = loop.getIvs()[rank - 2], columnIv = loop.getIvs()[rank - 1], keyIv = overKeys.getIvs()[0];
  Value depthIv = cast<kernel::LoopOp>(scores.getOperation()).getIvs()[0];
  launch_.threads = AttentionShape::threads;
  launch_.itemsPerBlock = 1;
  std::string own = text(shape.threadQueries()), ownKeys = text(AttentionShape::keys / AttentionShape::members), members = text(AttentionShape::members);
  int64_t width = std::max(shape.depth, shape.columns);

  line("// " + text(shape.queries) + " queries a block, " + text(AttentionShape::keys) + " keys a step; " + members + " threads share " + own + " queries");
  line("const " + index_ + " query_count = " + sizeText(loop, rank - 2) + ", key_count = " + sizeText(overKeys, 0) + ";");
  line("const " + index_ + " tiles_down = (query_count + " + text(shape.queries - 1) + ") / " + text(shape.queries) + ";");
  line("const " + index_ + " first_query = blockIdx.x % tiles_down * " + text(shape.queries) + ";");
  if (rank > 2) {
    line("const " + index_ + " head = blockIdx.x / tiles_down;");
    decode(loop, 0, rank - 2, "head");
  }
  line("const int member = threadIdx.x % " + members + ", own = threadIdx.x / " + members + " * " + own + ";");
  line("__shared__ alignas(16) float query_tile[" + text(shape.queries) + "][" + text(shape.depth + 4) + "];");
  line("__shared__ alignas(16) float key_tile[" + text(AttentionShape::keys) + "][" + text(width + 4) + "]; // then values");
  line("__shared__ alignas(16) float weight_tile[" + text(shape.queries) + "][" + text(AttentionShape::keys + 4) + "];");
  std::string aligned;
  for (Value buffer : kernel_.getBuffers()) {
    int64_t bytes = std::max<int64_t>(1, cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
    aligned += (aligned.empty() ? "" : " && ") + std::string("is_aligned<") + text(std::min<int64_t>(16, 4 * bytes)) + ">(" + names_[buffer].text + ")";
  }
  alignedName_ = "aligned";
  line("const bool aligned = " + aligned + ";");
  line("float largest[" + own + "], total[" + own + "] = {}, sum[" + own + "][" + text(shape.threadColumns()) + "] = {};");
  line("#pragma unroll");
  line("for (int i = 0; i < " + own + "; ++i) largest[i] = -INFINITY;");
  printLinesTo("query_tile", op, match.query, queryIv, depthIv, shape.queries, shape.depth, match.depth, "first_query", "query_count");
  open("for (" + index_ + " first_key = 0; first_key < key_count; first_key += " + text(AttentionShape::keys) + ")");
  printLinesTo("key_tile", op, match.key, keyIv, depthIv, AttentionShape::keys, shape.depth, match.depth, "first_key", "key_count");
  line("__syncthreads();");
  line("float score[" + own + "][" + ownKeys + "] = {};");
  line("#pragma unroll 4");
  open("for (int k = 0; k < " + text(shape.depth) + "; k += 4)");
  line("Pack<float, 4> q[" + own + "], c[" + ownKeys + "];");
  line("#pragma unroll");
  line("for (int i = 0; i < " + own + "; ++i) q[i] = load_pack<4>(&query_tile[own + i][k]);");
  line("#pragma unroll");
  line("for (int j = 0; j < " + ownKeys + "; ++j) c[j] = load_pack<4>(&key_tile[member + j * " + members + "][k]);");
  line("#pragma unroll");
  line("for (int lane = 0; lane < 4; ++lane)");
  line("#pragma unroll");
  line("  for (int i = 0; i < " + own + "; ++i)");
  line("#pragma unroll");
  line("    for (int j = 0; j < " + ownKeys + "; ++j) score[i][j] = fmaf(q[i].at[lane], c[j].at[lane], score[i][j]);");
  close();

  // Scale and mask, then the softmax so far.
  auto saved = names_;
  line("#pragma unroll");
  open("for (int i = 0; i < " + own + "; ++i)");
  line("const " + index_ + " query = min(" + index_ + "(first_query + own + i), " + index_ + "(query_count - 1));");
  set(queryIv, {"query"});
  line("float step_largest = -INFINITY;");
  line("#pragma unroll");
  open("for (int j = 0; j < " + ownKeys + "; ++j)");
  line("const " + index_ + " key = first_key + member + j * " + members + ";");
  line("float met = -INFINITY;");
  open("if (key < key_count)");
  set(keyIv, {"key"});
  set(scores.getResult(0), {"score[i][j]"});
  for (Operation *inner : sliceOf(op, match.score))
    if (!isa<kernel::LoopOp>(inner))
      printOp(inner);
  line("met = " + raw(match.score) + ";");
  close();
  line("score[i][j] = met;");
  line("step_largest = maximum(step_largest, met);");
  close();
  printAmongMembers("step_largest", [](const std::string &other) { return "maximum(step_largest, " + other + ")"; });
  line("const float next = maximum(largest[i], step_largest), base = next == -INFINITY ? 0.0f : next;");
  line("const float shrink = fast_exp(largest[i] - base);");
  line("largest[i] = next;");
  line("float weight = 0.0f;");
  line("#pragma unroll");
  open("for (int j = 0; j < " + ownKeys + "; ++j)");
  line("const float mine = fast_exp(score[i][j] - base);");
  line("weight_tile[own + i][member + j * " + members + "] = mine;");
  line("weight += mine;");
  close();
  printAmongMembers("weight", [](const std::string &other) { return "weight + " + other; });
  line("total[i] = total[i] * shrink + weight;");
  line("#pragma unroll");
  line("for (int j = 0; j < " + text(shape.threadColumns()) + "; ++j) sum[i][j] = sum[i][j] * shrink;");
  close();
  names_ = saved;

  line("__syncthreads();");
  printLinesTo("key_tile", op, match.value, keyIv, columnIv, AttentionShape::keys, shape.columns, match.columns, "first_key", "key_count");
  line("__syncthreads();");
  int64_t packs = shape.threadColumns() / 4;
  line("#pragma unroll 2");
  open("for (int k = 0; k < " + text(AttentionShape::keys) + "; k += 4)");
  line("Pack<float, 4> w[" + own + "];");
  line("#pragma unroll");
  line("for (int i = 0; i < " + own + "; ++i) w[i] = load_pack<4>(&weight_tile[own + i][k]);");
  line("#pragma unroll");
  open("for (int lane = 0; lane < 4; ++lane)");
  line("Pack<float, 4> v[" + text(packs) + "];");
  line("#pragma unroll");
  line("for (int j = 0; j < " + text(packs) + "; ++j) v[j] = load_pack<4>(&key_tile[k + lane][member * 4 + j * 32]);");
  line("#pragma unroll");
  line("for (int i = 0; i < " + own + "; ++i)");
  line("#pragma unroll");
  line("  for (int j = 0; j < " + text(shape.threadColumns()) + "; ++j) sum[i][j] = fmaf(w[i].at[lane], v[j / 4].at[j % 4], sum[i][j]);");
  close();
  close();
  line("__syncthreads();");
  close();

  // One reciprocal a query; a row without a key gives 0 · infinity, which is NaN as the formula has it.
  line("#pragma unroll");
  open("for (int i = 0; i < " + own + "; ++i)");
  line("const " + index_ + " query = first_query + own + i;");
  line("if (query >= query_count) break;");
  line("const float share = 1.0f / total[i];");
  line("#pragma unroll");
  open("for (int j = 0; j < " + text(shape.threadColumns()) + "; ++j)");
  line("const int column = member * 4 + j / 4 * 32 + j % 4;");
  if (shape.columns > match.columns)
    line("if (column >= " + text(match.columns) + ") continue;");
  line("const float mean = sum[i][j] * share;");
  set(queryIv, {"query"});
  set(columnIv, {"column"});
  set(keys.getResult(0), {"largest[i]"});
  set(keys.getResult(1), {"1.0f"});
  set(keys.getResult(2), {"mean"});
  for (Operation &inner : op.getBody().front().without_terminator())
    if (!isa<kernel::LoopOp>(inner))
      printOp(&inner);
  close();
  close();
}
