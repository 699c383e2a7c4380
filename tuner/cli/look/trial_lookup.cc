#include "tuner/cli/look/trial_lookup.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "core/check.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "first has trials 0 to 15".
Result<std::string> DescribeTrials(Database& database, const FoundSweep& sweep) {
  static constexpr char kRangeSql[] =
      "SELECT count(), coalesce(max(number), 0) FROM trials WHERE experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kRangeSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  const int64_t count = has_row ? row->Int(0) : 0;
  const int64_t last = has_row ? row->Int(1) : 0;
  const std::string name = Printable(sweep.name);
  if (count == 0) return name + " has no trial yet";
  return name + " has " + (last == 0 ? "trial 0 alone" : "trials 0 to " + std::to_string(last));
}

}  // namespace

std::string TakeTrial(std::vector<std::string>& words) {
  TUNE_CHECK(!words.empty());
  std::string trial = words[0];
  const bool is_name = !ParseNumber(trial.substr(trial.rfind('/') + 1));
  if (is_name && words.size() > 1) trial += "/" + words[1];
  words.erase(words.begin(), words.begin() + (is_name && words.size() > 1 ? 2 : 1));
  return trial;
}

std::vector<std::string> TrialTexts(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  std::string sweep;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t slash = words[i].rfind('/');
    if (ParseNumber(words[i])) {
      texts.push_back(sweep.empty() ? words[i] : sweep + "/" + words[i]);
    } else if (slash != std::string::npos && ParseNumber(words[i].substr(slash + 1))) {
      texts.push_back(words[i]);
    } else {
      sweep = words[i];
      const bool is_alone = i + 1 == words.size() || !ParseNumber(words[i + 1]);
      if (is_alone) texts.push_back(sweep);
    }
  }
  return texts;
}

Result<FoundTrial> FindTrial(Database& database, const std::string& text) {
  static constexpr char kTrialSql[] = "SELECT id FROM trials WHERE experiment = ?1 AND number = ?2";
  const size_t slash = text.rfind('/');
  std::string name = slash == std::string::npos ? "" : text.substr(0, slash);
  std::optional<int64_t> number =
      ParseNumber(slash == std::string::npos ? text : text.substr(slash + 1));
  // The name alone of what has one trial, such as a job.
  if (!number && slash == std::string::npos) {
    const Result<FoundSweep> only = FindSweep(database, text);
    if (only.ok() && only->samples == 1) {
      name = text;
      number = 0;
    }
  }
  if (!number || slash == 0) {
    return InvalidArgument(
        "TRIAL: read '" + Printable(text) +
        "', expected a trial's number, as in 3, or a sweep and a number, as in food11/3 or "
        "food11 3");
  }
  FoundTrial trial;
  TUNE_ASSIGN_OR_RETURN(trial.sweep, FindSweep(database, name));
  trial.number = *number;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialSql));
  row->BindAll(trial.sweep.id, trial.number);
  TUNE_ASSIGN_OR_RETURN(const bool is_there, row->Step());
  if (is_there) trial.id = row->Int(0);
  if (is_there) return trial;
  TUNE_ASSIGN_OR_RETURN(const std::string have, DescribeTrials(database, trial.sweep));
  return NotFound(database.path() + ": there is no trial " + std::to_string(*number) + "; " + have);
}

}  // namespace tune
