import { useEffect, useMemo, useState } from "preact/hooks";
import { readAddress, writeAddress, type View } from "./address";
import { ask, pathOf, Refused, type Curves, type Summary, type Sweep, type Trial, type TrialDetail } from "./api";
import { CurvePlot } from "./curves";
import { columnsOf, filterOf, shown, sorted } from "./rows";
import { TrialTable } from "./table";
import { TrialPanel } from "./trial";

const ORDER = ["TERMINATED", "RUNNING", "PAUSED", "PENDING", "ERROR"];
const EACH_MS = 1000;
// Asking takes at most this share of the time, so that pages of large sweeps do not wear out who answers.
const SHARE = 0.1;
const NOTHING: Curves = { curves: [], left_out: 0, stride: 1 };

interface Data {
  sweep: Sweep;
  trials: Trial[];
  curves: Curves;
  detail: TrialDetail | null;
  isWhole: boolean; // The trials are there too.
}

function useView(): [View, (change: Partial<View>) => void] {
  const [view, setView] = useState(() => readAddress(location.hash));
  useEffect(() => {
    const follow = () => setView(readAddress(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return [view, (change) => { location.hash = writeAddress({ ...view, ...change }); }];
}

// Asks again each second, as long as the page is seen.
function useData(view: View): { sweeps: Summary[] | null; data: Data | null; trouble: string } {
  const [sweeps, setSweeps] = useState<Summary[] | null>(null);
  const [data, setData] = useState<Data | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    let isOver = false;
    let timer = 0;
    let isShown = false;
    const look = async () => {
      const begin = performance.now();
      try {
        const all = await ask<Summary[]>("/sweeps");
        const name = view.sweep || all[0]?.name;
        let next: Data | null = null;
        if (name) {
          const path = pathOf(name);
          const sweep = await ask<Sweep>(path);
          if (!isShown && !isOver) { // What is known soon is shown soon.
            setSweeps(all);
            setData((before) => before?.sweep.name === sweep.name ? before : { sweep, trials: [], curves: NOTHING, detail: null, isWhole: false });
          }
          const [trials, curves] = await Promise.all([ask<Trial[]>(path + "/trials"), ask<Curves>(path + "/curves")]);
          const isThere = view.trial !== null && trials.some((t) => t.number === view.trial);
          next = { sweep, trials, curves, detail: isThere ? await ask<TrialDetail>(`${path}/trials/${view.trial}`) : null, isWhole: true };
        }
        if (isOver) return;
        setSweeps(all);
        setData(next);
        isShown = true;
        setTrouble("");
      } catch (error) {
        if (!isOver) setTrouble(error instanceof Refused ? error.message : "tune ui does not answer; trying again");
      }
      const pause = Math.max(document.hidden ? 10 * EACH_MS : EACH_MS, (performance.now() - begin) / SHARE);
      if (!isOver) timer = window.setTimeout(look, pause);
    };
    look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [view.sweep, view.trial]);
  return { sweeps, data, trouble };
}

function Overview({ sweep }: { sweep: Sweep }) {
  const total = Object.values(sweep.counts).reduce((a, b) => a + b, 0);
  const known = ORDER.filter((status) => sweep.counts[status]);
  return (
    <section aria-label="overview" class="overview">
      <div>
        <strong class="status">{sweep.status}</strong>
        <span class="soft"> {sweep.metric} ({sweep.mode}), {sweep.scheduler}, seed {sweep.seed}, began {new Date(sweep.created_at).toLocaleString()}</span>
      </div>
      <div class="share" role="img" aria-label={known.map((s) => `${sweep.counts[s]} ${s}`).join(", ")}>
        {known.map((s) => <i key={s} class={s.toLowerCase()} style={{ flexGrow: sweep.counts[s] }} />)}
        {sweep.trials_max > total && <i class="open" style={{ flexGrow: sweep.trials_max - total }} />}
      </div>
      <div class="soft">{known.map((s) => `${sweep.counts[s]} ${s}`).join(", ")}{sweep.trials_max > total ? `, ${sweep.trials_max - total} to come` : ""}</div>
      {sweep.best
        ? <div>best: trial {sweep.best.number}, {sweep.metric} <strong>{shown(sweep.best.value)}</strong> at iteration {sweep.best.iteration}</div>
        : <div class="soft">no trial has reported {sweep.metric} yet</div>}
      {sweep.doubts.map((doubt) => <p class="doubt" key={doubt}>in doubt: {doubt}</p>)}
    </section>
  );
}

export function App() {
  const [view, change] = useView();
  const { sweeps, data, trouble } = useData(view);
  const columns = useMemo(() => (data ? columnsOf(data.trials, data.sweep.metric) : []), [data?.trials, data?.sweep.metric]);
  const test = useMemo(() => filterOf(view.filter, columns), [view.filter, columns]);
  const sort = view.sort || (data?.sweep.mode === "max" ? "-best" : "best");
  const trials = useMemo(
    () => (data ? sorted(typeof test === "string" ? data.trials : data.trials.filter(test), columns, sort) : []),
    [data?.trials, test, columns, sort]);
  const visible = useMemo(() => new Set(trials.map((t) => t.number)), [trials]);
  useEffect(() => {
    document.title = data ? `${data.sweep.name} - tune` : "tune";
  }, [data?.sweep.name]);
  const choose = (trial: number) =>
    change({ chosen: view.chosen.includes(trial) ? view.chosen.filter((t) => t !== trial) : [...view.chosen, trial] });

  const drawn = view.trial === null || view.chosen.includes(view.trial) ? view.chosen : [...view.chosen, view.trial];

  return (
    <main>
      <header class="bar top">
        <h1>tune</h1>
        {sweeps && sweeps.length > 0 && (
          <select aria-label="sweep" value={data?.sweep.name ?? view.sweep}
            onChange={(e) => change({ sweep: e.currentTarget.value, trial: null, chosen: [], filter: "", sort: "" })}>
            {sweeps.map((s) => <option key={s.name} value={s.name}>{s.name} ({s.status})</option>)}
          </select>
        )}
        <input type="search" aria-label="filter" placeholder="filter: lr<0.01 status=ERROR" value={view.filter}
          onInput={(e) => change({ filter: e.currentTarget.value })} />
        {typeof test === "string" && <span class="doubt">{test}</span>}
      </header>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      {!sweeps && !trouble && <p class="empty">Reading the database…</p>}
      {sweeps && sweeps.length === 0 && <p class="empty">This database has no sweep yet. Begin one: <code>tune run space.yaml</code></p>}
      {data && (
        <>
          <Overview sweep={data.sweep} />
          {!data.isWhole && <p class="empty">Reading its trials…</p>}
          <div class={data.detail ? "columns" : ""} hidden={!data.isWhole}>
            <div>
              <CurvePlot data={data.curves} visible={visible} chosen={drawn} metric={data.sweep.metric}
                onPick={(trial) => change({ trial })} />
              <TrialTable trials={trials} columns={columns} sort={sort} best={data.sweep.best?.number ?? null} chosen={view.chosen}
                open={view.trial} onSort={(next) => change({ sort: next })} onChoose={choose} onOpen={(trial) => change({ trial })} />
            </div>
            {data.detail && <TrialPanel detail={data.detail} metric={data.sweep.metric} onClose={() => change({ trial: null })} />}
          </div>
        </>
      )}
    </main>
  );
}
