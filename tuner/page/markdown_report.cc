#include "tuner/page/markdown_report.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/counted.h"
#include "core/json.h"
#include "core/time.h"
#include "tuner/alike_failures.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/stored_importance.h"
#include "tuner/cli/look/stored_snapshot.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/page/chart_svg.h"
#include "tuner/page/sweep_charts.h"
#include "tuner/provenance.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

// A text within a line or a cell of Markdown: nothing in it is markup.
std::string EscapedMarkdown(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (std::string_view("\\`*_{}[]<>|#&~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// In code; a cell of a table ends at "|" even there.
std::string Code(const std::string& text) {
  std::string out = Printable(text);
  std::replace(out.begin(), out.end(), '`', '\'');
  for (size_t at = 0; (at = out.find('|', at)) != std::string::npos; at += 2) out.insert(at, "\\");
  return "`" + out + "`";
}

std::string Row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string Head(const std::vector<std::string>& cells) {
  return Row(cells) + Row(std::vector<std::string>(cells.size(), "---"));
}

std::string DescribeMode(const Objective& objective) {
  return Code(objective.metric) + (objective.mode == Mode::kMax ? " (max)" : " (min)");
}

Result<std::string> SearchedPart(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  std::string out = "## What was searched\n\n" + Head({"parameter", "domain"});
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    const std::string text =
        domain != nullptr ? domain->ToText() : ShortText(std::get<Value>(parameter.content));
    out += Row({Code(parameter.name),
                Code(text) + (parameter.conditions.empty() ? "" : ", under a condition")});
  }
  out += "\nScheduler " + Code(sweep.scheduler) + ".";
  std::string limits;
  for (const std::string& limit : spec.feasible.texts()) {
    limits += (limits.empty() ? "" : " and ") + Code(limit);
  }
  return out + (limits.empty() ? "" : " A result has to keep " + limits + ".") + "\n\n";
}

// A trial as a row of a table, with its cells between its number and its parameters.
struct TableRow {
  const WeighedTrial* trial;
  std::vector<std::string> cells;
};

// With the parameters that are not the same in all of them; the others are named below it.
std::string TrialListing(const std::vector<std::string>& names_of_cells,
                         const std::vector<TableRow>& rows) {
  std::vector<std::string> names;
  for (const TableRow& row : rows) {
    for (const auto& [name, value] : row.trial->configuration.parameters()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  const auto text_of = [](const TableRow& row, const std::string& name) {
    const Value* const value = row.trial->configuration.Find(name);
    return value == nullptr ? std::string("-") : ShortText(*value);
  };
  std::string same;
  std::erase_if(names, [&](const std::string& name) {
    const std::string first = text_of(rows.front(), name);
    const bool is_same =
        rows.size() > 1 && std::all_of(rows.begin(), rows.end(), [&](const TableRow& row) {
          return text_of(row, name) == first;
        });
    if (is_same) same += (same.empty() ? "" : ", ") + Code(name + "=" + first);
    return is_same;
  });
  std::vector<std::string> head = {"trial"};
  head.insert(head.end(), names_of_cells.begin(), names_of_cells.end());
  for (const std::string& name : names) head.push_back(Code(name));
  std::string out = Head(head);
  for (const TableRow& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.trial->number)};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    for (const std::string& name : names) cells.push_back(EscapedMarkdown(text_of(row, name)));
    out += Row(cells);
  }
  return out + (same.empty() ? "\n" : "\nThe same in all of them: " + same + ".\n\n");
}

// Of several objectives: what there is in place of a best trial, by the first objective.
Result<std::string> FrontPart(Database& database, const FoundSweep& sweep) {
  constexpr size_t kRowsMax = 20;
  std::string out = "## Pareto front\n\n";
  TUNE_ASSIGN_OR_RETURN(std::vector<ObjectiveValues> front, ReadParetoFront(database, sweep));
  if (front.empty())
    return out + "None: " + EscapedMarkdown(WhyThereIsNoBest(database, sweep)) + ".\n\n";
  const std::string warning = WarningOf(sweep.limits, front);
  if (!warning.empty()) out += "**" + EscapedMarkdown(warning) + ".**\n\n";
  out += EscapedMarkdown(DescribeFront(front)) +
         ": no trial is better in all objectives. The values are those of "
         "each trial's last report that has all of them" +
         (sweep.is_constrained ? " and is feasible" : "") + ".\n\n";
  std::stable_sort(front.begin(), front.end(), [&](const auto& a, const auto& b) {
    return IsBetter(a.values[0], b.values[0], sweep.objectives[0].mode);
  });
  const size_t left_out = front.size() - std::min(front.size(), kRowsMax);
  front.resize(front.size() - left_out);
  TUNE_ASSIGN_OR_RETURN(const std::vector<WeighedTrial> trials, ReadWeighedTrials(database, sweep));
  std::vector<std::string> head;
  for (const Objective& objective : sweep.objectives) head.push_back(DescribeMode(objective));
  head.push_back("iterations");
  std::vector<TableRow> rows;
  for (const ObjectiveValues& one : front) {
    const auto trial = std::find_if(trials.begin(), trials.end(),
                                    [&](const WeighedTrial& t) { return t.number == one.trial; });
    if (trial == trials.end()) continue;
    TableRow& row = rows.emplace_back(TableRow{&*trial, {}});
    for (const double value : one.values) row.cells.push_back(ShortNumber(value));
    row.cells.push_back(std::to_string(trial->iterations));
  }
  if (!rows.empty()) out += TrialListing(head, rows);
  if (left_out > 0) out += std::to_string(left_out) + " more are on the front.\n\n";
  return out;
}

Result<std::string> BestPart(Database& database, const FoundSweep& sweep) {
  std::string out = "## Best trial\n\n";
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(database, sweep));
  if (!best) return out + "None: " + EscapedMarkdown(WhyThereIsNoBest(database, sweep)) + ".\n\n";
  out += "Trial " + std::to_string(best->number) + ": " + Code(sweep.metric) + " **" +
         ShortNumber(best->value) + "** at iteration " + std::to_string(best->iteration) + ".";
  const std::string warning = WarningOf(sweep, *best);
  if (!warning.empty()) out += " **" + EscapedMarkdown(warning) + ".**";
  if (best->runs) out += " Its configuration: " + EscapedMarkdown(Describe(*best->runs)) + ".";
  return out + "\n\n```json\n" + Printable(ToJson(best->config)) + "\n```\n\n";
}

constexpr size_t kRankedMax = 10;

// With `repeat` by the means, each configuration with its best run.
Result<std::string> TopConfigurationsPart(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<WeighedTrial> trials, ReadWeighedTrials(database, sweep));
  TUNE_ASSIGN_OR_RETURN(std::vector<ConfigurationRuns> ranked,
                        ReadConfigurationRuns(database, sweep));
  if (ranked.size() > kRankedMax) ranked.resize(kRankedMax);
  std::vector<TableRow> rows;
  for (const ConfigurationRuns& runs : ranked) {
    const auto best = std::find_if(trials.begin(), trials.end(), [&](const WeighedTrial& trial) {
      return trial.number == runs.best_trial;
    });
    if (best == trials.end()) continue;
    const std::string of = runs.count() < runs.repeat ? " of " + std::to_string(runs.repeat) : "";
    rows.push_back({&*best,
                    {ShortNumber(runs.mean), runs.deviation ? ShortNumber(*runs.deviation) : "-",
                     std::to_string(runs.count()) + of}});
    if (sweep.has_limits()) rows.back().cells.push_back(DescribeViolation(runs.violation));
  }
  if (rows.empty()) return std::string();
  std::vector<std::string> head = {"mean " + Code(sweep.metric), "deviation", "runs"};
  if (sweep.has_limits()) head.emplace_back("limits");
  return "## The best " + Counted(static_cast<int64_t>(rows.size()), "configuration") +
         ", each with its best run\n\n" + TrialListing(head, rows);
}

Result<std::string> TopPart(Database& database, const FoundSweep& sweep) {
  if (sweep.has_means()) return TopConfigurationsPart(database, sweep);
  TUNE_ASSIGN_OR_RETURN(std::vector<WeighedTrial> trials, ReadWeighedTrials(database, sweep));
  std::erase_if(trials, [](const WeighedTrial& t) { return t.has_failed || !t.best_value; });
  std::stable_sort(trials.begin(), trials.end(), [&](const auto& a, const auto& b) {
    return IsBetterStanding(*a.best_value, a.violation, *b.best_value, b.violation,
                            sweep.direction());
  });
  if (trials.size() > kRankedMax) trials.resize(kRankedMax);
  if (trials.empty()) return std::string();
  std::vector<TableRow> rows;
  for (const WeighedTrial& trial : trials) {
    rows.push_back({&trial, {ShortNumber(*trial.best_value), std::to_string(trial.iterations)}});
    if (sweep.has_limits()) {
      rows.back().cells.push_back(DescribeViolation(trial.violation.value_or(kViolationUnknown)));
    }
  }
  std::vector<std::string> head = {Code(sweep.metric), "iterations"};
  if (sweep.has_limits()) head.emplace_back("limits");
  return "## The best " + std::to_string(trials.size()) + "\n\n" + TrialListing(head, rows);
}

// Attempts that failed, of trials that failed and of those that went on afterwards.
Result<std::string> FailedAttemptsPart(Database& database, const FoundSweep& sweep) {
  static constexpr char kSql[] =
      "SELECT a.outcome, count(), count(DISTINCT a.trial),"
      " count(DISTINCT CASE WHEN t.status <> 'ERROR' THEN a.trial END)"
      " FROM attempts AS a JOIN trial_rows AS t ON t.id = a.trial WHERE t.experiment = ?1"
      " AND a.outcome NOT IN ('completed', 'stopped', 'preempted', 'running')"
      " GROUP BY a.outcome ORDER BY 2 DESC, 1";
  std::string rows;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    rows += Row({Code(std::string(row->Text(0))), std::to_string(row->Int(1)),
                 std::to_string(row->Int(2)), std::to_string(row->Int(3))});
  }
  if (rows.empty()) return rows;
  return "\nAttempts that failed:\n\n" +
         Head({"outcome", "attempts", "of trials", "that went on"}) + rows;
}

Result<std::string> EndsPart(Database& database, const FoundSweep& sweep, const Clock& clock) {
  static constexpr char kEndsSql[] =
      "SELECT status, coalesce(stop_reason, ''), count() FROM trial_rows WHERE experiment = ?1"
      " GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2";
  static constexpr char kErrorsSql[] =
      "SELECT t.number, coalesce(a.error, '') FROM trial_rows AS t JOIN attempt_rows AS a"
      " ON a.trial = t.id AND a.number = t.attempts WHERE t.experiment = ?1"
      " AND t.status = 'ERROR' ORDER BY t.number";
  constexpr size_t kErrorsMax = 5;
  std::string out = "## How trials ended\n\n" + Head({"status", "reason", "trials"});
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kEndsSql));
    row->BindAll(sweep.id);
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
      if (!has_row) break;
      const std::string reason(row->Text(1));
      out += Row({std::string(row->Text(0)), reason.empty() ? "" : Code(reason),
                  std::to_string(row->Int(2))});
    }
  }
  std::vector<std::pair<std::string, std::vector<int64_t>>> errors;  // The first text of a kind.
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kErrorsSql));
  row->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const std::string text(row->Text(1));
    const auto alike = std::find_if(errors.begin(), errors.end(), [&](const auto& error) {
      return ErrorKind(error.first) == ErrorKind(text);
    });
    (alike != errors.end() ? *alike : errors.emplace_back(text, std::vector<int64_t>()))
        .second.push_back(row->Int(0));
  }
  TUNE_ASSIGN_OR_RETURN(const std::string failed_attempts, FailedAttemptsPart(database, sweep));
  out += failed_attempts;
  if (!errors.empty()) out += "\nFailures:\n\n";
  for (size_t i = 0; i < std::min(errors.size(), kErrorsMax); ++i) {
    const auto& [text, numbers] = errors[i];
    out += "- " + Counted(static_cast<int64_t>(numbers.size()), "trial") +
           " (the first: " + std::to_string(numbers.front()) + "): " + Code(text) + "\n";
  }
  if (errors.size() > kErrorsMax) {
    out += "- and " + std::to_string(errors.size() - kErrorsMax) + " other kinds\n";
  }
  const StoredSnapshots snapshots(Instant{sweep.created_us});
  TUNE_ASSIGN_OR_RETURN(const SweepSummary summary,
                        snapshots.ReadSummary(database, sweep, clock.Now()));
  out += "\n## What early stopping saved\n\n";
  if (summary.iterations_full && *summary.iterations_full > 0) {
    const int64_t full = *summary.iterations_full;
    const int64_t saved = std::max<int64_t>(0, full - summary.iterations_trained);
    const double percent = 100.0 * static_cast<double>(saved) / static_cast<double>(full);
    out += Counted(summary.early_count, "trial") +
           " stopped early: " + Counted(summary.iterations_trained, "iteration") + " in place of " +
           std::to_string(full) + ", " + std::to_string(std::llround(percent)) + " % saved.\n\n";
  } else {
    out += "Nothing that is known: " + Counted(summary.early_count, "trial") + " stopped early, " +
           Counted(summary.iterations_trained, "iteration") + " trained.\n\n";
  }
  for (const Doubt& doubt : summary.doubts)
    out += "In doubt: " + EscapedMarkdown(Describe(doubt)) + "\n\n";
  return out;
}

// Nobody knows when a tuner died; it lived at the last report.
Result<Duration> TimeTaken(Database& database, const FoundSweep& sweep, Duration elapsed) {
  static constexpr char kSql[] =
      "SELECT max(r.reported_us) FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1";
  if (sweep.status != "INTERRUPTED") return elapsed;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  const std::optional<int64_t> last = has_row ? row->OptionalInt(0) : std::nullopt;
  return last ? Duration{*last - sweep.created_us} : Duration{};
}

// What a person wrote.
std::string LabelsPart(const SweepLabels& labels) {
  std::string out;
  for (const std::string& line : NoteLines(labels.note)) out += EscapedMarkdown(line) + "  \n";
  if (!out.empty()) out += "\n";
  if (labels.tags.empty()) return out;
  std::string tags;
  for (const auto& [key, value] : labels.tags) {
    tags += (tags.empty() ? "" : ", ") + Code(value.empty() ? key : key + "=" + value);
  }
  return out + "Tags: " + tags + "\n\n";
}

Result<std::string> ReproducePart(Database& database, const FoundSweep& sweep) {
  static constexpr char kSql[] = "SELECT provenance, spec FROM experiments WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return NotFound(sweep.name + ": its row is gone");
  std::string out = "## To reproduce it\n\n- seed " + Code(sweep.seed) + "\n";
  const Result<Provenance> provenance = DecodeProvenance(row->Text(0));
  if (provenance.ok()) {
    if (!provenance->version.empty()) out += "- tune " + Code(provenance->version) + "\n";
    if (!provenance->command.empty()) out += "- command " + Code(provenance->command) + "\n";
    if (provenance->git) {
      out += "- code " + Code(provenance->git->commit) +
             (provenance->git->is_dirty.value_or(false) ? ", with uncommitted changes" : "") + "\n";
    }
    for (const auto& [path, hash] : provenance->files) {
      if (path.starts_with(kVariableEntry)) {
        const std::string name = path.substr(kVariableEntry.size());
        out += "- " + std::string(kVariableEntry) + Code(name) + " of the environment\n";
      } else {
        out += "- file " + Code(path) + ", XXH64 " + Code(hash) + "\n";
      }
    }
    if (provenance->data) {
      out += "- data " + Code(provenance->data->folder) + ", " +
             Counted(provenance->data->file_count, "file") + ", by names and sizes " +
             Code(provenance->data->hash) + "\n";
    }
  }
  return out + "\n<details><summary>The space file</summary>\n\n```json\n" +
         Printable(row->Text(1)) + "\n```\n\n</details>\n";
}

}  // namespace

Result<MarkdownReport> MakeMarkdownReport(Database& database, const FoundSweep& sweep,
                                          const std::string& stem, const Clock& clock) {
  MarkdownReport report;
  std::string& out = report.markdown;
  std::string objectives;
  for (const Objective& objective : sweep.objectives) {
    objectives += (objectives.empty() ? "" : ", ") + DescribeMode(objective);
  }
  const StoredSnapshots snapshots(Instant{sweep.created_us});
  TUNE_ASSIGN_OR_RETURN(const SweepSummary summary,
                        snapshots.ReadSummary(database, sweep, clock.Now()));
  TUNE_ASSIGN_OR_RETURN(const Duration took, TimeTaken(database, sweep, summary.elapsed));
  out = "# Sweep " + EscapedMarkdown(sweep.name) + "\n\n" + objectives + ": " +
        Counted(summary.trial_count, "trial") + ", " + sweep.status + ", begun " +
        FormatInstant(Instant{sweep.created_us}) + ", took " + FormatDuration(took) + ".\n\n" +
        LabelsPart(sweep.labels);
  TUNE_ASSIGN_OR_RETURN(const std::string searched, SearchedPart(database, sweep));
  out += searched;
  const bool has_front = sweep.objectives.size() > 1;
  if (has_front) {
    TUNE_ASSIGN_OR_RETURN(const std::string front, FrontPart(database, sweep));
    out += front;
  } else {
    TUNE_ASSIGN_OR_RETURN(const std::string best, BestPart(database, sweep));
    TUNE_ASSIGN_OR_RETURN(const std::string top, TopPart(database, sweep));
    out += best + top;
  }
  const auto draw = [&](ChartKind kind, const char* title, const std::string& suffix) -> Status {
    out += "## " + std::string(title) + "\n\n";
    const Result<Chart> chart = MakeChart(database, sweep, kind);
    if (!chart.ok() && chart.status().code() == StatusCode::kFailedPrecondition) {
      out += EscapedMarkdown(chart.status().message()) + ".\n\n";
      return OkStatus();
    }
    if (!chart.ok()) return chart.status();
    const std::string file = stem + "_" + suffix + ".svg";
    report.pictures.emplace_back(file, RenderSvg(*chart));
    out += "![" + std::string(title) + "](<" + file + ">)\n\n";
    return OkStatus();
  };
  if (has_front) {
    TUNE_RETURN_IF_ERROR(draw(ChartKind::kFront, "The front", "front"));
  } else {
    TUNE_RETURN_IF_ERROR(draw(ChartKind::kBest, "Best value over time", "best"));
  }
  TUNE_RETURN_IF_ERROR(draw(ChartKind::kCurves, "Learning curves", "curves"));
  TUNE_RETURN_IF_ERROR(draw(ChartKind::kImportance, "Importance of the parameters", "importance"));
  TUNE_RETURN_IF_ERROR(draw(ChartKind::kParallel, "Parameters", "parallel"));
  TUNE_ASSIGN_OR_RETURN(const std::string ends, EndsPart(database, sweep, clock));
  TUNE_ASSIGN_OR_RETURN(const std::string reproduce, ReproducePart(database, sweep));
  out += ends + reproduce;
  return report;
}

}  // namespace tune
