#!/usr/bin/env python3
"""Training steps, eager and compiled, against PyTorch's on the CPU, both in turn, the minimum of many steps. Needs the package torch.

    compare_pytorch.py BUILD/bin/bench_training [--threads N] [--seconds S] [--rounds R] [--peer eager,model,step] [mlp cnn transformer]

Prints for each model torch's milliseconds, and for each mode of graphc its own, the ratio to torch's best and to torch's eager steps (below 1:
graphc is faster), the first step, and the most bytes that tensors had at one time during a step. PyTorch's are what its profiler sees its
allocator hand out, on top of what a step begins with.
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


def torch_steps(step, seconds):
    times, begin = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1000)
    return min(times[1:])


def torch_modes(torch, net, optimizer, x, y, wanted):
    """Steps as PyTorch users run them: eagerly, with the model compiled, and with everything compiled."""
    loss = torch.nn.functional.cross_entropy

    def step(model):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    if "eager" in wanted:
        yield "eager", lambda: step(net)
    if "model" in wanted:
        compiled = torch.compile(net)
        yield "model", lambda: step(compiled)
    if "step" in wanted:
        whole = torch.compile(lambda: step(net))
        yield "step", whole


def torch_peak(net, optimizer, x, y, step):
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
        step()
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
    parser.add_argument("--peer", default="eager,model,step", help="what torch runs: eager, model (torch.compile of the model), step (of the whole step)")
    arguments = parser.parse_args()
    import torch
    torch.set_num_threads(arguments.threads)
    for name, net, optimizer, x, y in models(torch):
        if arguments.models and name not in arguments.models:
            continue
        update = optimizer(net.parameters())
        peers = list(torch_modes(torch, net, update, x, y, arguments.peer.split(",")))
        theirs, ours, peak, first = {}, {}, {}, {}
        for _ in range(arguments.rounds):
            for mode, step in peers:
                theirs[mode] = min(theirs.get(mode, float("inf")), torch_steps(step, arguments.seconds))
            command = [arguments.program, str(arguments.seconds), str(1 if arguments.threads == 1 else 0), name]
            for line in subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout.splitlines():
                result = json.loads(line)
                mode = result["mode"]
                ours[mode] = min(ours.get(mode, float("inf")), result["min_ms"])
                peak[mode] = max(peak.get(mode, 0), result["peak_bytes"])
                first.setdefault(mode, result["first_ms"])
        best = min(theirs.values())
        other = torch_peak(net, update, x, y, next(torch_modes(torch, net, update, x, y, ["eager"]))[1])
        print(f"{name:12} torch " + ", ".join(f"{mode} {ms:.3f}" for mode, ms in theirs.items()) + f" ms, peak {other / 2**20:.1f} MiB eager", flush=True)
        for mode, ms in ours.items():
            print(f"{'':12} graphc {mode:8} {ms:9.3f} ms   of torch's best {ms / best:5.2f}, of its eager {ms / theirs.get('eager', best):5.2f}   "
                  f"first step {first[mode]:7.0f} ms   peak {peak[mode] / 2**20:7.1f} MiB, ratio {peak[mode] / other:5.2f}", flush=True)


if __name__ == "__main__":
    main()
