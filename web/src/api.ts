// What the server gives (tuner/page/page_api.h), and asking for it; in a report (tune report --html) the same answers lie in the file.

export type Status = "PENDING" | "RUNNING" | "PAUSED" | "TERMINATED" | "ERROR";
export type Config = { [name: string]: unknown };

export type Tags = { [key: string]: string };

export interface Best {
  number: number;
  value: number;
  iteration: number;
  config: Config;
  // With `repeat`: the runs of its configuration, which is the best by their mean.
  runs: { mean: number; deviation: number | null; count: number; repeat: number; trials: number[] } | null;
}

export interface Summary {
  name: string;
  status: string;
  metric: string;
  metrics: string[]; // All objectives.
  mode: "min" | "max";
  scheduler: string;
  seed: string;
  created_at: string;
  finished_at: string | null;
  samples: number; // How many configurations; -1: no end.
  trials_max: number; // How many trials that makes, with grids and `repeat`; -1: no end.
  counts: { [status: string]: number };
  best: Best | null;
  why_no_best: string | null; // Where `best` is null.
  feasible: string[]; // Limits on results.
  ended_early: string; // Why it ended before all of its trials were tried; else empty.
  none_feasible: string; // That what is best keeps them not; else empty.
  job: { state: string; reason: string; exit_status: number | null; command: string; owner: string } | null; // Null of a sweep.
  note: string; // What a person wrote.
  tags: Tags;
}

export interface Sweep extends Summary {
  doubts: string[];
  spec: { space?: Config; limits?: Config; [key: string]: unknown };
  may_act: boolean; // This page may command its tuner.
  may_again: boolean; // This page may have it submitted again.
  may_manage: boolean; // This page may have it gone on with, or deleted, by the head.
  may_note: boolean; // This page may write its note and tags.
  provenance: {
    version?: string; command?: string; host?: string; folder?: string;
    git?: { commit: string; dirty: boolean | null };
    data?: { folder: string; files: number; bytes: number; hash: string };
    files?: { [path: string]: string };
  };
}

// A sweep or job of a head, as it stands in the queue.
export interface Turn {
  turn: number | null; // Null: it wants no more now.
  sweep: string;
  owner: string;
  priority: number;
  weight: number;
  reserve: { cpus: number; gpus: number } | null;
  running: number;
  cpus: number;
  gpus: number;
  waits_us: number | null;
  has_claim: boolean;
  why: string | null;
}

export interface Queue {
  is_told: boolean;
  queue: Turn[];
  left_out?: number; // Sweeps behind these for which the head's answer had no room.
}

// A head's pools of workers.
export interface ClusterNow {
  cluster: string;
  is_closing: boolean;
  pools: { pool: string; engine: string; wanted: number; requested: number; joined: number; away: number; draining: number;
    failed_requests: number; min: number; max: number; why: string }[];
  workers: { worker: string; pool: string; state: string; seconds: number; reason: string }[];
  failed: { worker: string; pool: string; seconds_ago: number; why: string; log: string[] }[];
  waiting: { sweep: string; needs: string; trials: number; placed: number; why: string }[];
}

// A tuner runs it.
export const isLiving = (sweep: Summary) => sweep.status === "RUNNING" || sweep.status === "PAUSED";

export interface Trial {
  number: number;
  status: Status;
  stop_reason: string | null;
  iterations: number;
  last_value: number | null;
  best_value: number | null;
  best_iteration: number | null;
  attempts: number;
  started_at: string | null;
  finished_at: string | null;
  run_seconds: number | null; // Of its attempts that have ended.
  running_since: string | null;
  heard_at: string | null; // When it reported last, of its attempt that runs.
  config: Config;
  feasible: 0 | 1 | null; // Whether its best report keeps the limits on results; null: there are none.
  violation: number | null;
}

export interface TrialRows {
  revision: string;
  is_whole: boolean;
  columns: (keyof Trial)[];
  rows: unknown[][];
  left_out: number; // Of a first answer about very many: how many follow.
}

export interface Curve {
  trial: number;
  iterations: number[];
  seconds: number[];
  values: (number | null)[];
}

export interface Curves {
  metric: string;
  curves: Curve[];
  left_out: number;
  stride: number;
}

export interface Ranges {
  metric: string;
  rows: number[][]; // Number of the trial, last, min, max.
}

// Values of the trials at one iteration, where a scheduler stopped some early; null, and no rows, where none was: their best ones.
export interface Compared {
  is_behind?: boolean; // It is being read anew.
  iteration?: number | null;
  rows?: [number, number][]; // Number of the trial, its best value up to there; not of one that did not come so far.
}

export interface Rung {
  rung: number;
  reached: number;
  stopped: number;
  cutoff: number | null;
}

export interface Course {
  best: { at: string; trial: number; iteration: number; value: number }[];
  rungs: Rung[];
  reports: number;
  is_behind: boolean; // The database has more reports than were read so far.
  stopped_early: number;
  iterations: number;
  iterations_full: number | null;
  time_left: string;
}

export interface Front {
  objectives: { metric: string; mode: "min" | "max" }[];
  trials: number[][]; // Number, and a value for each objective.
  front: number[];
}

export interface Importance {
  is_behind?: boolean; // It is being weighed anew.
  why_not?: string;
  metrics?: {
    metric: string; trials: number; iteration: number | null;
    parameters: { name: string; share: number; low: number; high: number; is_clear: boolean }[];
  }[];
}

export interface KnownWorker {
  id: number;
  name: string;
  address: string;
  cpus: number;
  gpus: number;
  state: string;
  joined_at: string;
  last_seen_at: string; // When its state changed last.
}

export interface DeviceNow {
  worker: string;
  device: number;
  name: string;
  memory_bytes: number; // 0: not known.
  used_bytes: number | null;
  slices: { trial: number; gpu: number; sweep?: string }[]; // `sweep`: of another one.
}

export interface WorkersNow {
  is_told: boolean; // Its tuner answered; without it the last three are empty.
  known: KnownWorker[];
  workers: { worker: string; address: string; is_local: boolean; state: string; silent_seconds: number | null; waits_for: string | null; cpus: number; slices: { trial: number; cpus: number; sweep?: string }[] }[];
  devices: DeviceNow[];
  waiting: { trial: number | null; count: number; why: string }[];
}

export interface HeldDevice {
  worker: number;
  device: number;
  gpu: number;
}

export interface Timeline {
  workers: KnownWorker[];
  attempts: { columns: string[]; rows: (number | string | null | HeldDevice[])[][] };
}

export interface Log {
  attempts: number[];
  attempt: number;
  from: number;
  to: number;
  size: number;
  text: string;
}

export interface TrialDetail {
  trial: Trial[];
  attempts: { number: number; worker: string; outcome: string | null; error: string; from_iteration: number;
    started_at: string | null; finished_at: string | null }[];
  decisions: { iteration: number; decision: string; scheduler: string; rung: number | null; cutoff: number | null;
    rank: number | null; count: number | null }[];
  checkpoints: { iteration: number; bytes: number; state: string }[];
  latest_reports: { attempt: number; iteration: number; value: number | null; metrics: Config; reported_at: string; is_decided: 0 | 1 }[];
  notes: string[];
}

export class Refused extends Error {
  constructor(readonly status: number, text: string) {
    super(text);
  }
}

// A whole number that a double does not hold, by its digits: such as a seed of 62 bits.
export class Whole {
  constructor(readonly digits: string) {}
  toJSON() {
    return (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(this.digits);
  }
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;

// Older browsers do not tell the digits: the number is rounded there.
function parsed(text: string): unknown {
  if (!/[[:,]-?\d{16,}[\],}]/.test(text)) return JSON.parse(text);
  return (JSON.parse as (text: string, reviver: Reviver) => unknown)(text, (_, value, context) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? new Whole(context?.source as string) : value);
}

export const pathOf = (sweep: string) => "/sweeps/" + encodeURIComponent(sweep);

// A report's data: JSON of address to answer, packed with gzip, in base64.
async function unpack(text: string): Promise<Map<string, unknown>> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Map(Object.entries(parsed(await new Response(stream).text()) as object));
}

const packed = document.getElementById("report")?.textContent;
const report = packed ? unpack(packed) : null;
export const isReport = report !== null;

// What the tuner says that it does. Refused: what the tuner, or the page's server, has against it.
export async function act(path: string, action: object): Promise<string[]> {
  const response = await fetch(`/api/v1${path}/actions`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(action),
  });
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error ?? response.statusText);
  return answer.ok;
}

// The last answer of each address and its tag: what has not changed is not sent again.
const known = new Map<string, { tag: string; value: unknown }>();
const KNOWN_MAX = 16;

// The same object again as long as nothing has changed. Refused: the server says no; TypeError: it is gone.
export async function ask<T>(path: string): Promise<T> {
  if (report) {
    const answers = await report;
    if (!answers.has(path)) throw new Refused(404, "this report does not hold it");
    return answers.get(path) as T;
  }
  const before = known.get(path);
  const headers: Record<string, string> = before ? { "If-None-Match": before.tag } : {};
  const response = await fetch("/api/v1" + path, { headers, cache: "no-store" });
  if (response.status === 304 && before) return before.value as T;
  const value = parsed(await response.text()) as { error?: string };
  if (!response.ok) throw new Refused(response.status, value.error ?? response.statusText);
  const tag = response.headers.get("ETag");
  if (tag) {
    known.delete(path);
    known.set(path, { tag, value });
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value as string);
  }
  return value as T;
}
