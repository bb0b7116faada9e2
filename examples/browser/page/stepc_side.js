// stepc's C, compiled to WebAssembly: wasm/trainer.c says what its functions do.
import { batchSize, classes, pixels } from './data.js';

export class StepcSide {
  #c;      // what digits.wasm exports
  #x;      // views of its memory, which never grows
  #target;
  #logits;

  static async create() {
    const side = new StepcSide();
    const { instance } = await WebAssembly.instantiateStreaming(fetch('digits.wasm'));
    side.attach(instance);
    return side;
  }

  attach(instance) {
    const c = this.#c = instance.exports, buffer = c.memory.buffer;
    this.#x = new Float32Array(buffer, c.address_of_x(), batchSize * pixels);
    this.#target = new BigInt64Array(buffer, c.address_of_target(), batchSize);
    this.#logits = new Float32Array(buffer, c.address_of_logits(), batchSize * classes);
  }

  #check(status) {
    if (status === 0) return;
    const text = new Uint8Array(this.#c.memory.buffer, this.#c.status_text(status));
    throw Error(new TextDecoder().decode(text.subarray(0, text.indexOf(0))));
  }

  async init(seed) {
    this.#check(this.#c.init(seed));
  }

  get stepsDone() {
    return this.#c.steps_done();
  }

  // Trains with one batch and returns its loss.
  async step({ x, labels }) {
    this.#x.set(x);
    labels.forEach((label, i) => this.#target[i] = BigInt(label));
    this.#check(this.#c.step());
    return this.#c.last_loss();
  }

  // The logits of 32 images
  async infer(x) {
    this.#x.set(x);
    this.#check(this.#c.infer());
    return this.#logits.slice();
  }

  save() {
    const size = this.#c.save();
    return new Uint8Array(this.#c.memory.buffer, this.#c.address_of_file(), size).slice();
  }

  load(bytes) {
    if (bytes.length > this.#c.room_of_file()) throw Error('the checkpoint belongs to another model');
    new Uint8Array(this.#c.memory.buffer, this.#c.address_of_file(), bytes.length).set(bytes);
    this.#check(this.#c.load(bytes.length));
  }
}
