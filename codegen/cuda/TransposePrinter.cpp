// Copies whose loads and stores are contiguous along different dims: tiles of 32 x 32 turn in shared memory.
#include "codegen/cuda/KernelPrinter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

static std::string text(int64_t number) { return std::to_string(number); }

void KernelPrinter::printTransposed(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  unsigned rank = loop.getIvs().size();
  Value along = loop.getIvs()[rank - 2], across = loop.getIvs()[rank - 1];
  constexpr int64_t edge = 32;
  assert(kernel_.getScheduleOrDefault().getTile() == edge && "a warp turns a line of the tile");
  launch_.threads = 256;
  launch_.itemsPerBlock = 1;
  line("// loads run along dim " + text(rank - 2) + ", stores along dim " + text(rank - 1) + ": tiles of 32 x 32 turn in shared memory");
  line("const " + index_ + " load_count = " + sizeText(loop, rank - 2) + ", store_count = " + sizeText(loop, rank - 1) + ";");
  line("const " + index_ + " tiles_across = (store_count + 31) / 32, tiles_down = (load_count + 31) / 32;");
  line("const " + index_ + " tile = blockIdx.x;");
  line("const " + index_ + " first_store = tile % tiles_across * 32, first_load = tile / tiles_across % tiles_down * 32;");
  if (rank > 2) {
    line("const " + index_ + " plane = tile / (tiles_across * tiles_down);");
    decode(loop, 0, rank - 2, "plane");
  }
  line("const int lane = threadIdx.x % 32, line = threadIdx.x / 32;");
  nonNegative_.insert(along);
  nonNegative_.insert(across);
  SmallVector<kernel::LoadOp> turned;
  for (auto load : op.getOps<kernel::LoadOp>()) {
    auto step = constantOf(linearise(cast<kernel::AccessOp>(load.getOperation())).coefficient(across));
    if (step == 0 || step == 1)
      continue;
    std::string name = fresh("turned");
    line("__shared__ " + type(load.getType()) + " " + name + "[32][33];");
    packs_[load] = name;
    turned.push_back(load);
  }
  line("#pragma unroll");
  open("for (int step = line; step < 32; step += 8)");
  line("const " + index_ + " load_at = first_load + lane, store_at = first_store + step;");
  set(along, {"load_at"});
  set(across, {"store_at"});
  open("if (load_at < load_count && store_at < store_count)");
  for (kernel::LoadOp load : turned)
    line(packs_[load] + "[step][lane] = " + element(load.getBuffer(), offset(linearise(cast<kernel::AccessOp>(load.getOperation())))) + ";");
  close();
  close();
  line("__syncthreads();");
  line("#pragma unroll");
  open("for (int step = line; step < 32; step += 8)");
  line("const " + index_ + " load_at = first_load + step, store_at = first_store + lane;");
  open("if (load_at < load_count && store_at < store_count)");
  for (kernel::LoadOp load : turned)
    packs_[load] += "[lane][step]";
  printOps(op.getBody().front());
  close();
  close();
}
