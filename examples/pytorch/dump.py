"""Writes one training step of a PyTorch module as files, for `stepc compare MODEL --against FOLDER`.

Needs only torch and numpy. In your training script, before the first step of the optimizer:

    from dump import dump_step
    dump_step('dump', module, {'x': images}, 'target', labels, torch.nn.functional.cross_entropy)

Run it on the weights that the ONNX file holds: right after torch.onnx.export, in the same process, or after
module.load_state_dict(). Alone, `python3 dump.py FOLDER` writes the step of a small network as a demonstration.
"""
import os
import re
import sys

import numpy as np
import torch


def file_name(name):
    """The file of a tensor: what is no letter, digit, '.', '_' or '-' becomes '_', as stepc does it."""
    return re.sub(rb'[^A-Za-z0-9._-]', b'_', name.encode()).decode() + '.npy'


def save(folder, name, tensor):
    if tensor.dtype == torch.bfloat16:  # NumPy has no such type
        tensor = tensor.float()
    np.save(os.path.join(folder, file_name(name)), tensor.detach().cpu().numpy())


def dump_step(folder, module, inputs, target_name, target, loss_function, output_names=(), parameter_names=None, keep=None):
    """Runs module and loss forwards and backwards once and writes into `folder`

        NAME.npy            each input and the target, under their names in the ONNX model
        NAME.npy            each parameter and buffer as it is before the step
        NAME.gradient.npy   the gradient of each parameter
        loss.npy            the loss
        NAME.npy            the outputs that `output_names` names, in the order of the module's results

    inputs            {name in the ONNX model: tensor}, in the order of the module's arguments
    loss_function     takes the module's (first) output and the target
    parameter_names   {name in the module: name in the ONNX model}, for those that the export renamed
    keep              {name of a submodule: name of an ONNX tensor}: the submodule's output is written as well

    The module's own gradients are left as they are found. Returns the loss.
    """
    os.makedirs(folder, exist_ok=True)
    renamed = parameter_names or {}
    hooks = [module.get_submodule(inner).register_forward_hook(lambda m, i, y, name=name: save(folder, name, y))
             for inner, name in (keep or {}).items()]
    for name, tensor in {**inputs, target_name: target}.items():
        save(folder, name, tensor)
    # Before the step: BatchNorm writes its buffers while it runs.
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        save(folder, renamed.get(name, name), tensor)
    try:
        result = module(*inputs.values())
    finally:
        for hook in hooks:
            hook.remove()
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    for name, tensor in zip(output_names, outputs):
        save(folder, name, tensor)
    loss = loss_function(outputs[0], target)
    save(folder, 'loss', loss)
    trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    gradients = torch.autograd.grad(loss, [p for _, p in trained], allow_unused=True)
    for (name, p), gradient in zip(trained, gradients):
        save(folder, renamed.get(name, name) + '.gradient', torch.zeros_like(p) if gradient is None else gradient)
    return loss.item()


def main():
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    torch.manual_seed(1)
    module = torch.nn.Sequential()
    module.add_module('fc1', torch.nn.Linear(64, 32))
    module.add_module('relu', torch.nn.ReLU())
    module.add_module('fc2', torch.nn.Linear(32, 10))
    loss = dump_step(folder, module, {'x': torch.rand(16, 64)}, 'target', torch.randint(10, (16,)), torch.nn.functional.cross_entropy,
                     output_names=['logits'], keep={'relu': 'hidden'})
    print(f'{folder}: one step, loss {loss:.6f}')


if __name__ == '__main__':
    main()
