#!/usr/bin/python3
"""usage: exports.py STEPC

What torch.onnx.export really writes: networks exported in several ways, what `stepc check --training` finds in each, whether the cure
that it names works, and training from such a file against PyTorch in double. Needs python3-torch and python3-onnx.
"""
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.onnx import TrainingMode

failures = []


def expect(ok, what):
    print(('PASS ' if ok else 'FAIL ') + what)
    if not ok:
        failures.append(what)


def stepc(*words):
    r = subprocess.run([STEPC, *map(str, words)], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f'{" ".join(map(str, words))}: {r.stderr}')
    return r.stdout + r.stderr


def export(net, example, name, **options):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.onnx.export(net, example, f'{name}.onnx', input_names=options.pop('input_names', ['x']),
                          output_names=options.pop('output_names', ['y']), **options)
    return stepc('check', '--training', f'{name}.onnx')


def initializers(path):
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


def save_safetensors(path, tensors):
    header, blob = {}, b''
    for name, t in tensors.items():
        data = np.ascontiguousarray(t.detach().numpy().astype(np.float32)).tobytes()
        header[name] = {'dtype': 'F32', 'shape': list(t.shape), 'data_offsets': [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + blob)


def batch_norms(net):
    return [m for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]


def images():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.4), nn.Flatten(), nn.Linear(64, 8),
                         nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_forms():
    x = torch.randn(5, 1, 6, 6)
    found = export(images().eval(), x, 'folded')
    expect('BatchNormalization folded in' in found and 'no Dropout' in found, 'export in inference form: what is lost is found')
    for opset in 11, 14:
        found = export(images().train(), x, 'fresh', training=TrainingMode.TRAINING, do_constant_folding=False, opset_version=opset)
        said = stepc('prepare', 'fresh.onnx', '-o', 'train.onnx', '--loss', 'mse')
        start = initializers('train.onnx')
        expect('one update away from 0 and 1' in found and '--batchnorm-statistics reset' in said and
               np.any(start['1.running_mean']) and '1 Dropout: a step drops' in said,
               f'export of a fresh network in training form, opset {opset}: statistics stay, and this is said')
        said = stepc('prepare', 'fresh.onnx', '-o', 'train.onnx', '--loss', 'mse', '--batchnorm-statistics', 'auto')
        start = initializers('train.onnx')
        expect('running statistics start from 0 and 1' in said and not np.any(start['1.running_mean']) and
               np.all(start['6.running_var'] == 1), f'export of a fresh network, opset {opset}: statistics start afresh when asked')
        said = stepc('prepare', 'fresh.onnx', '-o', 'train.onnx', '--loss', 'mse', '--batchnorm', 'frozen')
        expect('warning' in said, f'frozen use of statistics that the exporter moved is warned of, opset {opset}')
    for mode, momentum in (TrainingMode.PRESERVE, 1), (TrainingMode.TRAINING, 0):
        net = images().train()
        for m in batch_norms(net):
            m.momentum = None
            m.train(mode == TrainingMode.TRAINING)
        found = export(net, x, 'mean', training=mode, do_constant_folding=False)
        said = stepc('prepare', 'mean.onnx', '-o', 'train.onnx', '--loss', 'mse')
        expect(f'2 BatchNormalization with momentum {momentum}:' in found and f'2 BatchNormalization with momentum {momentum}:' in said,
               f'momentum=None in the form {mode.name}: that running statistics are no mean of all batches is said')
    net = images().train()
    for m in batch_norms(net):
        m.eval()
    found = export(net, x, 'cured', training=TrainingMode.PRESERVE, do_constant_folding=False)
    said = stepc('prepare', 'cured.onnx', '-o', 'train.onnx', '--loss', 'mse')
    expect('one update away' not in found and 'no Dropout' not in found and '2 BatchNormalization: a step uses' in said and
           '1 Dropout: a step drops' in said, 'the export that the doctor proposes keeps everything')
    found = export(images().eval(), x, 'merged', training=TrainingMode.PRESERVE, do_constant_folding=False)
    said = stepc('prepare', 'merged.onnx', '-o', 'train.onnx', '--loss', 'mse')
    expect('also stands for' not in found and "'6.running_var' is a variable of its own" in said and 'warning' not in said,
           'statistics that were merged with weights are separated unasked')


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.layer, self.head = nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 11)

    def forward(self, i):
        return self.head(self.layer(self.embedding(i)))


class Recurrent(nn.Module):
    def __init__(self, kind, bidirectional):
        super().__init__()
        self.rnn = getattr(nn, kind)(5, 6, batch_first=True, bidirectional=bidirectional)

    def forward(self, x):
        return self.rnn(x)[0]


def prepared_names(net, name, *options):
    save_safetensors('weights.safetensors', dict(net.named_parameters()))
    said = stepc('prepare', f'{name}.onnx', '-o', 'train.onnx', '--loss', 'mse', '--names-from', 'weights.safetensors', *options)
    return set(initializers('train.onnx')), said


def test_names():
    torch.manual_seed(2)
    net = Encoder().eval()
    found = export(net, torch.randint(0, 11, (2, 5)), 'encoder', input_names=['i'])
    names, said = prepared_names(net, 'encoder', '--untie', 'auto')
    expect('merged by the exporter' in found and {n for n, _ in net.named_parameters()} <= names and 'warning' not in said,
           'merged, transposed and anonymous weights of an encoder have their names again')
    for kind, bidirectional in ('LSTM', False), ('GRU', True), ('RNN', False):
        net = Recurrent(kind, bidirectional).eval()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            torch.onnx.export(net, torch.randn(4, 7, 5), 'recurrent.onnx', input_names=['x'], output_names=['y'])
        names, said = prepared_names(net, 'recurrent')
        expect({'rnn.weight_ih_l0', 'rnn.weight_hh_l0', 'rnn.bias_ih_l0'} <= names and 'keeps its name' not in said, f'names of {kind}')


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.mix, self.head = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, i):
        return self.head(torch.tanh(self.mix(self.embedding(i))))


def test_tie():
    torch.manual_seed(3)
    found = export(Tied().eval(), torch.randint(0, 11, (2, 5)), 'tied', input_names=['i'])
    tie = re.search(r"\(as (--tie '.*'); --tie never", found)
    expect(tie is not None and tie.group(1).endswith("embedding.weight^T'"), 'a tie that was cut is found')
    for options in [], shlex.split(tie.group(1)):
        said = stepc('prepare', 'tied.onnx', '-o', 'train.onnx', '--loss', 'mse', *options)
        expect('one variable, whose gradient is the sum over both uses' in said and 'warning' not in said, f'the tie is made: {options}')


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)

    def forward(self, x, labels):
        scores = self.b(torch.relu(self.norm(self.a(x))))
        return scores, nn.functional.cross_entropy(scores, labels)


def test_training():
    """The loss inside, fresh statistics, SGD: ten steps."""
    torch.manual_seed(4)
    steps, batch = 10, 16
    x, labels = torch.randn(steps, batch, 4), torch.randint(0, 3, (steps, batch))
    net = WithLoss().train()
    start = {k: v.clone() for k, v in net.state_dict().items()}
    found = export(net, (x[0], labels[0]), 'inside', input_names=['x', 'labels'], output_names=['scores', 'loss'],
                   training=TrainingMode.TRAINING, do_constant_folding=False)
    said = stepc('prepare', 'inside.onnx', '-o', 'train.onnx', '--loss', 'output', '--output', 'loss', '--learning-rate', '0.1',
                 '--batchnorm-statistics', 'reset', '--batchnorm-variance', 'unbiased')
    expect("output 'loss'" in found and "does not take 'labels'" in said, 'a loss inside is found and taken out of infer()')
    onnx.checker.check_model(onnx.load('train.onnx'))
    net.load_state_dict(start)
    net.double()
    optimizer, want = torch.optim.SGD(net.parameters(), 0.1), []
    for k in range(steps):
        optimizer.zero_grad()
        loss = net(x[k].double(), labels[k])[1]
        loss.backward()
        optimizer.step()
        want.append(loss.item())
    mean, var = net.norm.running_mean.numpy(), net.norm.running_var.numpy()
    np.save('x.npy', x.numpy())
    np.save('labels.npy', labels.numpy())
    for engine in 'interpreted', 'generated':
        stepc('run', 'train.onnx', '--engine', engine, '--steps', steps, '--feed', 'x=x.npy', '--feed', 'labels=labels.npy', '--fetch', 'loss=loss.npy',
              '--fetch', 'b.weight=b.npy', '--fetch', 'a.bias=bias.npy', '--fetch', 'norm.running_mean=mean.npy', '--fetch', 'norm.running_var=var.npy')
        got = {name: np.load(f'{name}.npy') for name in ('loss', 'b', 'bias', 'mean', 'var')}
        worst = max(np.max(np.abs(got['loss'].ravel() - want) / np.abs(want)), np.max(np.abs(got['b'] - net.b.weight.detach().numpy())),
                    np.max(np.abs(got['mean'] - mean)), np.max(np.abs(got['var'] - var)))
        expect(worst < 1e-5, f'ten steps with BatchNorm as PyTorch has them, {engine}: largest difference {worst:.2g}')
        expect(np.array_equal(got['bias'], start['a.bias'].numpy()), f'the bias in front of BatchNorm stays, {engine}')


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for test in test_forms, test_names, test_tie, test_training:
            test()
    sys.exit(len(failures) > 0)


STEPC = os.path.abspath(sys.argv[1])
main()
