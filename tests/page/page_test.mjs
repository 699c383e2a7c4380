// The page in a real browser: what a person sees of a real sweep, and does with it.
//   node page_test.mjs   (page_test prepares and calls it; TUNE_BIN_DIR, and the packages beside this file's copy)
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const tune = join(process.env.TUNE_BIN_DIR, "tune");
const folder = mkdtempSync(join(tmpdir(), "tune_page_"));
const file = (name, text) => writeFileSync(join(folder, name), text);
const run = (...arguments_) => execFileSync(tune, arguments_, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], timeout: 120000 });
let ui, address, browser;

async function serve() {
  const process_ = spawn(tune, ["ui", "--http", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve) => process_.stdout.once("data", (data) => resolve(String(data))));
  return [process_, /http:\S+/.exec(line)[0]];
}

// A sweep that runs until its test ends, or somebody ends it, with its page.
async function runWithPage(t, limits = "limits: {max_concurrent: 2}", options = [], place = "127.0.0.1:0") {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  writeFileSync(join(own, "space.yaml"), `name: endless
trainable: {command: [sh, p.sh], metrics: {acc: {regex: 'acc: {number}'}}}
metric: acc
mode: max
samples: 4
${limits}
space: {x: {uniform: [0, 1]}}
`);
  writeFileSync(join(own, "p.sh"), "while :; do read x < go; echo acc: 1; done\n"); // Each report waits for somebody to write.
  execFileSync("mkfifo", [join(own, "go")]);
  const process_ = spawn(tune, ["run", "space.yaml", "--ui", "--http", place, ...options], { cwd: own, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => process_.once("exit", resolve));
  const isOpen = place.startsWith("0.");
  const addresses = await new Promise((resolve) => {
    let said = "";
    process_.stderr.on("data", (data) => {
      said += data;
      const found = said.match(/https?:\S+(?=\n)/g) ?? [];
      if (found.length === (isOpen ? 2 : 1)) resolve(found);
    });
  });
  t.after(async () => {
    process_.kill("SIGINT");
    process_.kill("SIGINT");
    await ended;
    rmSync(own, { recursive: true, force: true });
  });
  return { at: addresses[0], viewer: addresses[1], ended, own };
}

// The page may ask to its last moment, and a route of the test's be at an answer then.
const closing = (page) => async () => {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.context().close();
};

async function open(path = "", { at = address, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await page.goto(at);
  // From elsewhere, so that the first thing it shows is what the address says.
  if (path) await page.goto("about:blank");
  if (path) await page.goto(new URL("/" + path, at).href);
  await page.waitForSelector("tbody tr");
  return { page, faults, close: closing(page) };
}

// A page that keeps what is written on its canvases, which is not in the page, and where.
async function openListening(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  await page.addInitScript(() => {
    globalThis.written = [];
    globalThis.places = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
      const { width } = this.measureText(text);
      const left = x - (this.textAlign === "center" ? width / 2 : this.textAlign === "right" ? width : 0);
      globalThis.written.push(text);
      globalThis.places.push({ label: this.canvas.getAttribute("aria-label"), text, left, right: left + width, y });
      return write.call(this, text, x, y, ...rest);
    };
  });
  await page.goto(address);
  await page.goto("about:blank");
  if (path !== "about:blank") await page.goto(new URL("/" + path, address).href);
  return { page, close: closing(page) };
}

// A sweep of this test alone that has run, and ended with this status: what is said of it, beside that it reports acc, more is better.
function sweep(t, name, spec, options = [], status = 0) {
  file(`${name}.yaml`, JSON.stringify({ name, metric: "acc", mode: "max", space: { x: { uniform: [0, 1] } }, ...spec }));
  t.after(() => run("delete", name, "--yes")); // The others look at the latest one.
  const { status: ended } = spawnSync(tune, ["run", `${name}.yaml`, ...options], { cwd: folder, stdio: "ignore", timeout: 120000 });
  assert.equal(ended, status);
}
const curve = (value, iterations) => ({ trainable: { curve: { value, iterations } } });
const printing = (script, ...metrics) => ({
  trainable: { command: ["sh", "-c", script, "trial", "{x}"], metrics: Object.fromEntries(metrics.map((metric) => [metric, { regex: `${metric}: {number}` }])) },
});
const grid = (values) => ({ space: Object.fromEntries(Object.entries(values).map(([name, all]) => [name, { grid_search: all }])), search: { algorithm: "grid" } });
const LOSS = { metric: "loss", mode: "min" };
const TWO = {
  ...printing("for i in 1 3 2; do echo loss: $((9 - $1 * $i)); echo acc: $1$i; done", "acc", "loss"), space: { x: { grid_search: [1, 2, 3] }, kind: { choice: ["same"] } },
};

const texts = (page, selector) => page.locator(selector).allTextContents();
const numbers = (page) => page.locator("tbody button.link").evaluateAll((all) => all.map((b) => parseInt(b.textContent)));
// The first rows are, or become, those of these trials.
const begins = (page, trials) => page.waitForFunction(
  (wanted) => wanted.every((n, i) => parseInt(document.querySelectorAll("tbody button.link")[i]?.textContent) === n), trials);
const rows = (sql) => JSON.parse(run("results", "photographs", "--sql", sql, "--format", "json"));

before(async () => {
  file("space.yaml", `name: photographs
trainable: {curve: {value: "1 - abs(log10(lr) + 2) / 4 - 1 / (t + 1)", iterations: 9}}
metric: val_accuracy
mode: max
seed: 3
samples: 40
space: {lr: {loguniform: [1.0e-4, 1.0e-1]}, kind: {choice: ["<script>document.title = 'broken'</script>", sgd]}}
scheduler: {asha: {max_t: 9, grace_period: 1}}
`);
  run("run", "space.yaml");
  [ui, address] = await serve();
  browser = await chromium.launch({ executablePath: process.env.TUNE_CHROMIUM, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  ui?.kill("SIGINT");
  rmSync(folder, { recursive: true, force: true });
});

test("the best trials stand first, and the best one is named", async () => {
  const { page, faults, close } = await open();
  const best = rows("select number from trials where experiment = :experiment order by best_value desc, number");
  await begins(page, best.slice(0, 5).map((row) => row.number));
  assert.match(await page.textContent(".overview"), new RegExp(`best: trial ${best[0].number}, val_accuracy`));
  assert.equal(await page.title(), "photographs - tune");
  assert.equal(await page.locator(".plot canvas").count(), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("a file of this machine that leads to the page opens it, as tune ui --open does", async () => {
  file("open.html", `<!doctype html><meta http-equiv="refresh" content="0; url=${address}">`);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(pathToFileURL(join(folder, "open.html")).href);
  await page.waitForSelector("tbody tr");
  await closing(page)();
});

test("a click on a column orders by it, a second one the other way", async () => {
  const { page, close } = await open();
  await page.click("th button:text-is('lr')");
  const up = rows("select t.number from trials t join params p on p.trial = t.id where p.name = 'lr' and t.experiment = :experiment order by p.value");
  await begins(page, up.slice(0, 4).map((row) => row.number));
  await page.click("th button:text('lr')");
  await begins(page, up.reverse().slice(0, 4).map((row) => row.number));
  assert.match(page.url(), /sort=-param%3Alr/);
  await close();
});

test("a filter leaves the rows and curves that it says, and its mistakes are told", async () => {
  const { page, close } = await open();
  await page.fill("input[type=search]", "lr<0.001 kind=sgd");
  const { count } = rows("select count() as count from trials where json_extract(config, '$.lr') < 0.001 and json_extract(config, '$.kind') = 'sgd' and experiment = :experiment")[0];
  await page.waitForFunction((n) => document.querySelector("[aria-label=trials] .soft").textContent.startsWith(`${n} shown`), count);
  await page.waitForFunction((n) => document.querySelector("[aria-label=curves] .note").textContent.startsWith(`${n} shown`), count);
  await page.fill("input[type=search]", "lr>9");
  await page.waitForSelector("[aria-label=curves] .empty:text-is('No trial that is shown has reported this.')");
  await page.fill("input[type=search]", "nix=3");
  await page.waitForSelector(".doubt:has-text('there is no column nix; known are trial, status')");
  await page.fill("input[type=search]", "lr<small");
  await page.waitForSelector(".doubt:has-text(\"read 'small', expected a number\")");
  await close();
});

test("letters that are typed while the sweep changes all stay in the filter, which Back takes back as a whole", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(() => {
    globalThis.EventSource = class extends EventSource {
      constructor(...given) {
        super(...given);
        globalThis.events = this;
      }
    };
  });
  await page.goto(address);
  await page.waitForSelector("tbody tr");
  await page.click("[role=tab]:text-is('Slice')");
  await page.click("[role=tab]:text-is('Parallel')");
  const typed = await page.evaluate(async () => {
    const field = document.querySelector("input[type=search]");
    for (const letter of "lr<0.5") {
      field.value += letter;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      globalThis.events.onmessage(new MessageEvent("message")); // The database has changed.
      for (let i = 0; i < 9; ++i) await null; // The page is drawn anew.
    }
    return field.value;
  });
  assert.equal(typed, "lr<0.5");
  await page.waitForFunction(() => location.hash.includes("filter=lr%3C0.5"));
  await page.goBack();
  await page.waitForSelector("[role=tab][aria-selected=true]:text-is('Slice')");
  assert.equal(await page.inputValue("input[type=search]"), "");
  await closing(page)();
});

test("a filter takes names and words in quotation marks, spaces around its signs, and marks within a word", async (t) => {
  const odd = 'say "hi" 5"';
  sweep(t, "quoted", { ...curve("1 - 1 / (t + 1)", 2), ...grid({ "the kind": ["plain", odd, "two words"], n: [1] }) });
  const { page, close } = await open("#/quoted");
  const leaves = async (filter, trials) => {
    await page.fill("input[type=search]", filter);
    await page.waitForFunction((wanted) => {
      const seen = [...document.querySelectorAll("[aria-label=trials] tbody button.link")].map((b) => parseInt(b.textContent)).sort();
      return JSON.stringify(seen) === JSON.stringify(wanted) && !document.querySelector(".top .doubt");
    }, trials);
  };
  await leaves('"ended by"=="completed"', [0, 1, 2]);
  await leaves('"ended by" == max_t', []);
  await leaves('"the kind" = "two words"', [2]);
  await leaves('"the kind"!="two words" n >= 1', [0, 1]);
  await leaves('"two words"', [2]);
  await leaves('5"', [1]);
  await leaves(JSON.stringify('say "hi"'), [1]);
  await page.fill("input[type=search]", 'plain "say');
  await page.waitForSelector(".top .doubt:has-text('\"say: the quotation mark is not closed')");
  await leaves("", [0, 1, 2]);
  await page.click("[role=tab]:text-is('Parallel')");
  await painted(page, "parallel coordinates");
  const box = await page.locator("[aria-label='parallel coordinates']").boundingBox();
  await page.mouse.click(box.x + 70, box.y + 320); // The lowest word of the first axis.
  await page.waitForFunction(() => document.querySelector("input[type=search]").value === '"the kind"=plain');
  await leaves('"the kind"=plain', [0]);
  await close();
});

test("a filter takes a number as the table shows it, and a value that is no number is told", async (t) => {
  sweep(t, "shown", { ...printing("echo acc: $1; echo acc: nan", "acc"), ...grid({ x: [0.123456789, 0.5] }) });
  const { page, close } = await open("#/shown?trial=0");
  await page.waitForSelector("aside dd:has-text('0.123457 at iteration 1; last no number')");
  await page.fill("input[type=search]", "x=0.123457 last=\"no number\"");
  await begins(page, [0]);
  await page.waitForSelector("[aria-label=trials] .soft:has-text('1 shown')");
  await close();
});

test("an axis is written with few digits, and its texts do not lie over each other", async (t) => {
  const name = "a parameter with a name that is far longer than any picture is wide, so that it must be cut at its end";
  sweep(t, "axes", { ...curve("1 - 1 / (t + 1)", 2), space: { [name]: { randint: [0, 100000000] }, lr: { loguniform: [0.0101, 0.0799] }, nothing: null }, samples: 12, seed: 1 });
  for (const view of ["slice", "parallel"]) {
    const { page, close } = await openListening(`#/axes?view=${view}`);
    await page.waitForFunction(() => globalThis.written.some((text) => /^(0\.02|0\.05)$/.test(text)));
    // Of what was painted more than once the last time counts.
    const { places, written } = await page.evaluate(() => ({
      places: [...new Map(globalThis.places.map((place) => [`${place.label} ${place.text} ${place.y}`, place])).values()], written: globalThis.written,
    }));
    assert.ok(!written.includes("nothing"), view);
    assert.ok(written.some((text) => /^\d(\.\d)?e\+7$/.test(text)), String(written));
    for (const one of places) {
      for (const other of places) {
        const over = one !== other && one.label === other.label && one.text !== other.text && Math.abs(one.y - other.y) < 8 && one.left < other.right && other.left < one.right;
        assert.ok(!over, `${view}: ${one.text} lies over ${other.text}`);
      }
    }
    await close();
  }
});

test("words of an axis stand in the order of the space file", async (t) => {
  sweep(t, "sizes", { ...curve("1 - 1 / (t + 1)", 2), space: { size: { ordinal: ["small", "medium", "large"] }, x: { uniform: [0, 1] } }, samples: 12, seed: 1 });
  const { page, close } = await openListening("#/sizes?view=slice");
  await page.waitForFunction(() => globalThis.written.includes("large"));
  const left = await page.evaluate(() => ["small", "medium", "large"].map((word) => globalThis.places.find((place) => place.text === word).left));
  assert.deepEqual([...left].sort((a, b) => a - b), left);
  await page.goto("about:blank");
  await page.goto(new URL("/#/sizes?colour=size", address).href);
  await page.waitForSelector("[aria-label=colours]");
  assert.match(await page.textContent("[aria-label=colours]"), /size\s+small\s+medium\s+large/);
  await close();
});

test("the largest number that there is presses no others flat in the slice", async (t) => {
  sweep(t, "largest", { ...printing("echo loss: $1", "loss"), ...grid({ x: ["1.7976931348623157e308", "1", "2", "3"] }), ...LOSS });
  const { page, close } = await openListening("#/largest?view=slice");
  await page.waitForSelector("[aria-label=slice] .soft:has-text('1 far beyond the others left out')");
  await page.waitForFunction(() => globalThis.places.some((place) => place.label === "loss over x" && place.text === "2" && place.right < 56)); // Of the axis of the values.
  await close();
});

test("a slice says how many parameters have no picture", async (t) => {
  const space = Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`x${i}`, { uniform: [0, 1] }]));
  sweep(t, "manifold", { ...curve("x0", 1), space, samples: 3 });
  const { page, close } = await open("#/manifold?view=slice");
  await page.waitForSelector("[aria-label=slice] .soft:has-text('; 2 more parameters have no picture')");
  assert.equal(await page.locator("[aria-label=slice] canvas").count(), 24);
  await close();
});

test("null is a value like others, and trials that lack a parameter are counted beside its slice", async (t) => {
  const space = { kind: { choice: ["a", "b"] }, depth: { choice: [null, 5, 10] }, beta: { uniform: [0, 1], when: { kind: "a" } } };
  sweep(t, "nulls", { ...curve("1 - 1 / (t + 1)", 2), space, samples: 12, seed: 1 });
  const count = (what) => JSON.parse(run("results", "nulls", "--sql", `select count() as count from trials where json_type(config, ${what} and experiment = :experiment`, "--format", "json"))[0].count;
  const { page, close } = await openListening("#/nulls?view=slice");
  await page.waitForFunction(() => globalThis.places.some((place) => place.label === "acc over depth" && place.text === "null"));
  await page.waitForSelector(`figcaption:text-is('acc over beta; ${count("'$.beta') is null")} without a place on this axis')`);
  await page.fill("input[type=search]", "depth=null");
  await page.waitForSelector(`[aria-label=trials] .soft:text-matches('^${count("'$.depth') = 'null'")} shown')`);
  await close();
});

test("what a killed tuner left is shown up to its last report", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  t.after(() => rmSync(own, { recursive: true, force: true }));
  writeFileSync(join(own, "space.yaml"), "name: killed\nmetric: loss\nmode: min\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\ntrainable: {curve: {value: x, iterations: 1000, seconds: 0.05}}\n");
  const tuner = spawn(tune, ["run", "space.yaml"], { cwd: own, stdio: "ignore" });
  const ended = new Promise((resolve) => tuner.once("exit", resolve));
  const rowsOf = (sql) => { try { return JSON.parse(execFileSync(tune, ["results", "--sql", sql, "--format", "json"], { cwd: own, stdio: ["ignore", "pipe", "ignore"] })); } catch { return []; } };
  while ((rowsOf("select iterations from trials")[0]?.iterations ?? 0) < 5) await new Promise((resolve) => setTimeout(resolve, 50));
  tuner.kill("SIGKILL");
  await ended;
  const process_ = spawn(tune, ["ui", "--http", "127.0.0.1:0"], { cwd: own, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => process_.kill("SIGINT"));
  const line = await new Promise((resolve) => process_.stdout.once("data", (data) => resolve(String(data))));
  const { page, close } = await open("#/killed?view=timeline", { at: /http:\S+/.exec(line)[0] });
  await page.waitForSelector("[aria-label=timeline] .legend:has-text('interrupted 1')");
  const { ran } = rowsOf("select (julianday(max(reported_at)) - julianday(min(a.started_at))) * 86400 as ran from reports, attempts a")[0];
  const at = (await texts(page, "[aria-label=trials] th")).findIndex((title) => title.startsWith("seconds"));
  const told = Number(await page.textContent(`[aria-label=trials] tbody tr td:nth-child(${at + 1})`));
  assert.ok(Math.abs(told - ran) < 0.01, `${told} and ${ran}`);
  await close();
});

test("a worker that is killed under a running sweep is told, and its trial goes on elsewhere, seen in each view", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  writeFileSync(join(own, "space.yaml"), "name: spread\nmetric: loss\nmode: min\nsamples: 4\nlimits: {lease: 2s, max_concurrent: 2}\nfailure: {lost: 5}\n"
    + "space: {x: {uniform: [0, 1]}, k: {choice: [a, b]}}\nresources: {cpu: 1}\ntrainable: {curve: {value: 'x / t', iterations: 100000, seconds: 0.02}}\n");
  const tuner = spawn(tune, ["run", "space.yaml", "--cpus", "1", "--listen", "127.0.0.1:0", "--ui", "--http", "127.0.0.1:0"], { cwd: own, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => tuner.once("exit", resolve));
  t.after(async () => { tuner.kill("SIGINT"); tuner.kill("SIGINT"); await ended; rmSync(own, { recursive: true, force: true }); });
  const [at, join_] = await new Promise((resolve) => {
    let said = "";
    tuner.stderr.on("data", (data) => {
      said += data;
      const page = /the page of .*: (http:\S+)/.exec(said), worker = /workers join with: tune (worker .*)\n/.exec(said);
      if (page && worker) resolve([page[1], worker[1].split(" ")]);
    });
  });
  const worker = spawn(tune, [...join_, "--name", "far", "--cpus", "1", "--cache", join(own, "cache")], { cwd: own, stdio: "ignore" });
  const workerEnded = new Promise((resolve) => worker.once("exit", resolve));
  const { page, faults, close } = await open("#/spread?view=workers", { at });
  await page.waitForSelector("article[aria-label='worker far']:has-text('alive'):has-text('heard of'):has-text('1 of 1 CPUs')");
  worker.kill("SIGKILL");
  await workerEnded;
  await page.waitForSelector("[aria-label=workers] td:text-is('far') ~ td:text-is('lost')", { timeout: 60000 });
  await page.click("[role=tab]:text-is('Timeline')");
  await page.waitForSelector("[aria-label=timeline] .legend:has-text('lost 1')");
  for (const tab of ["Curves", "Parallel", "Slice", "Contour", "Importance", "Compare", "About"]) {
    await page.click(`[role=tab]:text-is('${tab}')`);
    await page.waitForSelector(`section[aria-label=${tab.toLowerCase()}]`);
  }
  await page.waitForSelector(".overview .status:text-is('RUNNING')");
  const [{ trial }] = JSON.parse(execFileSync(tune, ["results", "--sql", "select t.number as trial from attempts a join trials t on t.id = a.trial where a.outcome = 'lost'", "--format", "json"], { cwd: own }));
  await page.click(`tbody button.link:text-matches('^${trial}( |$)')`);
  await page.waitForSelector("aside li:has-text('on far: lost')");
  assert.deepEqual(faults, []);
  await close();
});

test("a menu closes by Escape and by a click beside it, a trial by Escape, and Home and End lead to the ends of the tabs", async () => {
  const { page, close } = await open("#/photographs?trial=3");
  const isOpen = () => page.evaluate(() => document.querySelector("details.menu").open);
  await page.click(".menu summary");
  assert.ok(await isOpen());
  await page.keyboard.press("Escape");
  assert.ok(!(await isOpen()));
  await page.click(".menu summary");
  await page.click("h1");
  assert.ok(!(await isOpen()));
  await page.click("[role=tab]:text-is('Curves')");
  await page.keyboard.press("End");
  await page.waitForSelector("[aria-label=about]");
  await page.keyboard.press("Home");
  await page.waitForSelector("[aria-label=curves]");
  await page.focus("aside button");
  await page.keyboard.press("Escape");
  await page.waitForSelector("aside", { state: "detached" });
  await close();
});

test("where all end nothing is cut off", async () => {
  const { page, close } = await open();
  await page.waitForSelector("[aria-label=curves] .note:has-text('bars are the latest cutoffs')");
  assert.doesNotMatch(await page.textContent("[aria-label=curves] .note"), / at 9\b/); // max_t.
  await close();
});

test("a filter takes the sweep's own metric by its full name, and a nested parameter with a point", async (t) => {
  sweep(t, "nested", { ...curve("1 - 1 / (t + 1)", 2), space: { sgd: { nesterov: { grid_search: [true, false] } } }, search: { algorithm: "grid" } });
  const { page, close } = await open("#/nested");
  for (const [filter, trials] of [["sgd.nesterov=true last(acc)>0", [0]], ["sgd/nesterov=false", [1]], ["last(acc)>1", []]]) {
    await page.fill("input[type=search]", filter);
    await page.waitForFunction((wanted) =>
      JSON.stringify([...document.querySelectorAll("[aria-label=trials] tbody button.link")].map((b) => parseInt(b.textContent))) === JSON.stringify(wanted) && !document.querySelector(".top .doubt"), trials);
  }
  await close();
});

test("a trial that is not there is told", async () => {
  const { page, close } = await open("#/photographs?trial=99999");
  await page.waitForSelector("[role=status]:has-text('There is no trial 99999 in photographs')");
  await page.click("[role=status] button");
  await page.waitForFunction(() => !location.hash.includes("trial="));
  await page.waitForSelector("[role=status]:has-text('no trial')", { state: "detached" });
  await close();
});

test("under a filter curves tell how many of its trials are left out", async () => {
  const { page, close } = await open();
  // As of a sweep so large that most curves are left out.
  await page.route(/\/curves$/, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, curves: answer.curves.slice(0, 2), left_out: answer.curves.length - 2 } });
  });
  await page.reload();
  await page.waitForSelector("[aria-label=curves] .note:has-text('40 shown')"); // Those of so few are asked for by name.
  await page.route(/\/curves\?trials=/, (route) => route.fulfill({ json: { metric: "val_accuracy", curves: [], left_out: 0, stride: 1 } }));
  await page.reload();
  await page.waitForSelector("[aria-label=curves] .note:has-text('2 shown, 38 of very many left out')");
  await page.fill("input[type=search]", "trial<5");
  await page.waitForSelector("[aria-label=curves] .note:has-text('2 shown, 3 of very many left out')");
  await close();
});

test("iterations stand at whole numbers", async (t) => {
  sweep(t, "short", { ...curve("1 - x / (t + 1)", 3), samples: 2 });
  const { page, close } = await openListening("#/short?trial=0");
  await page.waitForSelector("aside canvas");
  await page.waitForSelector(".plot canvas");
  await page.waitForFunction(() => globalThis.written.filter((text) => text === "2").length >= 2); // Of both drawings.
  assert.deepEqual(await page.evaluate(() => globalThis.written.filter((text) => /^[123]\.\d+$/.test(text))), []);
  await close();
});

test("each time of the best value's axis is told from the next", async () => {
  const { page, close } = await openListening("about:blank");
  const begin = Date.parse("2026-01-01T00:00:00.000Z");
  const at = (ms) => new Date(begin + ms).toISOString();
  await page.route(/\/sweeps\/photographs$/, async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), created_at: at(0), finished_at: at(300) } }));
  await page.route(/\/photographs\/course$/, async (route) => route.fulfill({ json: {
    ...(await (await route.fetch()).json()), best: [20, 120, 290].map((ms, i) => ({ at: at(ms), trial: i, iteration: 1, value: i })),
  } }));
  await page.goto(new URL("/#/photographs", address).href);
  await page.waitForSelector(".best-so-far canvas");
  await page.waitForFunction(() => globalThis.written.some((text) => /^\S+ m?s$/.test(text)));
  const times = await page.evaluate(() => globalThis.written.filter((text) => /^\S+ (ms|s|min)$/.test(text)));
  assert.ok(times.includes("50 ms") && times.includes("100 ms") && times.includes("150 ms"), times.join());
  await close();
});

// The page with such values as the steps of the best one, and what is written on its axes.
async function withBest(values) {
  const listening = await openListening("about:blank");
  await listening.page.route(/\/photographs\/course$/, async (route) => route.fulfill({ json: {
    ...(await (await route.fetch()).json()), best: values.map((value, i) => ({ at: new Date(Date.now() - 1000 * (values.length - i)).toISOString(), trial: i, iteration: 1, value })),
  } }));
  await listening.page.goto(new URL("/#/photographs", address).href);
  await listening.page.waitForSelector(".best-so-far canvas");
  return { ...listening, written: () => listening.page.evaluate(() => globalThis.written) };
}

for (const far of [1e300, -1e300, 1e9]) {
  test(`a first value of ${far} leaves the axis of the best value to those that follow, and is told`, async () => {
    const { page, close, written } = await withBest([far, 0.5, 0.4, 0.3]);
    await page.waitForSelector(`.best-so-far figcaption:has-text('1 value beyond the axis: ${far}')`);
    await page.waitForFunction(() => globalThis.written.includes("0.4"));
    assert.ok(!(await written()).some((text) => /e\+/.test(text)));
    await close();
  });
}

test("ticks at large values are short", async () => {
  const { page, close, written } = await withBest([1e12, 1.5e12, 2e12]);
  await page.waitForFunction(() => globalThis.written.some((text) => /^\d(\.\d)?e\+12$/.test(text)));
  assert.ok(!(await written()).some((text) => text.includes("000,000")));
  await close();
});

test("curves of the largest and least values have an axis, and those without a value that can be drawn are counted", async (t) => {
  sweep(t, "far", { ...printing("for i in 1 2; do echo loss: $1; done", "loss"), ...grid({ x: ["1e300", "1e-300", "5", "nan"] }), ...LOSS });
  const { page, close } = await openListening("#/far");
  await page.waitForSelector("[aria-label=curves] .note:has-text('3 shown, 1 have nothing that can be drawn, 2 values beyond the axis: 1e+300')");
  await page.waitForFunction(() => globalThis.written.includes("5"));
  assert.ok(!(await page.evaluate(() => globalThis.written)).some((text) => /e\+(299|300)/.test(text)));
  await page.check("[aria-label=curves] label:has-text('log axis') input");
  await page.waitForFunction(() => globalThis.written.some((text) => /^1e-\d+$/.test(text)) && globalThis.written.some((text) => /^1e\+\d+$/.test(text)));
  await page.click("[role=tab]:text-is('Slice')");
  await page.waitForSelector("[aria-label=slice]:has-text('1 left out have no value')");
  await close();
});

test("the box of a slice's axis says what is drawn, and chooses it", async (t) => {
  sweep(t, "apart", { ...curve("10 ^ x", 1), ...grid({ x: [0, 2, 4] }), ...LOSS });
  const { page, close } = await open("#/apart?view=slice");
  const box = "[aria-label=slice] label:has-text('log axis') input";
  await page.waitForSelector(box + ":checked");
  await page.click(box);
  await page.waitForSelector(box + ":not(:checked)");
  assert.match(page.url(), /log=n/);
  await page.click(box);
  await page.waitForSelector(box + ":checked");
  await close();
});

test("a contour has a band for each word, as nothing lies between two of them", async (t) => {
  sweep(t, "bands", { ...curve("k", 1), ...grid({ x: [0, 1], k: [0, 1] }) });
  const { page, close } = await open("#/bands?view=contour&x=x&y=k");
  await painted(page, "acc over x and k");
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector("canvas[aria-label='acc over x and k']");
    const at = (share) => [...canvas.getContext("2d").getImageData(Math.round(canvas.width / 4), Math.round(canvas.height * share), 1, 1).data].join();
    return [0.2, 0.35, 0.55, 0.75].map(at);
  });
  assert.equal(colours[0], colours[1]);
  assert.equal(colours[2], colours[3]);
  assert.notEqual(colours[1], colours[2]);
  await close();
});

test("where trials were stopped early, slice and contour compare them at one iteration", async () => {
  const { page, close } = await open("#/photographs?view=slice");
  const [{ count }] = rows("select count() as count from trials where iterations >= 2 and experiment = :experiment");
  await page.route(/\/photographs\/compared$/, (route) => route.fulfill({ json: { is_behind: false, iteration: 2, rows: Array.from({ length: count }, (_, i) => [i, i]) } }));
  for (const view of ["Contour", "Slice"]) {
    await page.click(`[role=tab]:text-is('${view}')`);
    await page.waitForSelector(`[aria-label=${view.toLowerCase()}]:has-text('compared at iteration 2, since the scheduler stopped some early; ${40 - count} left out did not come so far')`);
  }
  await close();
});

test("the timeline counts as the overview does what was stopped early", async () => {
  const { page, close } = await open("#/photographs?view=timeline");
  const [{ early, whole }] = rows("select sum(stop_reason = 'scheduler') as early, sum(stop_reason = 'max_t') as whole from trials where experiment = :experiment");
  await page.waitForSelector(`.overview:has-text('${early} stopped early')`);
  await page.waitForSelector(`.legend:has-text('stopped early ${early}')`);
  if (whole > 0) await page.waitForSelector(`.legend:has-text('stopped at max_t ${whole}')`);
  await close();
});

test("on a phone no text of timeline and parallel coordinates lies over another", async (t) => {
  const names = ["momentum", "learning_rate", "batch_size", "optimizer", "nesterov", "weight_decay", "warmup"];
  sweep(t, "phone", { ...curve("1 - 1 / (t + 1)", 2), metric: "val_accuracy", samples: 5, space: Object.fromEntries(names.map((name) => [name, { uniform: [0.001234, 0.98765] }])) });
  for (const [view, label] of [["timeline", "attempts by worker"], ["parallel", "parallel coordinates"]]) {
    const { page, close } = await openListening("about:blank", { viewport: { width: 390, height: 800 } });
    await page.route(/\/phone\/timeline$/, async (route) => {
      const answer = await (await route.fetch()).json();
      const at = (name) => answer.attempts.columns.indexOf(name);
      answer.attempts.rows.forEach((row, i) => { row[at("started")] = 1e12 + 50 * i; row[at("finished")] = 1e12 + 50 * i + 80; });
      await route.fulfill({ json: answer });
    });
    await page.goto(new URL(`/#/phone?view=${view}`, address).href);
    await page.waitForSelector("tbody tr");
    await painted(page, label);
    // Of the last drawing alone.
    await page.evaluate(() => { globalThis.places = []; dispatchEvent(new Event("resize")); });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction((name) => globalThis.places.some((p) => p.label === name), label);
    const over = await page.evaluate((name) => {
      const texts = [...new Map(globalThis.places.filter((p) => p.label === name).map((p) => [[p.text, p.left, p.y].join(), p])).values()].sort((a, b) => a.left - b.left);
      return texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => b.y === a.y && b.left < a.right).map((b) => `${a.text} | ${b.text}`));
    }, label);
    assert.deepEqual(over, [], view);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    await close();
  }
});

test("of two objectives both stand in the table, and no trial is called the best", async (t) => {
  sweep(t, "pair", {
    trainable: { curve: { values: { acc: "x - 1 / (t + 1)", cost: "10 * x" }, iterations: 2 } }, metric: ["acc", "cost"], mode: ["max", "min"], ...grid({ x: [1, 2, 3] }),
  });
  run("report", "pair", "--html", "pair.html");
  for (const at of [address, "file://" + join(folder, "pair.html")]) {
    const { page, close } = at === address ? await open("#/pair") : await open("", { at });
    await page.click("th button:text-is('last(cost)')");
    await begins(page, [0, 1, 2]);
    await page.waitForSelector("tbody tr:has(button.link:text-is('2')) td.number:text-is('30')");
    assert.equal(await page.locator("tr.best").count(), 0);
    await page.click("summary:has-text('columns')");
    await page.uncheck(".menu label:has-text('last(cost)') input");
    await page.waitForSelector("th button:text('last(cost)')", { state: "detached" });
    await close();
  }
});

test("a contour is weighed from all kinds of trials, also of many", async (t) => {
  sweep(t, "many", { ...curve("1 - x - 1 / (t + 1)", 1), samples: 1300, space: { x: { uniform: [0, 1] }, y: { uniform: [0, 1] } } }, ["--cpus", "8"]);
  const { page, close } = await open("#/many?view=contour");
  await page.waitForSelector("[aria-label=contour]:has-text('as 600 trials out of 1300')");
  await painted(page, "acc over x and y");
  // The right half is of the worst trials: it is dark, the left one is light.
  const light = await page.evaluate(() => {
    const canvas = document.querySelector("canvas[aria-label='acc over x and y']");
    const at = (share) => canvas.getContext("2d").getImageData(Math.round(canvas.width * share), Math.round(canvas.height / 2), 20, 20).data;
    const median = (data) => [...data].filter((_, i) => i % 4 === 0).sort((a, b) => a - b)[200]; // Of red.
    return [median(at(0.12)), median(at(0.92))];
  });
  assert.ok(light[0] > 130 && light[1] < 80, String(light));
  await close();
});

test("a trial opens with why it ended, and the address brings it back", async () => {
  const { page, close } = await open();
  const { number } = rows("select number from trials where stop_reason = 'scheduler' and experiment = :experiment order by best_value desc, number limit 1")[0];
  await page.click(`tbody button.link:text-matches('^${number}\\\\b')`);
  await page.waitForSelector(`aside[aria-label='trial ${number}'] li:has-text('stop at rung')`);
  const again = await open(new URL(page.url()).hash);
  await again.page.waitForSelector(`aside[aria-label='trial ${number}']`);
  await again.page.click("aside [aria-label=close]");
  await again.page.waitForSelector("aside", { state: "detached" });
  await again.close();
  await close();
});

test("a trial tells whether it keeps the limits, and nothing of limits where its sweep has none", async (t) => {
  const limits = async (name) => {
    const { page, close } = await open(`#/${name}?trial=0`);
    await page.waitForSelector("aside dt:text-is('began')");
    const told = await page.locator("aside dt:text-is('limits') + dd").allTextContents();
    await close();
    return told;
  };
  assert.deepEqual(await limits("photographs"), []);
  for (const [limit, told] of [[10, "kept"], [8, "broken, by 0.25"]]) {
    const name = `limited_${limit}`;
    sweep(t, name, { ...printing("echo acc: $1 ms: $((10 * $1))", "acc", "ms"), ...grid({ x: [1] }), feasible: [`ms <= ${limit}`] });
    assert.deepEqual(await limits(name), [told]);
  }
});

test("of a sweep with limits the trials that keep them stand first, and a cutoff that is a violation is told as one", async (t) => {
  sweep(t, "limits", {
    ...printing("for i in 1 2; do echo acc: $1 ms: $((10 * $1)); done", "acc", "ms"), ...grid({ x: [3, 4, 2, 1] }), feasible: ["ms <= 20"],
    scheduler: { asha: { max_t: 2, grace_period: 1, reduction_factor: 2 } }, limits: { max_concurrent: 1 },
  });
  const { page, close } = await open("#/limits?trial=1");
  await begins(page, [2, 3, 0, 1]);
  await page.waitForSelector("aside li:has-text('cutoff a violation of 0.5')");
  await page.click("thead button:text-matches('^acc')");
  await begins(page, [3, 2, 0, 1]); // By the values alone, where somebody asks for it.
  await close();
});

const painted = (page, label) => page.waitForFunction((name) => {
  const canvas = document.querySelector(`canvas[aria-label='${name}']`);
  return canvas?.width > 0 && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0);
}, label);

test("each view draws the sweep, and stands in the address", async () => {
  const { page, faults, close } = await open();
  for (const [tab, label] of [["Parallel", "parallel coordinates"], ["Slice", "val_accuracy over lr"],
    ["Contour", "val_accuracy over lr and kind"], ["Timeline", "attempts by worker"]]) {
    await page.click(`[role=tab]:text-is('${tab}')`);
    await painted(page, label);
    assert.match(page.url(), new RegExp("view=" + tab.toLowerCase()));
  }
  await page.click("[role=tab]:text-is('Importance')");
  await page.waitForSelector(".bars td:text-is('lr')");
  assert.equal(await page.locator("[role=tab]:text-is('Front')").count(), 0); // One objective has none.
  assert.deepEqual(faults, []);
  await close();
});

test("dragging along an axis of the parallel coordinates filters the table, a click on a word too", async () => {
  const { page, close } = await open("#/photographs?view=parallel");
  await painted(page, "parallel coordinates");
  const box = await page.locator("[aria-label='parallel coordinates']").boundingBox();
  await page.mouse.move(box.x + 70, box.y + 20); // Above the axis: no upper end.
  await page.mouse.down();
  await page.mouse.move(box.x + 70, box.y + 180);
  await page.mouse.up();
  await page.waitForFunction(() => /^lr>=0\.00\d+/.test(document.querySelector("input[type=search]").value));
  const low = Number(/lr>=([\d.e-]+)/.exec(await page.inputValue("input[type=search]"))[1]);
  const { count } = rows(`select count() as count from trials where json_extract(config, '$.lr') >= ${low} and experiment = :experiment`)[0];
  await page.waitForFunction((n) => document.querySelector("[aria-label=trials] .soft").textContent.startsWith(`${n} shown`), count);
  await page.mouse.click(box.x + box.width / 2, box.y + 320); // The lowest word of the middle axis.
  await page.waitForFunction(() => /lr>=\S+ kind=/.test(document.querySelector("input[type=search]").value));
  await close();
});

test("a drag that ends beside the picture counts, on an axis of the parallel coordinates and in the timeline", async () => {
  const { page, close } = await open("#/photographs?view=parallel");
  const drag = async (label, from, to) => {
    await painted(page, label);
    const box = await page.locator(`[aria-label='${label}']`).boundingBox();
    await page.mouse.move(box.x + from(box).x, box.y + from(box).y);
    await page.mouse.down();
    await page.mouse.move(box.x + to(box).x, box.y + to(box).y);
    await page.mouse.up();
  };
  await drag("parallel coordinates", () => ({ x: 70, y: 180 }), () => ({ x: 70, y: -15 }));
  await page.waitForFunction(() => /^lr>=\S+$/.test(document.querySelector("input[type=search]").value));
  await page.fill("input[type=search]", "");
  await page.click("[role=tab]:text-is('Timeline')");
  await drag("attempts by worker", ({ width }) => ({ x: width / 2, y: 5 }), ({ width }) => ({ x: width + 6, y: 5 }));
  await page.waitForSelector("button:text-is('whole time')");
  await close();
});

test("a parameter that is called as a column is filtered by its own name, on its axis and in the filter", async (t) => {
  sweep(t, "named", { ...curve("x", 1), ...grid({ iterations: [100, 300, 500], acc: ["high", "low"], x: [1] }) });
  const { page, close } = await open("#/named?view=parallel");
  await painted(page, "parallel coordinates");
  const box = await page.locator("[aria-label='parallel coordinates']").boundingBox();
  const left = async (filter, count) => {
    await page.waitForFunction((wanted) => document.querySelector("input[type=search]").value === wanted, filter);
    await page.waitForFunction((n) => document.querySelector("[aria-label=trials] .soft").textContent.startsWith(`${n} shown`), count);
  };
  await page.mouse.click(box.x + 70, box.y + 320); // The lowest word of the first axis.
  await left("param:iterations=100", 2);
  await page.mouse.click(box.x + box.width / 2, box.y + 320);
  await left("param:iterations=100 param:acc=high", 1);
  await page.fill("input[type=search]", "iterations=1 acc=1");
  await left("iterations=1 acc=1", 6);
  await close();
});

test("bounds on a narrow axis of the parallel coordinates have as many digits as tell its places apart", async (t) => {
  sweep(t, "narrow", { ...curve("x", 1), ...grid({ x: [0.99991, 0.99993, 0.99995, 0.99997, 0.99999] }) });
  const { page, close } = await open("#/narrow?view=parallel");
  await painted(page, "parallel coordinates");
  const box = await page.locator("[aria-label='parallel coordinates']").boundingBox();
  await page.mouse.move(box.x + 70, box.y + 190);
  await page.mouse.down();
  await page.mouse.move(box.x + 70, box.y + 30);
  await page.mouse.up();
  await page.waitForFunction(() => { const count = document.querySelectorAll("tbody button.link").length; return count > 0 && count < 5; });
  await close();
});

test("curves are drawn over time, smoothed, coloured by a parameter, as the address says", async () => {
  const { page, faults, close } = await open();
  await page.selectOption("label:has-text('over') select", "seconds");
  await page.selectOption("label:has-text('colour') select", "lr");
  await page.locator("input[aria-label=smoothing]").fill("0.6");
  await page.waitForSelector("[aria-label=curves] .note:has-text('smoothed')");
  assert.match(page.url(), /over=seconds.*colour=lr.*smooth=0\.6/);
  assert.equal(await page.locator(".plot canvas").count(), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("the best value so far and the cutoffs are drawn anew when they change and are as many as before", async () => {
  const { page, close } = await openListening("about:blank");
  let change = 0;
  await page.route(/\/photographs\/course$/, async (route) => {
    const course = await (await route.fetch()).json();
    const [first, last] = [course.best[0], course.best[course.best.length - 1]];
    const rungs = course.rungs.map((rung) => ({ ...rung, cutoff: rung.cutoff === null ? null : rung.cutoff - change / 1000 }));
    await route.fulfill({ json: { ...course, rungs, best: [{ ...first, value: 0.1 }, { ...last, value: 0.2 + change }] } });
  });
  await page.goto(new URL("/#/photographs", address).href);
  for (const place of [".best-so-far", "[aria-label=curves] .plot"]) {
    const before = await page.waitForSelector(`${place} canvas`);
    change += 7;
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // It listens and asks anew.
    await page.waitForFunction((canvas) => !canvas.isConnected, before);
  }
  await page.waitForFunction(() => globalThis.written.includes("10"));
  await close();
});

test("chosen trials stand beside each other, with what differs", async () => {
  const { page, close } = await open("#/photographs?view=compare&chosen=3,5");
  const values = rows("select number, best_value from trials where number in (3, 5) and experiment = :experiment order by number");
  for (const { best_value } of values) await page.waitForSelector(`[aria-label=compare] td:text-is('${Number(best_value.toPrecision(6))}')`);
  assert.equal(await page.locator("[aria-label=compare] tr:has(th:text-is('lr')).different").count(), 1);
  await close();
});

test("columns can be hidden, and the address remembers it", async () => {
  const { page, close } = await open();
  await page.click("summary:has-text('columns')");
  await page.uncheck(".menu label:has-text('kind') input");
  await page.waitForSelector("th button:text-is('kind')", { state: "detached" });
  assert.match(page.url(), /hidden=param%3Akind/);
  await close();
});

test("columns of metrics are chosen, ordered and filtered by, saved, and in a report", async (t) => {
  sweep(t, "two", TWO);
  run("report", "two", "--html", "two.html");
  for (const at of [address, "file://" + join(folder, "two.html")]) {
    const { page, faults, close } = at === address ? await open("#/two") : await open("", { at });
    await page.click("summary:has-text('columns')");
    assert.equal(await page.locator(".menu label:has-text('last(acc)')").count(), 0); // It has a column of its own.
    await page.check(".menu label:has-text('min(loss)') input");
    await page.check(".menu label:has-text('max(loss)') input");
    await page.click("summary:has-text('columns')");
    await page.click("th button:text-is('min(loss)')");
    await begins(page, [2, 1, 0]);
    const cells = (name) => page.evaluate((wanted) => {
      const at = [...document.querySelectorAll("[aria-label=trials] th")].findIndex((th) => th.textContent.startsWith(wanted));
      return [...document.querySelectorAll("[aria-label=trials] tbody tr")].map((tr) => tr.children[at].textContent);
    }, name);
    assert.deepEqual(await cells("min(loss)"), ["0", "3", "6"]);
    assert.deepEqual(await cells("max(loss)"), ["6", "7", "8"]);
    await page.fill("input[type=search]", "min(loss)>2 last(loss)<6");
    await begins(page, [1]);
    await page.waitForFunction(() => document.querySelectorAll("[aria-label=trials] tbody button.link").length === 1);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('save as CSV')")]);
    assert.match(readFileSync(await download.path(), "utf8"), /^trial,.*,min\(loss\),max\(loss\)\n1,.*,3,7\n$/);
    assert.match(page.url(), /extra=min%3Aloss%2Cmax%3Aloss/);
    assert.deepEqual(faults, []);
    await close();
  }
});

test("the table shows what differs between the chosen trials alone", async (t) => {
  sweep(t, "two", TWO);
  const { page, close } = await open("#/two?chosen=0");
  assert.equal(await page.locator("label:has-text('differences of the chosen ones')").count(), 0); // One differs from nothing.
  await page.check("tbody input[aria-label='compare trial 2']");
  await page.check("label:has-text('differences of the chosen ones') input");
  await page.waitForFunction(() => document.querySelectorAll("[aria-label=trials] tbody button.link").length === 2);
  const names = (await texts(page, "[aria-label=trials] th button")).map((name) => name.replace(/ [↑↓]/, ""));
  assert.ok(names.includes("trial") && names.includes("acc") && names.includes("x"));
  assert.ok(!names.includes("kind") && !names.includes("status") && !names.includes("iterations"));
  assert.match(page.url(), /differ=1/);
  await close();
});

test("what a trial printed is shown when asked for", async () => {
  const { page, close } = await open("#/photographs?trial=3");
  await page.click("aside h3:has-text('Log') button");
  await page.waitForSelector("aside .log, aside p:has-text('Nothing on this machine was printed')");
  await close();
});

test("a log that is read further up stays where it is, and goes on at its end", async () => {
  const { page, close } = await open("#/photographs?trial=3");
  let lines = 200;
  await page.route(/\/trials\/3\/log/, (route) => {
    const text = Array.from({ length: lines++ }, (_, i) => `line ${i}`).join("\n");
    return route.fulfill({ json: { attempts: [1], attempt: 1, from: 0, to: text.length, size: text.length, text } });
  });
  const again = async () => {
    const asked = page.waitForResponse(/\/photographs\/course$/);
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // It listens and asks anew.
    await asked;
  };
  await page.click("aside h3:has-text('Log') button");
  const log = page.locator("aside .log:has-text('line 199')");
  await log.waitFor();
  await log.evaluate((element) => element.scrollTo(0, 100));
  await page.waitForSelector("aside .note:has-text('is not followed further up')");
  await again();
  await again();
  assert.equal(await log.evaluate((element) => element.scrollTop), 100);
  const next = lines - 1;
  await log.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await page.waitForSelector("aside .note:has-text('is not followed further up')", { state: "detached" });
  await again();
  await page.waitForFunction((line) => {
    const element = document.querySelector("aside .log");
    return element.textContent.includes(`line ${line}`) && element.scrollHeight - element.scrollTop - element.clientHeight < 20;
  }, next);
  await close();
});

test("a report opens from disk, shows all of it, and asks nobody", async () => {
  run("report", "photographs", "--html", "photographs.html");
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, offline: true });
  const page = await context.newPage();
  const faults = [], asked = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto("file://" + join(folder, "photographs.html"));
  await page.waitForSelector("tbody tr");
  const best = rows("select number from trials where experiment = :experiment order by best_value desc, number");
  await begins(page, best.slice(0, 5).map((row) => row.number));
  await page.click("tbody button.link");
  await page.waitForSelector("aside");
  for (const tab of ["Parallel", "Slice", "Timeline"]) {
    await page.click(`[role=tab]:text-is('${tab}')`);
    await page.waitForSelector("[role=tabpanel] canvas");
  }
  await page.click("[role=tab]:text-is('Importance')");
  await page.waitForSelector(".bars td:text-is('lr')");
  assert.deepEqual(faults, []);
  assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:") && !url.startsWith("blob:")), []);
  await context.close();
});

test("a trial that cannot be opened is told with the reason, also in a report that does not hold it", async () => {
  const { page, close } = await open("#/photographs?sort=number");
  await page.route(/\/photographs\/trials\/3$/, (route) => route.fulfill({ status: 500, json: { error: "the disk is ill" } }));
  await page.click("tbody button.link:text-matches('^3\\\\b')");
  await page.waitForSelector(".doubt:has-text('trial 3: the disk is ill')");
  await page.click(".doubt button:text-is('close')");
  await page.waitForFunction(() => !location.hash.includes("trial="));
  await close();
  run("report", "photographs", "--html", "short.html");
  const html = readFileSync(join(folder, "short.html"), "utf8");
  const [, packed] = /id="report">([^<]+)</.exec(html);
  const answers = JSON.parse(gunzipSync(Buffer.from(packed, "base64")));
  delete answers["/sweeps/photographs/trials/3"];
  file("short.html", html.replace(packed, () => gzipSync(JSON.stringify(answers)).toString("base64")));
  const context = await browser.newContext();
  const report = await context.newPage();
  await report.goto(pathToFileURL(join(folder, "short.html")).href + "#/photographs?trial=3");
  await report.waitForSelector(".doubt:has-text('trial 3 is not one of the best ones, which alone can be opened in this report')");
  await context.close();
});

test("a report of a sweep that runs ends when the sweep was heard of last, however late it is opened", async (t) => {
  const sweep = await runWithPage(t);
  const living = await open("#/endless?view=timeline", { at: sweep.at });
  await living.page.waitForSelector("[aria-label=timeline] .legend:has-text('running 2')");
  await living.close();
  execFileSync(tune, ["report", "endless", "--html", "endless.html"], { cwd: sweep.own, stdio: "ignore" });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.clock.setFixedTime(Date.now() + 72 * 3600e3);
  await page.goto(pathToFileURL(join(sweep.own, "endless.html")).href + "#/endless?view=timeline");
  await page.waitForSelector("[aria-label=timeline] .legend:has-text('running 2')");
  assert.doesNotMatch(await page.textContent("[aria-label=timeline] .note"), /^\S+ h from/);
  await context.close();
});

test("a page that only looks has no commands", async () => {
  const { page, close } = await open("#/photographs?trial=3");
  await page.waitForSelector("aside");
  assert.equal(await page.locator("[role=group][aria-label^=commands]").count(), 0);
  await close();
});

test("what is commanded is asked back once, done by the tuner, and told", async (t) => {
  const sweep = await runWithPage(t);
  const { page, faults, close } = await open("#/endless?trial=1", { at: sweep.at });
  const told = (text) => page.waitForSelector(`[role=status]:has-text(${JSON.stringify(text)})`);
  // How long a trial has run is told while it runs.
  const at = (await texts(page, "[aria-label=trials] th")).findIndex((title) => title.startsWith("seconds"));
  await page.waitForSelector(`tbody tr:has(td:text-is("▶ RUNNING")) td:nth-child(${at + 1}):text-matches("^[1-9]\\d*$")`);
  await page.click("aside [role=group] button:text-is('Pause…')");
  await page.waitForSelector("dialog:has-text('Pause trial 1?'):has-text('It pauses at its next checkpoint')");
  await page.click("dialog button:text-is('Cancel')");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(await page.textContent("[role=status]"), "");
  await page.click("aside [role=group] button:text-is('Pause…')");
  await page.check("dialog input[type=checkbox]");
  await page.waitForSelector("dialog:has-text('Its process ends now')");
  await page.click("dialog button[type=submit]");
  await told("trial 1 is ended now and paused");
  await page.waitForSelector("tbody tr:has(button.link:text-matches('^1\\\\b')) td:has-text('PAUSED')");
  await page.waitForSelector("aside dt:text-is('waits') + dd:text-is('was paused by a person')");
  await page.click("aside [role=group] button:text-is('Go on…')");
  await page.click("dialog button[type=submit]");
  await told("trial 1 goes on when there is room for it");
  await page.click(".overview [role=group] button:text-is('Set a limit…')");
  await page.waitForSelector("dialog:has-text('2 now')");
  await page.fill("dialog input", "none");
  await page.click("dialog button[type=submit]");
  // What is wrong with it, in the tuner's words, which name the limit.
  const refused = await page.waitForSelector("[role=status].doubt:has-text('max_concurrent')");
  assert.match(await refused.textContent(), /^limits\.max_concurrent: read 'none'/);
  await page.click(".overview [role=group] button:text-is('Set a limit…')");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("dialog [role=alert]:has-text('the value is missing, such as 4')");
  await page.click("dialog button:text-is('Cancel')");
  await page.click(".overview [role=group] button:text-is('Set a limit…')");
  await page.fill("dialog input", "1");
  await page.click("dialog button[type=submit]");
  await told("limits.max_concurrent is 1, was 2");
  await page.click(".overview [role=group] button:text-is('Pause…')");
  await page.click("dialog button[type=submit]");
  await told("endless is paused: nothing new is started");
  await page.waitForSelector(".overview .status:text-is('PAUSED')");
  await page.click(".overview [role=group] button:text-is('Stop…')");
  await page.check("dialog input[type=checkbox]");
  await page.click("dialog button[type=submit]");
  await told("endless stops");
  assert.equal(await sweep.ended, 0);
  await page.waitForSelector(".overview .status:text-is('STOPPED')"); // The page sees how its sweep ended.
  assert.equal(await page.locator("[role=group][aria-label^=commands]").count(), 0);
  assert.deepEqual(faults.filter((fault) => !/ERR_|status of 400/.test(fault)), []); // The refusal, and the server that is gone.
  await close();
});

test("a note and tags are written on the page, and shown beside each sweep of the list", async (t) => {
  const sweep = await runWithPage(t, undefined, ["--tag", "team=vision", "--note", "first"]);
  const { page, faults, close } = await open("#/endless?view=about", { at: sweep.at });
  await page.waitForSelector("[aria-label=about] .tag:text-is('team=vision')");
  await page.waitForSelector("[aria-label=about] dd:has-text('tune run space.yaml')"); // Where it comes from.
  await page.click("[aria-label=about] button:text-is('change')");
  const [note, tags] = [page.locator("textarea").nth(0), page.locator("textarea").nth(1)];
  assert.equal(await note.inputValue(), "first");
  await note.fill("<script>document.title = 'broken'</script>\nsecond line");
  await tags.fill("phase=2\n a b = 3");
  await page.click("form button[type=submit]");
  await page.waitForSelector("form [role=alert]:has-text(\"tag: read 'a b', expected a key without spaces\")");
  await tags.fill("phase=2\nbaseline\nstatus=odd");
  await page.click("form button[type=submit]");
  await page.waitForSelector("[aria-label=about] .written:has-text('second line')");
  assert.deepEqual(await texts(page, "[aria-label=about] .tag"), ["baseline", "phase=2", "status=odd"]);
  await page.click("header button:text-is('all sweeps')");
  await page.waitForSelector("[aria-label=sweeps] tbody tr:has-text('second line')");
  assert.match(page.url(), /view=sweeps/);
  await page.click("[aria-label=sweeps] button.tag:text-is('phase=2')");
  await page.waitForFunction(() => document.querySelector("input[type=search]").value === "phase=2");
  await page.goBack();
  await page.click("[aria-label=sweeps] button.tag:text-is('status=odd')"); // Not the column of that name.
  await page.waitForFunction(() => document.querySelector("input[type=search]").value === "tag:status=odd" && document.querySelectorAll("[aria-label=sweeps] tbody tr").length === 1);
  await page.fill("input[type=search]", "phase=3");
  await page.waitForSelector("[aria-label=sweeps] .empty:text-is('No sweep is shown.')");
  await page.fill("input[type=search]", "phas=3");
  await page.waitForSelector("[aria-label=sweeps] .doubt:has-text('there is no column phas; known are name')");
  await page.fill("input[type=search]", "SECOND status=RUNNING");
  await page.click("[aria-label=sweeps] tbody button.link:text-is('endless')");
  await page.waitForSelector("[aria-label=overview]");
  await page.waitForFunction(() => document.title === "endless - tune");
  assert.deepEqual(faults.filter((fault) => !/status of 400/.test(fault)), []);
  await close();
});

test("on a head's page a sweep that is over is gone on with and deleted, each asked back once", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  const head = spawn(tune, ["head", "--cpus", "1", "--http", "127.0.0.1:0"], { cwd: own, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => head.once("exit", resolve));
  t.after(async () => { head.kill("SIGTERM"); await ended; rmSync(own, { recursive: true, force: true }); });
  const at = await new Promise((resolve) => {
    let said = "";
    head.stderr.on("data", (data) => { said += data; const found = /the page of .*: (http:\S+)/.exec(said); if (found) resolve(found[1]); });
  });
  writeFileSync(join(own, "small.yaml"), "trainable: {curve: {value: x, iterations: 2}}\nmetric: loss\nmode: min\nsamples: 2\nsearch: {algorithm: random, repeat: 2}\nspace: {x: {uniform: [0, 1]}}\n");
  execFileSync(tune, ["submit", "small.yaml"], { cwd: own, stdio: "ignore" });
  execFileSync(tune, ["submit", "--name", "look", "--", "true"], { cwd: own, stdio: "ignore" });
  const { page, faults, close } = await open("#/small", { at });
  await page.click(".overview [role=group] button:text-is('Resume…')");
  await page.waitForSelector("dialog label:has-text('samples in all')");
  assert.equal(await page.getAttribute("dialog input[inputmode=numeric]", "placeholder"), "2");
  await page.waitForSelector("dialog :text-is('2 samples make 4 trials')");
  await page.fill("dialog input[inputmode=numeric]", "3");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("[role=status]:has-text('small goes on from 4 trials')");
  await page.waitForSelector(".overview:has-text('6 TERMINATED')");
  await page.click(".overview [role=group] button:text-is('Delete…')");
  await page.waitForSelector("dialog:has-text('Delete small?'):has-text('are removed for good')");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("[aria-label=sweeps] tbody tr:has-text('look'):has-text('exit status 0')");
  await page.waitForFunction(() => document.querySelectorAll("[aria-label=sweeps] tbody tr").length === 1);
  assert.deepEqual(faults.filter((fault) => !/status of 404/.test(fault)), []); // Of what was asked about the sweep that is gone.
  await close();
});

test("on a head's page a sweep is submitted again, changed, and what waits is told with why", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  const head = spawn(tune, ["head", "--cpus", "1", "--http", "127.0.0.1:0"], { cwd: own, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => head.once("exit", resolve));
  t.after(async () => { head.kill("SIGTERM"); await ended; rmSync(own, { recursive: true, force: true }); });
  const at = await new Promise((resolve) => {
    let said = "";
    head.stderr.on("data", (data) => { said += data; const found = /the page of .*: (http:\S+)/.exec(said); if (found) resolve(found[1]); });
  });
  writeFileSync(join(own, "small.yaml"), "trainable: {curve: {value: x, iterations: 1000000, seconds: 0.1}}\nmetric: loss\nmode: min\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n");
  execFileSync(tune, ["submit", "small.yaml"], { cwd: own, stdio: "ignore" });
  const { page, faults, close } = await open("#/small", { at });
  await page.click(".overview [role=group] button:text-is('Submit again…')");
  await page.fill("dialog input >> nth=0", "other");
  await page.fill("dialog input[inputmode=numeric]", "5");
  await page.fill("dialog textarea", "mode=best");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("[role=status].doubt:has-text('expected max or min')");
  await page.click(".overview [role=group] button:text-is('Submit again…')");
  await page.fill("dialog input >> nth=0", "other");
  await page.fill("dialog input[inputmode=numeric]", "5");
  await page.fill("dialog textarea", "space.x.uniform=[2, 3]\n\n priority=4 ");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("[role=status]:has-text('other is submitted')");
  await page.click("header button:text-is('all sweeps')");
  await page.waitForSelector("[aria-label=queue] tbody tr:has-text('there is no room now')");
  await page.waitForSelector("[aria-label=sweeps] tbody tr:has-text('other'):has-text('/5')");
  await page.click("[aria-label=queue] tbody button:text-is('other')");
  await page.waitForSelector(".overview [role=group] button:text-is('Stop…')");
  assert.deepEqual(faults.filter((fault) => !/status of 400/.test(fault)), []);
  await close();
});

test("a cluster's pools are shown with what became of each request, and what waits for them", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "tune_page_"));
  writeFileSync(join(own, "cluster.yaml"), `name: lab
head: {listen: "127.0.0.1:${20000 + Math.floor(Math.random() * 12000)}", http: "127.0.0.1:0"}
pools:
  vm:
    command: {up: [./vm, up, "{name}"], down: [./vm, down, "{name}"], list: [./vm, list]}
    worker: {cpus: 2}
`);
  writeFileSync(join(own, "vm"), `#!/bin/sh
[ $1 = up ] && { echo "the quota of <b>machines</b> is reached" >&2; exit 75; }
exit 0
`, { mode: 0o700 });
  const head = spawn(tune, ["head", "--cluster", "cluster.yaml"], { cwd: own, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => head.once("exit", resolve));
  t.after(async () => { head.kill("SIGKILL"); await ended; rmSync(own, { recursive: true, force: true }); });
  const at = await new Promise((resolve) => {
    let said = "";
    head.stderr.on("data", (data) => { said += data; const found = /the page of .*: (http:\S+)/.exec(said); if (found) resolve(found[1]); });
  });
  writeFileSync(join(own, "small.yaml"), "trainable: {curve: {value: x, iterations: 1000}}\nmetric: loss\nmode: min\nsamples: 3\nspace: {x: {uniform: [0, 1]}}\n");
  execFileSync(tune, ["submit", "small.yaml"], { cwd: own, stdio: "ignore" });
  const { page, faults, close } = await open("#/?view=sweeps", { at });
  await page.waitForSelector("[aria-label=cluster] h2:text-is('Cluster lab')");
  await page.waitForSelector("[aria-label=pools] tr:has-text('vm'):has-text('rests for'):has-text('the quota of <b>machines</b> is reached')");
  await page.waitForSelector("[aria-label='failed requests'] tr:has-text('the quota of')");
  await page.waitForSelector("[aria-label='waiting trials'] tr:has-text('cpu: 1'):has-text('vm rests for')");
  await page.click("[aria-label='waiting trials'] button:text-is('small')");
  await page.waitForSelector(".overview [role=group] button:text-is('Stop…')");
  assert.deepEqual(faults, []);
  await close();
});

test("what others write while the form is open stays, and another note is not replaced unasked", async (t) => {
  const sweep = await runWithPage(t, undefined, ["--tag", "keep=1", "--note", "v1"]);
  const { page, close } = await open("#/endless?view=about", { at: sweep.at });
  const { port, searchParams } = new URL(sweep.at);
  const write = (change) => fetch(`http://127.0.0.1:${port}/api/v1/sweeps/endless/actions`, {
    method: "POST", body: JSON.stringify({ note: change }), headers: { "Content-Type": "application/json", Authorization: "Bearer " + searchParams.get("key") },
  });
  await page.click("[aria-label=about] button:text-is('change')");
  const [note, tags] = [page.locator("textarea").nth(0), page.locator("textarea").nth(1)];
  await tags.fill("keep=1\nmine=1");
  assert.equal((await write({ note: "v2", tags: { late: "1" }, untag: ["keep"] })).status, 200);
  await page.click("form button[type=submit]");
  await page.waitForSelector("[aria-label=about] .written:text-is('v2')");
  await page.waitForSelector("[aria-label=about] .tag:text-is('mine=1')");
  assert.deepEqual(await texts(page, "[aria-label=about] .tag"), ["late=1", "mine=1"]);
  await page.click("[aria-label=about] button:text-is('change')");
  await note.fill("page's");
  await tags.fill("late=1\nlate=2");
  await page.click("form button[type=submit]");
  await page.waitForSelector("form [role=alert]:has-text('tag: read late twice')");
  await tags.fill("late=2\nmine=1");
  assert.equal((await write({ note: "v3", tags: { late: "3", more: " a " } })).status, 200);
  await page.click("[role=tab]:text-is('Curves')");
  await page.click("[role=tab]:text-is('About')"); // What was typed is still there.
  await page.click("form button[type=submit]");
  await page.waitForSelector("form [role=alert]:has-text('Meanwhile somebody wrote: v3'):has-text('tag late=3'):has-text('Save again')");
  await page.click("form button[type=submit]");
  await page.waitForSelector("[aria-label=about] .written:text-is(\"page's\")");
  assert.deepEqual(await texts(page, "[aria-label=about] .tag"), ["late=2", "mine=1", "more= a "]);
  await page.click("[aria-label=about] button:text-is('change')");
  await note.fill("spaces stay");
  await page.click("form button[type=submit]");
  await page.waitForSelector("[aria-label=about] .written:text-is('spaces stay')");
  assert.deepEqual(await texts(page, "[aria-label=about] .tag"), ["late=2", "mine=1", "more= a "]);
  await close();
});

test("of all sweeps the latest stands first, and a click on a column orders them", async (t) => {
  sweep(t, "second", { samples: 3, ...curve("x", 2) });
  const { page, faults, close } = await open("#/?view=sweeps");
  const names = () => texts(page, "[aria-label=sweeps] tbody button.link");
  assert.deepEqual(await names(), ["second", "photographs"]);
  await page.click("[aria-label=sweeps] th button:has-text('name')");
  assert.deepEqual(await names(), ["photographs", "second"]);
  await page.click("[aria-label=sweeps] th button:has-text('name')");
  assert.deepEqual(await names(), ["second", "photographs"]);
  assert.deepEqual((await texts(page, "[aria-label=sweeps] tbody tr:first-child td")).slice(1, 5), ["sweep", "FINISHED", "3/3", "acc"]);
  const [first] = JSON.parse(run("list", "--format", "json"));
  for (const [filter, left] of [[`created>="${first.created_at.replace("T", " ").slice(0, 16)}"`, 2], ["created<2020", 0], [`created=${first.created_at.slice(0, 10)} kind=sweep`, 2]]) {
    await page.fill("input[type=search]", filter);
    await page.waitForFunction((n) => document.querySelector("[aria-label=sweeps] .note").textContent.startsWith(`${n} of 2`), left);
  }
  await page.fill("input[type=search]", "created>yesterday");
  await page.waitForSelector("[aria-label=sweeps] .doubt:has-text(\"read 'yesterday', expected a time such as\")");
  await page.fill("input[type=search]", "");
  await page.goBack();
  await page.click("header button:text-is('all sweeps')");
  await page.waitForSelector("[aria-label=overview]"); // The latest one.
  assert.deepEqual(faults, []);
  await close();
});

test("the timeline has a row for each device, filled by the shares that were held of it", async (t) => {
  sweep(t, "shared", { samples: 6, ...curve("x", 2), resources: { cpu: 0.1, gpu: 0.5 } }, ["--gpus", "2", "--cpus", "4"]);
  const { page, close } = await openListening("#/shared?view=timeline");
  await page.selectOption("[aria-label=timeline] label:has-text('rows') select", "devices");
  await page.waitForFunction(() => globalThis.written.includes("local GPU 0") && globalThis.written.includes("local GPU 1"));
  assert.match(page.url(), /rows=devices/);
  const held = JSON.parse(run("results", "--sql", "select devices, count(*) n from attempts where devices is not null group by 1", "--format", "json"));
  assert.equal(held.reduce((sum, row) => sum + row.n, 0), 6);
  assert.equal(JSON.parse(held[0].devices)[0].gpu, 0.5);
  await close();
});

test("beyond this machine a user has the commands and a viewer has none", async (t) => {
  const sweep = await runWithPage(t, undefined, [], "0.0.0.0:0");
  const commands = "[role=group][aria-label^=commands]";
  for (const [at, count] of [[sweep.at, 2], [sweep.viewer, 0]]) {
    const { page, faults, close } = await open("#/endless?trial=0", { at, ignoreHTTPSErrors: true });
    await page.waitForSelector("aside");
    assert.equal(await page.locator(commands).count(), count);
    const answer = await page.evaluate(async () => {
      const headers = { "Content-Type": "application/json" };
      return (await fetch("/api/v1/sweeps/endless/actions", { method: "POST", headers, body: '{"set": {"settings": ["max_concurrent=1"]}}' })).status;
    });
    assert.equal(answer, count > 0 ? 200 : 403);
    assert.deepEqual(faults.filter((fault) => !/status of 403/.test(fault)), []);
    await close();
  }
});

test("commands work by the keyboard, and axe finds nothing to mend in what they ask", async (t) => {
  const sweep = await runWithPage(t);
  const { page, close } = await open("#/endless?trial=0", { at: sweep.at, bypassCSP: true });
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.focus("aside [role=group] button:text-is('Stop…')");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual((await page.evaluate(() => window.axe.run())).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join("; ")}`), []);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.equal(await focused(), "Stop…"); // Where it was before.
  assert.equal(await page.textContent("[role=status]"), "");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open] input:focus");
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Stop");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role=status]:has-text('trial 0 is stopped')");
  await page.waitForSelector("aside:has-text('TERMINATED (user)')");
  assert.deepEqual((await page.evaluate(() => window.axe.run())).violations.map((v) => v.id), []);
  await close();
});

test("a page that looks seldom sees all the same how its sweep ended", async (t) => {
  const sweep = await runWithPage(t);
  const { page, close } = await open("#/endless", { at: sweep.at });
  // Who is answered slowly asks seldom.
  await page.route(/\/endless\/trials/, async (route) => { await new Promise((resolve) => setTimeout(resolve, 500)); await route.continue(); });
  await page.reload();
  await page.waitForSelector("tbody tr:has-text('RUNNING')");
  await page.evaluate(() => fetch("/api/v1/sweeps/endless/actions", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"stop": {"now": true}}' }));
  assert.equal(await sweep.ended, 0);
  await page.waitForSelector(".overview .status:text-is('STOPPED')");
  await page.waitForFunction(() => !/RUNNING|PENDING/.test(document.querySelector("[aria-label=trials] tbody").textContent));
  assert.equal(await page.locator("[role=group][aria-label^=commands]").count(), 0);
  await close();
});

test("of very many checkpoints the latest are listed", async () => {
  const { page, close } = await open();
  await page.route(/\/photographs\/trials\/3$/, async (route) => {
    const answer = await (await route.fetch()).json();
    answer.checkpoints = Array.from({ length: 1500 }, (_, i) => ({ iteration: i + 1, bytes: 1024, state: i === 1499 ? "durable" : "removed" }));
    await route.fulfill({ json: answer });
  });
  await page.goto(new URL("/#/photographs?trial=3", address).href);
  await page.waitForSelector("aside li:has-text('iteration 1500: 1 KiB, durable')");
  await page.waitForSelector("aside :text('and 1499 more')");
  assert.ok((await page.locator("aside li:has-text('KiB')").count()) <= 20);
  await close();
});

test("an address of a sweep that is none is told", async () => {
  const { page, close } = await open();
  await page.goto(new URL("/#/photographs/trials/3", address).href);
  await page.waitForSelector("[role=alert]:has-text(\"no name has a '/'\")");
  await close();
});

test("workers are shown with what is booked of them, and what waits with why", async (t) => {
  const sweep = await runWithPage(t, "resources: {cpu: 1, gpu: 0.5}", ["--cpus", "3", "--gpus", "1"]);
  const { page, faults, close } = await open("#/endless?view=workers", { at: sweep.at, bypassCSP: true });
  await page.waitForSelector("article[aria-label='worker local'] [role=img][aria-label='2 of 3 CPUs of local booked']");
  await page.waitForSelector("article [role=img][aria-label='1 of 1 device of local 0 booked']");
  await page.waitForSelector("[aria-label=workers] td:has-text('there is no room now: it needs cpu: 1, gpu: 0.5; local has 1 of 3 CPUs and 0 of its 1 GPU free')");
  await page.waitForSelector("[aria-label=workers] td:text-is('2 to come')");
  await page.click("article button.link:text-is('trial 1') >> nth=0");
  await page.waitForSelector("aside[aria-label='trial 1']");
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
  assert.deepEqual((await page.evaluate(() => window.axe.run())).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join("; ")}`), []);
  assert.deepEqual(faults, []);
  await close();
});

test("of a sweep without a tuner the workers of the database are shown", async () => {
  const { page, close } = await open("#/photographs?view=workers");
  await page.waitForSelector("[aria-label=workers]:has-text('No tuner runs this sweep now')");
  await page.waitForSelector("[aria-label=workers] td:text-is('local')");
  assert.deepEqual(await texts(page, "[aria-label=workers] th"), ["worker", "address", "CPUs", "GPUs", "state", "since", "joined"]);
  await close();
});

test("what a sweep says is shown as text and never run", async () => {
  const { page, close } = await open();
  await page.fill("input[type=search]", "script");
  await page.waitForSelector("td:has-text('<script>document.title')");
  assert.equal(await page.title(), "photographs - tune");
  await close();
});

test("characters that are not seen, or turn the order of letters around, are shown as what they are", async (t) => {
  const script = "echo acc: $1; [ $1 = 1 ] && exit; printf 'it said a\u202eb \\033[2J\\n' >&2; exit 3";
  sweep(t, "turned", { ...printing(script, "acc"), ...grid({ "p\u202eq": ["a\u202eb", "c"], x: [0, 1] }) }, [], 3);
  const { page, close } = await openListening("#/turned?trial=0");
  await page.waitForSelector("aside pre:has-text('it said a\\\\u202eb')");
  await page.waitForSelector("td:text-is('a\\\\u202eb')");
  await page.waitForSelector("th button[title='p\\\\u202eq']");
  for (const tab of ["Parallel", "Slice", "Compare"]) {
    await page.click(`[role=tab]:text-is('${tab}')`);
    await page.waitForSelector(`[role=tabpanel] section[aria-label=${tab.toLowerCase()}]`);
  }
  await page.waitForFunction(() => globalThis.written.some((text) => text.includes("p\\u202eq")));
  assert.ok(!(await page.evaluate(() => /[\u202e\x1b]/.test(document.body.textContent))));
  await close();
});

test("rows far below are reached by scrolling, and few are in the page", async () => {
  const { page, close } = await open();
  const ordered = rows("select number from trials where experiment = :experiment order by best_value desc, number").map((row) => row.number);
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await page.waitForSelector(`tbody button.link:text-matches('^${ordered.at(-1)}$')`);
  await close();
});

test("of very many trials the best and the newest, and curves, are seen before the others are read", async (t) => {
  sweep(t, "many", { ...curve("1 - (x - 0.5)^2 - 1 / (t + 1)", 2), samples: 500 }, ["--cpus", "8"]);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  let goOn;
  const held = new Promise((resolve) => { goOn = resolve; });
  await page.route(/\/many\/trials$/, async (route) => { await held; await route.continue(); });
  await page.goto(address);
  await page.goto("about:blank");
  await page.goto(new URL("/#/many", address).href);
  const best = JSON.parse(run("results", "many", "--sql", "select number from trials where experiment = :experiment order by best_value desc, number limit 5", "--format", "json"));
  await begins(page, best.map((row) => row.number));
  const said = page.locator("[aria-label=trials] .bar > .soft");
  assert.match(await said.textContent(), /^[234]\d\d shown, the best and the newest; [123]\d\d more are being read/);
  await page.waitForSelector("[aria-label=curves] .note:has-text('500 shown')");
  await page.waitForSelector(".plot canvas");
  goOn();
  await page.waitForSelector("[aria-label=trials] .bar > .soft:has-text('500 shown; tick')");
  await begins(page, best.map((row) => row.number));
  await closing(page)();
});

test("the sweep's state is answered before its trials and the list of all sweeps are asked for", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(address);
  await page.goto("about:blank");
  const order = [];
  page.on("request", (request) => {
    const [, part] = /(\/photographs\/trials|\/sweeps$)/.exec(request.url()) ?? [];
    if (part) order.push(part);
  });
  await page.route(/\/sweeps\/photographs$/, async (route) => {
    const answer = await route.fetch();
    order.push("state");
    await route.fulfill({ response: answer });
  });
  await page.goto(new URL("/#/photographs", address).href);
  await page.waitForSelector("tbody tr");
  await page.waitForSelector("select[aria-label=sweep]");
  assert.equal(order[0], "state");
  await closing(page)();
});

test("a new sweep appears by itself, also its first trial", async () => {
  const { page, close } = await open();
  file("next.yaml", readFileSync(join(folder, "space.yaml"), "utf8").replace("name: photographs", "name: later").replace("samples: 40", "samples: 2"));
  run("run", "next.yaml");
  await page.waitForSelector("select[aria-label=sweep] option[value=later]", { state: "attached" });
  assert.equal(await page.title(), "photographs - tune"); // What was looked at stays, and the address names it.
  assert.equal(new URL(page.url()).hash, "#/photographs");
  await page.selectOption("select[aria-label=sweep]", "later");
  await page.waitForFunction(() => document.querySelectorAll("tbody button.link").length === 2);
  assert.equal(await page.title(), "later - tune");
  await page.selectOption("select[aria-label=sweep]", "photographs");
  await close();
});

test("a page that may not listen to events follows all the same, and says nothing of it", async () => {
  const { page, close } = await open();
  let refused = 0;
  await page.route("**/api/v1/events", (route) => { ++refused; return route.fulfill({ status: 503, json: { error: "too many listen to events" } }); });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // It listens anew.
  const answered = page.waitForResponse((response) => response.url().endsWith("/api/v1/sweeps") && response.ok());
  await answered;
  run("run", "space.yaml", "--name", "unheard", "--samples", "1");
  await page.waitForSelector("select[aria-label=sweep] option[value=unheard]", { state: "attached" });
  assert.ok(refused > 0);
  assert.equal(await page.locator("[role=alert]").count(), 0);
  await close();
  run("delete", "unheard", "--yes");
});

test("a server that is gone is told, and the page goes on when it is back", async () => {
  const { page, close } = await open();
  await page.route("**/api/**", (route) => route.abort());
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // It listens anew, as after a broken connection.
  await page.waitForSelector("[role=alert]:has-text('does not answer; trying again')");
  await page.unroute("**/api/**");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForSelector("[role=alert]", { state: "detached" });
  assert.ok((await numbers(page)).length > 0);
  await close();
});

test("the table is saved as CSV with what is shown", async () => {
  const { page, close } = await open("#/photographs");
  await page.fill("input[type=search]", "kind=sgd");
  await page.waitForFunction(() => !document.querySelector("tbody").textContent.includes("<script>"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('save as CSV')")]);
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  const { count } = rows("select count() as count from trials where json_extract(config, '$.kind') = 'sgd' and experiment = :experiment")[0];
  assert.equal(lines.length, count + 1);
  assert.match(lines[0], /^trial,status,val_accuracy,at,last,iterations,(lr,kind|kind,lr),seconds,attempts,ended by$/);
  await close();
});

test("whole numbers that a double does not hold are shown, copied and saved digit by digit", async (t) => {
  const digits = "1234567890123456789"; // As JSON here it would be rounded.
  file("seeds.yaml", `name: seeds\nmetric: acc\nmode: max\nspace: {seed: {grid_search: [${digits}, 7]}}\nsearch: {algorithm: grid}\ntrainable: {curve: {value: "1 / t", iterations: 1}}\n`);
  t.after(() => run("delete", "seeds", "--yes"));
  run("run", "seeds.yaml");
  const { page, close } = await open("#/seeds?trial=0&view=compare&chosen=0,1", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.waitForSelector(`[aria-label=trials] td:text-is('${digits}')`);
  await page.waitForSelector(`[aria-label=compare] td:text-is('${digits}')`);
  await page.waitForSelector(`aside dd:text-is('${digits}')`);
  await page.click("aside button:text-is('copy')");
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`"seed": ${digits}\\s`));
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('save as CSV')")]);
  assert.match(readFileSync(await download.path(), "utf8"), new RegExp(`,${digits},`));
  await close();
});

test("a CSV file is named after its sweep, holds no formula, and seconds as they were measured", async (t) => {
  sweep(t, "formula", { ...curve("n - 1 / (t + 1)", 1), ...grid({ x: ["=cmd|' /C calc'!A0", "+1", "@x", "-y", "a=b"], n: [-3] }) });
  const { page, close } = await openListening("about:blank");
  await page.route(/\/formula\/trials/, async (route) => {
    const answer = await (await route.fetch()).json();
    const at = answer.columns.indexOf("run_seconds");
    for (const row of answer.rows) row[at] = 0.030702999999999998; // As sums of what a clock measured are.
    await route.fulfill({ json: answer });
  });
  await page.goto(new URL("/#/formula?sort=number", address).href);
  await page.waitForSelector("td:has-text('/C calc')");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("button:text-is('save as CSV')")]);
  assert.equal(download.suggestedFilename(), "formula.csv");
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  const x = lines[0].split(",").indexOf("x"), n = lines[0].split(",").indexOf("n"), seconds = lines[0].split(",").indexOf("seconds");
  const cells = lines.slice(1).map((line) => line.split(","));
  assert.deepEqual(cells.map((row) => row[x]), ["'=cmd|' /C calc'!A0", "'+1", "'@x", "'-y", "a=b"]);
  assert.deepEqual([...new Set(cells.map((row) => row[n]))], ["-3"]);
  assert.deepEqual([...new Set(cells.map((row) => row[seconds]))], ["0.030703"]);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing to mend, ${colorScheme}`, async () => {
    const { page, close } = await open("", { colorScheme, bypassCSP: true });
    await page.click("tbody button.link");
    await page.waitForSelector("aside");
    const found = [];
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
    for (const tab of ["Curves", "Parallel", "Slice", "Contour", "Importance", "Timeline", "Workers", "Compare", "About"]) {
      await page.click(`[role=tab]:text-is('${tab}')`);
      await page.waitForSelector(`[role=tabpanel] section[aria-label=${tab.toLowerCase()}]`);
      const { violations } = await page.evaluate(() => window.axe.run());
      found.push(...violations.map((v) => `${tab}: ${v.id}: ${v.nodes.map((n) => n.target).join("; ")}`));
    }
    assert.deepEqual(found, []);
    await close();
  });
}

test("on a phone nothing is wider than the screen but the table, which scrolls", async () => {
  const { page, close } = await open("", { viewport: { width: 390, height: 800 } });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await close();
});

test("on a phone a swipe to the side reaches the last axis of the parallel coordinates, and filters nothing", async (t) => {
  const uniform = { uniform: [0, 1] };
  sweep(t, "wide", { ...curve("a", 1), space: { a: uniform, b: uniform, c: uniform, d: uniform, e: uniform, f: uniform }, samples: 6 });
  const { page, close } = await open("#/wide?view=parallel", { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  await painted(page, "parallel coordinates");
  await page.locator(".sideways").scrollIntoViewIfNeeded();
  const box = await page.locator(".sideways").boundingBox();
  const devtools = await page.context().newCDPSession(page);
  const touch = (type, ...touchPoints) => devtools.send("Input.dispatchTouchEvent", { type, touchPoints });
  const y = box.y + 150;
  await touch("touchStart", { x: box.x + 250, y });
  for (let moved = 10; moved <= 200; moved += 10) await touch("touchMove", { x: box.x + 250 - moved, y });
  await touch("touchEnd");
  await page.waitForFunction(() => document.querySelector(".sideways").scrollLeft > 100);
  assert.equal(await page.inputValue("input[type=search]"), "");
  await close();
});

test("names however long, and values however large, leave the page as wide as the screen", async (t) => {
  const name = "a_parameter_with_a_very_long_name_".repeat(5) + "end";
  sweep(t, "long", { ...printing("echo acc: 5.5612345678901234e299", "acc"), samples: 3, space: { [name]: { uniform: [0, 1] }, x: { choice: ["v".repeat(300), "b"] } } });
  for (const width of [390, 1280]) {
    const { page, close } = await open("#/long?trial=0&chosen=0,1", { viewport: { width, height: 800 } });
    await page.waitForSelector("aside");
    await page.waitForSelector("td.number:text-is('5.56123e+299')");
    for (const tab of ["Curves", "Parallel", "Slice", "Contour", "Importance", "Timeline", "Workers", "Compare", "About"]) {
      await page.click(`[role=tab]:text-is('${tab}')`);
      await page.waitForSelector(`[role=tabpanel] section[aria-label=${tab.toLowerCase()}]`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${tab} at ${width}`);
    }
    const [head] = await page.locator("[aria-label=trials] th button", { hasText: "a_parameter" }).evaluateAll((all) => all.map((b) => b.clientWidth));
    assert.ok(head < 300, String(head));
    await close();
  }
});

test("the name of a sweep however long leaves the page as wide as the screen", async () => {
  const name = "n".repeat(188) + "é";
  file("named.yaml", readFileSync(join(folder, "space.yaml"), "utf8").replace("name: photographs", `name: ${name}`).replace("samples: 40", "samples: 2"));
  run("run", "named.yaml");
  for (const width of [390, 1280]) {
    for (const sweep of ["photographs", encodeURIComponent(name)]) {
      const { page, close } = await open("#/" + sweep, { viewport: { width, height: 800 } });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${sweep} at ${width}`);
      await close();
    }
  }
  run("delete", name, "--yes");
});

test("on a phone a trial opens where it is seen", async () => {
  const { page, close } = await open("", { viewport: { width: 390, height: 800 } });
  await page.locator("tbody button.link").first().click();
  await page.waitForSelector("aside h2");
  await page.waitForFunction(() => {
    const { top } = document.querySelector("aside h2").getBoundingClientRect();
    return top >= 0 && top < innerHeight / 2;
  });
  await close();
});

test("with repeat the overview names the best configuration by the mean of its runs", async (t) => {
  const script = "if [ $1 = 2 ]; then echo acc: 5; elif mkdir ran_once 2>/dev/null; then echo acc: 9; else echo acc: 0; fi";
  sweep(t, "repeated", { ...printing(script, "acc"), space: { x: { grid_search: [1, 2] } }, search: { algorithm: "grid", repeat: 2 } });
  const { page, close } = await open("#/repeated");
  assert.match(await page.textContent(".overview"),
    /best: the configuration of trials 2, 3, mean acc 5 of 2 runs; its best run: trial [23], acc 5 at iteration 1/);
  await close();
});

test("where each trial that reported failed the overview says so", async (t) => {
  sweep(t, "failed", { ...printing("echo acc: 1; exit 3", "acc") }, [], 3);
  const { page, close } = await open("#/failed");
  await page.waitForSelector(".overview :text-is('best: none, each trial that reported acc failed')");
  await close();
});

test("an empty database says how to begin", async () => {
  const { page, close } = await open();
  await page.route("**/api/v1/sweeps", (route) => route.fulfill({ json: [] }));
  await page.goto(new URL("/", address).href);
  await page.reload();
  await page.waitForSelector("text=This database has no sweep yet");
  assert.equal(await page.locator("input[type=search]").count(), 0); // There is nothing to filter.
  await close();
});

test("all of it works by the keyboard", async () => {
  const { page, close } = await open();
  await page.focus("tbody tr:nth-child(1) button.link");
  await page.keyboard.press("Enter");
  await page.waitForSelector("aside");
  assert.deepEqual((await texts(page, "aside h2")).length, 1);
  await page.focus("tbody tr:nth-child(2) input");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => location.hash.includes("chosen="));
  await close();
});
