// Following the database: an event says that something has changed, and what is shown is asked for again.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, isReport, Refused, type Trial, type TrialRows } from "./api";

// Asking takes at most this share of the time, so that pages of large sweeps do not wear out who answers.
const SHARE = 0.2;
// Nothing is asked for again sooner.
const AGAIN_MS = 100;
// What is seen first is drawn before the rest of it is asked for.
const REST_MS = 500;
// A tuner that was killed says nothing: its sweep's status is looked at all the same.
const LOOK_MS = 5000;
const GONE = "The page's server does not answer; trying again. It ends with tune run --ui; tune ui shows the database.";

// The server has said that it ends: what is asked for now is how its sweep ended, and nothing waits for its turn.
let isEnding = false;

const OTHER_KEY = "The page's server was started again and has another key: open the address that it printed.";

// Rises with each change; the text says what is wrong.
export function useChanges(): [number, string] {
  const [tick, setTick] = useState(0);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    if (isReport) return;
    let events: EventSource | null = null;
    let again: number | undefined;
    const changed = () => setTick((t) => t + 1);
    const listen = () => {
      clearTimeout(again);
      events?.close();
      events = null;
      if (document.hidden) return; // A browser keeps few connections to one server: hidden pages leave theirs to others.
      events = new EventSource("/api/v1/events");
      events.onmessage = changed;
      events.addEventListener("end", () => { isEnding = true; changed(); });
      events.onopen = () => { isEnding = false; setTrouble(""); changed(); };
      events.onerror = () => {
        // An event source does not say why: a server that was started again has another key, and one that answers has enough
        // who listen; the timer below follows it then.
        fetch("/api/v1/sweeps").then((answer) => setTrouble(answer.status === 401 ? OTHER_KEY : ""), () => setTrouble(GONE));
        if (events?.readyState === EventSource.CLOSED) {
          clearTimeout(again);
          again = window.setTimeout(listen, LOOK_MS);
        }
      };
    };
    listen();
    document.addEventListener("visibilitychange", listen);
    const timer = setInterval(() => document.hidden || changed(), LOOK_MS);
    return () => {
      clearTimeout(again);
      events?.close();
      document.removeEventListener("visibilitychange", listen);
      clearInterval(timer);
    };
  }, []);
  return [tick, trouble];
}

interface Asked<T> {
  value: T | null;
  trouble: string;
}

// What `load` gives, again after each tick; null at first and after `key` has changed. Not asked for while `key` is "".
function useLoaded<T>(key: string, tick: number, load: (before: T | null) => Promise<T>): Asked<T> {
  const [asked, setAsked] = useState<Asked<T> & { key: string }>({ key, value: null, trouble: "" });
  const state = useRef({ key: "", value: null as T | null, isAsking: false, isDue: false, isBegun: false, notBefore: 0, timer: 0 });
  const look = () => {
    const now = state.current;
    if (!key || now.isAsking) {
      now.isDue = now.isAsking;
      return;
    }
    clearTimeout(now.timer);
    const wait = now.key === key && !isEnding ? now.notBefore - performance.now() : 0;
    if (wait > 0) {
      now.timer = window.setTimeout(() => latest.current(), wait); // By then it may be about another key.
      return;
    }
    now.isAsking = true;
    now.isDue = false;
    const begin = performance.now();
    const before = now.key === key ? now.value : null;
    load(before).then((value) => {
      const { is_behind, is_begun } = (value ?? {}) as { is_behind?: boolean; is_begun?: boolean };
      now.isDue ||= Boolean(is_behind || is_begun); // There is more to come.
      Object.assign(now, { key, value, isBegun: Boolean(is_begun) });
      setAsked((last) => (last.key === key && last.value === value && !last.trouble ? last : { key, value, trouble: "" }));
    }, (error) => setAsked((last) => ({
      key, value: last.key === key ? last.value : null, trouble: error instanceof Refused ? error.message : GONE,
    }))).finally(() => {
      now.isAsking = false;
      now.notBefore = performance.now() + (now.isBegun ? REST_MS : Math.max(AGAIN_MS, (performance.now() - begin) / SHARE));
      if (now.isDue) latest.current();
    });
  };
  const latest = useRef(look);
  latest.current = look;
  useEffect(look, [key, tick]);
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return asked.key === key ? asked : { value: null, trouble: "" };
}

export const useAnswer = <T>(path: string, tick: number): Asked<T> => useLoaded<T>(path, tick, () => ask<T>(path));

// The same of several addresses, by address; the same map as long as nothing has changed.
export const useAnswers = <T>(paths: string[], tick: number): Asked<Map<string, T>> => useLoaded<Map<string, T>>(paths.join("\n"), tick, async (before) => {
  const answers = await Promise.all(paths.map((path) => ask<T>(path)));
  return before && paths.every((path, i) => before.get(path) === answers[i]) ? before : new Map(paths.map((path, i) => [path, answers[i]]));
});

export interface Trials {
  revision: string;
  byNumber: Map<number, Trial>;
  list: Trial[];
  leftOut: number; // Of very many: how many are still to come.
  is_begun: boolean;
}

export function merge(before: Trials | null, rows: TrialRows): Trials {
  if (before && !rows.is_whole && rows.rows.length === 0) return { ...before, revision: rows.revision };
  const byNumber = new Map(rows.is_whole ? [] : before?.byNumber);
  for (const row of rows.rows) {
    const trial = Object.fromEntries(rows.columns.map((name, i) => [name, row[i]])) as unknown as Trial;
    byNumber.set(trial.number, trial);
  }
  return { revision: rows.revision, byNumber, list: [...byNumber.values()], leftOut: rows.left_out, is_begun: rows.left_out > 0 };
}

// What is seen first of very many trials; the others are asked for once these are shown.
const FIRST = 400;

// `list` stays the same object as long as no trial has changed.
export const useTrials = (path: string, tick: number): Asked<Trials> => useLoaded<Trials>(path, tick, async (before) => {
  const known = before?.revision ? "?since=" + before.revision : "";
  const rows = await ask<TrialRows>(path + (isReport ? "" : before ? known : "?first=" + FIRST));
  return before && !rows.is_whole && rows.rows.length === 0 ? before : merge(before, rows);
});
