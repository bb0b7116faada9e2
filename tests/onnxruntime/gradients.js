// usage: node gradients.js NODE_MODULES STEPC WORK FOLDER
// Recorded tests of gradients (FOLDER/CASE: model.onnx with a Gradient, test_data_set_0, tolerance.json) in onnxruntime, as
// `stepc expand` writes them.
'use strict';
const fs = require('fs'), path = require('path'), { spawnSync } = require('child_process');
const tensors = require('./tensors.js');
const [, , modules, stepc, work, folder] = process.argv;
const ort = require(path.resolve(modules, 'onnxruntime-node'));

function differs(name, got, want, { rtol, atol }) {
  const g = tensors.numbers(got), w = tensors.numbers(want);
  if (got.dims.join() !== want.dims.join()) return `${name} is [${got.dims}], expected [${want.dims}]`;
  const bad = w.findIndex((x, i) => !Object.is(g[i], x) && g[i] !== x && !(Math.abs(g[i] - x) <= atol + rtol * Math.abs(x)));
  return bad < 0 ? null : `${name} element ${bad} is ${g[bad]}, expected ${w[bad]}`;
}

async function check(at) {
  const plain = path.join(work, 'plain.onnx');
  const command = ['expand', path.join(at, 'model.onnx'), '-o', plain, '--entry', 'infer', '--quiet'];
  const r = spawnSync(stepc, command, { encoding: 'utf8' });
  if (r.status !== 0) return r.stderr.split('\n')[0];
  const session = await ort.InferenceSession.create(plain, { logSeverityLevel: 4 });
  const data = path.join(at, 'test_data_set_0'), feeds = {};
  session.inputNames.forEach((name, i) => {
    const { type, data: elements, dims } = tensors.readProto(path.join(data, `input_${i}.pb`));
    feeds[name] = new ort.Tensor(type, elements, dims);
  });
  const results = await session.run(feeds);
  const tolerance = JSON.parse(fs.readFileSync(path.join(at, 'tolerance.json'), 'utf8'));
  for (const [i, name] of session.outputNames.entries()) {
    const bad = differs(name, results[name], tensors.readProto(path.join(data, `output_${i}.pb`)), tolerance);
    if (bad) return bad;
  }
  return null;
}

(async () => {
  const names = fs.readdirSync(folder).sort();
  let wrong = 0;
  fs.mkdirSync(work, { recursive: true });
  for (const name of names) {
    const bad = await check(path.join(folder, name)).catch(e => e.message.replace(/\s+/g, ' '));
    if (!bad) continue;
    wrong++;
    console.log(`${name}: ${bad.slice(0, 300)}`);
  }
  console.log(`${names.length} recorded gradients: ${wrong} differ`);
  process.exit(wrong > 0 || names.length < 100 ? 1 : 0);
})();
