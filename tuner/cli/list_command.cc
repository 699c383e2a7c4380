#include "tuner/cli/list_command.h"

#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/sweep_lookup.h"

namespace tune {
namespace {

Status PrintList(const ListOptions& options, std::ostream& out) {
  static constexpr char kCountsSql[] =
      "SELECT count(), coalesce(sum(status IN ('TERMINATED', 'ERROR')), 0) FROM trials WHERE "
      "experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*database));
  if (options.names) {
    for (const FoundSweep& sweep : sweeps) out << Printable(sweep.name) << "\n";
    return OkStatus();
  }
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"name", "status", "trials", "ended", "metric", "mode", "best_value", "best_trial",
                 "created_at", "finished_at"});
  for (const FoundSweep& sweep : sweeps) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement counts, database->Kept(kCountsSql));
    counts->BindAll(sweep.id);
    TUNE_ASSIGN_OR_RETURN(const bool has_counts, counts->Step());
    const int64_t trial_count = has_counts ? counts->Int(0) : 0;
    const int64_t ended_count = has_counts ? counts->Int(1) : 0;
    TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(*database, sweep));
    printer.Row({sweep.name, sweep.status, trial_count, ended_count, sweep.metric, sweep.mode,
                 best.has_value() ? Value(best->value) : Value(),
                 best.has_value() ? Value(best->number) : Value(),
                 FormatInstant(Instant{sweep.created_us}),
                 sweep.finished_us.has_value() ? Value(FormatInstant(Instant{*sweep.finished_us}))
                                               : Value()});
  }
  printer.End();
  return OkStatus();
}

}  // namespace

int ListCommand(const ListOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = PrintList(options, out);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
