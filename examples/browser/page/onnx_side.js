// The plain models of `stepc expand`, run by onnxruntime-web. The state is a tensor for each variable: an input of the
// step has its name, the output NAME.new is what it is afterwards (docs/expand.md).
import * as ort from './ort/ort.wasm.min.mjs';
import { readCheckpoint, writeCheckpoint } from './checkpoint.js';
import { elementsFor } from './types.js';

ort.env.wasm.wasmPaths = new URL('./ort/', import.meta.url).href;
ort.env.wasm.numThreads = 1; // several need headers that a plain web server does not send

// "stepc.variables" of a model's metadata_props, which onnxruntime-web does not hand out. Behind the key, field 1 of the
// entry, stands field 2: its length as a varint, and JSON.
function variablesOf(model) {
  const key = 'stepc.variables';
  let at = new TextDecoder('latin1').decode(model).indexOf(key) + key.length + 1, length = 0, shift = 0, byte;
  do {
    byte = model[at++];
    length |= (byte & 127) << shift;
    shift += 7;
  } while (byte & 128);
  return JSON.parse(new TextDecoder().decode(model.subarray(at, at + length)));
}

// Seed and counters of random numbers are saved if the step draws. They are uint64 in a file, and have a prefix.
const inFile = ({ name, role }) => role === 'random' ? `stepc.${name}` : name;
const asUnsigned = ({ dims, data }) => ({ role: 'counter', type: 'uint64', dims, data: new BigUint64Array(data.buffer, data.byteOffset, data.length) });

export class OnnxSide {
  #sessions = {};
  #kept;           // [{ name, role }] of what a file has, in stepc's order
  #state = {};     // tensors by name
  #firstCount;     // what the optimizer counts from; undefined: it does not count
  #steps = 0;      // then they are counted here

  static async create() {
    const side = new OnnxSide(), variables = {};
    for (const entry of ['init', 'step', 'infer']) {
      const model = new Uint8Array(await (await fetch(`net.${entry}.onnx`)).arrayBuffer());
      side.#sessions[entry] = await ort.InferenceSession.create(model);
      variables[entry] = variablesOf(model);
    }
    const draws = variables.step.some(v => v.role === 'random' && v.input && !v.output); // reads the seed
    side.#kept = variables.init.filter(v => v.role !== 'random' || draws);
    return side;
  }

  async #run(entry, given) {
    const session = this.#sessions[entry], feeds = {};
    for (const { name, type, shape } of session.inputMetadata)
      feeds[name] = this.#state[name] ??
        new ort.Tensor(type, elementsFor(given, name, type, shape.reduce((a, b) => a * b, 1)), shape);
    const results = await session.run(feeds);
    for (const name in results) if (name.endsWith('.new')) this.#state[name.slice(0, -4)] = results[name];
    return results;
  }

  async init(seed) {
    this.#state = {};
    await this.#run('init', { random_seed: [seed] });
    const { type, dims, data } = this.#state.step_count ?? {}; // a variable of that name may be any other, too
    this.#firstCount = type === 'int64' && dims.length === 0 ? data[0] : undefined;
    this.#steps = 0;
  }

  get stepsDone() {
    return this.#firstCount === undefined ? this.#steps : Number(this.#state.step_count.data[0] - this.#firstCount);
  }

  // Trains with one batch, inputs of the step by name, and returns its loss.
  async step(feeds) {
    const { loss } = await this.#run('step', feeds);
    this.#steps++;
    return loss.data[0];
  }

  // The first output of the inference graph
  async infer(feeds) {
    return (await this.#run('infer', feeds))[this.#sessions.infer.outputNames[0]].data;
  }

  save() {
    return writeCheckpoint(this.#kept.map(v => {
      const { type, dims, data } = this.#state[v.name];
      return { name: inFile(v), role: v.role, type, dims, data, ...v.role === 'random' && asUnsigned({ dims, data }) };
    }));
  }

  load(bytes) {
    const found = readCheckpoint(bytes), loaded = {};
    for (const v of this.#kept) {
      const { type, dims, data } = found.get(inFile(v)) ?? {}, mine = this.#state[v.name];
      if (type !== (v.role === 'random' ? 'uint64' : mine.type) || String(dims) !== String(mine.dims))
        throw Error('the checkpoint belongs to another model');
      loaded[v.name] = new ort.Tensor(mine.type, v.role === 'random' ? new BigInt64Array(data.buffer) : data, dims);
    }
    Object.assign(this.#state, loaded);
    this.#steps = 0;
  }
}
