"""Goes on in PyTorch where `stepc run --save STATE.safetensors` stopped. Needs only torch.

    from resume import resume
    steps = resume('state.safetensors', net, optimizer)

Weights go by name, and so does what the optimizer keeps and its learning rates. A schedule is made anew and called `steps` times.
"""
import json

import torch

TYPES = {'F64': torch.float64, 'F32': torch.float32, 'F16': torch.float16, 'BF16': torch.bfloat16, 'I64': torch.int64, 'U64': torch.int64}


def read_safetensors(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        data = bytearray(file.read() + bytes(8))
    return {name: torch.frombuffer(data, dtype=TYPES[t['dtype']], offset=t['data_offsets'][0], count=torch.Size(t['shape']).numel()).reshape(t['shape']).clone()
            for name, t in header.items() if name != '__metadata__'}


def resume(path, net, optimizer):
    tensors = read_safetensors(path)
    net.load_state_dict({name: tensors[name] for name in net.state_dict() if name in tensors}, strict=False)
    names = {id(p): name for name, p in net.named_parameters()}
    for group in optimizer.param_groups:
        for p in group['params']:
            state, rates = (f'optimizer.{part}.{names[id(p)]}.' for part in ('state', 'param_groups'))
            optimizer.state[p].update({name[len(state):]: t for name, t in tensors.items() if name.startswith(state)})
            group.update({key: tensors[rates + key].item() for key in ('lr', 'initial_lr') if rates + key in tensors})
    return int(tensors['stepc.run_steps'])
