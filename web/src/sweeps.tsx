// All sweeps and jobs of the database, the latest first, and which of them are about what.
import { useMemo, useState } from "preact/hooks";
import { isLiving, type Queue, type Summary } from "./api";
import { compare, filterOf, filterParts, filterText, shown, type Column } from "./rows";

const AT_ONCE = 300; // Rows; more where they are asked for.
const NUMBERS = ["best", "seconds", "ended"];

const ended = (sweep: Summary) => (sweep.counts.TERMINATED ?? 0) + (sweep.counts.ERROR ?? 0);
const begun = (sweep: Summary) => Object.values(sweep.counts).reduce((a, b) => a + b, 0);
export const stateOf = (sweep: Summary) => sweep.job?.state ?? sweep.status;
export const tagText = (key: string, value: string) => (value ? `${key}=${value}` : key);

// Of one that runs so far, by this machine's clock.
function seconds(sweep: Summary): number | null {
  const begun = Date.parse(sweep.created_at);
  if (sweep.finished_at) return Math.round((Date.parse(sweep.finished_at) - begun) / 100) / 10;
  return isLiving(sweep) ? Math.max(0, Math.floor((Date.now() - begun) / 1000)) : null;
}

function columnsOf(sweeps: Summary[]): Column<Summary>[] {
  const keys = [...new Set(sweeps.flatMap((s) => Object.keys(s.tags)))].sort();
  return [
    { name: "name", title: "name", cell: (s) => s.name },
    { name: "kind", title: "kind", cell: (s) => (s.job ? "job" : "sweep") },
    { name: "status", title: "status", cell: stateOf },
    { name: "ended", title: "ended", cell: ended },
    { name: "metric", title: "metric", cell: (s) => (s.job ? null : s.metrics.join(", ")) },
    { name: "best", title: "best", cell: (s) => (s.job ? s.job.exit_status : s.metrics.length > 1 ? null : s.best?.runs?.mean ?? s.best?.value ?? null) },
    { name: "created", title: "created", cell: (s) => s.created_at, isTime: true },
    { name: "seconds", title: "seconds", cell: seconds },
    { name: "note", title: "note", cell: (s) => s.note || null },
    ...keys.map((key): Column<Summary> => ({ name: "tag:" + key, title: key, cell: (s) => s.tags[key] ?? null, isExtra: true, isTag: true })),
  ];
}

const wordsOf = (sweep: Summary) =>
  [sweep.name, stateOf(sweep), ...sweep.metrics, sweep.note, sweep.job?.command ?? "", sweep.job?.owner ?? "",
    ...Object.entries(sweep.tags).map(([key, value]) => tagText(key, value))].join("\n").toLowerCase();

const amount = (count: number, what: string) => (count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"}`);
const amounts = (cpus: number, gpus: number) => [amount(cpus, "CPU"), amount(gpus, "GPU")].filter(Boolean).join(", ");

// What waits on a head, by whose turn it is.
export function QueueList({ queue, onOpen }: { queue: Queue; onOpen: (sweep: string) => void }) {
  const waiting = queue.queue.filter((one) => one.turn !== null);
  if (waiting.length === 0) return null;
  return (
    <section aria-label="queue" class="view">
      <h2>Waiting, by whose turn it is</h2>
      <div class="sideways">
        <table class="sweeps">
          <thead><tr>{["turn", "name", "owner", "priority", "held free", "has", "waits", "why"].map((title) => <th key={title}>{title}</th>)}</tr></thead>
          <tbody>{waiting.map((one) => (
            <tr key={one.sweep}>
              <td class="number">{one.turn}</td>
              <td><button class="link" onClick={() => onOpen(one.sweep)}>{one.sweep}</button></td>
              <td>{one.owner}</td>
              <td class="number">{one.priority}</td>
              <td>{one.reserve && amounts(one.reserve.cpus, one.reserve.gpus)}</td>
              <td>{amounts(one.cpus, one.gpus)}</td>
              <td class="number">{one.waits_us === null ? "" : `${Math.floor(one.waits_us / 1e6)} s`}</td>
              <td class="words">{one.why}</td>
            </tr>))}
          </tbody>
        </table>
      </div>
      {queue.left_out && <p class="empty">{amount(queue.left_out, "more sweep")} not shown: the head's answer had no room.</p>}
    </section>
  );
}

export function SweepList({ sweeps, filter, sort, onFilter, onSort, onOpen }: {
  sweeps: Summary[]; filter: string; sort: string;
  onFilter: (filter: string) => void; onSort: (sort: string) => void; onOpen: (sweep: string) => void;
}) {
  const [most, setMost] = useState(AT_ONCE);
  const columns = useMemo(() => columnsOf(sweeps), [sweeps]);
  const test = useMemo(() => filterOf(filter, columns, wordsOf), [filter, columns]);
  const left = typeof test === "string" ? sweeps : sweeps.filter(test);
  const by = columns.find((c) => c.name === sort.replace(/^-/, ""));
  const rows = by ? [...left].sort((a, b) => compare(by.cell(a), by.cell(b), sort.startsWith("-"))) : left;
  const states = new Map<string, number>();
  for (const sweep of left) states.set(stateOf(sweep), (states.get(stateOf(sweep)) ?? 0) + 1);
  const only = (key: string, value: string) => {
    const name = columns.find((c) => c.title === key || c.name === key)?.isExtra ? key : "tag:" + key;
    onFilter([...filterParts(filter).filter((p) => p.name !== name).map((p) => p.text), filterText(name, "=", value)].join(" "));
  };
  const cell = (sweep: Summary, column: Column<Summary>) => {
    switch (column.name) {
      case "name": return <button class="link" onClick={() => onOpen(sweep.name)}>{sweep.name}</button>;
      case "ended": return `${ended(sweep)}/${sweep.trials_max < 0 ? "∞" : Math.max(begun(sweep), sweep.trials_max)}`;
      case "best": return sweep.job ? (sweep.job.exit_status === null ? "" : `exit status ${sweep.job.exit_status}`)
        : sweep.metrics.length > 1 ? "several objectives" : shown(column.cell(sweep));
      case "created": return new Date(sweep.created_at).toLocaleString();
      case "note": return <>
        {Object.entries(sweep.tags).map(([key, value]) => (
          <button key={key} class="tag" title={`only those with ${tagText(key, value)}`} onClick={() => only(key, value)}>{tagText(key, value)}</button>))}
        {sweep.note}</>;
      default: return shown(column.cell(sweep));
    }
  };
  return (
    <section aria-label="sweeps" class="view">
      {typeof test === "string" && <p class="doubt" role="status">{test}</p>}
      <p class="soft note">{rows.length} of {sweeps.length} shown{states.size > 0 && ": "}{[...states].map(([state, n]) => `${n} ${state}`).join(", ")}</p>
      <div class="sideways">
        <table class="sweeps">
          <thead><tr>{columns.filter((c) => !c.isExtra).map((column) => {
            const isBy = by === column;
            return (
              <th key={column.name} class={NUMBERS.includes(column.name) ? "number" : ""} aria-sort={isBy ? (sort.startsWith("-") ? "descending" : "ascending") : "none"}>
                <button onClick={() => onSort(isBy && !sort.startsWith("-") ? "-" + column.name : column.name)}>
                  {column.name === "note" ? "tags and note" : column.title}{isBy ? (sort.startsWith("-") ? " ↓" : " ↑") : ""}</button>
              </th>);
          })}</tr></thead>
          <tbody>{rows.slice(0, most).map((sweep) => (
            <tr key={sweep.name} class={stateOf(sweep).toLowerCase()}>
              {columns.filter((c) => !c.isExtra).map((column) => (
                <td key={column.name} class={column.name === "note" ? "words" : NUMBERS.includes(column.name) ? "number" : ""}>{cell(sweep, column)}</td>))}
            </tr>))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="empty">No sweep is shown.</p>}
      {rows.length > most && <button onClick={() => setMost(most + AT_ONCE)}>{rows.length - most} more</button>}
    </section>
  );
}
