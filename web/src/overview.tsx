// The sweep at a glance: what runs, the best so far and how it came about, what early stopping saved.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { SweepActions, type Acting } from "./act";
import { isLiving, isReport, type Best, type Course, type Sweep } from "./api";
import { COLOURS } from "./colour";
import { shown } from "./rows";
import { TIME_STEPS, timeTexts } from "./scale";
import { axis, valueAxis } from "./values";

const ORDER = ["TERMINATED", "RUNNING", "PAUSED", "PENDING", "ERROR"];

function BestSoFar({ course, sweep }: { course: Course; sweep: Sweep }) {
  const box = useRef<HTMLDivElement>(null);
  const y = valueAxis(course.best.map((b) => b.value));
  const isNow = isLiving(sweep) && !isReport;
  const minute = isNow ? Math.floor(Date.now() / 60e3) : 0; // The picture's end is now.
  useEffect(() => {
    const element = box.current;
    if (!element || course.best.length < 2) return;
    const begin = new Date(sweep.created_at).getTime();
    const last = new Date(course.best[course.best.length - 1].at).getTime();
    const now = sweep.finished_at ? new Date(sweep.finished_at).getTime() : isNow ? Date.now() : last;
    const end = Math.max(now, last); // The clocks of two machines may differ.
    const xs = [...course.best.map((b) => (new Date(b.at).getTime() - begin) / 1000), (end - begin) / 1000];
    const ys = [...course.best, course.best[course.best.length - 1]].map((b) => (y.has(b.value) ? y.on(b.value) : null));
    const plot = new uPlot({
      width: Math.max(200, element.clientWidth), height: 110, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false }, y: y.scale },
      axes: [{ ...axis(), incrs: TIME_STEPS, values: (_, ticks) => timeTexts(ticks) }, { ...y.axis, space: 18 }],
      series: [{}, { stroke: COLOURS[0], width: 2, paths: uPlot.paths.stepped?.({ align: 1 }), points: { show: false } }],
    }, [xs, ys], element);
    const resize = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: 110 }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [course.best.map((b) => `${b.trial} ${b.at} ${b.value}`).join(), sweep.name, sweep.finished_at, minute]);
  if (course.best.length < 2) return null;
  return <figure class="best-so-far"><figcaption class="soft">best {sweep.metric} so far, by time{y.note && `; ${y.note}`}{course.is_behind && "; still reading"}</figcaption><div ref={box} /></figure>;
}

function savedText(course: Course): string {
  const parts = [];
  if (course.stopped_early > 0) {
    const full = course.iterations_full;
    parts.push(`${course.stopped_early} stopped early`
      + (full !== null && full > course.iterations
        ? `: ${course.iterations} ${course.iterations === 1 ? "iteration" : "iterations"} in place of ${full}, ${Math.round(100 * (1 - course.iterations / full))} % saved` : ""));
  }
  if (course.time_left) parts.push(course.time_left);
  return parts.join("; ");
}

// With `repeat` a single run may have a better value than each of the best configuration.
function BestFound({ best: { number, value, iteration, runs }, metric }: { best: Best; metric: string }) {
  const run = <>trial {number}, {metric} <strong>{shown(value)}</strong> at iteration {iteration}</>;
  if (!runs) return <div>best: {run}</div>;
  const count = runs.count < runs.repeat ? `${runs.count} of ${runs.repeat}` : runs.count;
  return <div>best: the configuration of {runs.count === 1 ? "trial" : "trials"} {runs.trials.join(", ")}, mean {metric} <strong>{shown(runs.mean)}</strong> of {count} {runs.repeat === 1 ? "run" : "runs"}; its best run: {run}</div>;
}

export function Overview({ sweep, course, want }: { sweep: Sweep; course: Course | null; want: Acting["want"] }) {
  const mayGoOn = sweep.status !== "STOPPED" && sweep.status !== "FINISHED";
  const total = Object.values(sweep.counts).reduce((a, b) => a + b, 0);
  const known = ORDER.filter((status) => sweep.counts[status]);
  const saved = course ? savedText(course) : "";
  return (
    <section aria-label="overview" class="overview">
      <div>
        <div>
          <strong class="status">{sweep.status}</strong>
          <span class="soft"> {sweep.metrics.length > 1 ? sweep.metrics.join(", ") : `${sweep.metric} (${sweep.mode})`}, {sweep.scheduler}, seed {sweep.seed}, began {new Date(sweep.created_at).toLocaleString()}</span>
        </div>
        <div class="share" role="img" aria-label={known.map((s) => `${sweep.counts[s]} ${s}`).join(", ")}>
          {known.map((s) => <i key={s} class={s.toLowerCase()} style={{ flexGrow: sweep.counts[s] }} />)}
          {mayGoOn && sweep.trials_max > total && <i class="open" style={{ flexGrow: sweep.trials_max - total }} />}
        </div>
        <div class="soft">{known.map((s) => `${sweep.counts[s]} ${s}`).join(", ")}{mayGoOn && sweep.trials_max > total ? `, ${sweep.trials_max - total} to come` : ""}</div>
        {sweep.metrics.length > 1
          ? <div class="soft">several objectives: the view "front" shows the trials that none is better than</div>
          : sweep.best
            ? <BestFound best={sweep.best} metric={sweep.metric} />
            : <div class="soft">best: none, {sweep.why_no_best}</div>}
        {sweep.ended_early && <p class="soft">ended early: {sweep.ended_early}</p>}
        {sweep.none_feasible && <p class="doubt" role="status">{sweep.none_feasible}</p>}
        {sweep.feasible.length > 0 && !sweep.none_feasible && sweep.best && <div class="soft">limits kept: {sweep.feasible.join(" and ")}</div>}
        {isLiving(sweep) && !sweep.counts.RUNNING && (sweep.counts.PAUSED ?? 0) > 0 && (
          <div class="soft">nothing runs: {sweep.counts.PAUSED} {sweep.counts.PAUSED === 1 ? "trial is" : "trials are"} paused, as the view Workers tells</div>)}
        {saved && <div class="soft">{saved}</div>}
        <SweepActions sweep={sweep} want={want} />
        {sweep.doubts.map((doubt) => <p class="doubt" key={doubt}>in doubt: {doubt}</p>)}
      </div>
      {course && sweep.metrics.length === 1 && <BestSoFar course={course} sweep={sweep} />}
    </section>
  );
}
