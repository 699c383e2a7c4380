// Parallel coordinates: an axis for each parameter and one for the metric; a trial is a line. Dragging over an axis filters by it,
// a click on a word of an axis too, so that table, curves and address follow.
import { useMemo, useState } from "preact/hooks";
import { Canvas, cut, type Pen, type Place } from "./canvas";
import { COLOURS, rampOnGround, themed, useDark } from "./colour";
import { filterParts, filterText, isRanked, metricTitle, parameters, parameterTitle, shown, type Cell } from "./rows";
import { domainOf, scaleOf, shareOf, type Scale } from "./scale";
import type { Trial } from "./api";
import { sizeShown } from "./values";
import type { Shown } from "./view";

const HEIGHT = 340;
const TOP = 34, BOTTOM = 16, SIDE = 70;
const LINES_MAX = 2000; // The best ones where there are more.
const AXES_MAX = 12;
const AXIS_ROOM = 90; // Between two axes; where the screen is narrower, the drawing scrolls.

interface Axis {
  name: string; // As a filter names it.
  scale: Scale;
  cell: (trial: Trial) => Cell | undefined;
}

// In as many digits as tell one place of the axis from the next, a thousandth of it away.
function bound(scale: Scale, at: number): string {
  const place = Math.max(0, Math.min(1, at));
  const value = scale.value(place);
  const digits = Math.ceil(Math.log10(Math.abs(value / (scale.value(place + 0.001) - value)))) + 1;
  return String(Number(value.toPrecision(Math.max(4, Math.min(17, digits || 4)))));
}

// The part of an axis that the filter leaves, from 0 to 1; null: all of it.
function keptOf(filter: string, { name, scale }: Axis): [number, number] | null {
  let [low, high] = [0, 1];
  for (const part of filterParts(filter)) {
    if (part.name !== name) continue;
    const at = scale.at(scale.kind === "words" ? part.value : Number(part.value));
    if (at === null) continue;
    if (part.operator.startsWith(">")) low = Math.max(low, at);
    if (part.operator.startsWith("<")) high = Math.min(high, at);
    if (part.operator === "=" || part.operator === "==") [low, high] = [at - 0.02, at + 0.02];
  }
  return low <= 0 && high >= 1 ? null : [Math.max(0, low), Math.min(1, high)];
}

// What is drawn: axes, the lines of the best trials, the worst first, those of others that the filter leaves out, and how many have no
// place on the last axis.
function laidOut(view: Shown) {
  const { sweep } = view;
  const most = sizeShown(view.all.map((t) => t.best_value));
  const valueOf = (t: Trial) => (t.best_value !== null && Math.abs(t.best_value) <= most ? t.best_value : null);
  const axes: Axis[] = [
    ...view.varying.slice(0, AXES_MAX - 1).map((name): Axis => {
      const cell = (t: Trial) => parameters(t).get(name);
      return { name: parameterTitle(name, sweep.metric), cell, scale: scaleOf(view.all.map(cell), domainOf(sweep.spec.space, name)) };
    }),
    { name: metricTitle(sweep.metric), cell: (t) => valueOf(t), scale: scaleOf(view.all.map(valueOf)) },
  ];
  const share = shareOf(view.all.filter(isRanked).map(valueOf), sweep.mode);
  const shareOfTrial = (t: Trial) => (isRanked(t) ? share(t.best_value) : null);
  const better = (a: Trial, b: Trial) => (shareOfTrial(a) ?? -1) - (shareOfTrial(b) ?? -1);
  const isFiltered = view.trials.length < view.all.length;
  return {
    axes, shareOfTrial,
    lines: [...view.trials].sort(better).slice(-LINES_MAX),
    others: isFiltered ? view.all.filter((t) => !view.visible.has(t.number)).slice(0, LINES_MAX / 2) : [],
    far: view.trials.filter((t) => t.best_value !== null && valueOf(t) === null).length,
  };
}

export function ParallelView({ shown: view }: { shown: Shown }) {
  const { sweep, drawn } = view;
  const [under, setUnder] = useState<string>("");
  const isDark = useDark();
  // The pointer moves often, and of very many trials this takes long.
  const { axes, shareOfTrial, lines, others, far } = useMemo(() => laidOut(view), [view.all, view.trials, view.varying, sweep.metric, sweep.mode]);

  const x = (i: number, width: number) => SIDE + (i * (width - 2 * SIDE)) / Math.max(1, axes.length - 1);
  const y = (at: number) => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
  const atOf = (place: number) => (HEIGHT - BOTTOM - place) / (HEIGHT - TOP - BOTTOM);

  const paint = ({ draw, width }: Pen) => {
    const line = (trial: Trial, colour: string, thick: number) => {
      draw.strokeStyle = colour;
      const places = axes.flatMap((axis, i) => {
        const at = axis.scale.at(axis.cell(trial));
        return at === null ? [] : [{ i, x: x(i, width), y: y(at) }];
      });
      // Over the axes that it does not have it goes on broken.
      for (const isBridge of [false, true]) {
        draw.lineWidth = thick;
        draw.setLineDash(isBridge ? [2, 4] : []);
        draw.beginPath();
        places.forEach((to, n) => {
          const from = places[n - 1];
          if (!from || (to.i - from.i > 1) !== isBridge) return;
          draw.moveTo(from.x, from.y);
          draw.lineTo(to.x, to.y);
        });
        draw.stroke();
      }
      draw.setLineDash([]);
    };
    for (const trial of others) line(trial, themed("--line"), 1);
    const alpha = lines.length > 300 ? 0.35 : 0.75;
    for (const trial of lines) { const s = shareOfTrial(trial); line(trial, s === null ? themed("--curve") : rampOnGround(isDark ? s : 1 - s, alpha), s !== null && s > 0.9 ? 1.8 : 1.2); }
    for (const trial of view.all) {
      const at = drawn.indexOf(trial.number);
      if (at >= 0) line(trial, COLOURS[at % COLOURS.length], 3);
    }
    axes.forEach((axis, i) => {
      const left = x(i, width);
      draw.strokeStyle = draw.fillStyle = themed("--text-soft");
      draw.lineWidth = 1;
      draw.beginPath();
      draw.moveTo(left, y(0));
      draw.lineTo(left, y(1));
      draw.stroke();
      // What the filter leaves of it.
      const kept = keptOf(view.filter, axis);
      if (kept) {
        draw.strokeStyle = themed("--accent");
        draw.lineWidth = 5;
        draw.beginPath();
        draw.moveTo(left, y(kept[0]));
        draw.lineTo(left, y(kept[1]));
        draw.stroke();
      }
      const isLast = i === axes.length - 1;
      draw.textAlign = isLast ? "left" : "right";
      const gap = (width - 2 * SIDE) / Math.max(1, axes.length - 1);
      for (const tick of axis.scale.ticks) {
        const text = cut(draw, tick.text, (i === 0 || isLast ? SIDE : gap) - 12);
        const from = left + (isLast ? 6 : -6);
        draw.lineWidth = 4;
        draw.strokeStyle = themed("--back");
        draw.strokeText(text, from, y(tick.at) + 4); // Legible over the lines.
        draw.fillText(text, from, y(tick.at) + 4);
      }
      draw.fillStyle = themed("--text");
      draw.textAlign = "center";
      const log = axis.scale.kind === "log" ? " (log)" : "";
      // The first and the last one end at the border.
      const room = (i === 0 || isLast ? Math.min(gap, 2 * SIDE) : gap) - 8;
      draw.fillText(cut(draw, axis.name, room - draw.measureText(log).width) + log, left, 16);
    });
  };

  const nearest = (place: Place, width: number) => {
    let best = 0;
    axes.forEach((_, i) => { if (Math.abs(x(i, width) - place.x) < Math.abs(x(best, width) - place.x)) best = i; });
    return axes[best];
  };
  const widthOf = () => document.querySelector<HTMLCanvasElement>("[aria-label='parallel coordinates']")?.clientWidth ?? 800;
  const drag = (from: Place, to: Place) => {
    const axis = nearest(from, widthOf());
    if (Math.abs(to.y - from.y) < 4) return;
    if (axis.scale.kind === "words") return click(from);
    const [low, high] = [atOf(Math.max(from.y, to.y)), atOf(Math.min(from.y, to.y))];
    view.addFilter([
      ...(low > 0 ? [filterText(axis.name, ">=", bound(axis.scale, low))] : []),
      ...(high < 1 ? [filterText(axis.name, "<=", bound(axis.scale, high))] : []),
    ], axis.name);
  };
  const click = (place: Place) => {
    const axis = nearest(place, widthOf());
    if (axis.scale.kind !== "words") return view.addFilter([], axis.name);
    const at = atOf(place.y);
    const word = axis.scale.words.reduce((best, w) =>
      Math.abs((axis.scale.at(w) ?? 9) - at) < Math.abs((axis.scale.at(best) ?? 9) - at) ? w : best, axis.scale.words[0]);
    if (word !== undefined) view.addFilter([filterText(axis.name, "=", word)], axis.name);
  };
  return (
    <section aria-label="parallel" class="view">
      <p class="soft note">
        {under || `drag along an axis to filter by it, click on a word to keep it, click on a numeric axis to take its filter away; ${isDark ? "light" : "dark"} lines are better`}
        {sweep.metrics.length > 1 && `; by ${sweep.metric} alone`}
        {far > 0 && `; ${far} far beyond the others have no place on the last axis`}
        {view.varying.length >= axes.length && `; ${view.varying.length - axes.length + 1} more parameters have no axis`}
        {view.trials.length > lines.length && `; the best ${lines.length} of ${view.trials.length} are drawn`}
      </p>
      <div class="sideways" tabIndex={0} style={{ "--least": `${2 * SIDE + (axes.length - 1) * AXIS_ROOM}px` }}>
      <Canvas label="parallel coordinates" height={HEIGHT} paint={paint} onClick={click} onDrag={drag}
        onMove={(place) => setUnder(place ? (() => { const a = nearest(place, widthOf()); return a.scale.kind === "words" ? a.name : `${a.name} ${shown(Number(bound(a.scale, atOf(place.y))))}`; })() : "")}
        when={[view.all, view.trials, drawn.join(), view.filter, isDark]} />
      </div>
    </section>
  );
}
