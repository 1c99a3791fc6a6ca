#!/usr/bin/env python3
"""Eager training steps against PyTorch's on the CPU, both in turn, the minimum of many steps. Needs the package torch.

    compare_pytorch.py BUILD/bin/bench_training [--threads N] [--seconds S] [--rounds R] [mlp cnn transformer]

Prints one line per model: milliseconds of both and their ratio (below 1: graphc is faster), and the most bytes that tensors had at
one time during a step, of both. PyTorch's are what its profiler sees its allocator hand out, on top of what a step begins with.
"""
import argparse
import json
import os
import subprocess
import time


def models(torch):
    nn = torch.nn

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(128, 256), nn.Embedding(128, 256)
            layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, 4, nn.LayerNorm(256), enable_nested_tensor=False)
            self.head = nn.Linear(256, 128)
            self.mask = nn.Transformer.generate_square_subsequent_mask(128)

        def forward(self, ids):
            x = self.token(ids) + self.place(torch.arange(128))
            return self.head(self.blocks(x, mask=self.mask, is_causal=True)).flatten(0, 1)

    yield ("mlp", nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)), torch.optim.Adam,
           torch.randn(32, 784), torch.randint(0, 10, (32,)))
    yield ("cnn", nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                nn.Flatten(), nn.Linear(3136, 256), nn.ReLU(), nn.Dropout(), nn.Linear(256, 10)), torch.optim.Adam,
           torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,)))
    yield "transformer", Transformer(), torch.optim.AdamW, torch.randint(0, 128, (16, 128)), torch.randint(0, 128, (2048,))


def torch_steps(net, optimizer, x, y, seconds):
    import torch
    times, begin = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def torch_peak(net, optimizer, x, y):
    """Most bytes of tensors at one time during one step."""
    import torch

    def live():
        tensors = [x, y, *net.buffers()]
        for parameter in net.parameters():
            tensors += [parameter, parameter.grad]
        for state in optimizer.state.values():
            tensors += [value for value in state.values() if isinstance(value, torch.Tensor)]
        return sum(t.untyped_storage().nbytes() for t in tensors if t is not None)

    total = live()
    peak = total
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        torch_steps(net, optimizer, x, y, 0)
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        total += event.nbytes()
        peak = max(peak, total)
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    import torch
    torch.set_num_threads(arguments.threads)
    for name, net, optimizer, x, y in models(torch):
        if arguments.models and name not in arguments.models:
            continue
        steps = optimizer(net.parameters())
        ours, theirs, peak = float("inf"), float("inf"), 0
        for _ in range(arguments.rounds):
            theirs = min(theirs, torch_steps(net, steps, x, y, arguments.seconds))
            out = subprocess.run([arguments.program, str(arguments.seconds), name], check=True, capture_output=True, text=True, env=os.environ).stdout
            result = json.loads(out)
            ours, peak = min(ours, result["min_ms"]), max(peak, result["peak_bytes"])
        other = torch_peak(net, steps, x, y)
        print(f"{name:12} graphc {ours:9.3f} ms   torch {theirs:9.3f} ms   ratio {ours / theirs:5.2f}   "
              f"peak {peak / 2**20:7.1f} MiB   torch {other / 2**20:7.1f} MiB   ratio {peak / other:5.2f}", flush=True)


if __name__ == "__main__":
    main()
