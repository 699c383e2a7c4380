// The pools of a head's cluster: how many workers each has and is to have, what became of each request, and what waits for them.
import type { ClusterNow } from "./api";

const COUNTS = ["wanted", "requested", "joined", "away", "draining"] as const;

const seconds = (s: number) => (s < 120 ? `${Math.round(s)} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`);

function Rows({ head, label, children }: { head: string[]; label: string; children: preact.ComponentChildren }) {
  return (
    <div class="sideways">
      <table class="sweeps" aria-label={label}>
        <thead><tr>{head.map((title) => <th key={title}>{title}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function ClusterView({ cluster, onOpen }: { cluster: ClusterNow; onOpen: (sweep: string) => void }) {
  // Those that have joined and work are in the counts.
  const onTheWay = cluster.workers.filter((one) => one.state !== "joined");
  return (
    <section aria-label="cluster" class="view">
      <h2>Cluster {cluster.cluster}{cluster.is_closing && ", going down"}</h2>
      <Rows label="pools" head={["pool", "engine", ...COUNTS, "failed", "min", "max", "why"]}>
        {cluster.pools.map((one) => (
          <tr key={one.pool}>
            <td>{one.pool}</td><td>{one.engine}</td>
            {COUNTS.map((name) => <td key={name} class="number">{one[name]}</td>)}
            <td class="number">{one.failed_requests}</td><td class="number">{one.min}</td><td class="number">{one.max}</td>
            <td class="words">{one.why}</td>
          </tr>))}
      </Rows>
      {onTheWay.length > 0 && (
        <Rows label="requests" head={["worker", "state", "for", "why"]}>
          {onTheWay.map((one) => (
            <tr key={one.worker}><td>{one.worker}</td><td>{one.state}</td><td class="number">{seconds(one.seconds)}</td><td class="words">{one.reason}</td></tr>))}
        </Rows>)}
      {cluster.waiting.length > 0 && (
        <Rows label="waiting trials" head={["waiting", "trials", "each needs", "on their way", "why"]}>
          {cluster.waiting.map((one) => (
            <tr key={one.sweep + one.needs}>
              <td><button class="link" onClick={() => onOpen(one.sweep)}>{one.sweep}</button></td>
              <td class="number">{one.trials}</td><td>{one.needs}</td><td class="number">{one.placed}</td><td class="words">{one.why}</td></tr>))}
        </Rows>)}
      {cluster.failed.length > 0 && (
        <Rows label="failed requests" head={["failed", "ago", "why", "the end of its log"]}>
          {cluster.failed.map((one) => (
            <tr key={one.worker + one.seconds_ago}>
              <td>{one.worker}</td><td class="number">{seconds(one.seconds_ago)}</td><td class="words">{one.why}</td>
              <td class="words">{one.log.length > 0 && <details><summary>{one.log[one.log.length - 1]}</summary><pre>{one.log.join("\n")}</pre></details>}</td></tr>))}
        </Rows>)}
    </section>
  );
}
