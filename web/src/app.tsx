import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AboutView } from "./about";
import { useActing } from "./act";
import { readAddress, VIEWS, writeAddress, type View, type ViewName } from "./address";
import { isLiving, isReport, pathOf, type ClusterNow, type Course, type Queue, type Ranges, type Summary, type Sweep, type Trial, type TrialDetail, type WorkersNow } from "./api";
import { CompareView } from "./compare";
import { CurvesView } from "./curves";
import { FrontView } from "./front";
import { ImportanceView } from "./importance";
import { useAnswer, useAnswers, useChanges, useTrials } from "./live";
import { Overview } from "./overview";
import { ParallelView } from "./parallel";
import { printable } from "./printable";
import { bestFirst, columnsOf, differing, filterOf, filterParts, metricColumns, sorted, withMetrics, wordsOf } from "./rows";
import { ContourView, SliceView } from "./slice";
import { QueueList, SweepList } from "./sweeps";
import { ColumnMenu, TrialTable } from "./table";
import { TimelineView } from "./timeline";
import { TrialPanel } from "./trial";
import { parameterNames, type Change, type Shown } from "./view";
import { WorkersView } from "./workers";
import { ClusterView } from "./cluster";

const TITLES: { [view in ViewName]: string } = {
  curves: "Curves", parallel: "Parallel", slice: "Slice", contour: "Contour", importance: "Importance", front: "Front",
  timeline: "Timeline", workers: "Workers", compare: "Compare", about: "About",
};

const NOBODY = new Map<number, Trial>();

// The view and its address change together: what is drawn in between must not have the earlier one.
function useView(): [View, (change: Partial<View>, how?: Change) => void] {
  const [view, setView] = useState(() => readAddress(location.hash));
  const latest = useRef(view);
  const show = (next: View) => {
    latest.current = next;
    setView(next);
  };
  useEffect(() => {
    const follow = () => show(readAddress(location.hash)); // Back, or an address that a person changed.
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return [view, (change, how = "step") => {
    const address = writeAddress({ ...latest.current, ...change });
    show(readAddress(address));
    if (how === "part") history.replaceState(null, "", address);
    else if (address !== location.hash) history.pushState(null, "", address);
  }];
}

function Tabs({ now, names, onPick }: { now: ViewName; names: ViewName[]; onPick: (view: ViewName) => void }) {
  const move = (e: KeyboardEvent) => {
    const at = names.indexOf(now);
    const place = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[e.key];
    if (place === undefined) return;
    e.preventDefault(); // Home and End scroll the page, too.
    const next = names[(place + names.length) % names.length];
    onPick(next);
    document.getElementById("tab-" + next)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="views" onKeyDown={move}>
      {names.map((name) => (
        <button key={name} role="tab" id={"tab-" + name} aria-selected={name === now} aria-controls="view" tabIndex={name === now ? 0 : -1}
          onClick={() => onPick(name)}>{TITLES[name]}</button>))}
    </div>
  );
}

function Drawing({ name, shown, course }: { name: ViewName; shown: Shown; course: Course | null }) {
  switch (name) {
    case "curves": return <CurvesView shown={shown} course={course} />;
    case "parallel": return <ParallelView shown={shown} />;
    case "slice": return <SliceView shown={shown} />;
    case "contour": return <ContourView shown={shown} />;
    case "importance": return <ImportanceView shown={shown} />;
    case "front": return <FrontView shown={shown} />;
    case "timeline": return <TimelineView shown={shown} />;
    case "workers": return <WorkersView shown={shown} />;
    case "compare": return <CompareView shown={shown} />;
    case "about": return <AboutView shown={shown} />;
  }
}

export function App() {
  const [view, change] = useView();
  const open = (sweep: string) =>
    change({ sweep, isList: false, trial: null, chosen: [], filter: "", sort: "", hidden: [], extra: [], differ: false, options: {} });
  const [tick, gone] = useChanges();
  const [hasState, setHasState] = useState(false);
  // One thread answers: what is seen first is asked for first.
  const sweeps = useAnswer<Summary[]>(!view.sweep || hasState ? "/sweeps" : "", tick);
  const queue = useAnswer<Queue>(view.isList && !isReport ? "/queue" : "", tick);
  const cluster = useAnswer<{ cluster: ClusterNow | null }>(view.isList && !isReport ? "/cluster" : "", tick);
  const name = view.isList ? "" : view.sweep || sweeps.value?.[0]?.name || "";
  const path = name ? pathOf(name) : "";
  const sweep = useAnswer<Sweep>(path, tick);
  useEffect(() => { if (sweeps.value || sweep.value || sweep.trouble) setHasState(true); }, [sweeps.value, sweep.value, sweep.trouble]);
  // The latest sweep is where one begins: it stays when another one comes.
  useEffect(() => { if (name && !view.sweep) change({ sweep: name }, "part"); }, [name, view.sweep]);
  const rows = useTrials(sweep.value ? path + "/trials" : "", tick);
  const course = useAnswer<Course>(rows.value ? path + "/course" : "", tick);
  const trialPath = `${path}/trials/${view.trial}`;
  const isThere = view.trial !== null && rows.value?.byNumber.has(view.trial);
  const detail = useAnswer<TrialDetail>(isThere ? trialPath : "", tick);
  const status = detail.value?.trial[0].status;
  const waits = useAnswer<WorkersNow>(!isReport && (status === "PENDING" || status === "PAUSED") ? path + "/workers" : "", tick);
  const why = waits.value?.waiting.find((w) => w.trial === view.trial)?.why ?? "";

  const all = rows.value?.list ?? [];
  const leftOut = rows.value?.leftOut ?? 0;
  const metric = sweep.value?.metric ?? "";
  const living = sweep.value !== null && isLiving(sweep.value);
  const reported = useAnswer<string[]>(rows.value ? path + "/metrics" : "", tick);
  const metrics = useMemo(() => [...new Set([metric, ...(reported.value ?? [])])], [reported.value, metric]);
  // Asked for where a column is shown, ordered or filtered by.
  const others = sweep.value?.metrics.slice(1) ?? [];
  const asked = metrics.filter((m) => others.includes(m) || view.extra.some((c) => c.endsWith(":" + m)) || view.sort.endsWith(":" + m) || view.filter.includes(`(${m})`));
  const rangePath = (m: string) => `${path}/ranges?metric=${encodeURIComponent(m)}`;
  const answers = useAnswers<Ranges>(asked.map(rangePath), tick);
  const columns = useMemo(() => {
    const ranges = new Map([...(answers.value?.values() ?? [])].map((r) => [r.metric, r]));
    return withMetrics(columnsOf(all, metric, living), metricColumns(metrics, metric, others, ranges));
  }, [rows.value?.list, metrics, answers.value, living]);
  const { names, varying } = useMemo(() => parameterNames(all), [rows.value?.list]);
  const test = useMemo(() => filterOf(view.filter, columns, wordsOf), [view.filter, columns]);
  const sort = view.sort || (sweep.value?.mode === "max" ? "-best" : "best");
  const trials = useMemo(() => {
    const kept = typeof test === "string" ? all : all.filter(test);
    return view.sort ? sorted(kept, columns, sort) : bestFirst(kept, sweep.value?.mode === "max");
  }, [rows.value?.list, test, columns, sort, view.sort]);
  const chosen = trials.filter((t) => view.chosen.includes(t.number));
  const differs = view.differ && chosen.length > 1;
  const shownColumns = columns.filter((c) => (c.isExtra ? view.extra.includes(c.name) : !view.hidden.includes(c.name)));
  const visible = useMemo(() => new Set(trials.map((t) => t.number)), [trials]);
  useEffect(() => {
    document.title = name ? `${printable(name)} - tune` : "tune";
  }, [name]);

  const choose = (trial: number) =>
    change({ chosen: view.chosen.includes(trial) ? view.chosen.filter((t) => t !== trial) : [...view.chosen, trial] });
  const drawn = view.trial === null || view.chosen.includes(view.trial) ? view.chosen : [...view.chosen, view.trial];
  const views = VIEWS.filter((v) => v !== "front" || (sweep.value?.metrics.length ?? 1) > 1);
  const now = views.includes(view.view) ? view.view : "curves";
  const acting = useActing(sweep.value, path, () => change({ isList: true, sweep: "", trial: null, filter: "", sort: "" }));
  const wantOfTrial = sweep.value?.may_act ? acting.want : null;
  const trouble = gone || sweeps.trouble || sweep.trouble || rows.trouble || answers.trouble;
  const shown: Shown | null = sweep.value && {
    path, tick, sweep: sweep.value, all, byNumber: rows.value?.byNumber ?? NOBODY, trials, visible, drawn,
    isVisible: (trial) => visible.has(trial) || (leftOut > 0 && !view.filter && !rows.value?.byNumber.has(trial)),
    metrics, names, varying, filter: view.filter, options: view.options,
    set: (options, how) => change({ options: { ...view.options, ...options } }, how),
    open: (trial) => change({ trial }),
    want: wantOfTrial,
    addFilter: (parts, without) => change({ filter: [...filterParts(view.filter).filter((p) => p.name !== without).map((p) => p.text), ...parts].join(" ") }),
  };

  return (
    <main>
      <header class="bar top">
        <h1>tune</h1>
        {!isReport && sweeps.value && sweeps.value.length > 0 && (
          <button aria-pressed={view.isList} onClick={() => (view.isList ? open("") : change({ isList: true, sweep: "", trial: null, filter: "", sort: "" }))}>all sweeps</button>)}
        {sweeps.value && sweeps.value.length > 0 && !view.isList && (
          <select aria-label="sweep" value={name} onChange={(e) => open(e.currentTarget.value)}>
            {sweeps.value.map((s) => <option key={s.name} value={s.name}>{s.name} ({s.status})</option>)}
          </select>
        )}
        {sweeps.value?.length !== 0 && <input type="search" aria-label="filter" placeholder={view.isList ? "filter: status=RUNNING team=vision" : "filter: lr<0.01 status=ERROR"} value={view.filter}
          onInput={(e) => change({ filter: e.currentTarget.value }, "part")} />}
        {!view.isList && typeof test === "string" && <span class="doubt">{test}</span>}
        {isReport && <span class="soft">a report: it does not change</span>}
      </header>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      {!sweeps.value && !sweep.value && !trouble && <p class="empty">Reading the database…</p>}
      {sweeps.value?.length === 0 && <p class="empty">This database has no sweep yet. Begin one: <code>tune run space.yaml</code></p>}
      {view.isList && cluster.value?.cluster && <ClusterView cluster={cluster.value.cluster} onOpen={open} />}
      {view.isList && queue.value && <QueueList queue={queue.value} onOpen={open} />}
      {view.isList && sweeps.value && sweeps.value.length > 0 && (
        <SweepList sweeps={sweeps.value} filter={view.filter} sort={view.sort} onFilter={(filter) => change({ filter })}
          onSort={(sort) => change({ sort })} onOpen={open} />)}
      {!view.isList && shown && (
        <>
          <Overview sweep={shown.sweep} course={course.value} want={acting.want} />
          {acting.parts}
          {!rows.value && <p class="empty">Reading its trials…</p>}
          {view.trial !== null && rows.value && leftOut === 0 && !isThere && (
            <p class="doubt" role="status">There is no trial {view.trial} in {name}. <button onClick={() => change({ trial: null })}>close</button></p>)}
          {isThere && !detail.value && detail.trouble && (
            <p class="doubt" role="status">trial {view.trial}{isReport ? " is not one of the best ones, which alone can be opened in this report." : `: ${detail.trouble}`} <button onClick={() => change({ trial: null })}>close</button></p>)}
          <div class={detail.value ? "columns" : ""} hidden={!rows.value}>
            <div>
              <Tabs now={now} names={views} onPick={(v) => change({ view: v })} />
              <div role="tabpanel" id="view" aria-labelledby={"tab-" + now}>
                <Drawing name={now} shown={shown} course={course.value} />
              </div>
              <TrialTable sweep={name} leftOut={leftOut} trials={differs ? chosen : trials} columns={differs ? differing(shownColumns, chosen) : shownColumns} sort={sort}
                best={others.length > 0 ? null : shown.sweep.best?.number ?? null} chosen={view.chosen} open={view.trial}
                menu={<ColumnMenu columns={columns} hidden={view.hidden} extra={view.extra} onHide={(hidden) => change({ hidden })} onExtra={(extra) => change({ extra })} />}
                differ={chosen.length > 1 ? differs : null} onDiffer={(differ) => change({ differ })} onSort={(next) => change({ sort: next })} onChoose={choose}
                onOpen={(trial) => change({ trial })} />
            </div>
            {detail.value && <TrialPanel detail={detail.value} metric={metric} others={others} path={trialPath} tick={tick} why={why} want={wantOfTrial} onClose={() => change({ trial: null })} />}
          </div>
        </>
      )}
    </main>
  );
}
