// Where values lie on an axis: numbers on a linear or logarithmic one, anything else in equal steps.
import type { Config } from "./api";
import { NULL, type Cell } from "./rows";
import { tickTexts } from "./values";

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

const LISTS = ["choice", "ordinal", "grid_search"];

export interface Domain {
  kind: string; // "loguniform", "choice"; "" where it is not known.
  words: string[]; // Of a list of options, in its order.
}

// The domain that the space file gives a parameter ("a/b").
export function domainOf(space: Config | undefined, name: string): Domain {
  const none = { kind: "", words: [] };
  let node: unknown = space;
  for (const part of name.split("/")) {
    if (node === null || typeof node !== "object") return none;
    node = (node as Config)[part];
  }
  if (node === null || typeof node !== "object") return none;
  const kind = Object.keys(node).find((key) => DOMAINS.includes(key)) ?? "";
  const options = (node as Config)[kind];
  const isList = LISTS.includes(kind) && Array.isArray(options);
  return { kind, words: isList ? options.map((o) => (o !== null && typeof o === "object" ? JSON.stringify(o) : String(o))) : [] };
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

// `isWhole`: nothing lies between two whole numbers.
function niceTicks(low: number, high: number, isWhole: boolean): number[] {
  const span = high - low || 1;
  const raw = Math.max(span / 6, isWhole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  // Of values so large that their steps are lost in them there is no other tick.
  if (!(count > 0 && count < 20)) return [low];
  return Array.from({ length: count }, (_, i) => (first + i) * step);
}

function linearTicks(low: number, high: number, isWhole: boolean, at: (n: number) => number): { at: number; text: string }[] {
  const ticks = niceTicks(low, high, isWhole);
  const texts = tickTexts(ticks);
  return ticks.map((tick, i) => ({ at: at(tick), text: texts[i] }));
}

function logTicks(low: number, high: number): number[] {
  const out = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; ++power) out.push(10 ** power);
  const step = Math.ceil(out.length / 6);
  if (out.length >= 2) return out.filter((_, i) => i % step === 0);
  const between = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const digit of [1, 2, 5]) if (digit * 10 ** power >= low && digit * 10 ** power <= high) between.push(digit * 10 ** power);
  }
  return between.length >= 2 ? between : [low, high];
}

// Three digits tell where on the axis it is.
export function tickText(tick: number): string {
  const rounded = Number(tick.toPrecision(3));
  return rounded !== 0 && (Math.abs(rounded) >= 1e6 || Math.abs(rounded) < 1e-4) ? rounded.toExponential() : String(rounded);
}

// Values this far apart lie on a logarithmic axis where nobody has said otherwise.
const AUTO_LOG = 1000;

// Words stand in the order of the space file, those that it does not name behind them.
function ordered(known: Exclude<Cell, null>[], named: string[]): string[] {
  const place = new Map(named.map((word, i) => [word, i]));
  const rank = (word: Exclude<Cell, null>) => place.get(String(word)) ?? named.length;
  return [...new Set(known)].sort((a, b) => rank(a) - rank(b)
    || (typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1)).map(String);
}

export function scaleOf(cells: (Cell | undefined)[], { kind: domain, words: named }: Domain = { kind: "", words: [] }): Scale {
  const known = cells.filter((c) => c !== null && c !== undefined) as Exclude<Cell, null>[];
  const numbers = known.filter((c): c is number => typeof c === "number" && Number.isFinite(c));
  const others = known.filter((c) => c !== NULL).length; // Beside many numbers null has no place.
  const isWords = numbers.length < others || others === 0
    || (LISTS.includes(domain) && new Set(numbers).size <= 12);
  if (isWords) {
    // Numbers lie by their size, as on any axis.
    const words = ordered(known, numbers.length === known.length ? [] : named);
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
    ticks: isLog ? logTicks(low, high).map((tick) => ({ at: at(tick), text: tickText(tick) })) : linearTicks(low, high, numbers.every(Number.isInteger), at),
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
