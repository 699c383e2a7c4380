// Which parameters mattered (tune importance): bars, and how sure that is.
import type { Importance } from "./api";
import { useAnswer } from "./live";
import type { Shown } from "./view";

const percent = (share: number) => `${Math.round(1000 * share) / 10} %`;

export function ImportanceView({ shown: view }: { shown: Shown }) {
  const { value, trouble } = useAnswer<Importance>(view.path + "/importance", view.tick);
  if (trouble) return <section aria-label="importance" class="view"><p class="doubt">{trouble}</p></section>;
  if (!value || (value.is_behind && !value.metrics && !value.why_not)) return <section aria-label="importance" class="view"><p class="empty">Weighing the parameters…</p></section>;
  return (
    <section aria-label="importance" class="view">
      {value.why_not && <p class="empty">{value.why_not}</p>}
      {value.metrics?.map((one) => (
        <div key={one.metric} class="sideways"><table class="bars">
          <caption class="soft">
            {one.metric}: from {one.trials} trials{(view.sweep.counts.ERROR ?? 0) > 0 && " that did not fail"}{one.iteration !== null && `, compared at iteration ${one.iteration}, since the scheduler stopped some early`};
            nine tenths of such sweeps would show a share within the thin line{value.is_behind && "; being weighed anew"}
          </caption>
          <thead><tr><th>parameter</th><th>share</th><th><span class="hidden">bar</span></th></tr></thead>
          <tbody>
            {one.parameters.map((p) => (
              <tr key={p.name}>
                <td>{p.name}</td>
                <td class="number">{percent(p.share)}</td>
                <td class="wide">
                  <div class="track" role="img" aria-label={`${percent(p.share)}, between ${percent(p.low)} and ${percent(p.high)}`}>
                    <i class={p.is_clear ? "clear" : "unclear"} style={{ width: `${100 * p.share}%` }} />
                    <b style={{ left: `${100 * p.low}%`, width: `${100 * (p.high - p.low)}%` }} />
                  </div>
                  {!p.is_clear && <span class="soft">by itself no clearer than chance</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table></div>
      ))}
    </section>
  );
}
