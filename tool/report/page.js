// What reports are drawn of: elements, tables, numbers in words, charts of curves. template.html has the styles.
"use strict";

//===-- elements ----------------------------------------------------------===//

function add(node, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child);
  return node;
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      node.setAttribute(key, value);
  return add(node, children);
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const code = text => el("code", {}, text);
const how = (...words) => el("p", {class: "how"}, words);
const muted = (...words) => el("span", {class: "muted"}, words);
const figure = (name, value, note) => el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {}, note || "")));
const folded = (summary, content, open) => el("details", {open: open ? "" : null}, el("summary", {}, summary), content);
const asText = content => el("details", {class: "text"}, el("summary", {}, "as a table"), content);

/// A part of the page; it is left out if it has no content.
function section(id, title, ...content) {
  const whole = content.flat(Infinity).filter(Boolean);
  return whole.length ? el("section", {id}, el("h2", {}, title), whole) : null;
}

/// A table. A `#` before a title marks a column of numbers. A row is a list of cells, or {section: "heading"}, or {cells, class}.
/// On a narrow screen each row of many columns is a block of named values; a table of the style `wide` scrolls in itself.
function table(titles, rows, style = titles.length > 4 ? "rows" : "few") {
  const names = titles.map(title => title.replace(/^#/, ""));
  const cell = (content, i) =>
    el("td", {role: "cell", class: titles[i][0] === "#" ? "n" : "words", "data-title": names[i]}, content);
  const row = each => each.section !== undefined
    ? el("tr", {role: "row", class: "section"}, el("th", {scope: "rowgroup", role: "rowheader", colspan: titles.length}, each.section))
    : el("tr", {role: "row", class: each.class}, (each.cells || each).map(cell));
  const head = names.map((name, i) => el("th", {scope: "col", role: "columnheader", class: titles[i][0] === "#" ? "n" : null}, name));
  return el("div", {class: "scroll", tabindex: style === "wide" ? 0 : null}, el("table", {class: style, role: "table"},
    el("thead", {role: "rowgroup"}, el("tr", {role: "row"}, head)), el("tbody", {role: "rowgroup"}, rows.map(row))));
}

const bar = part => el("span", {class: "bar", style: `width:${(Math.min(1, Math.max(0, part || 0)) * 100).toFixed(1)}%`});

//===-- numbers -----------------------------------------------------------===//

function withUnit(value, base, units, gap) {
  let unit = 0;
  for (; value >= base && unit < units.length - 1; ++unit)
    value /= base;
  return value.toFixed(unit === 0 || value >= 100 ? 0 : 1) + gap + units[unit];
}
const bytes = value => withUnit(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], " ");
const count = value => withUnit(value, 1000, ["", "k", "M", "G", "T"], "");
const flop = value => withUnit(value, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"], " ");
const percent = value => value === null ? "-" : (value * 100).toFixed(1) + " %";
const milliseconds = value => value.toFixed(value < 0.1 ? 4 : value < 10 ? 3 : 1);
/// A number in `digits` digits; what is not finite stands in the data as null.
const short = (value, digits = 4) => value === null || value === undefined ? "not finite" : String(+value.toPrecision(digits));
function duration(seconds) {
  if (seconds < 1e-4)
    return (seconds * 1e6).toFixed(1) + " us";
  if (seconds < 1)
    return (seconds * 1e3).toFixed(seconds < 0.1 ? 3 : 0) + " ms";
  if (seconds < 120)
    return seconds.toFixed(2) + " s";
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? minutes + " min" : Math.floor(minutes / 60) + " h " + minutes % 60 + " min";
}
const largest = (list, of) => list.reduce((most, each) => Math.max(most, of(each)), 0);
const plural = (number, word) => number + " " + word + (number === 1 ? "" : "s");
const named = (list, name) => list.find(each => each.name === name);

//===-- curves ------------------------------------------------------------===//

/// Round numbers from `low` to `high`, about `wanted` of them.
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find(each => each * power >= raw) * power;
  const first = Math.ceil(low / step - 1e-9), count = Math.min(Math.floor(high / step + 1e-9) - first + 1, 4 * wanted);
  return Array.from({length: Math.max(count, 0)}, (_, i) => +((first + i) * step).toPrecision(12));
}

/// The mean of every `size` points that follow one another, at their middle.
function smoothed(points) {
  const size = Math.ceil(points.length / 60);
  const means = [];
  for (let from = 0; from + size <= points.length; from += size) {
    const some = points.slice(from, from + size);
    means.push([some.reduce((sum, p) => sum + p[0], 0) / size, some.reduce((sum, p) => sum + p[1], 0) / size]);
  }
  return means;
}

/// Whether a line goes up and down so often that its mean says more.
function isNoisy(line) {
  const turns = line.points.filter((p, i, all) => i > 1 && (p[1] - all[i - 1][1]) * (all[i - 1][1] - all[i - 2][1]) < 0).length;
  return line.points.length > 180 && turns > line.points.length / 10;
}

/// At most `most` of the points, the first and the last among them.
function thinned(points, most) {
  if (points.length <= most)
    return points;
  return Array.from({length: most}, (_, i) => points[Math.round(i * (points.length - 1) / (most - 1))]);
}

/// Where steps and values lie in a plot of 1000 x 190.
function scaleOf(lines) {
  const all = lines.flatMap(line => line.points), edge = (choose, part, start) => all.reduce((most, p) => choose(most, p[part]), start);
  const left = edge(Math.min, 0, Infinity), right = edge(Math.max, 0, left + 1);
  let low = edge(Math.min, 1, Infinity), high = edge(Math.max, 1, -Infinity);
  if (low > 0 && low < high / 2)
    low = 0;
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high)))
    [low, high] = [Math.min(low * 0.9, low * 1.1), Math.max(high * 0.9, high * 1.1) || 1];
  return {left, right, low, high, x: at => (at - left) / (right - left) * 1000, y: at => 190 - (at - low) / (high - low) * 190};
}

function drawAxes(plot, svg, scale) {
  for (const at of ticks(scale.low, scale.high, 4)) {
    svg.append(svgEl("line", {x1: 0, x2: 1000, y1: scale.y(at), y2: scale.y(at), class: "grid"}));
    plot.append(el("span", {class: "y", style: `bottom:${100 - scale.y(at) / 1.9}%`}, short(at)));
  }
  for (const at of ticks(scale.left, scale.right, 4).filter(Number.isInteger))
    plot.append(el("span", {class: "x" + (scale.x(at) < 60 ? " first" : scale.x(at) > 940 ? " last" : ""), style: `left:${scale.x(at) / 10}%`}, short(at, 9)));
}

function drawLine(svg, line, scale) {
  const at = p => scale.x(p[0]).toFixed(1) + " " + scale.y(p[1]).toFixed(1), style = line.class || "", isDense = isNoisy(line);
  const path = points => points.map((p, i) => (i ? "L" : "M") + at(p)).join("");
  svg.append(svgEl("path", {d: path(line.points), class: "line " + style + (isDense ? " faint" : "")}));
  if (isDense)
    svg.append(svgEl("path", {d: path(smoothed(line.points)), class: "line " + style}));
  if (line.points.length <= 40)
    svg.append(svgEl("path", {d: line.points.map(p => "M" + at(p) + "h0").join(""), class: "dots " + style}));
}

/// The index of the point of a line that is nearest to a step.
function nearest(points, step) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && step - points[low - 1][0] <= points[low][0] - step ? low - 1 : low;
}

/// Shows the values at the step under the pointer, or at the one that the arrow keys have reached.
function addReader(plot, lines, scale) {
  const steps = [...new Set(lines.flatMap(line => line.points.map(p => p[0])))].sort((a, b) => a - b);
  const rule = el("i", {class: "rule", hidden: ""}), words = el("output", {class: "values", hidden: ""});
  let place = 0;
  const show = to => {
    place = Math.min(steps.length - 1, Math.max(0, to));
    const step = steps[place], part = scale.x(step) / 10;
    const values = lines.map(line => [line.name, line.points[nearest(line.points, step)]]);
    words.textContent = `step ${step}: ` + values.map(([name, p]) => `${name} ${short(p[1], 5)}` + (p[0] === step ? "" : ` (step ${p[0]})`)).join(", ");
    rule.style.left = part + "%";
    words.style.left = words.style.right = "";
    words.style[part > 50 ? "right" : "left"] = (part > 50 ? 100 - part : part) + "%";
    rule.hidden = words.hidden = false;
  };
  const hide = () => { rule.hidden = words.hidden = true; };
  const moves = {ArrowLeft: () => place - 1, ArrowRight: () => place + 1, Home: () => 0, End: () => steps.length - 1};
  plot.tabIndex = 0;
  plot.addEventListener("pointermove", event => {
    const box = plot.getBoundingClientRect();
    const step = scale.left + (event.clientX - box.left) / box.width * (scale.right - scale.left);
    show(nearest(steps.map(each => [each]), step));
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", event => {
    if (!Object.hasOwn(moves, event.key) || event.altKey || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    show(words.hidden && event.key.startsWith("Arrow") ? place : moves[event.key]());
  });
  plot.append(rule, words);
}

function plotOf(lines, label) {
  const scale = scaleOf(lines);
  const svg = svgEl("svg", {viewBox: "0 0 1000 190", preserveAspectRatio: "none", role: "img", "aria-label": label});
  const plot = el("div", {class: "plot", role: "group", "aria-label": "Chart; the arrow keys read its values"}, svg);
  drawAxes(plot, svg, scale);
  lines.forEach(line => drawLine(svg, line, scale));
  addReader(plot, lines, scale);
  return plot;
}

/// A chart of lines {name, points: [[step, value]...], class, steps}, with its title, legend and text form.
function lineChart(title, lines, note) {
  const drawn = lines.filter(line => line.points.length);
  if (!drawn.length)
    return el("div", {}, el("h3", {}, title), how(note || "No value of it is finite."));
  const words = drawn.map(line => {
    const ys = line.points.map(p => p[1]);
    return `${line.name}: ${short(ys[0])} at step ${line.points[0][0]}, ${short(ys[ys.length - 1])} at step ` +
      `${line.points[line.points.length - 1][0]}, from ${short(Math.min(...ys))} to ${short(Math.max(...ys))}`;
  });
  const legend = drawn.map(line => el("span", {}, el("span", {class: "key " + (line.class || "")}), line.name,
    isNoisy(line) ? ", and its mean of " + plural(Math.ceil(line.points.length / 60), "point") : ""));
  const rows = drawn.flatMap(line => thinned(line.points, 25).map(p => [line.name, short(p[0], 12), short(p[1], 6)]));
  return el("div", {}, el("h3", {}, title), (lines.length > 1 || isNoisy(drawn[0])) && el("div", {class: "legend"}, legend), note && how(note),
    plotOf(drawn, title + ". " + words.join("; ")),
    asText([how(words.join("; ") + "."), table(["Of", "#Step", "#Value"], rows)]));
}
