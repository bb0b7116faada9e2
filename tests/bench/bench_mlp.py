#!/usr/bin/python3
"""Training step of the MLP 64-32-10 (batch 32, SGD): bench_mlp --serve against PyTorch, one thread, taking turns.

usage: bench_mlp.py BENCH_MLP...        each a bench_mlp binary, such as one per compiler
Prints the lower quartile of 25 samples (CPU time) and the ratio to the better of eager and traced PyTorch.
"""
import subprocess, sys, time
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
BATCHES, STEPS, SAMPLES = 20, 200, 25
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
xs = [torch.rand(32, 64) for _ in range(BATCHES)]
ts = [torch.randint(10, (32,)) for _ in range(BATCHES)]
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, x, t):
        return torch.nn.functional.cross_entropy(self.model(x), t)


eager = Whole()
traced = torch.jit.trace(eager, (xs[0], ts[0]))


def with_optimizer(loss):
    def step(x, t):
        optimizer.zero_grad(set_to_none=True)
        loss(x, t).backward()
        optimizer.step()
    return step


def by_hand(loss):
    """The cheapest update PyTorch offers: no optimizer object."""
    def step(x, t):
        grads = torch.autograd.grad(loss(x, t), parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, grads, alpha=-0.1)
    return step


def torch_sample(step):
    start = time.process_time()
    for i in range(STEPS):
        step(xs[i % BATCHES], ts[i % BATCHES])
    return (time.process_time() - start) / STEPS * 1e6


contenders = {'eager': with_optimizer(eager), 'traced': with_optimizer(traced),
              'eager, update by hand': by_hand(eager), 'traced, update by hand': by_hand(traced)}
servers = {path: subprocess.Popen([path, '--serve'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
           for path in sys.argv[1:]}
samples = {name: [] for name in list(contenders) + list(servers)}
for step in contenders.values():
    torch_sample(step)
for _ in range(SAMPLES):
    for name, step in contenders.items():
        samples[name].append(torch_sample(step))
    for path, server in servers.items():
        server.stdin.write('\n')
        server.stdin.flush()
        samples[path].append(float(server.stdout.readline()))
quartile = {name: sorted(s)[SAMPLES // 4] for name, s in samples.items()}
best = min(quartile[name] for name in contenders)
for name, microseconds in quartile.items():
    print(f'{microseconds:9.2f} us  {best / microseconds:6.2f} x  {name}')
