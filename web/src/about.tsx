// What a person wrote to the sweep, where it comes from, and its space file.
import { useState } from "preact/hooks";
import { act, ask, Refused, type Sweep, type Tags } from "./api";
import { tagText } from "./sweeps";
import { bytes } from "./trial";
import type { Shown } from "./view";

const lines = (tags: Tags) => Object.entries(tags).map(([key, value]) => tagText(key, value)).join("\n");

// As JSON, lists of plain values on one line.
const specText = (spec: object) =>
  JSON.stringify(spec, null, 2).replace(/\[\n\s*([^[\]{}]*?)\n\s*\]/g, (_, inner: string) => `[${inner.replace(/\n\s*/g, " ")}]`);

// A text for the mistake, where there is one. A line that was not touched means the tag as it is, also with spaces at its ends.
function tagsOf(text: string, before: Tags): Tags | string {
  const known = new Map(Object.entries(before).map((tag) => [tagText(...tag), tag]));
  const tags: Tags = {};
  for (const line of text.split("\n").filter((l) => l.trim())) {
    const [name, ...value] = line.split("=");
    const [key, meant] = known.get(line) ?? [name.trim(), value.join("=").trim()];
    if (key in tags) return `tag: read ${key} twice, expected it once`;
    tags[key] = meant;
  }
  return tags;
}

type Written = Pick<Sweep, "note" | "tags">;

interface Change {
  note?: string;
  tags?: Tags;
  untag?: string[];
}

// What the person has changed of what the form began with. What others write meanwhile stays.
function changeOf(begun: Written, wanted: Written): Change {
  const tags = Object.fromEntries(Object.entries(wanted.tags).filter(([key, value]) => begun.tags[key] !== value));
  const untag = Object.keys(begun.tags).filter((key) => !(key in wanted.tags));
  return {
    ...(wanted.note !== begun.note ? { note: wanted.note } : {}),
    ...(Object.keys(tags).length > 0 ? { tags } : {}), ...(untag.length > 0 ? { untag } : {}),
  };
}

// The keys of tags that others have changed since the form was opened, and this change would change, too, to something else.
const keysInConflict = (change: Change, begun: Written, now: Written): string[] =>
  [...Object.keys(change.tags ?? {}), ...(change.untag ?? [])].filter((key) => now.tags[key] !== begun.tags[key] && now.tags[key] !== change.tags?.[key]);

const noteInConflict = (change: Change, begun: Written, now: Written): boolean =>
  change.note !== undefined && now.note !== begun.note && now.note !== change.note;

// What stands in a form that is left without saving, by the sweep's address.
const drafts = new Map<string, { begun: Written; note: string; tags: string }>();

function Editor({ sweep, path, onDone }: { sweep: Sweep; path: string; onDone: () => void }) {
  const [draft, setDraft] = useState(drafts.get(path) ?? { begun: { note: sweep.note, tags: sweep.tags }, note: sweep.note, tags: lines(sweep.tags) });
  const [trouble, setTrouble] = useState("");
  const type = (part: Partial<typeof draft>) => {
    drafts.set(path, { ...draft, ...part });
    setDraft({ ...draft, ...part });
  };
  const leave = () => {
    drafts.delete(path);
    onDone();
  };
  const save = async (e: Event) => {
    e.preventDefault();
    const tags = tagsOf(draft.tags, draft.begun.tags);
    if (typeof tags === "string") return setTrouble(tags);
    const change = changeOf(draft.begun, { note: draft.note, tags });
    if (Object.keys(change).length === 0) return leave();
    try {
      const now = await ask<Sweep>(path);
      const keys = keysInConflict(change, draft.begun, now);
      const isNote = noteInConflict(change, draft.begun, now);
      if (keys.length > 0 || isNote) {
        // Now that it is known it may be replaced; what else others wrote stays.
        const known = { ...draft.begun.tags };
        for (const key of keys) if (key in now.tags) known[key] = now.tags[key]; else delete known[key];
        type({ begun: { note: now.note, tags: known } });
        const told = [...(isNote ? [now.note || "(no note)"] : []), ...keys.map((key) => (key in now.tags ? `tag ${tagText(key, now.tags[key])}` : `no tag ${key}`))];
        return setTrouble(`Meanwhile somebody wrote: ${told.join("\n")}\nSave again to put yours in its place.`);
      }
      const untag = change.untag?.filter((key) => key in now.tags) ?? [];
      const { untag: _, ...rest } = change;
      const left: Change = untag.length > 0 ? { ...rest, untag } : rest;
      if (Object.keys(left).length > 0) await act(path, { note: left });
      leave();
    } catch (error) {
      setTrouble(error instanceof Refused ? error.message : "The page's server does not answer; it is not known whether this was written.");
    }
  };
  return (
    <form onSubmit={save}>
      <label>Note<textarea rows={4} value={draft.note} maxLength={10000} onInput={(e) => type({ note: e.currentTarget.value })} /></label>
      <label>Tags, one a line: <code>team=vision</code><textarea rows={3} value={draft.tags} onInput={(e) => type({ tags: e.currentTarget.value })} /></label>
      {trouble && <p class="doubt written" role="alert">{trouble}</p>}
      <div class="bar"><button type="submit" class="main">Save</button><button type="button" onClick={leave}>Cancel</button></div>
    </form>
  );
}

function Origin({ sweep }: { sweep: Sweep }) {
  const { version, command, host, folder, git, data, files } = sweep.provenance;
  const rows: [string, string | undefined][] = [
    ["command", command], ["folder", folder], ["machine", host], ["tune", version],
    ["code", git && `${git.commit}${git.dirty ? ", with uncommitted changes" : ""}`],
    ["data", data && `${data.folder}: ${data.files} files, ${bytes(data.bytes)}, hash ${data.hash}`],
    ...Object.entries(files ?? {}).map(([path, hash]): [string, string] => [path, `hash ${hash}`]),
  ];
  return <dl>{rows.filter(([, text]) => text).map(([name, text]) => <><dt>{name}</dt><dd>{text}</dd></>)}</dl>;
}

export function AboutView({ shown: view }: { shown: Shown }) {
  const { sweep } = view;
  const [isOpen, setIsOpen] = useState(drafts.has(view.path));
  const spec = specText(sweep.spec);
  return (
    <section aria-label="about" class="view">
      <h2>Note and tags {sweep.may_note && !isOpen && <button onClick={() => setIsOpen(true)}>change</button>}</h2>
      {isOpen ? <Editor key={sweep.name} sweep={sweep} path={view.path} onDone={() => setIsOpen(false)} /> : <>
        {Object.entries(sweep.tags).map(([key, value]) => <span key={key} class="tag">{tagText(key, value)}</span>)}
        {sweep.note && <p class="written">{sweep.note}</p>}
        {!sweep.note && Object.keys(sweep.tags).length === 0 && <p class="empty">Nobody has written anything. {sweep.may_note ? "" : <>From a terminal: <code>tune note</code></>}</p>}
      </>}
      <h2>Where it comes from</h2>
      <Origin sweep={sweep} />
      <h2>Space file <button onClick={() => navigator.clipboard.writeText(spec)}>copy</button></h2>
      <pre class="log" tabIndex={0} aria-label="space file">{spec}</pre>
    </section>
  );
}
