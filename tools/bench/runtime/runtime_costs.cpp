// What the runtime itself costs: nanoseconds per command, microseconds per call, planning of new sizes, the pool's barrier.
//
//   runtime-costs
//
// Plans are built by hand with kernels that do next to nothing. Every number is the minimum of many rounds.
#include "runtime/exec/Executable.h"
#include "runtime/memory/ArenaPlanner.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace graphc;
namespace gp = graphc::plan;

namespace {

double nowNs() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

template <typename Body>
double bestNs(int rounds, int repeats, Body body) {
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    double start = nowNs();
    for (int i = 0; i < repeats; ++i)
      body();
    best = std::min(best, (nowNs() - start) / repeats);
  }
  return best;
}

void check(const Status &status) {
  if (!status.ok()) {
    std::fprintf(stderr, "runtime-costs: %s\n", status.str().c_str());
    std::exit(1);
  }
}

void nothing(void *const *, const int64_t *, GraphcKernelContext *, int64_t, int64_t) {}

/// A chain of `commands` kernels over [n] floats; n symbolic or 16.
std::shared_ptr<const Executable> chain(int commands, bool symbolic) {
  auto plan = std::make_unique<gp::PlanT>();
  plan->model = "chain";
  plan->exprs.push_back(symbolic ? gp::Expr(gp::ExprOp::Symbol, 0, 0, 0) : gp::Expr(gp::ExprOp::Const, 0, 0, 16));
  if (symbolic) {
    auto symbol = std::make_unique<gp::SymbolT>();
    symbol->name = "n";
    symbol->input = symbol->dim = 0;
    plan->symbols.push_back(std::move(symbol));
  }
  auto buffer = [&](gp::BufferKind kind, int index) {
    auto entry = std::make_unique<gp::BufferT>();
    entry->kind = kind;
    entry->index = index;
    entry->dims = {0};
    plan->buffers.push_back(std::move(entry));
    return static_cast<int>(plan->buffers.size()) - 1;
  };
  auto param = [&](std::vector<std::unique_ptr<gp::ParamT>> &list, int index) {
    auto entry = std::make_unique<gp::ParamT>();
    entry->buffer = index;
    list.push_back(std::move(entry));
  };
  int from = buffer(gp::BufferKind::Input, 0);
  param(plan->inputs, from);
  int output = buffer(gp::BufferKind::Output, 0);
  param(plan->outputs, output);
  plan->kernels.push_back(std::make_unique<gp::KernelT>());
  for (int i = 0; i < commands; ++i) {
    int to = i + 1 == commands ? output : buffer(gp::BufferKind::Temp, -1);
    gp::DispatchT dispatch;
    dispatch.buffers = {from, to};
    dispatch.scalars = {0};
    dispatch.range = 0;
    auto command = std::make_unique<gp::CommandT>();
    command->reads = {from};
    command->writes = {to};
    command->action.Set(std::move(dispatch));
    plan->main.push_back(std::move(command));
    from = to;
  }
  LoadOptions options;
  options.kernels = {nothing};
  auto executable = Executable::load(std::move(plan), std::move(options));
  check(executable.status());
  return *executable;
}

double callNs(const Executable &executable, int repeats) {
  HostTensor x = *HostTensor::allocate(DType::F32, {16});
  std::vector<HostTensor> outputs(1);
  check(executable.run({&x, 1}, outputs));
  return bestNs(200, repeats, [&] { check(executable.run({&x, 1}, outputs)); });
}

} // namespace

int main() {
  double one = callNs(*chain(1, false), 1000), many = callNs(*chain(1001, false), 20);
  std::printf("a call of one command                  %8.0f ns\n", one);
  std::printf("a further command                      %8.1f ns\n", (many - one) / 1000);

  // Alternating sizes: every call binds, evaluates, places and resolves anew.
  for (int commands : {10, 100, 300}) {
    auto executable = chain(commands, true);
    auto context = *executable->newContext();
    HostTensor a = *HostTensor::allocate(DType::F32, {1000}), b = *HostTensor::allocate(DType::F32, {1200});
    std::vector<HostTensor> outA(1), outB(1);
    check(executable->run(*context, {&a, 1}, outA));
    check(executable->run(*context, {&b, 1}, outB));
    double fresh = bestNs(200, 4, [&] {
      check(executable->run(*context, {&a, 1}, outA));
      check(executable->run(*context, {&b, 1}, outB));
    }) / 2;
    double same = bestNs(200, 20, [&] { check(executable->run(*context, {&b, 1}, outB)); });
    std::printf("new sizes, %3d commands                %8.1f us (the same sizes again: %.1f us)\n", commands, fresh / 1e3, same / 1e3);
  }

  std::mt19937 random(1);
  std::vector<ArenaItem> items(300);
  for (ArenaItem &item : items) {
    item.first = static_cast<int>(random() % 300);
    item.last = item.first + static_cast<int>(random() % 6);
    item.bytes = static_cast<int64_t>(random() % 100000);
  }
  ArenaPlanner planner(items);
  ArenaPlanner::Workspace workspace;
  std::vector<int64_t> bytes, offsets(items.size());
  for (const ArenaItem &item : items)
    bytes.push_back(item.bytes);
  std::printf("placing 300 temporaries                %8.1f us\n", bestNs(100, 10, [&] { planner.place(bytes, offsets, workspace); }) / 1e3);

  // Two chunks of 10 µs each: what is above 10 µs is the price of sharing out. More than 20 µs means that the system had both threads
  // on one core throughout.
  SpinPool pool({.threads = 2});
  if (!pool.tryEnter())
    return 1;
  double shared = bestNs(2000, 20, [&] {
    pool.run(
        2,
        [](void *, int, int) {
          for (double start = nowNs(); nowNs() - start < 10'000;) {
          }
        },
        nullptr);
  });
  pool.leave();
  std::printf("two chunks of 10 us on two threads     %8.1f us\n", shared / 1e3);
}
