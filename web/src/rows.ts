// Trials as rows of a table: columns, order and filter.
import { isReport, Whole, type Config, type Ranges, type Trial } from "./api";

export type Cell = number | string | boolean | null;

export interface Column<T = Trial> {
  name: string;
  title: string;
  other?: string; // What a filter may call it, too.
  cell: (row: T) => Cell;
  digits?: (row: T) => string | undefined; // Of a whole number that the cell rounds.
  isParameter?: boolean;
  metric?: string;
  isExtra?: boolean; // Shown where it is asked for.
  isTag?: boolean; // A tag that is called as a column does not hide it: "tag:status".
  isTime?: boolean; // Its cells are times, of which a beginning is enough: 2026-11-28.
}

// `digits`: is given those of whole numbers that a cell rounds.
export function flat(config: Config, before = "", digits?: Map<string, string>): Map<string, Cell> {
  const out = new Map<string, Cell>();
  for (const [name, value] of Object.entries(config ?? {})) {
    if (value instanceof Whole) {
      out.set(before + name, Number(value.digits));
      digits?.set(before + name, value.digits);
    } else if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, cell] of flat(value as Config, before + name + "/", digits)) out.set(inner, cell);
    } else {
      out.set(before + name, value !== null && typeof value === "object" ? JSON.stringify(value) : (value as Cell));
    }
  }
  return out;
}

export const NULL = "null"; // The value null of a parameter.

const flats = new WeakMap<Trial, Map<string, Cell>>();
const digitsByTrial = new WeakMap<Trial, Map<string, string>>();
export function parameters(trial: Trial): Map<string, Cell> {
  let found = flats.get(trial);
  if (!found) {
    const digits = new Map<string, string>();
    flats.set(trial, (found = flat(trial.config, "", digits)));
    // A value like others; a cell that is null is a parameter that the trial does not have.
    for (const [name, cell] of found) if (cell === null) found.set(name, NULL);
    digitsByTrial.set(trial, digits);
  }
  return found;
}

// Of a parameter that is a whole number which its cell rounds.
export function digitsOf(trial: Trial, name: string): string | undefined {
  parameters(trial);
  return digitsByTrial.get(trial)?.get(name);
}

// How long its attempts took; of one that runs whole seconds up to now, which is not known in a report. Where its tuner is gone it ran
// up to its last report, as far as is known.
export function seconds(trial: Trial, isLiving: boolean): number | null {
  if (trial.run_seconds === null || trial.attempts === 0) return null;
  if (trial.running_since && !isLiving) {
    const ran = trial.heard_at ? (Date.parse(trial.heard_at) - Date.parse(trial.running_since)) / 1000 : 0;
    return Math.round((trial.run_seconds + ran) * 1e3) / 1e3;
  }
  if (trial.running_since) {
    const since = (Date.now() - new Date(trial.running_since).getTime()) / 1000;
    return isReport ? null : Math.floor(trial.run_seconds + Math.max(0, since)); // The clocks of two machines may differ.
  }
  return Math.round(trial.run_seconds * 1e6) / 1e6; // What a clock measures, without what adding it up has left behind.
}

// A value that was reported and is NaN or infinite is told; which of them the answer does not say.
export const lastOf = (trial: Trial): Cell => trial.last_value ?? (trial.iterations > 0 ? "no number" : null);

const COLUMNS = ["number", "trial", "status", "best", "violation", "at", "last", "iterations", "seconds", "attempts", "why", "ended by"];

// What a filter finds the column of a parameter by, and that of the metric's best values: another column may have the same name.
export const parameterTitle = (name: string, metric: string) => (COLUMNS.includes(name) || name === metric ? "param:" + name : name);
export const metricTitle = (metric: string) => (["number", "trial", "status"].includes(metric) ? "best" : metric);

export function columnsOf(trials: Trial[], metric: string, isLiving: boolean): Column[] {
  const names = new Set<string>();
  for (const trial of trials) for (const name of parameters(trial).keys()) names.add(name);
  return [
    { name: "number", title: "trial", cell: (t) => t.number },
    { name: "status", title: "status", cell: (t) => t.status },
    { name: "best", title: metric, cell: (t) => t.best_value },
    ...(trials.some((t) => t.violation !== null) ? [{ name: "violation", title: "violation", cell: (t: Trial) => t.violation }] : []),
    { name: "at", title: "at", cell: (t) => t.best_iteration },
    { name: "last", title: "last", other: rangeTitle("last", metric), cell: lastOf },
    { name: "iterations", title: "iterations", cell: (t) => t.iterations },
    ...[...names].map((name): Column => ({
      name: "param:" + name, title: parameterTitle(name, metric), other: name.replaceAll("/", "."), cell: (t) => parameters(t).get(name) ?? null, digits: (t) => digitsOf(t, name), isParameter: true,
    })),
    { name: "seconds", title: "seconds", cell: (t) => seconds(t, isLiving) },
    { name: "attempts", title: "attempts", cell: (t) => t.attempts },
    { name: "why", title: "ended by", cell: (t) => t.stop_reason },
  ];
}

const RANGE = ["last", "min", "max"];
export const rangeTitle = (kind: string, metric: string) => `${kind}(${metric})`;

// The last, least and greatest value of each metric; of the sweep's own the last has a column. The last of the `others`, which are
// objectives, too, is always shown. `ranges`: what is known of them.
export function metricColumns(metrics: string[], own: string, others: string[], ranges: Map<string, Ranges>): Column[] {
  return metrics.flatMap((metric) => {
    let byTrial: Map<number, number[]> | null = null;
    const of = (trial: Trial) => (byTrial ??= new Map(ranges.get(metric)?.rows.map((row) => [row[0], row]))).get(trial.number);
    return RANGE.map((kind, i): Column => ({ name: `${kind}:${metric}`, title: rangeTitle(kind, metric), metric, isExtra: kind !== "last" || !others.includes(metric), cell: (t) => of(t)?.[i + 1] ?? null }))
      .filter((c) => metric !== own || !c.name.startsWith("last:"));
  });
}

// Objectives stand beside each other.
export function withMetrics(columns: Column[], metrics: Column[]): Column[] {
  const after = columns.findIndex((c) => c.name === "last") + 1;
  return [...columns.slice(0, after), ...metrics.filter((c) => !c.isExtra), ...columns.slice(after), ...metrics.filter((c) => c.isExtra)];
}

// What is the same in all of them tells nothing.
export const differing = (columns: Column[], trials: Trial[]): Column[] =>
  columns.filter((c) => c.name === "number" || trials.some((t) => c.cell(t) !== c.cell(trials[0])));

// Numbers before texts, what is not there last in either direction.
export function compare(a: Cell, b: Cell, down: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "number" && typeof b === "number"
    ? a - b
    : typeof a === "number" ? -1 : typeof b === "number" ? 1 : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  return down ? -order : order;
}

export function sorted(trials: Trial[], columns: Column[], sort: string): Trial[] {
  const down = sort.startsWith("-");
  const column = columns.find((c) => c.name === sort.replace(/^-/, ""));
  if (!column) return trials;
  return [...trials].sort((a, b) => compare(column.cell(a), column.cell(b), down) || a.number - b.number);
}

// A trial that failed, or breaks limits on results, is not compared with the others by its value.
export const isRanked = (trial: Trial): boolean => trial.status !== "ERROR" && !trial.violation;

// As `tune results` orders them (core/standing.h): what keeps the limits, then what violates them less; those without a value and those
// that failed at the end.
export function bestFirst(trials: Trial[], isMax: boolean): Trial[] {
  const group = (t: Trial) => (t.status === "ERROR" ? 2 : t.best_value === null ? 1 : 0);
  return [...trials].sort((a, b) => group(a) - group(b) || (a.violation ?? 0) - (b.violation ?? 0) || compare(a.best_value, b.best_value, isMax) || a.number - b.number);
}

// Beyond this a cutoff stands for a violation of limits, in so many parts (core/standing.h).
const RANKED_MAX = 1e180, PER_VIOLATION = 1e200;
export const isValue = (cutoff: number | null): boolean => cutoff !== null && Math.abs(cutoff) <= RANKED_MAX;
export const cutoffShown = (cutoff: number): string => (isValue(cutoff) ? shown(cutoff) : `a violation of ${shown(Math.abs(cutoff) / PER_VIOLATION)}`);

// One test of a filter. `name`: the column's; null for a word alone.
export interface FilterPart {
  name: string | null;
  operator: string;
  value: string;
  text: string; // As it was written.
  isOpen: boolean; // A quotation mark of it is not closed.
}

const OPERATORS = "<=|>=|!=|==|=|<|>";
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
// A quotation mark begins a text at the beginning of a name, of a value or of a word alone; elsewhere it is a letter like others.
const PART = new RegExp(`\\s*(?:(${QUOTED}|[^\\s"<>=!][^\\s<>=!]*)\\s*(${OPERATORS})\\s*)?(${QUOTED}(?=\\s|$)|"(?:[^"\\\\]|\\\\.)*$|\\S+)?`, "y");

const OPEN = /^"(?:[^"\\]|\\.)*\\?$/;

function unquoted(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

export function filterParts(text: string): FilterPart[] {
  const parts: FilterPart[] = [];
  PART.lastIndex = 0;
  while (text.slice(PART.lastIndex).trim()) {
    const match = PART.exec(text) as RegExpExecArray; // Each part of it may be missing: it always matches.
    const [all, name, operator, value] = match;
    parts.push({ name: name === undefined ? null : unquoted(name), operator: operator ?? "", value: unquoted(value ?? ""), text: all.trim(), isOpen: OPEN.test(value ?? "") });
  }
  return parts;
}

const asName = (name: string) => (/^[^\s"<>=!][^\s<>=!]*$/.test(name) ? name : JSON.stringify(name));
const asValue = (value: string) => (value === "" || /\s|^"/.test(value) ? JSON.stringify(value) : value);

// A test as a person would write it.
export const filterText = (name: string, operator: string, value: string) => asName(name) + operator + asValue(value);

const TIME = /^\d{4}(-(0\d|1[0-2])(-([0-2]\d|3[01])([T ]([01]\d|2[0-3])(:[0-5]\d(:[0-5]\d(\.\d{1,3})?)?)?)?)?)?Z?$/;

// As it is shown, in the reader's zone: "2026-11-28T14:30:05.123".
function localTime(time: string): string {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60e3).toISOString().slice(0, -1);
}

// By as much of the time as was written; in UTC where a Z says so.
function isTimeTo(time: string, operator: string, written: string): boolean {
  const isUtc = written.endsWith("Z");
  const value = written.replace(" ", "T").replace("Z", "");
  const begin = (isUtc ? time : localTime(time)).slice(0, value.length);
  switch (operator) {
    case "<": return begin < value;
    case "<=": return begin <= value;
    case ">": return begin > value;
    case ">=": return begin >= value;
    default: return (begin === value) === (operator !== "!=");
  }
}

const words = new WeakMap<Trial, string>();
export function wordsOf(trial: Trial): string {
  let found = words.get(trial);
  if (found === undefined) {
    const config = [...parameters(trial)].map(([name, cell]) => `${name} ${digitsOf(trial, name) ?? cell}`);
    words.set(trial, (found = [trial.status, trial.stop_reason ?? "", ...config].join("\n").toLowerCase()));
  }
  return found;
}

// "lr<0.01 status=ERROR "ended by"=max_t word": all must hold; a word alone is looked for in status, reason and configuration.
// A text for the mistake, where there is one. `wordsOf`: where a word alone is looked for, in small letters.
export function filterOf<T>(text: string, columns: Column<T>[], wordsOf: (row: T) => string): ((row: T) => boolean) | string {
  const tests: ((row: T) => boolean)[] = [];
  for (const { name, operator, value, text: part, isOpen } of filterParts(text)) {
    if (isOpen) return `${part}: the quotation mark is not closed`;
    if (name === null) {
      const word = value.toLowerCase();
      tests.push((t) => wordsOf(t).includes(word));
      continue;
    }
    const column = columns.find((c) => c.title === name || c.name === name) ?? columns.find((c) => c.other === name);
    if (!column) return `there is no column ${name}; known are ${columns.map((c) => asName(c.isTag ? c.name : c.title)).join(", ")}`;
    const number = value === "" ? NaN : Number(value);
    if (column.isTime && !TIME.test(value)) return `${part}: read '${value}', expected a time such as 2026-11-28 or 2026-11-28T14:30`;
    if (column.isTime) {
      tests.push((t) => isTimeTo(String(column.cell(t)), operator, value));
      continue;
    }
    if ((operator.startsWith("<") || operator.startsWith(">")) && Number.isNaN(number)) {
      return `${part}: read '${value}', expected a number`;
    }
    tests.push((t) => {
      const cell = column.cell(t);
      const same = cell !== null && (typeof cell === "number" && !Number.isNaN(number)
        ? cell === number || shown(cell) === value : String(cell).toLowerCase() === value.toLowerCase());
      if (operator === "=" || operator === "==") return same;
      if (operator === "!=") return !same;
      if (typeof cell !== "number") return false;
      return operator === "<" ? cell < number : operator === "<=" ? cell <= number : operator === ">" ? cell > number : cell >= number;
    });
  }
  return (row) => tests.every((test) => test(row));
}

const SMALL = 1e-4; // Below it the zeros before the digits take more room than these.

export function shown(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "number") return String(cell);
  if (Number.isSafeInteger(cell)) return String(cell);
  const rounded = Number(cell.toPrecision(6));
  // Zeros in place of digits would look exact.
  return (Math.abs(rounded) < SMALL && rounded !== 0) || Math.abs(rounded) > Number.MAX_SAFE_INTEGER ? rounded.toExponential() : String(rounded);
}

// A spreadsheet would take such a text for a formula.
const FORMULA = /^[=+\-@\t\r]/;
const textOf = (cell: Cell) => (typeof cell === "string" && FORMULA.test(cell) ? "'" + cell : String(cell ?? ""));
const quoted = (text: string) => (/[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);

export function asCsv(trials: Trial[], columns: Column[]): string {
  const lines = [columns.map((c) => quoted(textOf(c.title))).join(",")];
  for (const trial of trials) lines.push(columns.map((c) => c.digits?.(trial) ?? quoted(textOf(c.cell(trial)))).join(","));
  return lines.join("\n") + "\n";
}
