"""tune export --to mlflow, opened by the real MLflow."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import mlflow
from free_port import free_port
from sweep import export, run_small_sweep


class Mlflow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        run_small_sweep(cls.folder)
        cls.command = export(cls.folder, "mlflow")

    def test_its_client_reads_runs_parameters_and_curves(self):
        words = shlex.split(self.command)
        self.assertEqual(words[:3], ["mlflow", "ui", "--backend-store-uri"])
        client = mlflow.MlflowClient(words[3])
        experiment = client.get_experiment_by_name("small")
        runs = client.search_runs([experiment.experiment_id], order_by=["attributes.run_name"])
        self.assertEqual([run.info.run_name for run in runs], [f"small/{i}" for i in range(8)])
        self.assertEqual({run.info.status for run in runs}, {"FINISHED"})
        for run in runs:
            self.assertEqual(
                sorted(run.data.params), ["depth", "kind", "rate", "width", "x"]
            )
            curve = client.get_metric_history(run.info.run_id, "loss")
            self.assertEqual([point.step for point in curve], list(range(1, len(curve) + 1)))
            self.assertEqual(len(curve), int(run.data.tags["iterations"]))
            self.assertEqual(run.data.metrics["loss"], curve[-1].value)
        best = client.search_runs(
            [experiment.experiment_id], order_by=["metrics.loss ASC"], max_results=1
        )[0]
        self.assertEqual(float(best.data.params["depth"]), 3)
        # The store is as good as one of its own: a run may be added.
        run = client.create_run(experiment.experiment_id)
        client.log_metric(run.info.run_id, "loss", 0.5)
        client.set_terminated(run.info.run_id)

    def test_its_server_starts_by_the_printed_line(self):
        command = export(self.folder, "mlflow", "for_ui")
        port = free_port()
        path = os.path.dirname(sys.executable) + ":" + os.environ["PATH"]
        server = subprocess.Popen(
            command + f" --host 127.0.0.1 --port {port} --workers 1",
            shell=True,
            env={**os.environ, "PATH": path},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said = []
            for line in server.stdout:
                said.append(line)
                if "Uvicorn running on" in line:
                    break
            else:
                self.fail("".join(said))
            asked = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/get-by-name"
                "?experiment_name=small"
            )
            with urllib.request.urlopen(asked, timeout=60) as answer:
                self.assertIn('"small"', answer.read().decode())
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.stdout.close()
            server.wait()


if __name__ == "__main__":
    unittest.main()
