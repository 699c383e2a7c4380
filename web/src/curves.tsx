// Learning curves over each other; the chosen ones stand out.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { isReport, type Config, type Course, type Curve, type Curves, type Rung, type Sweep } from "./api";
import { COLOURS, rampOnGround, themed } from "./colour";
import { useAnswer } from "./live";
import { Pick } from "./pick";
import { printable } from "./printable";
import { cutoffShown, isValue, parameters, shown } from "./rows";
import { domainOf, scaleOf, tickText, type Scale } from "./scale";
import { axis, valueAxis } from "./values";
import type { Shown } from "./view";

const HEIGHT = 320;
const FEW = 100;
const WORDS_MAX = 12; // Of a legend.

// No iteration lies between two others.
const WHOLE = [1, 2, 5].flatMap((n) => Array.from({ length: 16 }, (_, power) => n * 10 ** power)).sort((a, b) => a - b);

export const iterationAxis = () => ({ ...axis(), incrs: WHOLE });

// Exponential, as TensorBoard does it, without its pull towards zero at the beginning.
export function smoothed(values: (number | null)[], weight: number): (number | null)[] {
  let sum = 0, mass = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = sum * weight + value;
    mass = mass * weight + 1;
    return sum / mass;
  });
}

// At a scheduler's last iteration all end, whatever they have: nothing is cut off there.
function maxT(sweep: Sweep): number {
  const options = Object.values((sweep.spec.scheduler ?? {}) as Config)[0] as { max_t?: number } | undefined;
  return options?.max_t ?? Infinity;
}

// Cutoffs of the rungs as short bars over their milestone.
function drawRungs(plot: uPlot, rungs: Rung[], on: (value: number) => number) {
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = themed("--warn");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  for (const { rung, cutoff } of rungs) {
    if (cutoff === null || !isValue(cutoff)) continue;
    const x = plot.valToPos(rung, "x", true), y = plot.valToPos(on(cutoff), "y", true);
    if (!Number.isFinite(y) || x < plot.bbox.left - 1 || x > plot.bbox.left + plot.bbox.width + 1) continue;
    const half = 9 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - half, y);
    ctx.lineTo(x + half, y);
    ctx.stroke();
  }
  ctx.restore();
}

export function CurvesView({ shown: view, course }: { shown: Shown; course: Course | null }) {
  const { options, set, sweep } = view;
  const extra = options.metric && options.metric !== sweep.metric ? "?metric=" + encodeURIComponent(options.metric) : "";
  const asked = useAnswer<Curves>(view.path + "/curves" + extra, view.tick);
  // Of very many trials some are left out; what was chosen is always drawn, and what a filter leaves where that is not much.
  const wanted = view.trials.length <= FEW ? [...new Set([...view.drawn, ...view.trials.filter((t) => t.iterations > 0).map((t) => t.number)])] : view.drawn;
  const isDrawn = useMemo(() => new Set(asked.value?.curves.map((c) => c.trial)), [asked.value]);
  const missing = asked.value && asked.value.left_out > 0 && !isReport ? wanted.filter((n) => !isDrawn.has(n)) : [];
  const more = useAnswer<Curves>(missing.length ? `${view.path}/curves${extra ? extra + "&" : "?"}trials=${missing.join()}` : "", view.tick);
  const data = asked.value;
  const weight = Number(options.smooth || 0);
  return (
    <section aria-label="curves" class="view">
      <div class="bar">
        <Pick label="metric" value={options.metric || sweep.metric} names={view.metrics}
          onPick={(metric) => set({ metric: metric === sweep.metric ? "" : metric })} />
        <Pick label="over" value={options.over || "iteration"} names={["iteration", "seconds"]} onPick={(over) => set({ over: over === "iteration" ? "" : over })} />
        <Pick label="colour" value={options.colour || ""} none="by trial" names={view.varying} onPick={(colour) => set({ colour })} />
        <label><input type="checkbox" checked={options.log === "y"} onChange={(e) => set({ log: e.currentTarget.checked ? "y" : "" })} /> log axis</label>
        <label>smooth <input type="range" min="0" max="0.95" step="0.05" value={weight} aria-label="smoothing"
          onInput={(e) => set({ smooth: e.currentTarget.value === "0" ? "" : e.currentTarget.value }, "part")} /></label>
        {asked.trouble && <span class="doubt">{asked.trouble}</span>}
      </div>
      {data && <Plot view={view} data={more.value ? { ...data, curves: [...data.curves, ...more.value.curves] } : data}
        course={course} weight={weight} />}
    </section>
  );
}

// Which colour is which value.
function ColourLegend({ name, scale, hasOthers }: { name: string; scale: Scale; hasOthers: boolean }) {
  const parts: [number, string][] = scale.kind === "words"
    ? scale.words.slice(0, WORDS_MAX).map((word) => [scale.at(word) ?? 0, word]) : [0, 0.25, 0.5, 0.75, 1].map((at) => [at, tickText(scale.value(at))]);
  return (
    <div class="bar legend" aria-label="colours">
      {name} {parts.map(([at, text]) => <span key={at}><i style={{ background: rampOnGround(at) }} /> {text}</span>)}
      {scale.words.length > parts.length && <span class="soft">and {scale.words.length - parts.length} more</span>}
      {hasOthers && <span><i style={{ background: themed("--curve") }} /> without it</span>}
    </div>
  );
}

function Plot({ view, data, course, weight }: { view: Shown; data: Curves; course: Course | null; weight: number }) {
  const { options, sweep, drawn } = view;
  const box = useRef<HTMLDivElement>(null);
  const [under, setUnder] = useState("");
  const isLog = options.log === "y";
  const isTime = options.over === "seconds";
  const curves = data.curves.filter((c) => view.isVisible(c.trial) || drawn.includes(c.trial));
  const known = new Set(data.curves.map((c) => c.trial));
  const leftOut = view.trials.length === view.all.length ? data.left_out : view.trials.filter((t) => t.iterations > 0 && !known.has(t.number)).length;
  const numbers = curves.map((c) => c.trial).join();
  const y = useMemo(() => valueAxis(curves.flatMap((c) => c.values), isLog), [data, isLog, numbers]);
  const drawable = curves.filter((c) => c.values.some(y.has));
  const cut = course?.rungs.filter((r) => r.cutoff !== null && r.rung < maxT(sweep)) ?? [];

  const cell = (c: Curve) => { const t = options.colour ? view.byNumber.get(c.trial) : undefined; return t && parameters(t).get(options.colour); };
  const scale = options.colour ? scaleOf(drawable.map(cell), domainOf(sweep.spec.space, options.colour)) : null;

  useEffect(() => {
    const element = box.current;
    if (!element || drawable.length === 0) return;
    const xs = (c: Curve) => (isTime ? c.seconds : c.iterations);
    const ys = (c: Curve) => c.values.map((v) => (y.has(v) ? y.inside(v as number) : null));
    const placed = (values: (number | null)[]) => values.map((v) => (v === null ? null : y.on(v)));
    const pale = drawable.length > 30 || drawn.length > 0;
    const thin = Math.max(0.15, Math.min(1, 10 / Math.sqrt(drawable.length))); // Of very many, one over the other: where they are dense is seen.
    const colour = (c: Curve, i: number) => {
      const at = drawn.indexOf(c.trial);
      if (at >= 0) return COLOURS[at % COLOURS.length];
      if (scale) { const place = scale.at(cell(c)); return place === null ? themed("--curve") : rampOnGround(place, 0.8); }
      return pale ? themed("--curve") : COLOURS[i % COLOURS.length];
    };
    const raw = weight > 0 ? drawable : [];
    const table = uPlot.join([
      ...drawable.map((c) => [xs(c), placed(weight > 0 ? smoothed(ys(c), weight) : ys(c))]),
      ...raw.map((c) => [xs(c), placed(ys(c))]),
    ] as uPlot.AlignedData[]);
    let focused: Curve | null = null;
    const tell = (self: uPlot) => {
      if (!focused) return setUnder("");
      const x = self.cursor.idx === null || self.cursor.idx === undefined ? null : self.data[0][self.cursor.idx];
      const at = x === null ? -1 : xs(focused).indexOf(x as number);
      const value = focused.values[at] ?? null;
      setUnder(`trial ${focused.trial}${value === null ? "" : `, ${shown(value)} at ${isTime ? `${shown(focused.seconds[at])} s` : focused.iterations[at]}`}`);
    };
    const plot = new uPlot(
      {
        width: Math.max(240, element.clientWidth),
        height: HEIGHT,
        legend: { show: false },
        cursor: { focus: { prox: 24 }, drag: { x: true, y: true } },
        focus: { alpha: 0.35 },
        scales: { x: { time: false }, y: y.scale },
        axes: [isTime ? { ...axis(), label: "seconds since the trial began" } : { ...iterationAxis(), label: "iteration" }, { ...y.axis, label: printable(data.metric) }],
        series: [
          {},
          ...drawable.map((c, i): uPlot.Series => ({
            label: String(c.trial), stroke: colour(c, i), width: drawn.includes(c.trial) ? 2.5 : 1.2, alpha: drawn.includes(c.trial) ? 1 : thin, spanGaps: true,
            points: { show: c.iterations.length < 2 },
          })),
          ...raw.map((c, i): uPlot.Series => ({ label: String(c.trial), stroke: colour(c, i), width: 0.6, alpha: 0.3, spanGaps: true, points: { show: false } })),
        ],
        hooks: {
          setSeries: [(self, index) => {
            focused = index === null || index === 0 ? null : drawable[(index - 1) % drawable.length];
            tell(self);
          }],
          setCursor: [(self) => { if (focused) tell(self); }],
          draw: [(self) => { if (!isTime && data.metric === sweep.metric) drawRungs(self, cut, y.on); }],
        },
      },
      table,
      element,
    );
    const pick = () => focused && view.open(focused.trial);
    plot.over.addEventListener("click", pick);
    const resize = new ResizeObserver(() => plot.setSize({ width: Math.max(240, element.clientWidth), height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [data, y, cut.map((r) => `${r.rung} ${r.cutoff}`).join(), isLog, isTime, weight, options.colour, drawn.join(), drawable.map((c) => c.trial).join()]);

  return (
    <>
      <p class="soft note">
        {under ? `${under}: click to open it` : `${drawable.length} shown`}
        {curves.length > drawable.length && `, ${curves.length - drawable.length} have nothing ${isLog ? "above 0" : "that can be drawn"}`}
        {leftOut > 0 && `, ${leftOut} of very many left out (the best ${Math.floor(data.curves.length / 2)} and chosen ones are there)`}
        {y.note && `, ${y.note}`}
        {data.stride > 1 && `, one point of ${data.stride}`}
        {weight > 0 && ", smoothed above the thin lines of what was reported"}
        {cut.length > 0 && !isTime && data.metric === sweep.metric && `; bars are the latest cutoffs: ${cut.map((r) => `${cutoffShown(r.cutoff as number)} at ${r.rung}`).join(", ")}`}
      </p>
      {scale && <ColourLegend name={options.colour} scale={scale} hasOthers={drawable.some((c) => scale.at(cell(c)) === null)} />}
      {drawable.length === 0 ? <p class="empty">{curves.length > 0 ? "No value that was reported can be drawn." : view.all.some((t) => t.iterations > 0) ? "No trial that is shown has reported this." : "Nothing is reported yet."}</p> : <div class="plot" ref={box} />}
    </>
  );
}
