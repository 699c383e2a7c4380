#include "tuner/cli/look/best_command.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "trial_runner/s3_address.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/checkpoint_on_disk.h"
#include "tuner/cli/look/expected_best.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/stored_checkpoint.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kFood11[] = "food11";
// Of the best of a sweep that runs, whose checkpoints come and go.
constexpr int kExportsMax = 5;

// Null in a sweep without limits on results.
Value FeasibleCell(const BestTrial& best) {
  return best.violation ? Value(IsFeasible(best.violation)) : Value();
}
Value ViolationCell(const BestTrial& best) {
  return best.violation ? Value(*best.violation) : Value();
}

Value CheckpointCell(const BestTrial& best) {
  return best.checkpoint_path.empty() ? Value() : Value(best.checkpoint_path);
}

// The runs of its configuration; null where it was tried once.
Value RunsCell(const BestTrial& best) { return best.runs ? RunsValue(*best.runs) : Value(); }

// The scores of the model on the evaluation set; null where it was not tested.
Value TestCell(const BestModel& model) {
  if (model.tested.empty()) return Value();
  Value scores = Value::MakeMap();
  for (const auto& [name, value] : model.tested) {
    if (name.starts_with("test_")) scores.Set(name, value);
  }
  return scores;
}

// Its line of the table, or nothing.
std::string TestLine(const BestModel& model) {
  const std::string epoch = std::to_string(model.epoch);
  if (!model.tested.empty()) {
    std::string line = "test           ";
    for (const char* const name : {"test_accuracy", "test_loss"}) {
      const Metric score = FindMetric(model.tested, name);
      line += std::string(name) + " = " + (score ? ShortNumber(*score) : "NaN") + ", ";
    }
    return line + "of epoch " + epoch + "\n";
  }
  if (!model.has_other_test) return "";
  return "test           not of epoch " + epoch +
         ": the scores that the trial reported are of another epoch's weights\n";
}

// Null where it was not asked for.
Value ExpectedCell(const std::optional<ExpectedBest>& expected) {
  if (!expected) return Value();
  Value cell = Value::MakeMap();
  cell.Set("value", expected->value);
  cell.Set("low", expected->low);
  cell.Set("high", expected->high);
  cell.Set("trials", static_cast<int64_t>(expected->trial_count));
  return cell;
}

std::string ExpectedLine(const std::optional<ExpectedBest>& expected, const FoundSweep& sweep) {
  if (!expected) return "";
  return "expected       " + Printable(sweep.metric) + " = " + ShortNumber(expected->value) +
         ", in two of three cases " + ShortNumber(expected->low) + " to " +
         ShortNumber(expected->high) + "; from " + std::to_string(expected->trial_count) +
         " trials\n";
}

void Print(const BestOptions& options, const FoundSweep& sweep, const BestTrial& best,
           const std::optional<ExpectedBest>& expected, const BestModel& model, std::ostream& out) {
  if (options.format != OutputFormat::kTable) {
    RowPrinter printer(options.format, options.width, out);
    printer.Begin({"experiment", "trial", "status", "metric", "value", "iteration", "config",
                   "checkpoint", "checkpoint_iteration", "test", "runs", "earlier_configs",
                   "feasible", "violation", "expected"});
    printer.Row({sweep.name, best.number, best.status, sweep.metric, best.value, best.iteration,
                 best.config, CheckpointCell(best),
                 best.checkpoint_path.empty() ? Value() : Value(best.checkpoint_iteration),
                 TestCell(model), RunsCell(best), best.earlier_configs, FeasibleCell(best),
                 ViolationCell(best), ExpectedCell(expected)});
    printer.End();
    return;
  }
  if (expected) out << "best           by what is expected, not by what was reported\n";
  if (best.runs) {
    out << (expected ? "its runs       " : "best           the configuration with the best mean: ")
        << Describe(*best.runs) << "\n";
  }
  out << (best.runs ? "its best run   " : "best trial     ") << Printable(sweep.name) << "/"
      << best.number << " (" << best.status << ")\n"
      << "value          " << Printable(sweep.metric) << " = " << ShortNumber(best.value)
      << " at iteration " << best.iteration << "\n"
      << ExpectedLine(expected, sweep)
      << (best.violation ? "limits         " + DescribeViolation(*best.violation) + "\n" : "")
      << TestLine(model) << "configuration  " << DescribeConfig(best.config) << "\n";
  if (best.earlier_configs > 0) {
    out << "               " << DescribeEarlierConfigs(best.earlier_configs, best.number) << "\n";
  }
  out << "checkpoint     ";
  if (best.checkpoint_path.empty()) {
    out << "none\n";
  } else {
    out << Printable(best.checkpoint_path);
    if (best.checkpoint_iteration != best.iteration)
      out << " (of iteration " << best.checkpoint_iteration << ")";
    out << "\n";
  }
}

Status WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file.fail())
    return Internal(path.string() +
                    ": cannot be written; is there room, and may this folder be written?");
  return OkStatus();
}

Status PrepareExportDir(const std::string& dir) {
  std::error_code error;
  if (fs::exists(dir, error) && (!fs::is_directory(dir, error) || !fs::is_empty(dir, error))) {
    return InvalidArgument("--export " + dir +
                           ": is there already and is not an empty folder; name another one");
  }
  fs::create_directories(dir, error);
  if (error) return InvalidArgument("--export " + dir + ": cannot be made: " + error.message());
  return OkStatus();
}

// What was exported, as a person is told.
std::string DescribeExported(const BestModel& model, int64_t epoch) {
  std::string text = "the model of epoch " + std::to_string(epoch);
  if (epoch != model.epoch) {
    text += "; no checkpoint has the weights of epoch " + std::to_string(model.epoch) +
            ", which has the best value (checkpoint: {every: 1} keeps them)";
  }
  return text;
}

// Into a folder that is there and empty. Returns what was exported.
Result<std::string> WriteExport(const BestOptions& options, const FoundSweep& sweep,
                                const BestTrial& best, const BestModel& model,
                                const ModelExporter& export_food11) {
  const bool has_checkpoint = !best.checkpoint_path.empty();
  std::string exported;
  std::error_code error;
  if (sweep.trainable_kind == kFood11 && export_food11) {
    TUNE_ASSIGN_OR_RETURN(const int64_t epoch,
                          export_food11(best.checkpoint_path, model, options.export_dir));
    exported = DescribeExported(model, epoch);
  } else if (has_checkpoint) {
    fs::copy(best.checkpoint_path, options.export_dir, fs::copy_options::recursive, error);
    if (error)
      return Internal("--export " + options.export_dir + ": cannot be written: " + error.message());
  }
  Value origin = Value::MakeMap();
  origin.Set("experiment", sweep.name);
  origin.Set("trial", best.number);
  origin.Set("metric", sweep.metric);
  origin.Set("value", best.value);
  origin.Set("iteration", best.iteration);
  origin.Set("checkpoint_iteration", best.checkpoint_iteration);
  origin.Set("config", best.config);
  origin.Set("earlier_configs", best.earlier_configs);
  if (best.runs) origin.Set("runs", RunsCell(best));
  if (best.violation) {
    origin.Set("feasible", FeasibleCell(best));
    origin.Set("violation", ViolationCell(best));
  }
  const fs::path dir(options.export_dir);
  TUNE_RETURN_IF_ERROR(WriteFile(dir / "best.json", ToJson(origin) + "\n"));
  if (!fs::exists(dir / "config.json", error)) {
    TUNE_RETURN_IF_ERROR(WriteFile(dir / "config.json", ToJsonForYaml(best.config) + "\n"));
  }
  return has_checkpoint ? exported : "its configuration; it has no checkpoint";
}

void Empty(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    fs::remove_all(entry.path(), error);
  }
}

// Returns what was exported. What cannot be written whole leaves nothing.
Result<std::string> Export(const BestOptions& options, const FoundSweep& sweep,
                           const BestTrial& best, const BestModel& model,
                           const ModelExporter& export_food11) {
  if (IsS3Url(best.checkpoint_path)) {
    const auto within = WithinTrialFolder(best.checkpoint_path, sweep.name, best.number);
    TUNE_ASSIGN_OR_RETURN(
        const StoredHere here,
        StoredHere::Of(best.checkpoint_path,
                       TrialFolder(ArtifactsDirOf(options.db_path), sweep.name, best.number) + "/" +
                           within.value_or("")));
    BestTrial brought = best;
    brought.checkpoint_path = here.path();
    return Export(options, sweep, brought, model, export_food11);
  }
  const std::string trial = sweep.name + "/" + std::to_string(best.number);
  std::error_code error;
  const bool is_food11 = sweep.trainable_kind == kFood11 && export_food11;
  const bool has_checkpoint = !best.checkpoint_path.empty();
  if (!has_checkpoint && is_food11) {
    return FailedPrecondition("trial " + trial +
                              " has no checkpoint to export; see `checkpoint` in the space file");
  }
  if (has_checkpoint && !fs::is_directory(best.checkpoint_path, error)) {
    return FailedPrecondition("the checkpoint of trial " + trial +
                              " is not where it was: " + best.checkpoint_path);
  }
  if (has_checkpoint && !is_food11) {  // Whose export looks for itself.
    const std::string damage = DamageOfCheckpoint(best.checkpoint_path);
    if (!damage.empty()) {
      return DataLoss("the checkpoint of trial " + trial + ", " + best.checkpoint_path + ": " +
                      damage + "; restore it from a backup");
    }
  }
  TUNE_RETURN_IF_ERROR(PrepareExportDir(options.export_dir));
  Result<std::string> exported = WriteExport(options, sweep, best, model, export_food11);
  if (!exported.ok()) Empty(options.export_dir);
  return exported;
}

// `expected`: where it was asked for.
Result<std::optional<BestTrial>> Choose(const BestOptions& options, Database& database,
                                        const FoundSweep& sweep,
                                        std::optional<ExpectedBest>& expected) {
  if (!options.by_expectation) {
    return FindBestTrial(database, sweep,
                         options.with_failed ? FailedTrials::kCount : FailedTrials::kLeaveOut);
  }
  if (options.with_failed) {
    return InvalidArgument(
        "--expected with --with-failed: nothing is expected of trials that failed; use one");
  }
  TUNE_ASSIGN_OR_RETURN(expected, FindExpectedBest(database, sweep));
  TUNE_ASSIGN_OR_RETURN(BestTrial best, FindTrialAsBest(database, sweep, expected->trial));
  return std::optional<BestTrial>(std::move(best));
}

// The best, as the database has it now.
struct Chosen {
  BestTrial best;
  BestModel model;
  std::optional<ExpectedBest> expected;  // Where it was asked for.
};

Result<Chosen> ChooseNow(const BestOptions& options, Database& database, const FoundSweep& sweep) {
  Chosen chosen;
  TUNE_ASSIGN_OR_RETURN(std::optional<BestTrial> best,
                        Choose(options, database, sweep, chosen.expected));
  if (!best) return NotFound(NoBestIn(database, sweep));
  chosen.best = *std::move(best);
  if (sweep.trainable_kind == kFood11) {
    TUNE_ASSIGN_OR_RETURN(chosen.model, FindBestModel(database, sweep, chosen.best));
  }
  return chosen;
}

// Whether the sweep has not given the checkpoint up; its files go after its row says so.
Result<bool> HasStill(Database& database, const BestTrial& best) {
  static constexpr char kSql[] =
      "SELECT path FROM checkpoint_rows WHERE trial = ?1 AND iteration = ?2 AND state = 'durable'";
  if (best.checkpoint_path.empty()) return true;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(best.id, best.checkpoint_iteration);
  const fs::path name = fs::path(best.checkpoint_path).filename();
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return false;
    if (fs::path(row->Text(0)).filename() == name) return true;
  }
}

// Returns what was exported. A checkpoint that a running sweep gives up meanwhile may be copied in
// part: then `chosen` is the best as it is by then, and that is exported.
Result<std::string> ExportWhole(const BestOptions& options, Database& database,
                                const FoundSweep& sweep, const ModelExporter& export_food11,
                                Chosen& chosen) {
  for (int count = 1; count <= kExportsMax; ++count) {
    Result<std::string> exported = Export(options, sweep, chosen.best, chosen.model, export_food11);
    TUNE_ASSIGN_OR_RETURN(const bool has_still, HasStill(database, chosen.best));
    if (has_still) return exported;
    if (exported.ok()) Empty(options.export_dir);
    TUNE_ASSIGN_OR_RETURN(chosen, ChooseNow(options, database, sweep));
  }
  return Unavailable("--export: the sweep gave up each of " + std::to_string(kExportsMax) +
                     " best checkpoints while they were copied; try again, or keep them longer "
                     "(checkpoint.keep_best)");
}

}  // namespace

int BestCommand(const BestOptions& options, const ModelExporter& export_food11, std::ostream& out,
                std::ostream& err) {
  const Result<std::unique_ptr<Database>> database = OpenForAnswer(options.db_path, err);
  if (!database.ok()) return Complain(database.status(), err);
  const Result<FoundSweep> sweep = FindSweep(**database, options.name);
  if (!sweep.ok()) return Complain(sweep.status(), err);
  if (sweep->objectives.size() > 1) {
    return Complain(FailedPrecondition(
                        sweep->name +
                        ": of several objectives there is no best trial but a front of them; see " +
                        ShellCommand("results", sweep->name, options.db_path) + " --best"),
                    err);
  }
  Result<Chosen> chosen = ChooseNow(options, **database, *sweep);
  if (!chosen.ok()) return Complain(chosen.status(), err);
  if (!options.export_dir.empty()) {
    const Result<std::string> exported =
        ExportWhole(options, **database, *sweep, export_food11, *chosen);
    if (!exported.ok()) return Complain(exported.status(), err);
    err << "exported to " << options.export_dir << (exported->empty() ? "" : ": " + *exported);
    if (chosen->best.runs) {
      err << "; of trial " << chosen->best.number << ", the best run of the configuration";
    }
    err << "\n";
  }
  Print(options, *sweep, chosen->best, chosen->expected, chosen->model, out);
  const std::string warning = WarningOf(*sweep, chosen->best);
  if (!warning.empty()) err << "warning: " << Printable(warning) << "\n";
  const Status status = PrintDoubts(**database, sweep->id, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
