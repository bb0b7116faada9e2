// usage: node test.js STEPC PAGE WORK CHROMIUM PICTURE OTHER...
// The page in PAGE, which examples/browser/make has filled, in a headless Chromium, as its user would go through it: trains
// 30 epochs, compares what both sides did with `stepc run`, draws all digits, carries states from one side to the other,
// looks at it on a phone's width and in the dark. Prints sizes and steps per second. Leaves the page's picture in
// WORK/page.png; PICTURE, the one in README.md, must look like it; with UPDATE_PICTURE set it becomes it.
// OTHER: the same page of another network, whose two sides alone are tried.
'use strict';
const fs = require('fs'), http = require('http'), path = require('path'), { pathToFileURL } = require('url'), { spawnSync } = require('child_process');
const { Chromium, downloaded } = require('./chromium.js');
const { drawn } = require('./digits.js');
const { serve } = require('../../examples/browser/serve.js');
const tensors = require('../onnxruntime/tensors.js');

const [stepc, page, work, program, picture, ...others] = process.argv.slice(2);
const training = path.join(page, 'made/net.onnx'), epochs = 30;
const tolerance = 1e-6; // of a loss, as README.md says: both compute in float, in different order

const files = name => path.resolve(work, name); // Chromium asks for whole paths
let checks = 0;
function check(ok, what) {
  if (!ok) throw Error(what);
  checks++;
}

function run(...list) {
  const r = spawnSync(stepc, list, { encoding: 'utf8' });
  if (r.status !== 0) throw Error(`stepc ${list.join(' ')}: ${r.stderr}`);
}

// Modules of the page, for Node: a copy that says what they are.
async function modules(...names) {
  const folder = files('modules');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  for (const name of ['data.js', 'types.js', ...names]) fs.copyFileSync(path.join(page, name), path.join(folder, name));
  return Promise.all(names.map(name => import(pathToFileURL(path.join(folder, name)))));
}

// The columns of a table, by the names in its first line
function table(text) {
  const [names, ...rows] = text.trim().split('\n').map(line => line.split(','));
  return Object.fromEntries(names.map((name, i) => [name, rows.map(row => row[i] === '' ? NaN : Number(row[i]))]));
}

// Batches of steps from `from` to `to` as feeds of `stepc run`
function writeFeeds(digits, from, to) {
  const batches = Array.from({ length: to - from }, (_, k) => digits.batch(from + k));
  tensors.write(files('x.npy'), { type: 'float32', dims: [to - from, 32, 64], data: Float32Array.from(batches.flatMap(b => Array.from(b.x))) });
  tensors.write(files('target.npy'), { type: 'int64', dims: [to - from, 32], data: BigInt64Array.from(batches.flatMap(b => b.target), BigInt) });
}

// The losses of these steps by stepc on this machine, which leaves its state in a file
function trainHere(digits, from, to, ...options) {
  writeFeeds(digits, from, to);
  run('run', training, '--engine', 'generated', '--reproducible', '--quiet', '--csv', files('here.csv'),
      '--feed', `x=${files('x.npy')}`, '--feed', `target=${files('target.npy')}`, '--save', files('here.state'), ...options);
  return table(fs.readFileSync(files('here.csv'), 'utf8')).loss;
}

const largest = (a, b) => Math.max(...a.map((v, i) => Math.abs(v - b[i])));
const sameFloats = (a, b) => a.length === b.length && a.every((v, i) => Math.fround(v) === Math.fround(b[i]));
const statusIs = pattern => `${pattern}.test(document.querySelector('#status').textContent)`;

async function train(browser) {
  await browser.click('#train');
  await browser.until(statusIs('/^Training/'), 'training begins');
  await browser.until(statusIs('/^Trained/'), 'training ends');
}

async function losses(browser) {
  fs.rmSync(files('losses.csv'), { force: true });
  await browser.click('#losses');
  return table((await downloaded(files('losses.csv'))).toString());
}

async function saved(browser, side) {
  fs.rmSync(files(`digits-${side}.state`), { force: true });
  await browser.click(`#${side} .save`);
  return downloaded(files(`digits-${side}.state`));
}

async function load(browser, side, name) {
  await browser.choose(`#${side} .load`, files(name));
  await browser.until(statusIs(`/${name}/`), `the status names ${name}`);
  return browser.text('#status');
}

// ---- what is tried -----------------------------------------------------------------------------------------------------

async function trains(browser, digits) {
  const steps = epochs * digits.stepsPerEpoch;
  await train(browser);
  const got = await losses(browser), want = trainHere(digits, 0, steps, '--seed', '1');
  const difference = largest(got['onnxruntime-web'], want);
  check(want.length === steps && sameFloats(got.stepc, want), 'the losses of WebAssembly are not those of stepc run, bit for bit');
  check(difference <= tolerance, `a loss of onnxruntime-web is off by ${difference}`);
  const right = [await browser.text('#stepc .accuracy'), await browser.text('#onnx .accuracy')];
  check(right[0] === right[1] && right[0] === '316 (98.75 %)', `right answers: ${right.join(', ')}; expected 316 on both sides`);
  console.log(`${steps} steps: losses of WebAssembly as by stepc run, onnxruntime-web at most ${difference.toExponential(1)} off; ${right[0]} right`);
}

async function keepsStates(browser, digits, { readCheckpoint }) {
  const here = readCheckpoint(fs.readFileSync(files('here.state'))), wasm = readCheckpoint(await saved(browser, 'stepc'));
  const onnx = readCheckpoint(await saved(browser, 'onnx'));
  for (const [name, { data }] of wasm) {
    check(Buffer.compare(Buffer.from(data.buffer), Buffer.from(here.get(name).data.buffer)) === 0, `'${name}' has other bits than by stepc run`);
    check(largest(Array.from(onnx.get(name).data, Number), Array.from(data, Number)) < 1e-4, `'${name}' of onnxruntime-web is another`);
  }
  // from side to side, and on from there
  await browser.click('#anew');
  await browser.until("document.querySelector('#stepc .steps').textContent === '0'", 'a new start');
  for (const [side, from] of [['stepc', 'onnx'], ['onnx', 'stepc']]) {
    const said = await load(browser, side, `digits-${from}.state`);
    check(/after 1,380 steps/.test(said), `${side} does not go on from the state of ${from}: ${said}`);
  }
  await train(browser);
  const from = epochs * digits.stepsPerEpoch, got = await losses(browser);
  const crossed = trainHere(digits, from, 2 * from, '--load', files('digits-onnx.state'), '--from', '0');
  check(sameFloats(got.stepc.slice(from), crossed), 'from the state of onnxruntime-web WebAssembly makes other steps than stepc run');
  const straight = trainHere(digits, from, 2 * from, '--load', files('digits-stepc.state'), '--from', '0');
  const difference = largest(got['onnxruntime-web'].slice(from), straight);
  check(difference <= tolerance, `from the state of stepc a loss of onnxruntime-web is off by ${difference}`);
  run('strip', training, '-o', files('trained.onnx'), '--state', files('digits-onnx.state'), '--quiet');
  // damaged, and no state at all
  const damaged = fs.readFileSync(files('digits-stepc.state'));
  damaged[1000] ^= 1;
  fs.writeFileSync(files('damaged.state'), damaged);
  fs.writeFileSync(files('text.state'), 'no state');
  for (const side of ['stepc', 'onnx'])
    for (const name of ['damaged.state', 'text.state'])
      check(/stays as it was/.test(await load(browser, side, name)), `${side} loads ${name}`);
  check(await browser.text('#stepc .steps') === '2,760' && await browser.text('#onnx .steps') === '2,760', 'a file that was refused changed a state');
  console.log(`states carried from side to side: the next ${from} losses by stepc run, onnxruntime-web at most ${difference.toExponential(1)} off`);
}

async function draw(browser, strokes) {
  await browser.click('#clear');
  await browser.until("document.querySelector('#guess-onnx output').textContent === '-'", 'nothing is seen');
  const [left, top, width] = await browser.value(`(() => {
    const pad = document.querySelector('#pad');
    pad.scrollIntoView({ block: 'center' });
    const box = pad.getBoundingClientRect();
    return [box.left, box.top, box.width];
  })()`);
  for (const stroke of strokes) await browser.stroke(stroke.map(([x, y]) => [left + x * width, top + y * width]));
}

async function recognises(browser) {
  const guesses = "[...document.querySelectorAll('.guess output')].map(o => o.textContent).join(' ')";
  for (const [digit, strokes] of Object.entries(drawn)) {
    await draw(browser, strokes);
    await browser.until(`${guesses} === '${digit} ${digit}'`, `both recognise the drawn ${digit}`, 10);
  }
  await browser.click('#example');
  await browser.until(`/^([0-9]) \\1$/.test(${guesses})`, 'both see the same in a test image', 10);
  console.log('all ten drawn digits are recognised by both');
}

async function fits(browser) {
  for (const [width, colours] of [[360, 'dark'], [360, 'light'], [960, 'dark']]) {
    await browser.window(width, 800, colours);
    const [wide, back] = await browser.value(
      '[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]');
    check(wide <= width, `the page is ${wide} points wide in a window of ${width}`);
    check(/^rgb\((\d+)/.exec(back)[1] < 128 === (colours === 'dark'), `background ${back} where ${colours} is preferred`);
    await browser.picture(files(`page-${width}-${colours}.png`));
  }
  const unnamed = await browser.value(`[...document.querySelectorAll('button, input, canvas, svg, meter')].filter(e =>
    !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).map(e => e.outerHTML)`);
  check(unnamed.length === 0, `no name for those who do not see: ${unnamed.join(' ')}`);
}

// Mean difference of two pictures, reduced to 48 x 48 points: what is where counts, not the font.
async function difference(browser, one, other) {
  const urls = [one, other].map(file => `data:image/png;base64,${fs.readFileSync(file).toString('base64')}`);
  return browser.value(`(async () => {
    const points = async url => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const pen = Object.assign(document.createElement('canvas'), { width: 48, height: 48 }).getContext('2d');
      pen.imageSmoothingQuality = 'high';
      pen.drawImage(image, 0, 0, 48, 48);
      return pen.getImageData(0, 0, 48, 48).data;
    };
    const [a, b] = [await points('${urls[0]}'), await points('${urls[1]}')];
    return a.reduce((sum, v, i) => sum + Math.abs(v - b[i]), 0) / a.length;
  })()`);
}

async function looksAsInReadme(browser) {
  await browser.window(880, 800);
  await draw(browser, drawn[3]);
  await browser.until("document.querySelector('#guess-onnx output').textContent === '3'", 'a 3');
  await browser.picture(files('page.png'), 0.85);
  fs.writeFileSync(files('blank.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTr1WgAAAABJRU5ErkJggg==', 'base64'));
  const fromBlank = await difference(browser, files('page.png'), files('blank.png'));
  check(fromBlank > 6, `the page is all but blank: ${fromBlank}`);
  if (process.env.UPDATE_PICTURE) fs.copyFileSync(files('page.png'), picture);
  const off = await difference(browser, files('page.png'), picture);
  check(off < fromBlank / 2, `${picture} is not what the page shows (${off.toFixed(1)} where nothing would be ${fromBlank.toFixed(1)}): look at ${files('page.png')}; UPDATE_PICTURE=1 takes it`);
  console.log(`picture: ${off.toFixed(1)} of ${fromBlank.toFixed(1)} from that of README.md`);
}

// The status of an answer
const status = (server, url) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port: server.address().port, path: url }, response => {
    response.resume();
    resolve(response.statusCode);
  }).on('error', reject);
});

async function servesOn(server) {
  for (const [url, expected] of [['/', 200], ['/nothing.js', 404], ['//', 400], ['/page.js', 200]]) {
    const got = await status(server, url);
    check(got === expected, `the server answers ${url} with ${got}, expected ${expected}`);
  }
}

// A step that fails ends the training, not the page.
async function goesOnAfterAnError(browser) {
  await browser.value(`import(new URL('stepc_side.js', document.baseURI)).then(({ StepcSide: { prototype } }) => {
    const { step } = prototype;
    prototype.step = async () => {
      prototype.step = step;
      throw Error('no step');
    };
  })`);
  await browser.click('#train');
  await browser.until(statusIs('/^no step/'), 'the page says that a step has failed');
  check(await browser.text('#train') === `Train ${epochs} epochs`, 'the button does not train after a step that failed');
  await train(browser);
}

// What the sides do with a network that they know by what stepc has written of it alone: steps of both, their states
// exchanged, steps from there.
const sidesAlone = `(async () => {
  const get = name => import(new URL(name, document.baseURI));
  const [{ StepcSide }, { OnnxSide }] = [await get('stepc_side.js'), await get('onnx_side.js')];
  const sides = [await StepcSide.create(), await OnnxSide.create()], losses = sides.map(() => []), half = 5, done = [], said = [];
  const values = (k, count) => Float32Array.from({ length: count }, (_, i) => Math.fround(Math.sin(k * 31 + i)));
  const steps = async from => {
    for (const [s, side] of sides.entries())
      for (let k = from; k < from + half; k++) losses[s].push(await side.step({ seen: values(k, 120), target: values(-k, 12) }));
    done.push(...sides.map(side => side.stepsDone));
  };
  for (const side of sides) await side.init(3);
  await steps(0);
  const files = sides.map(side => side.save());
  for (const side of sides) await side.init(4);
  sides.forEach((side, s) => side.load(files[1 - s]));
  await steps(half);
  const results = await Promise.all(sides.map(async side => Array.from(await side.infer({ seen: values(0, 120) }))));
  for (const side of sides)
    for (const feeds of [{ seen: values(0, 119), target: values(0, 12) }, { target: values(0, 12) }])
      said.push(await side.step(feeds).then(() => 'nothing', error => error.message));
  const fed = name => Array.from({ length: 2 * half }, (_, k) => Array.from(name === 'seen' ? values(k, 120) : values(-k, 12))).flat();
  return { losses, done, said, results, seen: fed('seen'), target: fed('target'), files: files.map(f => Array.from(f)) };
})()`;

async function doesWithAnother(browser, folder) {
  const server = await serve(folder, 0), name = path.basename(folder);
  try {
    fs.writeFileSync(path.join(folder, 'blank.html'), `<title>${name}</title><link rel="icon" href="data:,">`);
    await browser.send('Page.navigate', { url: `http://127.0.0.1:${server.address().port}/blank.html` });
    await browser.until(`document.title === '${name}' && document.readyState === 'complete'`, 'an empty page');
    const { losses, done, said, results, seen, target, files: saved } = await browser.value(sidesAlone);
    tensors.write(files('seen.npy'), { type: 'float32', dims: [10, 6, 20], data: Float32Array.from(seen) });
    tensors.write(files('target.npy'), { type: 'float32', dims: [10, 6, 2], data: Float32Array.from(target) });
    fs.writeFileSync(files('other.state'), Uint8Array.from(saved[1]));
    const feeds = ['--feed', `seen=${files('seen.npy')}`, '--feed', `target=${files('target.npy')}`];
    run('run', path.join(folder, 'made/net.onnx'), '--engine', 'generated', '--reproducible', '--quiet', '--csv', files('here.csv'), '--seed', '3', '--dim', 'batch=6', ...feeds);
    const want = table(fs.readFileSync(files('here.csv'), 'utf8')).loss;
    run('expand', path.join(folder, 'made/net.onnx'), '-o', files('other.onnx'), '--state', files('other.state'), '--quiet', '--dim', 'batch=6');
    check(want.length === 10 && sameFloats(losses[0].slice(0, 5), want.slice(0, 5)), `${name}: WebAssembly makes other steps than stepc run: ${losses[0]}; ${want}`);
    for (const list of losses) check(list.every((loss, k) => Math.abs(loss - want[k]) <= 1e-5 * want[k]), `${name}: losses are ${list}, expected ${want}`);
    check(largest(...results) <= 1e-4, `${name}: results of infer() are ${results.join('; ')}`);
    check(String(done) === (name === 'sgd' ? '5,5,5,5' : '5,5,10,10'), `${name}: steps done are ${done}`);
    for (const message of said)
      check(/^'seen' has 119 elements in the batch, 120 in the model|takes 'seen'/.test(message), `${name}: of a wrong batch is said ${message}`);
    console.log(`${name}: another network, ten steps of both sides with exchanged states of ${saved[0].length} bytes`);
  } finally {
    server.close();
  }
}

async function figures(browser) {
  for (const side of ['stepc', 'onnx'])
    console.log(`${await browser.text(`#${side} h2`)}: ${await browser.text(`#${side} .size`)}, ${await browser.text(`#${side} .speed`)} steps per second`);
}

(async () => {
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(work, { recursive: true });
  const [{ Digits }, checkpoint] = await modules('data.js', 'checkpoint.js');
  const digits = new Digits(fs.readFileSync(path.join(page, 'digits.csv'), 'utf8'));
  const server = await serve(page, 0), browser = await Chromium.start(program, path.resolve(work));
  try {
    await servesOn(server);
    await browser.window(880, 800);
    await browser.send('Page.navigate', { url: `http://127.0.0.1:${server.address().port}/` });
    await browser.until(`document.querySelector('#status') && ${statusIs('/^Ready/')}`, 'the page is ready');
    await trains(browser, digits);
    await recognises(browser);
    await looksAsInReadme(browser);
    await keepsStates(browser, digits, checkpoint);
    await figures(browser);
    await goesOnAfterAnError(browser);
    await fits(browser);
    for (const folder of others) await doesWithAnother(browser, folder);
    check(browser.errors.length === 0, `the page reports: ${browser.errors.join('; ')}`);
    console.log(`${checks} checks passed`);
  } finally {
    await browser.close();
    server.close();
  }
})().catch(error => {
  console.log(error.message);
  process.exitCode = 1;
});
