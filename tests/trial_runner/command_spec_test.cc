// The trainable `command` as a space file writes it: what is read, what is refused and where, and
// what becomes of it with a configuration.
#include "trial_runner/command_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

// YAML reads JSON too, and knows the places.
Result<CommandSpec> Parse(const std::string& json) {
  const Result<Value> value = ParseYaml(json);
  EXPECT_TRUE(value.ok()) << json;
  return CommandSpec::Parse(*value);
}
CommandSpec Parsed(const std::string& json) {
  Result<CommandSpec> spec = Parse(json);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *std::move(spec);
}
std::string ErrorOf(const std::string& json) { return Parse(json).status().message(); }

Value Own() {
  return *ParseJson(
      R"({"dir":"/a/0","trial":4,"attempt":1,"seed":"7","sweep_seed":"5","experiment":"e"})");
}
Result<FilledCommand> Fill(const CommandSpec& spec, const std::string& config) {
  return spec.Fill(*ParseJson(config), Own());
}

TEST(CommandSpec, RefusesAnArgumentOrAVariableThatTheSystemDoesNotTake) {
  const CommandSpec argument = Parsed(R"({"command": ["a", "{text}"]})");
  const CommandSpec variable = Parsed(R"({"command": ["a"], "env": {"T": "{text}"}})");
  const auto text = [](size_t bytes) { return R"({"text":")" + std::string(bytes, 'x') + "\"}"; };
  EXPECT_TRUE(Fill(argument, text(131'071)).ok());
  EXPECT_THAT(Fill(argument, text(131'072)).status().message(),
              testing::StartsWith("command: argument 1: 131072 bytes, and the system takes at most "
                                  "131071; let the program take the value from TUNE_CONFIG"));
  EXPECT_TRUE(Fill(variable, text(131'069)).ok());
  EXPECT_THAT(Fill(variable, text(131'070)).status().message(),
              testing::StartsWith("env: T: 131072 bytes"));
}

// ---- reading

TEST(CommandSpec, ReadsAProgramAndItsArguments) {
  const CommandSpec spec = Parsed(R"({"command":["python3","train.py","--lr","{lr}","--n",3]})");
  EXPECT_THAT(Fill(spec, R"({"lr":0.5})")->arguments,
              ElementsAre("python3", "train.py", "--lr", "0.5", "--n", "3"));
  EXPECT_EQ(spec.program(), "python3");
  EXPECT_THAT(spec.metric_names(), IsEmpty());
}

TEST(CommandSpec, AVariableFromTheEnvironmentIsNotSetAndAnyTextMayBeAValue) {
  const CommandSpec spec = Parsed(
      R"({"command":["x"],"env":{"HF_TOKEN":{"from_environment":true},"A_KEY":{"value":"{a}"}}})");
  EXPECT_THAT(Fill(spec, R"({"a":"b"})")->environment, ElementsAre(Pair("A_KEY", "b")));
  EXPECT_THAT(spec.ParameterNames(), ElementsAre("a"));
}

TEST(CommandSpec, AValueIsOneArgumentWhateverItHolds) {
  const CommandSpec spec = Parsed(R"({"command":["x","{a}"]})");
  EXPECT_THAT(Fill(spec, R"j({"a":"two words; $(id)"})j")->arguments,
              ElementsAre("x", "two words; $(id)"));
  EXPECT_THAT(Fill(spec, R"({"a":[1,2]})")->arguments, ElementsAre("x", "[1,2]"));
}

TEST(CommandSpec, GivesAShellOneLineWithTheValuesQuoted) {
  const CommandSpec spec = Parsed(R"({"command":"train {a} | tail -1","shell":true})");
  EXPECT_THAT(Fill(spec, R"({"a":"it's"})")->arguments,
              ElementsAre("/bin/sh", "-c", "train 'it'\\''s' | tail -1"));
  EXPECT_EQ(spec.program(), std::nullopt) << "a shell will look for it";
}

TEST(CommandSpec, LeavesOutAGroupWhoseParameterIsInactive) {
  const CommandSpec spec =
      Parsed(R"({"command":["x",["--momentum","{momentum}"],["--fixed"],"--lr={lr}"],)"
             R"("env":{"MOMENTUM":"{momentum}","LR":"{lr}"}})");
  const Result<FilledCommand> with = Fill(spec, R"({"lr":1,"momentum":0.9})");
  EXPECT_THAT(with->arguments, ElementsAre("x", "--momentum", "0.9", "--fixed", "--lr=1"));
  EXPECT_THAT(with->environment, ElementsAre(Pair("MOMENTUM", "0.9"), Pair("LR", "1")));
  const Result<FilledCommand> without = Fill(spec, R"({"lr":1})");
  EXPECT_THAT(without->arguments, ElementsAre("x", "--fixed", "--lr=1"));
  EXPECT_THAT(without->environment, ElementsAre(Pair("LR", "1")));
}

TEST(CommandSpec, AnInactiveParameterElsewhereIsAnErrorThatSaysHowToLeaveItOut) {
  const Result<FilledCommand> filled = Fill(Parsed(R"({"command":["x","--m={m}"]})"), "{}");
  EXPECT_THAT(filled.status().message(), AllOf(HasSubstr("{m}"), HasSubstr("list of its own")));
}

TEST(CommandSpec, FillsInTheAttemptsOwnNames) {
  const CommandSpec spec = Parsed(
      R"({"command":["x","{tune.dir}/out","{tune.trial}","{tune.attempt}","{tune.seed}",)"
      R"("{tune.sweep_seed}","{tune.experiment}"],"metrics":{"area":{"json":"{tune.dir}/r.json","key":"a.b"}}})");
  const Result<FilledCommand> filled = Fill(spec, "{}");
  EXPECT_THAT(filled->arguments, ElementsAre("x", "/a/0/out", "4", "1", "7", "5", "e"));
  EXPECT_THAT(filled->metric_files, ElementsAre("/a/0/r.json"));
  EXPECT_EQ(spec.file_metrics()[0].key, "a.b");
}

TEST(CommandSpec, ReadsSetupAsOneLineOrSeveral) {
  EXPECT_THAT(Parsed(R"({"command":["x"],"setup":"make"})").setup(), ElementsAre("make"));
  EXPECT_THAT(Parsed(R"({"command":["x"],"setup":["a","b {x}"]})").setup(),
              ElementsAre("a", "b {x}"));
}

TEST(CommandSpec, KnowsTheMetricsThatItLooksForInTheirOrder) {
  const CommandSpec spec = Parsed(
      R"j({"command":["x"],"metrics":{"acc":{"regex":"acc ([0-9.]+)"},"area":{"json":"r.json"},)j"
      R"j("loss":{"regex":"loss ([0-9.]+)"}}})j");
  EXPECT_THAT(spec.metric_names(), ElementsAre("acc", "area", "loss"));
  ASSERT_EQ(spec.output_rules().patterns.size(), 2u);
  EXPECT_EQ(spec.output_rules().patterns[1].metric(), "loss");
  EXPECT_EQ(spec.output_rules().patterns[1].from(), StreamChoice::kStdout);
  EXPECT_FALSE(spec.output_rules().iteration.has_value());
  EXPECT_EQ(spec.file_metrics()[0].key, "");
}

TEST(CommandSpec, KnowsWhoseValuesAreTheIterations) {
  const CommandSpec spec = Parsed(
      R"j({"command":["x"],"metrics":{"acc":{"regex":"acc {number}","from":"both"}},)j"
      R"j("report_on":"acc","iteration":{"regex":"epoch {number}","from":"stderr","first":0}})j");
  EXPECT_EQ(spec.output_rules().patterns[0].from(), StreamChoice::kBoth);
  EXPECT_EQ(spec.output_rules().report_on, "acc");
  EXPECT_EQ(spec.output_rules().iteration->first, 0);
  EXPECT_EQ(spec.output_rules().iteration->pattern.from(), StreamChoice::kStderr);
}

TEST(CommandSpec, RefusesIterationsThatCannotBeRead) {
  const auto error = [](const std::string& rest) {
    return ErrorOf(R"({"command":["a"],"metrics":{"acc":{"regex":"{number}"}},)" + rest + "}");
  };
  EXPECT_THAT(error(R"("report_on":"ac")"),
              AllOf(StartsWith("1:69: trainable: report_on: 'ac' is no metric with a regex"),
                    HasSubstr("did you mean 'acc'")));
  EXPECT_THAT(error(R"("report_on":3)"), HasSubstr("expected the name of a metric"));
  EXPECT_THAT(error(R"("iteration":"epoch")"), HasSubstr("expected {regex: "));
  EXPECT_THAT(error(R"("iteration":{"first":0})"), HasSubstr("expected {regex: "));
  EXPECT_THAT(
      error(R"("iteration":{"regex":"epoch"})"),
      StartsWith("1:78: trainable: iteration: the regular expression 'epoch' has no group"));
  EXPECT_THAT(error(R"("iteration":{"regex":"{number}","first":2})"), HasSubstr("expected 0 or 1"));
  EXPECT_THAT(error(R"("iteration":{"regex":"{number}","key":"a"})"), HasSubstr("unknown key"));
  EXPECT_THAT(ErrorOf(R"({"command":["a"],"metrics":{"acc":{"json":"f"}},)"
                      R"("iteration":{"regex":"{number}"}})"),
              HasSubstr("no metric has a regex"));
}

TEST(CommandSpec, SaysWhichProgramIsLookedForUnlessAParameterDecides) {
  EXPECT_EQ(Parsed(R"({"command":["{tool}","x"]})").program(), std::nullopt);
  EXPECT_EQ(Parsed(R"({"command":["x"],"env":{"PATH":"/opt/bin"}})").search_path(), "/opt/bin");
  EXPECT_EQ(Parsed(R"({"command":["x"],"env":{"PATH":"/{a}"}})").search_path(), std::nullopt);
  EXPECT_EQ(Parsed(R"({"command":["x"]})").search_path(), std::nullopt);
}

// ---- refusing

TEST(CommandSpec, RefusesWhatIsNoCommandAtItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"command":"train.py"})", "1:12: trainable: command: read a text, expected a list"},
      {R"({"command":[]})", "1:12: trainable: command: is empty, expected a program"},
      {R"({"command":3})", "1:12: trainable: command: read 3, expected a list"},
      {R"({"command":["a",null]})", "1:17: trainable: command: read null, expected a text"},
      {R"({"command":["a",{"b":1}]})", "1:17: trainable: command: read a map, expected a text"},
      {R"({"command":["a",["b",["c"]]]})", "1:22: trainable: command: read a list, expected a"},
      {R"({"command":[["a"],"b"]})", "1:13: trainable: command: read a list, expected the prog"},
      {R"({"command":["a\u0000b"]})", "1:13: trainable: command: holds a zero byte"},
      {R"({"command":["a"],"shell":true})", "1:12: trainable: command: read a list, expected one"},
      {R"({"command":["a"],"shell":1})", "1:26: trainable: shell: read 1, expected true or false"},
      {R"({"command":["a"],"comand":1})", "1:18: trainable: unknown key 'comand'"},
      {R"({"command":["a"],"serve":1})", "1:26: trainable: serve: read 1, expected true or false"},
      {R"({"command":["a"],"serve":true,"metrics":{"b":{"regex":"{number}"}}})",
       "1:26: trainable: serve: a program that takes one trial after another reports by itself"},
      {R"({"command":["a"],"env":[]})", "1:24: trainable: env: read a list, expected a map"},
      {R"({"command":["a"],"env":{"A B":1}})", "1:25: trainable: env: read 'A B', expected"},
      {R"({"command":["a"],"env":{"TUNE_DIR":"x"}})",
       "1:25: trainable: env: read 'TUNE_DIR', which tune sets itself for each trial"},
      {R"({"command":["a"],"env":{"A":[1]}})", "1:29: trainable: env: A: read a list, expected"},
      {R"({"command":["a"],"env":{"A":{"from":1}}})",
       "1:29: trainable: env: A: read a map, expected a text, {from_environment: true} or {value:"},
      {R"({"command":["a"],"env":{"A":{"from_environment":false}}})",
       "1:29: trainable: env: A: read a map, expected a text"},
      {R"({"command":["a"],"env":{"A":{"value":[1]}}})",
       "1:38: trainable: env: A: read a list, expected a text"},
      {R"({"command":["a"],"working_dir":1})", "1:32: trainable: working_dir: read 1, expected"},
      {R"({"command":["a"],"setup":{}})", "1:26: trainable: setup: read a map, expected a list"},
      {R"({"command":["a"],"setup":["b",1]})", "1:31: trainable: setup: read 1, expected a shel"},
  };
  for (const auto& [json, start] : cases) EXPECT_THAT(ErrorOf(json), StartsWith(start)) << json;
  EXPECT_THAT(ErrorOf(R"({"command":["a"],"comand":1})"), HasSubstr("did you mean 'command'"));
  EXPECT_THAT(ErrorOf(R"({"command":"train.py"})"), HasSubstr("shell: true"));
}

TEST(CommandSpec, RefusesWhatIsNoMetricAtItsPlace) {
  const auto error = [](const std::string& metrics) {
    return ErrorOf(R"({"command":["a"],"metrics":)" + metrics + "}");
  };
  EXPECT_THAT(error("{}"),
              StartsWith("1:28: trainable: metrics: read a map, expected metrics by name, {"));
  EXPECT_THAT(error(R"(["acc"])"), StartsWith("1:28: trainable: metrics: read a list"));
  EXPECT_THAT(error(R"j({"acc":"acc (.*)"})j"), StartsWith("1:35: trainable: metrics: acc: read"));
  EXPECT_THAT(error(R"({"acc":{}})"), HasSubstr("expected {regex: "));
  EXPECT_THAT(error(R"({"acc":{"key":"a"}})"), HasSubstr("expected {regex: "));
  EXPECT_THAT(error(R"j({"acc":{"regex":"(a)","json":"b"}})j"), HasSubstr("expected {regex: "));
  EXPECT_THAT(error(R"j({"acc":{"regexp":"(a)"}})j"),
              AllOf(StartsWith("1:36: "), HasSubstr("did you mean 'regex'")));
  EXPECT_THAT(error(R"({"acc":{"regex":3}})"), StartsWith("1:44: "));
  EXPECT_THAT(error(R"({"acc":{"regex":"acc ([0-9]+"}})"),
              AllOf(StartsWith("1:44: trainable: metrics: acc: "), HasSubstr("missing )")));
  EXPECT_THAT(error(R"({"acc":{"regex":"acc [0-9]+"}})"), HasSubstr("has no group"));
  EXPECT_THAT(error(R"j({"":{"regex":"(a)"}})j"), HasSubstr("a name must have 1 to"));
  EXPECT_THAT(
      error(R"j({"acc":{"regex":"(a)","from":"stdin"}})j"),
      StartsWith("1:57: trainable: metrics: acc: from: read 'stdin', expected stdout, std"));
  EXPECT_THAT(error(R"j({"acc":{"json":"f","from":"stdout"}})j"), HasSubstr("expected {regex: "));
}

TEST(CommandSpec, RefusesParametersThatTheSpaceDoesNotHave) {
  const std::vector<std::string> known = {"lr", "optimizer/name"};
  EXPECT_TRUE(Parsed(R"({"command":["x","{lr}","{optimizer.name}","{tune.dir}"]})")
                  .CheckParameters(known)
                  .ok());
  const auto error = [&](const std::string& json) {
    return Parsed(json).CheckParameters(known).message();
  };
  EXPECT_THAT(error(R"({"command":["x","{ls}"]})"),
              AllOf(StartsWith("1:17: trainable: command: {ls} is no parameter of the space"),
                    HasSubstr("did you mean 'lr'"), HasSubstr("{{ls}}")));
  EXPECT_THAT(error(R"({"command":["x",["{optimizer.nam}"]]})"), HasSubstr("'optimizer/name'"));
  EXPECT_THAT(error(R"({"command":["x"],"env":{"A":"{b}"}})"),
              StartsWith("1:29: trainable: env: A: {b}"));
  EXPECT_THAT(error(R"({"command":["x"],"metrics":{"m":{"json":"{c}"}}})"),
              StartsWith("1:41: trainable: metrics: m: {c}"));
  EXPECT_THAT(error(R"({"command":["x","{tune.folder}"]})"), HasSubstr("{tune.folder}"));
}

TEST(CommandSpec, BracesThatSeemToNameAParameterAreRefused) {
  const auto error = [](const std::string& text, const std::vector<std::string>& known) {
    return Parsed(R"({"command":["x",)" + ToJson(Value(text)) + "]}")
        .CheckParameters(known)
        .message();
  };
  EXPECT_THAT(
      error("{ lr }", {"lr"}),
      AllOf(HasSubstr("command: { lr } would be given to the program as it stands; write {lr}"),
            HasSubstr("{{ lr }}")));
  EXPECT_THAT(error("--lr={lr:.3f}", {"lr"}), HasSubstr("write {lr}"));
  EXPECT_THAT(error("{learning rate}", {"learning_rate"}), HasSubstr("write {learning_rate}"));
  EXPECT_THAT(error("{a b}", {"a b"}), HasSubstr("rename the parameter 'a b'"));
  EXPECT_THAT(error("{1x}", {"1x"}), HasSubstr("rename the parameter '1x'"));
  EXPECT_THAT(error("{gr\xc3\xb6\xc3\x9f"
                    "e}",
                    {"groesse"}),
              HasSubstr("is no parameter of the space"));
  EXPECT_EQ(error("{gr\xc3\xb6\xc3\x9f"
                  "e}",
                  {"gr\xc3\xb6\xc3\x9f"
                   "e"}),
            "");
  EXPECT_THAT(error("{opt.lr}", {"opt.lr", "opt/lr"}), HasSubstr("rename that, to opt_lr"));
  for (const char* const braces : {"awk '{print $1}'", "{{ lr }}", "{\"lr\": 1}", "{lr: 0.1}",
                                   "{lr:0.1}", "{ echo lr; }", "{}", "{1}"}) {
    EXPECT_EQ(error(braces, {"lr"}), "") << braces;
  }
}

// ---- numbers in files

TEST(NumberUnder, FollowsKeysAndPositions) {
  const Value document = *ParseJson(R"({"a":{"b":2},"runs":[{"t":1.5},{"t":"NaN"}],"s":"12"})");
  EXPECT_EQ(*NumberUnder(document, "a.b"), 2);
  EXPECT_EQ(*NumberUnder(document, "runs.0.t"), 1.5);
  EXPECT_TRUE(std::isnan(*NumberUnder(document, "runs.1.t")));
  EXPECT_EQ(*NumberUnder(Value(7), ""), 7);
}

TEST(NumberUnder, SaysWhatIsThereInstead) {
  const Value document = *ParseJson(R"({"a":{"b":2},"runs":[1],"s":"12"})");
  EXPECT_EQ(NumberUnder(document, "a.c").status().message(), "there is no 'a.c' in it");
  EXPECT_EQ(NumberUnder(document, "a.b.c").status().message(), "there is no 'a.b.c' in it");
  for (const char* const key : {"runs.1", "runs.-1", "runs.x", "runs.0x", "runs.", "."}) {
    EXPECT_FALSE(NumberUnder(document, key).ok()) << key;
  }
  EXPECT_EQ(NumberUnder(document, "s").status().message(), "'s': read '12', expected a number");
  EXPECT_EQ(NumberUnder(document, "a").status().message(), "'a': read a map, expected a number");
  EXPECT_EQ(NumberUnder(Value("x"), "").status().message(), "read 'x', expected a number");
}

}  // namespace
}  // namespace tune
