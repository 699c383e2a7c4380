// One trial: what it was given, what became of it, and why.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { TrialActions, type Acting } from "./act";
import { isReport, type Log, type TrialDetail } from "./api";
import { COLOURS, themed } from "./colour";
import { iterationAxis } from "./curves";
import { useAnswer } from "./live";
import { cutoffShown, digitsOf, flat, isValue, lastOf, parameters, shown } from "./rows";
import { valueAxis } from "./values";

const time = (text: string | null) => (text ? new Date(text).toLocaleString() : "");
const LIST_MAX = 20;
const LOG_TAIL = 64 * 1024;
const NARROW = "(max-width: 60rem)"; // As in style.css.

export function bytes(n: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const at = n > 0 ? Math.min(units.length - 1, Math.floor(Math.log2(n) / 10)) : 0;
  return `${Number((n / 1024 ** at).toPrecision(3))} ${units[at]}`;
}

function decisionText(d: TrialDetail["decisions"][number]): string {
  const place = d.rank !== null && d.count !== null ? `, place ${d.rank} of ${d.count}` : "";
  const cutoff = d.cutoff !== null ? `, cutoff ${cutoffShown(d.cutoff)}` : "";
  return `${d.decision}${d.rung !== null ? ` at rung ${d.rung}` : ""}${place}${cutoff}`;
}

// Its values, and the cutoff that each rung had when it came there.
function Curve({ detail, metric }: { detail: TrialDetail; metric: string }) {
  const box = useRef<HTMLDivElement>(null);
  const reports = [...detail.latest_reports].reverse();
  const met = detail.decisions.filter((d) => isValue(d.cutoff));
  const y = valueAxis([...reports.map((r) => r.value), ...met.map((d) => d.cutoff)]);
  useEffect(() => {
    const element = box.current;
    if (!element || reports.length === 0) return;
    const cutoffs = new Map(met.map((d) => [d.iteration, d.cutoff]));
    // Where an iteration came again the report counts that was decided on.
    const points = new Map<number, number | null>();
    const decided = new Set<number>();
    for (const r of reports) {
      if (r.is_decided || !decided.has(r.iteration)) points.set(r.iteration, r.value);
      if (r.is_decided) decided.add(r.iteration);
    }
    const xs = [...new Set([...points.keys(), ...cutoffs.keys()])].sort((a, b) => a - b);
    const placed = (value: number | null | undefined) => (y.has(value ?? null) ? y.on(value as number) : null);
    const plot = new uPlot({
      width: Math.max(200, element.clientWidth), height: 160, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false }, y: y.scale },
      axes: [iterationAxis(), y.axis],
      series: [{},
        { stroke: COLOURS[0], width: 2, spanGaps: true, points: { show: xs.length < 30 } },
        { stroke: themed("--warn"), width: 0, paths: () => null, points: { show: true, size: 9, width: 2, fill: themed("--back") } }],
    }, [xs, xs.map((x) => placed(points.get(x))), xs.map((x) => placed(cutoffs.get(x)))] as uPlot.AlignedData, element);
    return () => plot.destroy();
  }, [detail]);
  if (reports.length === 0) return null;
  return (
    <figure>
      <figcaption class="soft">{metric} by iteration{y.note && `; ${y.note}`}{met.length > 0 && "; rings are the cutoffs it met"}{detail.latest_reports.length >= 200 && "; the latest 200"}</figcaption>
      <div ref={box} />
    </figure>
  );
}

// Within a line.
const isScrolledToEnd = (e: HTMLElement) => e.scrollHeight - e.scrollTop - e.clientHeight < 20;

function LogPart({ path, tick, isRunning }: { path: string; tick: number; isRunning: boolean }) {
  const [attempt, setAttempt] = useState(0);
  const [beat, setBeat] = useState(0);
  const end = useRef<HTMLPreElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);
  const latest = useRef(0);
  if (isAtEnd) latest.current = tick + beat; // What a person reads further up stays where it is.
  const asked = useAnswer<Log>(`${path}/log?attempt=${attempt}&from=-${LOG_TAIL}`, latest.current);
  useEffect(() => {
    if (!isRunning) return; // A log grows without a change of the database.
    const timer = setInterval(() => document.hidden || setBeat((b) => b + 1), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  const log = asked.value;
  useEffect(() => { if (end.current) end.current.scrollTop = end.current.scrollHeight; }, [log?.to, log?.attempt]);
  if (asked.trouble) return <p class="doubt">{asked.trouble}</p>;
  if (!log) return <p class="empty">Reading…</p>;
  if (log.attempts.length === 0) return <p class="empty">Nothing on this machine was printed by it.</p>;
  return (
    <>
      {log.attempts.length > 1 && (
        <label>attempt <select value={log.attempt} onChange={(e) => { setAttempt(Number(e.currentTarget.value)); setIsAtEnd(true); }}>
          {log.attempts.map((a) => <option key={a} value={a}>{a}</option>)}</select></label>
      )}
      {log.from > 0 && <p class="soft note">the last {bytes(log.to - log.from)} of {bytes(log.size)}; all of it: tune logs</p>}
      {!isAtEnd && <p class="soft note">it goes on at its end, and is not followed further up</p>}
      <pre class="log" ref={end} tabIndex={0} aria-label="log" onScroll={(e) => setIsAtEnd(isScrolledToEnd(e.currentTarget))}>{log.text || "(empty)"}</pre>
    </>
  );
}

// Of another objective: its last value.
function othersValue(detail: TrialDetail, other: string): string {
  const report = detail.latest_reports.find((r) => other in (r.metrics ?? {}));
  return report ? `${shown(flat({ value: report.metrics[other] }).get("value"))} at iteration ${report.iteration}, the last` : "nothing reported";
}

// `others`: objectives besides `metric`, which the curve is of.
export function TrialPanel({ detail, metric, others, path, tick, why, want, onClose }: {
  detail: TrialDetail; metric: string; others: string[]; path: string; tick: number; why: string; want: Acting["want"]; onClose: () => void;
}) {
  const trial = detail.trial[0];
  const [hasLog, setHasLog] = useState(false);
  // The latest; what is removed is of least use.
  const kept = detail.checkpoints.filter((c) => c.state !== "removed");
  const checkpoints = (kept.length > 0 ? kept : detail.checkpoints).slice(-LIST_MAX);
  const panel = useRef<HTMLElement>(null);
  // On a narrow screen it stands above the table from which it was opened.
  useEffect(() => { if (matchMedia(NARROW).matches) panel.current?.scrollIntoView(); }, [trial.number]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const isElsewhere = document.querySelector("dialog[open], details.menu[open]") || (e.target as Element).matches("input, textarea, select");
      if (e.key === "Escape" && !isElsewhere) onClose();
    };
    document.addEventListener("keydown", key, true); // Before what else it may close.
    return () => document.removeEventListener("keydown", key, true);
  });
  const copy = () => navigator.clipboard.writeText(JSON.stringify(trial.config, null, 1));
  return (
    <aside ref={panel} aria-label={`trial ${trial.number}`}>
      <header class="bar">
        <h2>Trial {trial.number}</h2>
        <span>{trial.status}{trial.stop_reason ? ` (${trial.stop_reason})` : ""}</span>
        <button onClick={onClose} aria-label="close">✕</button>
      </header>
      <TrialActions trial={trial} want={want} />
      {detail.notes.map((note) => <p class="doubt" key={note}>in doubt: {note}</p>)}
      <Curve detail={detail} metric={metric} />
      <dl>
        <dt>{metric}</dt>
        <dd>{trial.best_value === null ? trial.iterations > 0 ? "no number reported" : "nothing reported" : `${shown(trial.best_value)} at iteration ${trial.best_iteration}; last ${shown(lastOf(trial))}`}</dd>
        {trial.violation != null && <><dt>limits</dt><dd>{trial.feasible ? "kept" : trial.violation >= 1e90 ? "broken: a metric of a limit is NaN or missing" : `broken, by ${shown(trial.violation)}`}</dd></>}
        {others.map((other) => <><dt>{other}</dt><dd>{othersValue(detail, other)}</dd></>)}
        {why && <><dt>waits</dt><dd>{why}</dd></>}
        <dt>began</dt><dd>{time(trial.started_at) || "not yet"}</dd>
        {trial.finished_at && <><dt>ended</dt><dd>{time(trial.finished_at)}</dd></>}
      </dl>
      <h3>Configuration <button onClick={copy}>copy</button></h3>
      <dl>{[...parameters(trial)].map(([name, value]) => <><dt>{name}</dt><dd>{digitsOf(trial, name) ?? shown(value)}</dd></>)}</dl>
      {detail.decisions.length > 0 && <>
        <h3>Decisions</h3>
        <ul>{detail.decisions.map((d) => <li key={`${d.iteration} ${d.decision}`}>iteration {d.iteration}: {decisionText(d)}</li>)}</ul>
      </>}
      <h3>Attempts</h3>
      <ul>{detail.attempts.map((a) => (
        <li key={a.number}>
          {a.number} on {a.worker}: {a.outcome ?? "under way"}{a.from_iteration > 0 ? `, from iteration ${a.from_iteration}` : ""}
          {detail.attempts.length > 1 && <span class="soft">, {time(a.started_at)}{a.finished_at && ` to ${time(a.finished_at)}`}</span>}
          {a.error && <pre>{a.error}</pre>}
        </li>))}
      </ul>
      {detail.checkpoints.length > 0 && <>
        <h3>Checkpoints</h3>
        <ul>{checkpoints.map((c) => <li key={c.iteration}>iteration {c.iteration}: {bytes(c.bytes)}, {c.state}</li>)}</ul>
        {detail.checkpoints.length > checkpoints.length && <p class="soft note">and {detail.checkpoints.length - checkpoints.length} more</p>}
      </>}
      {!isReport && <>
        <h3>Log <button aria-expanded={hasLog} onClick={() => setHasLog(!hasLog)}>{hasLog ? "hide" : "show"}</button></h3>
        {hasLog && <LogPart path={path} tick={tick} isRunning={trial.status === "RUNNING"} />}
      </>}
      <h3>Latest reports</h3>
      <ul class="reports">{detail.latest_reports.slice(0, LIST_MAX).map((r) => (
        <li key={`${r.iteration} ${r.attempt}`}>{r.iteration}{detail.attempts.length > 1 && ` of attempt ${r.attempt}`}: {[...flat({ [metric]: r.value, ...(r.metrics ?? {}) })].map(([n, v]) => `${n} ${shown(v)}`).join(", ")}</li>))}
      </ul>
    </aside>
  );
}
