#!/usr/bin/python3
"""usage: make.py FOLDER

Writes the checkpoints and losses of this folder: what PyTorch saves after 10 steps, and its losses in the 20 steps after them.
They are committed, so that tests need no PyTorch.
"""
import sys

import torch

STEPS, SAVED_AT, BATCH = 30, 10, 4


def make_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def write_numbers(path, numbers, form):
    with open(path, 'w') as file:
        file.write('\n'.join(' '.join(form % x for x in row) for row in numbers) + '\n')


def run(folder, name, make_optimizer, make_schedule=None):
    net = make_net()
    optimizer = make_optimizer(net)
    schedule = make_schedule(optimizer) if make_schedule else None
    torch.manual_seed(1)
    x, target, losses = torch.randn(STEPS, BATCH, 3), torch.randint(0, 2, (STEPS, BATCH)), []
    for step in range(STEPS):
        if step == SAVED_AT:
            parts = {'model': net.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3}
            torch.save({**parts, 'scheduler': schedule.state_dict()} if schedule else parts, f'{folder}/{name}.pt')
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[step]), target[step])
        loss.backward()
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    write_numbers(f'{folder}/x.txt', x.reshape(-1, 3).tolist(), '%.9g')
    write_numbers(f'{folder}/target.txt', target.tolist(), '%d')
    write_numbers(f'{folder}/{name}.losses', [[x] for x in losses[SAVED_AT:]], '%.9g')


def main():
    folder = sys.argv[1]
    run(folder, 'adam', lambda net: torch.optim.Adam(net.parameters(), 0.02))
    run(folder, 'sgd', lambda net: torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=0.01),
        lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.7))


main()
