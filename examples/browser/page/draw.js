// A digit drawn by mouse, finger or pen becomes an image as those of digits.csv are: a bitmap of 32 x 32 points that the
// digit fills from top to bottom, and of each 4 x 4 of them the share that is ink.
const side = 32, cell = 4, penRadius = 2.8, margin = 2;

function distance(px, py, [ax, ay], [bx, by]) {
  const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
  const t = length > 0 ? Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / length)) : 0;
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

// Where the middle of the ink is, from left to right
function middle(segments) {
  let sum = 0, weight = 0;
  for (const [[ax, ay], [bx, by]] of segments) {
    const length = Math.hypot(bx - ax, by - ay) + 1e-6;
    sum += length * (ax + bx) / 2;
    weight += length;
  }
  return sum / weight;
}

// strokes: lists of points [x, y] in any unit. Returns 64 values from 0 to 1.
export function imageOf(strokes) {
  const image = new Float32Array(64), points = strokes.flat();
  if (points.length === 0) return image;
  const bounds = k => [Math.min(...points.map(p => p[k])), Math.max(...points.map(p => p[k]))];
  const [left, right] = bounds(0), [top, bottom] = bounds(1);
  const scale = (side - 2 * margin) / Math.max(right - left, bottom - top, 1e-6);
  const segments = strokes.flatMap(s => s.length === 1 ? [[s[0], s[0]]] : s.slice(1).map((p, i) => [s[i], p]));
  // the middle of the ink stands in the middle, unless the digit would not be all inside then
  const shift = Math.min(side - margin - right * scale, Math.max(margin - left * scale, side / 2 - middle(segments) * scale));
  const placed = segments.map(ends => ends.map(([x, y]) => [x * scale + shift, (y - (top + bottom) / 2) * scale + side / 2]));
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++)
      if (placed.some(([a, b]) => distance(x + 0.5, y + 0.5, a, b) < penRadius))
        image[Math.floor(y / cell) * 8 + Math.floor(x / cell)] += 1 / (cell * cell);
  return image;
}

// A canvas to draw on. changed(image) is called while somebody draws.
export class Pad {
  #canvas;
  #strokes = [];
  #changed;

  constructor(canvas, changed) {
    this.#canvas = canvas;
    this.#changed = changed;
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      this.#strokes.push([]);
      this.#add(event);
    });
    canvas.addEventListener('pointermove', event => {
      if (canvas.hasPointerCapture(event.pointerId)) this.#add(event);
    });
  }

  #add(event) {
    const box = this.#canvas.getBoundingClientRect(), scale = this.#canvas.width / box.width;
    this.#strokes.at(-1).push([(event.clientX - box.left) * scale, (event.clientY - box.top) * scale]);
    this.paint();
    this.#changed(imageOf(this.#strokes));
  }

  paint() {
    const pen = this.#canvas.getContext('2d'), { width, height } = this.#canvas;
    pen.clearRect(0, 0, width, height);
    Object.assign(pen, { lineWidth: width / 12, lineCap: 'round', lineJoin: 'round', strokeStyle: getComputedStyle(this.#canvas).color });
    for (const [first, ...rest] of this.#strokes) {
      pen.beginPath();
      pen.moveTo(...first);
      for (const point of rest.length > 0 ? rest : [first]) pen.lineTo(...point);
      pen.stroke();
    }
  }

  clear() {
    this.#strokes = [];
    this.paint();
    this.#changed(imageOf([]));
  }
}

// Paints 64 values as 8 x 8 squares.
export function paintImage(canvas, image) {
  const pen = canvas.getContext('2d'), size = canvas.width / 8;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = getComputedStyle(canvas).color;
  image.forEach((value, i) => {
    pen.globalAlpha = value;
    pen.fillRect(i % 8 * size, Math.floor(i / 8) * size, size, size);
  });
  pen.globalAlpha = 1;
}
