// The trials: as many rows are in the page as are seen.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Trial } from "./api";
import { COLOURS } from "./colour";
import { asCsv, shown, type Column } from "./rows";

const ROW = 28;
const SEEN = 16;
const MARKS: { [status: string]: string } = { RUNNING: "▶", PAUSED: "‖", PENDING: "…", TERMINATED: "✓", ERROR: "✕" };

interface Props {
  sweep: string;
  leftOut: number; // How many are still to be read.
  trials: Trial[];
  columns: Column[]; // Those that are shown.
  sort: string;
  best: number | null;
  chosen: number[];
  open: number | null;
  menu: ComponentChildren; // Which columns are shown.
  differ: boolean | null; // Whether these are chosen ones, with what differs between them; null: too few are chosen.
  onDiffer: (differ: boolean) => void;
  onSort: (sort: string) => void;
  onChoose: (trial: number) => void;
  onOpen: (trial: number) => void;
}

const toggled = (names: string[], name: string) => (names.includes(name) ? names.filter((n) => n !== name) : [...names, name]);

// Which columns are shown: all but `hidden`, and of the metrics' those of `extra`.
export function ColumnMenu({ columns, hidden, extra, onHide, onExtra }: {
  columns: Column[]; hidden: string[]; extra: string[]; onHide: (hidden: string[]) => void; onExtra: (extra: string[]) => void;
}) {
  const metrics = columns.filter((c) => c.isExtra);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = () => { if (menu.current) menu.current.open = false; };
    const beside = (e: MouseEvent) => { if (!menu.current?.contains(e.target as Node)) close(); };
    const key = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || !menu.current?.open) return;
      close();
      menu.current.querySelector("summary")?.focus();
    };
    document.addEventListener("click", beside);
    document.addEventListener("keydown", key);
    return () => {
      document.removeEventListener("click", beside);
      document.removeEventListener("keydown", key);
    };
  }, []);
  return (
    <details class="menu" ref={menu}>
      <summary>columns{hidden.length > 0 && ` (${hidden.length} hidden)`}</summary>
      <div>
        {columns.filter((c) => c.name !== "number" && !c.isExtra).map((c) => (
          <label key={c.name}><input type="checkbox" checked={!hidden.includes(c.name)} onChange={() => onHide(toggled(hidden, c.name))} /> {c.title}</label>))}
        {metrics.length > 0 && <span class="soft">metrics</span>}
        {metrics.map((c) => (
          <label key={c.name}><input type="checkbox" checked={extra.includes(c.name)} onChange={() => onExtra(toggled(extra, c.name))} /> {c.title}</label>))}
      </div>
    </details>
  );
}

export function TrialTable({ sweep, leftOut, trials, columns, sort, best, chosen, open, menu, differ, onDiffer, onSort, onChoose, onOpen }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const first = Math.max(0, Math.min(trials.length - SEEN, Math.floor(top / ROW)) - 8);
  const rows = trials.slice(first, first + SEEN + 24);
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([asCsv(trials, columns)], { type: "text/csv" }));
    link.download = sweep + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const header = (column: Column) => {
    const isBy = sort.replace(/^-/, "") === column.name;
    const next = isBy && !sort.startsWith("-") ? "-" + column.name : column.name;
    return (
      <th key={column.name} aria-sort={isBy ? (sort.startsWith("-") ? "descending" : "ascending") : "none"}
        class={(column.isParameter ? "parameter" : "") + (rows.some((t) => typeof column.cell(t) === "number") && column.name !== "number" ? " number" : "")}>
        <button title={column.title} onClick={() => onSort(next)}>{column.title}{isBy ? (sort.startsWith("-") ? " ↓" : " ↑") : ""}</button>
      </th>
    );
  };
  return (
    <section aria-label="trials">
      <header class="bar">
        <h2>Trials</h2>
        <span class="soft">{trials.length} shown{leftOut > 0 && `, the best and the newest; ${leftOut} more are being read`}; tick some to compare their curves</span>
        {differ !== null && <label><input type="checkbox" checked={differ} onChange={() => onDiffer(!differ)} /> differences of the chosen ones</label>}
        {menu}
        <button onClick={save}>save as CSV</button>
      </header>
      <div class="scroller" ref={scroller} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <table>
          <thead><tr><th><span class="hidden">chosen</span></th>{columns.map(header)}</tr></thead>
          <tbody>
            {first > 0 && <tr class="gap" style={{ height: `${first * ROW}px` }}><td colSpan={columns.length + 1} /></tr>}
            {rows.map((trial) => (
              <tr key={trial.number} aria-selected={trial.number === open}
                class={(trial.number === best ? "best " : "") + trial.status.toLowerCase()}>
                <td>
                  <input type="checkbox" aria-label={`compare trial ${trial.number}`} checked={chosen.includes(trial.number)}
                    style={{ accentColor: chosen.includes(trial.number) ? COLOURS[chosen.indexOf(trial.number) % COLOURS.length] : "" }}
                    onChange={() => onChoose(trial.number)} />
                </td>
                {columns.map((column) => (
                  <td key={column.name} class={typeof column.cell(trial) === "number" && column.name !== "number" ? "number" : ""}>
                    {column.name === "number"
                      ? <button class="link" onClick={() => onOpen(trial.number)}>{trial.number}{trial.number === best ? " ★" : ""}</button>
                      : column.name === "status" ? `${MARKS[trial.status] ?? ""} ${trial.status}` : column.digits?.(trial) ?? shown(column.cell(trial))}
                  </td>
                ))}
              </tr>
            ))}
            {first + rows.length < trials.length && (
              <tr class="gap" style={{ height: `${(trials.length - first - rows.length) * ROW}px` }}><td colSpan={columns.length + 1} /></tr>
            )}
          </tbody>
        </table>
        {trials.length === 0 && <p class="empty">No trial is shown.</p>}
      </div>
    </section>
  );
}
