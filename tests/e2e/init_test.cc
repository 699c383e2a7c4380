// From a script to its first sweep: `tune init`, `--dry-run`, `--try-one`, and what is told before
// anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> Scripts() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TUNE_SCRIPTS_DIR)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class InitOfScript : public ::testing::TestWithParam<std::string> {};

TEST_P(InitOfScript, ItsSpaceFilePassesTheDryRunAndReadsItsMetric) {
  const std::string& name = GetParam();
  TestFolder folder;
  fs::copy_file(fs::path(TUNE_SCRIPTS_DIR) / name, folder / name);
  const ProgramResult init = RunTune(folder, {"init", name});
  ASSERT_EQ(init.exit_status, 0) << init.err;
  const ProgramResult dry = RunTune(folder, {"run", "space.yaml", "--dry-run"});
  EXPECT_EQ(dry.exit_status, 0) << dry.err << ReadAll(folder / "space.yaml");
  EXPECT_THAT(dry.err, Not(HasSubstr("will not see")));
  if (ReadAll(folder / name).find("Runs anywhere") == std::string::npos) return;
  const ProgramResult tried = RunTune(folder, {"run", "space.yaml", "--try-one"});
  EXPECT_EQ(tried.exit_status, 0) << tried.out << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("the first report, iteration 1:"));
  EXPECT_THAT(folder.Names(), ::testing::UnorderedElementsAre(name, "space.yaml"))
      << "nothing is kept";
}

INSTANTIATE_TEST_SUITE_P(All, InitOfScript, ::testing::ValuesIn(Scripts()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

class BeforeTheStart : public ::testing::Test {
 protected:
  void WriteScript(const std::string& text) {
    folder_.Write("trial.sh", "#!/bin/sh\n" + text + "\n");
    chmod((folder_ / "trial.sh").c_str(), 0755);
  }
  ProgramResult Run(const std::string& space, const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"run", folder_.Write("space.yaml", space)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunTune(folder_, arguments);
  }
  static std::string Sweep(const std::string& trainable, const std::string& rest = "samples: 4\n") {
    return "trainable: {" + trainable + "}\nmetric: acc\nmode: max\n" + rest +
           "space: {x: {uniform: [0, 1]}, k: 3}\n";
  }

  TestFolder folder_;
};

TEST_F(BeforeTheStart, InitNeverWritesOverAFile) {
  folder_.Write("a.py", "print('acc: 1')\n");
  folder_.Write("space.yaml", "mine\n");
  const ProgramResult refused = RunTune(folder_, {"init", "a.py"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("space.yaml: is there already"), HasSubstr("--force")));
  EXPECT_EQ(ReadAll(folder_ / "space.yaml"), "mine\n");
  const ProgramResult printed = RunTune(folder_, {"init", "a.py", "-o", "-"});
  EXPECT_EQ(printed.exit_status, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("command: [python3, a.py]"));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"init", "a.py", "--force"})));
  EXPECT_THAT(ReadAll(folder_ / "space.yaml"), HasSubstr("command: [python3, a.py]"));
  EXPECT_THAT(RunTune(folder_, {"init", "none.py"}).err,
              HasSubstr("none.py: there is no such file"));
}

TEST_F(BeforeTheStart, TheScriptOfASpaceFileInAnotherFolderIsFound) {
  folder_.Write("2024.py", "x = 1\nprint(f'acc: {x}')\n");
  fs::create_directory(folder_ / "sweeps");
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"init", "2024.py", "-o", "sweeps/a.yaml"})));
  EXPECT_THAT(ReadAll(folder_ / "sweeps/a.yaml"),
              AllOf(HasSubstr("name: \"2024\"\n"),
                    HasSubstr("[python3, \"2024.py\"]\n  working_dir: ..\n")));
  const ProgramResult tried = RunTune(folder_, {"run", "sweeps/a.yaml", "--try-one"});
  EXPECT_EQ(tried.exit_status, 0) << tried.out << tried.err;
}

TEST_F(BeforeTheStart, InitTellsWhatItCannotKnow) {
  folder_.Write("a.py",
                "from tqdm import tqdm\n"
                "for epoch in (bar := tqdm(enumerate(loader), disable=None)):\n"
                "    bar.set_postfix(val_acc=1)\n");
  const ProgramResult init = RunTune(folder_, {"init", "a.py"});
  EXPECT_EQ(init.exit_status, 0) << init.err;
  EXPECT_THAT(init.err, AllOf(HasSubstr("init: to do: the bar that shows val_acc draws nothing"),
                              HasSubstr("init: to do: no option was found to search over")));
  EXPECT_THAT(ReadAll(folder_ / "space.yaml"), HasSubstr("# TO DO: the bar that shows val_acc"));
}

TEST_F(BeforeTheStart, InitReadsTheMetricsOfALog) {
  folder_.Write("fit.R", "print(1)\n");
  folder_.Write("fit.log", "epoch 1 | val_loss: 1.5e-3\nepoch 2 | val_loss: 1.2e-3\n");
  const ProgramResult init = RunTune(folder_, {"init", "fit.R", "--log", "fit.log", "-o", "-"});
  EXPECT_EQ(init.exit_status, 0) << init.err;
  EXPECT_THAT(init.out, AllOf(HasSubstr("val_loss: {regex: "), HasSubstr("metric: val_loss"),
                              HasSubstr("mode: min"), HasSubstr("[Rscript, fit.R]")));
}

TEST_F(BeforeTheStart, TryOneGoesToTmpWhereTmpdirNamesNoFolder) {
  WriteScript("echo 'acc: 0.9'");
  const MissingTmpdir missing;
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}"),
          {"--try-one"});
  EXPECT_EQ(tried.exit_status, 0) << tried.out << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("the first report, iteration 1:"));
}

TEST_F(BeforeTheStart, TryOneTellsOfTwoValuesInALine) {
  WriteScript("echo 'train acc: 0.9 val acc: 0.5'");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}"),
          {"--try-one"});
  EXPECT_EQ(tried.exit_status, 0) << tried.out << tried.err;
  EXPECT_THAT(tried.out, AllOf(HasSubstr("note: the regular expression of 'acc' found two values"),
                               HasSubstr("'val acc: {number}' reads 0.5")));
}

TEST_F(BeforeTheStart, TryOneTellsOfALimitThatNothingReports) {
  WriteScript("exec /usr/bin/python3 -c 'import tune; tune.report(acc=0.9)'");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"]") + "feasible: latency_ms <= 20\n", {"--try-one"});
  EXPECT_EQ(tried.exit_status, 0) << tried.out << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("latency_ms, which feasible names, is not among them"));
}

TEST_F(BeforeTheStart, ASummaryThatCountsIsToldOnceASweep) {
  WriteScript("for i in 1 2; do echo \"epoch $i acc: 0.$i\"; done; echo 'best acc: 0.2'");
  const ProgramResult sweep =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}"), {});
  EXPECT_EQ(sweep.exit_status, 0) << sweep.out << sweep.err;
  const std::string told = "matches lines of two kinds: 'epoch 1 acc: 0.1' and 'best acc: 0.2'";
  EXPECT_THAT(sweep.err, AllOf(HasSubstr(told), HasSubstr("such as '^epoch\\b.*acc: {number}'")));
  EXPECT_EQ(sweep.err.find(told), sweep.err.rfind(told)) << sweep.err;
}

TEST_F(BeforeTheStart, AParameterThatNothingCarriesIsTold) {
  WriteScript("echo 'acc: 0.5'");
  const std::string metrics = ", metrics: {acc: {regex: \"acc: {number}\"}}";
  const auto warnings = [&](const std::string& command) {
    return Run(Sweep("command: " + command + metrics), {"--dry-run"}).err;
  };
  EXPECT_THAT(warnings("[./trial.sh]"),
              AllOf(HasSubstr("warning: the program will not see 'x'"), HasSubstr("{x}")));
  EXPECT_EQ(warnings("[./trial.sh, \"{x}\"]"), "");
  EXPECT_EQ(warnings("[sh, -c, \"exec ./trial.sh\"]"), "") << "only where it is sure";
  WriteScript("echo \"acc: $TUNE_PARAM_X\"");
  EXPECT_EQ(warnings("[./trial.sh]"), "");
  folder_.Write("train.py", "from helper import run\n");
  folder_.Write("helper.py", "import tune\n");
  EXPECT_EQ(warnings("[python3, train.py]"), "") << "a module beside it reads them";
}

TEST_F(BeforeTheStart, AnOptionForWhichEveryTextIsTrueIsTold) {
  const auto warnings = [&](const std::string& option, const std::string& arguments) {
    folder_.Write("train.py", "import argparse\nparser = argparse.ArgumentParser()\n" + option +
                                  "\nprint('acc: 0.5')\n");
    return Run(Sweep("command: [python3, train.py, " + arguments +
                     "], metrics: {acc: {regex: \"acc: {number}\"}}"),
               {"--dry-run"})
        .err;
  };
  const std::string told = "warning: the script's --amp has type=bool";
  const std::string separate = "--amp, \"{x}\"";
  EXPECT_THAT(warnings("parser.add_argument('--amp', type=bool, default=True)", separate),
              HasSubstr(told));
  EXPECT_THAT(warnings("parser.add_argument(\n  '-a', \"--amp\",\n  help='(all :)', type = bool)",
                       "[\"--amp={x}\"]"),
              HasSubstr(told));
  EXPECT_EQ(warnings("parser.add_argument('--amp', type=float)\n"
                     "parser.add_argument('--fp16', type=bool)",
                     separate),
            "");
  EXPECT_EQ(warnings("# parser.add_argument('--amp', type=bool)", separate), "");
  EXPECT_EQ(warnings("parser.add_argument('--amp', type=bool)", "--fp, \"{x}\""), "");
}

TEST_F(BeforeTheStart, AVariableThatTakesTrueAndFalseForTheSameIsTold) {
  const auto warnings = [&](const std::string& read, const std::string& values = "[true, false]") {
    folder_.Write("train.py", "import os\namp = " + read + "\nprint('acc: 0.5')\n");
    const std::string space =
        "name: b\nmetric: acc\nmode: max\nspace: {amp: {choice: " + values +
        "}}\ntrainable: {command: [python3, train.py], env: {AMP: \"{amp}\"}, "
        "metrics: {acc: {regex: \"acc: {number}\"}}}\n";
    return Run(space, {"--dry-run"}).err;
  };
  EXPECT_THAT(warnings("bool(os.environ.get('AMP', False))"),
              HasSubstr("warning: the script reads AMP of env as bool(...) does, for which each "
                        "text is true, also false"));
  EXPECT_THAT(warnings("bool(os.environ[\"AMP\"])"), HasSubstr("bool(...)"));
  EXPECT_THAT(warnings("os.getenv('AMP', '0') == '1'"),
              HasSubstr("by a comparison with '1', which neither is"));
  EXPECT_THAT(warnings("os.environ['AMP'] == 'True'"), HasSubstr("with 'True'"));
  EXPECT_THAT(warnings("os.environ.get('AMP').lower() in ('1', 'yes')"), HasSubstr("('1', 'yes')"));
  for (const char* const read :
       {"os.environ.get('AMP').lower() in ('1', 'true')", "os.environ['AMP'] == 'true'",
        "os.environ['AMP'].upper() == 'TRUE'", "json.loads(os.environ['AMP'])",
        "os.environ['AMP'] != 'false'",
        "bool(int(os.environ['AMP']))  # bool(os.environ['AMP'])"}) {
    EXPECT_EQ(warnings(read), "") << read;
  }
  EXPECT_EQ(warnings("os.environ['AMP'] == '1'", "['0', '1']"), "");
}

TEST_F(BeforeTheStart, FilesThatTrialsSideBySideShareAreTold) {
  const std::string metrics = ", metrics: {acc: {regex: \"acc: {number}\"}}";
  const auto warnings = [&](const std::string& script, const std::string& name = "train.py") {
    folder_.Write(name, script);
    const std::string program = name == "train.py" ? "python3" : "bash";
    return Run(Sweep("command: [" + program + ", " + name + ", \"{x}\"]" + metrics), {"--dry-run"})
        .err;
  };
  const auto tells = [](const std::string& file) {
    return HasSubstr("warning: the script writes '" + file + "' and reads it again");
  };
  EXPECT_THAT(warnings("torch.save(m.state_dict(), 'best.pt')\nm = torch.load('best.pt')\n"),
              tells("best.pt"));
  EXPECT_THAT(warnings("with open(\"best.pkl\", 'wb') as f: pickle.dump(m, f)\n"
                       "m = pickle.load(open('best.pkl', 'rb'))\n"),
              tells("best.pkl"));
  EXPECT_THAT(warnings("CKPT = 'ckpt/last.pt'\nif os.path.exists(CKPT): load(CKPT)\n"
                       "torch.save(m, CKPT)\n"),
              tells("ckpt/last.pt"));
  EXPECT_THAT(warnings("with open('log.csv', 'a') as f: f.write('1\\n')\n"
                       "print('acc: %f' % float(list(csv.reader(open('log.csv')))[-1][1]))\n"),
              tells("log.csv"));
  EXPECT_THAT(warnings("CK = '/tmp/m.json'\njson.dump(1, open(CK, 'w'))\n"
                       "print('acc:', json.load(open(CK)))\n"),
              tells("/tmp/m.json"));
  EXPECT_THAT(
      warnings("echo \"{}\" > config.json\npython3 train.py --config config.json\n", "run.sh"),
      tells("config.json"));
  for (const char* const alone :
       {"torch.save(m, 'best.pt')\n", "torch.save(m, f'best_{x}.pt')\ntorch.load(f'best_{x}.pt')\n",
        "with open('r.json', 'w') as f: f.write('x')\nprint(\"wrote 'r.json'\")\n",
        "with open('r.json', 'w') as f: f.write('x')\nprint('r.json is already ready to load')\n",
        "# torch.save(m, 'best.pt')\ntorch.load('best.pt')\n",
        "d = os.environ['TUNE_DIR']\ntorch.save(m, 'best.pt')\ntorch.load('best.pt')\n"}) {
    EXPECT_EQ(warnings(alone), "") << alone;
  }
  EXPECT_EQ(warnings("python3 train.py > /dev/null 2>&1\ncat /dev/null\n", "run.sh"), "");
}

TEST_F(BeforeTheStart, WhatTheScriptPassesOverIsTold) {
  const std::string metrics = ", metrics: {acc: {regex: \"acc: {number}\"}}";
  const auto warnings = [&](const std::string& command) {
    return Run(Sweep("command: " + command + metrics), {"--dry-run"}).err;
  };
  const std::string script =
      "import argparse\nparser = argparse.ArgumentParser()\n"
      "parser.add_argument('--xenon', type=float)\nprint('acc: 0.5')\n";
  folder_.Write("train.py", script + "args, rest = parser.parse_known_args()\n");
  EXPECT_THAT(warnings("[python3, train.py, --y, \"{x}\"]"),
              HasSubstr("warning: the script has no option --y, and parse_known_args passes over"));
  EXPECT_EQ(warnings("[python3, train.py, --xe, \"{x}\"]"), "") << "argparse completes it";
  folder_.Write("train.py", script + "args = parser.parse_args()\n");
  EXPECT_EQ(warnings("[python3, train.py, --y, \"{x}\"]"), "") << "it refuses it itself";
  WriteScript("echo \"acc: ${LR:-1}\"");
  EXPECT_THAT(warnings("[./trial.sh], env: {SIZE: 1, X: \"{x}\"}"),
              HasSubstr("no script in the working folder reads the variable X of env"));
  folder_.Write("other.py", "import os\nprint(os.environ['X'])\n");
  EXPECT_EQ(warnings("[./trial.sh], env: {X: \"{x}\"}"), "") << "another script may be its reader";
  EXPECT_EQ(warnings("[./trial.sh], env: {OMP_NUM_THREADS: \"{x}\"}"), "") << "a library may";

  const auto sees = [&](const std::string& script) {
    WriteScript(script);
    return warnings("[bash, trial.sh], env: {X: \"{x}\"}");
  };
  constexpr char kSets[] = "reads the variable X of env";
  EXPECT_THAT(sees("# X is the rate\nX=${RATE:-0.1}\necho \"acc: $X\""), HasSubstr(kSets));
  EXPECT_THAT(sees("export X=0.1\necho \"acc: $X\""), HasSubstr(kSets));
  EXPECT_EQ(sees("X=${X:-0.1}\necho \"acc: $X\""), "");
  EXPECT_EQ(sees("[ -n \"$X\" ] || X=0.1\necho \"acc: $X\""), "");
  EXPECT_EQ(sees("Y=$X\nX=0.1\necho \"acc: $Y\""), "");
  EXPECT_EQ(sees("if [ -z \"$1\" ]; then\n  X=0.1\nfi\necho \"acc: $X\""), "");
}

TEST_F(BeforeTheStart, ASpaceInWhichNothingVariesIsTold) {
  WriteScript("echo 'acc: 0.5'");
  const std::string sweep =
      "trainable: {command: [./trial.sh]}\nmetric: acc\nmode: max\nspace: {x: 3}\n";
  EXPECT_THAT(
      Run(sweep + "samples: 4\n", {"--dry-run"}).err,
      HasSubstr("warning: nothing in the space varies: the 4 trials have one configuration"));
  EXPECT_EQ(Run(sweep, {"--dry-run"}).err, "");
  EXPECT_EQ(Run(sweep + "samples: 1\nsearch: {algorithm: random, repeat: 4}\n", {"--dry-run"}).err,
            "");
}

TEST_F(BeforeTheStart, ADryRunLooksForTheEarlierSweep) {
  WriteScript("tune report acc=1");
  ASSERT_TRUE(
      Succeeded(Run(Sweep("command: [./trial.sh, \"{x}\"]", "name: first\nsamples: 1\n"), {})));
  const std::string sweep =
      Sweep("command: [./trial.sh, \"{x}\"]", "from: firts\nsearch: {algorithm: tpe}\n");
  EXPECT_THAT(Run(sweep, {"--dry-run"}).err, AllOf(HasSubstr("firts"), HasSubstr("first")));
  EXPECT_TRUE(Succeeded(
      Run(Sweep("command: [./trial.sh, \"{x}\"]", "from: first\nsearch: {algorithm: tpe}\n"),
          {"--dry-run"})));
}

TEST_F(BeforeTheStart, ADryRunLooksForTheEarlierSweepBesideALivingHead) {
  WriteScript("tune report acc=1");
  ASSERT_TRUE(
      Succeeded(Run(Sweep("command: [./trial.sh, \"{x}\"]", "name: first\nsamples: 1\n"), {})));
  const auto head = StartHead(folder_, {"--cpus", "1"});
  const auto run = [this](const std::string& from) {
    return Run(
        Sweep("command: [./trial.sh, \"{x}\"]", "from: " + from + "\nsearch: {algorithm: tpe}\n"),
        {"--dry-run"});
  };
  EXPECT_TRUE(Succeeded(run("first")));
  EXPECT_THAT(run("firts").err, HasSubstr("first"));
}

TEST_F(BeforeTheStart, ADryRunChangesNoDatabaseOfAnOlderProgram) {
  WriteScript("tune report acc=1");
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const std::string dump = std::string(root) + "/tests/golden/db/v1.sql";
  ASSERT_EQ(std::system(("sqlite3 '" + (folder_ / "tune.db") + "' <'" + dump + "'").c_str()), 0);
  const std::string before = ReadAll(folder_ / "tune.db");
  const std::string sweep =
      Sweep("command: [./trial.sh, \"{x}\"]", "from: absent\nsearch: {algorithm: tpe}\n");
  EXPECT_THAT(Run(sweep, {"--dry-run"}).err, HasSubstr("absent"));
  EXPECT_EQ(ReadAll(folder_ / "tune.db"), before);
  folder_.Write("tune.db", "no database");
  EXPECT_THAT(Run(sweep, {"--dry-run"}).err, HasSubstr("tune.db"));
}

TEST_F(BeforeTheStart, TryOneShowsWhatWasReadWhere) {
  WriteScript("echo 'loss: 2' >&2; echo 'epoch 1 acc: 0.5'; echo 'late: 7'; sleep 60");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}, "
                "late: {regex: \"late: {number}\"}}",
                "samples: 9\nscheduler: {asha: {max_t: 4}}\nsearch: {algorithm: tpe}\n"),
          {"--try-one", "--cpus", "1"});
  EXPECT_EQ(tried.exit_status, 0) << tried.err;
  EXPECT_THAT(tried.out, AllOf(HasSubstr("configuration: {\"x\":"),
                               HasSubstr("acc = 0.5   read on standard output: epoch 1 acc: 0.5"),
                               HasSubstr("late was not seen yet"), HasSubstr("nothing was kept")));
  EXPECT_EQ(folder_.Names(), (std::vector<std::string>{"space.yaml", "trial.sh"}));
}

TEST_F(BeforeTheStart, TryOneTriesOneTrialOfAGridAndAsksNoSearchForWhatMayBeGained) {
  WriteScript("echo \"$1\" >> tried; echo \"acc: $1\"");
  const std::string grid =
      "name: grid\nmetric: acc\nmode: max\nspace: {x: {grid_search: [1, 2, 3, 4]}}\n"
      "trainable: {command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}}\n";
  const ProgramResult tried = Run(grid, {"--try-one", "--cpus", "1"});
  EXPECT_EQ(tried.exit_status, 0) << tried.err;
  const std::string value = ReadAll(folder_ / "tried").substr(0, 1);
  EXPECT_EQ(ReadAll(folder_ / "tried"), value + "\n");
  EXPECT_THAT(tried.out, AllOf(HasSubstr("configuration: {\"x\":" + value + "}"),
                               HasSubstr("acc = " + value + ".0   read on")));
  const ProgramResult learns =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}",
                "samples: 4\nsearch: {algorithm: gp}\nuntil: {regret: 0.002}\n"),
          {"--try-one", "--cpus", "1"});
  EXPECT_EQ(learns.exit_status, 0) << learns.err;
}

TEST_F(BeforeTheStart, TryOneWaitsForNoSweepThatItsFileFollows) {
  WriteScript("echo 'acc: 0.5'");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}",
                "samples: 4\nafter: [prepare]\n"),
          {"--try-one", "--cpus", "1"});
  EXPECT_EQ(tried.exit_status, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("acc = 0.5"));
}

TEST_F(BeforeTheStart, CtrlCEndsTryOneWithItsTrialAndItsFolder) {
  ASSERT_EQ(mkfifo((folder_ / "started").c_str(), 0600), 0);
  WriteScript("echo x >" + (folder_ / "started") + "; exec tail -f /dev/null");
  const std::string space =
      folder_.Write("space.yaml", Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: "
                                        "\"acc: {number}\"}}"));
  const TestFolder temporary;
  const char* const variable = std::getenv("TMPDIR");
  const std::string before = variable == nullptr ? "/tmp" : variable;
  setenv("TMPDIR", temporary.path().c_str(), 1);
  Program tune(folder_, "tune", {"run", space, "--try-one", "--cpus", "1"});
  setenv("TMPDIR", before.c_str(), 1);
  EXPECT_EQ(ReadAll(folder_ / "started"), "x\n");
  kill(-tune.pid(), SIGINT);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 130) << result.err;
  for (const std::string& name : temporary.Names()) {
    EXPECT_FALSE(name.starts_with("tune-try-")) << name;
  }
}

// Else the sweep would find its place there taken, by a database that is gone.
TEST_F(BeforeTheStart, TryOneLeavesTheObjectStoreAlone) {
  WriteScript("echo 'acc: 0.5'");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}",
                "samples: 4\ncheckpoint: {storage: \"s3://nobody-has-this/p\", "
                "storage_credentials: tuner}\n"),
          {"--try-one", "--cpus", "1"});
  EXPECT_EQ(tried.exit_status, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("nothing was kept"));
}

TEST_F(BeforeTheStart, TryOneSaysWhyNothingWasRead) {
  WriteScript("echo 'acc: 0.5' >&2");
  const ProgramResult tried =
      Run(Sweep("command: [./trial.sh, \"{x}\"], metrics: {acc: {regex: \"acc: {number}\"}}"),
          {"--try-one", "--cpus", "1"});
  EXPECT_EQ(tried.exit_status, 3) << tried.err;
  EXPECT_THAT(tried.out, AllOf(HasSubstr("the metric acc was not reported"),
                               HasSubstr("from: stderr"), HasSubstr("  acc: 0.5")));
}

}  // namespace
}  // namespace tune::testing
