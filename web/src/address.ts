// What is looked at lives in the address, so that it can be kept and sent: #/NAME?filter=...&sort=...

export interface View {
  sweep: string;
  filter: string;
  sort: string; // A column; "-" before it: the largest first.
  trial: number | null;
  chosen: number[];
}

export function readAddress(hash: string): View {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const options = new URLSearchParams(query ?? "");
  const trial = options.get("trial");
  const numbers = (options.get("chosen") ?? "").split(",").filter(Boolean).map(Number).filter(Number.isInteger);
  let sweep = "";
  try {
    sweep = decodeURIComponent(path);
  } catch {
    // An address that somebody mistyped: the latest sweep.
  }
  return {
    sweep,
    filter: options.get("filter") ?? "",
    sort: options.get("sort") ?? "",
    trial: trial === null || !/^\d+$/.test(trial) ? null : Number(trial),
    chosen: numbers,
  };
}

export function writeAddress(view: View): string {
  const options = new URLSearchParams();
  if (view.filter) options.set("filter", view.filter);
  if (view.sort) options.set("sort", view.sort);
  if (view.trial !== null) options.set("trial", String(view.trial));
  if (view.chosen.length) options.set("chosen", view.chosen.join(","));
  const query = options.toString();
  return "#/" + encodeURIComponent(view.sweep) + (query ? "?" + query : "");
}
