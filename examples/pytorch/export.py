"""Exports a PyTorch module so that `stepc prepare` trains what PyTorch would. Needs only torch.

    from export import export
    export(module, example, 'model.onnx', input_names=['x'], output_names=['y'], dynamic_axes={'x': {0: 'batch'}, 'y': {0: 'batch'}})

What torch.onnx.export would lose is kept: Dropout, BatchNorm as layers of their own, parameters under their names; and BatchNorm's
running statistics are not moved by the example. The file also says which names are parameters and which are buffers.
"""
import inspect

import torch


def _field(number, data):
    """One length-delimited field of a protobuf message."""
    head = bytes([number << 3 | 2])
    size = len(data)
    while size > 127:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + data


def add_metadata(path, entries):
    """Appends to ModelProto.metadata_props: a protobuf message may be continued at its end."""
    with open(path, 'ab') as f:
        for key, value in entries.items():
            f.write(_field(14, _field(1, key.encode()) + _field(2, value.encode())))


def export(module, arguments, path, **options):
    """torch.onnx.export(module, arguments, path, **options) for training. The module stays as it is."""
    modes = {m: m.training for m in module.modules()}
    module.train()
    for m in modes:
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.eval()  # else the exporter's run on the example would move the running statistics
    if 'dynamo' in inspect.signature(torch.onnx.export).parameters:
        options.setdefault('dynamo', False)
    try:
        torch.onnx.export(module, arguments, path, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, **options)
    finally:
        for m, training in modes.items():
            m.training = training
    parameters = list(module.named_parameters())
    add_metadata(path, {'stepc.parameters': '\n'.join(name for name, p in parameters if p.requires_grad),
                        'stepc.frozen': '\n'.join(name for name, p in parameters if not p.requires_grad),
                        'stepc.buffers': '\n'.join(name for name, _ in module.named_buffers())})
