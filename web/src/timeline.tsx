// Who ran what when: workers as rows, attempts as bars by what became of them. Dragging looks closer, a double click goes back.
import { useMemo, useState } from "preact/hooks";
import type { Timeline, Trial } from "./api";
import { Canvas, type Pen, type Place } from "./canvas";
import { FAILED, OUTCOMES, themed } from "./colour";
import { useAnswer } from "./live";
import { TIME_STEPS, timeTexts } from "./scale";
import type { Shown } from "./view";

const LANE = 9, GAP = 14, LEFT = 130, RIGHT = 12, BOTTOM = 26;

interface Bar {
  trial: number;
  attempt: number;
  outcome: string;
  from: number; // Milliseconds since 1970.
  to: number;
  lane: number;
}

interface Row {
  name: string;
  bars: Bar[];
  lanes: number;
  top: number; // In lanes and gaps of those above it.
}

// "stopped", as the overview counts it: early, by the scheduler, or where all end that come so far.
function becameOf(outcome: string, attempt: number, trial: Trial | undefined): string {
  if (outcome !== "stopped" || trial?.attempts !== attempt) return outcome;
  return trial.stop_reason === "scheduler" ? "stopped early" : trial.stop_reason === "max_t" ? "stopped at max_t" : outcome;
}

// Attempts of a worker beside each other where they ran at a time.
function rowsOf(timeline: Timeline, trials: Trial[], now: number): { rows: Row[]; from: number; to: number } {
  const index = Object.fromEntries(timeline.attempts.columns.map((name, i) => [name, i]));
  const byNumber = new Map(trials.map((t) => [t.number, t]));
  const byWorker = new Map<number | null, Bar[]>();
  let from = Infinity, to = -Infinity;
  for (const row of timeline.attempts.rows) {
    const trial = row[index.trial] as number;
    if (!byNumber.has(trial)) continue;
    const worker = row[index.worker] as number | null;
    const bar = {
      trial, attempt: row[index.attempt] as number,
      outcome: becameOf(String(row[index.outcome]), row[index.attempt] as number, byNumber.get(trial)),
      from: row[index.started] as number, to: (row[index.finished] as number | null) ?? now, lane: 0,
    };
    from = Math.min(from, bar.from);
    to = Math.max(to, bar.to);
    if (!byWorker.has(worker)) byWorker.set(worker, []);
    byWorker.get(worker)?.push(bar);
  }
  const rows: Row[] = [];
  let top = 0;
  for (const worker of [...timeline.workers, { id: null, name: "not known" }]) {
    const bars = byWorker.get(worker.id);
    if (!bars) continue;
    bars.sort((a, b) => a.from - b.from || a.trial - b.trial);
    const ends: number[] = [];
    for (const bar of bars) {
      let lane = ends.findIndex((end) => end <= bar.from);
      if (lane < 0) lane = ends.length;
      ends[lane] = bar.to;
      bar.lane = lane;
    }
    rows.push({ name: worker.name, bars, lanes: ends.length, top });
    top += ends.length * LANE + GAP;
  }
  return { rows, from, to: Math.max(to, from + 1) };
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
  const laid = useMemo(() => value && rowsOf(value, view.trials, view.sweep.status === "RUNNING" ? Date.now() : 0), [value, view.trials]);
  if (trouble) return <section aria-label="timeline" class="view"><p class="doubt">{trouble}</p></section>;
  if (!value || !laid) return <section aria-label="timeline" class="view"><p class="empty">Reading the attempts…</p></section>;
  if (laid.rows.length === 0) return <section aria-label="timeline" class="view"><p class="empty">No attempt has begun.</p></section>;
  const [from, to] = zoom ?? [laid.from, laid.to];
  const last = laid.rows[laid.rows.length - 1];
  const height = last.top + last.lanes * LANE + GAP + BOTTOM;
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
        draw.fillRect(left, row.top + bar.lane * LANE, Math.max(1, right - left - 0.5), LANE - 1.5);
        if (!(bar.outcome in OUTCOMES)) { // Not by colour alone.
          draw.fillStyle = themed("--back");
          draw.fillRect(left, row.top + bar.lane * LANE + 3, Math.max(1, right - left - 0.5), 1.5);
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
      const lane = Math.floor((place.y - row.top) / LANE);
      if (lane < 0 || lane >= row.lanes) continue;
      const bar = row.bars.find((b) => b.lane === lane && x(b.from) - 1 <= place.x && place.x <= x(b.to) + 1);
      if (bar) return [row, bar];
    }
    return null;
  };
  const counts = new Map<string, number>();
  for (const row of laid.rows) for (const bar of row.bars) counts.set(bar.outcome, (counts.get(bar.outcome) ?? 0) + 1);
  return (
    <section aria-label="timeline" class="view">
      <div class="bar legend">
        {[...counts].map(([outcome, n]) => <span key={outcome}><i style={{ background: OUTCOMES[outcome] ?? FAILED }} class={outcome in OUTCOMES ? "" : "struck"} /> {outcome} {n}</span>)}
        {zoom && <button onClick={() => setZoom(null)}>whole time</button>}
      </div>
      <p class="soft note">{under || `${span(laid.to - laid.from)} from ${new Date(laid.from).toLocaleString()}; drag to look closer`}</p>
      <div class="tall">
        <Canvas label="attempts by worker" height={height} paint={paint} when={[laid, zoom]}
          onMove={(place) => { const hit = place && find(place); setUnder(hit ? `trial ${hit[1].trial}, attempt ${hit[1].attempt} on ${hit[0].name}: ${hit[1].outcome}, ${span(hit[1].to - hit[1].from)}` : ""); }}
          onClick={(place) => { const hit = find(place); if (hit) view.open(hit[1].trial); }}
          onDrag={(a, b) => setZoom([ms(Math.min(a.x, b.x)), ms(Math.max(a.x, b.x))])} />
      </div>
    </section>
  );
}
