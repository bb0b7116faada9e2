#!/usr/bin/python3
"""Writes model.onnx: the inference model 64-32-10 that ./run trains, as PyTorch exports it, with shorter names. Needs python3-torch
and python3-onnx; model.onnx is committed, so that nobody has to run this. The weights are random; the example draws others
(`--initialize he`)."""
import os

import numpy as np
import onnx
import torch


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(64, 32)
        self.fc2 = torch.nn.Linear(32, 10)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


model = Digits()
random = np.random.RandomState(1)  # PyTorch's own numbers differ between versions
with torch.no_grad():
    for parameter in model.parameters():
        bound = 1 / np.sqrt(model.fc1.in_features if len(parameter) == 32 else model.fc2.in_features)
        parameter.copy_(torch.from_numpy(random.uniform(-bound, bound, parameter.shape).astype(np.float32)))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'model.onnx')
torch.onnx.export(model, torch.zeros(32, 64), path,
                  input_names=['x'], output_names=['logits'], dynamic_axes={'x': {0: 'batch'}, 'logits': {0: 'batch'}},
                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17)

# stepc takes the names as they are; in the C, `hidden` reads better than `Relu_output_0`.
names = {'/fc1/Gemm_output_0': 'fc1.output', '/Relu_output_0': 'hidden', '/fc1/Gemm': 'fc1', '/Relu': 'relu', '/fc2/Gemm': 'fc2'}
exported = onnx.load(path)
exported.graph.name = 'digits'
for node in exported.graph.node:
    node.name = names[node.name]
    for tensors in node.input, node.output:
        tensors[:] = [names.get(name, name) for name in tensors]
onnx.checker.check_model(exported, full_check=True)
onnx.save(exported, path)
