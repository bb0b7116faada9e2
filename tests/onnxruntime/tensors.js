// Tensors of onnxruntime from files and to them: .npy, and .pb with one TensorProto.
'use strict';
const fs = require('fs');

const types = {
  '<f4': ['float32', Float32Array], '<f8': ['float64', Float64Array], '<f2': ['float16', Uint16Array],
  '<i8': ['int64', BigInt64Array], '<u8': ['uint64', BigUint64Array], '<i4': ['int32', Int32Array],
  '<u4': ['uint32', Uint32Array], '<i2': ['int16', Int16Array], '<u2': ['uint16', Uint16Array],
  '|i1': ['int8', Int8Array], '|u1': ['uint8', Uint8Array], '|b1': ['bool', Uint8Array],
};

exports.known = new Set(Object.values(types).map(([type]) => type));

// { type, dims, data }, or null for a type that JavaScript has no array of
exports.read = path => {
  const bytes = fs.readFileSync(path);
  const header = bytes.subarray(10, 10 + bytes.readUInt16LE(8)).toString('latin1');
  const found = types[/'descr': '([^']*)'/.exec(header)[1]];
  if (!found) return null;
  const [type, Elements] = found;
  const dims = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').filter(s => s.trim()).map(Number);
  const from = 10 + bytes.readUInt16LE(8);
  const copy = new Uint8Array(bytes.subarray(from)).buffer;
  return { type, dims, data: new Elements(copy) };
};

const from16 = x => {
  const sign = x & 0x8000 ? -1 : 1, exponent = x >> 10 & 31, fraction = x & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * fraction / 1024);
};

// Elements as numbers; those of 64 bits too
exports.numbers = t => Array.from(t.data, x => t.type === 'float16' ? from16(x) : Number(x));

exports.write = (path, { type, dims, data }) => {
  const descr = Object.keys(types).find(key => types[key][0] === type);
  const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(', ')})`;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;
  header += ' '.repeat(63 - (10 + header.length) % 64) + '\n';
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  fs.writeFileSync(path, Buffer.concat([start, Buffer.from(header, 'latin1'),
                                        Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
};

// dims (1), data_type (2), raw_data (9)
exports.readProto = path => {
  const bytes = fs.readFileSync(path);
  const elements = { 1: '<f4', 6: '<i4', 7: '<i8', 9: '|b1', 11: '<f8' };
  let at = 0, type, raw;
  const dims = [];
  const varint = () => {
    let x = 0, factor = 1, b;
    do {
      b = bytes[at++];
      x += (b & 127) * factor;
      factor *= 128;
    } while (b & 128);
    return x;
  };
  while (at < bytes.length) {
    const key = varint(), field = key >> 3;
    if ((key & 7) === 0) {
      const x = varint();
      if (field === 1) dims.push(x);
      if (field === 2) type = x;
    } else {
      const end = varint() + at;
      if (field === 1) while (at < end) dims.push(varint());
      if (field === 9) raw = new Uint8Array(bytes.subarray(at, end)).buffer;
      at = end;
    }
  }
  const [name, Elements] = types[elements[type]];
  return { type: name, dims, data: new Elements(raw) };
};

// Elements of one type as an array of it
exports.array = (type, list) => {
  const [, Elements] = Object.values(types).find(([name]) => name === type);
  return Elements.from(list, x => Elements === BigInt64Array || Elements === BigUint64Array ? BigInt(x) : x);
};
