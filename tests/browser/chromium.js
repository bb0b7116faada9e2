// A headless Chromium, driven through the DevTools protocol over two pipes: messages in JSON, each ended by a byte 0.
'use strict';
const fs = require('fs'), path = require('path'), { spawn } = require('child_process');

const wait = ms => new Promise(resolve => setTimeout(resolve, ms));

class Chromium {
  #process;
  #next = 1;
  #asked = new Map(); // by number of a message
  #session;
  #rest = [];
  errors = []; // what the page threw, and what its console called errors

  // folder: of the profile and of downloads
  static async start(program, folder) {
    const chromium = new Chromium();
    fs.mkdirSync(folder, { recursive: true });
    const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-lcd-text', '--disable-dev-shm-usage', '--remote-debugging-pipe',
                     '--no-first-run', '--hide-scrollbars', '--force-color-profile=srgb', `--user-data-dir=${path.join(folder, 'profile')}`];
    chromium.#process = spawn(program, [...options, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    chromium.#process.on('error', error => chromium.#end(error));
    chromium.#process.on('exit', () => chromium.#end(Error('Chromium has ended')));
    chromium.#process.stdio[3].on('error', () => {});
    chromium.#process.stdio[4].on('data', bytes => chromium.#read(bytes));
    const { targetInfos } = await chromium.send('Target.getTargets');
    const { targetId } = targetInfos.find(t => t.type === 'page');
    chromium.#session = (await chromium.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    await chromium.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
    for (const domain of ['Page', 'Runtime', 'Log', 'DOM']) await chromium.send(`${domain}.enable`);
    return chromium;
  }

  #read(bytes) {
    for (let end; (end = bytes.indexOf(0)) >= 0; bytes = bytes.subarray(end + 1)) {
      const message = JSON.parse(Buffer.concat([...this.#rest, bytes.subarray(0, end)]).toString());
      this.#rest = [];
      this.#take(message);
    }
    this.#rest.push(bytes);
  }

  #take({ id, error, result, method, params }) {
    if (method === 'Runtime.exceptionThrown') this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.errors.push(`${params.entry.text} ${params.entry.url ?? ''}`);
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) asked?.reject(Error(error.message));
    else asked?.resolve(result);
  }

  #end(error) {
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
  }

  send(method, params = {}) {
    const id = this.#next++;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.#session })}\0`);
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  async close() {
    const ended = new Promise(resolve => this.#process.on('exit', resolve));
    this.send('Browser.close').catch(() => {});
    await Promise.race([ended, wait(5000)]);
    this.#process.kill('SIGKILL');
  }

  // The value of an expression in the page
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  // Until an expression is true in the page
  async until(expression, what, seconds = 60) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await wait(50)) if (await this.value(expression)) return;
    throw Error(`not within ${seconds} seconds: ${what}; the page says '${await this.value("document.querySelector('#status')?.textContent")}'` +
                `${this.errors.length ? `; ${this.errors.join('; ')}` : ''}`);
  }

  text(selector) {
    return this.value(`document.querySelector(${JSON.stringify(selector)}).textContent`);
  }

  // Clicks into the middle of an element, as a user would.
  async click(selector) {
    const [x, y] = await this.value(`(() => {
      const e = document.querySelector(${JSON.stringify(selector)});
      e.scrollIntoView({ block: 'center' });
      const box = e.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    })()`);
    await this.stroke([[x, y]]);
  }

  // With the left button down, from point to point of the window
  async stroke(points) {
    const mouse = (type, [x, y], buttons) =>
      this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons, clickCount: 1 });
    await mouse('mousePressed', points[0], 1);
    for (const point of points.slice(1)) await mouse('mouseMoved', point, 1);
    await mouse('mouseReleased', points.at(-1), 0);
  }

  // Gives a file to an input element.
  async choose(selector, file) {
    const { root } = await this.send('DOM.getDocument');
    const { nodeId } = await this.send('DOM.querySelector', { nodeId: root.nodeId, selector });
    await this.send('DOM.setFileInputFiles', { nodeId, files: [file] });
  }

  // colours: light, dark
  async window(width, height, colours = 'light') {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colours }] });
  }

  // Of the whole page, however high it is
  async picture(file, scale = 1) {
    const { cssContentSize: { width, height } } = await this.send('Page.getLayoutMetrics');
    const { data } = await this.send('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale } });
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

// A file that appears, whole, in a folder
async function downloaded(file, seconds = 20) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await wait(50))
    if (fs.existsSync(file) && !fs.existsSync(`${file}.crdownload`)) return fs.readFileSync(file);
  throw Error(`no download ${path.basename(file)}`);
}

module.exports = { Chromium, downloaded };
