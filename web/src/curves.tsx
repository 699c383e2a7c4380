// Values by iteration, of all trials that are shown; the chosen ones stand out.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Curves } from "./api";

// Told apart also by those who do not see red or green: Okabe and Ito.
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];

interface Props {
  data: Curves;
  visible: Set<number>;
  chosen: number[];
  metric: string;
  onPick: (trial: number) => void;
}

export function CurvePlot({ data, visible, chosen, metric, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [log, setLog] = useState(false);
  const [under, setUnder] = useState<number | null>(null);
  const curves = data.curves.filter((c) => visible.has(c.trial));
  const drawable = log ? curves.filter((c) => c.values.some((v) => v !== null && v > 0)) : curves;

  useEffect(() => {
    const element = box.current;
    if (!element || drawable.length === 0) return;
    const style = getComputedStyle(element);
    const text = style.getPropertyValue("--text-soft");
    const grid = style.getPropertyValue("--line");
    const table = uPlot.join(drawable.map((c) => [c.iterations, log ? c.values.map((v) => (v !== null && v > 0 ? v : null)) : c.values]) as uPlot.AlignedData[]);
    const pale = drawable.length > 30 || chosen.length > 0;
    const colour = (trial: number, i: number) => {
      const at = chosen.indexOf(trial);
      if (at >= 0) return COLOURS[at % COLOURS.length];
      return pale ? style.getPropertyValue("--curve") : COLOURS[i % COLOURS.length];
    };
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    let focused: number | null = null;
    const plot = new uPlot(
      {
        width: Math.max(240, element.clientWidth),
        height: 320,
        legend: { show: false },
        cursor: { focus: { prox: 24 }, drag: { x: true, y: true } },
        focus: { alpha: 0.35 },
        scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
        axes: [{ ...axis, label: "iteration" }, { ...axis, label: metric, size: 72 }],
        series: [
          {},
          ...drawable.map((c, i): uPlot.Series => ({
            label: String(c.trial),
            stroke: colour(c.trial, i),
            width: chosen.includes(c.trial) ? 2.5 : 1.2,
            spanGaps: true,
            points: { show: c.iterations.length < 2 },
          })),
        ],
        hooks: {
          setSeries: [(_, index) => {
            focused = index === null || index === 0 ? null : drawable[index - 1].trial;
            setUnder(focused);
          }],
        },
      },
      table,
      element,
    );
    const pick = () => focused !== null && onPick(focused);
    plot.over.addEventListener("click", pick);
    const resize = new ResizeObserver(() => plot.setSize({ width: Math.max(240, element.clientWidth), height: 320 }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [data, log, metric, chosen.join(), drawable.map((c) => c.trial).join()]);

  return (
    <section aria-label="curves">
      <header class="bar">
        <h2>Curves</h2>
        <label><input type="checkbox" checked={log} onChange={(e) => setLog(e.currentTarget.checked)} /> log axis</label>
        <span class="soft">
          {under !== null ? `trial ${under}: click to open it` : `${drawable.length} shown`}
          {curves.length > drawable.length && `, ${curves.length - drawable.length} have nothing above 0`}
          {data.left_out > 0 && `, ${data.left_out} of very many left out`}
          {data.stride > 1 && `, each ${data.stride}th point`}
        </span>
      </header>
      {drawable.length === 0 ? <p class="empty">Nothing is reported yet.</p> : <div class="plot" ref={box} />}
    </section>
  );
}
