// usage: node samples.js NODE_MODULES FOLDER
// Models with numbers, as `test_ops --check expanded --write FOLDER` writes them, in onnxruntime. A model that it has no
// kernel for is counted apart: which types it computes is its own affair.
'use strict';
const fs = require('fs'), path = require('path');
const [, , modules, folder] = process.argv;
const ort = require(path.resolve(modules, 'onnxruntime-node'));
const npy = require('./tensors.js');

// Narrow types are rounded at other places than in the interpreter, which is where numbers come from.
const tolerance = { float32: 2e-4, float64: 1e-6, float16: 0.05 };
// Beside types: zero points by row, division of integers by zero. Powers of integers that leave the type: by name.
const lacks = /NOT_IMPLEMENTED|Could not find an implementation|not supported|not implemented|Unsupported|IsScalarOr1ElementVec|by zero/i;
const overflows = /^Pow_(8|11|12)$/;

function differs(name, got, want) {
  if (got.type !== want.type || got.dims.join() !== want.dims.join())
    return `${name} is ${got.type}[${got.dims}], expected ${want.type}[${want.dims}]`;
  const g = npy.numbers({ type: got.type, data: got.data }), w = npy.numbers(want);
  const scale = Math.max(0, ...w.filter(Number.isFinite).map(Math.abs)), most = tolerance[want.type] || 0;
  for (let i = 0; i < w.length; i++) {
    const near = Object.is(g[i], w[i]) || g[i] === w[i] || Math.abs(g[i] - w[i]) <= most * (Math.abs(w[i]) + scale / 4);
    if (!near) return `${name} element ${i} is ${g[i]}, expected ${w[i]}`;
  }
  return null;
}

// A tensor without elements is nothing that runtimes are made for.
const isEmpty = at => fs.readdirSync(at).some(f => f.endsWith('.npy') && npy.read(path.join(at, f))?.data.length === 0);

async function check(at) {
  if (isEmpty(at)) throw Error('NOT_IMPLEMENTED: no elements');
  const session = await ort.InferenceSession.create(path.join(at, 'model.onnx'), { logSeverityLevel: 4 });
  const feeds = {};
  for (const name of session.inputNames) {
    const t = npy.read(path.join(at, `input_${name}.npy`));
    if (!t) throw Error('NOT_IMPLEMENTED: no array of such elements in JavaScript');
    feeds[name] = new ort.Tensor(t.type, t.data, t.dims);
  }
  // Others than JavaScript has arrays for end the process.
  for (const { type } of session.outputMetadata)
    if (!npy.known.has(type)) throw Error(`NOT_IMPLEMENTED: no array of ${type} in JavaScript`);
  const results = await session.run(feeds);
  await session.release();
  for (const name of session.outputNames) {
    const want = npy.read(path.join(at, `output_${name}.npy`));
    const bad = want && !/^loss/.test(name) ? differs(name, results[name], want) : null;
    if (bad) return bad;
  }
  return null;
}

(async () => {
  const names = fs.readdirSync(folder).sort(), count = { same: 0, lacking: 0, wrong: 0 };
  for (const name of names) {
    let bad;
    try {
      bad = await check(path.join(folder, name));
    } catch (e) {
      bad = e.message.replace(/\s+/g, ' ');
    }
    const kind = bad === null ? 'same' : lacks.test(bad) || overflows.test(name) ? 'lacking' : 'wrong';
    count[kind]++;
    const said = kind === 'wrong' || (kind === 'lacking' && process.env.VERBOSE);
    if (said) console.log(`${kind} ${name}: ${bad.slice(0, 300)}`);
  }
  console.log(`${names.length} samples: ${count.same} agree, onnxruntime has no kernel for ${count.lacking}, ${count.wrong} differ`);
  process.exit(count.wrong > 0 || count.same < 2000 ? 1 : 0);
})();
