// How quick the page of a large sweep is: a real sweep, `tune ui`, and Chromium without a window.
//   node run.mjs [--toy] [--trials N] [--rounds N] [--folder F] [--only page,server]    (`run` prepares and calls it)
// Prints Markdown tables. With --folder the sweep is made there once, and used again by the next run.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values: given } = parseArgs({ options: {
  toy: { type: "boolean" }, only: { type: "string" }, trials: { type: "string" }, rounds: { type: "string" }, folder: { type: "string" } } });
const trials = Number(given.trials ?? (given.toy ? 300 : 50_000));
const rounds = Number(given.rounds ?? (given.toy ? 1 : 5));
const iterations = 30;
const tune = join(process.env.TUNE_BIN_DIR, "tune");
const folder = given.folder ?? mkdtempSync(join(tmpdir(), "tune_page_bench_"));
mkdirSync(folder, { recursive: true });

const file = (name, text) => writeFileSync(join(folder, name), text);
const run = (...words) => execFileSync(tune, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 30 });
const query = (sql) => JSON.parse(run("results", "large", "--sql", sql, "--format", "json"));
const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const median = (numbers) => sorted(numbers)[Math.floor(numbers.length / 2)];
const spread = (numbers, digits = 0) => `${median(numbers).toFixed(digits)} (${Math.min(...numbers).toFixed(digits)} to ${Math.max(...numbers).toFixed(digits)})`;
const table = (head, rows) => console.log([head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n") + "\n");

// ---- the sweep, and who shows it

function makeSweep() {
  if (existsSync(join(folder, "tune.db"))) return;
  file("space.yaml", `name: large
trainable: {curve: {value: "1 - abs(log10(lr) + 2) / 4 - momentum / 9 - 1 / (t + 1)", iterations: ${iterations}}}
metric: accuracy
mode: max
seed: 1
samples: ${trials}
space:
  lr: {loguniform: [1.0e-4, 1.0e-1]}
  momentum: {uniform: [0, 1]}
  layers: {randint: [1, 9]}
  kind: {choice: [adam, sgd, lamb]}
`);
  run("run", "space.yaml", "--cpus", "8");
}

async function serve() {
  const server = spawn(tune, ["ui", "--http", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
  return { server, address: /http:\S+/.exec(line)[0], end: () => new Promise((done) => { server.once("exit", done); server.kill("SIGINT"); }) };
}

// ---- what one answer costs, first and again

async function answers() {
  const times = new Map();
  for (let round = 0; round < rounds; ++round) {
    const ui = await serve();
    const url = new URL(ui.address);
    const headers = { Authorization: "Bearer " + url.searchParams.get("key") };
    const get = async (path) => {
      const begin = performance.now();
      const answer = await fetch(new URL("/api/v1/sweeps" + path, url), { headers });
      const bytes = (await answer.arrayBuffer()).byteLength;
      assert.equal(answer.status, 200, path);
      return { ms: performance.now() - begin, bytes };
    };
    for (const path of ["", "/large", "/large/trials?first=400", "/large/trials", "/large/curves", "/large/course", "/large/importance", "/large/timeline", "/large/trials/7"]) {
      const first = await get(path), again = await get(path);
      const all = times.get(path) ?? { first: [], again: [], bytes: 0 };
      all.first.push(first.ms);
      all.again.push(again.ms);
      all.bytes = first.bytes;
      times.set(path, all);
    }
    await ui.end();
  }
  console.log(`Answers of a server just started, in ms, median (least to most) of ${rounds}:\n`);
  table(["/api/v1/sweeps...", "first", "again", "kB, not packed"],
    [...times].map(([path, all]) => [path || "(list)", spread(all.first), spread(all.again), (all.bytes / 1000).toFixed(0)]));
}

// ---- what a person waits for

const isPainted = () => {
  const canvas = document.querySelector(".plot canvas");
  return canvas?.width > 0 && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0);
};

// From a click to a table that begins with another trial, drawn.
const clickAndWait = (selector) => {
  const first = () => document.querySelector("tbody tr:not(.gap) button.link")?.textContent;
  const before = first(), begin = performance.now();
  [...document.querySelectorAll("th button")].find((b) => b.textContent.startsWith(selector)).click();
  return new Promise((resolve) => {
    const look = () => (first() === before ? requestAnimationFrame(look) : resolve(performance.now() - begin));
    requestAnimationFrame(look);
  });
};

const scroll = (frames) => new Promise((resolve) => {
  const box = document.querySelector(".scroller"), gaps = [];
  let last = performance.now(), left = frames;
  const step = (now) => {
    gaps.push(now - last);
    last = now;
    box.scrollTop += 300;
    if (--left > 0) requestAnimationFrame(step);
    else resolve(gaps.slice(1));
  };
  requestAnimationFrame(step);
});

async function open(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  return { page: await context.newPage(), close: () => context.close(), address };
}

async function page(browser) {
  const seen = { view: [], rows: [], curves: [], all: [], sort: [], frames: [] };
  const [{ number: lowest }] = query("select t.number from trials t join params p on p.trial = t.id where p.name = 'lr' and t.experiment = :experiment order by p.value limit 1");
  for (let round = 0; round < rounds; ++round) {
    const ui = await serve();
    const one = await open(browser, ui.address);
    const begin = performance.now();
    await one.page.goto(ui.address + (ui.address.includes("#") ? "" : "#/large"));
    await one.page.waitForSelector(".overview :text('best: trial')");
    seen.view.push(performance.now() - begin);
    await one.page.waitForSelector("tbody tr button.link");
    seen.rows.push(performance.now() - begin);
    await one.page.waitForFunction(isPainted);
    seen.curves.push(performance.now() - begin);
    await one.page.waitForFunction(() => !/being read/.test(document.querySelector("[aria-label=trials] .soft").textContent));
    seen.all.push(performance.now() - begin);
    seen.sort.push(await one.page.evaluate(clickAndWait, "lr"));
    assert.equal(parseInt(await one.page.textContent("tbody tr:not(.gap) button.link")), lowest);
    seen.frames.push(...await one.page.evaluate(scroll, 120));
    await one.close();
    await ui.end();
  }
  const slow = seen.frames.filter((gap) => gap > 1000 / 60 * 1.5).length;
  console.log(`The page, cold (server and browser profile new each time), median (least to most) of ${rounds}:\n`);
  table(["what", "ms", "goal, ms"], [
    ["first useful view: state, best", spread(seen.view), "1000"],
    ["table's first rows", spread(seen.rows), ""],
    ["curves drawn", spread(seen.curves), "1500"],
    ["all rows read", spread(seen.all), ""],
    ["a click on a column: sorted and drawn", spread(seen.sort), "200"],
    [`frames while scrolling, ${slow} of ${seen.frames.length} late`, spread(seen.frames, 1), "16.7"],
  ]);
}

// ---- from a durable report to what is seen

// Reports what is written to its standard input's file, and tells when each is durable.
const REPORTER = `import sys, time, tune
told = open("told", "w")
for line in open("wanted"):
    tune.report(accuracy=float(line))
    told.write(f"{time.time() * 1000}\\n")
    told.flush()
`;

async function change(browser) {
  file("reporter.py", REPORTER);
  rmSync(join(folder, "wanted"), { force: true });
  execFileSync("mkfifo", [join(folder, "wanted")]);
  const name = `living-${process.pid}`;  // The folder may hold those of earlier runs.
  file("living.yaml", `name: ${name}
trainable: {command: [/usr/bin/python3, reporter.py]}
metric: accuracy
mode: max
samples: 1
space: {x: {uniform: [0, 1]}}
`);
  const living = spawn(tune, ["run", "living.yaml"], { cwd: folder, stdio: "ignore" });
  const wanted = openSync(join(folder, "wanted"), "w");  // Waits for the reporter.
  const ui = await serve();
  const one = await open(browser, ui.address);
  await one.page.goto(ui.address);
  await one.page.goto(new URL(`/#/${name}`, ui.address).href);
  const waits = [];
  for (let step = 1; step <= rounds * 4; ++step) {
    const value = String(Number((0.5 + step / 1000).toFixed(3)));  // As the page shows it.
    const isSeen = one.page.evaluate((text) => new Promise((resolve) => {
      const look = () => (document.querySelector(".overview")?.textContent.includes(text) ? resolve(Date.now()) : requestAnimationFrame(look));
      look();
    }), value);
    writeSync(wanted, value + "\n");
    const seenAt = await isSeen;
    const told = readFileSync(join(folder, "told"), "utf8").trim().split("\n");
    assert.equal(told.length, step);
    waits.push(Math.max(0, seenAt - Number(told.at(-1))));
    await one.page.waitForTimeout(500 + 37 * (step % 7));
  }
  closeSync(wanted);
  await new Promise((done) => living.once("exit", done));
  await one.close();
  await ui.end();
  console.log("From a report that is durable to its value on the page, in ms:\n");
  table(["reports", "median (least to most)", "goal"], [[waits.length, spread(waits), "300"]]);
}

// ---- what pages cost the tuner

function sweepSeconds(name) {
  file("busy.yaml", readFileSync(join(folder, "space.yaml"), "utf8").replace(/^name: .*/m, `name: ${name}`).replace(/^samples: .*/m, `samples: ${Math.ceil(trials / 10)}`));
  const begin = performance.now();
  return new Promise((done) => spawn(tune, ["run", "busy.yaml", "--db", "busy.db", "--cpus", "8"], { cwd: folder, stdio: "ignore" })
    .once("exit", (status) => { assert.equal(status, 0); done((performance.now() - begin) / 1000); }));
}

// A database that is removed while it is open leaves its WAL, which the next sweep refuses.
const ended = (server) => new Promise((done) => { server.once("exit", done); server.kill("SIGINT"); });

const least = (ms) => new Promise((done) => setTimeout(done, ms));

// Follows the events and reads what has changed as often as a page does; it paints nothing.
function follow(address, name) {
  const url = new URL(address);
  const headers = { Authorization: "Bearer " + url.searchParams.get("key") };
  const agent = new http.Agent({ keepAlive: true });
  let revision = "", isReading = false, isDue = false, readCount = 0;
  const get = (path) => new Promise((done, fail) => http.get(new URL("/api/v1/sweeps" + path, url), { headers, agent }, (answer) => {
    let begin = "";
    answer.on("data", (data) => { if (begin.length < 64) begin += data.toString("latin1", 0, 64); });
    answer.on("end", () => done(begin));
  }).on("error", fail));
  const read = async () => {
    isDue = true;
    if (isReading) return;
    isReading = true;
    while (isDue) {
      isDue = false;
      const begin = performance.now();
      try {
        for (const path of ["", `/${name}`, `/${name}/course`]) await get(path);
        revision = /"revision":"([^"]*)"/.exec(await get(`/${name}/trials?since=${revision}`))?.[1] ?? "";
        ++readCount;
      } catch {
        break; // The server has ended.
      }
      await least(Math.max(100, 5 * (performance.now() - begin)));
    }
    isReading = false;
  };
  const events = http.get(new URL("/api/v1/events", url), { headers }, (answer) => answer.on("data", (data) => { if (data.includes("data:")) read(); }).on("error", () => {}));
  events.on("error", () => {});
  return { end: () => { events.destroy(); agent.destroy(); return readCount; } };
}

async function costOfServer() {
  const reports = Math.ceil(trials / 10) * iterations;
  rmSync(join(folder, "busy.db"), { force: true });
  await sweepSeconds("first");
  const alone = [], followed = [], reads = [], cpu = [];
  for (let round = 0; round < rounds; ++round) {
    alone.push(reports / await sweepSeconds(`alone-${round}`));
    const server = spawn(tune, ["ui", "--http", "127.0.0.1:0", "--db", "busy.db"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
    const begin = performance.now();
    const clients = [0, 1, 2].map(() => follow(/http:\S+/.exec(line)[0], `followed-${round}`));
    followed.push(reports / await sweepSeconds(`followed-${round}`));
    const [, user, system] = /^\d+ \(.*\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${server.pid}/stat`, "utf8"));
    cpu.push((Number(user) + Number(system)) / 100 / ((performance.now() - begin) / 1000));
    reads.push(clients.reduce((sum, client) => sum + client.end(), 0));
    await ended(server);
  }
  const ratios = followed.map((rate, i) => rate / alone[i]);
  console.log("A tuner's reports a second, alone and while three clients follow the events and read the changes, and paint nothing:\n");
  table(["alone", "with three clients", "ratio", "goal", "reads of all three", "server's share of a core"],
    [[spread(alone), spread(followed), spread(ratios, 3), "0.97", spread(reads), spread(cpu, 3)]]);
}

async function cost(browser) {
  const reports = Math.ceil(trials / 10) * iterations;
  rmSync(join(folder, "busy.db"), { force: true });
  await sweepSeconds("first");
  const alone = [], shown = [];
  for (let round = 0; round < rounds; ++round) {
    alone.push(reports / await sweepSeconds(`alone-${round}`));
    const server = spawn(tune, ["ui", "--http", "127.0.0.1:0", "--db", "busy.db"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
    const address = /http:\S+/.exec(line)[0];
    const pages = [];
    const done = sweepSeconds(`shown-${round}`);
    for (let i = 0; i < 3; ++i) {
      const one = await open(browser, address);
      await one.page.goto(address);
      await one.page.goto(new URL(`/#/shown-${round}`, address).href);
      pages.push(one);
    }
    shown.push(reports / await done);
    for (const one of pages) await one.close();
    await ended(server);
  }
  const ratios = shown.map((rate, i) => rate / alone[i]);
  console.log("A tuner's reports a second, alone and while three pages of Chromium on the same machine show its sweep:\n");
  table(["alone", "with three pages", "ratio", "goal"], [[spread(alone), spread(shown), spread(ratios, 3), "0.97"]]);
}

makeSweep();
const [{ count }] = query("select count() as count from reports r join trials t on r.trial = t.id where t.experiment = :experiment");
console.log(`${trials} trials, ${count} reports; ${execFileSync(process.env.TUNE_CHROMIUM, ["--version"])}`);
const browser = await chromium.launch({ executablePath: process.env.TUNE_CHROMIUM, args: ["--no-sandbox"] });
try {
  for (const [name, measure] of Object.entries({ answers, page, change, server: costOfServer, cost })) {
    if (!given.only || given.only.split(",").includes(name)) await measure(browser);
  }
} finally {
  await browser.close();
  if (!given.folder) rmSync(folder, { recursive: true, force: true });
}
