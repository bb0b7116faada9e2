#!/usr/bin/python3
"""usage: checkpoints.py STEPC [CASE...]

PyTorch trains ten steps and saves; stepc goes on from the checkpoint by `run --load`, `convert` and `prepare --from`. Losses of the
next 20 steps must be PyTorch's own. Folders have the layout of Hugging Face's Trainer, written here without its libraries.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples/pytorch'))
from export import export  # noqa: E402
from resume import read_safetensors, resume  # noqa: E402

STEPS, SAVED_AT, BATCH, FEATURES, CLASSES, EPOCH = 30, 10, 4, 6, 3, 5
# Losses near 1 in float32 after up to 20 steps.
TOLERANCE = 1e-6
failures = []


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, CLASSES))


class Normed(torch.nn.Module):
    """Convolution, batch and layer normalization, an embedding that is used twice."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(1, 4, 3, padding=1)
        self.bn = torch.nn.BatchNorm1d(4)
        self.mix = torch.nn.Linear(4 * FEATURES, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.again = torch.nn.Linear(8, 8, bias=False)
        self.twice = torch.nn.Linear(8, 8, bias=False)
        self.twice.weight = self.again.weight
        self.head = torch.nn.Linear(8, CLASSES)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x.unsqueeze(1))))
        h = self.norm(self.mix(h.flatten(1)))
        return self.head(torch.tanh(self.twice(torch.tanh(self.again(h)))))


def call(*command, expect=0):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != expect:
        raise RuntimeError(f'status {done.returncode}: {" ".join(str(w) for w in command)}\n{done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def data():
    torch.manual_seed(1)
    return torch.randn(STEPS, BATCH, FEATURES), torch.randint(0, CLASSES, (STEPS, BATCH))


def train(net, optimizer, schedule, save):
    """save() is called where PyTorch stops; the losses behind it."""
    x, target = data()
    losses = []
    for step in range(STEPS):
        if step == SAVED_AT:
            save()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[step]), target[step])
        loss.backward()
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    return np.array(losses[SAVED_AT:])


def write_safetensors(path, tensors):
    """Sorted by name, as its library does."""
    names = {'torch.float32': 'F32', 'torch.float64': 'F64', 'torch.float16': 'F16', 'torch.bfloat16': 'BF16', 'torch.int64': 'I64',
             'torch.int32': 'I32', 'torch.int8': 'I8', 'torch.uint8': 'U8', 'torch.bool': 'BOOL'}
    header, blobs, at = {'__metadata__': {'format': 'pt'}}, [], 0
    for name in sorted(tensors):
        t = tensors[name].detach().contiguous()
        blob = (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy().tobytes()
        header[name] = {'dtype': names[str(t.dtype)], 'shape': list(t.shape), 'data_offsets': [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(blobs))


def export_net(net, path, **options):
    export(net, (torch.zeros(BATCH, FEATURES),), path, input_names=['x'], output_names=['y'],
           dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}}, **options)


def losses_of(stepc, work, model, *options):
    text = call(stepc, 'run', model, '--feed', f'x={work}/x.npy', '--feed', f'target={work}/t.npy', '--dim', f'batch={BATCH}',
                '--fetch', f'loss={work}/loss.npy', *options)
    return np.load(f'{work}/loss.npy').ravel(), text


def compare(name, want, got, tolerance=TOLERANCE):
    worst = float(np.max(np.abs(want - got))) if want.shape == got.shape else math.inf
    if worst > tolerance:
        failures.append(name)
    print(f'{"PASS" if worst <= tolerance else "FAIL"} {name}: largest difference of {len(got)} losses {worst:.2g}')


def expect(name, text, *wanted):
    for pattern in wanted:
        if not re.search(pattern, text):
            failures.append(name)
            print(f'FAIL {name}: no {pattern!r} in\n{text}')


def prepare(stepc, work, *options, model='net.onnx', out='train.onnx'):
    return call(stepc, 'prepare', f'{work}/{model}', '-o', f'{work}/{out}', '--loss', 'softmax-cross-entropy', *options)


def three_ways(stepc, work, name, want, checkpoint, options, tolerance=TOLERANCE, taken=(), begin=()):
    """run --load, convert, and prepare --from, which is told nothing (or `taken`)."""
    prepare(stepc, work, *options, '--learning-rate', '0.7')
    got, text = losses_of(stepc, work, f'{work}/train.onnx', '--load', checkpoint, *begin)
    compare(f'{name}, run --load', want, got, tolerance)
    call(stepc, 'convert', checkpoint, f'{work}/filled.onnx', '--model', f'{work}/train.onnx',
         *(begin if '--steps-made' in begin else ()))
    got, _ = losses_of(stepc, work, f'{work}/filled.onnx', '--from', SAVED_AT)
    compare(f'{name}, convert', want, got, tolerance)
    told = prepare(stepc, work, '--from', checkpoint, *taken, out='from.onnx')
    got, _ = losses_of(stepc, work, f'{work}/from.onnx', '--from', SAVED_AT)
    compare(f'{name}, prepare --from', want, got, tolerance)
    return text, told


# name, constructor, what `run --load` needs to be told, what `prepare --from` does
OPTIMIZERS = [
    ('adam', lambda p: torch.optim.Adam(p, 0.01), 'adamw:weight_decay=0', ()),
    ('adam with decay', lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1), 'adamw:weight_decay=0,norm_coefficient=0.1',
     ('--optimizer', 'adamw:weight_decay=0,norm_coefficient=0.1')),
    ('adam amsgrad', lambda p: torch.optim.Adam(p, 0.01, amsgrad=True), 'adamw:weight_decay=0,amsgrad=1', ()),
    ('sgd', lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.01), 'sgd:norm_coefficient=0.01', ()),
    ('momentum', lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, dampening=0.25), 'momentum:alpha=0.9,beta=0.75', ()),
    ('nesterov', lambda p: torch.optim.SGD(p, 0.05, momentum=0.8, nesterov=True), 'nesterov:alpha=0.8', ()),
    ('rmsprop', lambda p: torch.optim.RMSprop(p, 0.003, momentum=0.5, centered=True), 'rmsprop:momentum=0.5,centered=1', ()),
    ('plain rmsprop', lambda p: torch.optim.RMSprop(p, 0.003), 'rmsprop', ()),
    ('adagrad', lambda p: torch.optim.Adagrad(p, 0.03, lr_decay=0.01), 'adagrad:decay_factor=0.01,epsilon=1e-10', ()),
    ('adamax', lambda p: torch.optim.Adamax(p, 0.01), 'adamax', ()),
    ('nadam', lambda p: torch.optim.NAdam(p, 0.01, foreach=True), 'nadam', ()),
    ('radam', lambda p: torch.optim.RAdam(p, 0.01), 'radam', ()),
]


def there_and_back(stepc, work, name, want, make, begin, network=mlp):
    """Seven steps by stepc, saved for PyTorch; the rest by PyTorch, and by a model that is prepared from what was saved."""
    losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/c.pt', *begin, '--steps', 7, '--save', f'{work}/back.safetensors')
    net = network()
    optimizer = make(net.parameters())
    optimizer.param_groups[0]['lr'] = 0.7
    steps = resume(f'{work}/back.safetensors', net, optimizer)
    x, target = data()
    losses = []
    for step in range(steps, STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[step]), target[step])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    compare(f'{name}, back in PyTorch', want[7:], np.array(losses))
    prepare(stepc, work, '--from', f'{work}/back.safetensors', out='from.onnx')
    got, _ = losses_of(stepc, work, f'{work}/from.onnx', '--from', steps)
    compare(f'{name}, prepare --from what was saved', want[7:], got)


def try_optimizers(stepc, work):
    for name, make, option, taken in OPTIMIZERS:
        torch.manual_seed(0)
        net = mlp()
        optimizer = make(net.parameters())
        export_net(net, f'{work}/net.onnx')

        def save():
            parts = {'model_state_dict': net.state_dict(), 'optimizer_state_dict': optimizer.state_dict(), 'loss': 0.5}
            torch.save(parts if name == 'momentum' else {**parts, 'iteration': SAVED_AT}, f'{work}/c.pt')

        want = train(net, optimizer, None, save)
        begin = ['--from', SAVED_AT] if name == 'momentum' else []
        text, _ = three_ways(stepc, work, name, want, f'{work}/c.pt', ['--optimizer', option], taken=taken, begin=begin)
        expect(name, text, "passed over: 'loss'")
        if name == 'momentum':
            expect(name, text, 'it does not say how many steps were made', "'step_count' is 1, after 1 step")
        elif 'warning' in text:
            failures.append(name)
            print(f'FAIL {name}: nothing is wrong, but\n{text}')
        there_and_back(stepc, work, name, want, make, begin)


SCHEDULES = [
    ('StepLR', lambda o: torch.optim.lr_scheduler.StepLR(o, 7, 0.5), 'step:every=7,gamma=0.5'),
    ('MultiStepLR', lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [5, 15, 20], 0.5), 'multistep:milestones=5,15,20,gamma=0.5'),
    ('ExponentialLR', lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9), 'exponential:gamma=0.9'),
    ('CosineAnnealingLR', lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 40, 0.001), 'cosine:steps=40,floor=0.1'),
    ('OneCycleLR', lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.02, total_steps=40, cycle_momentum=False), 'onecycle:steps=40'),
    ('three phases', lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.02, total_steps=40, pct_start=0.4, three_phase=True, cycle_momentum=False,
                                                                  div_factor=10), 'onecycle:steps=40,pct_start=0.4,div_factor=10,three_phase=1'),
    ('LinearLR', lambda o: torch.optim.lr_scheduler.LinearLR(o, 1, 0, 50), 'linear:steps=50'),
]


def back_with_schedule(stepc, work, name, want, make):
    """Seven steps by stepc, the rest by PyTorch with a schedule that is made anew; both rates of the state are right."""
    losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/c.pt', '--steps', 7, '--save', f'{work}/back.safetensors')
    net = mlp()
    plain = torch.optim.Adam(net.parameters(), 0.7)
    resume(f'{work}/back.safetensors', net, plain)
    optimizer = torch.optim.Adam(net.parameters(), 0.02 if name == 'OneCycleLR' else 0.01)
    schedule = make(optimizer)
    steps = resume(f'{work}/back.safetensors', net, optimizer, schedule)
    rates = plain.param_groups[0]['lr'], optimizer.param_groups[0]['lr']
    if not math.isclose(*rates, rel_tol=1e-6):
        failures.append(name)
        print(f'FAIL {name}: the rate that was saved is {rates[0]}, that of the schedule {rates[1]}')
    x, target = data()
    losses = []
    for step in range(steps, STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[step]), target[step])
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    compare(f'{name}, back in PyTorch', want[7:], np.array(losses))


def try_steps_made(stepc, work):
    """SGD under a schedule of which nothing was saved: only the user knows the steps. What --optimizer leaves out is taken."""
    torch.manual_seed(0)
    net = mlp()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.8)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 7, 0.5)
    export_net(net, f'{work}/net.onnx')
    want = train(net, optimizer, schedule, lambda: torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict()}, f'{work}/c.pt'))
    step = '--schedule', 'step:every=7,gamma=0.5'
    text, told = three_ways(stepc, work, 'SGD, --steps-made', want, f'{work}/c.pt', ['--optimizer', 'momentum:alpha=0.8', *step],
                            taken=['--optimizer', 'momentum', '--steps-made', SAVED_AT, *step], begin=['--steps-made', SAVED_AT])
    expect('SGD, --steps-made', told, 'alpha=0.8, of which --optimizer says nothing')
    expect('SGD, --steps-made', text, "'step_count' is 10, after 10 steps")


def try_resume(stepc, work):
    """Names that are none of the network's are an error; some that are not there a warning. Other types of tensors are read, and an initial_lr alone."""
    write_safetensors(f'{work}/r.safetensors', {'0.weight': torch.ones(8, FEATURES), 'stepc.run_steps': torch.tensor(3),
                                                'a': torch.tensor([1, 2], dtype=torch.int32), 'b': torch.tensor([True, False]),
                                                'c': torch.tensor([1], dtype=torch.uint8), 'd': torch.tensor([-1], dtype=torch.int8)})
    found = read_safetensors(f'{work}/r.safetensors')
    ok = found['a'].tolist() == [1, 2] and found['b'].tolist() == [True, False] and found['c'].item() == 1 and found['d'].item() == -1
    net, other = mlp(), torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        ok = ok and resume(f'{work}/r.safetensors', net, torch.optim.Adam(net.parameters())) == 3
    ok = ok and net[0].weight.min().item() == 1 and '0.bias, 2.weight' in str(told[0].message)
    try:
        resume(f'{work}/r.safetensors', other, torch.optim.Adam(other.parameters()))
        ok = False
    except KeyError as error:
        ok = ok and '0.0.weight' in str(error)
    # of a state's rates the first alone
    tensors = {name: t for name, t in net.state_dict().items()}
    rates = {f'optimizer.param_groups.{name}.initial_lr': torch.tensor(0.25) for name, _ in net.named_parameters()}
    write_safetensors(f'{work}/r.safetensors', {**tensors, **rates, 'stepc.run_steps': torch.tensor(2)})
    optimizer = torch.optim.Adam(net.parameters(), 0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    ok = ok and resume(f'{work}/r.safetensors', net, optimizer, schedule) == 2 and optimizer.param_groups[0]['lr'] == 0.0625
    # called once an epoch of 4 steps, so 2 times in 8; moved by steps it comes to another rate
    rates = {f'optimizer.param_groups.{name}.{key}': torch.tensor(value)
             for name, _ in net.named_parameters() for key, value in (('initial_lr', 0.25), ('lr', 0.0625))}
    write_safetensors(f'{work}/r.safetensors', {**tensors, **rates, 'stepc.run_steps': torch.tensor(9)})
    for calls, want in ((4, True), (1, False), (3, False)):
        optimizer = torch.optim.Adam(net.parameters(), 0.5)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        try:
            steps = resume(f'{work}/r.safetensors', net, optimizer, schedule, steps_per_call=calls)
            ok = ok and want and steps == 9 and optimizer.param_groups[0]['lr'] == 0.0625
        except ValueError as error:
            ok = ok and not want and f'has learning rate 0.0625 after 9 steps, but the schedule comes to {0.25 * 0.5 ** (9 // calls):g}' in str(error)
    print(f'{"PASS" if ok else "FAIL"} resume: names, types and rates')
    if not ok:
        failures.append('resume')


class OnceAnEpoch:
    """A schedule that counts epochs of EPOCH steps."""

    def __init__(self, schedule):
        self.schedule, self.steps = schedule, 0

    def step(self):
        self.steps += 1
        if self.steps % EPOCH == 0:
            self.schedule.step()


def try_epochs(stepc, work):
    """prepare --from and then run are told nothing: schedule and data go on where PyTorch stopped, with entries that add up as well."""
    for name, make, option in [('StepLR', lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5), 'step:every=10'),
                               ('MultiStepLR', lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [1, 3, 4], 0.5), 'multistep:milestones=5,15,20'),
                               ('ExponentialLR', lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.7), 'step:every=5')]:
        torch.manual_seed(0)
        net = mlp()
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        schedule = OnceAnEpoch(make(optimizer))
        export_net(net, f'{work}/net.onnx')
        parts = {'model': net, 'optimizer': optimizer, 'scheduler': schedule.schedule}
        want = train(net, optimizer, schedule, lambda: torch.save({key: part.state_dict() for key, part in parts.items()}, f'{work}/c.pt'))
        for entries in [], ['--split']:
            told = prepare(stepc, work, '--from', f'{work}/c.pt', *entries)
            expect(name, told, f'--schedule {option}', f'was called 2 times, its optimizer made 10 steps: a call is taken for {EPOCH} steps')
            got, _ = losses_of(stepc, work, f'{work}/train.onnx')
            compare(f'{name} once an epoch{" ".join(["", *entries])}', want, got)


def try_schedules(stepc, work):
    for name, make, option in SCHEDULES:
        torch.manual_seed(0)
        net = mlp()
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        schedule = make(optimizer)
        export_net(net, f'{work}/net.onnx')

        def save():
            state = schedule.state_dict()
            if name != 'OneCycleLR' and state.pop('anneal_func', None):  # a bound method, which PyTorch 2 names instead
                state['_anneal_func_type'] = 'cos'
            torch.save({'net': net.state_dict(), 'optim': optimizer.state_dict(), 'lr_scheduler': state}, f'{work}/c.pt')

        want = train(net, optimizer, schedule, save)
        _, told = three_ways(stepc, work, name, want, f'{work}/c.pt', ['--optimizer', 'adamw:weight_decay=0', '--schedule', option])
        expect(name, told, f'--schedule {option.split(":")[0]}')
        back_with_schedule(stepc, work, name, want, make)
    try_steps_made(stepc, work)
    try_epochs(stepc, work)


def linear(optimizer, steps):
    """Of transformers: a function, which a checkpoint does not hold."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))


def save_folder(folder, net, optimizer, schedule, form):
    os.makedirs(folder, exist_ok=True)
    weights = {name: t for name, t in net.state_dict().items() if name != 'twice.weight'}
    if form == 'bin':
        torch.save(net.state_dict(), f'{folder}/pytorch_model.bin')
    elif form == 'shards':
        names = sorted(weights)
        index = {name: f'model-0000{1 + i % 2}-of-00002.safetensors' for i, name in enumerate(names)}
        for shard in set(index.values()):
            write_safetensors(f'{folder}/{shard}', {name: weights[name] for name in names if index[name] == shard})
        with open(f'{folder}/model.safetensors.index.json', 'w') as file:
            json.dump({'metadata': {'total_size': 1}, 'weight_map': index}, file)
    else:
        write_safetensors(f'{folder}/model.safetensors', weights)
    torch.save(optimizer.state_dict(), f'{folder}/optimizer.pt')
    torch.save(schedule.state_dict(), f'{folder}/scheduler.pt')
    torch.save({'python': (3, tuple(range(5)), None), 'numpy': np.random.get_state(), 'cpu': torch.get_rng_state()}, f'{folder}/rng_state.pth')
    with open(f'{folder}/trainer_state.json', 'w') as file:
        json.dump({'global_step': SAVED_AT, 'max_steps': 60, 'epoch': 1.5, 'log_history': []}, file)


def try_folders(stepc, work):
    """Two groups, of which one decays: weights of normalizations and biases do not."""
    for form in 'safetensors', 'shards', 'bin':
        torch.manual_seed(0)
        net = Normed()
        decays = [p for n, p in net.named_parameters() if 'bias' not in n and 'norm' not in n and not n.startswith('bn.')]
        others = [p for n, p in net.named_parameters() if 'bias' in n or 'norm' in n or n.startswith('bn.')]
        optimizer = torch.optim.AdamW([{'params': decays, 'weight_decay': 0.1}, {'params': others, 'weight_decay': 0.0}], 0.01)
        schedule = linear(optimizer, 60)
        export_net(net, f'{work}/net.onnx')
        folder = f'{work}/{form}'
        want = train(net, optimizer, schedule, lambda: save_folder(folder, net, optimizer, schedule, form))
        options = ['--optimizer', 'adamw:weight_decay=0.1,decay_min_rank=2', '--schedule', 'linear:steps=60', '--batchnorm-variance', 'unbiased']
        text, told = three_ways(stepc, work, f'folder, {form}', want, folder, options,
                                taken=['--schedule', 'linear:steps=60', '--batchnorm-variance', 'unbiased'])
        expect(f'folder, {form}', text, r'vectors in the second group', r'the file rng_state.pth', "'step_count' is 10")
        expect(f'folder, {form}', told, 'taken for AdamW', 'a --group of')


def try_names(stepc, work):
    """Other names, transposed matrices, other types, an order that only a file says."""
    torch.manual_seed(0)
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    export_net(net, f'{work}/net.onnx')
    saved = {}

    def save():
        saved['state'] = {k: v.clone() for k, v in net.state_dict().items()}
        torch.save({'state_dict': {f'model.module.{k}': v for k, v in net.state_dict().items()}, 'optimizer_states': [optimizer.state_dict()]},
                   f'{work}/prefixed.ckpt')
        parts = optimizer.state_dict()
        parts['param_groups'][0]['param_names'] = [n for n, _ in net.named_parameters()]
        torch.save({'model': dict(reversed(net.state_dict().items())), 'optimizer': parts}, f'{work}/named.pt')
        os.makedirs(f'{work}/half', exist_ok=True)
        write_safetensors(f'{work}/half/model.safetensors', {k: v.double() for k, v in net.state_dict().items()})
        torch.save(optimizer.state_dict(), f'{work}/half/optimizer.pt', pickle_protocol=4)

    want = train(net, optimizer, None, save)
    prepare(stepc, work, '--optimizer', 'adamw:weight_decay=0')
    got, text = losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/prefixed.ckpt')
    compare('prefixes', want, got)
    expect('prefixes', text, "without 'model.'", "without 'module.'")
    got, _ = losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/named.pt')
    compare('param_names', want, got)
    got, text = losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/half')
    compare('weights in double, pickle of protocol 4', want, got)

    # an export that says nothing of parameters, whose names are others
    call(stepc, 'convert', f'{work}/net.onnx', f'{work}/other.onnxtxt', '--rename', '*.weight=w*', '--rename', '*.bias=b*')
    with open(f'{work}/other.onnxtxt') as file:
        text = re.sub(r',?\s*metadata_props: \[.*?\](?=\s*>)', '', file.read(), flags=re.S)
    with open(f'{work}/other.onnxtxt', 'w') as file:
        file.write(text)
    renames = ['--rename', 'w*=*.weight', '--rename', 'b*=*.bias']
    prepare(stepc, work, '--optimizer', 'adamw:weight_decay=0', model='other.onnxtxt')
    text = call(stepc, 'run', f'{work}/train.onnx', '--dim', f'batch={BATCH}', '--load', f'{work}/half', *renames, '--steps', 0, expect=1)
    expect('no order', text, 'which weights the 6 parameters of the optimizer are cannot be told', '--parameters FILE')
    with open(f'{work}/order.txt', 'w') as file:
        file.write('\n'.join(n for n, _ in net.named_parameters()))
    got, _ = losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/half', *renames, '--parameters', f'{work}/order.txt')
    compare('--rename and --parameters', want, got)

    # MatMul has its weights the other way round
    torch.onnx.export(net, torch.zeros(2, BATCH, FEATURES), f'{work}/folded.onnx', input_names=['x'], output_names=['y'])
    np.savez(f'{work}/weights.npz', **{k: v.numpy() for k, v in saved['state'].items()})
    np.savez_compressed(f'{work}/packed.npz', **{k: v.numpy() for k, v in saved['state'].items()})
    for name in 'weights', 'packed':
        call(stepc, 'convert', f'{work}/{name}.npz', f'{work}/{name}.onnx', '--model', f'{work}/net.onnx')
        call(stepc, 'convert', f'{work}/{name}.onnx', f'{work}/{name}.safetensors')
        with open(f'{work}/{name}.safetensors', 'rb') as file:
            whole = file.read()
        ok = all(v.numpy().tobytes() in whole for v in saved['state'].values())
        print(f'{"PASS" if ok else "FAIL"} {name}.npz')
        if not ok:
            failures.append(name)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(1, 5, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(10, 4, batch_first=True)
        self.head = torch.nn.Linear(4, CLASSES)

    def forward(self, x):
        return self.head(self.gru(self.lstm(x.unsqueeze(2))[0])[0][:, -1])


class Sequence(torch.nn.Module):
    """Its export has the matrices, one of them square, transposed and under made-up names."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, CLASSES))

    def forward(self, x):
        return self.net(x.unsqueeze(2)).mean(1)


def try_layers(stepc, work):
    try_folded_groups(stepc, work)
    for name, make in ('recurrent', Recurrent), ('folded recurrent', Recurrent), ('transposed', Sequence):
        torch.manual_seed(0)
        net = make()
        optimizer = torch.optim.Adam(net.parameters(), 0.01)
        export_net(net, f'{work}/net.onnx')

        if name == 'folded recurrent':  # weights as ONNX has them, of another order, under made-up names
            torch.onnx.export(net, (torch.zeros(BATCH, FEATURES),), f'{work}/net.onnx', input_names=['x'], output_names=['y'],
                              dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}})

        def save():
            torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict()}, f'{work}/c.pt')
            if name == 'transposed':
                torch.onnx.export(net, (torch.zeros(BATCH, FEATURES),), f'{work}/net.onnx', input_names=['x'], output_names=['y'],
                                  dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}})

        want = train(net, optimizer, None, save)
        if 'recurrent' in name:
            three_ways(stepc, work, name, want, f'{work}/c.pt', ['--optimizer', 'adamw:weight_decay=0'])
            there_and_back(stepc, work, name, want, lambda p: torch.optim.Adam(p, 0.01), [], make)
            continue
        told = prepare(stepc, work, '--from', f'{work}/c.pt')
        expect(name, told, r"is 'net.2.weight', transposed")
        got, _ = losses_of(stepc, work, f'{work}/train.onnx', '--from', SAVED_AT)
        compare(f'{name}, prepare --from', want, got)
        got, text = losses_of(stepc, work, f'{work}/train.onnx', '--load', f'{work}/c.pt', '--steps', 7, '--save', f'{work}/c.safetensors')
        compare(f'{name}, run --load', want[:7], got)
        if 'square' in text:
            failures.append(name)
        other = make()
        steps = resume(f'{work}/c.safetensors', other, torch.optim.Adam(other.parameters(), 0.01))
        x, target = data()
        loss = torch.nn.functional.cross_entropy(other(x[steps]), target[steps]).item()
        compare(f'{name}, back in PyTorch', want[7:8], np.array([loss]))


def try_folded_groups(stepc, work):
    """Two groups, of which one decays, and an export that has names of its own for what is in them."""
    torch.manual_seed(0)
    net = Recurrent()
    decays, others = [[p for n, p in net.named_parameters() if ('bias' in n) == which] for which in (False, True)]
    optimizer = torch.optim.AdamW([{'params': decays, 'weight_decay': 0.5}, {'params': others, 'weight_decay': 0.0}], 0.01)

    def save():
        torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict()}, f'{work}/c.pt')
        torch.onnx.export(net, (torch.zeros(BATCH, FEATURES),), f'{work}/net.onnx', input_names=['x'], output_names=['y'],
                          dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}})

    want = train(net, optimizer, None, save)
    prepare(stepc, work, '--from', f'{work}/c.pt', '--optimizer', 'adamw')
    got, _ = losses_of(stepc, work, f'{work}/train.onnx', '--from', SAVED_AT)
    compare('folded recurrent in groups, prepare --from', want, got)


class Evil:
    def __reduce__(self):
        return os.system, ('touch executed',)


def try_hostile(stepc, work):
    torch.manual_seed(0)
    net = mlp()
    export_net(net, f'{work}/net.onnx')
    prepare(stepc, work, '--optimizer', 'adamw')
    for protocol in 2, 3, 4, 5:
        torch.save({'model': net.state_dict(), 'extra': Evil()}, f'{work}/evil.pt', pickle_protocol=protocol)
        text = call(stepc, 'run', f'{work}/train.onnx', '--load', f'{work}/evil.pt', '--dim', 'batch=1', expect=1)
        expect('hostile', text, r'posix\.system is not among the globals that a checkpoint needs')
    torch.save(net, f'{work}/whole.pt')
    text = call(stepc, 'convert', f'{work}/whole.pt', f'{work}/no.onnx', '--model', f'{work}/net.onnx', expect=1)
    expect('whole network', text, r'torch\.nn\.modules\.container\.Sequential is not among the globals')
    torch.save(net.state_dict(), f'{work}/old.pt', _use_new_zipfile_serialization=False)
    text = call(stepc, 'convert', f'{work}/old.pt', f'{work}/no.onnx', '--model', f'{work}/net.onnx', expect=1)
    expect('old format', text, 'before PyTorch 1.6')
    torch.jit.script(net).save(f'{work}/script.pt')
    text = call(stepc, 'convert', f'{work}/script.pt', f'{work}/no.onnx', '--model', f'{work}/net.onnx', expect=1)
    expect('TorchScript', text, 'a TorchScript program')
    ok = not os.path.exists('executed') and not os.path.exists(f'{work}/executed') and not os.path.exists(f'{work}/no.onnx')
    print(f'{"PASS" if ok else "FAIL"} hostile: an error, and nothing else')
    if not ok:
        failures.append('hostile')


def main():
    stepc, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    cases = {'optimizers': try_optimizers, 'schedules': try_schedules, 'folders': try_folders, 'names': try_names, 'layers': try_layers, 'resume': try_resume,
             'hostile': try_hostile}
    for name, case in cases.items():
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory() as work:
            x, target = data()
            np.save(f'{work}/x.npy', x.numpy())
            np.save(f'{work}/t.npy', target.numpy())
            os.chdir(work)
            case(stepc, work)
            os.chdir('/')
    if failures:
        print('failed:', ', '.join(sorted(set(failures))))
    sys.exit(bool(failures))


main()
