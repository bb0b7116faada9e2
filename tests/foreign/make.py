#!/usr/bin/python3
"""usage: make.py FOLDER

Writes the checkpoints and losses of this folder: what PyTorch saves after 10 steps, and its losses in the 20 steps after them.
They are committed, so that tests need no PyTorch.
"""
import io
import json
import os
import struct
import sys
import zipfile

import numpy as np
import torch

STEPS, SAVED_AT, BATCH = 30, 10, 4


def make_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def write_numbers(path, numbers, form):
    with open(path, 'w') as file:
        file.write('\n'.join(' '.join(form % x for x in row) for row in numbers) + '\n')


def write_safetensors(path, tensors):
    header, blobs, at = {'__metadata__': {'format': 'pt'}}, [], 0
    for name, t in tensors.items():
        blob = t.numpy().tobytes()
        header[name] = {'dtype': 'F32', 'shape': list(t.shape), 'data_offsets': [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + b''.join(blobs))


def save_file(path, net, optimizer, schedule):
    parts = {'model': net.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3}
    torch.save({**parts, 'scheduler': schedule.state_dict()} if schedule else parts, f'{path}.pt')


def save_folder(path, net, optimizer, schedule):
    """As Hugging Face's Trainer has it, weights in shards."""
    os.makedirs(path, exist_ok=True)
    names = sorted(net.state_dict())
    shards = {name: f'model-0000{1 + i % 2}-of-00002.safetensors' for i, name in enumerate(names)}
    for shard in sorted(set(shards.values())):
        write_safetensors(f'{path}/{shard}', {name: net.state_dict()[name] for name in names if shards[name] == shard})
    with open(f'{path}/model.safetensors.index.json', 'w') as file:
        json.dump({'metadata': {}, 'weight_map': shards}, file)
    torch.save(optimizer.state_dict(), f'{path}/optimizer.pt')
    torch.save(schedule.state_dict(), f'{path}/scheduler.pt')
    with open(f'{path}/trainer_state.json', 'w') as file:
        json.dump({'global_step': SAVED_AT, 'max_steps': 60}, file)
    np.savez_compressed(f'{path}/weights.npz', **{f'module.{name}': t.numpy() for name, t in net.state_dict().items()})


def run(folder, name, make_optimizer, make_schedule=None, save=save_file, epoch=1):
    """The schedule is called once in `epoch` steps."""
    net = make_net()
    optimizer = make_optimizer(net)
    schedule = make_schedule(optimizer) if make_schedule else None
    torch.manual_seed(1)
    x, target, losses = torch.randn(STEPS, BATCH, 3), torch.randint(0, 2, (STEPS, BATCH)), []
    for step in range(STEPS):
        if step == SAVED_AT:
            save(f'{folder}/{name}', net, optimizer, schedule)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[step]), target[step])
        loss.backward()
        optimizer.step()
        if schedule and (step + 1) % epoch == 0:
            schedule.step()
        losses.append(loss.item())
    write_numbers(f'{folder}/x.txt', x.reshape(-1, 3).tolist(), '%.9g')
    write_numbers(f'{folder}/target.txt', target.tolist(), '%d')
    write_numbers(f'{folder}/{name}.losses', [[x] for x in losses[SAVED_AT:]], '%.9g')


def decayed(net):
    """Weights decay, biases do not."""
    return torch.optim.AdamW([{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': 0.1},
                              {'params': [p for p in net.parameters() if p.dim() < 2], 'weight_decay': 0.0}], 0.02)


def write_seed(path):
    """Of the fuzzer (tests/fuzz/fuzz_torch.c), whose archives have these storages: the pickle alone."""
    net = torch.nn.Module()
    net.w, net.b = torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([{'params': [net.w], 'weight_decay': 0.1}, {'params': [net.b]}], 0.02)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5], 0.5)
    (net.w.sum() + net.b.sum()).backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict(), 'scheduler': schedule.state_dict(), 'epoch': 3}, file)
    with zipfile.ZipFile(file) as archive, open(path, 'wb') as out:
        out.write(archive.read('archive/data.pkl'))


def main():
    folder = sys.argv[1]
    run(folder, 'adam', lambda net: torch.optim.Adam(net.parameters(), 0.02))
    run(folder, 'sgd', lambda net: torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=0.01),
        lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.7))
    run(folder, 'trainer', decayed, lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 60), save_folder)
    run(folder, 'epochs', lambda net: torch.optim.Adam(net.parameters(), 0.02), lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
        epoch=5)
    run(folder, 'cycle', lambda net: torch.optim.SGD(net.parameters(), 0.1),
        lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=40, anneal_strategy='linear', cycle_momentum=False))
    write_seed(f'{folder}/seed.pkl')


main()
