// stepc's file of a state (runtime/checkpoint.h says the format), for the side that has no C. `stepc run --load` and
// `stepc expand --state` read what this writes.
import { typeOf } from './types.js';

const magic = [0x89, 0x53, 0x54, 0x45, 0x50, 0x43, 0x0d, 0x0a], end = new TextEncoder().encode('STEPCEND');
const roles = ['weight', 'statistic', 'optimizer', 'counter', 'sum'];

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc(...parts) {
  let c = 0xffffffff;
  for (const part of parts) for (const byte of part) c = crcTable[(c ^ byte) & 255] ^ c >>> 8;
  return (c ^ 0xffffffff) >>> 0;
}

const padded = n => Math.ceil(n / 8) * 8;

// variables: [{ name, role, type, dims, data }]
export function writeCheckpoint(variables) {
  const list = variables.map(v => ({ ...v, code: typeOf(v.type).number, text: new TextEncoder().encode(v.name) }));
  const lengths = list.map(v => padded(24 + 8 * v.dims.length + v.text.length + v.data.byteLength));
  const endAt = lengths.reduce((a, b) => a + b, 40);
  const bytes = new Uint8Array(endAt + 16), view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, 1, true);
  view.setUint32(12, list.length, true);
  view.setBigUint64(16, 1n, true);
  view.setBigUint64(24, BigInt(endAt), true);
  view.setUint32(36, crc(bytes.subarray(0, 36)), true);
  let at = 40;
  list.forEach(({ text, code, role, dims, data }, i) => {
    [text.length, code, roles.indexOf(role), dims.length].forEach((n, k) => view.setUint32(at + 4 * k, n, true));
    [...dims, data.byteLength].forEach((n, k) => view.setBigUint64(at + 16 + 8 * k, BigInt(n), true));
    bytes.set(text, at + 24 + 8 * dims.length);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at + 24 + 8 * dims.length + text.length);
    at += lengths[i];
  });
  bytes.set(end, at);
  view.setUint32(at + 12, crc(bytes.subarray(0, at + 12)), true);
  return bytes;
}

// Returns a map from names to { type, dims, data }. An error says what is wrong with the file.
export function readCheckpoint(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), damaged = Error('the checkpoint is damaged');
  const same = (from, wanted) => wanted.every((byte, i) => bytes[from + i] === byte);
  if (bytes.length < 56 || !same(0, magic)) throw damaged;
  if (view.getUint32(8, true) !== 1) throw Error('the checkpoint belongs to another version');
  const at = Number(view.getBigUint64(24, true));
  if (view.getUint32(36, true) !== crc(bytes.subarray(0, 36)) || at + 16 > bytes.length || !same(at, end) ||
      view.getUint32(at + 12, true) !== crc(bytes.subarray(0, at + 12)))
    throw damaged;
  const variables = new Map();
  let from = 40;
  for (let left = view.getUint32(12, true); left > 0; left--) {
    const [length, code, , rank] = [0, 4, 8, 12].map(k => view.getUint32(from + k, true));
    const sizes = Array.from({ length: rank + 1 }, (_, k) => Number(view.getBigUint64(from + 16 + 8 * k, true)));
    const name = from + 24 + 8 * rank, size = sizes.pop(), { type, Elements } = typeOf(code) ?? {};
    if (name + length + size > at) throw damaged;
    const text = new TextDecoder().decode(bytes.subarray(name, name + length));
    const data = Uint8Array.from(bytes.subarray(name + length, name + length + size)).buffer; // a copy is aligned
    if (Elements) variables.set(text, { type, dims: sizes, data: new Elements(data) });
    from = padded(name + length + size);
  }
  return variables;
}
