// What the store gives back: the rows and the journal from which a sweep goes on.
#include <bit>
#include <utility>

#include "core/json.h"
#include "tuner/best_trial.h"
#include "tuner/sqlite/journal_checksum.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/stored_names.h"

namespace tune {
namespace {

Result<ExperimentStatus> ParseStatus(std::string_view name) {
  for (const ExperimentStatus status : {ExperimentStatus::kRunning, ExperimentStatus::kInterrupted,
                                        ExperimentStatus::kFinished, ExperimentStatus::kStopped}) {
    if (name == ExperimentStatusName(status)) return status;
  }
  return DataLoss("experiment_rows holds the unknown status '" + std::string(name) + "'");
}

Result<TrialStatus> ParseTrialStatus(std::string_view name) {
  if (const auto status = FindTrialStatus(name)) return *status;
  return DataLoss("trial_rows holds the unknown status '" + std::string(name) + "'");
}

// NULL, read as an empty text, is no reason.
Result<StopReason> ParseStopReason(std::string_view name) {
  if (name.empty()) return StopReason::kNone;
  for (const StopReason reason :
       {StopReason::kCompleted, StopReason::kStopCondition, StopReason::kMaxT,
        StopReason::kScheduler, StopReason::kSweepLimit, StopReason::kUser}) {
    if (name == StopReasonName(reason)) return reason;
  }
  return DataLoss("trial_rows holds the unknown stop reason '" + std::string(name) + "'");
}

std::optional<Instant> At(const std::optional<int64_t>& us) {
  return us.has_value() ? std::optional<Instant>(Instant{*us}) : std::nullopt;
}

Result<WorkerState> ParseWorkerState(std::string_view name) {
  for (const WorkerState state :
       {WorkerState::kAlive, WorkerState::kDraining, WorkerState::kLost, WorkerState::kLeft}) {
    if (name == WorkerStateName(state)) return state;
  }
  return DataLoss("worker_rows holds the unknown state '" + std::string(name) + "'");
}

Result<std::vector<Device>> ParseDevices(std::string_view text) {
  const Status damaged = DataLoss("the devices of a worker are not a list of devices");
  const Result<Value> list = ParseJson(text);
  if (!list.ok() || !list->is_list()) return damaged;
  std::vector<Device> devices;
  for (const Value& entry : list->AsList()) {
    if (!entry.is_map()) return damaged;
    const Value* const index = entry.Find("index");
    const Value* const name = entry.Find("name");
    const Value* const memory = entry.Find("memory_bytes");
    const Value* const uuid = entry.Find("uuid");
    const bool is_whole = index != nullptr && index->is_int() && name != nullptr &&
                          name->is_string() && memory != nullptr && memory->is_int() &&
                          (uuid == nullptr || uuid->is_string());
    if (!is_whole) return damaged;
    devices.push_back(Device{index->AsInt(), name->AsString(), memory->AsInt(),
                             uuid == nullptr ? "" : uuid->AsString()});
  }
  return devices;
}

Result<Metrics> ParseMetrics(std::string_view text) {
  const Result<Value> map = ParseJson(text);
  if (!map.ok() || !map->is_map()) return DataLoss("the metrics of a report are not a map");
  Metrics metrics;
  for (const MapEntry& entry : map->AsMap()) {
    const std::optional<double> value = ReadNumber(entry.value);
    if (!value) return DataLoss("the metric '" + entry.key + "' of a report is not a number");
    metrics.emplace_back(entry.key, *value);
  }
  return metrics;
}

}  // namespace

Result<std::vector<StoredExperiment>> SqliteStore::ListExperiments() {
  static constexpr char kListSql[] =
      "SELECT id, name, metric, mode, seed, samples, spec, base_dir, provenance, decision_version,"
      " status, created_us, given_up FROM experiment_rows ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kListSql));
  std::vector<StoredExperiment> experiments;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    StoredExperiment& experiment = experiments.emplace_back();
    experiment.id = ExperimentId{row->Int(0)};
    experiment.name = row->Text(1);
    experiment.metric = row->Text(2);
    experiment.mode = row->Text(3);
    experiment.seed = std::bit_cast<uint64_t>(row->Int(4));
    experiment.samples = row->Int(5);
    experiment.spec = row->Text(6);
    experiment.base_dir = row->Text(7);
    experiment.provenance = row->Text(8);
    experiment.decision_version = row->Int(9);
    TUNE_ASSIGN_OR_RETURN(experiment.status, ParseStatus(row->Text(10)));
    experiment.created_at = Instant{row->Int(11)};
    experiment.given_up = row->Text(12);
  }
  return experiments;
}

namespace {

// It is stored in two forms: where they are not the same, one of them is not what was written.
Result<Configuration> ReadConfiguration(std::string_view flat, std::string_view nested) {
  const Result<Value> read = ParseJson(flat);
  if (!read.ok()) return read.status();
  TUNE_ASSIGN_OR_RETURN(Configuration configuration, Configuration::FromFlat(*read));
  const Result<Value> other = ParseJson(nested);
  if (other.ok() && *other == configuration.ToNested()) return configuration;
  return DataLoss("it is not what was written: its flat and its nested form differ");
}

}  // namespace

Result<std::vector<std::pair<TrialNumber, Configuration>>> SqliteStore::ReadSuggestions(
    ExperimentId experiment) {
  static constexpr char kSuggestionsSql[] =
      "SELECT t.number, c.flat, c.nested FROM trial_rows AS t LEFT JOIN configuration_rows AS c"
      " ON c.trial = t.id WHERE t.experiment = ?1 ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kSuggestionsSql));
  row->BindAll(experiment.value);
  std::vector<std::pair<TrialNumber, Configuration>> suggestions;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const TrialNumber number{row->Int(0)};
    const std::string place =
        database_->path() + ": the configuration of trial " + std::to_string(number.value);
    if (row->IsNull(1)) return DataLoss(place + " is missing; go on from a backup");
    Result<Configuration> configuration = ReadConfiguration(row->Text(1), row->Text(2));
    if (!configuration.ok()) {
      return DataLoss(configuration.status().At(place).message() + "; go on from a backup");
    }
    suggestions.emplace_back(number, *std::move(configuration));
  }
  return suggestions;
}

Status SqliteStore::EachStep(ExperimentId experiment, const StepTaker& take) {
  static constexpr char kJournalSql[] =
      "SELECT id - (?1 << 40), at_us, events, checksum FROM journal_rows"
      " WHERE id BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1 ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kJournalSql));
  row->BindAll(experiment.value);
  uint64_t previous = 0;
  for (int64_t expected = 1;; ++expected) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return OkStatus();
    const std::optional<int64_t> checksum = row->OptionalInt(3);
    const bool is_whole =
        !checksum || std::bit_cast<uint64_t>(*checksum) ==
                         StepChecksum(previous, row->Int(0), row->Int(1), row->Text(2));
    if (row->Int(0) != expected || !is_whole) {
      return DataLoss(database_->path() + ": the journal's step " + std::to_string(expected) +
                      (row->Int(0) != expected ? " is missing" : " is not what was written") +
                      "; go on from a backup, or look at what is there with tune results");
    }
    previous = std::bit_cast<uint64_t>(checksum.value_or(0));
    TUNE_RETURN_IF_ERROR(take({row->Int(0), Instant{row->Int(1)}, std::string(row->Text(2))}));
  }
}

Result<std::vector<TrialRow>> SqliteStore::ReadTrials(ExperimentId experiment) {
  static constexpr char kTrialsSql[] =
      "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration,"
      " attempts, created_us, started_us, finished_us, run_seconds, violation FROM trial_rows"
      " WHERE experiment = ?1 ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kTrialsSql));
  row->BindAll(experiment.value);
  std::vector<TrialRow> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    TrialRow& trial = trials.emplace_back();
    trial.number = TrialNumber{row->Int(0)};
    TUNE_ASSIGN_OR_RETURN(trial.status, ParseTrialStatus(row->Text(1)));
    TUNE_ASSIGN_OR_RETURN(trial.stop_reason, ParseStopReason(row->Text(2)));
    trial.iterations = row->Int(3);
    trial.last_value = row->OptionalReal(4);
    trial.best_value = row->OptionalReal(5);
    trial.best_iteration = row->OptionalInt(6);
    trial.attempts = row->Int(7);
    trial.created_at = Instant{row->Int(8)};
    trial.started_at = At(row->OptionalInt(9));
    trial.finished_at = At(row->OptionalInt(10));
    trial.run_seconds = row->Real(11);
    trial.best_violation = row->OptionalReal(12);
  }
  return trials;
}

Result<std::vector<ReportRow>> SqliteStore::ReadReports(ExperimentId experiment) {
  static constexpr char kReportsSql[] =
      "SELECT t.number, r.attempt, r.iteration, r.value, r.metrics, r.reported_us"
      " FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1 AND NOT EXISTS (SELECT 1 FROM exploit_rows AS x"
      "   WHERE x.trial = t.id AND " TUNE_ATTEMPT_BEFORE_EXPLOIT_SQL
      " < r.attempt)"
      " ORDER BY t.number, r.attempt, r.iteration";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kReportsSql));
  row->BindAll(experiment.value);
  std::vector<ReportRow> reports;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    ReportRow& report = reports.emplace_back();
    report.trial = TrialNumber{row->Int(0)};
    report.attempt = AttemptNumber{row->Int(1)};
    report.iteration = row->Int(2);
    report.value = row->OptionalReal(3);
    TUNE_ASSIGN_OR_RETURN(report.metrics, ParseMetrics(row->Text(4)));
    report.reported_at = Instant{row->Int(5)};
  }
  return reports;
}

Result<WorkerId> SqliteStore::LastWorker() {
  TUNE_ASSIGN_OR_RETURN(const int64_t last,
                        database_->QueryInt("SELECT coalesce(max(number), 0) FROM worker_rows"));
  return WorkerId{last};
}

Result<std::vector<WorkerRow>> SqliteStore::ReadWorkers(ExperimentId experiment) {
  static constexpr char kWorkersSql[] =
      "SELECT number, name, address, cpu_milli, devices, state, joined_us, last_seen_us, is_local,"
      " session, has_reported, failed_starts, is_shunning_said FROM worker_rows"
      " WHERE experiment = ?1 ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kWorkersSql));
  row->BindAll(experiment.value);
  std::vector<WorkerRow> workers;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    WorkerRow& worker = workers.emplace_back();
    worker.worker = WorkerId{row->Int(0)};
    worker.name = row->Text(1);
    worker.address = row->Text(2);
    worker.capacity.cpu_milli = row->Int(3);
    TUNE_ASSIGN_OR_RETURN(worker.capacity.devices, ParseDevices(row->Text(4)));
    TUNE_ASSIGN_OR_RETURN(worker.state, ParseWorkerState(row->Text(5)));
    worker.joined_at = Instant{row->Int(6)};
    worker.last_seen_at = Instant{row->Int(7)};
    worker.is_local = row->Int(8) != 0;
    worker.session = row->Text(9);
    worker.has_reported = row->Int(10) != 0;
    worker.failed_starts = row->Int(11);
    worker.is_shunning_said = row->Int(12) != 0;
  }
  return workers;
}

}  // namespace tune
