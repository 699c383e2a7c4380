// The chosen trials beside each other.
import { useState } from "preact/hooks";
import { isLiving } from "./api";
import { COLOURS } from "./colour";
import { digitsOf, parameters, seconds, shown } from "./rows";
import type { Shown } from "./view";

export function CompareView({ shown: view }: { shown: Shown }) {
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const trials = view.drawn.map((n) => view.all.find((t) => t.number === n)).filter((t) => t !== undefined);
  if (trials.length === 0) return <section aria-label="compare" class="view"><p class="empty">Tick trials in the table below to see them beside each other.</p></section>;
  const rows: [string, (string | number | boolean | null | undefined)[]][] = [
    [view.sweep.metric, trials.map((t) => t.best_value)],
    ["at", trials.map((t) => t.best_iteration)],
    ["iterations", trials.map((t) => t.iterations)],
    ["seconds", trials.map((t) => seconds(t, isLiving(view.sweep)))],
    ["ended by", trials.map((t) => t.stop_reason ?? t.status)],
    ...view.names.map((name): [string, (string | number | boolean | null | undefined)[]] => [name, trials.map((t) => digitsOf(t, name) ?? parameters(t).get(name))]),
  ];
  const differs = (cells: unknown[]) => cells.some((c) => c !== cells[0]);
  const shownRows = rows.filter(([, cells], i) => i < 5 || !onlyDifferent || trials.length < 2 || differs(cells));
  const left = rows.length - shownRows.length;
  return (
    <section aria-label="compare" class="view">
      <div class="bar">
        <label><input type="checkbox" checked={onlyDifferent} onChange={(e) => setOnlyDifferent(e.currentTarget.checked)} /> only parameters that differ</label>
        {left > 0 && <span class="soft">{left} are the same in all</span>}
      </div>
      <div class="scroller" tabIndex={0}>
        <table>
          <thead><tr><th><span class="hidden">what</span></th>{trials.map((t, i) => (
            <th key={t.number}><i class="swatch" style={{ background: COLOURS[i % COLOURS.length] }} /> <button class="link" onClick={() => view.open(t.number)}>trial {t.number}</button></th>))}
          </tr></thead>
          <tbody>{shownRows.map(([name, cells]) => (
            <tr key={name} class={differs(cells) ? "different" : ""}><th scope="row">{name}</th>{cells.map((c, i) => <td key={i}>{shown(c ?? null)}</td>)}</tr>))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
