#!/usr/bin/python3
"""Writes external.onnx: y = x w with w in weights.bin, which the test makes. Needs python3-onnx; the file is committed."""
import os

from onnx import TensorProto, helper, save

w = TensorProto(name='w', data_type=TensorProto.FLOAT, dims=[4, 3], data_location=TensorProto.EXTERNAL)
w.external_data.add(key='location', value='weights.bin')
graph = helper.make_graph(
    [helper.make_node('MatMul', ['x', 'w'], ['y'])], 'external',
    [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['batch', 4])],
    [helper.make_tensor_value_info('y', TensorProto.FLOAT, ['batch', 3])], [w])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'external.onnx'))
