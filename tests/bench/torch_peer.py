#!/usr/bin/python3
"""usage: torch_peer.py WORKLOAD THREADS

PyTorch's training step of a workload, served sample by sample, so that bench.py can let the programs take turns. Prints the names
of the forms that it knows on one line; then, for each line "FORM STEPS" that it reads, milliseconds per step: CPU time with one
thread, wall-clock time with more. Weights and the optimizer's memory go back to their start before each sample.
"""
import sys
import time

import torch

import workloads

BATCHES = 4
FROM_START = 400  # as in drive.c


def optimizer(workload, parameters, **options):
    make = {'sgd': torch.optim.SGD, 'momentum': torch.optim.SGD, 'adam': torch.optim.Adam, 'adamw': torch.optim.AdamW}[workload.optimizer]
    if workload.optimizer == 'momentum':
        options['momentum'] = 0.9
    return make(parameters, lr=workload.rate, **options)


class Whole(torch.nn.Module):
    """Network and loss."""

    def __init__(self, workload, channels_last):
        super().__init__()
        self.workload, self.network = workload, workload.module().train()
        if channels_last:
            self.network.to(memory_format=torch.channels_last)

    def forward(self, *tensors):
        return self.workload.loss(self.network(*tensors[:-1]), tensors[-1])


class Form:
    def __init__(self, workload, traced, update, channels_last=False):
        self.workload, self.update = workload, update
        self.batches = [[*workload.random_inputs(), workload.random_target()] for _ in range(BATCHES)]
        if channels_last:
            self.batches = [[t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in batch] for batch in self.batches]
        whole = Whole(workload, channels_last)
        self.parameters = list(whole.parameters())
        self.start = [p.detach().clone() for p in self.parameters]
        self.loss = torch.jit.trace(whole, tuple(self.batches[0]), check_trace=False) if traced else whole
        self.optimizer = None if update == 'by hand' else optimizer(workload, self.parameters, **({'foreach': True} if update == 'foreach' else {}))

    def step(self, batch):
        if self.update == 'by hand':  # the cheapest update that PyTorch offers for SGD: no optimizer object
            grads = torch.autograd.grad(self.loss(*batch), self.parameters)
            with torch.no_grad():
                torch._foreach_add_(self.parameters, grads, alpha=-self.workload.rate)
        else:
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(*batch).backward()
            self.optimizer.step()

    def restart(self):
        with torch.no_grad():
            for p, start in zip(self.parameters, self.start):
                p.copy_(start)
            for state in self.optimizer.state.values() if self.optimizer else ():
                for value in state.values():
                    if torch.is_tensor(value):
                        value.zero_()

    def sample(self, steps, clock):
        self.restart()
        self.step(self.batches[-1])  # as drive.c does: what went back comes into the caches
        start = clock()
        for i in range(steps):
            if i % FROM_START == FROM_START - 1:
                self.restart()
            self.step(self.batches[i % BATCHES])
        return (clock() - start) / steps * 1e3


def main():
    workload, threads = workloads.find(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    rows = [('eager', False, 'plain'), ('traced', True, 'plain'), ('eager foreach', False, 'foreach'), ('traced foreach', True, 'foreach')]
    if threads > 1:  # one thread tells which forms are good
        rows = rows[:2]
    elif workload.optimizer == 'sgd':
        rows += [('eager by hand', False, 'by hand'), ('traced by hand', True, 'by hand')]
    if workload.is_convolutional() and threads == 1:
        rows += [('eager foreach channels-last', False, 'foreach', True), ('traced foreach channels-last', True, 'foreach', True)]
    forms = {row[0].replace(' ', '-'): Form(workload, *row[1:]) for row in rows}
    for form in forms.values():
        form.sample(4, clock)  # the tracing compiler makes up its mind in the first calls
    print(*forms, flush=True)
    for line in sys.stdin:
        name, steps = line.split()
        print(forms[name].sample(int(steps), clock), flush=True)


main()
