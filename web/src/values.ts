// The axis of a metric's values over iterations or time: what it spans, and what stands at its ticks.
import type uPlot from "uplot";
import { themed } from "./colour";
import { shown } from "./rows";

export const axis = () => ({ stroke: themed("--text-soft"), grid: { stroke: themed("--line"), width: 1 }, ticks: { stroke: themed("--line"), width: 1 } });

// So far above all smaller ones, values would leave these as a line along the axis; where they are the few they are left beyond it.
const FAR = 1e6;
// Sums and differences of larger values are infinite.
const DRAWN_MAX = 1e306;
// The library has no ticks for values so large, so small, or so many powers of ten apart.
const LARGE = 1e15, SMALL = 1e-15, APART = 1e15;
// Ticks are written digit by digit between these.
const DIGITS_FROM = 1e-4, DIGITS_TO = 1e6;

export interface ValueAxis {
  has: (value: number | null) => boolean; // Whether it can be drawn.
  inside: (value: number) => number; // Of a value beyond the axis, one a little beyond it.
  on: (value: number) => number; // What the library is given in place of a value.
  note: string; // What the axis does not show.
  scale: uPlot.Scale;
  axis: uPlot.Axis;
}

// Short, in as many digits as tell one tick from the next.
export function tickTexts(ticks: number[]): string[] {
  const largest = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : largest;
  const digits = largest > 0 && step > 0 ? Math.min(15, Math.max(1, Math.ceil(Math.log10(largest / step)) + 2)) : 1;
  const isPlain = largest === 0 || (largest >= DIGITS_FROM && largest < DIGITS_TO);
  return ticks.map((tick) => {
    const rounded = Number(tick.toPrecision(digits));
    return isPlain || rounded === 0 ? String(rounded) : rounded.toExponential();
  });
}

// The greatest size that an axis spans, where values beyond it would press the others flat: they are the few, and far. Infinity: all fit.
export function sizeShown(values: (number | null)[]): number {
  const sizes = (values.filter((v) => v !== null && Math.abs(v) <= DRAWN_MAX) as number[]).map(Math.abs).sort((a, b) => a - b);
  const far = sizes.findIndex((size, i) => i > 0 && i >= sizes.length / 2 && size >= FAR * Math.max(1, sizes[i - 1]));
  if (far >= 0) return sizes[far - 1];
  return sizes.length < values.filter((v) => v !== null).length ? DRAWN_MAX : Infinity; // Larger ones are far from any.
}

export function valueAxis(values: (number | null)[], isLog = false): ValueAxis {
  const has = (v: number | null) => v !== null && Math.abs(v) <= DRAWN_MAX && (!isLog || v > 0);
  const sizes = (values.filter(has) as number[]).map(Math.abs).sort((a, b) => a - b);
  const far = isLog ? -1 : sizes.findIndex((size, i) => i > 0 && i >= sizes.length / 2 && size >= FAR * Math.max(1, sizes[i - 1]));
  const kept = far < 0 ? sizes : sizes.slice(0, far);
  const most = kept[kept.length - 1] ?? 0, least = kept.find((size) => size > 0) ?? 1;
  const isWide = most > LARGE || (most > 0 && most < SMALL) || (isLog && most / least > APART);
  const unit = isWide && !isLog ? 10 ** Math.floor(Math.log10(most)) : 1;
  const back = (v: number) => (isWide && isLog ? 10 ** v : v * unit);
  let low = Infinity, high = -Infinity;
  const beyond: number[] = [];
  for (const v of values) {
    if (!has(v)) continue;
    if (Math.abs(v as number) > most) beyond.push(v as number);
    else { low = Math.min(low, v as number); high = Math.max(high, v as number); }
  }
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  const inside = (v: number) => (far < 0 ? v : Math.max(low - 2 * room, Math.min(high + 2 * room, v)));
  const range = (): [number, number] => [(low - room) / unit, (high + room) / unit];
  // Not to whole powers of ten, which leaves up to half of the height empty.
  const logRange = (): [number, number] => { const by = Math.max(1.05, (high / low) ** 0.05); return [low / by, high * by]; };
  const count = beyond.length;
  const below = isLog ? values.filter((v) => v !== null && v <= 0).length : 0;
  const ends = count === 0 ? "" : [...new Set([beyond.reduce((a, b) => Math.min(a, b)), beyond.reduce((a, b) => Math.max(a, b))])].map(shown).join(" to ");
  return {
    has,
    inside,
    on: (v) => (isWide && isLog ? Math.log10(v) : inside(v) / unit),
    note: [
      count > 0 && `${count} ${count === 1 ? "value" : "values"} beyond the axis: ${ends}`,
      below > 0 && `${below} ${below === 1 ? "value that is" : "values that are"} not above 0 left out`,
    ].filter(Boolean).join(", "),
    scale: { distr: isLog && !isWide ? 3 : 1, ...(count > 0 ? { range } : isLog && !isWide ? { range: logRange } : {}) },
    axis: {
      ...axis(),
      size: (_, texts) => 18 + 7 * Math.max(4, ...(texts ?? []).map((text) => (text ?? "").length)),
      ...(isLog && !isWide ? {} : { values: (_, ticks) => (isLog ? ticks.map((tick) => shown(back(tick))) : tickTexts(ticks.map(back))) }),
    },
  };
}
