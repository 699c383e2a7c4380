// Commands to a sweep that runs: each is asked back once, sent to its tuner, and what the tuner says is told.
import { useEffect, useRef, useState } from "preact/hooks";
import { act, Refused, type Sweep, type Trial } from "./api";

type Verb = "pause" | "unpause" | "stop" | "set" | "drain" | "resume" | "delete" | "again";

// What is asked back before it is done. `trial` and `worker`: of whom; the whole sweep without both.
export interface Wanted {
  verb: Verb;
  trial?: number;
  worker?: string;
}

const LABELS: { [verb in Verb]: string } = { pause: "Pause", unpause: "Go on", stop: "Stop", set: "Set a limit", drain: "Let leave", resume: "Resume", delete: "Delete", again: "Submit again" };
const LIMITS = ["max_concurrent", "sweep_time", "trial_time", "no_progress", "failed_trials", "unplaceable"];
const HINTS: { [limit: string]: string } = { max_concurrent: "4", failed_trials: "10" };

function whatHappens({ verb, trial, worker }: Wanted, atOnce: boolean): string {
  const one = trial !== undefined;
  switch (verb) {
    case "pause":
      return one
        ? atOnce ? "Its process ends now. It goes on from its last checkpoint when it is let go on." : "It pauses at its next checkpoint and leaves its place to others."
        : atOnce ? "All trials that run end now, and nothing new is started. They go on from their last checkpoints later."
          : "All trials that run pause at their next checkpoints, and nothing new is started.";
    case "unpause":
      return one ? "It goes on as soon as there is room for it." : "The sweep goes on with all that its pause paused.";
    case "stop":
      return one
        ? atOnce ? "It ends at once, for good." : "It ends at its next report, for good."
        : atOnce ? "All trials end at once, and the sweep is over. More trials only by tune resume with --samples." : "All trials end at their next reports, and the sweep is over. More trials only by tune resume with --samples.";
    case "drain":
      return `The worker ${worker} gets no more trials. Those that it runs go on elsewhere, from their checkpoints.`;
    case "set":
      return "It counts from now on. Trials that run go on under it.";
    case "resume":
      return "It goes on with the head's workers, from what was reported.";
    case "again":
      return "A new one is submitted to the head, of the same space file and folder, with what is changed here. This one stays as it is.";
    case "delete":
      return "Its trials, reports, logs and checkpoints are removed for good.";
  }
}

function againOf(name: string, samples: string, changes: string): object {
  const settings = changes.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    ...(name.trim() ? { name: name.trim() } : {}), ...(samples.trim() ? { samples: Number(samples) } : {}), ...(settings.length > 0 ? { settings } : {}),
  };
}

// A sample is a configuration: a grid and `repeat` make several trials of each.
const TrialsOfSamples = ({ sweep: { samples, trials_max } }: { sweep: Sweep }) =>
  samples > 0 && trials_max !== samples ? <span class="soft">{samples} {samples === 1 ? "sample makes" : "samples make"} {trials_max} trials</span> : null;

function Dialog({ wanted, sweep, onDone }: { wanted: Wanted; sweep: Sweep; onDone: (action: object | null) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [atOnce, setAtOnce] = useState(false);
  const [limit, setLimit] = useState(LIMITS[0]);
  const [value, setValue] = useState("");
  const [isMissing, setIsMissing] = useState(false);
  const [samples, setSamples] = useState("");
  const [errored, setErrored] = useState(false);
  const [name, setName] = useState("");
  const [changes, setChanges] = useState("");
  const hint = HINTS[limit] ?? "20m";
  useEffect(() => dialog.current?.showModal(), []);
  const { verb, trial, worker } = wanted;
  const whom = worker ?? (trial !== undefined ? `trial ${trial}` : sweep.name);
  const title = verb === "set" ? `Set a limit of ${sweep.name}` : verb === "drain" ? `Let ${whom} leave` : `${LABELS[verb]} ${verb === "unpause" ? "with " : ""}${whom}`;
  const present = sweep.spec.limits?.[limit];
  const leave = (action: object | null) => {
    dialog.current?.close(); // The focus goes back to where it was.
    onDone(action);
  };
  const send = (e: Event) => {
    e.preventDefault();
    if (verb === "set" && !value.trim()) return setIsMissing(true);
    const now = atOnce ? { now: true } : {};
    leave(
      verb === "set" ? { set: { settings: [`limits.${limit}=${value.trim()}`] } }
        : verb === "drain" ? { drain: { worker } }
        : verb === "delete" ? { delete: {} }
        : verb === "again" ? { again: againOf(name, samples, changes) }
        : verb === "resume" ? { resume: { ...(samples.trim() ? { samples: Number(samples) } : {}), ...(errored ? { errored } : {}) } }
          : { [verb]: { ...(trial !== undefined ? { trial } : {}), ...now } });
  };
  return (
    <dialog ref={dialog} aria-labelledby="asked" onCancel={(e) => { e.preventDefault(); leave(null); }}>
      <form onSubmit={send}>
        <h2 id="asked">{title}?</h2>
        {verb === "set" && (
          <div class="bar">
            <label>limit <select value={limit} onChange={(e) => setLimit(e.currentTarget.value)}>
              {LIMITS.map((name) => <option key={name} value={name}>{name}</option>)}</select></label>
            <label>value <input size={8} value={value} placeholder={hint} onInput={(e) => { setValue(e.currentTarget.value); setIsMissing(false); }} /></label>
            <span class="soft">{present === undefined ? "not set now" : `${String(present)} now`}</span>
            {isMissing && <span class="doubt" role="alert">the value is missing, such as {hint}</span>}
          </div>
        )}
        {verb === "resume" && (
          <div class="bar">
            <label>samples in all <input size={8} inputMode="numeric" value={samples} placeholder={String(sweep.samples)} onInput={(e) => setSamples(e.currentTarget.value)} /></label>
            <TrialsOfSamples sweep={sweep} />
            <label><input type="checkbox" checked={errored} onChange={(e) => setErrored(e.currentTarget.checked)} /> try those that failed again</label>
          </div>
        )}
        {verb === "again" && (
          <div class="bar">
            <label>name <input size={16} value={name} placeholder={`${sweep.name}-…`} onInput={(e) => setName(e.currentTarget.value)} /></label>
            {!sweep.job && <label>samples <input size={8} inputMode="numeric" value={samples} placeholder={String(sweep.spec.samples ?? sweep.samples)} onInput={(e) => setSamples(e.currentTarget.value)} /></label>}
            {!sweep.job && <TrialsOfSamples sweep={sweep} />}
            <label>what is changed, one a line <textarea rows={3} cols={40} value={changes} placeholder={"space.lr.uniform=[0.001, 0.1]\nresources.gpu=1"} onInput={(e) => setChanges(e.currentTarget.value)} /></label>
          </div>
        )}
        {(verb === "pause" || verb === "stop") && (
          <label><input type="checkbox" checked={atOnce} onChange={(e) => setAtOnce(e.currentTarget.checked)} /> at once, without
            waiting for the next {verb === "pause" ? "checkpoint" : "report"}</label>
        )}
        <p aria-live="polite">{whatHappens(wanted, atOnce)}</p>
        <div class="bar">
          <button type="submit" class="main">{LABELS[verb]}</button>
          <button type="button" onClick={() => leave(null)}>Cancel</button>
        </div>
      </form>
    </dialog>
  );
}

export interface Acting {
  want: ((wanted: Wanted) => void) | null; // Null: this page only looks.
  parts: preact.JSX.Element; // The dialog, and what became of the last action.
}

// `onGone`: the sweep was deleted.
export function useActing(sweep: Sweep | null, path: string, onGone: () => void): Acting {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const [told, setTold] = useState({ text: "", isError: false });
  useEffect(() => { setWanted(null); setTold({ text: "", isError: false }); }, [path]);
  const done = async (action: object | null) => {
    setWanted(null);
    if (!action) return;
    setTold({ text: "Asking the tuner…", isError: false });
    try {
      const lines = await act(path, action);
      setTold({ text: "again" in action ? `${lines[0]} is submitted` : lines.join("\n"), isError: false });
      if ("delete" in action) onGone();
    } catch (error) {
      setTold({ text: error instanceof Refused ? error.message : "The page's server does not answer; it is not known whether this was done.", isError: true });
    }
  };
  return {
    want: sweep?.may_act || sweep?.may_manage || sweep?.may_again ? setWanted : null,
    parts: (
      <>
        <div role="status" aria-live="polite" class={told.isError ? "told doubt" : "told"}>
          {told.text && <>{told.text} <button aria-label="close what was told" onClick={() => setTold({ text: "", isError: false })}>✕</button></>}
        </div>
        {wanted && sweep && <Dialog wanted={wanted} sweep={sweep} onDone={done} />}
      </>
    ),
  };
}

const Button = ({ verb, trial, want }: { verb: Verb; trial?: number; want: (wanted: Wanted) => void }) => (
  <button onClick={() => want({ verb, trial })}>{LABELS[verb]}…</button>);

export function SweepActions({ sweep, want }: { sweep: Sweep; want: Acting["want"] }) {
  if (!want) return null;
  const verbs: Verb[] = sweep.may_manage ? ["resume", "delete"] : sweep.may_act ? [sweep.status === "PAUSED" ? "unpause" : "pause", "stop", "set"] : [];
  if (sweep.may_again) verbs.push("again");
  return <div class="bar" role="group" aria-label={`commands to ${sweep.name}`}>{verbs.map((verb) => <Button key={verb} verb={verb} want={want} />)}</div>;
}

export function TrialActions({ trial, want }: { trial: Trial; want: Acting["want"] }) {
  if (!want || trial.status === "TERMINATED" || trial.status === "ERROR") return null;
  const verbs: Verb[] = [trial.status === "PAUSED" ? "unpause" : "pause", "stop"];
  return <div class="bar" role="group" aria-label={`commands to trial ${trial.number}`}>{verbs.map((verb) => <Button key={verb} verb={verb} trial={trial.number} want={want} />)}</div>;
}
