"""`tune plot` and `tune report --md`: charts of a real sweep in the terminal, as SVG files and in a report."""

import math
import os
import re
import sqlite3
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

TUNE = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
SVG = "{http://www.w3.org/2000/svg}"

SPACE = """\
name: small
trainable: {curve: {value: "1 - abs(log10(lr) + 2) / 4 - 1 / (t + 1)", iterations: 9}}
metric: val_accuracy
mode: max
seed: 3
samples: 24
space:
  lr: {loguniform: [1.0e-4, 1.0e-1]}
  kind: {choice: ["<script>alert(1)</script>", "a|b `c` *d*"]}
  beta: {uniform: [0.5, 0.9], when: {kind: "a|b `c` *d*"}}
scheduler: {asha: {max_t: 9, grace_period: 1}}
"""


class OfASweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        Path(cls.folder, "space.yaml").write_text(SPACE)
        subprocess.run([TUNE, "run", "space.yaml"], cwd=cls.folder, check=True, timeout=120, capture_output=True)

    def tune(self, *arguments):
        return subprocess.run([TUNE, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)

    def said(self, *arguments):
        done = self.tune(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *arguments):
        done = self.tune(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        return done.stderr

    def rows(self, sql):
        with sqlite3.connect(os.path.join(self.folder, "tune.db")) as database:
            return database.execute(sql).fetchall()

    def svg(self, *arguments):
        self.said("plot", *arguments, "--svg", "chart.svg")
        text = Path(self.folder, "chart.svg").read_text()
        self.assertEqual(re.findall(r"https?://[^\"]*", text), ["http://www.w3.org/2000/svg"])
        return xml.fromstring(text)

    def words(self, svg):
        return ["".join(text.itertext()) for text in svg.iter(SVG + "text")]

    def test_each_chart_is_drawn_without_a_terminal_in_80_columns(self):
        for chart, title in (("curves", "small: learning curves"), ("best", "small: best value so far"),
                             ("parallel", "small: parameters and val_accuracy"), ("importance", "small: what val_accuracy depends on"),
                             ("slice lr", "small: val_accuracy over lr"), ("slice kind", "small: val_accuracy over kind")):
            for more in ((), ("--ascii",)):
                with self.subTest(chart=chart, more=more):
                    text = self.said("plot", *chart.split(), *more)
                    self.assertEqual(text.splitlines()[0], title)
                    self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
                    self.assertNotIn("\x1b", text)
                    self.assertEqual(text.isascii(), bool(more))

    def test_a_slice_has_each_trial_at_its_place_on_a_log_axis(self):
        svg = self.svg("slice", "lr")
        self.assertIn("lr (log)", self.words(svg))
        ticks = {"".join(t.itertext()): float(t.get("x")) for t in svg.iter(SVG + "text") if re.fullmatch(r"0\.0*1", "".join(t.itertext()))}
        self.assertEqual(set(ticks), {"0.0001", "0.001", "0.01", "0.1"})
        decade = (ticks["0.1"] - ticks["0.0001"]) / 3
        wanted = sorted(round(ticks["0.0001"] + decade * (math.log10(lr) + 4), 1) for (lr,) in self.rows(
            "select p.value from params p join trials t on t.id = p.trial where p.name = 'lr' and t.best_value is not null"))
        group = svg.find(SVG + "g")
        drawn = sorted(round(float(circle.get("cx")), 1) for circle in group.iter(SVG + "circle"))
        self.assertEqual(len(drawn), len(wanted))
        for a, b in zip(drawn, wanted):
            self.assertAlmostEqual(a, b, delta=0.2)

    def test_curves_tell_the_best_trials_apart_by_name(self):
        best = [number for (number,) in self.rows("select number from trials order by best_value desc, number limit 5")]
        words = self.words(self.svg("curves"))
        self.assertEqual([w for w in words if w.startswith("trial ")], [f"trial {n}" for n in best])
        self.assertIn("19 other trials", words)
        ends = self.said("plot", "curves", "--ascii")
        for number in best:
            self.assertRegex(ends, rf"(?m) trial {number}$")

    def test_the_best_value_ends_at_the_best_trial(self):
        ((number,),) = self.rows("select number from trials order by best_value desc, number limit 1")
        self.assertIn(f"best of all trials; now trial {number}", self.said("plot", "best"))

    def test_importance_is_what_the_command_says(self):
        said = self.said("importance", "--format", "csv").splitlines()[1:]
        shares = {line.split(",")[2]: round(float(line.split(",")[3]) * 100) for line in said}
        drawn = dict(re.findall(r"(?m)^ *(\w+)  .* (\d+) %  \(", self.said("plot", "importance")))
        self.assertEqual({name: int(share) for name, share in drawn.items()}, shares)

    def test_a_name_before_the_chart_is_the_sweep_whatever_it_is(self):
        self.assertTrue(self.said("plot", "small", "best").startswith("small: "))
        self.assertIn("no sweep is named 'curves'", self.refused("plot", "curves", "best"))

    def test_what_cannot_be_drawn_is_told_in_a_line(self):
        self.assertIn("did you mean 'curves'?", self.refused("plot", "curvs"))
        self.assertIn("did you mean 'lr'?", self.refused("plot", "slice", "lrr"))
        self.assertIn("expected a parameter", self.refused("plot", "slice"))
        self.assertIn("expected nothing behind the chart", self.refused("plot", "curves", "lr"))
        done = self.tune("plot", "curves", "--svg", "none/a.svg")
        self.assertEqual((done.returncode != 0, done.stderr.count("\n")), (True, 1))

    def test_a_report_tells_what_was_searched_and_found_and_links_to_its_pictures(self):
        os.makedirs(os.path.join(self.folder, "out"), exist_ok=True)
        said = self.said("report", "small", "--md", "out/my report.md")
        text = Path(self.folder, "out", "my report.md").read_text()
        pictures = re.findall(r"!\[[^\]]+\]\(<([^>]+)>\)", text)
        self.assertEqual(pictures, [f"my report_{kind}.svg" for kind in ("best", "curves", "importance", "parallel")])
        for picture in pictures:
            self.assertIn("out/" + picture, said)
            xml.parse(os.path.join(self.folder, "out", picture))
        for part in ("# Sweep small", "## What was searched", "## Best trial", "## The best 10", "## How trials ended",
                     "## What early stopping saved", "## To reproduce it"):
            self.assertIn("\n" + part + "\n", "\n" + text)
        number, value = self.rows("select number, best_value from trials order by best_value desc, number limit 1")[0]
        self.assertIn(f"Trial {number}: `val_accuracy` **{value:.6g}** at iteration", text)
        top = self.rows("select number from trials order by best_value desc, number limit 10")
        table = text.split("## The best 10")[1].split("##")[0]
        self.assertEqual(re.findall(r"(?m)^\| (\d+) \|", table), [str(n) for (n,) in top])
        ((stopped,),) = self.rows("select count() from trials where stop_reason = 'scheduler'")
        self.assertIn(f"| TERMINATED | `scheduler` | {stopped} |", text)
        self.assertIn(f"{stopped} trials stopped early", text)
        self.assertIn("- seed `3`", text)
        self.assertIn("`loguniform: [1e-04, 0.1]`", text)

    def test_a_value_far_beyond_all_others_leaves_them_the_axis_also_of_few(self):
        for far, mode in (("-1e300", "max"), ("1e300", "min")):
            Path(self.folder, "far.yaml").write_text(
                "name: far\ntrainable: {command: [sh, -c, 'echo loss: $0', '{x}'], metrics: {loss: {regex: 'loss: {number}'}}}\n"
                f"metric: loss\nmode: {mode}\nspace: {{x: {{grid_search: [\"{far}\", \"0.5\", \"0.4\", \"0.3\"]}}}}\nsearch: {{algorithm: grid}}\n"
                "limits: {max_concurrent: 1}\n")
            self.addCleanup(self.tune, "delete", f"far{mode}", "--yes")
            self.assertEqual(self.tune("run", "far.yaml", "--name", f"far{mode}").returncode, 0)
            for chart in ("curves", "best"):
                said = self.said("plot", f"far{mode}", chart)
                self.assertRegex(said, r"1 value beyond the axis: -?1e\+300\n")
                self.assertNotRegex(said, r"(?m)^ *-?[0-9.]+e\+\d+┤")  # No tick of the axis.

    def test_characters_that_turn_the_order_of_letters_around_are_seen(self):
        turned = "a\u202eb"
        Path(self.folder, "turned.yaml").write_text(
            "name: turned\ntrainable: {command: [sh, turned.sh, '{x}'], metrics: {acc: {regex: 'acc: {number}'}}}\n"
            f"metric: acc\nmode: max\nspace: {{\"p{turned}\": {{grid_search: [\"{turned}\", c]}}, x: {{grid_search: [0, 1]}}}}\nsearch: {{algorithm: grid}}\n")
        Path(self.folder, "turned.sh").write_text(f"echo acc: $1; [ $1 = 1 ] || {{ echo 'it said {turned}' >&2; exit 3; }}\n")
        self.addCleanup(self.tune, "delete", "turned", "--yes")  # The others look at the latest sweep.
        self.assertEqual(self.tune("run", "turned.yaml").returncode, 3)
        for arguments in (("results", "turned"), ("best", "turned"), ("why", "turned/0"), ("plot", "turned", "parallel"), ("status", "turned")):
            said = self.said(*arguments)
            self.assertNotIn("\u202e", said)
            self.assertIn("a\\u202eb", said, arguments)
        self.said("report", "turned", "--md", "turned.md")
        text = Path(self.folder, "turned.md").read_text()
        self.assertNotIn("\u202e", text)
        self.assertIn("it said a\\u202eb", text)

    def test_nothing_of_a_sweep_is_markup_in_the_report(self):
        self.said("report", "--md", "plain.md")
        text = Path(self.folder, "plain.md").read_text()
        outside = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text)
        self.assertNotRegex(outside, r"(?<!\\)<script")
        for row in re.findall(r"(?m)^\|.*\|$", text):
            cells = re.split(r"(?<!\\)\|", row)
            self.assertIn(len(cells), (4, 5, 8), row)  # No value makes a cell of its own.

    def test_of_several_objectives_the_report_has_the_front_with_all_of_them_and_tells_of_failed_attempts(self):
        Path(self.folder, "two.yaml").write_text(
            "name: two\ntrainable: {command: [sh, two.sh, '{x}'], metrics: {acc: {regex: 'acc: {number}'}, cost: {regex: 'cost: {number}'}}}\n"
            "metric: [acc, cost]\nmode: [max, min]\nfailure: {max_failures: 1}\nspace: {x: {grid_search: [1, 2, 3, 4]}, kind: {choice: [same]}}\n"
            "search: {algorithm: grid}\n")
        # Trial 1 fails once and goes on, trial 3 fails for good; trial 2 is worse than trial 0 in both.
        Path(self.folder, "two.sh").write_text(
            "[ $1 = 2 ] && [ ! -e seen ] && { touch seen; exit 3; }\n[ $1 = 4 ] && exit 3\n"
            "[ $1 = 3 ] && { echo cost: 9; echo acc: 5; exit; }\necho cost: $1; echo acc: 1$1\n")
        self.tune("run", "two.yaml", "--db", "two.db")
        said = self.said("report", "--md", "two.md", "--db", "two.db")
        text = Path(self.folder, "two.md").read_text()
        self.assertIn("| trial | `acc` (max) | `cost` (min) | iterations | `x` |", text)
        front = text.split("## Pareto front")[1].split("##")[0]
        self.assertEqual(re.findall(r"(?m)^\| (\d+) \| (\S+) \| (\S+) \|", front), [("1", "12", "2"), ("0", "11", "1")])
        self.assertIn("The same in all of them: `kind=same`", front)
        self.assertNotIn("## Best trial", text)
        self.assertIn("two_front.svg", said)
        xml.parse(os.path.join(self.folder, "two_front.svg"))
        self.assertIn("| `crashed` | 3 | 2 | 1 |", text)
        why = self.said("why", "1", "--db", "two.db")
        self.assertIn("fifo on acc (max), cost (min)", why)
        self.assertIn("of this metric alone", why)
        drawn = self.said("plot", "front", "--db", "two.db")
        self.assertIn("the front: 2 trials that none is better than", drawn)
        self.assertIn("small has one objective: its best trial is its front", self.refused("plot", "front"))

    def test_an_attempt_that_runs_is_none_that_failed(self):
        Path(self.folder, "living.yaml").write_text(
            "name: living\ntrainable: {command: [sh, living.sh], metrics: {acc: {regex: 'acc: {number}'}}}\n"
            "metric: acc\nmode: max\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n")
        Path(self.folder, "living.sh").write_text("echo acc: 1; echo > begun; read line < go\n")
        for name in ("begun", "go"):
            os.mkfifo(os.path.join(self.folder, name))
        process = subprocess.Popen([TUNE, "run", "living.yaml", "--db", "living.db"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        Path(self.folder, "begun").read_text()
        self.said("report", "--md", "living.md", "--db", "living.db")
        Path(self.folder, "go").write_text("on\n")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertNotIn("Attempts that failed", Path(self.folder, "living.md").read_text())

    def test_a_report_into_a_folder_that_is_not_there_says_which(self):
        for option, file in (("--md", "no/such/a.md"), ("--html", "no/such/a.html")):
            said = self.refused("report", option, file)
            self.assertRegex(said, rf"^tune: {option}: no/such/a\S*: there is no folder no/such; mkdir -p makes it$")

    def test_what_tune_did_not_write_is_not_replaced(self):
        for name, text in (("other.db", Path(self.folder, "tune.db").read_bytes()), ("train.py", b"import tune\n"), ("README.md", b"# Mine\n"),
                           ("own.svg", b"<?xml version='1.0'?>\n<svg/>\n"), ("index.html", b"<!doctype html>\n<title>mine</title>\n")):
            there = Path(self.folder, name)
            there.write_bytes(text)
            for command, option in (("report", "--html"), ("report", "--md"), ("plot curves", "--svg")):
                with self.subTest(name, option=option):
                    self.assertIn(f"{option}: {name} is there and is none that tune wrote", self.refused(*command.split(), option, name))
                    self.assertEqual(there.read_bytes(), text)
        for option in ("--html", "--md"):
            self.assertIn("is there and is none that tune wrote", self.refused("report", option, "/dev/null"))
            self.assertIn("is a folder, expected a file's name", self.refused("report", option, "."))
        self.assertFalse(list(Path(self.folder).glob("*.part")))

    def test_a_later_report_replaces_an_earlier_one_and_an_empty_file(self):
        for command, option, name in (("report", "--html", "again.html"), ("report", "--md", "again.md"), ("plot best", "--svg", "again.svg")):
            Path(self.folder, name).touch()
            self.said(*command.split(), option, name)
            size = Path(self.folder, name).stat().st_size
            self.said(*command.split(), option, name)
            self.assertEqual(Path(self.folder, name).stat().st_size, size)

    def test_a_report_within_a_trial_is_another_command(self):
        done = self.tune("report", "val_accuracy=0.5")
        self.assertIn("val_accuracy", done.stdout + done.stderr)
        self.assertFalse(any(Path(self.folder).glob("val_accuracy*")))

    def test_a_sweep_without_reports_says_so(self):
        Path(self.folder, "none.yaml").write_text("name: none\ntrainable: {command: [\"false\"]}\nmetric: m\nmode: max\nspace: {x: {uniform: [0, 1]}}\n")
        self.tune("run", "none.yaml", "--db", "none.db")
        for chart in (("curves",), ("best",), ("parallel",), ("importance",), ("slice", "x")):
            with self.subTest(chart):
                self.refused("plot", *chart, "--db", "none.db")
        self.said("report", "--md", "none.md", "--db", "none.db")
        text = Path(self.folder, "none.md").read_text()
        self.assertNotIn("![", text)
        self.assertIn("| ERROR |", text)
        self.assertIn("Failures:", text)


if __name__ == "__main__":
    unittest.main()
