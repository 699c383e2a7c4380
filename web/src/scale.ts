// Where values lie on an axis: numbers on a linear or logarithmic one, anything else in equal steps.
import type { Config } from "./api";
import type { Cell } from "./rows";
import { shown } from "./rows";

export interface Scale {
  kind: "linear" | "log" | "words";
  low: number;
  high: number;
  words: string[]; // Of "words": all values, in order.
  // From 0 to 1; null: the value is not there, or cannot be on this axis.
  at: (cell: Cell | undefined) => number | null;
  // The value at a place of a numeric axis.
  value: (at: number) => number;
  ticks: { at: number; text: string }[];
}

const DOMAINS = ["choice", "ordinal", "uniform", "quniform", "loguniform", "qloguniform", "randint", "qrandint", "lograndint",
  "qlograndint", "randn", "qrandn", "grid_search"];

// The domain that the space file gives a parameter ("a/b"): "loguniform", "choice"; "" where it is not known.
export function domainOf(space: Config | undefined, name: string): string {
  let node: unknown = space;
  for (const part of name.split("/")) {
    if (node === null || typeof node !== "object") return "";
    node = (node as Config)[part];
  }
  if (node === null || typeof node !== "object") return "";
  return Object.keys(node).find((key) => DOMAINS.includes(key)) ?? "";
}

// Seconds between two ticks of a time axis.
export const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600,
  43200, ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86400)];

// What stands at ticks of a time axis, in one unit and with as many digits as tell one from the next.
export function timeTexts(seconds: number[]): string[] {
  const last = seconds[seconds.length - 1] ?? 0;
  const [name, unit] = last >= 7200 ? ["h", 3600] : last >= 120 ? ["min", 60] : last >= 1 ? ["s", 1] : ["ms", 0.001] as [string, number];
  const step = seconds.length > 1 ? (seconds[1] - seconds[0]) / (unit as number) : 1;
  const digits = [0, 1, 2].find((n) => Math.abs(step * 10 ** n - Math.round(step * 10 ** n)) < 1e-6 && step * 10 ** n > 0.5) ?? 3;
  return seconds.map((s) => (s === 0 ? "0" : `${Number((s / (unit as number)).toFixed(digits))} ${name}`));
}

function niceTicks(low: number, high: number): number[] {
  const span = high - low || 1;
  const raw = span / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  // Of values so large that their steps are lost in them there is no other tick.
  if (!(count > 0 && count < 20)) return [low];
  return Array.from({ length: count }, (_, i) => (first + i) * step);
}

function logTicks(low: number, high: number): number[] {
  const out = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; ++power) out.push(10 ** power);
  const step = Math.ceil(out.length / 6);
  return out.length >= 2 ? out.filter((_, i) => i % step === 0) : [low, high];
}

// Values this far apart lie on a logarithmic axis where nobody has said otherwise.
const AUTO_LOG = 1000;

export function scaleOf(cells: (Cell | undefined)[], domain = ""): Scale {
  const known = cells.filter((c) => c !== null && c !== undefined) as Exclude<Cell, null>[];
  const numbers = known.filter((c): c is number => typeof c === "number" && Number.isFinite(c));
  const isWords = numbers.length < known.length || known.length === 0
    || (/^(choice|ordinal|grid_search)$/.test(domain) && new Set(numbers).size <= 12);
  if (isWords) {
    const words = [...new Set(known)].sort((a, b) =>
      typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1).map(String);
    const place = new Map(words.map((word, i) => [word, words.length === 1 ? 0.5 : i / (words.length - 1)]));
    const step = Math.ceil(words.length / 20);
    return {
      kind: "words", low: 0, high: Math.max(1, words.length - 1), words,
      at: (cell) => (cell === null || cell === undefined ? null : place.get(String(cell)) ?? null),
      value: (at) => at,
      ticks: words.map((text) => ({ at: place.get(text) as number, text })).filter((_, i) => i % step === 0),
    };
  }
  let low = Infinity, high = -Infinity;
  for (const n of numbers) {
    if (n < low) low = n;
    if (n > high) high = n;
  }
  const isLog = low > 0 && (domain.includes("log") || (domain === "" && high / low >= AUTO_LOG));
  if (low === high) {
    const around = Math.max(0.5, Math.abs(low) / 100);
    low = isLog ? low / 2 : low - around;
    high = isLog ? high * 2 : high + around;
  }
  const on = isLog ? Math.log : (x: number) => x;
  const back = isLog ? Math.exp : (x: number) => x;
  const a = on(low), b = on(high);
  const at = (n: number) => (on(n) - a) / (b - a);
  return {
    kind: isLog ? "log" : "linear", low, high, words: [],
    at: (cell) => (typeof cell === "number" && Number.isFinite(cell) && (!isLog || cell > 0) ? at(cell) : null),
    value: (place) => back(a + place * (b - a)),
    ticks: (isLog ? logTicks(low, high) : niceTicks(low, high)).map((tick) => ({ at: at(tick), text: shown(tick) })),
  };
}

// Of a metric, its middle nine tenths: a few terrible trials would hide all others.
export function shareOf(values: (number | null)[], mode: "min" | "max"): (value: number | null) => number | null {
  const sorted = values.filter((v): v is number => v !== null && Number.isFinite(v)).sort((a, b) => a - b);
  if (sorted.length === 0) return () => null;
  const cut = Math.floor(sorted.length / 10);
  const low = mode === "max" ? sorted[cut] : sorted[0];
  const high = mode === "max" ? sorted[sorted.length - 1] : sorted[sorted.length - 1 - cut];
  return (value) => (value === null || !Number.isFinite(value) ? null
    : high === low ? 0.5 : Math.max(0, Math.min(1, mode === "max" ? (value - low) / (high - low) : (high - value) / (high - low))));
}
