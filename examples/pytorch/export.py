"""Exports a PyTorch module so that `stepc prepare` trains what PyTorch would. Needs only torch.

    from export import export
    export(module, example, 'model.onnx', input_names=['x'], output_names=['y'], dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}})

What torch.onnx.export would lose is kept: Dropout, BatchNorm as layers of their own, parameters under their names, and where
the network stops gradients (detach(), no_grad()); and BatchNorm's running statistics are not moved by the example. The file
also says which names are parameters and which are buffers.

The files export_*.py beside this one belong to it.
"""
import inspect
import os
import sys

import torch

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from export_file import add_metadata, rewrite_markers  # noqa: E402
from export_gradients import kept_gradients, stepc_gradient, stopped_programs  # noqa: E402

__all__ = ['export', 'stepc_gradient']


def _export_traced(module, arguments, path, options):
    """By the older exporter. Returns what the file's metadata say of gradients."""
    if 'dynamo' in inspect.signature(torch.onnx.export).parameters:
        options['dynamo'] = False
    with kept_gradients():
        torch.onnx.export(module, arguments, path, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, **options)
    return {'stepc.detached': '\n'.join(rewrite_markers(path))}


def _export_dynamo(module, arguments, path, options):
    """By the newer one, whose nodes say themselves what is detached, if no optimizer leads past them."""
    if not hasattr(torch, 'export') or 'optimize' not in inspect.signature(torch.onnx.export).parameters:
        raise RuntimeError('export(dynamo=True) needs PyTorch 2.6 or newer')
    options.setdefault('optimize', False)
    with stopped_programs():
        torch.onnx.export(module, arguments, path, dynamo=True, **options)
    return {}


def export(module, arguments, path, **options):
    """torch.onnx.export(module, arguments, path, **options) for training. The module stays as it is."""
    modes = {m: m.training for m in module.modules()}
    dynamo = options.pop('dynamo', False)
    module.train()
    for m in modes:
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and not dynamo:
            m.eval()  # else the exporter's run on the example would move the running statistics
    try:
        said = (_export_dynamo if dynamo else _export_traced)(module, arguments, path, options)
    finally:
        for m, training in modes.items():
            m.training = training
    norms = [(name, m) for name, m in module.named_modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    # what eval() has frozen in a network that is trained; of a network in eval() altogether nothing is known
    frozen = [name for name, m in norms if not m.training] if module.training or any(m.training for _, m in norms) else []
    parameters = list(module.named_parameters())
    add_metadata(path, {**said,
                        'stepc.parameters': '\n'.join(name for name, p in parameters if p.requires_grad),
                        'stepc.frozen': '\n'.join(name for name, p in parameters if not p.requires_grad),
                        'stepc.frozen_statistics': '\n'.join((name + '.running_mean').lstrip('.') for name in frozen),
                        'stepc.buffers': '\n'.join(name for name, _ in module.named_buffers())})
