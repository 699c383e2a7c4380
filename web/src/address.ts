// What is looked at lives in the address, so that it can be kept and sent: #/NAME?view=...&filter=...&sort=...

export const VIEWS = ["curves", "parallel", "slice", "contour", "importance", "front", "timeline", "workers", "compare", "about"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface View {
  sweep: string;
  isList: boolean; // All sweeps are shown, and none of them.
  view: ViewName;
  filter: string;
  sort: string; // A column; "-" before it: the largest first.
  trial: number | null;
  chosen: number[];
  hidden: string[]; // Columns that are not shown.
  extra: string[]; // Columns of metrics that are shown: "min:val_loss".
  differ: boolean; // The table has the chosen trials alone, and what differs between them.
  options: { [name: string]: string }; // Of the views: "metric", "colour", "x", "y", "time", "log", "smooth".
}

const LIST = "sweeps";
const OWN = ["view", "filter", "sort", "trial", "chosen", "hidden", "extra", "differ"];

export function readAddress(hash: string): View {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const given = new URLSearchParams(query ?? "");
  const trial = given.get("trial");
  const view = given.get("view") as ViewName;
  let sweep = "";
  try {
    sweep = decodeURIComponent(path);
  } catch {
    // An address that somebody mistyped: the latest sweep.
  }
  return {
    sweep,
    isList: given.get("view") === LIST,
    view: VIEWS.includes(view) ? view : "curves",
    filter: given.get("filter") ?? "",
    sort: given.get("sort") ?? "",
    trial: trial === null || !/^\d+$/.test(trial) ? null : Number(trial),
    chosen: (given.get("chosen") ?? "").split(",").filter(Boolean).map(Number).filter(Number.isInteger),
    extra: (given.get("extra") ?? "").split(",").filter(Boolean),
    differ: given.get("differ") === "1",
    hidden: (given.get("hidden") ?? "").split(",").filter(Boolean),
    options: Object.fromEntries([...given].filter(([name]) => !OWN.includes(name))),
  };
}

export function writeAddress(view: View): string {
  const out = new URLSearchParams();
  if (view.isList) out.set("view", LIST);
  else if (view.view !== "curves") out.set("view", view.view);
  if (view.filter) out.set("filter", view.filter);
  if (view.sort) out.set("sort", view.sort);
  if (view.trial !== null) out.set("trial", String(view.trial));
  if (view.chosen.length) out.set("chosen", view.chosen.join(","));
  if (view.hidden.length) out.set("hidden", view.hidden.join(","));
  if (view.extra.length) out.set("extra", view.extra.join(","));
  if (view.differ) out.set("differ", "1");
  for (const [name, value] of Object.entries(view.options)) if (value) out.set(name, value);
  const query = out.toString();
  return "#/" + encodeURIComponent(view.sweep) + (query ? "?" + query : "");
}
