"""Reports over a real socket, each test with a Reporter as a process of its own would have it."""

import os
import signal
import statistics
import tempfile
import threading
import time
import unittest
from fractions import Fraction

from stand_in_runner import StandInRunner, go_on
from tune._reporter import Reporter, ReportError, Stop


def report(reporter, metrics=None, *, checkpoint=None, step=None, training_iteration=None, **named):
    return reporter.report(metrics or {}, named, checkpoint, step, training_iteration)


class Scalar:
    """As NumPy's and PyTorch's: item() gives the plain value, or says why not."""

    def __init__(self, *values):
        self._values = values

    def item(self):
        if len(self._values) != 1:
            raise ValueError("only one element tensors can be converted")
        return self._values[0]


class WhatIsSent(unittest.TestCase):
    def test_a_report_says_protocol_metrics_iteration_and_checkpoint(self):
        with StandInRunner() as runner, tempfile.TemporaryDirectory() as folder:
            report(Reporter(runner.environ), {"val/acc": 0.5}, loss=2, step=3, checkpoint=folder)
            self.assertEqual(
                runner.connections,
                [
                    [
                        {
                            "protocol": 1,
                            "report": {
                                "metrics": {"val/acc": 0.5, "loss": 2.0},
                                "iteration": 3,
                                "checkpoint": folder,
                            },
                        }
                    ]
                ],
            )

    def test_without_iteration_and_checkpoint_neither_is_sent(self):
        with StandInRunner() as runner:
            self.assertEqual(report(Reporter(runner.environ), loss=0.5), 1)
            self.assertEqual(runner.reports, [{"metrics": {"loss": 0.5}}])

    def test_what_holds_one_number_is_a_number(self):
        with StandInRunner() as runner:
            values = {"a": 1, "b": Scalar(0.25), "c": Fraction(1, 2), "d": Scalar(3)}
            report(Reporter(runner.environ), values)
            self.assertEqual(
                runner.reports[0]["metrics"], {"a": 1.0, "b": 0.25, "c": 0.5, "d": 3.0}
            )

    def test_none_and_what_is_not_finite_have_words_of_their_own(self):
        with StandInRunner() as runner:
            values = {"a": None, "b": float("nan"), "c": float("inf"), "d": Scalar(-float("inf"))}
            report(Reporter(runner.environ), values)
            self.assertEqual(
                runner.reports[0]["metrics"],
                {"a": "NaN", "b": "NaN", "c": "Infinity", "d": "-Infinity"},
            )

    def test_a_relative_checkpoint_is_sent_with_its_whole_path(self):
        with StandInRunner() as runner, tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "größe.pt"), "w"):
                pass
            relative = os.path.relpath(os.path.join(folder, "größe.pt"))
            report(Reporter(runner.environ), loss=1, checkpoint=relative)
            path = runner.reports[0]["checkpoint"]
            self.assertTrue(os.path.isabs(path), path)
            self.assertTrue(os.path.samefile(path, relative))

    def test_the_iteration_has_three_names_and_may_come_from_any_integer(self):
        with StandInRunner() as runner:
            reporter = Reporter(runner.environ)
            self.assertEqual(report(reporter, loss=1, step=2), 2)
            self.assertEqual(report(reporter, loss=1, training_iteration=5), 5)
            self.assertEqual(report(reporter, {"loss": 1, "training_iteration": 8}), 8)
            self.assertEqual([sent["iteration"] for sent in runner.reports], [2, 5, 8])
            self.assertEqual(runner.reports[2]["metrics"], {"loss": 1.0})

    def test_a_socket_may_be_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            with StandInRunner(path=os.path.join(folder, "runner.sock")) as runner:
                report(Reporter(runner.environ), loss=1)
                self.assertEqual(len(runner.reports), 1)


class WhatIsKept(unittest.TestCase):
    def test_is_the_last_report_and_the_extremes_of_each_metric_until_the_next_trial(self):
        with StandInRunner(lambda message, count: {"trial": {}} if "next" in message else go_on(message, count)) as runner:
            reporter = Reporter(runner.environ)
            self.assertEqual((reporter.reported(), reporter.extremes("loss")), ({}, None))
            for loss in (3, 1, float("nan"), 2):
                report(reporter, loss=loss)
            self.assertEqual((reporter.reported(), reporter.extremes("loss")), ({"loss": 2}, (1, 3)))
            reporter.next_trial()
            self.assertEqual((reporter.reported(), reporter.extremes("loss")), ({}, None))


class TheNextTrial(unittest.TestCase):
    def test_may_have_more_variables_than_a_report_has_answer(self):
        variables = {f"TUNE_PARAM_{number}": "x" * 100_000 for number in range(40)}
        with StandInRunner(lambda message, count: {"trial": variables}) as runner:
            self.assertEqual(Reporter(runner.environ).next_trial(), variables)

    def test_is_none_where_the_runner_is_gone(self):
        with StandInRunner(lambda message, count: None) as runner:
            self.assertIsNone(Reporter(runner.environ).next_trial())


class WhatCannotBeReported(unittest.TestCase):
    def assert_refused(self, kind, words, metrics=None, **more):
        with StandInRunner() as runner:
            with self.assertRaises(kind) as raised:
                report(Reporter(runner.environ), metrics, **more)
            self.assertIn(words, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
            self.assertEqual(runner.connections, [])

    def test_values_that_are_no_numbers(self):
        self.assert_refused(TypeError, "loss: read 'high', expected a number", loss="high")
        self.assert_refused(TypeError, "loss: read True, expected a number", loss=True)
        self.assert_refused(TypeError, "loss: read a value of type Scalar", loss=Scalar(True))
        self.assert_refused(TypeError, "loss: read a value of type Scalar", loss=Scalar(1.0, 2.0))
        self.assert_refused(TypeError, "loss: read a value of type list", loss=[0.5])
        self.assert_refused(TypeError, "loss: read a value of type dict", {"loss": {"a": 1}})
        self.assert_refused(TypeError, "loss: read a value of type complex", loss=1j)
        self.assert_refused(ValueError, "loss: read a value of type int", loss=10**400)

    def test_metrics_that_are_none(self):
        self.assert_refused(ValueError, "expected at least one")
        self.assert_refused(ValueError, "expected at least one", {"training_iteration": 3})
        self.assert_refused(TypeError, "expected names and numbers", [("loss", 1)])
        self.assert_refused(TypeError, "the name 3", {3: 1.0})
        self.assert_refused(TypeError, "the name ''", {"": 1.0})
        self.assert_refused(ValueError, "loss: reported twice", {"loss": 1}, loss=2)

    def test_iterations_that_are_none(self):
        for wrong in (0, -1, 1.5, "3", True):
            self.assert_refused(ValueError, f"read {wrong!r}, expected an integer", a=1, step=wrong)
        self.assert_refused(ValueError, "step: read 0, expected an integer from 1; steps begin at 1: step=epoch + 1", a=1, step=0)
        self.assert_refused(ValueError, "two names", a=1, step=1, training_iteration=1)

    def test_checkpoints_that_are_none(self):
        self.assert_refused(ValueError, "/no/file is not there", a=1, checkpoint="/no/file")
        self.assert_refused(TypeError, "checkpoint: read b'/tmp'", a=1, checkpoint=b"/tmp")
        self.assert_refused(TypeError, "", a=1, checkpoint=3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsdecode(os.path.join(os.fsencode(folder), b"\xff.pt"))
            with open(path, "w"):
                pass
            self.assert_refused(ValueError, "is not UTF-8", a=1, checkpoint=path)


class Answers(unittest.TestCase):
    def test_reports_count_on_and_share_a_connection(self):
        with StandInRunner() as runner:
            reporter = Reporter(runner.environ)
            self.assertEqual([report(reporter, loss=1) for _ in range(3)], [1, 2, 3])
            self.assertEqual(reporter.iteration(), 3)
            self.assertEqual(len(runner.connections), 1)

    def test_the_iteration_starts_at_the_restored_one(self):
        with StandInRunner() as runner:
            self.assertEqual(Reporter(runner.environ).iteration(), 0)
            reporter = Reporter({**runner.environ, "TUNE_FROM_ITERATION": "4"})
            self.assertEqual(reporter.iteration(), 4)
            report(reporter, loss=1, step=5)
            self.assertEqual(reporter.iteration(), 5)

    def test_a_program_that_never_asked_for_its_checkpoint_is_told(self):
        with StandInRunner() as runner:
            restored = {**runner.environ, "TUNE_FROM_ITERATION": "4", "TUNE_RESTORED": "/a"}
            with self.assertRaisesRegex(ReportError, "checkpoint of iteration 4"):
                report(Reporter(restored), loss=1)
            self.assertEqual(runner.connections, [])
            report(Reporter(restored), loss=1, step=5)
            asking = Reporter(restored)
            asking.look_back()
            report(asking, loss=1)

    def test_stop_is_raised_and_stays(self):
        with StandInRunner(lambda message, count: {"answer": "stop", "iteration": 3}) as runner:
            reporter = Reporter(runner.environ)
            for _ in range(2):
                with self.assertRaises(Stop) as raised:
                    report(reporter, loss=1)
                self.assertEqual(raised.exception.code, 0)
            self.assertEqual(reporter.iteration(), 3)
            self.assertEqual(len(runner.reports), 1)  # The second one was not sent.

    def test_a_refused_report_is_an_error_and_the_next_one_goes_on(self):
        def answer(message, count):
            return {"error": "iteration 2 was reported"} if count == 2 else go_on(message, count)

        with StandInRunner(answer) as runner:
            reporter = Reporter(runner.environ)
            report(reporter, loss=1)
            with self.assertRaisesRegex(ReportError, "^iteration 2 was reported$"):
                report(reporter, loss=1)
            self.assertEqual(reporter.iteration(), 1)
            self.assertEqual(report(reporter, loss=1), 3)
            self.assertEqual(len(runner.connections), 1)

    def test_a_tune_that_knows_only_other_protocols_refuses(self):
        def answer(message, count):
            return {"error": f"protocol {message['protocol']} is not known"}

        with StandInRunner(answer) as runner:
            with self.assertRaisesRegex(ReportError, "protocol 1 is not known"):
                report(Reporter(runner.environ), loss=1)

    def test_an_answer_of_a_newer_tune_is_refused_with_advice(self):
        for newer in (
            {"answer": "pause", "iteration": 1},
            {"answer": "continue"},
            {"verdict": "stop"},
            b"[]\n",
            b"what?\n",
        ):
            with StandInRunner(lambda message, count, newer=newer: newer) as runner:
                with self.assertRaisesRegex(ReportError, "install the module that came with"):
                    report(Reporter(runner.environ), loss=1)


class ARunnerThatIsGone(unittest.TestCase):
    def assert_gone(self, reporter):
        with self.assertRaisesRegex(ConnectionError, "^the process that runs this trial is gone"):
            report(reporter, loss=1)

    def test_nobody_listens(self):
        self.assert_gone(Reporter({"TUNE_SOCKET": "@nobody-listens-here"}))
        self.assert_gone(Reporter({"TUNE_SOCKET": "/no/such/socket"}))
        self.assert_gone(Reporter({"TUNE_SOCKET": "/" + "x" * 200}))

    def test_it_hangs_up_instead_of_answering(self):
        with StandInRunner(lambda message, count: None) as runner:
            self.assert_gone(Reporter(runner.environ))

    def test_it_dies_in_the_middle_of_an_answer(self):
        def answer(message, count):
            raise SystemExit  # Ends the connection's thread, which closes it.

        with StandInRunner(answer) as runner:
            self.assert_gone(Reporter(runner.environ))

    def test_an_answer_without_end_is_given_up(self):
        with StandInRunner(lambda message, count: b"x" * (2 << 20)) as runner:
            self.assert_gone(Reporter(runner.environ))

    def test_it_goes_between_two_reports(self):
        with StandInRunner() as runner:
            reporter = Reporter(runner.environ)
            report(reporter, loss=1)
        self.assert_gone(reporter)


class ThreadsAndSignals(unittest.TestCase):
    def test_threads_report_one_after_another_over_one_connection(self):
        with StandInRunner() as runner:
            reporter = Reporter(runner.environ)
            answered = []

            def train(thread):
                for i in range(25):
                    answered.append(report(reporter, {"thread": thread, "i": i}))

            threads = [threading.Thread(target=train, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answered), list(range(1, 201)))
            self.assertEqual(len(runner.connections), 1)

    def test_a_report_that_a_signal_broke_off_leaves_no_answer_to_the_next_one(self):
        class BrokenOff(Exception):
            pass

        def break_off(*_):
            raise BrokenOff

        has_broken_off = threading.Event()

        def answer(message, count):
            if count == 1:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
                has_broken_off.wait()
            return go_on(message, count)

        before = signal.signal(signal.SIGUSR1, break_off)
        try:
            with StandInRunner(answer) as runner:
                reporter = Reporter(runner.environ)
                with self.assertRaises(BrokenOff):
                    report(reporter, loss=1)
                has_broken_off.set()
                self.assertEqual(report(reporter, loss=1), 2)
                self.assertEqual(len(runner.connections), 2)
        finally:
            has_broken_off.set()
            signal.signal(signal.SIGUSR1, before)

    def test_a_report_within_a_report_is_refused_rather_than_waited_for(self):
        def answer(message, count):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            refused.wait()
            return go_on(message, count)

        def report_too(*_):
            try:
                report(reporter, loss=2)
            except RuntimeError as error:
                errors.append(str(error))
            refused.set()

        refused = threading.Event()
        errors = []
        before = signal.signal(signal.SIGUSR1, report_too)
        try:
            with StandInRunner(answer) as runner:
                reporter = Reporter(runner.environ)
                self.assertEqual(report(reporter, loss=1), 1)
                self.assertEqual(len(errors), 1)
                self.assertIn("signal handler", errors[0])
        finally:
            signal.signal(signal.SIGUSR1, before)


class RoundTrip(unittest.TestCase):
    def test_its_median_is_printed(self):
        with StandInRunner() as runner:
            reporter = Reporter(runner.environ)
            seconds = []
            for _ in range(300):
                start = time.perf_counter()
                report(reporter, val_accuracy=0.5)
                seconds.append(time.perf_counter() - start)
            self.assertEqual(len(runner.reports), 300)
        print(f"report: median {statistics.median(seconds) * 1e3:.3f} ms to a stand-in and back")


if __name__ == "__main__":
    unittest.main()
