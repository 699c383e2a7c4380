// What each view is given: one selection of trials drives them all.
import type { Acting } from "./act";
import type { Curves, Sweep, Trial } from "./api";
import type { View } from "./address";
import type { Cell } from "./rows";
import { NULL, parameters } from "./rows";

// A step is one that Back takes back; a part of one, such as a letter of a filter, is not.
export type Change = "step" | "part";

export interface Shown {
  path: string; // Of the sweep, for asking more.
  tick: number; // Rises when there may be more.
  sweep: Sweep;
  all: Trial[];
  byNumber: Map<number, Trial>;
  trials: Trial[]; // Those that the filter leaves, in the table's order.
  visible: Set<number>; // Their numbers.
  isVisible: (trial: number) => boolean; // Also of one that is still to be read, where nothing is filtered out.
  drawn: number[]; // Those that stand out: chosen, and the open one.
  metrics: string[]; // What is reported, the sweep's own first.
  names: string[]; // Of the parameters, those that differ first.
  varying: string[]; // Those that differ; all where none does.
  filter: string;
  options: View["options"];
  set: (options: View["options"], how?: Change) => void;
  open: (trial: number) => void;
  want: Acting["want"];
  addFilter: (parts: string[], without: string) => void; // In place of the tests of the column `without`.
}

// Parameters with more than one value first, each group in the space's order; those that are nothing in every trial are none.
export function parameterNames(trials: Trial[]): { names: string[]; varying: string[] } {
  const first = new Map<string, Cell>();
  const varies = new Set<string>();
  for (const trial of trials) {
    for (const [name, cell] of parameters(trial)) {
      if (!first.has(name)) first.set(name, cell);
      else if (first.get(name) !== cell) varies.add(name);
    }
  }
  const varying = [...first.keys()].filter((n) => varies.has(n));
  const names = [...varying, ...[...first.keys()].filter((n) => !varies.has(n) && first.get(n) !== NULL)];
  return { names, varying: varying.length > 0 ? varying : names };
}

export type CurvesAsked = { value: Curves | null; trouble: string };
