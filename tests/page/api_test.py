"""`tune ui` over real connections: what it gives, to whom, and what it refuses."""

import base64
import contextlib
import gzip
import hashlib
import http.client
import http.server
import json
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import warnings
from pathlib import Path

try:
    from contract import Contract
    CONTRACT = Contract()
except ImportError:  # tests/page/api_test says so.
    CONTRACT = None

TUNE = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")

SPACE = """\
name: small
trainable: {curve: {value: "1 - abs(log10(lr) + 2) / 4 - 1 / (t + 1)", iterations: 9}}
metric: val_accuracy
mode: max
seed: 3
samples: 12
space: {lr: {loguniform: [1.0e-4, 1.0e-1]}, kind: {choice: ["<script>alert(1)</script>", sgd]}}
scheduler: {asha: {max_t: 9, grace_period: 1}}
"""


class Client:
    """One client of a page, whose address somebody printed; over TLS it trusts the certificates of a file alone."""

    def __init__(self, address, trusted=None):
        scheme, self.host, port, self.key = re.search(r"(https?)://(.+):(\d+)/\?key=([0-9a-f]{32})(?:&cert=[0-9a-f]{64})?$", address).groups()
        self.port = int(port)
        self.tls = ssl.create_default_context(cafile=trusted) if scheme == "https" else None

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, method="GET", key=True, headers=None, body=None):
        connection = self.connect()
        sent = {"Authorization": "Bearer " + self.key} if key else {}
        connection.request(method, path, body=body, headers={**sent, **(headers or {})})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if CONTRACT and path.startswith("/api/v1/") and answer.status != 304 and method != "HEAD":
            text = gzip.decompress(data) if answer.headers["Content-Encoding"] == "gzip" else data
            CONTRACT.check(method, path, answer.status, answer.headers["Content-Type"], json.loads(text))
        return answer, data

    def json(self, path):
        answer, data = self.ask("/api/v1" + path)
        assert answer.status == 200, (answer.status, data)
        return json.loads(data)

    def trials(self, name):
        table = self.json(f"/sweeps/{name}/trials")
        assert table["is_whole"]
        return [dict(zip(table["columns"], row)) for row in table["rows"]]

    def raw(self, data):
        """All that is answered to these bytes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            out = b""
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return out
                out += piece

    def request(self, path, header):
        return f"GET {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\n{header}\r\n\r\n".encode()

    def hold(self, stack, path, header, origin="127.0.0.1"):
        """A connection from an address of this machine that has asked this and stays, and the status of its answer."""
        connection = stack.enter_context(
            contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(origin, 0))))
        connection.sendall(self.request(path, header))
        return connection, connection.recv(12)[9:]

    def act(self, action, name="small", **headers):
        """The status and the answer to an action: a value, or the body's own text."""
        body = action if isinstance(action, (str, bytes)) else json.dumps(action)
        sent = {"Content-Type": "application/json", **{key.replace("_", "-"): value for key, value in headers.items()}}
        answer, data = self.ask(f"/api/v1/sweeps/{name}/actions", method="POST", body=body,
                                key="Cookie" not in headers, headers={k: v for k, v in sent.items() if v is not None})
        if CONTRACT and answer.status == 200:
            CONTRACT.check_action(json.loads(body))
        return answer.status, json.loads(data)


class Page(Client):
    """A running `tune ui`."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [TUNE, "ui", "--http", "127.0.0.1:0", *options], cwd=folder, text=True, stdout=subprocess.PIPE)
        super().__init__(self.process.stdout.readline())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        return status


# Its trials run until somebody ends them.
ENDLESS = """\
name: small
trainable: {command: [sh, p.sh], metrics: {acc: {regex: 'acc: {number}'}}}
metric: acc
mode: max
samples: 6
limits: {max_concurrent: 2}
space: {x: {uniform: [0, 1]}}
"""


class Run(Client):
    """`tune run` or `tune resume` with its page, as long as it runs; a trial of ENDLESS reports once a line is written to `go`."""

    def __init__(self, folder, *arguments, options=("--http", "127.0.0.1:0"), trusted=None):
        self.folder = folder
        self.process = subprocess.Popen([TUNE, *arguments, "--ui", *options], cwd=folder, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.said = []
        super().__init__(self.say("the page of "), trusted)

    def say(self, what):
        """The next line of standard error that has this in it."""
        for line in self.process.stderr:
            self.said.append(line)
            if what in line:
                return line
        raise AssertionError("".join(self.said))

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        self.said.append(err)
        return self.process.returncode


@unittest.skipUnless(CONTRACT, "no openapi-spec-validator")
class TheContract(unittest.TestCase):
    def test_it_is_sound_and_holds_nothing_that_is_not_used(self):
        CONTRACT.lint()
        self.assertEqual(CONTRACT.unused_schemas(), set())

    def test_it_names_each_address_that_the_page_asks(self):
        source = "".join(path.read_text() for path in (Path(__file__).resolve().parents[2] / "web" / "src").iterdir())
        asked = set(re.findall(r"(?:[pP]ath\}|path \+ \"|[pP]ath && path \+ \")/(\w+)", source)) - {"trials"}
        self.assertIn("workers", asked)
        for part in asked:
            self.assertTrue(any(path.endswith("/" + part) for path in CONTRACT.document["paths"]), part)


class OfASweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(cls.folder, "space.yaml"), "w") as file:
            file.write(SPACE)
        subprocess.run([TUNE, "run", "space.yaml"], cwd=cls.folder, check=True, timeout=120, capture_output=True)
        cls.page = Page(cls.folder)
        cls.addClassCleanup(cls.page.end)
        cls.cookie = f"tune_key_{cls.page.port}={cls.page.key}"

    def rows(self, sql):
        with sqlite3.connect(os.path.join(self.folder, "tune.db")) as database:
            return database.execute(sql).fetchall()

    def test_sweeps_trials_and_curves_are_those_of_the_database(self):
        (sweep,) = self.page.json("/sweeps")
        self.assertEqual((sweep["name"], sweep["status"], sweep["counts"]), ("small", "FINISHED", {"TERMINATED": 12}))
        number, value, at = self.rows(
            "select number, best_value, best_iteration from trials order by best_value desc, number limit 1")[0]
        self.assertEqual((sweep["best"]["number"], sweep["best"]["value"], sweep["best"]["iteration"]), (number, value, at))
        self.assertIsNone(sweep["best"]["runs"])
        trials = self.page.trials("small")
        self.assertEqual(
            [(t["number"], t["status"], t["iterations"], t["best_value"], t["config"]) for t in trials],
            [(n, s, i, v, json.loads(c))
             for n, s, i, v, c in self.rows("select number, status, iterations, best_value, config from trials order by number")])
        curves = self.page.json("/sweeps/small/curves")
        self.assertEqual((curves["left_out"], curves["stride"]), (0, 1))
        points = [(c["trial"], i, v) for c in curves["curves"] for i, v in zip(c["iterations"], c["values"])]
        self.assertEqual(points, self.rows(
            "select t.number, r.iteration, r.value from reports r join trials t on t.id = r.trial order by t.number, r.iteration"))
        chosen = self.page.json("/sweeps/small/curves?trials=3,1")
        self.assertEqual([c["trial"] for c in chosen["curves"]], [1, 3])

    def test_the_course_tells_how_the_best_value_rose_and_what_each_rung_let_through(self):
        course = self.page.json("/sweeps/small/course")
        best, steps = None, []
        for trial, iteration, value in self.rows("select t.number, r.iteration, r.value from reports r join trials t on t.id = r.trial"):
            if best is None or value > best:
                best = value
                steps.append((trial, iteration, value))
        self.assertEqual([(b["trial"], b["iteration"], b["value"]) for b in course["best"]], steps)
        self.assertEqual(
            [(r["rung"], r["reached"], r["stopped"]) for r in course["rungs"]],
            self.rows("select rung, count(), sum(decision = 'stop') from decisions where rung is not null group by rung order by rung"))
        self.assertFalse(course["is_behind"])
        self.assertEqual(course["stopped_early"], self.rows("select count() from trials where stop_reason = 'scheduler'")[0][0])
        self.assertEqual(course["iterations"], self.rows("select sum(iterations) from trials")[0][0])

    def test_attempts_lie_on_the_workers_that_ran_them(self):
        timeline = self.page.json("/sweeps/small/timeline")
        rows = [dict(zip(timeline["attempts"]["columns"], row)) for row in timeline["attempts"]["rows"]]
        self.assertEqual([(r["trial"], r["attempt"], r["outcome"]) for r in rows],
                         self.rows("select t.number, a.number, a.outcome from attempts a join trials t on t.id = a.trial order by 1, 2"))
        self.assertEqual({r["worker"] for r in rows}, {w["id"] for w in timeline["workers"]})
        self.assertTrue(all(r["started"] <= r["finished"] for r in rows))

    def test_importance_is_what_the_command_says(self):
        said = json.loads(subprocess.run([TUNE, "importance", "small", "--format", "json"], cwd=self.folder, check=True,
                                         timeout=60, capture_output=True).stdout)
        while (weighed := self.page.json("/sweeps/small/importance"))["is_behind"]:
            pass
        (metric,) = weighed["metrics"]
        self.assertEqual([(p["name"], p["share"]) for p in metric["parameters"]], [(row["parameter"], row["importance"]) for row in said])

    def test_trials_are_compared_at_the_iteration_that_importance_compares_at(self):
        def read(part):
            while (answer := self.page.json("/sweeps/small/" + part))["is_behind"]:
                pass
            return answer

        compared = read("compared")
        self.assertEqual(compared["iteration"], read("importance")["metrics"][0]["iteration"])
        at = compared["iteration"]
        self.assertEqual(compared["rows"], [list(row) for row in self.rows(
            "SELECT t.number, max(r.value) FROM trials AS t JOIN reports AS r ON r.trial = t.id"
            f" WHERE r.iteration <= {at} AND t.iterations >= {at} GROUP BY t.number ORDER BY t.number")])
        self.assertNotEqual(compared["rows"], [list(row) for row in self.rows("SELECT number, best_value FROM trials ORDER BY number")])

    def test_a_trial_comes_with_its_decisions_attempts_and_reports(self):
        stopped = self.rows("select number from trials where stop_reason = 'scheduler' limit 1")[0][0]
        detail = self.page.json(f"/sweeps/small/trials/{stopped}")
        self.assertEqual(detail["decisions"][-1]["decision"], "stop")
        self.assertEqual(detail["attempts"][0]["outcome"], "stopped")
        self.assertEqual(len(detail["latest_reports"]), detail["trial"][0]["iterations"])
        self.assertEqual(detail["notes"], [])
        trial = detail["trial"][0]
        self.assertEqual((trial["feasible"], trial["violation"]), (None, None))

    def test_nobody_without_the_key_sees_anything(self):
        for path in ("/", "/api/v1/sweeps", "/nothing", "/?key=", "/?key=" + "0" * 32, "/?key=" + self.page.key[:-1]):
            with self.subTest(path):
                answer, data = self.page.ask(path, key=False)
                self.assertEqual((answer.status, json.loads(data)), (401, {"error": "open the address with the key that was printed when this page was started, or that tune tokens made for you"}))
        for header in ({"Cookie": f"tune_key_{self.page.port}=" + "0" * 32}, {"Cookie": "tune_key=" + self.page.key}, {"Authorization": self.page.key}, {"Authorization": "Bearer "}):
            self.assertEqual(self.page.ask("/", key=False, headers=header)[0].status, 401)

    def test_the_address_with_the_key_gives_a_cookie_and_leads_to_the_one_without(self):
        answer, _ = self.page.ask("/?key=" + self.page.key, key=False)
        self.assertEqual((answer.status, answer.headers["Location"]), (303, "/"))
        given = answer.headers["Set-Cookie"]
        self.assertRegex(given, rf"^{self.cookie}\.[0-9a-f]{{8}}; Path=/; HttpOnly; SameSite=Lax$")
        for cookie in (given.split(";")[0], self.cookie, f"a=b; {self.cookie}; c=d"):
            self.assertEqual(self.page.ask("/", key=False, headers={"Cookie": cookie})[0].status, 200)

    def test_two_pages_of_one_machine_do_not_take_each_others_cookie(self):
        other = Page(self.folder)
        self.addCleanup(other.end)
        theirs = other.ask("/?key=" + other.key, key=False)[0].headers["Set-Cookie"].split(";")[0]
        self.assertNotEqual(theirs.split("=")[0], self.cookie.split("=")[0])
        both = {"Cookie": f"{self.cookie}; {theirs}"}
        self.assertEqual([page.ask("/", key=False, headers=both)[0].status for page in (self.page, other)], [200, 200])

    def test_names_of_elsewhere_are_refused_whoever_asks(self):
        for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "localhost.evil", "[::2]:80",
                     "127.0.0.1:8080@evil.example", "localhost:8080, evil.example", "localhost:", "[::1].evil.example"):
            with self.subTest(host):
                self.assertEqual(self.page.ask("/", headers={"Host": host})[0].status, 403)
        for host in ("localhost", f"localhost:{self.page.port}", f"127.0.0.1:{self.page.port}", "[::1]:80"):
            with self.subTest(host):
                self.assertEqual(self.page.ask("/", headers={"Host": host})[0].status, 200)

    def test_each_answer_keeps_the_browser_from_running_or_loading_anything_else(self):
        for path, key in (("/", True), ("/api/v1/sweeps", True), ("/", False), ("/nothing", True)):
            headers = self.page.ask(path, key=key)[0].headers
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; "))
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        page = self.page.ask("/")[1].decode()
        self.assertIsNone(re.search(r"<script(?![^>]*src=)|<style|style=|https?://", page))

    def test_nothing_can_be_changed(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
            with self.subTest(method):
                answer = self.page.ask("/api/v1/sweeps", method=method)[0]
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(self.page.ask("/api/v1/sweeps", method="POST", body=b"x" * 100)[0].status, 405)
        self.assertEqual(self.page.ask("/api/v1/sweeps", method="POST", body=b"x" * 1100000)[0].status, 413)
        status, said = self.page.act({"stop": {}})
        self.assertEqual((status, said), (403, {"error": "this page shows, and changes nothing; one that acts is served by tune ui --act, "
                                                         "and by tune run --ui"}))
        self.assertFalse(self.page.json("/sweeps/small")["may_act"])

    def test_what_is_not_there_or_cannot_be_read_is_told_in_a_line(self):
        for path, status, text in (
            ("/api/v1/sweeps/nix", 404, "no sweep is named 'nix'"),
            ("/api/v1/sweeps/small/trials/99", 404, "small has no trial 99"),
            ("/api/v1/sweeps/small/trials/x", 404, "nothing at this address"),
            ("/api/v1/sweeps/small%2Ftrials%2F1", 400, "the address cannot be read: no name has a '/'"),
            ("/api/v1/sweeps/small/curves?trials=1,a", 400, "trials: read 'a', expected numbers such as 1,2,3"),
            ("/api/v1/sweeps/small/curves?metric=%22", 404, "no trial of small reports '\"'"),
            ("/api/v1/sweeps/small/trials/1/log?from=x", 400, "from: read 'x', expected a whole number"),
            ("/api/v1/sweeps/small/trials/1/log?attempt=-1", 400, "attempt: read '-1', expected 0 or a number above it"),
            ("/api/v1/sweeps/small/trials?first=-4", 400, "first: read '-4', expected 0 or a number above it"),
            ("/api/v1/sweeps/small/trials?limit=0", 400, "limit: read '0', expected a whole number from 1 to 10000"),
            ("/api/v1/sweeps/small/trials?offset=x", 400, "offset: read 'x', expected a whole number from 0 to 1099511627776"),
            ("/api/v1/sweeps/small/trials?order=up", 400, "order: read 'up', expected one of asc, desc"),
            ("/api/v1/sweeps/small/trials?status=running", 400, "status: read 'running', expected one of PENDING, RUNNING, PAUSED, TERMINATED, ERROR"),
            ("/api/v1/sweeps/small/trials?first=1.5", 400, "first: read '1.5', expected a whole number"),
            ("/api/v1/sweeps/small/curves?metric=nope", 404, "no trial of small reports 'nope'"),
            ("/api/v1/sweeps/small/curves?trials=2,99", 404, "small has no trial 99"),
            ("/api/v1/sweeps/small/trials/1/log/1", 404, "nothing at this address"),
            ("/api/v1/sweeps/small/nix", 404, "nothing at this address"),
            ("/api/v1/sweeps/nix/course", 404, "no sweep is named 'nix'"),
            ("/api/v1/sweeps//trials", 404, "nothing at this address"),
            ("/api/v1/sweeps/", 404, "nothing at this address"),
            ("/api/v1/sweeps/small/trials/", 404, "nothing at this address"),
            ("/api/v2/sweeps", 404, "nothing at this address"),
            ("/../../etc/passwd", 404, "nothing at this address"),
            ("/api/v1/sweeps/%00", 400, "the address cannot be read"),
            ("/api/v1/sweeps/%zz", 400, "the address cannot be read"),
        ):
            with self.subTest(path):
                answer, data = self.page.ask(path)
                self.assertEqual(answer.status, status)
                self.assertIn(text, json.loads(data)["error"])

    def test_what_has_not_changed_is_not_sent_again(self):
        answer, data = self.page.ask("/api/v1/sweeps/small/trials")
        same, empty = self.page.ask("/api/v1/sweeps/small/trials", headers={"If-None-Match": answer.headers["ETag"]})
        self.assertEqual((same.status, empty), (304, b""))
        subprocess.run([TUNE, "run", "space.yaml", "--samples", "2"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        again, more = self.page.ask("/api/v1/sweeps/small/trials", headers={"If-None-Match": answer.headers["ETag"]})
        self.assertEqual((again.status, more), (200, data))  # Another sweep has changed, not this one.
        self.assertNotEqual(again.headers["ETag"], answer.headers["ETag"])
        subprocess.run([TUNE, "delete", "small-2", "--yes"], cwd=self.folder, timeout=120, capture_output=True)

    def test_only_trials_that_changed_since_a_revision_are_sent(self):
        first = self.page.json("/sweeps/small/trials")
        self.assertTrue(first["is_whole"])
        nothing = self.page.json("/sweeps/small/trials?since=" + first["revision"])
        self.assertEqual((nothing["is_whole"], nothing["rows"], nothing["revision"]), (False, [], first["revision"]))
        for unknown in ("nix", "nix.1", first["revision"] + "9", first["revision"].split(".")[0] + ".-1"):
            self.assertTrue(self.page.json("/sweeps/small/trials?since=" + unknown)["is_whole"])

    def test_a_page_of_trials_is_ordered_and_of_a_kind(self):
        whole = self.page.json("/sweeps/small/trials")
        column = whole["columns"].index
        by_value = sorted((row for row in whole["rows"] if row[column("best_value")] is not None), key=lambda row: (-row[column("best_value")], row[0]))
        without = [row for row in whole["rows"] if row[column("best_value")] is None]
        best = self.page.json("/sweeps/small/trials?limit=5&sort=best_value&order=desc")
        self.assertEqual((best["revision"], best["is_whole"], best["left_out"]), ("", False, len(whole["rows"]) - 5))
        self.assertEqual([row[0] for row in best["rows"]], [row[0] for row in by_value[:5]])
        rest = self.page.json("/sweeps/small/trials?limit=10000&offset=5&sort=best_value&order=desc")
        self.assertEqual([row[0] for row in rest["rows"]], [row[0] for row in by_value[5:] + without])
        ended = self.page.json("/sweeps/small/trials?status=TERMINATED&order=desc")
        self.assertEqual([row[0] for row in ended["rows"]], [row[0] for row in reversed(whole["rows"]) if row[1] == "TERMINATED"])
        self.assertEqual(ended["left_out"], 0)
        self.assertEqual(self.page.json("/sweeps/small/trials?offset=10000")["rows"], [])

    def test_of_very_many_trials_the_best_and_the_newest_are_sent_first(self):
        first = self.page.json("/sweeps/small/trials?first=6")
        best = [n for n, in self.rows("select number from trials where experiment = 1 order by best_value desc, number limit 3")]
        numbers = sorted({*best, 9, 10, 11})
        self.assertEqual([row[0] for row in first["rows"]], numbers)
        self.assertEqual((first["revision"], first["is_whole"], first["left_out"]), ("", False, 12 - len(numbers)))
        whole = self.page.json("/sweeps/small/trials")
        self.assertEqual(whole["left_out"], 0)
        self.assertEqual(first["rows"], [row for row in whole["rows"] if row[0] in numbers])
        self.assertEqual(self.page.json("/sweeps/small/trials?first=400"), whole)  # Of few all, with a revision.

    def test_an_event_tells_of_each_change_of_the_database(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.page.port, timeout=60)
        connection.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + self.page.key})
        events = connection.getresponse()
        self.assertEqual((events.status, events.headers["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(self.page.ask("/api/v1/events", key=False)[0].status, 401)

        def next_event():
            for line in events:
                if line.startswith(b"data: "):
                    return line
            self.fail("the stream has ended")

        before = next_event()  # Where it is.
        subprocess.run([TUNE, "run", "space.yaml", "--name", "another", "--samples", "1"], cwd=self.folder, check=True, timeout=120,
                       capture_output=True)
        self.assertNotEqual(next_event(), before)
        connection.close()
        subprocess.run([TUNE, "delete", "another", "--yes"], cwd=self.folder, timeout=120, capture_output=True)

    def test_a_browser_listens_a_few_times_and_many_leave_a_place_for_who_holds_less(self):
        page = Page(self.folder)
        self.addCleanup(page.end)

        def listen(browser, origin="127.0.0.1"):
            return page.hold(stack, "/api/v1/events", f"Cookie: tune_key_{page.port}={page.key}.{browser}", origin)

        with contextlib.ExitStack() as stack:
            listening = [listen("a") for _ in range(5)]
            self.assertEqual([status for _, status in listening], [b"200"] * 4 + [b"503"])
            listening[0][0].close()
            self.assertEqual(listen("a")[1], b"200")  # Who leaves is noticed, also while nothing is told.
            crowd = [listen(f"b{i}") for i in range(28)]
            self.assertEqual([status for _, status in crowd], [b"200"] * 28)  # All places are taken.
            self.assertEqual(listen("c")[1], b"200")  # One of the first browser's is closed for it.
            self.assertEqual(listen("a")[1], b"503")
            self.assertEqual(listen("d", "127.0.0.2")[1], b"200")
            self.assertEqual(page.ask("/")[0].status, 200)

    def test_idle_connections_with_a_key_shut_nobody_out(self):
        asked = ("/api/v1/sweeps", "Authorization: Bearer " + self.page.key)
        with contextlib.ExitStack() as stack:
            other, status = self.page.hold(stack, *asked, "127.0.0.2")
            self.assertEqual(status, b"200")
            for _ in range(100):
                self.assertEqual(self.page.hold(stack, *asked)[1], b"200")
            other.recv(1 << 20)
            other.sendall(self.page.request(*asked))
            self.assertEqual(other.recv(12)[9:], b"200")  # Who holds little keeps it.

    def test_answers_are_packed_for_those_who_take_it(self):
        plain, text = self.page.ask("/api/v1/sweeps/small/trials")
        packed, data = self.page.ask("/api/v1/sweeps/small/trials", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertIsNone(plain.headers["Content-Encoding"])
        self.assertEqual(gzip.decompress(data), text)
        head, nothing = self.page.ask("/api/v1/sweeps/small/trials", method="HEAD")
        self.assertEqual((head.headers["Content-Length"], nothing), (str(len(text)), b""))

    def test_nonsense_and_requests_too_long_end_their_connection_alone(self):
        line, host, key = b"GET / HTTP/1.1\r\n", b"Host: localhost\r\n", f"Authorization: Bearer {self.page.key}\r\n".encode()
        post = b"POST /api/v1/sweeps/small/actions HTTP/1.1\r\n" + host + key
        for data in (b"\x16\x03\x01\x02\x00", b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     line.replace(b"\r", b"") + host.replace(b"\r", b"") + b"\n", line + host + b"X : a\r\n\r\n", line + host + b": a\r\n\r\n",
                     line + host + b"X: a\0b\r\n\r\n", line + host, post + b"Content-Length: -1\r\n\r\n",
                     post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", post + b"Content-Length: 20\r\n\r\n{}"):
            with self.subTest(data):
                answer = self.page.raw(data)
                self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
                self.assertIn(b'{"error":"this is no request of HTTP/1.1: ', answer)
        self.assertEqual(self.page.raw(b""), b"")
        long = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n"
        self.assertIn(b" 431 ", self.page.raw(long % (b"x" * 9000)))
        with contextlib.suppress(OSError):  # It is closed while there is more to come.
            self.page.raw(long % (b"x" * 1000000))
        self.assertEqual(self.page.ask("/")[0].status, 200)

    def test_a_request_that_does_not_come_to_its_end_is_told_so(self):
        head = b"POST /api/v1/sweeps/small/actions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{}"
        with socket.create_connection(("127.0.0.1", self.page.port), timeout=60) as connection:
            connection.sendall(head)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer)
        self.assertTrue(answer.endswith(b'{"error":"the request did not come to its end in time"}'), answer)

    def test_a_crowd_of_idle_connections_does_not_end_it(self):
        crowd = [socket.create_connection(("127.0.0.1", self.page.port), timeout=60) for _ in range(100)]
        for connection in crowd:
            connection.close()
        self.assertEqual(self.page.ask("/")[0].status, 200)

    def test_idle_connections_without_a_key_do_not_make_the_others_wait(self):
        with contextlib.ExitStack() as stack:
            def connect():
                return stack.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", self.page.port), timeout=60)))

            def is_open(connection):
                """Whether the server has not closed it; what it said is taken away."""
                connection.setblocking(False)
                try:
                    while connection.recv(65536):
                        pass
                    return False
                except BlockingIOError:
                    return True
                except ConnectionResetError:
                    return False

            with_key = connect()
            head = f"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.page.key}\r\n\r\n".encode()
            with_key.sendall(head)
            self.assertIn(b"HTTP/1.1 200", with_key.recv(12))
            idle = []
            for i in range(40):
                idle.append(connect())
                if i % 2:  # Also those who ask, and have no key.
                    idle[-1].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(self.page.ask("/")[0].status, 200)
            # The oldest gave way before all places were taken, and before their time was over.
            self.assertEqual([is_open(one) for one in idle], [False] * 25 + [True] * 15)
            with_key.recv(1 << 20)
            with_key.sendall(head)
            self.assertIn(b"HTTP/1.1 200", with_key.recv(12))  # Who is known stays.

    def test_several_requests_go_over_one_connection(self):
        one = f"GET /api/v1/sweeps HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.page.key}\r\n\r\n".encode()
        self.assertEqual(self.page.raw(one * 3).count(b"HTTP/1.1 200 OK"), 3)


class Acting(unittest.TestCase):
    """The page of a sweep that runs, which commands it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        Path(self.folder, "space.yaml").write_text(ENDLESS)
        # Each report waits for a reader of its own: none is sent before somebody asks.
        Path(self.folder, "p.sh").write_text("while :; do read x < go; echo acc: 1; done\n")
        os.mkfifo(os.path.join(self.folder, "go"))

    def begin(self, *arguments, running=2, **options):
        run = Run(self.folder, *(arguments or ("run", "space.yaml")), **options)
        self.addCleanup(run.end)
        self.until(run, lambda: run.json("/sweeps/small")["counts"].get("RUNNING") == running)
        return run

    def page_of(self, run):
        """The process that serves it."""
        children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
        (page,) = [pid for pid in children if b"ui" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
        return int(page)

    def until(self, page, holds):
        """Waits for changes of the database until something holds."""
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
        connection.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + page.key})
        for line in connection.getresponse():
            if line.startswith(b"data: ") and holds():
                connection.close()
                return
        self.fail("the page has ended")

    def status_of(self, page, trial):
        return page.json(f"/sweeps/small/trials/{trial}")["trial"][0]["status"]

    def test_trials_and_the_sweep_are_commanded_in_the_control_sockets_words(self):
        run = self.begin()
        self.assertTrue(run.json("/sweeps/small")["may_act"])
        self.assertEqual(run.act({"pause": {"trial": 1, "now": True}}),
                         (200, {"ok": ["trial 1 is ended now and paused; it goes on from iteration 0 later; tune unpause small --trial 1 lets it go on"]}))
        self.assertEqual(self.status_of(run, 1), "PAUSED")
        self.assertEqual(run.act({"unpause": {"trial": 1}}), (200, {"ok": ["trial 1 goes on when there is room for it"]}))
        self.assertEqual(run.act({"stop": {"trial": 0, "now": True}}), (200, {"ok": ["trial 0 is stopped"]}))
        self.assertEqual(self.status_of(run, 0), "TERMINATED")
        status, said = run.act({"set": {"settings": ["max_concurrent=1", "limits.trial_time=20m"]}})
        self.assertEqual((status, said["ok"][0]), (200, "limits.max_concurrent is 1, was 2"))
        self.assertEqual(run.json("/sweeps/small")["spec"]["limits"], {"max_concurrent": 1, "trial_time": "20m"})
        status, said = run.act({"pause": {}})
        self.assertEqual(status, 200)
        self.assertIn("small is paused: nothing new is started", said["ok"][0])
        self.assertEqual(run.json("/sweeps/small")["status"], "PAUSED")
        self.assertEqual(run.json("/sweeps")[0]["status"], "PAUSED")
        self.assertEqual(run.act({"unpause": {}}), (200, {"ok": ["small goes on"]}))
        status, said = run.act({"stop": {"now": True}})
        self.assertEqual(status, 200)
        self.assertIn("small stops", said["ok"][0])
        self.assertEqual(run.process.wait(timeout=60), 0)
        self.assertEqual(run.end(), 0)
        self.assertIn("tune stop: small stops", "".join(run.said))  # Who watches the terminal is told, too.

    def test_what_cannot_be_done_is_one_clear_error(self):
        run = self.begin()
        self.assertEqual(run.act({"stop": {"trial": 0, "now": True}})[0], 200)
        for action, status, code, text in (
            ({"stop": {"trial": 99}}, 404, "not_found", "small has no trial 99; it has trials 0 to "),
            ({"pause": {"trial": 0}}, 409, "failed_precondition", "trial 0 of small is over (TERMINATED, user)"),
            ({"unpause": {}}, 409, "failed_precondition", "small is not paused"),
            ({"set": {"settings": ["max_concurent=1"]}}, 400, "invalid_argument", "did you mean 'max_concurrent'?"),
            ({"set": {"settings": ["limits.max_concurrent=0"]}}, 400, "invalid_argument", "max_concurrent"),
            ({"set": {"settings": ["space=1"]}}, 400, "invalid_argument", "what decides (space, search, scheduler, metric) cannot change"),
            ({"set": {}}, 400, "invalid_argument", "set: settings are missing"),
            ({"drain": {"worker": "nix"}}, 404, "not_found", "there is no worker 'nix' from another machine"),
            ({"stop": {"trial": "3"}}, 400, "invalid_argument", "trial: read '3', expected an integer from 0"),
            ({"stop": {"trail": 3}}, 400, "invalid_argument", "stop: unknown key 'trail'"),
            ({"stop": 3}, 400, "invalid_argument", "stop: read 3, expected an object"),
            ({"halt": {}}, 400, "invalid_argument", "unknown key 'halt'"),
            ({"stop": {}, "pause": {}}, 400, "invalid_argument", "expected one of pause, unpause, stop, set, drain, note, resume, delete and again"),
            ({"tuner": 1}, 400, "invalid_argument", "the verb is missing"),
            ({"delete": {}}, 409, "failed_precondition", "no head holds the database; from a terminal: tune delete small"),
            ({"resume": {}}, 409, "failed_precondition", "no head holds the database; from a terminal: tune resume small"),
            ({"submit": {}}, 400, "invalid_argument", "submit: spec is missing"),
            ({"devices": {}}, 400, "invalid_argument", "devices: expected one of pause, unpause, stop, set, drain, note, resume, delete and again"),
            ([], 400, "invalid_argument", "the body: expected one of pause"),
            ("{\"stop\": ", 400, "invalid_argument", "the body: 1:10: "),
            ("", 400, "invalid_argument", "the body: "),
            (b"\xff", 400, "invalid_argument", "the body: "),
            ("[" * 3000, 400, "invalid_argument", "the body: "),
            ({"stop": {"x": "y" * 70000}}, 413, "resource_exhausted", "the body has more than 65536 bytes"),
        ):
            with self.subTest(str(action)[:60]):
                given, said = run.act(action)
                self.assertEqual((given, said["code"], said.keys()), (status, code, {"error", "code"}))
                self.assertIn(text, said["error"])
                self.assertNotIn("\n", said["error"])
        # Nobody typed a command line.
        self.assertRegex(run.act({"set": {"settings": ["limits.max_concurrent=abc"]}})[1]["error"], r"^limits\.max_concurrent: read 'abc'")
        self.assertEqual(run.act({"stop": {}}, name="nix")[0], 404)
        self.assertEqual(run.ask("/api/v1/sweeps/small/trials/0/actions", method="POST", body="{}",
                                 headers={"Content-Type": "application/json"})[0].status, 404)
        self.assertEqual(run.json("/sweeps/small")["status"], "RUNNING")

    def test_only_the_page_itself_and_who_has_the_key_may_act(self):
        run = self.begin()
        cookie = f"tune_key_{run.port}={run.key}"
        own = f"http://127.0.0.1:{run.port}"
        stop = {"stop": {"trial": 0}}
        for headers, status, text in (
            ({"Cookie": "tune_key=" + "0" * 32, "Origin": own}, 401, "open the address with the key"),
            ({"Cookie": cookie}, 403, "Origin: read '', expected " + own),
            ({"Cookie": cookie, "Origin": "https://evil.example"}, 403, "Origin: read 'https://evil.example', expected " + own),
            ({"Cookie": cookie, "Origin": "null"}, 403, "Origin: read 'null'"),
            ({"Cookie": cookie, "Origin": "http://127.0.0.1:1"}, 403, "Origin: read 'http://127.0.0.1:1'"),
            ({"Cookie": cookie, "Origin": own, "Host": f"localhost:{run.port}"}, 403, f"expected http://localhost:{run.port}"),
            ({"Cookie": cookie, "Origin": own, "Host": "evil.example"}, 403, "127.0.0.1 or localhost alone"),
            ({"Origin": "https://evil.example"}, 403, "Origin: read"),
            ({"Cookie": cookie, "Origin": own, "Content_Type": "text/plain"}, 415, "Content-Type: read 'text/plain', expected application/json"),
            ({"Cookie": cookie, "Origin": own, "Content_Type": "application/x-www-form-urlencoded"}, 415, "expected application/json"),
            ({"Content_Type": None}, 415, "Content-Type: read '', expected application/json"),
        ):
            with self.subTest(headers):
                given, said = run.act(stop, **headers)
                self.assertEqual(given, status)
                self.assertIn(text, said["error"])
        for method in ("PUT", "DELETE", "PATCH"):
            self.assertEqual(run.ask("/api/v1/sweeps/small/actions", method=method, body="{}",
                                     headers={"Content-Type": "application/json"})[0].status, 405)
        self.assertEqual(run.act({"pause": {"trial": 0, "now": True}}, Cookie=cookie, Origin=own, Content_Type="application/json; charset=utf-8")[0], 200)
        self.assertEqual(run.act({"unpause": {"trial": 0}})[0], 200)  # A program that sends the key itself.

    def test_a_page_that_may_act_tells_where_no_tuner_lives(self):
        run = self.begin()
        page = Page(self.folder, "--act")
        self.addCleanup(page.end)
        self.assertTrue(page.json("/sweeps/small")["may_act"])
        self.assertEqual(page.act({"pause": {"trial": 0, "now": True}})[0], 200)  # Beside another page.
        looks = Page(self.folder)
        self.addCleanup(looks.end)
        self.assertFalse(looks.json("/sweeps/small")["may_act"])
        self.assertEqual(run.end(), 130)
        self.assertEqual(page.act({"stop": {}}),
                         (409, {"error": "small is INTERRUPTED: no tuner runs it that could be asked", "code": "failed_precondition"}))
        self.assertFalse(page.json("/sweeps/small")["may_act"])
        resumed = self.begin("resume")
        resumed.process.kill()
        resumed.process.wait(timeout=60)
        self.assertEqual(page.act({"stop": {}})[0], 409)

    def test_notes_and_tags_are_written_by_who_may_act_to_any_sweep(self):
        run = self.begin()
        self.assertEqual(run.act({"note": {"note": "it's <b>new</b>\n2", "tags": {"team": "vision", "late": ""}}}),
                         (200, {"ok": ["small: late team=vision", "  it's <b>new</b>", "  2"]}))
        sweep = run.json("/sweeps/small")
        self.assertEqual((sweep["note"], sweep["tags"], sweep["may_note"]), ("it's <b>new</b>\n2", {"team": "vision", "late": ""}, True))
        looks = Page(self.folder)
        self.addCleanup(looks.end)
        self.assertFalse(looks.json("/sweeps/small")["may_note"])
        self.assertEqual(looks.json("/sweeps")[0]["tags"], {"team": "vision", "late": ""})
        for change, status, text in (
            ({"untag": ["nix"]}, 404, "no tag is called 'nix'; there are late team=vision"),
            ({"tags": {"a b": "1"}}, 400, "tag: read 'a b', expected a key without spaces"),
            ({"tags": {"a": 1}}, 400, "tags: read 1, expected a text"),
            ({"note": "x" * 10001}, 400, "note: read 10001 bytes, expected at most 10000"),
            ({"text": "x"}, 400, "note: unknown key 'text'"),
            ({}, 400, "note: expected note, tags or untag"),
        ):
            with self.subTest(str(change)[:40]):
                given, said = run.act({"note": change})
                self.assertEqual(given, status)
                self.assertIn(text, said["error"])
        self.assertEqual(run.end(), 130)
        page = Page(self.folder, "--act")
        self.addCleanup(page.end)
        self.assertEqual(page.act({"note": {"note": "", "untag": ["late"]}}), (200, {"ok": ["small: team=vision"]}))  # No tuner lives.
        self.assertEqual(page.json("/sweeps/small")["note"], "")

    def test_workers_are_told_with_what_is_booked_and_what_waits_with_why(self):
        Path(self.folder, "space.yaml").write_text(ENDLESS.replace("limits: {max_concurrent: 2}", "resources: {cpu: 1, gpu: 0.5}"))
        run = self.begin("run", "space.yaml", options=("--http", "127.0.0.1:0", "--cpus", "4", "--gpus", "1"))
        now = run.json("/sweeps/small/workers")
        self.assertTrue(now["is_told"])
        (worker,) = now["workers"]
        self.assertEqual((worker["worker"], worker["is_local"], worker["state"], worker["cpus"]), ("local", True, "alive", 4))
        self.assertLess(worker["silent_seconds"], 30)
        self.assertEqual(worker["slices"], [{"trial": 0, "cpus": 1}, {"trial": 1, "cpus": 1}])
        (device,) = now["devices"]
        self.assertEqual([(s["trial"], s["gpu"]) for s in device["slices"]], [(0, 0.5), (1, 0.5)])
        self.assertEqual(now["waiting"], [{"trial": None, "count": 4, "why": "there is no room now: it needs cpu: 1, gpu: 0.5; "
                                                                           "local has 2 of 4 CPUs and 0 of its 1 GPU free"}])
        run.act({"pause": {"trial": 1, "now": True}})
        paused = {"trial": 1, "count": 1, "why": "was paused by a person"}  # Once its process has ended.
        self.until(run, lambda: paused in run.json("/sweeps/small/workers")["waiting"])
        page = Page(self.folder)
        self.addCleanup(page.end)
        self.assertEqual(page.json("/sweeps/small/workers")["workers"][0]["worker"], "local")  # Who only looks is told the same.
        run.end()
        after = page.json("/sweeps/small/workers")
        self.assertEqual((after["is_told"], after["workers"], after["devices"], after["waiting"]), (False, [], [], []))
        self.assertEqual([w["name"] for w in after["known"]], ["local"])

    def test_a_tuner_that_does_not_answer_is_told_and_the_page_goes_on(self):
        run = self.begin()
        os.kill(run.process.pid, signal.SIGSTOP)
        try:
            status, said = run.act({"stop": {}})
        finally:
            os.kill(run.process.pid, signal.SIGCONT)
        self.assertEqual((status, said["code"]), (503, "unavailable"))
        self.assertIn(f"the tuner with pid {run.process.pid} on ", said["error"])
        self.assertEqual(run.ask("/")[0].status, 200)

    def test_the_page_ends_with_its_sweep_and_the_sweep_does_not_end_with_its_page(self):
        run = self.begin()
        os.kill(self.page_of(run), signal.SIGKILL)
        self.assertIn("the page ended with signal 9 (Killed); what runs goes on without it, and tune ui shows it", run.say("the page ended"))
        again = Page(self.folder, "--act")
        self.addCleanup(again.end)
        self.assertEqual(again.act({"stop": {"now": True}})[0], 200)
        run.process.wait(timeout=60)  # By itself.
        self.assertEqual(run.end(), 0)
        again.end()
        run = Run(self.folder, "run", "space.yaml", "--name", "other")
        self.addCleanup(run.end)
        events = run.connect()
        events.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + run.key})
        stream = events.getresponse()
        self.assertTrue(any(line.startswith(b"data: ") for line in stream))
        self.assertEqual(run.act({"stop": {"now": True}}, name="other")[0], 200)
        self.assertIn(b"event: end\n", list(stream))  # Until the page is gone.
        events.close()
        self.assertEqual(run.process.wait(timeout=60), 0)
        with self.assertRaises(ConnectionRefusedError):
            run.ask("/")

    def test_the_page_dies_with_a_tuner_that_is_killed(self):
        run = self.begin()
        page = os.pidfd_open(self.page_of(run))
        self.addCleanup(os.close, page)
        run.process.kill()
        self.assertTrue(select.select([page], [], [], 60)[0])

    def test_a_worker_of_another_machine_is_let_leave(self):
        run = self.begin("run", "space.yaml", options=("--http", "127.0.0.1:0", "--cpus", "1", "--listen", "127.0.0.1:0"), running=1)
        line = next((line for line in run.said if "workers join with: " in line), None) or run.say("workers join with: ")
        join = line.split("workers join with: ")[1].split()
        worker = subprocess.Popen([TUNE, *join[1:], "--cpus", "1"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(worker.wait, 60)
        self.addCleanup(worker.terminate)
        self.until(run, lambda: run.json("/sweeps/small")["counts"].get("RUNNING") == 2)
        (other,) = [w for w in run.json("/sweeps/small/workers")["workers"] if not w["is_local"]]
        self.assertEqual((other["state"], len(other["slices"])), ("alive", 1))
        status, said = run.act({"drain": {"worker": other["address"]}})
        self.assertEqual(status, 200)
        self.assertRegex(said["ok"][0], r"^worker .* leaves: it gets no more trials, ")
        self.assertEqual(worker.wait(timeout=60), 0)

    def test_a_page_that_cannot_be_served_leaves_the_sweep_alone(self):
        Path(self.folder, "space.yaml").write_text(SPACE.replace("samples: 12", "samples: 2"))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = subprocess.run([TUNE, "run", "space.yaml", "--ui", "--http", f"127.0.0.1:{taken.getsockname()[1]}"], cwd=self.folder,
                                  text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0)
        self.assertIn("small FINISHED: 2 trials", done.stdout)

    def test_a_place_that_is_wrong_is_refused_before_anything_starts(self):
        for arguments, text in ((("--ui", "--http", "0.0.0.0"), "expected HOST:PORT"),
                                (("--http", "127.0.0.1:0"), "--http says where --ui is served")):
            for command in (("run", "space.yaml"), ("resume",)):
                with self.subTest((command, arguments)):
                    done = subprocess.run([TUNE, *command, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
                    self.assertIn(text, done.stderr)
        self.assertFalse(Path(self.folder, "tune.db").exists())

    def test_a_sweep_in_the_background_tells_where_its_page_is(self):
        done = subprocess.run([TUNE, "run", "space.yaml", "--detach", "--ui", "--http", "127.0.0.1:0"], cwd=self.folder, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Client(re.search(r"the page of tune\.db: (\S+)", done.stderr)[1])
        self.assertEqual(page.act({"stop": {"now": True}})[0], 200)
        subprocess.run([TUNE, "attach"], cwd=self.folder, capture_output=True, timeout=60)


class BeyondThisMachine(unittest.TestCase):
    """A page that other machines reach: over TLS, with a key for those who act and one for those who look."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        Path(self.folder, "space.yaml").write_text(SPACE.replace("samples: 12", "samples: 2"))
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        self.own = os.path.join(self.folder, "tune.artifacts", "tls", "page_certificate.pem")

    def begin(self, *options, place="0.0.0.0:0", lines=2):
        """The first lines that it prints."""
        process = subprocess.Popen([TUNE, "ui", "--http", place, *options], cwd=self.folder, text=True, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.send_signal, signal.SIGINT)
        return [process.stdout.readline() for _ in range(lines)]

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, timeout=60, capture_output=True)

    def make_certificate(self, name, days="30"):
        """NAME.key and NAME.pem; of -1 day it has expired."""
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key",
                     "-out", name + ".csr", "-subj", "/CN=localhost")
        Path(self.folder, name + ".ext").write_text("subjectAltName = DNS:localhost, IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", name + ".csr", "-signkey", name + ".key", "-days", days, "-extfile", name + ".ext",
                     "-out", name + ".pem")

    def test_it_is_served_over_tls_with_a_certificate_that_it_makes_once(self):
        first, told = self.begin()
        page = Client(first, self.own)
        self.assertTrue(first.startswith("the page of tune.db: https://"))
        self.assertNotIn("0.0.0.0", first)
        certificate = Path(self.own).read_text()
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest().upper()
        self.assertIn(":".join(re.findall("..", digest)), told)
        self.assertEqual([s["name"] for s in page.json("/sweeps")], ["small"])
        answer, _ = page.ask("/?key=" + page.key, key=False)
        self.assertRegex(answer.headers["Set-Cookie"], rf"^tune_key_{page.port}={page.key}\.[0-9a-f]{{8}}; Path=/; HttpOnly; SameSite=Lax; Secure$")
        for host in (f"{page.host}:{page.port}", "tuner.example.org", f"localhost:{page.port}"):
            self.assertEqual(page.ask("/", headers={"Host": host})[0].status, 200)
        self.assertEqual(page.ask("/", key=False)[0].status, 401)
        self.assertEqual({path.stat().st_mode & 0o777 for path in Path(self.own).parent.iterdir()}, {0o600})
        again = Client(self.begin()[0], self.own)
        self.assertEqual(Path(self.own).read_text(), certificate)
        self.assertEqual(again.ask("/")[0].status, 200)

    def test_nothing_is_told_without_tls(self):
        page = Client(self.begin()[0], self.own)
        head = f"GET /?key={page.key} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        answer = page.raw(head)
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "))
        self.assertTrue(answer.endswith(b'{"error":"this page is served over TLS: its address begins with https://"}'))
        for nonsense in (b"", b"\x16", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x16\x03\x01\xff\xff" + b"x" * 70000):
            with contextlib.suppress(OSError):  # It is closed while there is more to come.
                self.assertNotIn(b"200 OK", page.raw(nonsense))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            old.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises(ssl.SSLError), socket.create_connection(("127.0.0.1", page.port), timeout=60) as connection:
            old.wrap_socket(connection)
        self.assertEqual(page.ask("/")[0].status, 200)

    def test_events_come_over_tls(self):
        page = Client(self.begin()[0], self.own)
        connection = page.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + page.key})
        events = (line for line in connection.getresponse() if line.startswith(b"data: "))
        before = next(events)
        subprocess.run([TUNE, "run", "space.yaml", "--name", "another", "--samples", "1"], cwd=self.folder, check=True, timeout=120,
                       capture_output=True)
        self.assertNotEqual(next(events), before)

    def test_a_certificate_of_ones_own_is_shown_on_this_machine_too(self):
        self.make_certificate("mine")
        given = ("--tls-cert", "mine.pem", "--tls-key", "mine.key")
        for place in ("0.0.0.0:0", "127.0.0.1:0"):
            page = Client(self.begin(*given, place=place, lines=1)[0], os.path.join(self.folder, "mine.pem"))
            self.assertEqual(page.ask("/")[0].status, 200)
        self.assertFalse(Path(self.own).exists())

    def test_a_certificate_that_is_renewed_is_shown_and_one_that_does_not_do_is_told_once(self):
        for name in ("mine", "new", "other"):
            self.make_certificate(name)
        process = subprocess.Popen([TUNE, "ui", "--http", "127.0.0.1:0", "--tls-cert", "mine.pem", "--tls-key", "mine.key"], cwd=self.folder,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        address = process.stdout.readline()

        def ask(trusted):
            return Client(address, os.path.join(self.folder, trusted)).ask("/")[0].status

        shutil.copy(os.path.join(self.folder, "mine.pem"), os.path.join(self.folder, "first.pem"))
        kept = Client(address, os.path.join(self.folder, "first.pem")).connect()
        head = {"Authorization": "Bearer " + Client(address).key}
        kept.request("GET", "/api/v1/sweeps", headers=head)
        kept.getresponse().read()
        os.replace(os.path.join(self.folder, "new.key"), os.path.join(self.folder, "mine.key"))
        self.assertEqual([ask("first.pem") for _ in range(3)], [200] * 3)  # Half of a pair.
        shutil.copy(os.path.join(self.folder, "new.pem"), os.path.join(self.folder, "renewed.pem"))
        os.replace(os.path.join(self.folder, "new.pem"), os.path.join(self.folder, "mine.pem"))
        self.assertEqual(ask("renewed.pem"), 200)
        with self.assertRaises(ssl.SSLError):
            ask("first.pem")
        kept.request("GET", "/api/v1/sweeps", headers=head)  # Who is there already stays.
        self.assertEqual(kept.getresponse().status, 200)
        kept.close()
        os.unlink(os.path.join(self.folder, "mine.pem"))
        self.assertEqual([ask("renewed.pem") for _ in range(3)], [200] * 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        lines = said.splitlines()
        self.assertEqual(len(lines), 2, said)
        self.assertIn("tune: --tls-key: mine.key: the key is not that of the certificate", lines[0])
        self.assertIn("tune: --tls-cert: cannot open mine.pem", lines[1])
        for line in lines:
            self.assertIn("; the page goes on with the certificate that it has", line)

    def test_a_certificate_that_does_not_do_is_refused_in_a_line(self):
        self.make_certificate("mine")
        self.make_certificate("other")
        self.make_certificate("old", days="-1")
        self.openssl("ec", "-in", "mine.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key")
        for certificate, key, text in (
            ("mine.pem", None, "--tls-cert: its key is missing; name that file, too: --tls-key FILE"),
            (None, "mine.key", "--tls-key: its certificate is missing; name that file, too: --tls-cert FILE"),
            ("nix.pem", "mine.key", "--tls-cert: cannot open nix.pem: No such file or directory"),
            ("mine.pem", "nix.key", "--tls-key: cannot open nix.key: No such file or directory"),
            (".", "mine.key", "--tls-cert: . is not a file"),
            ("mine.key", "mine.key", "--tls-cert: mine.key: there is no certificate in it, expected PEM"),
            ("mine.pem", "mine.pem", "--tls-key: mine.pem: there is no private key in it, expected PEM"),
            ("mine.pem", "other.key", "--tls-key: other.key: the key is not that of the certificate in --tls-cert: mine.pem"),
            ("mine.pem", "locked.key", "--tls-key: locked.key: a password locks the key"),
            ("old.pem", "old.key", "--tls-cert: old.pem: the certificate expired at "),
        ):
            given = [word for option, file in (("--tls-cert", certificate), ("--tls-key", key)) if file for word in (option, file)]
            for command in (("ui",), ("run", "space.yaml", "--ui"), ("resume", "--ui")):
                with self.subTest((command, given)):
                    done = subprocess.run([TUNE, *command, "--http", "0.0.0.0:0", *given], cwd=self.folder, text=True, timeout=60,
                                          stdin=subprocess.DEVNULL, capture_output=True)
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                    self.assertIn("tune: " + text, done.stderr)
        done = subprocess.run([TUNE, "run", "space.yaml", "--tls-cert", "mine.pem"], cwd=self.folder, text=True, timeout=60, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (2, "tune: --tls-cert says where --ui is served; without --ui it does nothing\n"))
        os.makedirs(os.path.dirname(self.own))
        done = subprocess.run([TUNE, "ui", "--http", "0.0.0.0:0"], cwd=self.folder, text=True, timeout=60, capture_output=True)
        self.assertRegex(done.stderr, r"^tune: the page's certificate: .*can be read by other users;.*--tls-cert FILE --tls-key FILE serves it")

    def test_a_viewer_looks_and_only_a_user_acts(self):
        Path(self.folder, "space.yaml").write_text(ENDLESS)
        Path(self.folder, "p.sh").write_text("while :; do read x < go; echo acc: 1; done\n")
        os.mkfifo(os.path.join(self.folder, "go"))
        run = Run(self.folder, "run", "space.yaml", "--name", "endless", options=("--http", "0.0.0.0:0"), trusted=self.own)
        self.addCleanup(run.end)
        viewer = Client(run.say("for those who only look: "), self.own)
        run.say("its certificate is signed by nobody else")
        self.assertEqual(viewer.port, run.port)
        self.assertNotEqual(viewer.key, run.key)
        self.assertTrue(run.json("/sweeps/endless")["may_act"])
        self.assertFalse(viewer.json("/sweeps/endless")["may_act"])
        self.assertEqual(viewer.ask("/metrics")[0].status, 200)
        said = (403, {"error": "a viewer's key shows, and changes nothing; who may act opens the page with another one: a user's or an admin's of "
                              "tune tokens, or the other address that was printed when this page was started"})
        own = f"https://127.0.0.1:{run.port}"
        cookie = viewer.ask("/?key=" + viewer.key, key=False)[0].headers["Set-Cookie"].split(";")[0]
        self.assertEqual(viewer.act({"stop": {}}, name="endless"), said)
        self.assertEqual(viewer.act({"stop": {}}, name="endless", Cookie=cookie, Origin=own), said)
        self.assertEqual(run.act({"stop": {}}, name="endless", Cookie=f"tune_key_{run.port}={run.key}",
                                 Origin=own.replace("https", "http"))[0], 403)
        self.assertEqual(run.act({"stop": {"now": True}}, name="endless", Cookie=f"tune_key_{run.port}={run.key}", Origin=own)[0], 200)
        run.process.wait(timeout=60)  # By itself.
        self.assertEqual(run.end(), 0)

    def test_a_key_that_is_kept_keeps_the_viewers_too(self):
        keys = [[Client(line, self.own).key for line in self.begin("--act", "--key-file", "key")] for _ in range(2)]
        self.assertEqual(keys[0], keys[1])
        self.assertEqual(keys[0][0], Path(self.folder, "key").read_text().strip())
        looks = Client(self.begin("--key-file", "key")[0], self.own)
        looks.key = keys[0][1]
        self.assertEqual(looks.ask("/")[0].status, 200)  # What a viewer was given counts on where nobody acts.


class ForClientsElsewhere(unittest.TestCase):
    """What `tune --head` asks; that it works is seen in tests/e2e/remote_head_test.cc."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        head = subprocess.Popen([TUNE, "head", "--cpus", "1", "--http", "127.0.0.1:0"], cwd=self.folder, text=True, stderr=subprocess.PIPE)

        def end():
            head.terminate()
            head.communicate(timeout=60)

        self.addCleanup(end)
        self.page = Client(next(line for line in head.stderr if "the page of " in line).strip())

    def post(self, path, body, type="application/json", **more):
        answer, data = self.page.ask("/api/v1" + path, method="POST", body=body, headers={"Content-Type": type}, **more)
        return answer.status, json.loads(data)

    def command(self, *arguments):
        connection = self.page.connect()
        self.addCleanup(connection.close)
        connection.request("POST", "/api/v1/commands", json.dumps({"arguments": arguments}), {"Authorization": "Bearer " + self.page.key})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def test_a_command_is_answered_with_what_it_prints(self):
        self.assertEqual(self.command("list", "--format", "json"), (200, b"o 0\no 3\n[]\nx 0\n"))
        status, said = self.command("list", "--format", "xml")
        self.assertEqual((status, said[:6], said[-4:]), (200, b"o 0\ne ", b"x 2\n"))

    def test_the_metrics_do_not_tell_of_a_job_as_of_the_sweep_that_runs(self):
        os.mkfifo(os.path.join(self.folder, "gate"))
        subprocess.run([TUNE, "submit", "--no-wait", "--name", "job", "--", "sh", "-c", "read line < gate"], cwd=self.folder, check=True, capture_output=True)
        deadline = time.monotonic() + 60
        while 'tune_trials{state="RUNNING"} 1' not in (told := self.page.ask("/metrics")[1].decode()):
            self.assertLess(time.monotonic(), deadline, told)
        self.assertIn('tune_sweeps{status="RUNNING"} 1', told)
        self.assertNotIn("tune_sweep_trials", told)
        self.assertNotIn("tune_sweep_start_timestamp_seconds", told)  # Which asks for a report within the hour.
        subprocess.run([TUNE, "stop", "job", "--now"], cwd=self.folder, check=True, capture_output=True)

    def test_only_the_key_itself_opens_these_doors(self):
        cookie = self.page.ask("/?key=" + self.page.key, key=False)[0].headers["Set-Cookie"].split(";")[0]
        own = f"http://127.0.0.1:{self.page.port}"
        for path in ("/commands", "/submissions", "/packages/" + "a" * 64):
            for headers, why in (({}, "Authorization: read '', expected 'Bearer KEY'"),
                                 ({"Cookie": cookie, "Origin": own}, "what a browser keeps is for the page alone"),
                                 ({"Authorization": "Bearer " + "0" * 32}, "the key that was sent is not one of this head's, or not any more")):
                answer, data = self.page.ask("/api/v1" + path, method="POST", key=False, body="{}",
                                             headers={"Content-Type": "application/json", **headers})
                self.assertEqual(answer.status, 401)
                self.assertIn(why, json.loads(data)["error"])

    def test_what_cannot_be_read_is_told_in_a_line(self):
        for body in ("", "{", "[]", "{}", '{"arguments": []}', '{"arguments": "list"}', '{"arguments": [1]}', '{"arguments": ["list"], "width": "x"}',
                     '{"arguments": ["run"]}', '{"arguments": ["list", "--db", "/tmp/x.db"]}', '{"arguments": ["li\\u0000st"]}'):
            status, said = self.post("/commands", body)
            self.assertEqual(status, 400, (body, said))
        for body in ("", "{}", '{"tuner": 1, "sweep": "a", "stop": {}}', '{"tuner": 1, "sweep": "a", "submit": {}}',
                     '{"tuner": 1, "sweep": "a", "submit": {"seed": "1", "spec": "{}", "base_dir": "/", "provenance": "{"}}'):
            status, said = self.post("/submissions", body)
            self.assertIn(status, (400, 500), (body, said))
            self.assertEqual(said["error"].count("\n"), 0)
        self.assertEqual(self.command("list", "--format", "json")[1], b"o 0\no 3\n[]\nx 0\n")

    def test_a_submission_may_be_as_long_as_one_on_the_heads_machine(self):
        status, said = self.post("/submissions", "[" + " " * 1500000)
        self.assertEqual(status, 400, said)
        self.assertEqual(self.post("/commands", "[" + " " * 1500000), (413, {"error": "the body has more than 1048576 bytes"}))
        for path, length, limit in (("/submissions", "Content-Length: 9000000\r\n\r\n", 8388608), ("/submissions?a=b", "Content-Length: 9000000\r\n\r\n", 8388608),
                                    ("/commands", "Transfer-Encoding: chunked\r\n\r\n200000\r\n", 1048576)):
            said = self.page.raw(f"POST /api/v1{path} HTTP/1.1\r\nHost: localhost:{self.page.port}\r\n{length}".encode())
            self.assertIn(b" 413 ", said)
            self.assertIn(f"the body has more than {limit} bytes".encode(), said)

    def test_who_is_older_is_told_before_anything_is_done(self):
        answer, _ = self.page.ask("/api/v1/sweeps")
        ours = int(answer.headers["Tune-Protocol"])
        self.assertEqual(self.page.ask("/api/v1/sweeps", headers={"Tune-Protocol": str(ours)})[0].status, 200)
        for theirs, older in ((ours + 1, "the head is older"), (ours - 1 or "x", "expected the number")):
            for path, method in (("/sweeps", "GET"), ("/commands", "POST"), ("/submissions", "POST")):
                answer, data = self.page.ask("/api/v1" + path, method, body=None if method == "GET" else "{}", headers={"Tune-Protocol": str(theirs)})
                self.assertEqual((answer.status, older in json.loads(data)["error"]), (426, True), data)

    def test_an_older_head_is_named_as_such(self):
        class Older(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"o 3\nold x 0\n")

            do_POST = do_GET

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Older) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/?key=" + "0" * 32
            for arguments in (["list"], ["submit", "--", "true"]):
                said = subprocess.run([TUNE, "--head", address, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertNotEqual(said.returncode, 0)
                self.assertEqual((said.stdout, said.stderr.count("\n")), ("", 1), said.stderr)
                self.assertIn("the head is older, or it is none; install tune", said.stderr)
            server.shutdown()

    def test_one_key_leaves_a_quarter_of_the_places_to_others(self):
        viewer = hashlib.sha256(("tune page viewer 1 " + self.page.key).encode()).hexdigest()[:32]
        Path(self.folder, "space.yaml").write_text(ENDLESS)
        Path(self.folder, "p.sh").write_text("while :; do sleep 1; done\n")
        subprocess.run([TUNE, "submit", "space.yaml"], cwd=self.folder, check=True, capture_output=True, timeout=60)

        def follow(key):
            connection = self.page.connect()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/v1/commands", json.dumps({"arguments": ["logs", "small/0", "-f"]}), {"Authorization": "Bearer " + key})
            answer = connection.getresponse()
            self.addCleanup(answer.close)  # It holds the connection, too.
            return answer

        self.assertEqual([follow(self.page.key).status for _ in range(18)], [200] * 18)
        refused = follow(self.page.key)
        self.assertEqual((refused.status, json.loads(refused.read())["error"]),
                         (503, "with this key 18 commands run here just now; the other 6 places are for other keys"))
        self.assertEqual([follow(viewer).status for _ in range(6)], [200] * 6)
        self.assertEqual(follow(viewer).status, 503)

    def test_a_package_comes_in_bit_by_bit(self):
        text = os.urandom(3000)
        name = hashlib.sha256(text).hexdigest()
        at = f"/packages/{name}?bytes=3000"
        self.assertEqual(self.page.json(at), {"have": 0})
        self.assertEqual(self.post(at + "&from=0", text[:1000], "application/octet-stream"), (200, {"have": 1000}))
        self.assertEqual(self.post(at + "&from=0", text[:1000], "application/octet-stream")[0], 409)
        self.assertEqual(self.post(at + "&from=1000", text[1000:], "application/octet-stream"), (200, {"have": 3000}))
        self.assertEqual(self.page.json(at), {"have": 3000})
        self.assertEqual((Path(self.folder) / "tune.artifacts/packages" / name).read_bytes(), text)
        wrong = "/packages/" + "a" * 64 + "?bytes=4"
        self.assertEqual(self.post(wrong + "&from=0", b"abcd", "application/octet-stream")[0], 422)
        self.assertEqual(self.page.json(wrong), {"have": 0})
        for path in ("/packages/../../etc/passwd?bytes=4", "/packages/xyz?bytes=4", "/packages/" + "a" * 64,
                     "/packages/" + "a" * 64 + "?bytes=-1", "/packages/" + "a" * 64 + "?bytes=9999999999999"):
            self.assertIn(self.page.ask("/api/v1" + path)[0].status, (400, 404), path)

    def test_who_goes_away_at_once_ends_nothing_else(self):
        """A command that is ended before its program runs has the page's own handlers of signals."""
        body = json.dumps({"arguments": ["jobs"]})
        request = (f"POST /api/v1/commands HTTP/1.1\r\nHost: 127.0.0.1:{self.page.port}\r\nAuthorization: Bearer {self.page.key}\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        for _ in range(60):
            with socket.create_connection(("127.0.0.1", self.page.port), timeout=60) as connection:
                connection.sendall(request)
        self.assertEqual(self.command("list", "--format", "json")[1], b"o 0\no 3\n[]\nx 0\n")

    def test_nothing_is_written_but_in_a_folder_of_the_commands_own(self):
        for arguments in (["export", "a", "--to", "csv", "/etc/x"], ["export", "--to=csv", "../x"], ["export", "--to", "csv", "--", "x"],
                          ["export", "--to", "csv"], ["best", "--export=/etc/x"], ["plot", "a", "--svg", "../x"], ["report", "--html", "/x"],
                          ["results", "--sql", "select 1", "--db=/tmp/x"]):
            self.assertEqual(self.post("/commands", json.dumps({"arguments": arguments}))[0], 400, arguments)

    def test_what_is_over_is_gone_on_with_and_deleted_by_the_head(self):
        def wait_for(name, status):
            deadline = time.monotonic() + 60
            while (sweep := self.page.json("/sweeps/" + name))["status"] != status:
                self.assertLess(time.monotonic(), deadline, sweep)
            return sweep

        def submit(name, iterations, more=""):
            Path(self.folder, name + ".yaml").write_text(
                f"trainable: {{curve: {{value: x, iterations: {iterations}, seconds: 0.01, checkpoint_bytes: 100}}}}\nmetric: loss\nmode: min\nsamples: 2\n"
                f"space: {{x: {{uniform: [0, 1]}}}}\n{more}")
            subprocess.run([TUNE, "submit", name + ".yaml"], cwd=self.folder, check=True, capture_output=True, timeout=60)

        submit("small", 2)
        sweep = wait_for("small", "FINISHED")
        self.assertEqual((sweep["may_manage"], sweep["may_act"]), (True, False))
        self.assertEqual(self.page.act({"resume": {"samples": 3}}), (200, {"ok": ["small goes on from 2 trials"]}))
        self.until_counts({"TERMINATED": 3})
        wait_for("small", "FINISHED")
        self.assertEqual(self.page.act({"resume": {}})[0], 409)
        self.assertEqual(self.page.act({"resume": {"samples": 1}})[0], 400)
        submit("learner", 1000000, "from: small\nsearch: {algorithm: tpe}\n")
        self.assertFalse(wait_for("learner", "RUNNING")["may_manage"])
        status, said = self.page.act({"delete": {}})
        self.assertEqual((status, said["error"]), (409, "learner, which is not finished, learns from small; delete that one first"))
        self.assertEqual(self.page.act({"delete": {}}, name="learner")[0], 409)  # It runs.
        self.assertEqual(self.page.act({"stop": {"now": True}}, name="learner")[0], 200)
        wait_for("learner", "STOPPED")
        self.assertTrue(Path(self.folder, "tune.artifacts", "small").exists())
        for name in ("small", "learner"):
            self.assertEqual(self.page.act({"delete": {}}, name=name), (200, {"ok": [name + " is deleted"]}))
            self.assertFalse(Path(self.folder, "tune.artifacts", name).exists())
        self.assertEqual(self.page.json("/sweeps"), [])

    def over(self, name, status="FINISHED"):
        deadline = time.monotonic() + 60
        while (sweep := self.page.json("/sweeps/" + name))["status"] != status:
            self.assertLess(time.monotonic(), deadline, sweep)
        return sweep

    def tune(self, *arguments):
        return subprocess.run([TUNE, *arguments], cwd=self.folder, check=True, capture_output=True, text=True, timeout=60).stdout

    def test_what_the_head_knows_is_submitted_again_as_it_was_or_changed(self):
        Path(self.folder, "small.yaml").write_text(
            "trainable: {curve: {value: x, iterations: 2}}\nmetric: loss\nmode: min\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n")
        self.tune("submit", "small.yaml", "--tag", "team=vision", "--tag", "keep")
        self.assertTrue(self.over("small")["may_again"])
        self.assertEqual(self.page.act({"again": {}}), (200, {"ok": ["small-2"]}))
        again = self.over("small-2")
        self.assertEqual((again["spec"], again["tags"], again["counts"]),
                         (self.page.json("/sweeps/small")["spec"], {"team": "vision"}, {"TERMINATED": 2}))
        changed = {"name": "longer", "samples": 3, "seed": "7", "settings": ["space.x.uniform=[2, 3]", "priority=4"]}
        self.assertEqual(self.page.act({"again": changed}), (200, {"ok": ["longer"]}))
        longer = self.over("longer")
        self.assertEqual((longer["seed"], longer["spec"]["priority"], longer["counts"]), ("7", 4, {"TERMINATED": 3}))
        self.assertTrue(all(2 <= trial["config"]["x"] <= 3 for trial in self.page.trials("longer")))
        for wrong, status in (({"samples": 0}, 400), ({"sample": 1}, 400), ({"settings": ["metric"]}, 400), ({"settings": "x"}, 400),
                              ({"settings": ["mode=best"]}, 400), ({"name": "a/b"}, 400), ({"seed": 7}, 400)):
            self.assertEqual(self.page.act({"again": wrong})[0], status, wrong)
        self.assertEqual(self.page.act({"again": {}}, name="nothing")[0], 404)
        # The same from a terminal, here and from elsewhere, and of a job.
        self.assertEqual(self.tune("submit", "--again", "small", "--set", "space.x.uniform=[4, 5]"), "small-3\n")
        address = f"http://127.0.0.1:{self.page.port}/?key={self.page.key}"
        self.assertEqual(self.tune("--head", address, "submit", "--again", "longer", "--name", "a b", "--samples", "1"), "a b\n")
        self.assertEqual(self.tune("--head", address, "submit", "--again", "a b"), "a b-2\n")
        self.tune("submit", "--name", "look", "--", "true")
        self.assertEqual(self.page.act({"again": {}}, name="look"), (200, {"ok": ["look-2"]}))
        self.assertEqual(self.tune("wait", "look-2"), "look-2 is SUCCEEDED\n")
        self.tune("submit", "--name", "ill", "--no-wait", "--", "sh", "-c", "echo here; exit 7")
        ill = subprocess.run([TUNE, "--head", address, "submit", "--again", "ill"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual((ill.returncode, ill.stdout), (7, "here\n"), ill.stderr)
        for name in ("small-3", "a%20b", "a%20b-2"):
            self.over(name)

    def test_events_end_with_the_key_of_who_listens(self):
        address = self.tune("tokens", "create", "--role", "viewer", "--name", "board").strip()
        key = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["key"][0]
        listener = http.client.HTTPConnection("127.0.0.1", self.page.port, timeout=60)
        listener.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + key})
        events = listener.getresponse()
        self.assertEqual(events.status, 200)
        self.assertEqual(json.loads(self.page.ask("/api/v1/me", key=False, headers={"Authorization": "Bearer " + key})[1]), {"name": "board", "role": "viewer"})
        self.tune("tokens", "revoke", key[:8])
        self.tune("submit", "--", "true")  # Something happens.
        events.read()  # To its end.
        listener.close()

    def test_what_waits_is_told_with_whose_turn_it_is_and_why(self):
        self.assertEqual(self.page.json("/me"), {"name": None, "role": "admin"})
        self.assertEqual(self.page.json("/queue"), {"is_told": True, "queue": []})
        self.assertEqual(self.page.json("/cluster"), {"is_told": True, "cluster": None})
        for name in ("first", "second"):
            Path(self.folder, name + ".yaml").write_text(
                "trainable: {curve: {value: x, iterations: 1000000, seconds: 0.1}}\nmetric: loss\nmode: min\nsamples: 2\n"
                "space: {x: {uniform: [0, 1]}}\nreserve: {cpu: 1}\n")
            self.tune("submit", name + ".yaml")
        queue = self.page.json("/queue")["queue"]
        self.assertEqual([one["turn"] for one in queue][0], 1)
        self.assertEqual({one["sweep"] for one in queue}, {"first", "second"})
        self.assertEqual([one["reserve"] for one in queue], [{"cpus": 1, "gpus": 0}] * 2)
        self.assertTrue(any("there is no room now" in (one["why"] or "") for one in queue), queue)

    def until_counts(self, counts):
        deadline = time.monotonic() + 60
        while self.page.json("/sweeps/small")["counts"] != counts:
            self.assertLess(time.monotonic(), deadline)

    def test_who_goes_away_ends_what_ran_for_it(self):
        space = Path(self.folder, "space.yaml")
        space.write_text(ENDLESS)
        Path(self.folder, "p.sh").write_text("while :; do sleep 1; done\n")
        subprocess.run([TUNE, "submit", "space.yaml"], cwd=self.folder, check=True, capture_output=True, timeout=60)
        with contextlib.closing(self.page.connect()) as connection:
            connection.request("POST", "/api/v1/commands", json.dumps({"arguments": ["logs", "small/0", "-f"]}), {"Authorization": "Bearer " + self.page.key})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            deadline = time.monotonic() + 60
            while len(self.running()) != 1:  # Until its program has begun it is the page.
                self.assertLess(time.monotonic(), deadline)
            answer.close()  # It holds the connection, too.
        while self.running():
            pass

    def running(self):
        """Commands that the page runs: processes that show a log of its database."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if b"logs" in words and os.path.join(self.folder, "tune.db").encode() in words:
                    found.append(entry.name)
            except OSError:
                continue
        return found


class Started(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def refused(self, *arguments):
        done = subprocess.run([TUNE, "ui", *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def make(self):
        with open(os.path.join(self.folder, "space.yaml"), "w") as file:
            file.write(SPACE.replace("samples: 12", "samples: 1"))
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)

    def test_a_wrong_place_is_refused_in_a_line(self):
        status, said = self.refused()
        self.assertEqual(status, 2)
        self.assertIn("tune.db", said)
        self.make()
        for address, text in (("nonsense", "nonsense"), ("203.0.113.9:80", "203.0.113.9 is no address of this machine"),
                              ("127.0.0.1:99999", "99999")):
            with self.subTest(address):
                status, said = self.refused("--http", address)
                self.assertEqual((status, said.count("\n")), (2, 1))
                self.assertIn(text, said)

    def test_an_option_that_is_given_twice_is_told_with_both_values(self):
        for arguments in (("ui", "--http", "127.0.0.1:0", "--http", "127.0.0.1:8081"), ("run", "space.yaml", "--ui", "--http", "127.0.0.1:0", "--http", "127.0.0.1:8081")):
            done = subprocess.run([TUNE, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (
                2, "", "tune: --http: read '127.0.0.1:0', then '127.0.0.1:8081', expected it once "
                       f"(tune help {arguments[0]} shows its options)\n"))

    def test_a_port_in_use_is_told_and_ctrl_c_ends_it_well(self):
        self.make()
        page = Page(self.folder)
        status, said = self.refused("--http", f"127.0.0.1:{page.port}")
        self.assertEqual(status, 1)
        self.assertIn(f"cannot listen on 127.0.0.1:{page.port}: Address already in use", said)
        self.assertEqual(page.end(), 0)

    def test_where_each_trial_that_reported_failed_everything_says_so(self):
        Path(self.folder, "space.yaml").write_text(
            "name: small\ntrainable: {command: [sh, -c, 'echo acc: 1; exit 3'], metrics: {acc: {regex: 'acc: {number}'}}}\n"
            "metric: acc\nmode: max\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n")

        def say(*arguments):
            done = subprocess.run([TUNE, *arguments], cwd=self.folder, text=True, timeout=120, capture_output=True)
            return done.stdout + done.stderr

        why = "each trial that reported acc failed"
        self.assertIn("best trial      none: " + why, say("run", "space.yaml"))
        self.assertIn("best       none: " + why, say("status"))
        self.assertEqual(say("best"), f"tune: small: {why}\n")
        self.assertIn(f"small: {why}\n", say("results", "--best"))
        self.assertIn(f"small: {why}\n", say("plot", "best"))
        say("report", "--md", "report.md")
        self.assertIn(f"None: {why}.", Path(self.folder, "report.md").read_text())
        page = Page(self.folder)
        self.addCleanup(page.end)
        sweep = page.json("/sweeps/small")
        self.assertEqual((sweep["best"], sweep["why_no_best"]), (None, why))

    def test_limits_on_results_are_told_with_each_trial_and_that_none_keeps_them(self):
        def run(name, limit):
            Path(self.folder, "limited.yaml").write_text(
                f"name: {name}\nmetric: acc\nmode: max\nsamples: 4\nsearch: {{algorithm: grid}}\nspace: {{x: {{choice: [1, 2, 3, 4]}}}}\n"
                "trainable: {command: [sh, -c, 'echo acc {x} ms {x}0'], metrics: {acc: {regex: 'acc {number}'}, ms: {regex: 'ms {number}'}}}\n"
                f"feasible: [ms <= {limit}]\n")
            subprocess.run([TUNE, "run", "limited.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)

        run("some", 20)
        run("none", 5)
        page = Page(self.folder)
        self.addCleanup(page.end)
        some, none = page.json("/sweeps/some"), page.json("/sweeps/none")
        self.assertEqual((some["feasible"], some["none_feasible"]), (["ms <= 20"], ""))
        self.assertEqual((some["best"]["value"], some["best"]["violation"]), (2, 0))
        told = {t["config"]["x"]: (t["feasible"], t["violation"]) for t in page.trials("some")}
        self.assertEqual(told, {1: (1, 0), 2: (1, 0), 3: (0, 0.5), 4: (0, 1)})
        details = [page.json(f"/sweeps/some/trials/{number}")["trial"][0] for number in range(4)]
        self.assertEqual({t["config"]["x"]: (t["feasible"], t["violation"]) for t in details}, told)
        self.assertEqual((none["best"]["value"], none["best"]["violation"]), (1, 1))
        self.assertIn("no trial is feasible: none kept ms <= 5", none["none_feasible"])
        course = page.json("/sweeps/some/course")
        self.assertEqual(max(step["value"] for step in course["best"]), 2)

    def test_a_metric_may_have_any_name(self):
        metric = 'p@"0.5"'
        Path(self.folder, "p.sh").write_text("tune report acc=1 'p@\"0.5\"=0.25'\n")
        Path(self.folder, "space.yaml").write_text(
            "name: small\ntrainable: {command: [sh, p.sh]}\nmetric: acc\nmode: max\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n")
        for arguments in (("run", "space.yaml"), ("report", "--html", "report.html")):
            done = subprocess.run([TUNE, *arguments], cwd=self.folder, text=True, timeout=120, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        page = Page(self.folder)
        self.addCleanup(page.end)
        self.assertIn(metric, page.json("/sweeps/small/metrics"))
        asked = "?metric=" + urllib.parse.quote(metric)
        self.assertEqual([curve["values"] for curve in page.json("/sweeps/small/curves" + asked)["curves"]], [[0.25], [0.25]])
        self.assertEqual([row[1:] for row in page.json("/sweeps/small/ranges" + asked)["rows"]], [[0.25, 0.25, 0.25]] * 2)

    def test_the_best_configuration_of_repeated_runs_is_told_with_its_mean(self):
        Path(self.folder, "space.yaml").write_text(
            "name: small\ntrainable: {curve: {value: x, iterations: 2}}\nmetric: acc\nmode: max\n"
            "space: {x: {grid_search: [1, 2]}}\nsearch: {algorithm: grid, repeat: 2}\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        best = page.json("/sweeps/small")["best"]
        self.assertEqual((best["value"], best["runs"]), (2, {"mean": 2, "deviation": 0, "count": 2, "repeat": 2, "trials": [2, 3]}))

    def test_a_metric_that_is_reported_now_and_then_is_named_also_where_the_last_report_lacks_it(self):
        Path(self.folder, "p.sh").write_text("tune report acc=1\ntune report acc=2 top5=0.5\ntune report acc=3\n")
        Path(self.folder, "space.yaml").write_text(
            "name: small\ntrainable: {command: [sh, p.sh]}\nmetric: acc\nmode: max\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        self.assertEqual(page.json("/sweeps/small/metrics"), ["acc", "top5"])

    def test_the_curve_of_a_program_that_numbers_its_reports_by_steps_has_all_its_points(self):
        Path(self.folder, "p.sh").write_text('for i in $(seq 1 20); do echo "step $((i * 500)) acc: $i"; done\n')
        Path(self.folder, "space.yaml").write_text(
            "name: small\nmetric: acc\nmode: max\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n"
            "trainable: {command: [sh, p.sh], metrics: {acc: {regex: 'acc: {number}'}}, iteration: {regex: 'step {number}'}}\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        curves = page.json("/sweeps/small/curves")
        self.assertEqual(curves["stride"], 1)
        self.assertEqual(curves["curves"][0]["iterations"], [500 * i for i in range(1, 21)])
        self.assertEqual(curves["curves"][0]["values"], list(range(1, 21)))

    def test_a_log_is_given_in_pieces_and_from_its_end(self):
        with open(os.path.join(self.folder, "space.yaml"), "w") as file:
            file.write("name: small\ntrainable: {command: [sh, p.sh], metrics: {acc: {regex: 'acc: {number}'}}}\n"
                       "metric: acc\nmode: max\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n")
        Path(self.folder, "p.sh").write_text("seq 1 2000\nprintf '\\377<b>\\n'\necho acc: 1\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        written = Path(self.folder, "tune.artifacts", "small", "0", "attempt_1.log").read_bytes()
        page = Page(self.folder)
        self.addCleanup(page.end)
        whole = page.json("/sweeps/small/trials/0/log")
        self.assertEqual((whole["attempts"], whole["attempt"], whole["from"], whole["to"]), ([1], 1, 0, len(written)))
        self.assertEqual(whole["text"], written.replace(b"\xff", b"?").decode())  # What is no UTF-8 is a question mark.
        self.assertIn("?<b>", whole["text"])
        self.assertEqual(page.json("/sweeps/small/trials/0/log?attempt=1&from=-4")["text"], written[-4:].decode())
        self.assertEqual(page.json("/sweeps/small/trials/0/log?from=20")["text"], whole["text"][20:])
        nothing = page.json("/sweeps/small/trials/0/log?attempt=7")
        self.assertEqual((nothing["text"], nothing["size"]), ("", 0))

    def test_each_metric_has_its_last_least_and_greatest_value_in_each_trial(self):
        Path(self.folder, "space.yaml").write_text(
            "name: small\ntrainable: {command: [sh, p.sh, '{x}'], metrics: {acc: {regex: 'acc: {number}'}, loss: {regex: 'loss: {number}'}}}\n"
            "metric: acc\nmode: max\nsamples: 3\nfailure: {max_failures: 1}\nspace: {x: {grid_search: [1, 2, 3]}}\nsearch: {algorithm: grid}\n")
        # Trial 2 fails after its first report, and reports that iteration again with another value, where the first one counts; trial 0 has no loss.
        Path(self.folder, "p.sh").write_text(
            "[ $1 = 1 ] && { echo acc: 1; exit; }\n[ $1 = 3 ] && [ ! -e seen ] && { touch seen; echo loss: 99; echo acc: 5; exit 1; }\n"
            "for i in 3 1 2; do echo loss: $i$1; echo acc: -$i; done\n")
        subprocess.run([TUNE, "run", "space.yaml"], cwd=self.folder, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        loss = page.json("/sweeps/small/ranges?metric=loss")
        self.assertEqual((loss["metric"], loss["columns"]), ("loss", ["number", "last", "min", "max"]))
        self.assertEqual(loss["rows"], [[1, 22, 12, 32], [2, 23, 13, 99]])
        own = page.json("/sweeps/small/ranges")
        self.assertEqual((own["metric"], own["rows"]), ("acc", [[0, 1, 1, 1], [1, -2, -3, -1], [2, -2, -2, 5]]))
        self.assertEqual(page.json("/sweeps/small/curves?trials=2")["curves"][0]["values"], [5, -1, -2])
        reports = page.json("/sweeps/small/trials/2")["latest_reports"]
        self.assertEqual([(r["iteration"], r["attempt"], r["is_decided"]) for r in reports], [(3, 2, 1), (2, 2, 1), (1, 2, 0), (1, 1, 1)])
        for unknown in ("nix", "%22"):
            self.assertEqual(page.json("/sweeps/small/ranges?metric=" + unknown)["rows"], [])
        self.assertEqual(page.json("/sweeps/small/ranges?metric=loss"), loss)

    def test_a_report_of_many_metrics_has_the_columns_of_all_objectives(self):
        others = ", ".join(f"m{i}: x" for i in range(10))
        Path(self.folder, "space.yaml").write_text(
            "name: small\nmetric: [acc, zeit]\nmode: [max, min]\nsamples: 2\nspace: {x: {uniform: [0, 1]}}\n"
            f"trainable: {{curve: {{values: {{acc: x, {others}, zeit: 1 - x}}}}}}\n")
        for arguments in (("run", "space.yaml"), ("report", "--html", "small.html")):
            subprocess.run([TUNE, *arguments], cwd=self.folder, check=True, timeout=120, capture_output=True)
        packed = re.search(r'<script type="text/plain" id="report">([A-Za-z0-9+/=]+)</script>', Path(self.folder, "small.html").read_text())[1]
        answers = json.loads(gzip.decompress(base64.b64decode(packed)))
        self.assertEqual(len(answers["/sweeps/small/ranges?metric=zeit"]["rows"]), 2)
        self.assertEqual(sum("/ranges?" in path for path in answers), 2 + 8)

    def test_a_report_is_one_file_with_all_in_it(self):
        self.make()
        done = subprocess.run([TUNE, "report", "--html", "small.html"], cwd=self.folder, text=True, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^small\.html: 1 trial, \d+ KiB\n$")
        text = Path(self.folder, "small.html").read_text()
        self.assertIsNone(re.search(r"<script[^>]*src=|<link[^>]*href=\"/|https?://(?!www\.w3\.org)", text))
        packed = re.search(r'<script type="text/plain" id="report">([A-Za-z0-9+/=]+)</script>', text)[1]
        answers = json.loads(gzip.decompress(base64.b64decode(packed)))
        self.assertEqual(answers["/sweeps/small/trials"]["rows"][0][:2], [0, "TERMINATED"])
        self.assertIn("/sweeps/small/trials/0", answers)

    def test_a_report_that_cannot_be_made_is_told_in_a_line(self):
        self.make()
        for arguments, text in ((("nix", "--html", "a.html"), "no sweep is named 'nix'"),
                                (("small/trials", "--html", "a.html"), "no sweep is named 'small/trials'"), (("--html", "none/a.html"), "none/a.html"),
                                (("a", "b", "--html", "a.html"), "expected one sweep")):
            with self.subTest(arguments):
                done = subprocess.run([TUNE, "report", *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)
                self.assertIn(done.returncode, (1, 2))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(text, done.stderr)
        self.assertFalse(Path(self.folder, "a.html").exists())

    def test_a_database_that_is_replaced_is_followed_and_one_that_is_gone_is_told(self):
        self.make()
        path = Path(self.folder, "tune.db")
        page = Page(self.folder)
        self.addCleanup(page.end)
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
        connection.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + page.key})
        events = (line for line in connection.getresponse() if line.startswith(b"data: "))
        self.addCleanup(connection.close)
        next(events)
        before = page.json("/sweeps/small/trials")
        tag = page.ask("/api/v1/sweeps/small/trials")[0].headers["ETag"]
        subprocess.run([TUNE, "--db", "other.db", "run", "space.yaml", "--name", "another", "--samples", "3"], cwd=self.folder, check=True,
                       timeout=120, capture_output=True)
        os.replace(os.path.join(self.folder, "other.db"), path)
        next(events)
        self.assertEqual([s["name"] for s in page.json("/sweeps")], ["another"])
        self.assertEqual(page.ask("/api/v1/sweeps/small/trials", headers={"If-None-Match": tag})[0].status, 404)
        after = page.json("/sweeps/another/trials?since=" + before["revision"])
        self.assertEqual((after["is_whole"], len(after["rows"])), (True, 3))
        os.rename(path, path.with_suffix(".away"))
        answer, data = page.ask("/api/v1/sweeps")
        self.assertEqual(answer.status, 503)
        self.assertRegex(json.loads(data)["error"], r"^the database that was looked at is not there any more: tune\.db: ")
        os.rename(path.with_suffix(".away"), path)
        self.assertEqual([s["name"] for s in page.json("/sweeps")], ["another"])

    def test_a_revision_of_rows_that_were_dropped_since_is_answered_with_all_rows(self):
        self.make()
        others = [f"other{i}" for i in range(4)]  # As many as the server keeps the rows of.
        for name in others:
            subprocess.run([TUNE, "run", "space.yaml", "--name", name], cwd=self.folder, check=True, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        before = page.json("/sweeps/small/trials")
        for name in others:
            page.json(f"/sweeps/{name}/trials")
        subprocess.run([TUNE, "resume", "small", "--samples", "2"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        self.assertEqual(len(page.json("/sweeps/small/trials")["rows"]), 2)
        after = page.json("/sweeps/small/trials?since=" + before["revision"])
        self.assertEqual((after["is_whole"], len(after["rows"])), (True, 2))

    def test_what_takes_long_is_kept_of_each_of_several_sweeps(self):
        self.make()
        subprocess.run([TUNE, "run", "space.yaml", "--name", "other"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        page = Page(self.folder)
        self.addCleanup(page.end)
        for part in ("importance", "compared"):
            for name in ("small", "other"):
                while page.json(f"/sweeps/{name}/{part}")["is_behind"]:
                    pass
            for name in ("small", "other"):
                with self.subTest(part, name=name):
                    self.assertFalse(page.json(f"/sweeps/{name}/{part}")["is_behind"])

    def test_a_sweep_that_goes_on_after_its_end_is_listed_as_it_is(self):
        self.make()
        page = Page(self.folder)
        self.addCleanup(page.end)
        before = page.json("/sweeps")
        self.assertEqual((before[0]["status"], before[0]["counts"]), ("FINISHED", {"TERMINATED": 1}))
        self.assertEqual(page.json("/sweeps"), before)
        subprocess.run([TUNE, "resume", "small", "--samples", "5"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        (after,) = page.json("/sweeps")
        self.assertEqual(after["counts"], {"TERMINATED": 5})
        self.assertNotEqual(after["finished_at"], before[0]["finished_at"])
        self.assertEqual(after, {k: v for k, v in page.json("/sweeps/small").items() if k in after})
        subprocess.run([TUNE, "delete", "small", "--yes"], cwd=self.folder, check=True, timeout=120, capture_output=True)
        self.make()
        self.assertEqual(page.json("/sweeps")[0]["counts"], {"TERMINATED": 1})

    def test_looking_changes_nothing_of_the_database(self):
        self.make()
        path = os.path.join(self.folder, "tune.db")
        before = Path(path).read_bytes()
        page = Page(self.folder)
        for what in ("/sweeps", "/sweeps/small", "/sweeps/small/trials", "/sweeps/small/curves", "/sweeps/small/trials/0",
                     "/sweeps/small/course", "/sweeps/small/timeline", "/sweeps/small/importance", "/sweeps/small/trials/0/log"):
            page.json(what)
        page.end()
        self.assertEqual(Path(path).read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
