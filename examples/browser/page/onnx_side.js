// The plain models of `stepc expand`, run by onnxruntime-web. The state is a tensor for each variable: an input of the
// step has its name, the output NAME.new is what it is afterwards (docs/expand.md).
import * as ort from './ort/ort.wasm.min.mjs';
import { readCheckpoint, writeCheckpoint } from './checkpoint.js';
import { batchSize, pixels } from './data.js';

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

export class OnnxSide {
  #sessions = {};
  #variables;      // [{ name, role, output }] of the init model, in stepc's order
  #state = {};     // tensors by name

  static async create() {
    const side = new OnnxSide(), models = {};
    for (const entry of ['init', 'step', 'infer']) {
      models[entry] = new Uint8Array(await (await fetch(`digits.${entry}.onnx`)).arrayBuffer());
      side.#sessions[entry] = await ort.InferenceSession.create(models[entry]);
    }
    side.#variables = variablesOf(models.init);
    return side;
  }

  async #run(entry, inputs) {
    const session = this.#sessions[entry], feeds = {};
    for (const name of session.inputNames) feeds[name] = inputs[name] ?? this.#state[name];
    const results = await session.run(feeds);
    for (const name in results) if (name.endsWith('.new')) this.#state[name.slice(0, -4)] = results[name];
    return results;
  }

  async init(seed) {
    await this.#run('init', { random_seed: new ort.Tensor('int64', [BigInt(seed)], []) });
  }

  // Adam counts steps from 1.
  get stepsDone() {
    return Number(this.#state.step_count.data[0]) - 1;
  }

  // Trains with one batch and returns its loss.
  async step({ x, labels }) {
    const { loss } = await this.#run('step', {
      x: new ort.Tensor('float32', x, [batchSize, pixels]),
      target: new ort.Tensor('int64', BigInt64Array.from(labels, BigInt), [batchSize]),
    });
    return loss.data[0];
  }

  // The logits of 32 images
  async infer(x) {
    const { logits } = await this.#run('infer', { x: new ort.Tensor('float32', x, [batchSize, pixels]) });
    return logits.data;
  }

  // Seed and counter of random numbers stay here: they serve init() alone in this network.
  #kept() {
    return this.#variables.filter(({ role }) => role !== 'random');
  }

  save() {
    return writeCheckpoint(this.#kept().map(({ name, role }) => {
      const { type, dims, data } = this.#state[name];
      return { name, role, type, dims, data };
    }));
  }

  load(bytes) {
    const found = readCheckpoint(bytes), loaded = {};
    for (const { name } of this.#kept()) {
      const { type, dims, data } = found.get(name) ?? {}, mine = this.#state[name];
      if (type !== mine.type || String(dims) !== String(mine.dims))
        throw Error('the checkpoint belongs to another model');
      loaded[name] = new ort.Tensor(type, data, dims);
    }
    Object.assign(this.#state, loaded);
  }
}
