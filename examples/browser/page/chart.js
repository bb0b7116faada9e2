// Curves over the steps, as SVG.
const width = 520, height = 240, left = 52, right = 12, top = 10, bottom = 34;

const line = (x1, y1, x2, y2) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
const text = (x, y, anchor, s) => `<text x="${x}" y="${y}" text-anchor="${anchor}">${s}</text>`;

// 1, 2 or 5 times a power of ten, of which there are at most five up to `most`
function tick(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [0.2, 0.5, 1, 2, 5].map(f => f * power).find(t => most / t <= 5);
}

// series: [{ kind, points: [[step, value]] }], where kind is the class of the curve; scale: { low, high, ticks, log }
export function drawChart(svg, series, mostSteps, scale) {
  const at = scale.log ? Math.log10 : v => v;
  const x = step => left + (width - left - right) * step / mostSteps;
  const y = value => top + (height - top - bottom) * (at(scale.high) - at(value)) / (at(scale.high) - at(scale.low));
  const every = tick(mostSteps), parts = ['<g class="grid">'];
  for (const value of scale.ticks)
    parts.push(line(left, y(value), width - right, y(value)), text(left - 6, y(value) + 4, 'end', value));
  for (let step = 0; step <= mostSteps; step += every) parts.push(text(x(step), height - bottom + 16, 'middle', step));
  parts.push(text((left + width - right) / 2, height - 3, 'middle', 'steps'), '</g>');
  for (const { kind, points } of series) {
    const shown = points.map(([step, value]) =>
      `${x(step).toFixed(1)},${y(Math.min(scale.high, Math.max(scale.low, value))).toFixed(1)}`);
    parts.push(`<polyline class="curve ${kind}" points="${shown.join(' ')}"/>`);
  }
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.innerHTML = parts.join('');
}
