// The page: what its buttons do, and what it shows of the two sides.
import { drawChart } from './chart.js';
import { Digits, batchSize, classes, pixels } from './data.js';
import { Pad, paintImage } from './draw.js';
import { OnnxSide } from './onnx_side.js';
import { StepcSide } from './stepc_side.js';

const epochs = 30, block = 23; // steps at a time, half an epoch
const $ = (selector, within = document) => within.querySelector(selector);
const nextTask = () => new Promise(resolve => setTimeout(resolve));

const sides = [
  { id: 'stepc', name: 'stepc', title: 'stepc, as WebAssembly', create: StepcSide.create, files: /net\.wasm|(stepc_side|types)\.js/ },
  { id: 'onnx', name: 'onnxruntime-web', title: 'onnxruntime-web', create: OnnxSide.create,
    files: /\/ort\/|\.onnx$|(onnx_side|checkpoint|types)\.js/ },
];

// Curves of both sides. scale() is what drawChart() takes, of their points; label() what is said to those who do not see.
const charts = [
  { id: 'loss', caption: `Loss, mean of ${block} steps`, points: side => means(side.losses), label: () => 'Loss over the steps', scale: lossScale },
  { id: 'accuracy', caption: 'Right answers in the test images, %', points: side => side.accuracies,
    label: () => `Accuracy over the steps: ${sides.map(s => `${s.name} ${percent(s).toFixed(1)} %`).join(', ')}`,
    scale: () => ({ low: 0, high: 100, ticks: [0, 20, 40, 60, 80, 100] }) },
];
let digits, running = false, goal = 0, image = new Float32Array(pixels), shownTest = 0;

const say = text => { $('#status').textContent = text; };
const percent = side => 100 * side.right / side.tested;
const thousands = n => Math.round(n).toLocaleString('en');

// One thing at a time happens to the states: what is asked for meanwhile waits.
let last = Promise.resolve();
function inTurn(action) {
  last = last.then(action).catch(error => say(error.message));
  return last;
}

// ---- training ----------------------------------------------------------------------------------------------------------

// What is remembered of a side's steps. Those that another program made, or another run, are not known.
async function begin(side) {
  Object.assign(side, { losses: [], accuracies: [], seconds: 0, timed: 0 }); // losses by step
  await measure(side);
}

async function trainBlock(side) {
  const from = side.engine.stepsDone, batches = [];
  for (let k = from; k < Math.min(from + block, goal); k++) batches.push(digits.batch(k));
  const start = performance.now();
  for (const [i, batch] of batches.entries()) side.losses[from + i] = await side.engine.step(batch);
  side.seconds += (performance.now() - start) / 1000;
  side.timed += batches.length;
  if (side.engine.stepsDone % digits.stepsPerEpoch === 0) await measure(side);
}

async function train() {
  for (const side of sides) Object.assign(side, { seconds: 0, timed: 0 });
  let whole;
  try {
    while (running && sides.some(side => side.engine.stepsDone < goal)) {
      for (const side of sides) if (side.engine.stepsDone < goal) await trainBlock(side);
      show();
      if (image.some(v => v > 0)) await recognise();
      await nextTask();
    }
    whole = running;
  } finally {
    setRunning(false);
  }
  await recognise();
  say(whole ? `Trained ${goal / digits.stepsPerEpoch} epochs.` : 'Stopped.');
}

function setRunning(on) {
  running = on;
  $('#train').textContent = on ? 'Stop' : `Train ${epochs} epochs`;
}

function best(logits, i = 0) {
  const row = Array.from(logits.subarray(i * classes, (i + 1) * classes));
  return row.indexOf(Math.max(...row));
}

// How many test images it has right
async function measure(side) {
  Object.assign(side, { right: 0, tested: 0 });
  for (const batch of digits.testBatches()) {
    const logits = await side.engine.infer(batch);
    side.right += batch.target.filter((label, i) => best(logits, i) === label).length;
    side.tested += batch.target.length;
  }
  side.accuracies.push([side.engine.stepsDone, percent(side)]);
}

async function startAnew() {
  const seed = Number($('#seed').value);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31) throw Error('The seed is a whole number from 0 on.');
  for (const side of sides) {
    await side.engine.init(seed);
    await begin(side);
  }
  show();
  await recognise();
  say(`Random weights of seed ${seed}.`);
}

// ---- what is seen ------------------------------------------------------------------------------------------------------

function means(losses) {
  const points = [];
  for (let k = block; k <= losses.length; k += block) {
    const some = losses.slice(k - block, k).filter(v => v !== undefined);
    if (some.length > 0) points.push([k - block / 2, some.reduce((a, b) => a + b) / some.length]);
  }
  return points;
}

// Decades down to the least loss, six at most
function lossScale(losses) {
  const low = Math.max(-6, Math.floor(Math.log10(Math.min(0.1, ...losses))));
  return { low: 10 ** low, high: 5, ticks: Array.from({ length: 1 - low }, (_, i) => Number(`1e${low + i}`)), log: true };
}

function showDifference() {
  const [a, b] = sides.map(side => side.losses);
  let most = 0, where = -1, count = 0;
  a.forEach((loss, k) => {
    if (b[k] === undefined) return;
    count++;
    if (Math.abs(loss - b[k]) >= most) [most, where] = [Math.abs(loss - b[k]), k];
  });
  $('#difference').textContent = count === 0 ? '' :
    `Of ${thousands(count)} losses of the same step the largest difference between the two is ${most.toExponential(1)}, at step ${where}.`;
}

function show() {
  const most = Math.max(epochs * digits.stepsPerEpoch, ...sides.map(side => side.losses.length));
  for (const side of sides) {
    const put = (name, text) => { $(`#${side.id} .${name}`).textContent = text; };
    const loss = side.losses.at(-1);
    put('steps', thousands(side.engine.stepsDone));
    put('loss', loss === undefined ? '-' : loss.toPrecision(4));
    put('accuracy', `${side.right} (${percent(side).toFixed(2)} %)`);
    put('speed', side.seconds > 0 ? thousands(side.timed / side.seconds) : '-');
  }
  for (const { id, points, label, scale } of charts) {
    const series = sides.map(side => ({ kind: side.id, points: points(side) })), svg = $(`#${id}`);
    drawChart(svg, series, most, scale(series.flatMap(({ points }) => points.map(p => p[1]))));
    svg.setAttribute('aria-label', label());
  }
  showDifference();
}

// What the browser has loaded for each side. Compressed, a server sends about a quarter to a third of it.
function showSizes() {
  const entries = performance.getEntriesByType('resource');
  for (const side of sides) {
    const bytes = entries.filter(e => side.files.test(e.name)).reduce((sum, e) => sum + e.decodedBodySize, 0);
    $(`#${side.id} .size`).textContent = `${thousands(bytes / 1000)} kB`;
  }
}

// ---- recognition -------------------------------------------------------------------------------------------------------

async function recognise() {
  paintImage($('#seen'), image);
  const drawn = image.some(v => v > 0), x = new Float32Array(batchSize * pixels);
  x.set(image);
  for (const side of sides) {
    const list = $(`#guess-${side.id} ul`), answer = $(`#guess-${side.id} output`);
    const logits = (await side.engine.infer({ x })).slice(0, classes);
    const most = Math.max(...logits), exps = Array.from(logits, v => Math.exp(v - most)), sum = exps.reduce((a, b) => a + b);
    answer.textContent = drawn ? `${best(logits)}` : '-';
    list.innerHTML = exps.map((e, digit) => {
      const share = drawn ? e / sum : 0;
      return `<li>${digit} <meter min="0" max="1" value="${share}" aria-label="${digit}"></meter> ${(100 * share).toFixed(0)} %</li>`;
    }).join('');
  }
}

// ---- files -------------------------------------------------------------------------------------------------------------

function download(name, parts, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function downloadLosses() {
  const length = Math.max(...sides.map(side => side.losses.length));
  const rows = Array.from({ length }, (_, k) => [k, ...sides.map(side => side.losses[k] ?? '')].join(','));
  download('losses.csv', [['step,stepc,onnxruntime-web', ...rows, ''].join('\n')], 'text/csv');
}

async function loadState(side, file) {
  try {
    side.engine.load(new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    throw Error(`${file.name}: ${error.message}. The state of ${side.name} stays as it was.`);
  }
  await begin(side);
  show();
  await recognise();
  say(`${side.name} goes on from ${file.name}, after ${thousands(side.engine.stepsDone)} steps.`);
}

// ---- the page ----------------------------------------------------------------------------------------------------------

// A copy of what stands in the template, in front of it.
function add(template) {
  const { content } = $(`#${template}`), copy = content.cloneNode(true).firstElementChild;
  $(`#${template}`).before(copy);
  return copy;
}

for (const { id, name, title } of sides) {
  const article = add('side'), guess = add('guess');
  article.id = id;
  guess.id = `guess-${id}`;
  for (const [part, text] of [[article, title], [guess, name]]) {
    part.classList.add(id);
    $('.name', part).textContent = text;
  }
}
for (const { id, caption } of charts) {
  const figure = add('chart');
  $('figcaption', figure).textContent = caption;
  $('svg', figure).id = id;
}

// While they train, each round ends with it.
function see(seen) {
  image = seen;
  if (!running) inTurn(recognise);
}
const pad = new Pad($('#pad'), see);

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  pad.paint();
  paintImage($('#seen'), image);
});
$('#clear').addEventListener('click', () => pad.clear());
$('#example').addEventListener('click', () => {
  const { x } = digits.testBatches()[0], at = shownTest++ % batchSize * pixels;
  pad.clear();
  see(x.slice(at, at + pixels));
});
$('#train').addEventListener('click', () => {
  if (running) {
    running = false;
    return;
  }
  inTurn(() => {
    goal = Math.max(...sides.map(side => side.engine.stepsDone)) + epochs * digits.stepsPerEpoch;
    goal -= goal % digits.stepsPerEpoch;
    setRunning(true);
    say('Training...');
    return train();
  });
});
$('#anew').addEventListener('click', () => {
  running = false;
  inTurn(startAnew);
});
$('#losses').addEventListener('click', downloadLosses);
for (const side of sides) {
  $(`#${side.id} .save`).addEventListener('click', () => inTurn(() => download(`digits-${side.id}.state`, [side.engine.save()])));
  $(`#${side.id} .load`).addEventListener('change', event => {
    const [file] = event.target.files;
    running = false;
    if (file) inTurn(() => loadState(side, file));
    event.target.value = '';
  });
}

inTurn(async () => {
  digits = new Digits(await (await fetch('digits.csv')).text());
  for (const side of sides) side.engine = await side.create();
  showSizes();
  await startAnew();
  for (const control of document.querySelectorAll(':disabled')) control.disabled = false;
  say('Ready.');
});
