"""`tune schema`: takes what tune takes, and knows what it knows."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError:
    print("no jsonschema or no yaml for Python: the schema was not tried (scripts/install_packages test)")
    sys.exit(77)

TUNE = os.path.join(os.environ["TUNE_BIN_DIR"], "tune")
ROOT = Path(os.environ["TUNE_SOURCE_DIR"])


class Yaml12(yaml.SafeLoader):
    """As editors and tune read it: 1e-4 is a number, and yes is a word."""


Yaml12.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":float", ":bool", ":int", ":timestamp"))]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
Yaml12.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?\d+$"), list("-+0123456789"))
Yaml12.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$"), list("-+.0123456789"))


def load(text):
    return yaml.load(text, Loader=Yaml12)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        printed = subprocess.run([TUNE, "schema"], check=True, capture_output=True, text=True, timeout=60).stdout
        cls.schema = json.loads(printed)
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def errors(self, document):
        return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in self.validator.iter_errors(document)]

    def accepted(self, text, folder):
        """Whether tune takes it, but for what the machine lacks."""
        path = Path(folder, "space.yaml")
        path.write_text(text)
        done = subprocess.run([TUNE, "run", "space.yaml", "--dry-run"], cwd=folder, capture_output=True, text=True, timeout=60)
        return done.returncode == 0

    def test_it_takes_every_example(self):
        files = [path for path in sorted(ROOT.glob("examples/**/*.yaml")) if path.parent.name != "clusters"]
        self.assertGreater(len(files), 10)
        for path in files:
            with self.subTest(path.name):
                self.assertEqual(self.errors(load(path.read_text())), [])

    def test_it_takes_every_space_file_that_the_documents_show(self):
        count = 0
        for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
            for block in re.findall(r"(?s)```yaml\n(.*?)```", path.read_text()):
                document = load(block)
                if not isinstance(document, dict) or "metric" not in document or "mode" not in document:
                    continue
                count += 1
                with self.subTest(path=path.name, block=block[:60]):
                    self.assertEqual(self.errors(document), [])
        self.assertGreater(count, 2)

    def test_what_tune_takes_it_takes(self):
        head = "trainable: {curve: {value: \"x + t\", iterations: 3}}\nmetric: m\nmode: max\n"
        command = "trainable: {command: [sh, -c, \"tune report m={x}\"]}\nmetric: m\nmode: max\n"
        space = "space: {x: {uniform: [0, 1]}}\n"
        texts = [
            head + "space: {x: 3}\n",
            head + "space:\n  x: {uniform: [0, 1]}\n" + "limits:\nfailure:\nscheduler:\n",
            head + "space: {x: {type: float, minmax: [1, 2], step: 0}}\n",
            head + "space: {x: {constant: 3}}\n",
            head + space + "scheduler: fifo\n",
            head + space + "scheduler: {combine: [{asha: {max_t: 9}}, {patience: {patience: 2}}]}\n",
            head + space + "scheduler: {asha: {max_t: 9}}\nsamples: -1\nlimits: {sweep_time: 90, lease: 300ms}\n",
            head + space + "search: {algorithm: tpe, unique: true, repeat: 2, n_startup_trials: 4}\n",
            head + space + "stop: {m: 0.5, training_iteration: 3, time_total: 10m}\n",
            head + space + "stop: {m: {max: 0.5}}\n",
            head + space + "failure: {max_failures: -1, backoff: 0, crashed: 3, lost: {max_failures: 2, backoff: 0s}}\n",
            head + space + "checkpoint: {every: 2, keep: 1, keep_best: 0, disk_budget: 20GB}\n",
            head + space + "resources: {cpu: 0.5, memory: 4GiB}\n",
            head + space + "until: {no_gain: 40}\n",
            head + space + "until: {no_gain: 40 trials}\n",
            head + space + "search: {algorithm: gp, per: seconds}\nuntil: {regret: 0.002}\n",
            head + "space: {x: {uniform: [0, 1], guess: 0.3}, y: {choice: [a, b], guess: a}}\n",
            head + space + "points: [{x: 0.5}]\nconstraints: [\"x <= 0.9\"]\nfeasible: [\"x * m <= 0.9\"]\n",
            command + space,
            "trainable: {command: \"tune report m={x}\", shell: true, env: {A: 1}, setup: [\"true\"]}\nmetric: m\nmode: max\n" + space,
            "trainable: {command: [sh, -c, \"echo a=1 b=2\"], metrics: {a: {regex: \"a={number}\"}, b: {regex: \"b={number}\"}}}\n"
            "metric: [a, b]\nmode: [max, min]\nspace: {x: {choice: [a, [1, 2], {k: 1}], weights: [1, 2, 3]}}\n",
            command + "space: {group: {x: {randint: [1, 9]}, when: {kind: a}}, x: {quniform: [0, 1, 0.5]}, kind: {choice: [a, b]}}\n",
        ]
        with tempfile.TemporaryDirectory() as folder:
            for text in texts:
                with self.subTest(text):
                    self.assertTrue(self.accepted(text, folder), "tune does not take it")
                    self.assertEqual(self.errors(load(text)), [])

    def test_mistakes_of_the_form_are_found_by_it_as_well(self):
        good = load("trainable: food11\nmetric: m\nmode: max\nspace: {x: {uniform: [0, 1]}}\n")
        self.assertEqual(self.errors(good), [])
        for more in ({"sampels": 3}, {"mode": "most"}, {"scheduler": "ahsa"}, {"scheduler": {"asha": {}, "fifo": {}}},
                     {"search": {"algorithm": "tpes"}}, {"search": {}}, {"limits": {"sweeptime": 3}}, {"resources": {"gpus": 1}},
                     {"failure": {"crash": 1}}, {"checkpoint": {"every": 0}}, {"trainable": "food12"},
                     {"trainable": {"command": ["a"], "envs": {}}}, {"space": {"x": {"uniform": [0]}}},
                     {"space": {"x": {"uniform": [0, 1], "weights": [1]}}}, {"space": {"x": {"choice": []}}},
                     {"space": {"g": {"x": {"quniform": [0, 1]}}}}, {"samples": "many"}, {"stop": {"m": {"least": 1}}}):
            with self.subTest(more):
                self.assertNotEqual(self.errors({**good, **more}), [])
        without = {key: value for key, value in good.items() if key != "metric"}
        self.assertNotEqual(self.errors(without), [])

    def test_each_key_has_a_sentence_for_who_writes_it(self):
        for key, schema in self.schema["properties"].items():
            if key != "mode":
                self.assertTrue(schema.get("description"), key)


class ClusterSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        printed = subprocess.run([TUNE, "schema", "--cluster"], check=True, capture_output=True, text=True, timeout=60).stdout
        cls.schema = json.loads(printed)
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def errors(self, document):
        return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in self.validator.iter_errors(document)]

    def accepted(self, text, folder):
        """Whether tune takes it; 1: no head runs, and the file was read."""
        Path(folder, "cluster.yaml").write_text(text)
        done = subprocess.run([TUNE, "cluster", "status"], cwd=folder, capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        return done.returncode == 1

    def test_it_takes_every_example_and_what_the_documents_show(self):
        texts = [path.read_text() for path in sorted(ROOT.glob("examples/clusters/*.yaml"))]
        for path in sorted(ROOT.glob("docs/*.md")):
            texts += [block for block in re.findall(r"(?s)```yaml\n(.*?)```", path.read_text()) if "\npools:" in block]
        self.assertGreater(len(texts), 4)
        with tempfile.TemporaryDirectory() as folder:
            for text in texts:
                with self.subTest(text[:80]):
                    self.assertTrue(self.accepted(text, folder), "tune does not take it")
                    self.assertEqual(self.errors(load(text)), [])

    def test_mistakes_of_the_form_are_found_by_both(self):
        ssh, vm = "ssh: {hosts: [a, b]}", 'command: {up: [./vm, "{name}"], down: [./vm, "{name}"], list: [./vm]}'
        good = [f"pools: {{p: {{{ssh}}}}}", f"name: a\nhead: {{listen: 0.0.0.0:7443, cpus: 0}}\npools: {{p: {{{vm}, idle: 5m, spot: true}}}}",
                "pools: {p: {slurm: {time: 4h, options: [--exclusive]}, worker: {cpus: 2, memory: 4GiB}, min: 1, max: 3}}"]
        bad = ["pools: {}", "name: a", f"pools: {{p: {{{ssh}, {vm}}}}}", "pools: {p: {max: 3}}", f"pools: {{p: {{{ssh}, maximum: 1}}}}",
               f"pools: {{p: {{{ssh}, min: -1}}}}", "pools: {p: {ssh: {}}}", "pools: {p: {ssh: {hosts: node1}}}", "pools: {p: {slurm: {times: 4h}}}",
               "pools: {p: {command: {up: [a]}}}", f"head: {{port: 3}}\npools: {{p: {{{ssh}}}}}", f"pools: {{p: {{{vm}, worker: {{cpu: 1}}}}}}",
               f"pools: {{p: {{{vm}, spot: maybe}}}}", "pools: {p: {kubernetes: {namespace: a}}}", f"pools: {{P: {{{ssh}}}}}"]
        with tempfile.TemporaryDirectory() as folder:
            for text in good + bad:
                with self.subTest(text):
                    self.assertEqual(self.accepted(text, folder), text in good)
                    self.assertEqual(self.errors(load(text)) == [], text in good)

    def test_each_key_has_a_sentence_for_who_writes_it(self):
        for key, schema in self.schema["properties"].items():
            self.assertTrue(schema.get("description"), key)


if __name__ == "__main__":
    unittest.main()
