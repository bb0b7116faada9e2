"""One step of stepc beside PyTorch's: the gradient of all parameters of a network whose output is its loss.

For the tests that compare many small networks. Needs only torch and numpy.
"""
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '../../examples/pytorch'))
from export import export  # noqa: E402

TOLERANCE = 2e-5  # of the whole gradient; a wrong or missing one is off by about 1
STEPC = os.path.abspath(sys.argv[1])
failures = []


def stepc(*words):
    r = subprocess.run([STEPC, *map(str, words)], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f'{" ".join(map(str, words))}: {r.stderr}')
    return r.stdout + r.stderr


def expect(ok, what):
    print(('PASS ' if ok else 'FAIL ') + what)
    if not ok:
        failures.append(what)


def metadata(path, key):
    """The value of a key of the file's metadata, found as bytes: both are plain text."""
    with open(path, 'rb') as f:
        data = f.read()
    at = data.rindex(key.encode()) + len(key)
    size, shift, at = 0, 0, at + 1
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return data[at:at + size].decode()


def exported(net, inputs, opset_version=17, dynamic=True, dynamo=False):
    """Exported with a batch of another size than it is trained with. Returns what export() warned of."""
    dynamic = dynamic and not dynamo
    names = [f'in{i}' for i in range(len(inputs))]
    examples = tuple(x[:3] if dynamic else x for x in inputs)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        options = {'dynamo': True, 'verbose': False} if dynamo else {'opset_version': opset_version}
        if dynamic:
            options['dynamic_axes'] = {name: {0: 'batch'} for name in names}
        export(net, examples, 'net.onnx', input_names=names, output_names=['loss'], **options)
    return [str(w.message) for w in found if w.filename.endswith('export_gradients.py')]


def gradients_of(net, inputs):
    net.double().zero_grad()
    net(*(x.double() if x.is_floating_point() else x for x in inputs)).backward()
    return {name: p.grad.numpy().copy() for name, p in net.named_parameters() if p.grad is not None}


def try_case(name, make, inputs, detached=None, engines=('interpreted', 'generated'), **options):
    """make: () -> a network; inputs: () -> its inputs. detached: how many tensors the file shall call so; None: any."""
    torch.manual_seed(1)
    net = make().train()
    inputs = inputs()
    warned = exported(net, inputs, **options)
    expect(not warned, f'{name}: export() warns of nothing {warned}')
    if detached is not None:
        found = metadata('net.onnx', 'stepc.detached').split()
        expect(len(found) == detached, f'{name}: {len(found)} tensors are detached')
    said = stepc('prepare', 'net.onnx', '-o', 'train.onnx', '--loss', 'output', '--gradients')
    expect('warning' not in said, f'{name}: prepare warns of nothing')
    want = gradients_of(net, inputs)
    feeds, fetches = [], []
    for i, x in enumerate(inputs):
        np.save(f'in{i}.npy', x.numpy()[None])
        feeds += ['--feed', f'in{i}=in{i}.npy']
    for i, parameter in enumerate(want):
        fetches += ['--fetch', f'{parameter}.gradient=grad{i}.npy']
    for engine in engines:
        said = stepc('run', 'train.onnx', '--engine', engine, '--steps', 1, *feeds, *fetches)
        off = sum(((np.load(f'grad{i}.npy').reshape(g.shape) - g) ** 2).sum() for i, g in enumerate(want.values()))
        off = (off / sum((g ** 2).sum() for g in want.values())) ** 0.5
        expect(off < TOLERANCE, f'{name}: the gradient is off by {off:.1e}, {engine}')
    with open('trained.txt', 'w') as f:
        f.write(stepc('prepare', 'net.onnx', '-o', 'again.onnx', '--loss', 'output'))
    trained = sum(line.startswith('  ') and not line.startswith('  not') for line in open('trained.txt'))
    expect(trained == len(want), f'{name}: {trained} of {len(want)} parameters are trained')
