// Several objectives: the trials that no other is better than in all of them.
import type { Front } from "./api";
import { COLOURS, themed } from "./colour";
import { useAnswer } from "./live";
import { Pick } from "./pick";
import { shown } from "./rows";
import { scaleOf } from "./scale";
import { Scatter, type Dot } from "./slice";
import type { Shown } from "./view";

export function FrontView({ shown: view }: { shown: Shown }) {
  const { value, trouble } = useAnswer<Front>(view.path + "/front", view.tick);
  if (trouble) return <section aria-label="front" class="view"><p class="doubt">{trouble}</p></section>;
  if (!value) return <section aria-label="front" class="view"><p class="empty">Reading the objectives…</p></section>;
  const names = value.objectives.map((o) => o.metric);
  const xAt = Math.max(0, names.indexOf(view.options.x));
  const yAt = names.includes(view.options.y) ? names.indexOf(view.options.y) : xAt === 0 ? 1 : 0;
  const front = new Set(value.front);
  const trials = value.trials.filter((row) => view.visible.has(row[0]));
  const x = scaleOf(trials.map((row) => row[1 + xAt])), y = scaleOf(trials.map((row) => row[1 + yAt]));
  const dots = trials.map((row): Dot => {
    const place = view.drawn.indexOf(row[0]);
    return {
      trial: row[0], x: x.at(row[1 + xAt]), y: y.at(row[1 + yAt]), isBig: front.has(row[0]) || place >= 0,
      colour: place >= 0 ? COLOURS[place % COLOURS.length] : front.has(row[0]) ? COLOURS[0] : themed("--curve"),
    };
  });
  const best = trials.filter((row) => front.has(row[0])).sort((a, b) => a[1 + xAt] - b[1 + xAt]);
  return (
    <section aria-label="front" class="view">
      <div class="bar">
        <Pick label="x" value={names[xAt]} names={names} onPick={(name) => view.set({ x: name })} />
        <Pick label="y" value={names[yAt]} names={names} onPick={(name) => view.set({ y: name })} />
        <span class="soft">{value.front.length} of {value.trials.length} {value.trials.length === 1 ? "trial is" : value.front.length === 1 ? "trials is" : "trials are"} on the front (large dots): none is better in all of {names.join(", ")}</span>
      </div>
      {trials.length === 0 ? <p class="empty">No trial has reported all of {names.join(", ")} yet.</p> : (
        <Scatter label={`${names[yAt]} over ${names[xAt]}`} x={x} y={y}
          xName={`${names[xAt]} (${value.objectives[xAt].mode})`} yName={`${names[yAt]} (${value.objectives[yAt].mode})`}
          dots={dots} height={380} onOpen={view.open} when={[value, view.trials, view.drawn.join(), xAt, yAt]} />
      )}
      <ul class="inline">{best.slice(0, 50).map((row) => (
        <li key={row[0]}><button class="link" onClick={() => view.open(row[0])}>trial {row[0]}</button> {names.map((n, i) => `${n} ${shown(row[1 + i])}`).join(", ")}</li>))}
      </ul>
    </section>
  );
}
