#!/usr/bin/env python3
"""usage: checker.py STEPC MODEL...: what `stepc expand` makes of training models keeps onnx.checker's rules, and the types and
shapes that it states are those that ONNX infers."""
import os
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import checker, shape_inference


def stepc_refuses(stepc, model, folder):
    out = os.path.join(folder, "other.c")
    return subprocess.run([stepc, "compile", model, "-o", out], capture_output=True).returncode != 0


def check(stepc, model, opset, folder):
    out = os.path.join(folder, "plain.onnx")
    command = [stepc, "expand", model, "-o", out, "--opset", str(opset)]
    while True:
        said = subprocess.run(command, capture_output=True, text=True)
        size = re.search(r"give --dim (\S+)=SIZE", said.stderr)
        if not size:
            break
        command += ["--dim", size.group(1) + "=4"]
    if said.returncode != 0:
        return None if "--opset" in said.stderr or stepc_refuses(stepc, model, folder) else False
    for line in said.stdout.splitlines():
        plain = onnx.load(line.split(": ", 1)[1])
        checker.check_model(plain, full_check=True)
        shape_inference.infer_shapes(plain, check_type=True, strict_mode=True)
        known = {v.name for v in [*plain.graph.value_info, *plain.graph.output]}
        for node in plain.graph.node:
            missing = [name for name in node.output if name and name not in known]
            if missing:
                print(f"{model}: no type of {missing}")
                return False
    return True


def main():
    stepc, models = sys.argv[1], sys.argv[2:]
    newest = min(onnx.defs.onnx_opset_version(), 28)
    bad = refused = checked = 0
    for model in models:
        for opset in {13, 15, newest}:
            with tempfile.TemporaryDirectory() as folder:
                right = check(stepc, model, opset, folder)
                refused += right is None
                checked += right is True
                if right is False:
                    print(f"{model}: opset {opset} fails")
                    bad += 1
    print(f"{len(models)} models at versions up to {newest}: {checked} checked, {refused} refused, {bad} fail")
    return 1 if bad or checked <= refused else 0


sys.exit(main())
