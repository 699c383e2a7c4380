#include "tuner/cli/run/configuration_check.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/counted.h"
#include "core/json.h"
#include "core/metric.h"
#include "search/searcher.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/command_text.h"
#include "trial_runner/parameter_variables.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/words/metric_words.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

constexpr int64_t kCheckedMax = 256;

// "'lr', 'momentum' and 2 more".
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kShownMax = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownMax); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kShownMax)
    text += " and " + std::to_string(names.size() - kShownMax) + " more";
  return text;
}

// "val", "loss" of "Val_loss".
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of("/_.- ", begin), name.size());
    std::string& word = words.emplace_back();
    for (const char c : name.substr(begin, end - begin)) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    begin = end + 1;
  }
  return words;
}

template <size_t kCount>
bool IsIn(std::string_view word, const std::string_view (&words)[kCount]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool Varies(const SpaceParameter& parameter) {
  const auto* const domain = std::get_if<Domain>(&parameter.content);
  return domain != nullptr && domain->Count().value_or(2) > 1;
}

bool IsLookedAt(size_t index, const SearchSpace& space) {
  return std::any_of(space.parameters().begin(), space.parameters().end(), [&](const auto& other) {
    return std::any_of(other.conditions.begin(), other.conditions.end(),
                       [&](const Condition& condition) { return condition.parent == index; });
  });
}

bool IsRepeated(const ExperimentSpec& spec) {
  return spec.search.is_map() && spec.search.Find("repeat") != nullptr;
}

// Parameters that would have one variable of the environment.
void AddSharedVariables(const ExperimentSpec& spec, const SearchSpace& space,
                        std::vector<std::string>& warnings) {
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "command") return;
  std::vector<std::string> names;
  for (const SpaceParameter& parameter : space.parameters()) names.push_back(parameter.name);
  for (const auto& [variable, shared] : SharedVariables(names)) {
    warnings.push_back(Listed(shared) + " would have one variable, " + variable +
                       ", which is not set therefore: name one of them otherwise, or read "
                       "TUNE_CONFIG");
  }
}

// Variables and options that are given true and false, which a script reads as the same.
void AddBooleans(const ExperimentSpec& spec, const SearchSpace& space,
                 std::vector<std::string>& warnings) {
  for (const MisreadBoolean& one : MisreadBooleans(spec.trainable, spec.base_dir)) {
    const auto parameter =
        std::find_if(space.parameters().begin(), space.parameters().end(),
                     [&](const SpaceParameter& other) { return other.name == one.parameter; });
    if (parameter == space.parameters().end()) continue;
    const auto* const domain = std::get_if<Domain>(&parameter->content);
    if (domain == nullptr || !domain->is_list()) continue;
    bool has_boolean = false;
    for (uint64_t i = 0; i < std::min<uint64_t>(domain->Count().value_or(0), kCheckedMax); ++i) {
      has_boolean = has_boolean || domain->At(i).is_bool();
    }
    if (!has_boolean) continue;
    warnings.push_back("the script reads " + one.name + " " + one.how +
                       "; it is given true or false: compare with \"true\", or let " +
                       one.parameter + " be a choice of the texts that the script knows");
  }
}

// Lists, maps and null, which a command line has no words for.
void AddValuesAsJson(const ExperimentSpec& spec, const SearchSpace& space,
                     std::vector<std::string>& warnings) {
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "command") return;
  const Result<CommandSpec> command = CommandSpec::Parse(spec.trainable);
  if (!command.ok()) return;
  const std::vector<std::string> named = command->ParameterNames();
  for (const SpaceParameter& parameter : space.parameters()) {
    if (std::find(named.begin(), named.end(), parameter.name) == named.end()) continue;
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    const auto* const constant = std::get_if<Value>(&parameter.content);
    std::vector<Value> values;
    if (constant != nullptr) values.push_back(*constant);
    const bool is_list = domain != nullptr && domain->is_list();
    const uint64_t count = is_list ? domain->Count().value_or(0) : 0;
    for (uint64_t i = 0; i < std::min<uint64_t>(count, kCheckedMax); ++i) {
      values.push_back(domain->At(i));
    }
    const auto found = std::find_if(values.begin(), values.end(), [](const Value& value) {
      return !value.is_scalar() || value.is_null();
    });
    if (found == values.end()) continue;
    std::string braced = parameter.name;
    std::replace(braced.begin(), braced.end(), '/', '.');
    const std::string text = CommandValueText(*found);
    warnings.push_back(
        "{" + braced + "} is one word of JSON on the command line: " +
        (found->is_null() ? std::string("null arrives as the text null; let the script take it for "
                                        "none, or write the value that means it")
                          : "the script gets " + ShellQuoted(text) +
                                "; let it read that with a JSON reader (Python: json.loads), or "
                                "take the value from TUNE_CONFIG or tune.config()"));
  }
}

// A value that stands twice in a list.
void AddTwins(const SearchSpace& space, std::vector<std::string>& warnings) {
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain == nullptr || !domain->is_list()) continue;
    std::set<std::string> seen;
    for (uint64_t i = 0; i < std::min<uint64_t>(domain->Count().value_or(0), kCheckedMax); ++i) {
      const std::string value = ToJson(domain->At(i));
      if (seen.insert(value).second) continue;
      warnings.push_back("'" + parameter.name + "' has the value " + value + " twice" +
                         (domain->kind() == Domain::Kind::kGridSearch
                              ? ": the grid tries it twice"
                              : ", so it is drawn more often; let it stand once, or write weights "
                                "if that is meant"));
      break;
    }
  }
}

// Files of metrics that trials side by side would write over each other.
// Nobody knows which rank's program wrote a file.
void AddFilesOfRanks(const ExperimentSpec& spec, std::vector<std::string>& warnings) {
  const Value* const metrics = spec.trainable.is_map() ? spec.trainable.Find("metrics") : nullptr;
  if (spec.resources.workers == 1 || metrics == nullptr || !metrics->is_map()) return;
  std::vector<std::string> names;
  for (const MapEntry& entry : metrics->AsMap()) {
    if (entry.value.is_map() && entry.value.Find("json") != nullptr) names.push_back(entry.key);
  }
  if (names.empty()) return;
  warnings.push_back(Listed(names) + " is read from a file, which each of the " +
                     std::to_string(spec.resources.workers) +
                     " ranks can write: let rank 0 alone do so (RANK is 0)");
}

void AddSharedFiles(const ExperimentSpec& spec, const SearchSpace& space,
                    std::vector<std::string>& warnings) {
  if (spec.limits.max_concurrent == 1) return;
  std::vector<std::string> telling = {"tune/dir", "tune/trial", "tune/seed"};
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain != nullptr && !domain->Count()) telling.push_back(parameter.name);
  }
  const std::string remedy =
      "; let it write into the folder that the variable TUNE_DIR names, or set limits: "
      "{max_concurrent: 1}";
  const SharedOutputs shared = FindSharedOutputs(spec.trainable, spec.base_dir);
  if (!shared.files.empty()) {
    warnings.push_back("the script writes " + Listed(shared.files) +
                       " and reads it again, a file that all trials share: a trial may read what "
                       "another one wrote" +
                       remedy);
  }
  if (!shared.command_files.empty()) {
    warnings.push_back("the command writes a trial's values into " + Listed(shared.command_files) +
                       ", a file that all trials share: a trial may run with another one's values; "
                       "write {tune.dir}/ before the name, or set limits: {max_concurrent: 1}");
  }
  if (!shared.newest.empty()) {
    warnings.push_back("the script takes the newest of " + Listed(shared.newest) +
                       ", which may be another trial's" + remedy);
  }
  if (shared.are_named_by_second) {
    warnings.push_back(
        "the script writes under a name made of the time in whole seconds: trials "
        "that begin in one second share it" +
        remedy);
  }
  const std::vector<std::string> metrics = SharedFileMetrics(spec.trainable, telling);
  if (metrics.empty()) return;
  warnings.push_back("trials that run side by side write one file, and read each other's " +
                     Listed(metrics) +
                     ": write {tune.dir}, the trial's own folder, into its path and into the "
                     "command, or set limits: {max_concurrent: 1}");
}

// "eval_every", "val_check_interval".
bool SaysHowOften(std::string_view parameter) {
  bool names_report = false, names_pause = false;
  for (const std::string& word : WordsOf(parameter)) {
    constexpr std::string_view kReports[] = {"eval", "val",    "valid", "validation", "test",
                                             "log",  "report", "check", "logging",    "evaluation"};
    constexpr std::string_view kPauses[] = {"every", "interval", "freq", "frequency", "period"};
    names_report = names_report || IsIn(word, kReports);
    names_pause = names_pause || IsIn(word, kPauses);
  }
  return names_report && names_pause;
}

// Trials whose n-th value is of another epoch, under a scheduler that compares the n-th values.
void AddIntervals(const ExperimentSpec& spec, const SearchSpace& space,
                  std::vector<std::string>& warnings) {
  if (IsFifo(spec.scheduler) || !CountsItsOutput(spec.trainable)) return;
  for (const SpaceParameter& parameter : space.parameters()) {
    if (!Varies(parameter) || !SaysHowOften(parameter.name)) continue;
    warnings.push_back(
        "'" + parameter.name +
        "' seems to say how often the script prints the metric: the scheduler then "
        "compares one trial's epoch 2 with another's epoch 6; write iteration: "
        "{regex: \"Epoch {number}\"} under trainable, so that it compares epochs, or "
        "let the parameter be constant");
  }
}

// "val_loss" to be as large as possible.
void AddModes(const ExperimentSpec& spec, std::vector<std::string>& warnings) {
  for (const Objective& objective : spec.objectives()) {
    const std::optional<Mode> usual = UsualMode(objective.metric);
    // What an expression takes away says nothing of the whole.
    const bool is_name = IsMetricName(objective.metric);
    if (!is_name || !usual || *usual == objective.mode) continue;
    const bool is_max = objective.mode == Mode::kMax;
    warnings.push_back("mode: " + std::string(is_max ? "max" : "min") + " takes the " +
                       (is_max ? "largest" : "smallest") + " " + objective.metric +
                       " for the best; should it be " + (is_max ? "min" : "max") + "?");
  }
}

// Points that there are not enough samples for; with a grid they come before it.
void AddPointsLeftOut(const ExperimentSpec& spec, const SearchSpace& space,
                      std::vector<std::string>& warnings) {
  if (!spec.points.is_list() || spec.samples < 0) return;
  const auto points = static_cast<int64_t>(spec.points.AsList().size());
  const int64_t trials = TrialCountOf(spec, space, spec.samples) / RepeatCount(spec.search);
  if (trials >= points) return;
  warnings.push_back("points: " + Counted(points, "point") + " and " + Counted(trials, "sample") +
                     ": the last " + std::to_string(points - trials) +
                     " will not be tried; raise samples");
}

}  // namespace

std::optional<Mode> UsualMode(std::string_view metric) {
  std::optional<Mode> mode;
  for (const std::string& word : WordsOf(metric)) {
    static constexpr std::string_view kTurned[] = {"neg",         "negative", "minus",
                                                   "improvement", "decrease", "reduction"};
    if (IsIn(word, kTurned)) return std::nullopt;
    if (IsIn(word, kWantedSmall)) mode = Mode::kMin;
    // A "fid_score" is small as a fid is, and a "best_score" is one of any measure.
    if (IsIn(word, kWantedLarge) && word != "score") mode = Mode::kMax;
  }
  return mode;
}

std::vector<std::string> WarningsBeforeStart(const ExperimentSpec& spec, const SearchSpace& space) {
  std::vector<std::string> warnings;
  std::vector<std::string> varying;
  std::vector<std::string> needed;  // Of these, what no `when` looks at: that decides about others.
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    if (!Varies(space.parameters()[i])) continue;
    varying.push_back(space.parameters()[i].name);
    if (!IsLookedAt(i, space)) needed.push_back(varying.back());
  }
  const std::vector<std::string> uncarried =
      UncarriedParameters(spec.trainable, needed, spec.base_dir);
  if (!uncarried.empty()) {
    std::string braced = uncarried.front();
    std::replace(braced.begin(), braced.end(), '/', '.');
    warnings.push_back("the program will not see " + Listed(uncarried) + ": write {" + braced +
                       "} into the command or env, or let the script read tune.config() or "
                       "TUNE_CONFIG");
  }
  for (const std::string& option : OptionsReadAsBool(spec.trainable, spec.base_dir)) {
    warnings.push_back("the script's " + option +
                       " has type=bool, for which every text is true, also False; let it have "
                       "action=argparse.BooleanOptionalAction, or choices of texts");
  }
  for (const std::string& option : OptionsPassedOver(spec.trainable, spec.base_dir)) {
    warnings.push_back("the script has no option " + option +
                       ", and parse_known_args passes over it without a word: see how the script "
                       "calls it, or let it use parse_args");
  }
  for (const std::string& variable : VariablesPassedOver(spec.trainable, spec.base_dir)) {
    warnings.push_back("no script in the working folder reads the variable " + variable +
                       " of env: see how the program calls it, and that it does not set it itself");
  }
  AddPointsLeftOut(spec, space, warnings);
  AddSharedVariables(spec, space, warnings);
  AddTwins(space, warnings);
  AddBooleans(spec, space, warnings);
  AddValuesAsJson(spec, space, warnings);
  AddFilesOfRanks(spec, warnings);
  AddSharedFiles(spec, space, warnings);
  AddIntervals(spec, space, warnings);
  AddModes(spec, warnings);
  if (HidesStatus(spec.trainable)) {
    warnings.push_back(
        "a pipe has the status of its last program: a crash before it makes a good trial; leave "
        "the "
        "pipe out (what the program prints is kept: tune logs), or write command: [bash, -c, \"set "
        "-o pipefail; ...\"]");
  }
  const int64_t count = TrialCountOf(spec, space, spec.samples);
  if (varying.empty() && count != 1 && !IsRepeated(spec)) {
    warnings.push_back("nothing in the space varies: " +
                       (count < 0 ? "all trials" : "the " + std::to_string(count) + " trials") +
                       " have one configuration; write domains such as lr: {loguniform: [1.0e-5, "
                       "1.0e-1]}, or search: {repeat: k} if that is meant");
  }
  return warnings;
}

namespace {

// A trial without a share of a device sees none, whatever the machine has.
Status CheckDevice(const ExperimentSpec& spec, const Configuration& configuration) {
  const Result<std::string> kind = TrainableKind(spec.trainable);
  const Value* const device = configuration.Find("device");
  const bool wants_card = kind.ok() && *kind == "food11" && device != nullptr &&
                          *device == Value("cuda") && spec.resources.gpu_milli == 0;
  if (!wants_card) return OkStatus();
  return InvalidArgument(
      "device: read 'cuda', but a trial has no share of a device here (resources.gpu is 0); write "
      "resources: {gpu: 1} or a part of one, or device: auto");
}

}  // namespace

Result<CheckedConfigurations> CheckConfigurations(const ExperimentSpec& spec, uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Searcher> searcher,
                        MakeSearcher(spec.search, ProblemOf(spec, space, spec.samples, seed)));
  const int64_t count_max = TrialCountOf(spec, space, spec.samples);
  const int64_t count = count_max < 0 ? kCheckedMax : std::min(count_max, kCheckedMax);
  CheckedConfigurations checked;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Configuration> configuration = searcher->Suggest(TrialNumber{i});
    if (!configuration) break;
    const std::string which = "the configuration of trial " + std::to_string(i);
    TUNE_RETURN_IF_ERROR(
        CheckConfiguration(spec.trainable, *configuration, spec.resources.workers).At(which));
    TUNE_RETURN_IF_ERROR(CheckDevice(spec, *configuration).At(which));
    if (i == 0) checked.first = *configuration;
    const std::string advice = ConfigurationAdvice(spec.trainable, *configuration);
    if (checked.advice.empty() && !advice.empty()) checked.advice = which + ": " + advice;
  }
  return checked;
}

}  // namespace tune
