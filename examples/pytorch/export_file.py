"""The ONNX file that torch.onnx.export wrote, edited in its protobuf form. Needs nothing.

What export.py wants to say and ONNX has no operator for stands in the file as nodes of the domain "stepc":

    y = stepc::Detach(x)        becomes  y = Identity(x), and y is a detached tensor
    g = stepc::Gradient(y, x)   becomes  g = Gradient<xs = ["x"], zs = [detached tensors], y = "y">(x, ...)
"""

DOMAIN = b'stepc'
TRAINING = b'ai.onnx.preview.training'
# numbers of fields
MODEL_GRAPH, MODEL_OPSET, MODEL_METADATA = 7, 8, 14
GRAPH_NODE = 1
NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 3, 4, 5, 7
OPSET_DOMAIN, OPSET_VERSION = 1, 2
ATTRIBUTE_NAME, ATTRIBUTE_S, ATTRIBUTE_STRINGS, ATTRIBUTE_TYPE = 1, 4, 9, 20
TYPE_STRING, TYPE_STRINGS = 3, 8


def _varint(n):
    text = b''
    while n > 127:
        text += bytes([n & 127 | 128])
        n >>= 7
    return text + bytes([n])


def field(number, data):
    """One length-delimited field of a message."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number, value):
    return _varint(number << 3) + _varint(value)


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, content, whole) of each field of a message; content is None where it is no length-delimited one."""
    at = 0
    while at < len(data):
        start = at
        key, at = _read_varint(data, at)
        kind, content = key & 7, None
        if kind == 0:
            _, at = _read_varint(data, at)
        elif kind == 2:
            size, at = _read_varint(data, at)
            content = data[at:at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[kind]
        yield key >> 3, content, data[start:at]


def _texts(message, number):
    return [bytes(content) for n, content, _ in fields(message) if n == number]


def _attribute(name, kind, *parts):
    return field(NODE_ATTRIBUTE, field(ATTRIBUTE_NAME, name) + b''.join(parts) + _number(ATTRIBUTE_TYPE, kind))


def _strings(name, values):
    return _attribute(name, TYPE_STRINGS, *(field(ATTRIBUTE_STRINGS, v) for v in values))


def _node(op, inputs, outputs, name, rest=b''):
    return field(GRAPH_NODE, b''.join([field(NODE_INPUT, i) for i in inputs] + [field(NODE_OUTPUT, o) for o in outputs]) +
                 field(NODE_NAME, name) + field(NODE_OP, op) + rest)


class _Rewriter:
    def __init__(self):
        self.detached, self.has_gradients = [], False

    def gradient(self, y, x, output, name):
        """What is detached stays so in a gradient of the second order, too."""
        self.has_gradients = True
        rest = _strings(b'xs', [x]) + (_strings(b'zs', self.detached) if self.detached else b'')
        rest += _attribute(b'y', TYPE_STRING, field(ATTRIBUTE_S, y)) + field(NODE_DOMAIN, TRAINING)
        return _node(b'Gradient', [x] + self.detached, [output], name, rest)

    def node(self, message, whole):
        if _texts(message, NODE_DOMAIN) != [DOMAIN]:
            return whole
        op, inputs, outputs = (_texts(message, n) for n in (NODE_OP, NODE_INPUT, NODE_OUTPUT))
        name = b''.join(_texts(message, NODE_NAME))
        if op == [b'Gradient']:
            return self.gradient(*inputs, *outputs, name)
        self.detached += outputs
        return _node(b'Identity', inputs, outputs, name)

    def graph(self, message):
        return b''.join(self.node(content, whole) if number == GRAPH_NODE else whole for number, content, whole in fields(message))

    def model(self, data):
        parts, gap = [], field(MODEL_OPSET, field(OPSET_DOMAIN, TRAINING) + _number(OPSET_VERSION, 1))
        for number, content, whole in fields(data):
            if number == MODEL_GRAPH:
                whole = field(MODEL_GRAPH, self.graph(content))
            if number != MODEL_OPSET or _texts(content, OPSET_DOMAIN) != [DOMAIN]:
                parts.append(whole)
        return b''.join(parts) + (gap if self.has_gradients else b'')


def rewrite_markers(path):
    """Nodes of the domain "stepc" become those that are meant. Returns the names of detached tensors."""
    with open(path, 'rb') as f:
        data = memoryview(f.read())
    rewriter = _Rewriter()
    written = rewriter.model(data)
    if rewriter.detached or rewriter.has_gradients:
        with open(path, 'wb') as f:
            f.write(written)
    return [name.decode() for name in rewriter.detached]


def add_metadata(path, entries):
    """Appends to ModelProto.metadata_props: a protobuf message may be continued at its end."""
    with open(path, 'ab') as f:
        for key, value in entries.items():
            f.write(field(MODEL_METADATA, field(1, key.encode()) + field(2, value.encode())))
