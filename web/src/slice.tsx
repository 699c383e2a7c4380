// The metric over one parameter each (slice), and over two of them (contour). A click opens the nearest trial.
import { useMemo, useState } from "preact/hooks";
import type { Compared, Trial } from "./api";
import { Canvas, cut, type Pen, type Place } from "./canvas";
import { COLOURS, ramp, themed } from "./colour";
import { useAnswer } from "./live";
import { Pick } from "./pick";
import { parameters, shown, type Cell } from "./rows";
import { domainOf, scaleOf, shareOf, type Scale } from "./scale";
import { sizeShown } from "./values";
import type { Shown } from "./view";

const DOTS_MAX = 5000;
const PICTURES_MAX = 24;
const CELLS_MAX = 600; // Trials that the field of a contour is weighed from.
const ROOM = 8; // For dots at the ends of an axis.
const TICK_ROOM = 90; // Of the text at a tick, in pixels.
const LEFT = 56, RIGHT = 12, TOP = 12, BOTTOM = 34;

export interface Dot {
  trial: number;
  x: number | null; // From 0 to 1.
  y: number | null;
  colour: string;
  isBig?: boolean;
}

const at = (share: number, low: number, high: number) => low + share * (high - low);

// Dots with axes; `behind` paints what lies below them.
export function Scatter({ label, x, y, xName, yName, note, dots, height, onOpen, behind, when }: {
  label: string; x: Scale; y: Scale; xName: string; yName: string; note?: string; dots: Dot[]; height: number;
  onOpen: (trial: number) => void; behind?: (pen: Pen, px: (s: number) => number, py: (s: number) => number) => void; when: unknown[];
}) {
  const [under, setUnder] = useState<number | null>(null);
  const [width, setWidth] = useState(300);
  const px = (share: number, w = width) => at(share, LEFT + ROOM, w - RIGHT - ROOM);
  const py = (share: number) => at(share, height - BOTTOM - ROOM, TOP);
  const paint = (pen: Pen) => {
    const { draw } = pen;
    if (pen.width !== width) setWidth(pen.width);
    const on = (s: number) => px(s, pen.width);
    behind?.(pen, on, py);
    draw.strokeStyle = themed("--line");
    draw.fillStyle = themed("--text-soft");
    draw.textAlign = "center";
    // Each kth where they would lie over each other.
    const texts = x.ticks.map((tick) => cut(draw, tick.text, TICK_ROOM));
    const widest = Math.max(0, ...texts.map((text) => draw.measureText(text).width)) + 8;
    const step = Math.max(1, Math.ceil((widest * (x.ticks.length - 1)) / Math.max(1, on(1) - on(0))));
    x.ticks.forEach((tick, i) => {
      if (i % step !== 0) return;
      const half = draw.measureText(texts[i]).width / 2;
      draw.fillText(texts[i], Math.max(half, Math.min(pen.width - half, on(tick.at))), height - BOTTOM + 15);
    });
    const log = x.kind === "log" ? " (log)" : "";
    draw.fillText(cut(draw, xName, on(1) - on(0) - draw.measureText(log).width) + log, on(0.5), height - 4);
    draw.textAlign = "right";
    for (const tick of y.ticks) {
      draw.fillText(cut(draw, tick.text, LEFT - 8), LEFT - 6, py(tick.at) + 4);
      draw.beginPath();
      draw.moveTo(LEFT, py(tick.at));
      draw.lineTo(pen.width - RIGHT, py(tick.at));
      draw.stroke();
    }
    for (const pass of [false, true]) {
      for (const dot of dots) {
        if (dot.x === null || dot.y === null || Boolean(dot.isBig) !== pass) continue;
        draw.fillStyle = dot.colour;
        draw.beginPath();
        draw.arc(on(dot.x), py(dot.y), dot.isBig ? 6 : dots.length > 1000 ? 2 : 3.5, 0, 2 * Math.PI);
        draw.fill();
      }
    }
  };
  const nearest = (place: Place): Dot | null => {
    let best: Dot | null = null, least = 20;
    for (const dot of dots) {
      if (dot.x === null || dot.y === null) continue;
      const far = Math.hypot(px(dot.x) - place.x, py(dot.y) - place.y);
      if (far < least) { least = far; best = dot; }
    }
    return best;
  };
  return (
    <figure>
      <figcaption class="soft">{yName} over {xName}{note}{under !== null && `: trial ${under}`}</figcaption>
      <Canvas label={label} height={height} paint={paint} when={[...when, dots.length, height]}
        onMove={(place) => { const dot = place && nearest(place); setUnder(dot ? dot.trial : null); }}
        onClick={(place) => { const dot = nearest(place); if (dot) onOpen(dot.trial); }} />
    </figure>
  );
}

interface Equal {
  valueOf: (trial: Trial) => number | null; // What a trial is compared by.
  known: Trial[]; // Those that have it, in the order of the table.
  note: string; // How they are compared, and who is left out.
}

// A trial that was stopped early has a worse value for that alone: it is compared with what others had at that iteration.
function useEqual(view: Shown): { value: Equal | null; trouble: string } {
  const asked = useAnswer<Compared>(view.path + "/compared", view.tick);
  const { iteration, rows } = asked.value ?? {};
  const value = useMemo(() => {
    if (!rows) return null;
    const values = new Map(rows);
    const at = iteration ?? null;
    const valueOf = (t: Trial) => (at === null ? t.best_value : values.get(t.number) ?? null);
    const well = view.trials.filter((t) => t.status !== "ERROR");
    const failed = view.trials.length - well.length;
    const known = well.filter((t) => valueOf(t) !== null);
    const short = at === null ? 0 : well.filter((t) => t.iterations > 0 && t.iterations < at).length;
    const none = well.length - known.length - short;
    return {
      valueOf, known,
      note: [
        view.sweep.metrics.length > 1 && `${view.sweep.metric} alone`,
        at !== null && `compared at iteration ${at}, since the scheduler stopped some early`,
        short > 0 && `${short} left out did not come so far`,
        none > 0 && `${none} left out have no value`,
        failed > 0 && `${failed} left out failed`,
      ].filter(Boolean).join("; "),
    };
  }, [rows, iteration, view.trials]);
  return { value, trouble: asked.trouble };
}

const NotYet = ({ name, trouble }: { name: string; trouble: string }) => (
  <section aria-label={name} class="view">{trouble ? <p class="doubt">{trouble}</p> : <p class="empty">Reading the trials' values…</p>}</section>);

// The best ones where there are more than can be told apart.
function few({ known, valueOf }: Equal, mode: "min" | "max"): Trial[] {
  if (known.length <= DOTS_MAX) return known;
  const sign = mode === "max" ? -1 : 1;
  return [...known].sort((a, b) => sign * ((valueOf(a) as number) - (valueOf(b) as number))).slice(0, DOTS_MAX);
}

// Evenly taken where there are more.
function spread<T>(all: T[], most: number): T[] {
  const step = Math.max(1, Math.ceil(all.length / most));
  return all.filter((_, i) => i % step === 0);
}

const standsOut = (view: Shown, trial: number) => {
  const place = view.drawn.indexOf(trial);
  return place < 0 ? null : COLOURS[place % COLOURS.length];
};

export function SliceView({ shown: view }: { shown: Shown }) {
  const { sweep } = view;
  const space = sweep.spec.space;
  const equal = useEqual(view);
  if (!equal.value) return <NotYet name="slice" trouble={equal.trouble} />;
  const { valueOf, known, note } = equal.value;
  const most = sizeShown(known.map(valueOf));
  const near = known.filter((t) => Math.abs(valueOf(t) as number) <= most);
  const trials = few({ ...equal.value, known: near }, sweep.mode);
  const values = trials.map(valueOf);
  const names = view.varying.slice(0, PICTURES_MAX);
  // Where nobody has chosen, as far as the values lie apart.
  const yScale = scaleOf(values, { kind: view.options.log === "y" ? "log" : view.options.log === "n" ? "linear" : "", words: [] });
  const isLogY = yScale.kind === "log";
  const canBeLog = values.every((v) => (v as number) > 0);
  const first = trials.length ? Math.min(...trials.map((t) => t.number)) : 0;
  const last = trials.length ? Math.max(...trials.map((t) => t.number)) : 1;
  return (
    <section aria-label="slice" class="view">
      <div class="bar">
        <label title={canBeLog ? "" : "some values are not above 0"}><input type="checkbox" checked={isLogY} disabled={!canBeLog} onChange={(e) => view.set({ log: e.currentTarget.checked ? "y" : "n" })} /> log axis{!canBeLog && <span class="soft"> (some values are not above 0)</span>}</label>
        <span class="soft">light dots are later trials{trials.length < near.length && `; the ${trials.length} best of ${near.length}`}{near.length < known.length && `; ${known.length - near.length} far beyond the others left out`}{note && `; ${note}`}{view.varying.length > names.length && `; ${view.varying.length - names.length} more parameters have no picture`}</span>
      </div>
      {trials.length === 0 ? <p class="empty">{view.all.some((t) => t.iterations > 0) ? "No trial that is shown has a value that is a number." : "Nothing is reported yet."}</p> : (
        <div class="grid">
          {names.map((name) => {
            const cell = (t: Trial): Cell | undefined => parameters(t).get(name);
            const x = scaleOf(trials.map(cell), domainOf(space, name));
            const dots = trials.map((t): Dot => ({
              trial: t.number, x: x.at(cell(t)), y: yScale.at(valueOf(t)),
              colour: standsOut(view, t.number) ?? ramp(0.1 + 0.75 * ((t.number - first) / Math.max(1, last - first)), 0.8),
              isBig: standsOut(view, t.number) !== null,
            }));
            const without = dots.filter((dot) => dot.x === null).length;
            return <Scatter key={name} label={`${sweep.metric} over ${name}`} x={x} y={yScale} xName={name} yName={sweep.metric} dots={dots}
              note={without > 0 ? `; ${without} without a place on this axis` : ""} height={220} onOpen={view.open} when={[trials, view.drawn.join(), isLogY]} />;
          })}
        </div>
      )}
    </section>
  );
}

const FIELDS = 36;

// What an axis is cut into: many even parts, or a band for each word, as nothing lies between two of them.
function fields(scale: Scale): { low: number; at: number; high: number }[] {
  if (scale.kind !== "words") return Array.from({ length: FIELDS }, (_, i) => ({ low: i / FIELDS, at: (i + 0.5) / FIELDS, high: (i + 1) / FIELDS }));
  const places = scale.words.map((word) => scale.at(word) as number);
  return places.map((place, i) => ({
    low: i === 0 ? 0 : (places[i - 1] + place) / 2, at: place, high: i + 1 === places.length ? 1 : (place + places[i + 1]) / 2,
  }));
}

export function ContourView({ shown: view }: { shown: Shown }) {
  const { sweep, names, options } = view;
  const space = sweep.spec.space;
  const xName = names.includes(options.x) ? options.x : names[0];
  const yName = names.includes(options.y) ? options.y : names.find((n) => n !== xName) ?? names[0];
  const equal = useEqual(view);
  if (!equal.value) return <NotYet name="contour" trouble={equal.trouble} />;
  const { valueOf, known, note } = equal.value;
  // In the order of the table, the best ones first: all kinds of them.
  const trials = spread(known, DOTS_MAX);
  if (names.length < 2 || trials.length === 0) {
    return <section aria-label="contour" class="view"><p class="empty">This view needs two parameters and a trial with a value that is a number.</p></section>;
  }
  const of = (name: string) => (t: Trial): Cell | undefined => parameters(t).get(name);
  const x = scaleOf(trials.map(of(xName)), domainOf(space, xName));
  const y = scaleOf(trials.map(of(yName)), domainOf(space, yName));
  const most = sizeShown(known.map(valueOf));
  const share = shareOf(trials.map(valueOf).filter((v) => Math.abs(v as number) <= most), sweep.mode);
  const dots = trials.map((t): Dot => ({
    trial: t.number, x: x.at(of(xName)(t)), y: y.at(of(yName)(t)),
    colour: standsOut(view, t.number) ?? themed("--text"), isBig: standsOut(view, t.number) !== null,
  }));
  const without = dots.filter((dot) => dot.x === null || dot.y === null).length;
  // Between the trials: their values weighted by the distance's fourth power (Shepard), on a coarse grid.
  const cells = spread(trials.map((t, i) => ({ x: dots[i].x, y: dots[i].y, s: share(valueOf(t)) })), CELLS_MAX)
    .filter((c): c is { x: number; y: number; s: number } => c.x !== null && c.y !== null && c.s !== null);
  const behind = ({ draw }: Pen, px: (s: number) => number, py: (s: number) => number) => {
    const columns = fields(x), rows = fields(y);
    for (const { low: x0, at: u, high: x1 } of columns) {
      for (const { low: y0, at: v, high: y1 } of rows) {
        let sum = 0, mass = 0;
        for (const c of cells) {
          if ((x.kind === "words" && c.x !== u) || (y.kind === "words" && c.y !== v)) continue;
          const weight = 1 / ((c.x - u) ** 2 + (c.y - v) ** 2 + 1e-4) ** 2;
          sum += weight * c.s;
          mass += weight;
        }
        if (mass === 0) continue; // No trial has these words.
        const left = Math.floor(px(x0)), top = Math.floor(py(y1));
        draw.fillStyle = ramp(sum / mass);
        draw.fillRect(left, top, Math.floor(px(x1)) - left, Math.floor(py(y0)) - top);
      }
    }
  };
  return (
    <section aria-label="contour" class="view">
      <div class="bar">
        <Pick label="x" value={xName} names={names} onPick={(name) => view.set({ x: name })} />
        <Pick label="y" value={yName} names={names} onPick={(name) => view.set({ y: name })} />
        <span class="soft">light: better {sweep.metric}, as {trials.length === 1 ? "1 trial" : `${shown(Math.min(trials.length, CELLS_MAX))} trials`}{known.length > CELLS_MAX && ` out of ${shown(known.length)}`} {trials.length === 1 ? "lets" : "let"} expect between them{without > 0 && `; ${without} do not have both`}{note && `; ${note}`}</span>
      </div>
      <Scatter label={`${sweep.metric} over ${xName} and ${yName}`} x={x} y={y} xName={xName} yName={yName} dots={dots} height={420}
        onOpen={view.open} behind={behind} when={[known, view.drawn.join(), xName, yName]} />
    </section>
  );
}
