// usage: node train.js NODE_MODULES STEPC WORK [--steps N] [--seed S] [--opset N] [--dim NAME=SIZE...] MODEL [NAME=FILE...]
// Trains MODEL, a training model, in onnxruntime, as `stepc expand` writes it, and by stepc's interpreter in double; scalar
// outputs of every step and all variables at the end agree. FILE (.npy or .pb): an input, one leading axis more; those
// that are not given are drawn. Sizes that the model leaves open are 4. Prints one line; status 1 where they differ.
'use strict';
const fs = require('fs'), path = require('path'), { spawnSync } = require('child_process');
const tensors = require('./tensors.js');

const args = process.argv.slice(2);
const option = (name, fallback) => {
  const at = args.indexOf(name);
  return at < 0 ? fallback : args.splice(at, 2)[1];
};
const steps = Number(option('--steps', 10)), seed = option('--seed', '7'), opset = option('--opset', '18');
const tensorTolerance = Number(option('--tolerance', 1e-3));
const sizes = [];
for (const name of ['--dim', '--shape'])
  while (args.includes(name)) sizes.push(name, option(name));
const [modules, stepc, work, model, ...given] = args;
const ort = require(path.resolve(modules, 'onnxruntime-node'));
const lossTolerance = 1e-5, nothing = 1e-5; // the latter absolute: a gradient that is 0 is rounding errors

const call = (...list) => {
  const r = spawnSync(stepc, list, { encoding: 'utf8' });
  return { ok: r.status === 0, text: (r.stdout + r.stderr).trim() };
};

// What is no test of the runtime: "none", and why.
class None extends Error {}

const readGiven = file => file.endsWith('.pb') ? tensors.readProto(file) : tensors.read(file);

// What the inputs given have, without their axis of steps.
function shapesGiven() {
  const list = [];
  for (const g of given) {
    const at = g.indexOf('='), dims = readGiven(g.slice(at + 1)).dims.slice(1);
    if (dims.length > 0) list.push('--shape', `${g.slice(0, at)}=${dims.join('x')}`);
  }
  return list;
}

// Again with each size that is asked for.
function sized(command, dims) {
  let r = call(...command, ...dims);
  if (!r.ok && /give --dim/.test(r.text)) {
    dims.push(...shapesGiven());
    r = call(...command, ...dims);
  }
  for (let ask; !r.ok && (ask = /give --dim (\S+)=SIZE/.exec(r.text)) && dims.length < 20; r = call(...command, ...dims))
    dims.push('--dim', `${ask[1]}=4`);
  if (r.ok) return;
  const compiled = call('compile', model, '-o', path.join(work, 'other.c'), ...dims);
  throw compiled.ok ? Error(r.text.split('\n')[0]) : new None('stepc compile refuses it, too');
}

// Floats as of N(0, 1), about; integers 0 or 1, which are labels and indices everywhere.
let state = 12345;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const drawn = type => /^float/.test(type) ? random() + random() + random() + random() - 2 : Math.floor(random() * 2);

function feedsOf(session, variables) {
  const feeds = {};
  for (const { name, type, shape } of session.inputMetadata) {
    const file = given.find(g => g.startsWith(`${name}=`))?.slice(name.length + 1);
    if (variables.has(name)) continue;
    if (file) {
      feeds[name] = { ...readGiven(file), path: file };
      continue;
    }
    const dims = [steps, ...shape], count = dims.reduce((a, b) => a * b, 1);
    feeds[name] = { type, dims, data: tensors.array(type, Array.from({ length: count }, () => drawn(type))) };
    feeds[name].path = path.join(work, `feed_${Object.keys(feeds).length}.npy`);
    tensors.write(feeds[name].path, feeds[name]);
  }
  return feeds;
}

// Step k of a tensor with a leading axis of steps.
function slice({ type, dims, data }, k) {
  const size = dims.slice(1).reduce((a, b) => a * b, 1), from = k % dims[0] * size;
  return new ort.Tensor(type, data.slice(from, from + size), dims.slice(1));
}

async function trainHere(init, step, feeds) {
  const state = {}, rows = [];
  const keep = results => {
    for (const name in results) if (name.endsWith('.new')) state[name.slice(0, -4)] = results[name];
  };
  const start = init.inputNames.length > 0 ? { random_seed: new ort.Tensor('int64', [BigInt(seed)], []) } : {};
  keep(await init.run(start));
  for (let k = 0; k < steps; k++) {
    const fed = {};
    for (const name of step.inputNames) fed[name] = feeds[name] ? slice(feeds[name], k) : state[name];
    const results = await step.run(fed);
    keep(results);
    rows.push(results);
  }
  return { state, rows };
}

// Losses agree one by one; whole tensors by their norm: where a gradient is next to nothing, Adam makes whole steps of
// its rounding errors.
function near(name, got, want, tolerance) {
  const g = tensors.numbers(got), w = tensors.numbers(want);
  let difference = 0, norm = 0;
  for (let i = 0; i < w.length; i++) {
    if (Object.is(g[i], w[i])) continue;
    difference += (g[i] - w[i]) ** 2;
    norm += w[i] ** 2;
  }
  if (!(Math.sqrt(difference) <= tolerance * Math.sqrt(norm) + nothing * Math.sqrt(w.length)))
    throw Error(`${name} is off by ${(Math.sqrt(difference / norm)).toExponential(2)} of its norm, element 0 is ${g[0]}, expected ${w[0]}`);
}

(async () => {
  const out = path.join(work, 'plain.onnx'), dims = sizes;
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(work, { recursive: true });
  sized(['expand', model, '-o', out, '--opset', opset, '--quiet'], dims);
  const load = entry => ort.InferenceSession.create(out.replace('.onnx', `.${entry}.onnx`), { logSeverityLevel: 4 });
  const init = await load('init'), step = await load('step');
  const names = init.outputNames.map(name => name.slice(0, -4)), variables = new Set(names);
  const feeds = feedsOf(step, variables);
  const scalars = step.outputMetadata.filter(o => !o.name.endsWith('.new') && /^float/.test(o.type));
  const command = ['run', model, '--steps', String(steps), '--seed', seed, '--quiet'];
  for (const name in feeds) command.push('--feed', `${name}=${feeds[name].path}`);
  names.forEach((name, i) => {
    if (!name.startsWith('random_')) command.push('--fetch', `${name}=${path.join(work, `state_${i}.npy`)}`);
  });
  scalars.forEach((o, i) => command.push('--fetch', `${o.name}=${path.join(work, `output_${i}.npy`)}`));
  const r = call(...command, ...dims);
  if (!r.ok) throw new None(`its inputs cannot be drawn: ${r.text.split('\n')[0]}`);
  const { state, rows } = await trainHere(init, step, feeds);
  const sizeOf = row => Math.max(...scalars.filter(o => !o.shape.length).map(o => Math.abs(row[o.name].data[0])), 0);
  if (!rows.every(row => sizeOf(row) <= 30 * Math.max(1, sizeOf(rows[0])))) throw new None('it diverges');
  scalars.forEach((o, i) => {
    const whole = tensors.read(path.join(work, `output_${i}.npy`));
    rows.forEach((row, k) => near(`${o.name} of step ${k}`, row[o.name], slice(whole, k),
                                  o.shape.length ? tensorTolerance : lossTolerance));
  });
  names.forEach((name, i) => {
    if (!name.startsWith('random_'))
      near(name, state[name], tensors.read(path.join(work, `state_${i}.npy`)), tensorTolerance);
  });
  console.log(`${path.basename(model)} opset ${opset}: ${steps} steps, ${scalars.length} outputs, ${names.length} variables agree`);
})().catch(e => {
  const isNone = e instanceof None || /Unsupported data type/.test(e.message);
  console.log(`${path.basename(model)} opset ${opset}: ${isNone ? 'none: ' : ''}${e.message.replace(/\s+/g, ' ').slice(0, 300)}`);
  process.exit(isNone ? 0 : 1);
});
