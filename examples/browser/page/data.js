// The images of digits.csv, and the batch of each step: the same as in examples/digits, whose program makes the same steps.

export const batchSize = 32, pixels = 64, classes = 10;
const testCount = 10 * batchSize;

// xorshift64*; Fisher and Yates
class Order {
  #state = 1n;

  #next() {
    this.#state ^= this.#state >> 12n;
    this.#state = BigInt.asUintN(64, this.#state ^ this.#state << 25n);
    this.#state ^= this.#state >> 27n;
    return BigInt.asUintN(64, this.#state * 0x2545F4914F6CDD1Dn);
  }

  shuffle(list) {
    for (let i = list.length - 1; i > 0; i--) {
      const j = Number((this.#next() >> 32n) % BigInt(i + 1));
      [list[i], list[j]] = [list[j], list[i]];
    }
  }
}

export class Digits {
  #x;      // all images, 0 .. 1
  #labels;
  #test;   // numbers of images
  #train;  // as the last of #epochs has them
  #epochs = []; // the order of each epoch that was asked for
  #order = new Order();

  // text: lines of 64 grey values from 0 to 16, then the digit
  constructor(text) {
    const rows = text.trim().split('\n').map(line => line.split(',').map(Number));
    this.#x = Float32Array.from(rows.flatMap(row => row.slice(0, pixels)), v => v / 16);
    this.#labels = rows.map(row => row[pixels]);
    const all = rows.map((_, i) => i);
    this.#order.shuffle(all);
    this.#test = all.slice(0, testCount);
    this.#train = all.slice(testCount);
    this.stepsPerEpoch = Math.floor(this.#train.length / batchSize);
  }

  #images(numbers) {
    const x = new Float32Array(numbers.length * pixels);
    numbers.forEach((n, i) => x.set(this.#x.subarray(n * pixels, (n + 1) * pixels), i * pixels));
    return { x, target: numbers.map(n => this.#labels[n]) };
  }

  // What step `step` (from 0) trains with, by the names of the model's inputs: { x, target }
  batch(step) {
    const epoch = Math.floor(step / this.stepsPerEpoch), at = step % this.stepsPerEpoch * batchSize;
    while (this.#epochs.length <= epoch) {
      this.#order.shuffle(this.#train);
      this.#epochs.push(Uint16Array.from(this.#train));
    }
    return this.#images(Array.from(this.#epochs[epoch].subarray(at, at + batchSize)));
  }

  // The images that are never trained with, in batches
  testBatches() {
    return Array.from({ length: testCount / batchSize },
      (_, b) => this.#images(this.#test.slice(b * batchSize, (b + 1) * batchSize)));
  }
}
