#include "tuner/cli/look/list_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "core/utf8.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

Status PrintList(const ListOptions& options, const Clock& clock, std::ostream& out,
                 std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  TUNE_ASSIGN_OR_RETURN(std::vector<FoundSweep> sweeps, ListSweeps(*database));
  TUNE_RETURN_IF_ERROR(KeepTagged(options.tags, sweeps));
  if (options.names) {
    for (const FoundSweep& sweep : sweeps) out << Printable(sweep.name) << "\n";
    return OkStatus();
  }
  RowPrinter printer(options.format, options.width, out);
  const bool has_tags = std::any_of(sweeps.begin(), sweeps.end(), [](const FoundSweep& sweep) {
    return !sweep.labels.tags.empty();
  });
  const bool is_for_person = options.format == OutputFormat::kTable;
  if (is_for_person) {
    std::vector<std::string> columns = {"name", "status", "ended",  "metric",
                                        "best", "trial",  "created"};
    if (has_tags) columns.emplace_back("tags");
    printer.Begin(columns);
  } else {
    printer.Begin({"name", "status", "trials", "ended", "metric", "mode", "best_value",
                   "best_trial", "created_at", "finished_at", "tags", "note"});
  }
  const LivingStates living = LivingStates::Ask(options.db_path, sweeps, clock);
  for (FoundSweep& sweep : sweeps) {
    living.TellPaused(sweep);
    TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(*database, sweep.id));
    TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(*database, sweep));
    const Value best_value = best ? Value(best->value) : Value();
    // With `repeat` a person sees the mean of the best configuration, and its best run.
    const Value best_mean = best && best->runs ? Value(best->runs->mean) : best_value;
    const Value best_trial = best ? Value(best->number) : Value();
    const std::string created = FormatInstant(Instant{sweep.created_us});
    if (is_for_person) {
      std::vector<Value> row = {
          sweep.name, sweep.status,
          std::to_string(counts.ended()) + "/" +
              std::to_string(std::max(counts.total, TrialCountMax(*database, sweep))),
          sweep.metric + " (" + sweep.mode + ")", best_mean, best_trial,
          // To the minute.
          created.substr(0, 10) + " " + created.substr(11, 5)};
      if (has_tags) row.emplace_back(DescribeTags(sweep.labels.tags));
      printer.Row(row);
      continue;
    }
    printer.Row({sweep.name, sweep.status, counts.total, counts.ended(), sweep.metric, sweep.mode,
                 best_value, best_trial, created,
                 sweep.finished_us ? Value(FormatInstant(Instant{*sweep.finished_us})) : Value(),
                 TagsValue(sweep.labels.tags), sweep.labels.note});
  }
  printer.End();
  const bool any_runs = std::any_of(sweeps.begin(), sweeps.end(), [](const FoundSweep& sweep) {
    return HasTuner(sweep) && !sweep.is_told();
  });
  if (any_runs && !living.status().ok()) {
    err << "warning: whether each sweep is paused is not known: "
        << PrintableLines(living.status().message()) << "\n";
  }
  return OkStatus();
}

}  // namespace

int ListCommand(const ListOptions& options, const Clock& clock, std::ostream& out,
                std::ostream& err) {
  const Status status = PrintList(options, clock, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
