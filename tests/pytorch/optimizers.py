#!/usr/bin/python3
"""usage: optimizers.py STEPC

Proves the table of docs/optimizers.md: each optimizer of PyTorch for STEPS steps in double, against what `stepc prepare` makes
of the options that the table gives, interpreted in double. The model is a small regression in double; hyper-parameters are
binary32 in ONNX, so PyTorch gets them rounded as well. Schedules are compared too. What PyTorch does not have (Lion, LAMB, Adafactor)
is written here by its paper's text. Needs python3-torch and python3-onnx.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

STEPS, BATCH, INPUTS, HIDDEN = 20, 8, 5, 4
TOLERANCE = 1e-12


def f32(x):
    return float(np.float32(x))


class ByHand(torch.optim.Optimizer):
    """An optimizer whose formula stands in update(): the new value of a parameter, of its gradient, its state and the step's number."""

    def __init__(self, parameters, lr, **options):
        super().__init__(parameters, dict(lr=lr, weight_decay=0))
        self.t = 0
        for name, value in options.items():
            setattr(self, name, value)

    @torch.no_grad()
    def step(self):
        self.t += 1
        for group in self.param_groups:
            for p in group['params']:
                p.copy_(self.update(p, p.grad, self.state[p], group['lr'], group['weight_decay']))


class OnnxAdam(ByHand):
    """X - lr sqrt(1 - b2^t) / (1 - b1^t) * V / (sqrt(H) + eps)"""

    def update(self, x, g, s, lr, _):
        s['v'] = B1 * s.get('v', 0) + (1 - B1) * g
        s['h'] = B2 * s.get('h', 0) + (1 - B2) * g ** 2
        rate = lr * math.sqrt(1 - B2 ** self.t) / (1 - B1 ** self.t)
        return x - rate * s['v'] / (s['h'].sqrt() + f32(1e-3))


class Lion(ByHand):
    """Chen et al. 2023, algorithm 2."""
    b1, b2, decay = f32(0.9), f32(0.99), 0

    def update(self, x, g, s, lr, _):
        m = s.get('m', torch.zeros_like(g))
        s['m'] = self.b2 * m + (1 - self.b2) * g
        return x - lr * ((self.b1 * m + (1 - self.b1) * g).sign() + self.decay * x)


class Lamb(ByHand):
    """You et al. 2020, algorithm 2, with phi(z) = z; a ratio of 1 where a norm is 0, as its authors' code has."""
    decay, eps = f32(0.01), f32(1e-6)

    def update(self, x, g, s, lr, _):
        s['m'] = B1 * s.get('m', 0) + (1 - B1) * g
        s['v'] = B2 * s.get('v', 0) + (1 - B2) * g ** 2
        r = s['m'] / (1 - B1 ** self.t) / ((s['v'] / (1 - B2 ** self.t)).sqrt() + self.eps) + self.decay * x
        a, b = x.norm(), r.norm()
        return x - lr * (a / b if a > 0 and b > 0 else 1) * r


class Adafactor(ByHand):
    """As transformers.optimization.Adafactor describes it."""
    decay_rate, b1, decay, clip, scale, relative, warmup = f32(-0.8), 0, 0, 1, True, True, False

    def update(self, x, g, s, lr, _):
        def rms(y):
            return float(y.norm() / math.sqrt(y.numel()))

        rate = lr
        if self.relative:
            rate *= min(1e-6 * self.t if self.warmup else 1e-2, 1 / math.sqrt(self.t))
        if self.scale:
            rate *= max(f32(1e-3), rms(x))
        kept = 1 - self.t ** self.decay_rate

        def mean(name, y):
            s[name] = kept * s.get(name, 0) + (1 - kept) * y
            return s[name]

        squares = g ** 2 + f32(1e-30)
        if g.dim() >= 2:
            rows, columns = mean('rows', squares.mean(-1)), mean('columns', squares.mean(-2))
            v = (rows / rows.mean(-1, keepdim=True)).unsqueeze(-1) * columns.unsqueeze(-2)
        else:
            v = mean('v', squares)
        step = g / v.sqrt()
        step = rate * step / max(1, rms(step) / self.clip)
        if self.b1:
            s['m'] = step = self.b1 * s.get('m', 0) + (1 - self.b1) * step
        return x - self.decay * rate * x - step


WD, EPS8, EPS10 = f32(0.05), f32(1e-8), f32(1e-10)
B1, B2 = f32(0.9), f32(0.999)
OPTIMIZERS = [  # name, stepc's options, PyTorch's optimizer, its scheduler
    ('SGD', 'sgd', lambda p: torch.optim.SGD(p, 0.1), None),
    ('SGD weight_decay', f'sgd:norm_coefficient={WD}', lambda p: torch.optim.SGD(p, 0.1, weight_decay=WD), None),
    ('SGD momentum', f'momentum:alpha={B1},beta=1', lambda p: torch.optim.SGD(p, 0.1, B1), None),
    ('SGD momentum dampening weight_decay', f'momentum:alpha={B1},beta=0.75,norm_coefficient={WD}',
     lambda p: torch.optim.SGD(p, 0.1, B1, 0.25, WD), None),
    ('SGD nesterov', f'nesterov:alpha={B1},beta=1,norm_coefficient={WD}',
     lambda p: torch.optim.SGD(p, 0.1, B1, 0, WD, nesterov=True), None),
    ('Adam', f'adamw:weight_decay=0,epsilon={EPS8}', lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8), None),
    ('Adam weight_decay', f'adamw:weight_decay=0,epsilon={EPS8},norm_coefficient={WD}',
     lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8, WD), None),
    ('AdamW', f'adamw:epsilon={EPS8},weight_decay={WD}', lambda p: torch.optim.AdamW(p, 0.1, (B1, B2), EPS8, WD), None),
    ('Adagrad', f'adagrad:epsilon={EPS10}', lambda p: torch.optim.Adagrad(p, 0.1, eps=EPS10), None),
    ('Adagrad lr_decay weight_decay initial',
     f'adagrad:epsilon={EPS10},decay_factor=0.125,norm_coefficient={WD},initial_accumulator=0.5',
     lambda p: torch.optim.Adagrad(p, 0.1, 0.125, WD, 0.5, EPS10), None),
    ('RMSprop', f'rmsprop:alpha={B1},epsilon={EPS8}', lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8), None),
    ('RMSprop momentum weight_decay', f'rmsprop:alpha={B1},epsilon={EPS8},momentum=0.5,norm_coefficient={WD}',
     lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8, WD, 0.5), None),
    ('RMSprop centered', f'rmsprop:alpha={B1},epsilon={EPS8},centered=1',
     lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8, centered=True), None),
    ('Adam amsgrad', f'amsgrad:epsilon={EPS8}', lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8, amsgrad=True), None),
    ('AdamW amsgrad', f'adamw:epsilon={EPS8},weight_decay={WD},amsgrad=1,beta2=0.5',
     lambda p: torch.optim.AdamW(p, 0.1, (B1, 0.5), EPS8, WD, amsgrad=True), None),
    # foreach: what PyTorch's page says and PyTorch 2 does; the other form of 1.13 has one factor mu(t) too many
    ('NAdam', f'nadam:epsilon={EPS8}', lambda p: torch.optim.NAdam(p, 0.1, (B1, B2), EPS8, 0, f32(4e-3), foreach=True), None),
    ('NAdam weight_decay', f'nadam:epsilon={EPS8},norm_coefficient={WD},momentum_decay=0.25,beta1=0.75',
     lambda p: torch.optim.NAdam(p, 0.1, (0.75, B2), EPS8, WD, 0.25, foreach=True), None),
    ('RAdam', f'radam:epsilon={EPS8}', lambda p: torch.optim.RAdam(p, 0.1, (B1, B2), EPS8), None),
    ('RAdam weight_decay', f'radam:epsilon={EPS8},norm_coefficient={WD},beta2=0.9375',
     lambda p: torch.optim.RAdam(p, 0.1, (B1, 0.9375), EPS8, WD), None),
    ('RAdam never rectified', f'radam:epsilon={EPS8},beta2=0.625', lambda p: torch.optim.RAdam(p, 0.1, (B1, 0.625), EPS8), None),
    ('Adamax', f'adamax:epsilon={EPS8}', lambda p: torch.optim.Adamax(p, 0.1, (B1, B2), EPS8), None),
    ('Adamax weight_decay', f'adamax:epsilon={EPS8},norm_coefficient={WD},beta2=0.5',
     lambda p: torch.optim.Adamax(p, 0.1, (B1, 0.5), EPS8, WD), None),
    ('Lion', 'lion', lambda p: Lion(p, 0.1), None),
    ('Lion weight_decay', f'lion:weight_decay={WD},beta1=0.75,beta2=0.5', lambda p: Lion(p, 0.1, decay=WD, b1=0.75, b2=0.5), None),
    ('LAMB', 'lamb', lambda p: Lamb(p, 0.1), None),
    ('LAMB weight_decay', f'lamb:weight_decay={WD},epsilon=0.125', lambda p: Lamb(p, 0.1, decay=WD, eps=0.125), None),
    ('Adafactor', 'adafactor', lambda p: Adafactor(p, 0.1), None),
    ('Adafactor warmup_init', ['--optimizer', 'adafactor:warmup_init=1,scale_parameter=0', '--learning-rate', 1e4],
     lambda p: Adafactor(p, 1e4, warmup=True, scale=False), None),
    ('Adafactor by hand', f'adafactor:relative_step=0,scale_parameter=0,beta1={B1},weight_decay={WD},clip_threshold=0.5,decay_rate=-0.5',
     lambda p: Adafactor(p, 0.1, relative=False, scale=False, b1=B1, decay=WD, clip=0.5, decay_rate=-0.5), None),
    ('StepLR', ['--optimizer', 'sgd', '--schedule', 'step:every=3,gamma=0.5'], lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
    ('CosineAnnealingLR', ['--optimizer', f'momentum:alpha={B1}', '--schedule', 'cosine:steps=25,floor=0.25'],
     lambda p: torch.optim.SGD(p, 0.1, B1), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 25, 0.025)),
    ('cosine with warm-up', ['--optimizer', 'sgd', '--schedule', 'cosine:steps=15,floor=0.25,warmup=4'],
     lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.LambdaLR(
         o, lambda s: min((s + 1) / 4, 0.25 + 0.75 * (1 + math.cos(math.pi * min(max((s - 4) / 11, 0), 1))) / 2))),
    ('LinearLR', ['--optimizer', 'sgd', '--schedule', 'linear:steps=12'], lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.LinearLR(o, 1, 0, 12)),
    ('linear with warm-up', ['--optimizer', f'adamw:weight_decay=0,epsilon={EPS8}', '--schedule', 'linear:warmup=5,steps=15'],
     lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8),
     lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda s: max(0, min((s + 1) / 5, 1 - max(0, s - 5) / 10)))),
    ('groups', ['--optimizer', f'adamw:epsilon={EPS8},weight_decay={WD}', '--group', 'w1:learning_rate=0.03', '--group', '*1:weight_decay=0',
                '--group', 'b1:learning_rate=0.3', '--schedule', 'step:every=3,gamma=0.5'],
     lambda p: torch.optim.AdamW([{'params': p[:1], 'lr': 0.03, 'weight_decay': 0}, {'params': p[1:2], 'lr': 0.3, 'weight_decay': 0},
                                  {'params': p[2:]}], 0.1, (B1, B2), EPS8, WD),
     lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
    ('groups of a file', ['--optimizer', f'nadam:epsilon={EPS8}', '--group', '@groups.json'],
     lambda p: torch.optim.NAdam([{'params': p[:2], 'lr': 0.03, 'weight_decay': WD}, {'params': p[2:], 'lr': 0.2}], 0.1, (B1, B2), EPS8, 0,
                                 f32(4e-3), foreach=True), None),
    ('groups of momentum', ['--optimizer', f'momentum:alpha={B1},norm_coefficient={WD}', '--group', 'w?:weight_decay=0.25,learning_rate=0.01'],
     lambda p: torch.optim.SGD([{'params': p[0::2], 'lr': 0.01, 'weight_decay': 0.25}, {'params': p[1:2]}], 0.1, B1, 0, WD), None),
    ('moving averages', ['--optimizer', f'momentum:alpha={B1}', '--ema', 0.9], lambda p: torch.optim.SGD(p, 0.1, B1), None),
    ('ExponentialLR', ['--optimizer', 'sgd', '--schedule', 'exponential:gamma=0.9'], lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9)),
    ('MultiStepLR', ['--optimizer', f'nadam:epsilon={EPS8}', '--schedule', 'multistep:milestones=3,8,8,15,gamma=0.5'],
     lambda p: torch.optim.NAdam(p, 0.1, (B1, B2), EPS8, 0, f32(4e-3), foreach=True),
     lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [3, 8, 8, 15], 0.5)),
    *[(f'OneCycleLR {options}', ['--optimizer', 'sgd', '--schedule', f'onecycle:{text}'], lambda p: torch.optim.SGD(p, 0.1),
       lambda o, options=options: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, cycle_momentum=False, **options))
      for text, options in [
          ('steps=21', {'total_steps': 21}),
          ('steps=30,pct_start=0.25,linear=1,div_factor=10,final_div_factor=100',
           {'total_steps': 30, 'pct_start': 0.25, 'anneal_strategy': 'linear', 'div_factor': 10, 'final_div_factor': 100}),
          ('steps=21,three_phase=1,pct_start=0.4', {'total_steps': 21, 'three_phase': True, 'pct_start': 0.4}),
          ('steps=21,pct_start=0', {'total_steps': 21, 'pct_start': 0.0}),
          ('steps=21,pct_start=0.03', {'total_steps': 21, 'pct_start': 0.03}),
          ('steps=21,pct_start=1', {'total_steps': 21, 'pct_start': 1.0})]],
]
# What ONNX's own Adam is instead, written out: epsilon is added before the correction of the bias.
ONNX_ADAM = f'adam:alpha={B1},beta={B2},epsilon={f32(1e-3)}'


def call(folder, *command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, cwd=folder)


def make_model(path, weights):
    def value(name, dims):
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, dims)
    nodes = [helper.make_node('MatMul', ['x', 'w1'], ['h']), helper.make_node('Add', ['h', 'b1'], ['hb']),
             helper.make_node('Tanh', ['hb'], ['a']), helper.make_node('MatMul', ['a', 'w2'], ['y'])]
    graph = helper.make_graph(nodes, 'net', [value('x', [BATCH, INPUTS])], [value('y', [BATCH, 1])],
                              [numpy_helper.from_array(t, name) for name, t in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8), path)


def train_torch(make_optimizer, make_scheduler, weights, x, target, ema=0):
    """The weights after STEPS steps; with `ema` their moving averages, which begin with the first weights."""
    parameters = {name: torch.tensor(t, requires_grad=True) for name, t in weights.items()}
    averages = {name: torch.tensor(t) for name, t in weights.items()}
    optimizer = make_optimizer(list(parameters.values()))
    scheduler = make_scheduler(optimizer) if make_scheduler else None
    for xs, ts in zip(torch.tensor(x), torch.tensor(target)):
        optimizer.zero_grad()
        y = torch.tanh(xs @ parameters['w1'] + parameters['b1']) @ parameters['w2']
        torch.nn.functional.mse_loss(y, ts).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
        averages = {name: ema * averages[name] + (1 - ema) * p.detach() for name, p in parameters.items()}
    return {name: average.numpy() for name, average in averages.items()}


def train_stepc(stepc, options, weights, work, suffix=''):
    call(work, stepc, 'prepare', f'{work}/model.onnx', '-o', f'{work}/train.onnx', '--loss', 'mse', '--learning-rate', 0.1, *options)
    call(work, stepc, 'run', f'{work}/train.onnx', '--feed', f'x={work}/x.npy', '--feed', f'target={work}/target.npy',
         *[word for name in weights for word in ('--fetch', f'{name}{suffix}={work}/{name}.npy')])
    return {name: np.load(f'{work}/{name}.npy') for name in weights}


def main():
    stepc = os.path.abspath(sys.argv[1])
    torch.set_default_dtype(torch.double)  # NAdam's product of momenta
    random, failed = np.random.default_rng(1), False
    weights = {'w1': random.normal(size=(INPUTS, HIDDEN)), 'b1': random.normal(size=HIDDEN), 'w2': random.normal(size=(HIDDEN, 1))}
    x = random.normal(size=(STEPS, BATCH, INPUTS))
    target = random.normal(size=(STEPS, BATCH, 1))
    with tempfile.TemporaryDirectory() as work:
        np.save(f'{work}/x.npy', x)
        np.save(f'{work}/target.npy', target)
        make_model(f'{work}/model.onnx', weights)
        with open(f'{work}/groups.json', 'w') as file:
            json.dump([{'params': ['w1', 'net.b1'], 'lr': 0.03, 'weight_decay': WD}, {'params': 'w2', 'learning_rate': 0.2}], file)
        for name, options, make_optimizer, make_scheduler in OPTIMIZERS + [("ONNX's Adam", ONNX_ADAM, lambda p: OnnxAdam(p, 0.1), None)]:
            options = options if isinstance(options, list) else ['--optimizer', options]
            ema = f32(options[options.index('--ema') + 1]) if '--ema' in options else 0
            want = train_torch(make_optimizer, make_scheduler, weights, x, target, ema)
            got = train_stepc(stepc, options, weights, work, '.average' if ema else '')
            worst = max(np.linalg.norm(got[n] - want[n]) / np.linalg.norm(want[n]) for n in weights)
            moved = min(np.linalg.norm(want[n] - weights[n]) for n in weights)
            ok = worst <= TOLERANCE and moved > 1e-3
            failed |= not ok
            print(f'{"PASS" if ok else "FAIL"} {name}: largest difference {worst:.2g}')
    sys.exit(failed)


main()
