// Who ran what when: workers as rows, attempts as bars by what became of them; or devices as rows, of which each attempt fills the
// share that it held. Dragging looks closer.
import { useMemo, useState } from "preact/hooks";
import { isLiving, isReport, type HeldDevice, type Timeline, type Trial } from "./api";
import { Canvas, type Pen, type Place } from "./canvas";
import { FAILED, OUTCOMES, themed } from "./colour";
import { useAnswer } from "./live";
import { Pick } from "./pick";
import { TIME_STEPS, timeTexts } from "./scale";
import type { Shown } from "./view";

const LANE = 9, DEVICE = 36, GAP = 14, LEFT = 130, RIGHT = 12, BOTTOM = 26;

interface Bar {
  trial: number;
  attempt: number;
  outcome: string;
  from: number; // Milliseconds since 1970.
  to: number;
  y: number; // Below the row's top, in pixels.
  high: number;
}

interface Row {
  name: string;
  bars: Bar[];
  high: number;
  top: number;
}

// "stopped", as the overview counts it: early, by the scheduler, or where all end that come so far.
function becameOf(outcome: string, attempt: number, trial: Trial | undefined, isOver: boolean): string {
  if (outcome === "running" && isOver) return "interrupted";
  if (outcome !== "stopped" || trial?.attempts !== attempt) return outcome;
  return trial.stop_reason === "scheduler" ? "stopped early" : trial.stop_reason === "max_t" ? "stopped at max_t" : outcome;
}

// Of bars in the order of their beginnings, those of a worker that ran at a time stand below each other. Returns the row's height.
function inLanes(bars: Bar[]): number {
  const ends: number[] = [];
  for (const bar of bars) {
    let lane = ends.findIndex((end) => end <= bar.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = bar.to;
    Object.assign(bar, { y: lane * LANE, high: LANE });
  }
  return ends.length * LANE;
}

// The same of a device: each fills its share, in the first place that is free.
function inShares(bars: (Bar & { share: number })[]): number {
  let there: (Bar & { share: number })[] = [];
  for (const bar of bars) {
    there = there.filter((b) => b.to > bar.from).sort((a, b) => a.y - b.y);
    const high = Math.min(1, bar.share) * DEVICE;
    let y = 0;
    for (const other of there) if (y + high > other.y + 0.01) y = Math.max(y, other.y + other.high);
    Object.assign(bar, { y: Math.min(y, DEVICE - high), high }); // Times are whole milliseconds: one may end in that in which the next begins.
    there.push(bar);
  }
  return DEVICE;
}

interface Laid {
  rows: Row[];
  from: number;
  to: number;
  hasDevices: boolean;
}

// `now` is null where no tuner runs the sweep (it is over), and in a report: what has no end was heard of last then.
function rowsOf(timeline: Timeline, trials: Trial[], isOver: boolean, now: number | null, byDevice: boolean): Laid {
  const index = Object.fromEntries(timeline.attempts.columns.map((name, i) => [name, i]));
  const byNumber = new Map(trials.map((t) => [t.number, t]));
  const names = new Map(timeline.workers.map((w) => [w.id, w.name]));
  const byRow = new Map<string, (Bar & { share: number })[]>();
  let from = Infinity, to = -Infinity, hasDevices = false;
  for (const row of timeline.attempts.rows) {
    const trial = row[index.trial] as number;
    if (!byNumber.has(trial)) continue;
    const bar = {
      trial, attempt: row[index.attempt] as number,
      outcome: becameOf(String(row[index.outcome]), row[index.attempt] as number, byNumber.get(trial), isOver),
      from: row[index.started] as number, to: (row[index.finished] ?? now ?? row[index.heard] ?? row[index.started]) as number, y: 0, high: 0, share: 1,
    };
    const devices = (row[index.devices] ?? []) as HeldDevice[];
    hasDevices ||= devices.length > 0;
    if (byDevice && devices.length === 0) continue;
    from = Math.min(from, bar.from);
    to = Math.max(to, bar.to);
    const nameOf = (worker: number | null) => (worker === null ? "not known" : names.get(worker) ?? `worker ${worker}`);
    const places: [string, number][] = byDevice ? devices.map((d) => [`${nameOf(d.worker)} GPU ${d.device}`, d.gpu]) : [[nameOf(row[index.worker] as number | null), 1]];
    for (const [place, share] of places) {
      if (!byRow.has(place)) byRow.set(place, []);
      byRow.get(place)?.push({ ...bar, share });
    }
  }
  const rows: Row[] = [];
  let top = 0;
  const order = byDevice ? [...byRow.keys()].sort() : [...new Set([...names.values(), ...byRow.keys()])];
  for (const name of order) {
    const bars = byRow.get(name);
    if (!bars) continue;
    bars.sort((a, b) => a.from - b.from || a.trial - b.trial);
    const high = byDevice ? inShares(bars) : inLanes(bars);
    rows.push({ name, bars, high, top });
    top += high + GAP;
  }
  return { rows, from, to: Math.max(to, from + 1), hasDevices };
}

function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120e3) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 7200e3) return `${Math.round(ms / 6e3) / 10} min`;
  return `${Math.round(ms / 360e3) / 10} h`;
}

const TICK_ROOM = 64; // Of a tick's text, in pixels.

// Round times after the beginning, six of them at most.
function ticksOf(from: number, to: number, room: number): number[] {
  const least = (to - from) / Math.max(1, Math.min(6, Math.floor(room / TICK_ROOM)));
  const step = 1000 * (TIME_STEPS.find((s) => 1000 * s >= least) ?? least / 1000);
  const ticks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  return ticks;
}

export function TimelineView({ shown: view }: { shown: Shown }) {
  const { value, trouble } = useAnswer<Timeline>(view.path + "/timeline", view.tick);
  const [zoom, setZoom] = useState<[number, number] | null>(null);
  const [under, setUnder] = useState("");
  const [width, setWidth] = useState(800);
  const byDevice = view.options.rows === "devices";
  const laid = useMemo(() => value && rowsOf(value, view.trials, !isLiving(view.sweep), isLiving(view.sweep) && !isReport ? Date.now() : null, byDevice), [value, view.trials, byDevice, view.sweep.status]);
  if (trouble) return <section aria-label="timeline" class="view"><p class="doubt">{trouble}</p></section>;
  if (!value || !laid) return <section aria-label="timeline" class="view"><p class="empty">Reading the attempts…</p></section>;
  if (laid.rows.length === 0) return <section aria-label="timeline" class="view"><p class="empty">{byDevice ? <>No attempt held a device. <button onClick={() => view.set({ rows: "" })}>workers</button></> : "No attempt has begun."}</p></section>;
  const [from, to] = zoom ?? [laid.from, laid.to];
  const last = laid.rows[laid.rows.length - 1];
  const height = last.top + last.high + GAP + BOTTOM;
  const x = (ms: number, w = width) => LEFT + ((ms - from) / (to - from)) * (w - LEFT - RIGHT);
  const ms = (place: number) => from + ((place - LEFT) / (width - LEFT - RIGHT)) * (to - from);
  const paint = ({ draw, width: w }: Pen) => {
    if (w !== width) setWidth(w);
    draw.textAlign = "left";
    for (const row of laid.rows) {
      draw.fillStyle = themed("--text");
      draw.fillText(row.name.length > 18 ? row.name.slice(0, 17) + "…" : row.name, 0, row.top + LANE + 1);
      for (const bar of row.bars) {
        if (bar.to < from || bar.from > to) continue;
        const left = Math.max(LEFT, x(bar.from, w)), right = Math.min(w - RIGHT, x(bar.to, w));
        draw.fillStyle = OUTCOMES[bar.outcome] ?? FAILED;
        draw.fillRect(left, row.top + bar.y, Math.max(1, right - left - 0.5), Math.max(1, bar.high - 1.5));
        if (!(bar.outcome in OUTCOMES)) { // Not by colour alone.
          draw.fillStyle = themed("--back");
          draw.fillRect(left, row.top + bar.y + bar.high / 2 - 1.5, Math.max(1, right - left - 0.5), 1.5);
        }
      }
    }
    draw.fillStyle = themed("--text-soft");
    draw.textAlign = "center";
    const ticks = ticksOf(from - laid.from, to - laid.from, w - LEFT - RIGHT);
    timeTexts(ticks.map((t) => t / 1000)).forEach((text, i) => draw.fillText(text, Math.min(w - 24, x(laid.from + ticks[i], w)), height - 8));
  };
  const find = (place: Place): [Row, Bar] | null => {
    for (const row of laid.rows) {
      const y = place.y - row.top;
      if (y < 0 || y >= row.high) continue;
      const bar = row.bars.find((b) => b.y <= y && y < b.y + b.high && x(b.from) - 1 <= place.x && place.x <= x(b.to) + 1);
      if (bar) return [row, bar];
    }
    return null;
  };
  // An attempt may hold several devices.
  const once = new Map(laid.rows.flatMap((row) => row.bars.map((bar) => [`${bar.trial} ${bar.attempt}`, bar.outcome])));
  const counts = new Map<string, number>();
  for (const outcome of once.values()) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return (
    <section aria-label="timeline" class="view">
      <div class="bar legend">
        {[...counts].map(([outcome, n]) => <span key={outcome}><i style={{ background: OUTCOMES[outcome] ?? FAILED }} class={outcome in OUTCOMES ? "" : "struck"} /> {outcome} {n}</span>)}
        {(laid.hasDevices || byDevice) && <Pick label="rows" value={byDevice ? "devices" : "workers"} names={["workers", "devices"]} onPick={(rows) => view.set({ rows: rows === "devices" ? rows : "" })} />}
        {zoom && <button onClick={() => setZoom(null)}>whole time</button>}
      </div>
      <p class="soft note">{under || `${span(to - from)} from ${new Date(from).toLocaleString()}${zoom ? ` of ${span(laid.to - laid.from)}` : ""}; drag to look closer`}</p>
      <div class="tall">
        <Canvas label="attempts by worker" height={height} paint={paint} when={[laid, zoom]}
          onMove={(place) => { const hit = place && find(place); setUnder(hit ? `trial ${hit[1].trial}, attempt ${hit[1].attempt} on ${hit[0].name}: ${hit[1].outcome}, ${span(hit[1].to - hit[1].from)}` : ""); }}
          onClick={(place) => { const hit = find(place); if (hit) view.open(hit[1].trial); }}
          onDrag={(a, b) => { const [low, high] = [Math.max(from, ms(Math.min(a.x, b.x))), Math.min(to, ms(Math.max(a.x, b.x)))]; if (low < high) setZoom([low, high]); }} />
      </div>
    </section>
  );
}
