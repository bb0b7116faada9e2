#!/usr/bin/python3
"""usage: setups.py STEPC [PAGE]

The set-ups of gradients.py and the operators of operators.py as a table: the first loss and gradient of stepc beside PyTorch's.
Writes the page, docs/pytorch-setups.md, or prints it. Needs Debian's python3-torch and gcc; takes some two minutes.
"""
import os
import sys
import tempfile

import torch

import gradients
import operators
from one_step import TOLERANCE, failures, try_case

PAGE = """# Training set-ups and losses beside PyTorch

Gradients that stop, gradients of the network's own, losses and operators that PyTorch's exporters
[get wrong](pytorch-exporters.md): small networks, whose output is their loss, exported by
[examples/pytorch/export.py](../examples/pytorch/export.py) and prepared by stepc. The table is made by
[tests/pytorch/setups.py](../tests/pytorch/setups.py), which you can run:

```
apt-get install python3-torch gcc
tests/pytorch/setups.py build/release/stepc docs/pytorch-setups.md
```

All numbers are parts of what PyTorch {version} has in float64: of the loss, and of the first update (the L2 norm of the
difference of all gradients, over that of the gradients). *interpreted* is stepc's interpreter, in double, whose results are
stored in float; *generated* is the C, in float; behind it, in brackets, what PyTorch's own float32 is off. Up to {tolerance:g} counts
as right, a wrong or missing gradient is off by about 1. {passed} of {count} are right. A network is exported with another
batch than it is trained with, where that can be.

## Set-ups

| set-up | what it is | loss off by: interpreted, generated | first update off by: interpreted, generated |
|---|---|---|---|
{setups}

## Losses and operators

| case | loss off by: interpreted, generated | first update off by: interpreted, generated |
|---|---|---|
{operators}
"""


def try_all(cases):
    """name: what try_case() returns, or None where it failed"""
    results = {}
    for name, arguments, options in cases:
        before = len(failures)
        try:
            results[name] = try_case(name, *arguments, **options)
        except Exception as e:  # of PyTorch or of stepc: the page says which case
            failures.append(f'{name}: {e}')
        if len(failures) > before:
            results[name] = None
    return results


def cells(result):
    if result is None:
        return ['**wrong**', '']
    return [f'{result["interpreted"][k]:.0e}, {result["generated"][k]:.0e} ({result["pytorch"][k]:.0e})' for k in range(2)]


def page(setups, others):
    first = [f'| `{name}` | {gradients.CASES[name][0].__doc__} | {" | ".join(cells(r))} |' for name, r in setups.items()]
    second = [f'| `{name}` | {" | ".join(cells(r))} |' for name, r in others.items()]
    every = [*setups.values(), *others.values()]
    return PAGE.format(version=torch.__version__, tolerance=TOLERANCE, passed=sum(r is not None for r in every), count=len(every),
                       setups='\n'.join(first), operators='\n'.join(second))


def main():
    target = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        setups = try_all((name, case, {}) for name, case in gradients.CASES.items())
        others = try_all((name, (make, inputs), options) for name, make, inputs, options in operators.cases())
        os.chdir('/')
    text = page(setups, others)
    if target:
        with open(target, 'w') as f:
            f.write(text)
    else:
        print(text)
    sys.exit(len(failures) > 0)


if __name__ == '__main__':
    main()
