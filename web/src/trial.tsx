// One trial: what it was given, what became of it, and why.
import type { TrialDetail } from "./api";
import { flat, shown } from "./rows";

const time = (text: string | null) => (text ? new Date(text).toLocaleString() : "");

function decisionText(d: TrialDetail["decisions"][number]): string {
  const place = d.rank !== null && d.count !== null ? `, place ${d.rank} of ${d.count}` : "";
  const cutoff = d.cutoff !== null ? `, cutoff ${shown(d.cutoff)}` : "";
  return `${d.decision}${d.rung !== null ? ` at rung ${d.rung}` : ""}${place}${cutoff}`;
}

export function TrialPanel({ detail, metric, onClose }: { detail: TrialDetail; metric: string; onClose: () => void }) {
  const trial = detail.trial[0];
  const copy = () => navigator.clipboard.writeText(JSON.stringify(trial.config, null, 1));
  return (
    <aside aria-label={`trial ${trial.number}`}>
      <header class="bar">
        <h2>Trial {trial.number}</h2>
        <span>{trial.status}{trial.stop_reason ? ` (${trial.stop_reason})` : ""}</span>
        <button onClick={onClose} aria-label="close">✕</button>
      </header>
      {detail.notes.map((note) => <p class="doubt" key={note}>in doubt: {note}</p>)}
      <dl>
        <dt>{metric}</dt>
        <dd>{trial.best_value === null ? "nothing reported" : `${shown(trial.best_value)} at iteration ${trial.best_iteration}; last ${shown(trial.last_value)}`}</dd>
        <dt>began</dt><dd>{time(trial.started_at) || "not yet"}</dd>
        {trial.finished_at && <><dt>ended</dt><dd>{time(trial.finished_at)}</dd></>}
      </dl>
      <h3>Configuration <button onClick={copy}>copy</button></h3>
      <dl>{[...flat(trial.config)].map(([name, value]) => <><dt>{name}</dt><dd>{shown(value)}</dd></>)}</dl>
      {detail.decisions.length > 0 && <>
        <h3>Decisions</h3>
        <ul>{detail.decisions.map((d) => <li key={`${d.iteration} ${d.decision}`}>iteration {d.iteration}: {decisionText(d)}</li>)}</ul>
      </>}
      <h3>Attempts</h3>
      <ul>{detail.attempts.map((a) => (
        <li key={a.number}>
          {a.number} on {a.worker}: {a.outcome ?? "under way"}{a.from_iteration > 0 ? `, from iteration ${a.from_iteration}` : ""}
          {a.error && <pre>{a.error}</pre>}
        </li>))}
      </ul>
      {detail.checkpoints.length > 0 && <>
        <h3>Checkpoints</h3>
        <ul>{detail.checkpoints.map((c) => <li key={c.iteration}>iteration {c.iteration}: {c.bytes} bytes, {c.state}</li>)}</ul>
      </>}
      <h3>Latest reports</h3>
      <ul class="reports">{detail.latest_reports.slice(0, 20).map((r) => (
        <li key={`${r.iteration} ${r.attempt}`}>{r.iteration}: {[...flat({ [metric]: r.value, ...(r.metrics ?? {}) })].map(([n, v]) => `${n} ${shown(v)}`).join(", ")}</li>))}
      </ul>
    </aside>
  );
}
