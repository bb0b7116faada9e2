#!/usr/bin/python3
"""Writes model.onnx: the inference model 64-32-10 that ./run trains. Needs python3-onnx; model.onnx is committed, so that
nobody has to run this. The weights are random; the example draws others (`--initialize he`)."""
import os

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


random = np.random.RandomState(1)


def weights(name, *dims):
    """Uniform in +-1 / sqrt(inputs of a neuron)."""
    bound = 1 / np.sqrt({32: 64, 10: 32}[dims[0]])
    return numpy_helper.from_array(random.uniform(-bound, bound, dims).astype(np.float32), name)


graph = helper.make_graph(
    [
        helper.make_node('Gemm', ['x', 'fc1.weight', 'fc1.bias'], ['fc1.output'], 'fc1', transB=1),
        helper.make_node('Relu', ['fc1.output'], ['hidden'], 'relu'),
        helper.make_node('Gemm', ['hidden', 'fc2.weight', 'fc2.bias'], ['logits'], 'fc2', transB=1),
    ],
    'digits',
    [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['batch', 64])],
    [helper.make_tensor_value_info('logits', TensorProto.FLOAT, ['batch', 10])],
    [weights('fc1.weight', 32, 64), weights('fc1.bias', 32), weights('fc2.weight', 10, 32), weights('fc2.bias', 10)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
checker.check_model(model, full_check=True)
save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'model.onnx'))
