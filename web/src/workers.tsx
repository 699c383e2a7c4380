// Who is there, who holds what of each worker and device, and what waits, and why: as the sweep's tuner tells.
import { COLOURS } from "./colour";
import type { DeviceNow, WorkersNow } from "./api";
import { useAnswer } from "./live";
import { shown } from "./rows";
import { bytes } from "./trial";
import type { Shown } from "./view";

interface Part {
  trial: number;
  sweep?: string; // Of another one than is shown.
  amount: number;
}

const keyOf = (part: Part): string => `${part.sweep ?? ""}/${part.trial}`;

// What is booked of a whole, part by part; the rest is free.
function Booked({ what, whole, unit, parts, open }: { what: string; whole: number; unit: string; parts: Part[]; open: (trial: number) => void }) {
  const used = parts.reduce((sum, part) => sum + part.amount, 0);
  return (
    <div class="booked">
      <div class="share" role="img" aria-label={`${shown(used)} of ${shown(whole)} ${unit} of ${what} booked`}>
        {parts.map((part) => <i key={keyOf(part)} style={{ flexGrow: part.amount, background: COLOURS[part.trial % COLOURS.length] }} />)}
        {whole > used && <i class="open" style={{ flexGrow: whole - used }} />}
      </div>
      <div class="soft">
        {shown(used)} of {shown(whole)} {unit}{parts.length > 0 && ": "}
        {parts.map((part, i) => (
          <span key={keyOf(part)} class="part"><i class="swatch" style={{ background: COLOURS[part.trial % COLOURS.length] }} />
            {part.sweep !== undefined ? `${part.sweep}/${part.trial} ` : <button class="link" onClick={() => open(part.trial)}>trial {part.trial}</button>}{shown(part.amount)}{i + 1 < parts.length && ", "}</span>))}
      </div>
    </div>
  );
}

function deviceText(device: DeviceNow): string {
  const parts = [`device ${device.device}: ${device.name}`];
  if (device.memory_bytes > 0 && device.used_bytes !== null) parts.push(`${bytes(device.used_bytes)} of ${bytes(device.memory_bytes)} used`);
  else if (device.memory_bytes > 0) parts.push(bytes(device.memory_bytes));
  else if (device.used_bytes !== null) parts.push(`${bytes(device.used_bytes)} used`);
  return parts.join(", ");
}

export function WorkersView({ shown: view }: { shown: Shown }) {
  const { value, trouble } = useAnswer<WorkersNow>(view.path + "/workers", view.tick);
  if (trouble) return <section aria-label="workers" class="view"><p class="doubt">{trouble}</p></section>;
  if (!value) return <section aria-label="workers" class="view"><p class="empty">Reading the workers…</p></section>;
  const names = value.workers.map((w) => w.worker);
  const isThere = new Set(value.workers.map((w) => w.address));
  const others = value.known.filter((w) => !value.is_told || !isThere.has(w.address));
  const waiting = value.waiting.filter((w) => w.trial === null || view.visible.has(w.trial));
  return (
    <section aria-label="workers" class="view">
      {!value.is_told && <p class="soft note">No tuner runs this sweep now: only what the database knows is shown.</p>}
      {value.workers.map((worker) => {
        // Two may have one name.
        const name = names.indexOf(worker.worker) === names.lastIndexOf(worker.worker) ? worker.worker : worker.address;
        const devices = value.devices.filter((d) => d.worker === worker.worker);
        return (
          <article key={worker.address} aria-label={`worker ${name}`}>
            <header class="bar">
              <h2>{worker.worker}</h2>
              <span>{worker.state === "away" ? "away: not connected, its trials are waited for" : worker.state}</span>
              <span class="soft">{worker.is_local ? "this machine" : worker.address}{worker.silent_seconds !== null && `, heard of ${worker.silent_seconds} s ago`}</span>
              {view.want && !worker.is_local && worker.state === "alive" && (
                <button onClick={() => view.want?.({ verb: "drain", worker: name })}>Let leave…</button>)}
            </header>
            {worker.waits_for !== null && <p>{worker.waits_for}</p>}
            <div class="grid">
              <div><div>CPUs</div>
                <Booked what={name} whole={worker.cpus} unit="CPUs" parts={worker.slices.map((s) => ({ trial: s.trial, sweep: s.sweep, amount: s.cpus }))} open={view.open} /></div>
              {name === worker.worker && devices.map((device) => (
                <div key={device.device}><div>{deviceText(device)}</div>
                  <Booked what={`${name} ${device.device}`} whole={1} unit="device" parts={device.slices.map((s) => ({ trial: s.trial, sweep: s.sweep, amount: s.gpu }))} open={view.open} />
                </div>))}
            </div>
          </article>
        );
      })}
      {value.is_told && value.workers.length === 0 && <p class="doubt">No worker is there.</p>}
      {value.is_told && <>
        <h2>What waits</h2>
        {waiting.length === 0 ? <p class="empty">Nothing waits.</p> : (
          <div class="scroller low" tabIndex={0}>
            <table class="whole">
              <thead><tr><th>trial</th><th>why</th></tr></thead>
              <tbody>{waiting.map((w) => (
                <tr key={w.trial}>
                  <td>{w.trial !== null ? <button class="link" onClick={() => view.open(w.trial as number)}>{w.trial}</button>
                    : w.count < 0 ? "those to come" : `${w.count} to come`}</td>
                  <td>{w.why}</td></tr>))}
              </tbody>
            </table>
          </div>)}
      </>}
      {others.length > 0 && <>
        <h2>{value.is_told ? "Workers that were there" : "Workers"}</h2>
        <div class="scroller low" tabIndex={0}>
          <table>
            <thead><tr>{["worker", "address", "CPUs", "GPUs", "state", "since", "joined"].map((h) => <th key={h}>{h}</th>)}</tr></thead>
            <tbody>{others.map((w) => (
              <tr key={w.id}><td>{w.name}</td><td>{w.address}</td><td class="number">{w.cpus}</td><td class="number">{w.gpus}</td><td>{w.state === "alive" && !value.is_told ? "not known" : w.state}</td>
                <td>{new Date(w.last_seen_at).toLocaleString()}</td><td>{new Date(w.joined_at).toLocaleString()}</td></tr>))}
            </tbody>
          </table>
        </div>
      </>}
    </section>
  );
}
