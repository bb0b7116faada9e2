#!/usr/bin/python3
"""Writes tiny.onnx, of which the committed text in emitted/ is made. Needs python3-onnx."""
import os

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


def values(name, *dims):
    count = int(np.prod(dims))
    return numpy_helper.from_array(((np.arange(count) * 7 % 11 - 5) / 8).astype(np.float32).reshape(dims), name)


graph = helper.make_graph(
    [
        helper.make_node('Gemm', ['x', 'fc1.weight', 'fc1.bias'], ['fc1.output'], 'fc1', transB=1),
        helper.make_node('Relu', ['fc1.output'], ['hidden'], 'relu'),
        helper.make_node('Gemm', ['hidden', 'fc2.weight', 'fc2.bias'], ['logits'], 'fc2', transB=1),
    ],
    'tiny',
    [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['batch', 4])],
    [helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['batch', 2])],
    [values('fc1.weight', 3, 4), values('fc1.bias', 3), values('fc2.weight', 2, 3), values('fc2.bias', 2)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
checker.check_model(model, full_check=True)
save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tiny.onnx'))
