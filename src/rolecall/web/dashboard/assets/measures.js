// How figures are written, in the unit that says most: 80 ms, 1.5 k, 12/s, 3 MB; the server writes them alike (formats.py).

const TIMES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [0.001, "ms"]];
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const SHORT = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 3 });
const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const MONEY = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const scaled = (value, units, least) => {
  const [length, name] = units.find(([length]) => Math.abs(value) >= length) ?? [least, units.at(-1)[1]];
  return `${SHORT.format(value / length)} ${name}`;
};

const WRITERS = {
  s: (value) => (value === 0 ? "0 s" : scaled(value, TIMES, 0.001)),
  B: (value) => scaled(value, SIZES, 1),
  "/s": (value) => `${SHORT.format(value)}/s`,
  price: (value) => MONEY.format(value),
  count: (value) => WHOLE.format(value),
};
const TICKS = { ...WRITERS, count: (value) => COMPACT.format(value) };

/** A figure for a tooltip or a table. */
export const measured = (value, unit) => (value == null ? "–" : (WRITERS[unit] ?? WRITERS.count)(value));

/** A figure beside an axis, shorter. */
export const ticked = (value, unit) => (TICKS[unit] ?? TICKS.count)(value);

/** Steps between ticks; those of durations are what clocks have. */
export function steps(unit) {
  const decades = [];
  for (let power = unit === "count" ? 0 : -6; power <= 15; power++) {
    if (unit === "s" && power > -1) break;
    for (const digit of [1, 2, 5]) decades.push(Number(`${digit}e${power}`));
  }
  if (unit !== "s") return decades;
  const clocks = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  return [...decades, ...clocks, ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86400)];
}
