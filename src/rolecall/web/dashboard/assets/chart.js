// <line-chart data='{"x": […], "series": […], "marks": […]}' unit="s" height="180">: a plot, drawn by uPlot in the
// colors of the theme. With `tasks` (an address) and `step` (the seconds between two points), a span that is dragged
// with the mouse, and each row of the table, lead to the tasks that finished within it.
//
// New data updates the existing plot; different series create a new one. The table in its <figure> shows the same data,
// in the viewer's zone.

import { LOCALE } from "./locale.js";

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const SVG = "http://www.w3.org/2000/svg";
const FONT = "12px system-ui, sans-serif";
const DAY = 86400;
// How near the pointer must be to a mark, in pixels, and the least length of a dragged span.
const NEAR = 6;
const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DATE = new Intl.DateTimeFormat(LOCALE, { month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const dark = matchMedia("(prefers-color-scheme: dark)");
// Formats figures in a suitable unit: 80 ms, 1.5 k, 12/s, 3 MB. The server uses the same formats (formats.py).
const TIMES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [0.001, "ms"]];
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const SHORT = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 });
const COMPACT = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumSignificantDigits: 3 });
const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
const MONEY = new Intl.NumberFormat(LOCALE, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const scaled = (value, units, least) => {
  const [length, name] = units.find(([length]) => Math.abs(value) >= length) ?? [least, units.at(-1)[1]];
  return `${SHORT.format(value / length)} ${name}`;
};

const SLOWER = { s: [60, "min"], min: [60, "h"] };
const perTime = (value, unit) => {
  if (!(unit in SLOWER) || value === 0 || Math.abs(value) >= 0.1) return `${SHORT.format(value)}/${unit}`;
  const [times, slower] = SLOWER[unit];
  return perTime(value * times, slower);
};

const WRITERS = {
  s: (value) => (value === 0 ? "0 s" : scaled(value, TIMES, 0.001)),
  B: (value) => scaled(value, SIZES, 1),
  "/s": (value) => perTime(value, "s"),
  price: (value) => MONEY.format(value),
  count: (value) => WHOLE.format(value),
};
// The ticks of an axis have the same unit.
const TICKS = { ...WRITERS, "/s": (value) => `${SHORT.format(value)}/s`, count: (value) => COMPACT.format(value) };

// Plots of times share the crosshair, but not a dragged span.
const SYNC = { key: "time", setSeries: false, filters: { sub: (kind) => !["mousedown", "mouseup"].includes(kind) } };

class LineChart extends HTMLElement {
  static observedAttributes = ["data"];
  #plot = null;
  #drawn = "";
  #marks = [];
  #resized = new ResizeObserver(() => {
    if (this.#plot && this.clientWidth && this.clientWidth !== this.#plot.width) this.#plot.setSize({ width: this.clientWidth, height: this.#height });
  });
  #redraw = () => this.#draw();
  #tabulate = () => this.#table();

  get #height() {
    return Number(this.getAttribute("height")) || 180;
  }

  get #unit() {
    return this.getAttribute("unit") ?? "count";
  }

  get #isTime() {
    return this.getAttribute("x-is") !== "number";
  }

  get #figures() {
    return this.closest("figure")?.querySelector("details.figures");
  }

  connectedCallback() {
    this.#draw();
    this.#resized.observe(this);
    this.#figures?.addEventListener("toggle", this.#tabulate);
    document.addEventListener("rolecall:theme", this.#redraw);
    dark.addEventListener("change", this.#redraw);
  }

  disconnectedCallback() {
    this.#resized.disconnect();
    this.#figures?.removeEventListener("toggle", this.#tabulate);
    document.removeEventListener("rolecall:theme", this.#redraw);
    dark.removeEventListener("change", this.#redraw);
    this.#clear();
  }

  attributeChangedCallback(_name, before, after) {
    if (!this.isConnected || before === after) return;
    const { x, series, marks } = this.#data();
    this.#marks = marks;
    if (this.#plot && this.#drawn === kindOf(x, series)) this.#plot.setData([x, ...series.map((each) => each.values)]);
    else this.#draw();
    this.#table();
  }

  #data() {
    return { marks: [], ...JSON.parse(this.getAttribute("data")) };
  }

  #clear() {
    this.#plot?.destroy();
    this.#plot = null;
    this.replaceChildren();
  }

  #draw() {
    const { x, series, marks } = this.#data();
    this.#clear();
    this.#marks = marks;
    this.#drawn = kindOf(x, series);
    if (!hasFigures(x, series)) {
      this.append(Object.assign(document.createElement("p"), { className: "empty", textContent: "Nothing was recorded in this time." }));
      return;
    }
    this.#plot = new uPlot(this.#options(series), [x, ...series.map((each) => each.values)], this);
    this.append(legend(series));
  }

  #table() {
    const figures = this.#figures;
    if (!figures?.open) return;
    const { x, series } = this.#data();
    const heads = figures.querySelectorAll("thead th");
    if (this.#isTime && heads[0]) heads[0].textContent = "Time";
    figures.querySelector("tbody").replaceChildren(...x.map((at, index) => {
      const row = document.createElement("tr");
      const head = Object.assign(document.createElement("th"), { scope: "row" });
      const address = this.#tasksWithin(at, at + this.#step);
      head.append(address ? Object.assign(document.createElement("a"), { href: address, textContent: this.#place(at) }) : this.#place(at));
      row.append(head, ...series.map((each) => Object.assign(document.createElement("td"), { className: "number", textContent: measured(each.values[index], this.#unit) })));
      return row;
    }));
  }

  get #step() {
    return Number(this.getAttribute("step"));
  }

  /** The address of the tasks that finished within a span, in seconds since 1970; none if the plot leads nowhere. */
  #tasksWithin(from, to) {
    const tasks = this.getAttribute("tasks");
    if (!tasks) return null;
    const [first, last] = [from, to].map((at) => new Date(at * 1000).toISOString().replace(".000Z", "Z"));
    return `${tasks}&${new URLSearchParams({ finished_from: first, finished_to: last })}`;
  }

  /** Follow a dragged span, from the start of its first point to the end of its last one. */
  #follow(plot) {
    const { left, width } = plot.select;
    if (width < NEAR || !plot.over.matches(":hover")) return;
    const begin = plot.data[0][0];
    const whole = (pixels) => Math.floor((plot.posToVal(pixels, "x") - begin) / this.#step);
    const [from, to] = [Math.max(0, whole(left)), whole(left + width) + 1].map((steps) => begin + steps * this.#step);
    location.assign(this.#tasksWithin(from, to));
  }

  #place(at) {
    return this.#isTime ? MOMENT.format(at * 1000) : measured(at, "count");
  }

  #options(series) {
    const colour = colours(this);
    const unit = this.#unit;
    const axis = { stroke: colour("faint"), font: FONT, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
    const tip = new Tip(series, (at) => this.#place(at), (value) => measured(value, unit), () => this.#marks);
    const drags = this.hasAttribute("tasks");
    const follow = { hooks: { setSelect: (plot) => this.#follow(plot) } };
    const marks = { hooks: { draw: (plot) => drawMarks(plot, this.#marks, colour("info")) } };
    return {
      width: this.clientWidth || 400,
      height: this.#height,
      plugins: [tip.plugin, marks, ...(drags ? [follow] : [])],
      cursor: { y: false, drag: { x: drags, y: false, setScale: false }, points: { size: 7 }, ...(this.#isTime ? { sync: SYNC } : {}) },
      scales: { x: { time: this.#isTime }, y: { range: rangeFor(unit) } },
      axes: [
        this.#isTime ? { ...axis, size: 32, space: 70, values: moments } : { ...axis, size: 32, incrs: steps("count"), values: (_, ticks) => ticks.map((tick) => ticked(tick, "count")) },
        { ...axis, size: 58, space: 32, incrs: steps(unit), values: (_, ticks) => ticks.map((tick) => ticked(tick, unit)) },
      ],
      legend: { show: false },
      series: [{}, ...series.map((each, index) => lineOf(each, index, colour))],
    };
  }
}

/** The properties that an existing plot cannot change. */
function kindOf(x, series) {
  return JSON.stringify([hasFigures(x, series), series.map(({ label, tone, kind }) => [label, tone, kind])]);
}

function hasFigures(x, series) {
  return x.length > 0 && series.some((each) => each.values.some((value) => value != null));
}

function lineOf(each, index, colour) {
  const stroke = colour(each.tone ?? "accent");
  const filled = each.kind === "area" || each.kind === "bars";
  return {
    label: each.label,
    stroke,
    width: each.tone === "faint" ? 1 : 1.75,
    dash: each.kind === "bars" ? undefined : DASHES[index % DASHES.length],
    fill: filled ? stroke.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)") : undefined,
    paths: each.kind === "bars" ? uPlot.paths.bars({ size: [0.8, 40] }) : undefined,
    points: each.kind === "bars" ? { show: false } : { show: true, size: 5, fill: stroke, filter: lonely },
  };
}

/** The position of a mark in pixels. The plot ends at the start of its last point, in which the mark may be. */
const placeOf = (plot, at, onCanvas = false) => plot.valToPos(Math.min(at, plot.scales.x.max), "x", onCanvas);

/** Draw each mark as a dashed vertical line. */
function drawMarks(plot, marks, stroke) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([4, 4]);
  for (const { at } of marks) {
    const x = Math.round(placeOf(plot, at, true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** The legend: each label next to a sample of its line. */
function legend(series) {
  const list = Object.assign(document.createElement("ul"), { className: "chart-legend" });
  list.append(...series.map((each, index) => {
    const item = Object.assign(document.createElement("li"), { textContent: each.label });
    const drawing = document.createElementNS(SVG, "svg");
    const line = drawing.appendChild(document.createElementNS(SVG, "line"));
    for (const [name, value] of Object.entries({ viewBox: "0 0 28 4", "aria-hidden": "true" })) drawing.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x2: 28, y1: 2, y2: 2, "stroke-width": 2, stroke: `var(--${each.tone ?? "accent"})`, "stroke-dasharray": DASHES[index % DASHES.length].join(" ") || "none" })) line.setAttribute(name, value);
    item.prepend(drawing);
    return item;
  }));
  return list;
}

/** Points between two gaps, which a line would not show. */
function lonely(plot, index) {
  const values = plot.data[index];
  const found = [];
  for (let at = 0; at < values.length; at++) {
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  }
  return found;
}

function rangeFor(unit) {
  if (unit === "price") return (_, low, high) => (low == null ? [0, 1] : uPlot.rangeNum(low, high, 0.15, true));
  return (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.12 : 1];
}

/** Labels of a time axis: the date at the start of a day or if ticks are days; otherwise, the time of day. */
function moments(plot, ticks, _axis, _space, step) {
  let day = null;
  return ticks.map((tick) => {
    const moment = new Date(tick * 1000);
    const changed = day !== null && day !== moment.getDate();
    day = moment.getDate();
    if (step >= DAY || changed) return DATE.format(moment);
    return (step < 60 ? SECONDS : CLOCK).format(moment);
  });
}

/** Resolve the theme's colors for a canvas. */
function colours(element) {
  const probe = element.appendChild(document.createElement("i"));
  return (name) => {
    probe.style.color = `var(--${name})`;
    const found = getComputedStyle(probe).color;
    probe.style.color = "";
    probe.hidden = true;
    return found;
  };
}

// The tooltip of a plot: the x value at the pointer, the value of each series, and the marks near the pointer.
class Tip {
  #box = document.createElement("div");

  /** `place` and `figure` format an x value and a y value; `marks` returns the marks. */
  constructor(series, place, figure, marks) {
    this.series = series;
    this.place = place;
    this.figure = figure;
    this.marks = marks;
    this.#box.className = "chart-tip";
    this.#box.hidden = true;
  }

  get plugin() {
    return {
      hooks: {
        init: (plot) => {
          plot.over.append(this.#box);
          plot.over.addEventListener("mouseleave", () => this.#hide());
        },
        setCursor: (plot) => this.#show(plot),
        setData: (plot) => this.#show(plot),
      },
    };
  }

  #hide() {
    this.#box.hidden = true;
  }

  #show(plot) {
    const index = plot.cursor.idx;
    // Crosshairs are synchronized. Only the plot under the pointer shows a tooltip.
    if (index == null || !plot.over.matches(":hover")) return this.#hide();
    const lines = this.series.map((each, at) => `${each.label}: ${this.figure(plot.data[at + 1][index])}`);
    const near = this.marks().filter(({ at }) => Math.abs(placeOf(plot, at) - plot.cursor.left) <= NEAR).map(({ text }) => text);
    this.#box.replaceChildren(...[this.place(plot.data[0][index]), ...lines, ...near].map((text) => Object.assign(document.createElement("span"), { textContent: text })));
    this.#box.hidden = false;
    const left = plot.cursor.left + 14;
    const fits = left + this.#box.offsetWidth < plot.over.clientWidth;
    this.#box.style.left = `${fits ? left : Math.max(0, plot.cursor.left - this.#box.offsetWidth - 14)}px`;
  }
}

/** Format a figure for a tooltip or a table. */
const measured = (value, unit) => (value == null ? "–" : (WRITERS[unit] ?? WRITERS.count)(value));

/** Format a figure for an axis, in a shorter form. */
const ticked = (value, unit) => (TICKS[unit] ?? TICKS.count)(value);

/** Allowed steps between ticks. Durations use those of clocks. */
function steps(unit) {
  const decades = [];
  for (let power = unit === "count" ? 0 : -6; power <= 15; power++) {
    if (unit === "s" && power > -1) break;
    for (const digit of [1, 2, 5]) decades.push(Number(`${digit}e${power}`));
  }
  if (unit !== "s") return decades;
  const clocks = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  return [...decades, ...clocks, ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86400)];
}

customElements.define("line-chart", LineChart);
