"""Goes on in PyTorch where `stepc run --save STATE.safetensors` stopped. Needs only torch.

    from resume import resume
    steps = resume('state.safetensors', net, optimizer)            # or, with a schedule that was just made of the optimizer:
    steps = resume('state.safetensors', net, optimizer, schedule)  # it has then made as many steps
    steps = resume('state.safetensors', net, optimizer, schedule, steps_per_call=100)  # ...or was called once in 100 steps

Weights go by name, and so does what the optimizer keeps and its learning rates: each group's is that of the next step.
"""
import json
import warnings

import torch

TYPES = {'F64': torch.float64, 'F32': torch.float32, 'F16': torch.float16, 'BF16': torch.bfloat16, 'I64': torch.int64, 'I32': torch.int32,
         'I16': torch.int16, 'I8': torch.int8, 'U8': torch.uint8, 'BOOL': torch.bool, 'U64': torch.int64}


def read_safetensors(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        data = bytearray(file.read() + bytes(8))
    return {name: torch.frombuffer(data, dtype=TYPES[t['dtype']], offset=t['data_offsets'][0], count=torch.Size(t['shape']).numel()).reshape(t['shape']).clone()
            for name, t in header.items() if name != '__metadata__' and t['dtype'] in TYPES}


def check_rates(path, groups, saved, steps, calls):
    """What the schedule comes to has to be what the run had; a schedule of epochs, moved by steps, comes to another."""
    for group, want in zip(groups, saved):
        if want is not None and abs(group['lr'] - want) > 1e-4 * abs(want) + 1e-6 * abs(group.get('initial_lr', want)):
            raise ValueError(f'{path} has learning rate {want:g} after {steps} steps, but the schedule comes to {group["lr"]:g} after {calls} calls: '
                             'steps_per_call says how many steps a call stands for, as those of an epoch')


def resume(path, net, optimizer, schedule=None, steps_per_call=1):
    tensors = read_safetensors(path)
    names = {id(p): name for name, p in net.named_parameters()}
    missing = [name for name in names.values() if name not in tensors]
    if len(missing) == len(names):
        raise KeyError(f'{path} has none of the parameters of the network: {missing[0]!r}..., but {next(iter(tensors))!r}...')
    if missing:
        warnings.warn(f'{path} has no {", ".join(missing)}: they stay as they are')
    net.load_state_dict({name: tensors[name] for name in net.state_dict() if name in tensors}, strict=False)
    saved = []
    for group in optimizer.param_groups:
        rate = None
        for p in group['params']:
            state, rates = (f'optimizer.{part}.{names[id(p)]}.' for part in ('state', 'param_groups'))
            optimizer.state[p].update({name[len(state):]: t for name, t in tensors.items() if name.startswith(state)})
            found = {key: tensors[rates + key].item() for key in ('lr', 'initial_lr') if rates + key in tensors}
            rate = found.get('lr')
            if 'max_lr' in group:  # OneCycleLR has rates of its own
                found.pop('initial_lr', None)
            elif schedule and found:
                base = found['initial_lr'] if 'initial_lr' in found else found['lr']
                found = {'lr': group['lr'] * base / group['initial_lr'], 'initial_lr': base}
            group.update(found)
        saved.append(rate)
    steps = int(tensors['stepc.run_steps'])
    if schedule:
        if hasattr(schedule, 'base_lrs'):
            schedule.base_lrs = [group['initial_lr'] for group in optimizer.param_groups]
        with warnings.catch_warnings():  # that the optimizer has made no step yet
            warnings.simplefilter('ignore')
            for _ in range(steps // steps_per_call):
                schedule.step()
        check_rates(path, optimizer.param_groups, saved, steps, steps // steps_per_call)
    return steps
