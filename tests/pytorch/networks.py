#!/usr/bin/python3
"""usage: networks.py STEPC [--only NAME...] [--time] [--results FILE] [--write PAGE] [--list]

Does stepc train well-known networks as PyTorch does, how fast, and in how much memory? Makes the table of
docs/networks.md.

Each network is built by PyTorch from a fixed seed, exported by examples/pytorch/export.py, and trained for 3 steps of
SGD by the C that `stepc prepare` and `stepc compile` make of it, on the same made-up batches. It must train the
parameters that PyTorch trains, from the same values; the first change of all of them and the losses are compared with
those of PyTorch in float64; PyTorch's own float32 stands beside them and says how much is rounding.

  --only NAME...   these networks (--list prints all), small ones first; default: all
  --time           measures the time of a step and the memory, too
  --results FILE   JSON: earlier results are read from it, new ones added, network by network
  --write PAGE     writes the page with all results

Times are taken best on a processor of its own: taskset -c 0 networks.py ...

Needs Debian's python3-torch and python3-onnx, gcc, and for most networks python3-torchvision; those are skipped where
it is missing.
"""
import argparse
import datetime
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    import onnx
    import torch
except ImportError as missing:
    sys.exit(f'networks.py needs {missing.name}: apt-get install python3-torch python3-onnx python3-torchvision')

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, '../../examples/pytorch')]
from export import export  # noqa: E402
from zoo import CLASSES, NETWORKS, torchvision  # noqa: E402

STEPS = 3
ROUNDS = 5            # of the two programs in turns, when times are taken
TURN_SECONDS = 0.5    # a turn is so many steps as take about this long, at least one
TIMEOUT = 900         # seconds for one command
CC_FLAGS = ['-O2', '-march=native']
# A figure is PyTorch's if it is off by no more than this, or by no more than so many times what PyTorch's own
# float32 is off: BatchNorm over few values magnifies rounding.
TOLERANCE, ROUNDING_FACTOR = 1e-4, 10
# One ReLU at its edge that goes the other way changes every gradient before it, and whether float32 meets one is
# chance. So where a figure is off by more, PyTorch trains in float64 from weights that are disturbed by so much,
# which meets them, too.
DISTURBANCE, DISTURBED_FACTOR = 1e-6, 3
DISTURBED_RUNS, MOST_DISTURBED_RUNS = 4, 20  # more than the first number only where these do not meet one
# The most that the first update may be off by, whatever the explanation; a wrong or missing gradient is off by about 1.
MOST_UPDATE_OFF = 0.3
# The learning rate of the one step that shows the gradient: so large that rounding of the weights does not hide it.
UPDATE_RATE = 1024.0
# Of a single parameter with less than this part of the whole gradient, the part is what its error is measured by:
# the bias before a BatchNorm has no gradient but rounding.
LEAST_PART = 1e-3

FIGURES = {'off': 'the loss', 'update_off': 'the first update', 'worst_off': 'the first update of a parameter'}

LOSSES = {'softmax-cross-entropy': torch.nn.functional.cross_entropy, 'mse': torch.nn.functional.mse_loss,
          'bce-logits': torch.nn.functional.binary_cross_entropy_with_logits}

# Without arguments: bytes of state and arena. BATCHES STEPS: trains over the batches in NAME.bin for each input; a
# line for each step: loss, milliseconds. BATCHES update RATE: one step with this learning rate; all trained weights
# go to before.bin and after.bin, their names and sizes to the output.
DRIVER = r'''
#define _POSIX_C_SOURCE 200809L
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *take(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 64) != 0)
        exit(3);
    memset(p, 0, bytes + 64);
    return p;
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void read_inputs(const stepc_entry *step, int batches, char **data)
{
    for (unsigned i = 0; i < step->input_count; i++) {
        const size_t bytes = stepc_tensor_bytes(&step->inputs[i]) * (size_t)batches;
        char path[300];
        snprintf(path, sizeof path, "%s.bin", step->inputs[i].name);
        FILE *const f = fopen(path, "rb");
        data[i] = take(bytes);
        if (f == NULL || fread(data[i], 1, bytes, f) != bytes || fgetc(f) != EOF) {
            fprintf(stderr, "input %s is not as expected\n", step->inputs[i].name);
            exit(5);
        }
        fclose(f);
    }
}

static void write_weights(const void *state, const char *path)
{
    FILE *const f = fopen(path, "wb");
    for (unsigned i = 0; i < net_model.variable_count; i++) {
        const stepc_variable_info *const v = &net_model.variables[i];
        const size_t bytes = stepc_tensor_bytes(&v->tensor);
        void *values;
        if (v->role != STEPC_ROLE_WEIGHT)
            continue;
        values = take(bytes);
        stepc_read_variable(v, state, values);
        if (f == NULL || v->tensor.dtype != STEPC_FLOAT || fwrite(values, 1, bytes, f) != bytes)
            exit(6);
        free(values);
    }
    if (f == NULL || fclose(f) != 0)
        exit(6);
}

static void print_weights(void)
{
    for (unsigned i = 0; i < net_model.variable_count; i++) {
        const stepc_tensor_info *const t = &net_model.variables[i].tensor;
        if (net_model.variables[i].role != STEPC_ROLE_WEIGHT)
            continue;
        printf("%s\t", t->name);
        for (unsigned d = 0; d < t->rank; d++)
            printf(" %zu", t->dims[d]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const stepc_entry *const init = stepc_find_entry(&net_model, "init");
    const stepc_entry *const step = stepc_find_entry(&net_model, "step");
    if (argc < 3) {
        printf("%zu %zu\n", net_model.state_bytes, net_model.arena_bytes);
        return 0;
    }
    const int batches = atoi(argv[1]), updates = argc == 4, steps = updates ? 1 : atoi(argv[2]);
    char *data[16];
    const void *in[16];
    void *out[16] = {NULL};
    float loss = 0;
    if (step->input_count > 16 || step->output_count > 16)
        return 4;
    read_inputs(step, batches, data);
    for (unsigned i = 0; i < step->output_count; i++)
        if (strcmp(step->outputs[i].name, "loss") == 0)
            out[i] = &loss;
    void *const state = take(net_model.state_bytes), *const arena = take(net_model.arena_bytes);
    stepc_status status = init->call(state, arena, 1, NULL, NULL);
    if (updates && status == STEPC_OK) {
        const stepc_variable_info *const v = stepc_find_variable(&net_model, "learning_rate");
        const float rate = (float)atof(argv[3]);
        if (v == NULL || v->tensor.dtype != STEPC_FLOAT)
            return 7;
        write_weights(state, "before.bin");
        stepc_write_variable(v, state, &rate);
    }
    for (int s = 0; s < steps && status == STEPC_OK; s++) {
        for (unsigned i = 0; i < step->input_count; i++)
            in[i] = data[i] + stepc_tensor_bytes(&step->inputs[i]) * (size_t)(s % batches);
        const double began = milliseconds();
        status = step->call(state, arena, 1, in, out);
        if (!updates)
            printf("%.9g %.6f\n", (double)loss, milliseconds() - began);
    }
    if (updates && status == STEPC_OK) {
        write_weights(state, "after.bin");
        print_weights();
    }
    if (status != STEPC_OK)
        fprintf(stderr, "%s\n", stepc_status_text(status));
    return status != STEPC_OK;
}
'''


class Failed(Exception):
    pass


# ---- PyTorch --------------------------------------------------------------------------------------------------------------------

def build(network):
    torch.manual_seed(0)
    net = network.make().train()
    for module in net.modules():  # Dropout and torchvision's StochasticDepth
        if type(module).__name__ in ('Dropout', 'Dropout2d', 'Dropout3d', 'StochasticDepth'):
            module.p = 0.0
    return net


def batches_of(network):
    generator = torch.Generator().manual_seed(1)
    return [network.batch(generator) for _ in range(STEPS)]


class Trainer:
    def __init__(self, network, dtype, seed=None):
        self.network, self.dtype = network, dtype
        self.net = build(network).to(dtype)
        if seed is not None:
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for p in self.net.parameters():
                    p *= 1 + DISTURBANCE * torch.randn(p.shape, generator=generator, dtype=dtype)
        self.optimizer = torch.optim.SGD([p for p in self.net.parameters() if p.requires_grad], lr=network.rate)

    def step(self, batch):
        *inputs, target = (t.to(self.dtype) if t.is_floating_point() else t for t in batch)
        self.optimizer.zero_grad()
        y = self.net(*inputs)
        if self.network.class_axis == -1:
            y, target = y.flatten(0, -2), target.flatten()
        loss = LOSSES[self.network.loss](y, target)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def train(self, batches, keep_gradient=False):
        """The loss before each step."""
        torch.set_default_dtype(self.dtype)  # a forward() may make tensors of its own
        try:
            losses = [self.step(batches[0])]
            if keep_gradient:
                self.first_gradient = {name: p.grad.double().numpy().copy() for name, p in trained_by_pytorch(self.net)}
            return np.array(losses + [self.step(batch) for batch in batches[1:]])
        finally:
            torch.set_default_dtype(torch.float32)


def trained_by_pytorch(net):
    """Names and parameters that a step moves: a parameter that the output does not depend on has no gradient."""
    return [(name, p) for name, p in net.named_parameters() if p.requires_grad and p.grad is not None]


def names_in_model(net):
    """From each name that a parameter may have in the model to that in named_parameters(): layers may share one."""
    own = {id(p): name for name, p in net.named_parameters()}
    names = {}
    for prefix, module in net.named_modules(remove_duplicate=False):
        for name, p in module._parameters.items():
            if p is not None:
                names[f'{prefix}.{name}' if prefix else name] = own[id(p)]
    return {getattr(net, 'name_in_model', {}).get(name, name): own for name, own in names.items()}


def memory_now(what):
    with open('/proc/self/status') as f:
        return 1024 * int(re.search(rf'^{what}:\s+(\d+) kB', f.read(), re.M).group(1))


def pytorch_memory(network):
    """For a process of its own: the largest resident size while it builds the network and trains, less that before it."""
    torch.set_num_threads(1)
    warm = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(288, 10))
    warm(torch.randn(2, 3, 8, 8)).sum().backward()  # the libraries' own pages are not the network's
    batches = batches_of(network)
    before = memory_now('VmRSS')
    with open('/proc/self/clear_refs', 'w') as f:
        f.write('5')  # VmHWM counts from here
    Trainer(network, torch.float32).train(batches)
    return memory_now('VmHWM') - before


# ---- stepc ----------------------------------------------------------------------------------------------------------------------

def call(*words):
    words = [str(w) for w in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors='replace', timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Failed(f'{os.path.basename(words[0])} takes more than {TIMEOUT} s') from None
    if done.returncode == 0:
        return done.stdout
    missing = sorted(set(re.findall(r'operator (\S+) is not supported', done.stderr)))
    if missing:
        raise Failed(f'missing: operator {", ".join(missing)}')
    lines = [line for line in done.stderr.splitlines() if 'error' in line] or done.stderr.splitlines() or ['no message']
    tool = ' '.join([os.path.basename(words[0]), *words[1:2]])
    raise Failed(f'{tool}: {lines[0].strip()} (status {done.returncode})')


def write_model(network, batch):
    net = build(network)
    if network.light:
        onnx.save(net.model, 'model.onnx')
        return
    axes = {name: {0: 'batch'} for name in (*network.inputs, 'y') if name not in network.fixed}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            export(net, batch[:-1], 'model.onnx', input_names=list(network.inputs), output_names=['y'], dynamic_axes=axes, opset_version=17)
        except Exception as e:
            raise Failed(f'torch.onnx.export: {str(e).strip().splitlines()[0]}') from None


def build_with_stepc(stepc, network, batches):
    """Leaves the program ./net and its data in this folder."""
    write_model(network, batches[0])
    axis = ['--class-axis', network.class_axis] if network.class_axis != 1 else []
    call(stepc, 'prepare', 'model.onnx', '-o', 'train.onnx', '--loss', network.loss, *axis, '--optimizer', 'sgd', '--learning-rate',
         repr(network.rate), '--quiet')
    size = [] if network.light else ['--dim', f'batch={len(batches[0][0])}']
    call(stepc, 'compile', 'train.onnx', '-o', 'net.c', *size, '--standalone', '--weights', 'incbin')
    with open('driver.c', 'w') as f:
        f.write(DRIVER)
    call('gcc', *CC_FLAGS, '-std=gnu99', 'driver.c', 'net.c', '-lm', '-o', 'net')
    for i, name in enumerate((*network.inputs, 'target')):
        np.concatenate([batch[i].numpy() for batch in batches]).tofile(name + '.bin')


def run_program(steps):
    """Losses and milliseconds."""
    return np.array([[float(v) for v in line.split()] for line in call('./net', STEPS, steps).splitlines()]).T


def run_update():
    """Name, values before and after, of all that one step with UPDATE_RATE trains."""
    lines = call('./net', STEPS, 'update', UPDATE_RATE).splitlines()
    before, after = (np.memmap(path, np.float32, 'r') for path in ('before.bin', 'after.bin'))
    at = 0
    for line in lines:
        name, _, sizes = line.partition('\t')
        sizes = tuple(int(d) for d in sizes.split())
        end = at + math.prod(sizes)
        yield name, before[at:end].reshape(sizes), after[at:end].reshape(sizes)
        at = end


# ---- one network ----------------------------------------------------------------------------------------------------------------

def off_by(losses, exact):
    return float(np.max(np.abs(losses - exact) / np.maximum(np.abs(exact), 1e-30)))


def norm(values):
    return math.sqrt(float(np.vdot(values, values)))


def gradient_off_by(gradient, exact):
    """As a part of the exact gradient: of all parameters together, and of the worst one with its name."""
    whole = math.hypot(*map(norm, exact.values()))
    off = {name: norm(gradient[name] - e) for name, e in exact.items()}
    part = {name: off[name] / max(norm(e), LEAST_PART * whole) for name, e in exact.items()}
    worst = max(part, key=lambda name: math.inf if math.isnan(part[name]) else part[name])
    return math.hypot(*off.values()) / whole, part[worst], worst


def names_text(names):
    names = sorted(names)
    return ', '.join(names[:3]) + (f' and {len(names) - 3} more' if len(names) > 3 else '')


def gradient_of_stepc(net, exact):
    """Of `net`, which has not been trained. Raises Failed where other parameters are trained, or from other values."""
    names, start = names_in_model(net), dict(net.named_parameters())
    found = {}
    for name, before, after in run_update():
        if names.get(name) not in exact or names[name] in found:
            raise Failed(f'no: trains {name}, which PyTorch does not')
        own = names[name]
        if not np.array_equal(before, start[own].detach().numpy()):
            raise Failed(f'no: {name} is not what it was in PyTorch before training')
        found[own] = (before.astype(float) - after) / UPDATE_RATE
    if len(found) < len(exact):
        raise Failed(f'no: does not train {names_text(set(exact) - set(found))}')
    return found


def is_off(result, figure, disturbed=0.0):
    """By more than the fixed tolerance and what float32 or disturbed weights explain; true for what is no number."""
    allowed = max(TOLERANCE, ROUNDING_FACTOR * result['pytorch_' + figure], disturbed)
    return not result[figure] <= (allowed if figure == 'off' else min(allowed, MOST_UPDATE_OFF))


def measure_losses(stepc, network, batches, result):
    exact, own = Trainer(network, torch.float64), Trainer(network, torch.float32)
    exact_losses, own_losses = exact.train(batches, True), own.train(batches, True)
    gradient = exact.first_gradient
    result['pytorch_off'] = off_by(own_losses, exact_losses)
    result['first'], result['last'] = float(exact_losses[0]), float(exact_losses[-1])
    result['pytorch_update_off'], result['pytorch_worst_off'], _ = gradient_off_by(own.first_gradient, gradient)
    del exact, own
    build_with_stepc(stepc, network, batches)
    result['parameters'] = len(gradient)
    ours = gradient_of_stepc(build(network), gradient)
    result['update_off'], result['worst_off'], result['worst'] = gradient_off_by(ours, gradient)
    del ours
    result['off'] = off_by(run_program(STEPS)[0], exact_losses)
    disturb(network, batches, exact_losses, gradient, result)


def disturb(network, batches, exact_losses, gradient, result):
    """Figures that are off by more than rounding explains, beside those of disturbed runs. Raises Failed."""
    doubtful = [figure for figure in FIGURES if is_off(result, figure)]
    result.update({'disturbed_' + figure: 0.0 for figure in doubtful})
    unexplained = doubtful
    for seed in range(MOST_DISTURBED_RUNS if doubtful else 0):
        run = Trainer(network, torch.float64, seed)
        losses = run.train(batches if 'off' in doubtful else batches[:1], True)
        update_off, worst_off, _ = gradient_off_by(run.first_gradient, gradient)
        off = {'off': off_by(losses, exact_losses[:len(losses)]), 'update_off': update_off, 'worst_off': worst_off}
        for figure in doubtful:
            result['disturbed_' + figure] = max(result['disturbed_' + figure], off[figure])
        result['disturbed_runs'] = seed + 1
        unexplained = [f for f in doubtful if is_off(result, f, DISTURBED_FACTOR * result['disturbed_' + f])]
        if seed + 1 >= DISTURBED_RUNS and not unexplained:
            break
    if unexplained:
        raise Failed(f'no: {FIGURES[unexplained[0]]} is not that of PyTorch')


def measure_time(network, batches):
    """Milliseconds of processor time of a step, in turns: the least of each."""
    trainer = Trainer(network, torch.float32)
    best = {'ms': float(np.min(run_program(STEPS)[1])), 'pytorch_ms': float('inf'), 'load': os.getloadavg()[0],
            'pinned': len(os.sched_getaffinity(0)) == 1}
    steps = min(1000, max(1, int(1000 * TURN_SECONDS / best['ms'])))
    trainer.step(batches[0])
    for _ in range(ROUNDS):
        best['ms'] = min(best['ms'], float(np.min(run_program(steps)[1])))
        until = time.process_time() + TURN_SECONDS
        ended = 0.0
        while ended < until:
            began = time.process_time()
            trainer.step(batches[0])
            ended = time.process_time()
            best['pytorch_ms'] = min(best['pytorch_ms'], 1000 * (ended - began))
    return best


def measure_memory(network):
    state, arena = (int(v) for v in call('./net').split())
    theirs = int(call(sys.executable, os.path.abspath(__file__), '--pytorch-memory', network.name))
    return {'state': state, 'arena': arena, 'pytorch_memory': theirs}


def try_network(stepc, network, with_time):
    home = os.getcwd()
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            batches = batches_of(network)
            measure_losses(stepc, network, batches, result)
            if with_time:
                result.update(measure_time(network, batches))
                result.update(measure_memory(network))
        except Failed as e:
            result['failed'] = str(e).replace(folder + '/', '')
        finally:
            os.chdir(home)
    return result


# ---- the page -------------------------------------------------------------------------------------------------------------------

PAGE = """# Well-known networks

Does stepc train them as PyTorch does, how fast, and in how much memory? Of {count} networks {tried} were tried,
{works} of these work. The table is made by [tests/pytorch/networks.py](../tests/pytorch/networks.py), which you can
run:

```
apt-get install python3-torch python3-onnx python3-torchvision
tests/pytorch/networks.py build/release/stepc --only {some} --time
tests/pytorch/networks.py build/release/stepc --time --write docs/networks.md
```

{durations} This table: {date}, {machine}; {versions}.

**How.** Each network is built with random weights and exported with
[examples/pytorch/export.py](../examples/pytorch/export.py), the batch as a symbolic dimension (ONNX's light
networks are written node by node, as they were published, in opset 9). Classifiers have {classes} classes, the
light networks 1000. Dropout and stochastic depth are set to 0, since no two programs drop the same. `stepc prepare`
adds the loss and SGD, `stepc compile` makes the C, with defaults; weights are put beside the text (`--weights
incbin`). Both programs take {steps} steps over the same made-up batches. What is not supported is named in the
column "works".

A network works if three things hold. Its trained parameters are those of `named_parameters()`, no more and no less,
with the same values before training. Its first update is that of PyTorch, and so are its losses, as the next two
columns say. Both are compared with PyTorch in float64; behind each figure, in brackets, is what PyTorch's own
float32 is off.

* **First update off by**: the L2 norm of the difference, over the L2 norm of PyTorch's update; first of all
  parameters together, then of the parameter where it is largest (one with less than {least:g} of the whole norm is
  measured by that part of it: the bias before a BatchNorm has no gradient but rounding). The step is one with a
  learning rate of {rate:g}, so that rounding of the weights does not hide the gradient. A wrong or missing gradient
  would be off by about 1.
* **Loss off by**: the largest relative difference of the {steps} losses. BatchNorm over few values, as in these
  small batches, magnifies rounding from step to step: where a figure in brackets is above 1e-2, the network is
  chaotic, and its losses say little beyond the first step; its first update does.

A figure may be {tolerance:g}, or {factor} times that of PyTorch's own float32. Where it is larger, PyTorch is run
{runs} times more, in float64 from weights that are disturbed by a millionth: one ReLU at its edge that goes the
other way, or another of two nearly equal values that MaxPool takes, changes all gradients before it. The largest
difference is behind "disturbed", and up to {disturbed_factor} times as much is allowed; where it does not suffice,
runs are added until it does, up to {most_runs}. No first update may be off by more than {most:g}.

* **Step**: milliseconds of processor time of a training step on one thread: C compiled by `gcc {flags}`, and
  PyTorch, eager. Both in turns in one run, {rounds} rounds; the least of all. Below 1 in the ratio, stepc is
  faster. {load}
* **Memory**, in MiB: of stepc, state and arena: all weights and all work memory. Of PyTorch, in a process of its
  own, the largest resident size (`VmHWM`) while it builds the network and takes {steps} steps, less the resident
  size before, when the libraries were loaded and had taken a step of a tiny network. For networks of a few MiB
  PyTorch's is mostly what the libraries keep for themselves.

{table}
"""
COLUMNS = ('network', 'batch', 'works', 'first update off by: all, worst parameter', 'loss off by',
           'step, ms: stepc / PyTorch', 'memory, MiB: stepc / PyTorch')
SOME = ['mlp', 'lenet', 'resnet18']


def ratio(ours, theirs):
    return f'{ours / theirs:.2f}'


def figure_text(r, figure):
    disturbed = f'; disturbed {r["disturbed_" + figure]:.0e}' if 'disturbed_' + figure in r else ''
    return f'{r[figure]:.0e} ({r["pytorch_" + figure]:.0e}{disturbed})'


def row(network, r):
    cells = [f'`{network.name}`', network.setting]
    if r is None:
        missing = network.needs_torchvision and torchvision is None
        return cells + ['not measured' + (': torchvision is not installed' if missing else ''), '', '', '', '']
    cells.append(r['failed'].replace('|', r'\|') if 'failed' in r else 'yes')
    cells.append(f'{figure_text(r, "update_off")}, {figure_text(r, "worst_off")}' if 'update_off' in r else '')
    cells.append(figure_text(r, 'off') if 'off' in r else '')
    if 'ms' in r:
        digits = 2 if r['ms'] < 10 else 0
        cells.append(f'{r["ms"]:.{digits}f} / {r["pytorch_ms"]:.{digits}f} = **{ratio(r["ms"], r["pytorch_ms"])}**')
    else:
        cells.append('not measured' if 'off' in r else '')
    if 'state' in r:
        ours, theirs = (r['state'] + r['arena']) / 2**20, r['pytorch_memory'] / 2**20
        cells.append(f'{ours:.1f} / {theirs:.1f} = **{ratio(ours, theirs)}**')
    else:
        cells.append('not measured' if 'off' in r else '')
    return cells


def duration_text(seconds):
    return f'{seconds:.0f} seconds' if seconds < 120 else f'{seconds / 60:.0f} minutes'


def durations(results):
    """What the commands that the page shows took, as far as it is known."""
    def taken(names):
        return duration_text(sum(results[name]['seconds'] for name in names))
    tried = [network.name for network in NETWORKS if network.name in results]
    text = f'The second line took {taken(SOME)}, the third' if set(SOME) <= set(tried) else 'The third line took'
    return f'{text} {taken(tried)}' + (f' for {len(tried)} networks.' if len(tried) < len(NETWORKS) else '.')


def load_text(results):
    timed = [r for r in results.values() if 'load' in r]
    if not timed:
        return 'No times were taken.'
    load, processors = max(r['load'] for r in timed), os.cpu_count()
    if all(r['pinned'] for r in timed):
        return f'All ran on one of {processors} processors, beside other work (load up to {load:.1f}): '\
            'a ratio of another run may differ by a fifth.'
    return f'The load was up to {load:.1f} on {processors} processors.'


def processor():
    with open('/proc/cpuinfo') as f:
        found = dict(re.findall(r'^(model name|cpu family|model)\s*: (.*)$', f.read(), re.M))
    return f'{found.get("model name", platform.machine())} (family {found.get("cpu family", "?")}, model {found.get("model", "?")})'


def counts(results):
    """How many networks there are, were tried, and work."""
    tried = [results[network.name] for network in NETWORKS if network.name in results]
    return len(NETWORKS), len(tried), sum('failed' not in r for r in tried)


def page(results):
    lines, kind = [], None
    for network in NETWORKS:
        if network.kind != kind:
            kind = network.kind
            lines += ['', f'## {kind}', '', f'| {" | ".join(COLUMNS)} |', '|---' * len(COLUMNS) + '|']
        lines.append('| ' + ' | '.join(row(network, results.get(network.name))) + ' |')
    gcc = subprocess.run(['gcc', '-dumpfullversion'], capture_output=True, text=True).stdout.strip()
    versions = [f'PyTorch {torch.__version__}', f'gcc {gcc}']
    if torchvision:
        versions.insert(1, f'torchvision {torchvision.__version__}')
    count, tried, works = counts(results)
    return PAGE.format(
        count=count, tried=tried, works=works, date=datetime.date.today(), machine=processor(),
        versions=', '.join(versions), some=' '.join(SOME), durations=durations(results), load=load_text(results),
        classes=CLASSES, steps=STEPS, tolerance=TOLERANCE, factor=ROUNDING_FACTOR, runs=DISTURBED_RUNS,
        most_runs=MOST_DISTURBED_RUNS, disturbed_factor=DISTURBED_FACTOR, most=MOST_UPDATE_OFF, least=LEAST_PART,
        rate=UPDATE_RATE, flags=' '.join(CC_FLAGS), rounds=ROUNDS, table='\n'.join(lines).strip())


# ---- the command ----------------------------------------------------------------------------------------------------------------

def show(name, r):
    text = ''
    if 'update_off' in r:
        text += f'first update off by {figure_text(r, "update_off")}, {figure_text(r, "worst_off")} in {r["worst"]}, '
    if 'off' in r:
        text += f'loss off by {figure_text(r, "off")}'
    if 'ms' in r:
        text += f', step {r["ms"]:.3f} ms, PyTorch {r["pytorch_ms"]:.3f} ms'
    if 'state' in r:
        text += f', memory {(r["state"] + r["arena"]) / 2**20:.1f} MiB, PyTorch {r["pytorch_memory"] / 2**20:.1f} MiB'
    verdict = 'FAIL' if 'failed' in r else 'PASS'
    print(f'{verdict} {name:<30} {r["seconds"]:6.1f} s  {r.get("failed", "")} {text}', flush=True)


def store(path, text):
    with open(path + '.new', 'w') as f:
        f.write(text)
    os.replace(path + '.new', path)


def main():
    by_name = {network.name: network for network in NETWORKS}
    if len(sys.argv) == 3 and sys.argv[1] == '--pytorch-memory':
        print(pytorch_memory(by_name[sys.argv[2]]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument('stepc')
    parser.add_argument('--only', nargs='*', metavar='NAME', default=list(by_name))
    parser.add_argument('--time', action='store_true')
    parser.add_argument('--results')
    parser.add_argument('--write', metavar='PAGE')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in by_name]
    if unknown:
        parser.error(f'no network {", ".join(unknown)}; --list prints their names')
    if options.list:
        print('\n'.join(by_name))
        return 0
    if torchvision is None:
        print("python3-torchvision is not installed: its networks are skipped", flush=True)
    torch.set_num_threads(1)
    results = {}
    if options.results and os.path.exists(options.results):
        with open(options.results) as f:
            results = json.load(f)
    tried = failed = 0
    for name in options.only:
        if by_name[name].needs_torchvision and torchvision is None:
            continue
        began = time.monotonic()
        results[name] = try_network(os.path.abspath(options.stepc), by_name[name], options.time)
        results[name]['seconds'] = time.monotonic() - began
        tried += 1
        failed += 'failed' in results[name]
        show(name, results[name])
        if options.results:
            store(options.results, json.dumps(results, indent=1))
    if options.write:
        store(options.write, page(results))
    print(f'{tried - failed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
