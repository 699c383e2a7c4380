"""`/metrics` of `tune ui`: what it tells is what the database holds, and a real Prometheus reads it, the alerts and the board."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
from pathlib import Path

from api_test import TUNE, Page
from free_port import free_port

SHARE = Path(os.environ["TUNE_SOURCE_DIR"], "share")
LONG_S = 60

# Trial 1 fails twice, trial 2 at its first attempt alone; 3 and 4 wait at the gate after a report.
SPACE = """\
name: mixed
trainable: {command: [sh, p.sh, "{x}"]}
metric: acc
mode: max
space: {x: {grid_search: [0, 1, 2, 3, 4]}}
stop: {training_iteration: 2}
failure: {max_failures: 1, backoff: 0s}
"""
PROGRAM = """\
tune report acc=0.$1
[ "$1" = 1 ] && exit 1
[ "$1" = 2 ] && mkdir seen 2>/dev/null && exit 1
[ "$1" -ge 3 ] && cat gate
tune report acc=0.9
"""


def read(text):
    """{"name{label}": value} of the text format, and the types by name."""
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            values[series] = float(value)
    return values, types


class LivingSweep:
    """A sweep of five trials, two of which wait until the class is done, and the page of it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        Path(cls.folder, "space.yaml").write_text(SPACE)
        Path(cls.folder, "p.sh").write_text(PROGRAM)
        os.mkfifo(os.path.join(cls.folder, "gate"))
        environment = {**os.environ, "PATH": os.path.dirname(TUNE) + ":" + os.environ["PATH"]}
        # Trials that stand at the gate keep their places: there must be one more.
        cls.sweep = subprocess.Popen([TUNE, "run", "space.yaml", "--cpus", "3"], cwd=cls.folder, env=environment,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_sweep)
        ended = 0
        for line in cls.sweep.stderr:
            ended += "ended (" in line or " failed after " in line
            if ended == 3:
                break
        cls.page = Page(cls.folder, "--key-file", "key")
        cls.addClassCleanup(cls.page.end)
        deadline = time.monotonic() + LONG_S
        while cls.rows("select count() from reports") != [(9,)]:  # Trials 3 and 4 stand at the gate.
            assert time.monotonic() < deadline, cls.rows("select * from reports")

    @classmethod
    def end_sweep(cls):
        cls.sweep.send_signal(signal.SIGTERM)
        cls.sweep.stderr.read()
        cls.sweep.wait(timeout=LONG_S)
        cls.sweep.stderr.close()

    @classmethod
    def rows(cls, sql):
        with contextlib.closing(sqlite3.connect(os.path.join(cls.folder, "tune.db"))) as database:
            return database.execute(sql).fetchall()

    def scrape(self):
        answer, data = self.page.ask("/metrics")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        return data.decode()


class Told(LivingSweep, unittest.TestCase):
    def test_the_numbers_are_those_of_the_database(self):
        values, _ = read(self.scrape())
        for state, count in (("PENDING", 0), ("RUNNING", 2), ("PAUSED", 0), ("TERMINATED", 2), ("ERROR", 1)):
            self.assertEqual(values[f'tune_trials{{state="{state}"}}'], count)
            self.assertEqual(values[f'tune_sweep_trials{{state="{state}"}}'], count)
        self.assertEqual(values['tune_sweeps{status="RUNNING"}'], 1)
        self.assertEqual(values["tune_sweep_trials_max"], 5)
        self.assertEqual(values["tune_sweep_best_value"], 0.9)
        self.assertEqual(values['tune_trials_ended_total{reason="stop_condition"}'], 2)
        self.assertEqual(values['tune_trials_ended_total{reason="error"}'], 1)
        for outcome, count in self.rows("select outcome, count() from attempts where outcome <> 'running' group by outcome"):
            self.assertEqual(values[f'tune_attempts_ended_total{{outcome="{outcome}"}}'], count)
        self.assertEqual(values['tune_attempts_ended_total{outcome="crashed"}'], 3)
        self.assertEqual(values["tune_retries_total"], 2)  # Of trials 1 and 2.
        self.assertEqual(values["tune_reports_total"], 9)
        last = self.rows("select max(reported_us) from report_rows")[0][0]
        self.assertAlmostEqual(values["tune_last_report_timestamp_seconds"], last / 1e6, places=5)
        self.assertEqual((values['tune_workers{state="alive"}'], values["tune_workers_joined_total"], values["tune_workers_lost_total"]),
                         (1, 1, 0))
        self.assertEqual(values["tune_database_bytes"], os.path.getsize(os.path.join(self.folder, "tune.db")))
        disk = os.statvfs(self.folder)
        self.assertEqual(values["tune_artifacts_disk_size_bytes"], disk.f_blocks * disk.f_frsize)
        self.assertGreater(values["tune_artifacts_disk_free_bytes"], 0)

    def test_labels_are_of_closed_sets_and_all_their_values_are_there_from_the_start(self):
        values, types = read(self.scrape())
        labels = {}
        for series in values:
            name = series.split("{")[0]
            self.assertTrue(name.startswith("tune_"))
            self.assertEqual(types[name] == "counter", name.endswith("_total"), name)
            for label, value in re.findall(r'(\w+)="([^"]*)"', series):
                labels.setdefault((name, label), set()).add(value)
        self.assertEqual({label for _, label in labels}, {"version", "status", "state", "reason", "outcome", "code", "bound"})
        self.assertEqual(labels["tune_trials_ended_total", "reason"],
                         {"completed", "stop_condition", "max_t", "scheduler", "sweep_limit", "user", "error"})
        self.assertEqual(len(labels["tune_attempts_ended_total", "outcome"]), 10)
        self.assertEqual(labels["tune_page_requests_total", "code"], {"2xx", "3xx", "4xx", "5xx"})

    def test_requests_are_counted_by_what_they_were_answered(self):
        before, _ = read(self.scrape())
        self.page.ask("/nothing")
        self.page.ask("/metrics", key=False)
        after, _ = read(self.scrape())
        self.assertEqual(after['tune_page_requests_total{code="4xx"}'] - before['tune_page_requests_total{code="4xx"}'], 2)
        self.assertEqual(after['tune_page_requests_total{code="2xx"}'] - before['tune_page_requests_total{code="2xx"}'], 1)

    def test_a_pause_by_command_is_told(self):
        self.assertEqual(read(self.scrape())[0]["tune_sweep_paused"], 0)
        for verb, told in (("pause", 1), ("unpause", 0)):
            subprocess.run([TUNE, verb], cwd=self.folder, check=True, capture_output=True, timeout=LONG_S)
            self.assertEqual(read(self.scrape())[0]["tune_sweep_paused"], told)

    def test_nobody_without_the_key_is_told(self):
        self.assertEqual(self.page.ask("/metrics", key=False)[0].status, 401)
        self.assertEqual(self.page.ask(f"/metrics?key={self.page.key}", key=False)[0].status, 401)
        self.assertEqual(self.page.ask("/metrics", method="POST")[0].status, 405)

    def test_the_key_file_holds_the_key_of_each_start_for_its_owner_alone(self):
        path = Path(self.folder, "key")
        self.assertEqual(path.read_text(), self.page.key + "\n")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        again = Page(self.folder, "--key-file", "key")
        again.end()
        self.assertEqual(again.key, self.page.key)

    def test_an_empty_key_file_is_what_a_loss_of_power_left_and_is_written(self):
        path = Path(self.folder, "emptied")
        path.touch()
        page = Page(self.folder, "--key-file", "emptied")
        page.end()
        self.assertEqual(path.read_text(), page.key + "\n")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_deleting_a_sweep_takes_nothing_away_from_a_counter(self):
        other = tempfile.TemporaryDirectory()
        self.addCleanup(other.cleanup)
        for name in ("space.yaml", "p.sh"):
            shutil.copy(os.path.join(self.folder, name), other.name)
        space = Path(other.name, "space.yaml")
        space.write_text(SPACE.replace("[0, 1, 2, 3, 4]", "[0, 5]").replace("mixed", "one"))
        Path(other.name, "p.sh").write_text("tune report acc=1\ntune report acc=2\n")
        environment = {**os.environ, "PATH": os.path.dirname(TUNE) + ":" + os.environ["PATH"]}

        def run(*command):
            subprocess.run([TUNE, *command], cwd=other.name, env=environment, check=True, capture_output=True, timeout=LONG_S)

        run("run", "space.yaml")
        page = Page(other.name)
        self.addCleanup(page.end)
        self.assertEqual(read(page.ask("/metrics")[1].decode())[0]["tune_reports_total"], 4)
        run("delete", "one", "--yes")
        self.assertEqual(read(page.ask("/metrics")[1].decode())[0]["tune_reports_total"], 4)
        run("run", "space.yaml")
        values, _ = read(page.ask("/metrics")[1].decode())
        self.assertEqual((values["tune_reports_total"], values['tune_trials{state="TERMINATED"}']), (8, 2))
        self.assertNotIn("tune_sweep_best_value", values)  # None runs.
        # One whose trials people tell has no tuner, and is none that must report.
        run("ask", "space.yaml", "--name", "told")
        values, _ = read(page.ask("/metrics")[1].decode())
        self.assertEqual(values['tune_sweeps{status="RUNNING"}'], 1)
        self.assertNotIn("tune_sweep_start_timestamp_seconds", values)


class Replaced(unittest.TestCase):
    def test_a_database_that_is_put_in_the_place_of_this_one_is_told_from_then_on(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "space.yaml").write_text(
            "name: small\ntrainable: {curve: {value: x, iterations: 2}}\nmetric: acc\nmode: max\nspace: {x: {uniform: [0, 1]}}\n")
        for database, samples in (("tune.db", "1"), ("other.db", "3")):
            subprocess.run([TUNE, "--db", database, "run", "space.yaml", "--samples", samples], cwd=folder.name, check=True,
                           capture_output=True, timeout=LONG_S)
        page = Page(folder.name)
        self.addCleanup(page.end)
        ended = 'tune_trials{state="TERMINATED"}'
        self.assertEqual(read(page.ask("/metrics")[1].decode())[0][ended], 1)
        path = Path(folder.name, "tune.db")
        os.replace(Path(folder.name, "other.db"), path)
        self.assertEqual(read(page.ask("/metrics")[1].decode())[0][ended], 3)
        path.unlink()
        answer, data = page.ask("/metrics")
        self.assertEqual(answer.status, 503)
        self.assertIn("the database that was looked at is not there any more", json.loads(data)["error"])


class KeyFiles(unittest.TestCase):
    def test_a_key_file_that_cannot_be_used_is_told_in_a_line(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "space.yaml").write_text(
            "trainable: {curve: {value: x, iterations: 1}}\nmetric: m\nmode: max\nspace: {x: {uniform: [0, 1]}}\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=folder.name, check=True, capture_output=True, timeout=LONG_S)
        for text, mode, said in (("a" * 32, 0o644, "chmod o= key"), ("short\n", 0o600, "read 5 bytes"), ("a b" * 20, 0o600, "read 60 bytes")):
            with self.subTest(text):
                path = Path(folder.name, "key")
                path.write_text(text)
                path.chmod(mode)
                done = subprocess.run([TUNE, "ui", "--http", "127.0.0.1:0", "--key-file", "key"], cwd=folder.name, text=True,
                                      capture_output=True, timeout=LONG_S)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
                self.assertIn("--key-file", done.stderr)
                self.assertIn(said, done.stderr)


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"),
                     "no prometheus: metrics, alerts and board were not read by it (scripts/install_packages peer)")
class InPrometheus(LivingSweep, unittest.TestCase):
    def promtool(self, *arguments, text=None):
        done = subprocess.run(["promtool", *arguments], input=text, text=True, capture_output=True, timeout=LONG_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_promtool_finds_no_fault_with_metrics_and_alerts(self):
        self.assertEqual(self.promtool("check", "metrics", text=self.scrape()), "")
        self.promtool("check", "rules", str(SHARE / "prometheus" / "tune.rules.yml"))

    def test_each_alert_fires_for_its_reason_and_is_silent_otherwise(self):
        rules = Path(self.folder, "rules")
        rules.mkdir()
        shutil.copy(SHARE / "prometheus" / "tune.rules.yml", rules)
        shutil.copy(Path(__file__).parent / "tune.rules.test.yml", rules)
        self.promtool("test", "rules", str(rules / "tune.rules.test.yml"))
        alerts = re.findall(r"- alert: (\w+)", (rules / "tune.rules.yml").read_text())
        tested = re.findall(r'alertname="(\w+)"', (rules / "tune.rules.test.yml").read_text())
        self.assertEqual(set(alerts), set(tested))

    def test_every_expression_of_the_board_and_of_the_alerts_finds_data_of_a_real_sweep(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "prometheus.yml").write_text(f"""\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
rule_files: [{SHARE / "prometheus" / "tune.rules.yml"}]
scrape_configs:
  - job_name: tune
    authorization: {{credentials_file: {self.folder}/key}}
    static_configs: [{{targets: ["127.0.0.1:{self.page.port}"]}}]
""")
        port = free_port()
        prometheus = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"],
            cwd=folder.name, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []

        def end():
            prometheus.terminate()
            prometheus.wait(timeout=LONG_S)
            reader.join()
            prometheus.stderr.close()

        ready = threading.Event()

        def listen():
            for line in prometheus.stderr:
                said.append(line)
                if "ready to receive web requests" in line:
                    ready.set()

        reader = threading.Thread(target=listen)
        reader.start()
        self.addCleanup(end)
        self.assertTrue(ready.wait(LONG_S), "".join(said))

        def query(expression):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG_S)
            connection.request("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
            answer = json.loads(connection.getresponse().read())
            connection.close()
            self.assertEqual(answer["status"], "success", (expression, answer))
            return answer["data"]["result"]

        deadline = time.monotonic() + LONG_S
        while not query("count_over_time(tune_build_info[1m]) >= 3"):
            self.assertLess(time.monotonic(), deadline, query("up"))
            time.sleep(0.1)
        board = json.loads((SHARE / "grafana" / "tune.json").read_text())
        expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        self.assertGreater(len(expressions), 15)
        for expression in expressions:
            asked = expression.replace("$job", ".*").replace("$instance", ".*").replace("$__rate_interval", "1m")
            with self.subTest(expression):
                self.assertNotIn("$", asked)
                self.assertTrue(query(asked))
        rules = (SHARE / "prometheus" / "tune.rules.yml").read_text()
        known = read(self.scrape())[0]
        for name in set(re.findall(r"tune_[a-z_]+", json.dumps(expressions) + "".join(re.findall(r"expr: (.*?)\n +(?:for|labels)", rules, re.S)))):
            with self.subTest(name):
                self.assertTrue(any(series.split("{")[0] == name for series in known))


if __name__ == "__main__":
    unittest.main()
