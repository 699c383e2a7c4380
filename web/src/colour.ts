// Colours that are told apart also by those who do not see red or green.

import { useEffect, useState } from "preact/hooks";

// Of things: Okabe and Ito. Legible on light and dark.
export const COLOURS = ["#2a8fd0", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8ac00"];

const DARK = matchMedia("(prefers-color-scheme: dark)");

// Whether the page is dark now.
export function useDark(): boolean {
  const [isDark, setIsDark] = useState(DARK.matches);
  useEffect(() => {
    const change = () => setIsDark(DARK.matches);
    DARK.addEventListener("change", change);
    return () => DARK.removeEventListener("change", change);
  }, []);
  return isDark;
}

// Of numbers: after viridis, from dark and low to light and high.
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

// `share` from 0 to 1.
export function ramp(share: number, alpha = 1): string {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  const mixed = RAMP[low].map((c, i) => Math.round(c + (RAMP[low + 1][i] - c) * (at - low)));
  return `rgba(${mixed.join()},${alpha})`;
}

// The same of thin lines, without the end that the page's ground would swallow.
export const rampOnGround = (share: number, alpha = 1): string => ramp(DARK.matches ? 0.2 + 0.8 * share : 0.88 * share, alpha);

// What an attempt came to.
export const OUTCOMES: { [outcome: string]: string } = {
  running: "#56b4e9", completed: "#0072b2", "stopped early": "#e69f00", "stopped at max_t": "#009e73", stopped: "#999999", preempted: "#f0e442", lost: "#cc79a7", interrupted: "#cc79a7",
};
export const FAILED = "#d55e00"; // All other outcomes.

// A colour of the page's style, light or dark.
export const themed = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
