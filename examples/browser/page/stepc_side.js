// stepc's C, compiled to WebAssembly: wasm/trainer.c says what its functions do.
import { elementsFor, typeOf } from './types.js';

const stepReads = 1, stepWrites = 2, inferReads = 4, inferWrites = 8;

export class StepcSide {
  #c;       // what net.wasm exports
  #tensors; // [{ name, dtype, uses, data }]: inputs and outputs. data are views of its memory, which does not grow any more
  #loss;
  #result;

  static async create() {
    const side = new StepcSide();
    const { instance } = await WebAssembly.instantiateStreaming(fetch('net.wasm'));
    side.attach(instance);
    return side;
  }

  attach(instance) {
    const c = this.#c = instance.exports;
    this.#check(c.start());
    const { buffer } = c.memory, words = new Uint32Array(buffer, c.address_of_tensors(), 5 * c.count_of_tensors());
    this.#tensors = Array.from({ length: words.length / 5 }, (_, i) => {
      const [name, dtype, count, uses, data] = words.subarray(5 * i, 5 * i + 5), { Elements } = typeOf(dtype) ?? {};
      return { name: this.#text(name), dtype, uses, data: Elements && new Elements(buffer, data, count) };
    });
    this.#loss = this.#tensors.find(t => t.uses & stepWrites && t.name === 'loss')?.data;
    this.#result = this.#tensors.find(t => t.uses & inferWrites)?.data;
    if (!this.#loss || !this.#result) throw Error("the model gives no 'loss', or no result");
  }

  #text(address) {
    const bytes = new Uint8Array(this.#c.memory.buffer, address);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  #check(status) {
    if (status !== 0) throw Error(this.#text(this.#c.status_text(status)));
  }

  #feed(feeds, use) {
    for (const { name, dtype, uses, data } of this.#tensors)
      if (uses & use) data.set(elementsFor(feeds, name, dtype, data?.length));
  }

  async init(seed) {
    this.#check(this.#c.init(seed));
  }

  get stepsDone() {
    return this.#c.steps_done();
  }

  // Trains with one batch, inputs of the step by name, and returns its loss.
  async step(feeds) {
    this.#feed(feeds, stepReads);
    this.#check(this.#c.step());
    return this.#loss[0];
  }

  // The first output of the inference graph
  async infer(feeds) {
    this.#feed(feeds, inferReads);
    this.#check(this.#c.infer());
    return this.#result.slice();
  }

  save() {
    this.#check(this.#c.save());
    return new Uint8Array(this.#c.memory.buffer, this.#c.address_of_file(), this.#c.bytes_of_file()).slice();
  }

  load(bytes) {
    if (bytes.length > this.#c.room_of_file()) throw Error('the checkpoint belongs to another model');
    new Uint8Array(this.#c.memory.buffer, this.#c.address_of_file(), bytes.length).set(bytes);
    this.#check(this.#c.load(bytes.length));
  }
}
