// What is said of a space file before anything starts.
#include "tuner/cli/run/configuration_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tuner/cli/words/metric_words.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> Warnings(const std::string& yaml) {
  const auto document = ParseYaml(yaml);
  EXPECT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", true);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  const auto space = SpaceOf(*spec);
  EXPECT_TRUE(space.ok()) << space.status().message();
  return WarningsBeforeStart(*spec, *space);
}

constexpr char kCommand[] =
    "trainable: {command: [train, '{lr}'], metrics: {acc: {regex: 'acc: {number}'}}}\n"
    "metric: acc\n";

TEST(WarningsBeforeStart, NameParametersThatWouldShareAVariable) {
  const std::string head = std::string(kCommand) + "mode: max\nspace: ";
  EXPECT_THAT(Warnings(head + "{lr: {uniform: [0, 1]}, opt: {lr: 1}, opt_lr: 2, OPT-LR: 3}"),
              ElementsAre(HasSubstr("'opt/lr', 'opt_lr', 'OPT-LR' would have one variable, "
                                    "TUNE_PARAM_OPT_LR, which is not set")));
  EXPECT_THAT(Warnings(head + "{lr: {uniform: [0, 1]}, opt: {lr: 1}}"), IsEmpty());
}

TEST(WarningsBeforeStart, SayHowListsAndNullArriveOnTheCommandLine) {
  const std::string head = std::string(kCommand) + "mode: max\nspace: ";
  EXPECT_THAT(Warnings(head + "{lr: {choice: [1, [16, 32]]}}"),
              ElementsAre(HasSubstr("{lr} is one word of JSON on the command line: the script gets "
                                    "'[16,32]'; let it read that with a JSON reader")));
  EXPECT_THAT(Warnings(head + "{lr: {choice: [1, null]}}"),
              ElementsAre(HasSubstr("null arrives as the text null")));
  EXPECT_THAT(Warnings(head + "{lr: {choice: [1, 2.5, a, true]}}"), IsEmpty());
  EXPECT_THAT(Warnings("trainable: food11\nmetric: val_accuracy\nmode: max\n"
                       "space: {lr: {uniform: [0, 1]}}\n"),
              IsEmpty())
      << "it has no command line";
}

TEST(WarningsBeforeStart, TellOfPointsThatThereAreNoSamplesFor) {
  const std::string head =
      std::string(kCommand) + "mode: max\npoints: [{lr: 1}, {lr: 2}, {lr: 3}]\n";
  const std::string space = "space: {lr: {uniform: [0, 4]}}\n";
  EXPECT_THAT(Warnings(head + space + "samples: 2\n"),
              ElementsAre("points: 3 points and 2 samples: the last 1 will not be tried; raise "
                          "samples"));
  EXPECT_THAT(Warnings(head + space + "samples: 3\n"), IsEmpty());
  EXPECT_THAT(Warnings(head + "space: {lr: {grid_search: [1, 2, 3, 4]}}\n"), IsEmpty());
}

TEST(WarningsBeforeStart, NameAValueThatStandsTwiceInAList) {
  const std::string head = std::string(kCommand) + "mode: max\nspace: ";
  EXPECT_THAT(Warnings(head + "{lr: {choice: [0.1, 0.2, 0.1]}}"),
              ElementsAre(HasSubstr("'lr' has the value 0.1 twice, so it is drawn more often")));
  EXPECT_THAT(Warnings(head + "{lr: {grid_search: [1, 1]}}"),
              ElementsAre(HasSubstr("'lr' has the value 1 twice: the grid tries it twice")));
  EXPECT_THAT(Warnings(head + "{lr: {choice: [1, '1', true, 'true']}}"), IsEmpty());
}

TEST(WarningsBeforeStart, NameFilesThatTrialsWouldShare) {
  const auto warnings = [](const std::string& path, const std::string& more = "") {
    return Warnings("trainable: {command: [train, '{lr}', '{size}'], metrics: {acc: {json: '" +
                    path + "', key: acc}}}\nmetric: acc\nmode: max\n" + more +
                    "space: {lr: {uniform: [0, 1]}, size: {choice: [1, 2]}}\n");
  };
  EXPECT_THAT(warnings("out.json"), ElementsAre(HasSubstr("write {tune.dir}")));
  EXPECT_THAT(warnings("out-{size}.json"), ElementsAre(HasSubstr("read each other's 'acc'")));
  EXPECT_THAT(warnings("out.json", "limits: {max_concurrent: 1}\n"), IsEmpty());
  for (const char* const path :
       {"{tune.dir}/out.json", "out-{tune.trial}.json", "out-{size}-{lr}.json"}) {
    EXPECT_THAT(warnings(path), IsEmpty()) << path;
  }
}

TEST(WarningsBeforeStart, SayThatRanksCanWriteTheFileOfAMetric) {
  const auto warnings = [](const std::string& workers) {
    return Warnings(
        "trainable: {command: [train, '{lr}'], metrics: {acc: {json: '{tune.dir}/r.json', key: "
        "acc}}}\nmetric: acc\nmode: max\nspace: {lr: {uniform: [0, 1]}}\nresources: {workers: " +
        workers + "}\n");
  };
  EXPECT_THAT(warnings("1"), IsEmpty());
  EXPECT_THAT(warnings("2"), ElementsAre("'acc' is read from a file, which each of the 2 ranks can "
                                         "write: let rank 0 alone do so (RANK is 0)"));
}

TEST(WarningsBeforeStart, TellOfPipesThatHideACrash) {
  const auto warnings = [](const std::string& command) {
    return Warnings("trainable: {command: \"" + command +
                    "\", shell: true, metrics: {acc: {regex: 'acc: {number}'}}}\nmetric: acc\n"
                    "mode: max\nspace: {lr: {uniform: [0, 1]}}\n");
  };
  EXPECT_THAT(warnings("train {lr} | tee log"), ElementsAre(HasSubstr("set -o pipefail")));
  EXPECT_THAT(warnings("train {lr} || exit 1"), IsEmpty());
  EXPECT_THAT(warnings("train {lr} --sep '|'"), IsEmpty());
  EXPECT_THAT(warnings("set -o pipefail; train {lr} | tee log"), IsEmpty());
}

TEST(WarningsBeforeStart, TellOfAParameterThatSaysHowOftenTheMetricIsPrinted) {
  const auto warnings = [](const std::string& parameter, const std::string& more = "",
                           const std::string& scheduler = "asha: {max_t: 9}") {
    return Warnings("trainable: {command: [train, '{lr}', '{" + parameter + "}'], " + more +
                    "metrics: {acc: {regex: 'acc: {number}'}}}\nmetric: acc\nmode: max\n" +
                    "scheduler: {" + scheduler + "}\nspace: {lr: {uniform: [0, 1]}, " + parameter +
                    ": {choice: [1, 3]}}\n");
  };
  EXPECT_THAT(warnings("val_every"), ElementsAre(HasSubstr("'val_every' seems to say how often")));
  EXPECT_THAT(warnings("log_interval"), ElementsAre(HasSubstr("iteration: {regex:")));
  EXPECT_THAT(warnings("val_every", "iteration: {regex: 'Epoch {number}'}, "), IsEmpty());
  EXPECT_THAT(warnings("val_every", "", "fifo: {}"), IsEmpty());
  EXPECT_THAT(warnings("val_size"), IsEmpty());
  EXPECT_THAT(warnings("save_every"), IsEmpty());
}

TEST(WarningsBeforeStart, AskWhetherALossShallBeLarge) {
  const auto warnings = [](const std::string& metric, const std::string& mode) {
    return Warnings("trainable: {command: [train, '{lr}']}\nmetric: " + metric + "\nmode: " + mode +
                    "\nspace: {lr: {uniform: [0, 1]}}\n");
  };
  EXPECT_THAT(warnings("val_loss", "max"),
              ElementsAre("mode: max takes the largest val_loss for the best; should it be min?"));
  EXPECT_THAT(warnings("top1.Accuracy", "min"), ElementsAre(HasSubstr("should it be max?")));
  EXPECT_THAT(warnings("[accuracy, latency]", "[max, max]"),
              ElementsAre(HasSubstr("the largest latency")));
  for (const char* const metric : {"regret", "val_bpb", "eer", "brier_score", "mape", "cost"}) {
    EXPECT_THAT(warnings(metric, "max"), ElementsAre(HasSubstr("should it be min?"))) << metric;
  }
  for (const char* const metric : {"mean_return", "ep_rew_mean", "reward", "f1_score"}) {
    EXPECT_THAT(warnings(metric, "min"), ElementsAre(HasSubstr("should it be max?"))) << metric;
  }
  for (const char* const metric : {"val_loss", "latency_ms", "cost", "test/rmse", "fid_score",
                                   "regret", "score", "best_score"}) {
    EXPECT_THAT(warnings(metric, "min"), IsEmpty()) << metric;
  }
  for (const char* const metric : {"val_acc", "neg_mean_squared_error", "score", "log_likelihood",
                                   "eval/mrr", "loss_improvement", "error_reduction"}) {
    EXPECT_THAT(warnings(metric, "max"), IsEmpty()) << metric;
  }
}

// The words of a tuple in Python's source, `name = ("acc", ...)`.
std::vector<std::string> PythonWords(const std::string& source, const std::string& name) {
  const size_t begin = source.find("\n" + name + " = (");
  const std::string tuple = source.substr(begin, source.find(')', begin) - begin);
  std::vector<std::string> words;
  for (size_t at = tuple.find('"'); at != tuple.npos; at = tuple.find('"', at + 1)) {
    const size_t end = tuple.find('"', at + 1);
    words.push_back(tuple.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

TEST(MetricWords, AreThoseOfTuneInit) {
  std::ostringstream source;
  source << std::ifstream(TUNE_INIT_MEASURES).rdbuf();
  EXPECT_THAT(PythonWords(source.str(), "HIGHER"), UnorderedElementsAreArray(kWantedLarge));
  EXPECT_THAT(PythonWords(source.str(), "LOWER"), UnorderedElementsAreArray(kWantedSmall));
}

}  // namespace
}  // namespace tune
