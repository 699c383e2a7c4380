// What the server gives (tuner/cli/page_api.h), and asking for it.

export type Status = "PENDING" | "RUNNING" | "PAUSED" | "TERMINATED" | "ERROR";
export type Config = { [name: string]: unknown };

export interface Best {
  number: number;
  value: number;
  iteration: number;
  config: Config;
}

export interface Summary {
  name: string;
  status: string;
  metric: string;
  mode: "min" | "max";
  scheduler: string;
  seed: string;
  created_at: string;
  finished_at: string | null;
  trials_max: number;
  counts: { [status: string]: number };
  best: Best | null;
}

export interface Sweep extends Summary {
  doubts: string[];
  stored: { spec: unknown; base_dir: string }[];
}

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
  run_seconds: number | null;
  config: Config;
}

export interface Curves {
  curves: { trial: number; iterations: number[]; values: (number | null)[] }[];
  left_out: number;
  stride: number;
}

export interface TrialDetail {
  trial: Trial[];
  attempts: { number: number; worker: string; outcome: string | null; error: string; from_iteration: number;
    started_at: string | null; finished_at: string | null }[];
  decisions: { iteration: number; decision: string; scheduler: string; rung: number | null; cutoff: number | null;
    rank: number | null; count: number | null }[];
  checkpoints: { iteration: number; bytes: number; state: string }[];
  latest_reports: { attempt: number; iteration: number; value: number | null; metrics: Config; reported_at: string }[];
  notes: string[];
}

export class Refused extends Error {
  constructor(readonly status: number, text: string) {
    super(text);
  }
}

// The last answer of each address and its tag: what has not changed is not sent again.
const known = new Map<string, { tag: string; value: unknown }>();
const KNOWN_MAX = 8;

// The same object again as long as nothing has changed. Refused: the server says no; TypeError: it is gone.
export async function ask<T>(path: string): Promise<T> {
  const before = known.get(path);
  const headers: Record<string, string> = before ? { "If-None-Match": before.tag } : {};
  const response = await fetch("/api/v1" + path, { headers, cache: "no-store" });
  if (response.status === 304 && before) return before.value as T;
  const value = await response.json();
  if (!response.ok) throw new Refused(response.status, value.error ?? response.statusText);
  const tag = response.headers.get("ETag");
  if (tag) {
    known.delete(path);
    known.set(path, { tag, value });
    if (known.size > KNOWN_MAX) known.delete(known.keys().next().value as string);
  }
  return value as T;
}

export const pathOf = (sweep: string) => "/sweeps/" + encodeURIComponent(sweep);
