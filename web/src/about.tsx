// What a person wrote to the sweep, where it comes from, and its space file.
import { useState } from "preact/hooks";
import { act, Refused, type Sweep, type Tags } from "./api";
import { tagText } from "./sweeps";
import { bytes } from "./trial";
import type { Shown } from "./view";

const lines = (tags: Tags) => Object.entries(tags).map(([key, value]) => tagText(key, value)).join("\n");

// As JSON, lists of plain values on one line.
const specText = (spec: object) =>
  JSON.stringify(spec, null, 2).replace(/\[\n\s*([^[\]{}]*?)\n\s*\]/g, (_, inner: string) => `[${inner.replace(/\n\s*/g, " ")}]`);

// A text for the mistake, where there is one.
function tagsOf(text: string): Tags | string {
  const tags: Tags = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const sign = line.indexOf("=");
    const key = sign < 0 ? line : line.slice(0, sign).trim();
    if (key in tags) return `tag: read ${key} twice, expected it once`;
    tags[key] = sign < 0 ? "" : line.slice(sign + 1).trim();
  }
  return tags;
}

// What the person has changed of what the form began with; null: nothing. What others write meanwhile stays.
function changeOf(before: Pick<Sweep, "note" | "tags">, note: string, tags: Tags): { note?: string } | null {
  const added = Object.fromEntries(Object.entries(tags).filter(([key, value]) => before.tags[key] !== value));
  const untag = Object.keys(before.tags).filter((key) => !(key in tags));
  const change = {
    ...(note !== before.note ? { note } : {}), ...(Object.keys(added).length > 0 ? { tags: added } : {}), ...(untag.length > 0 ? { untag } : {}),
  };
  return Object.keys(change).length > 0 ? change : null;
}

function Editor({ sweep, path, onDone }: { sweep: Sweep; path: string; onDone: () => void }) {
  const [note, setNote] = useState(sweep.note);
  const [tags, setTags] = useState(lines(sweep.tags));
  const [trouble, setTrouble] = useState("");
  const [begun, setBegun] = useState({ note: sweep.note, tags: sweep.tags });
  const save = async (e: Event) => {
    e.preventDefault();
    const wanted = tagsOf(tags);
    if (typeof wanted === "string") return setTrouble(wanted);
    const change = changeOf(begun, note, wanted);
    if (!change) return onDone();
    if (change.note !== undefined && sweep.note !== begun.note) {
      setBegun({ ...begun, note: sweep.note });
      return setTrouble(`Meanwhile somebody wrote: ${sweep.note || "(nothing)"}\nSave again to put this note in its place.`);
    }
    try {
      await act(path, { note: change });
      onDone();
    } catch (error) {
      setTrouble(error instanceof Refused ? error.message : "The page's server does not answer; it is not known whether this was written.");
    }
  };
  return (
    <form onSubmit={save}>
      <label>Note<textarea rows={4} value={note} maxLength={10000} onInput={(e) => setNote(e.currentTarget.value)} /></label>
      <label>Tags, one a line: <code>team=vision</code><textarea rows={3} value={tags} onInput={(e) => setTags(e.currentTarget.value)} /></label>
      {trouble && <p class="doubt written" role="alert">{trouble}</p>}
      <div class="bar"><button type="submit" class="main">Save</button><button type="button" onClick={onDone}>Cancel</button></div>
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
  const [isOpen, setIsOpen] = useState(false);
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
