#include "tuner/cli/head/submit_again.h"

#include <iostream>
#include <memory>
#include <utility>

#include "core/hash.h"
#include "core/json.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "trial_runner/secrets.h"
#include "tuner/cli/head/head_link.h"
#include "tuner/cli/look/found_job.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/provenance.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

struct Earlier {
  Value document;
  std::string base_dir;
  Provenance provenance;
  SweepLabels labels;
  std::string name;
  bool is_job = false;
};

Result<Earlier> ReadEarlier(const std::string& db_path, const std::string& name) {
  static constexpr char kSql[] = "SELECT spec, base_dir, provenance FROM experiments WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindRunSweep(*database, name));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return NotFound(name + " is gone");
  Earlier earlier;
  TUNE_ASSIGN_OR_RETURN(earlier.document, ParseJson(row->Text(0)));
  earlier.base_dir = row->Text(1);
  TUNE_ASSIGN_OR_RETURN(earlier.provenance, DecodeProvenance(row->Text(2)));
  earlier.labels = sweep.labels;
  earlier.name = sweep.name;
  earlier.is_job = IsJob(sweep);
  return earlier;
}

Value Without(const Value& document, std::string_view key) {
  Value kept = Value::MakeMap();
  for (const MapEntry& entry : document.AsMap()) {
    if (entry.key != key) kept.Set(entry.key, entry.value);
  }
  return kept;
}

// Whether it is named as its document says, or got a number behind that, and may get another.
bool IsNamed(const std::string& name, const Value& document) {
  const Value* const said = document.Find("name");
  if (said == nullptr || !said->is_string() || !name.starts_with(said->AsString())) return false;
  const std::string rest = name.substr(said->AsString().size());
  return rest.empty() || (rest.size() > 1 && rest.front() == '-' &&
                          rest.find_first_not_of("0123456789", 1) == rest.npos);
}

// What it followed is over, or was the earlier one's to wait for.
Result<ExperimentSpec> ChangedSpec(const Earlier& earlier, const AgainOptions& again) {
  Value document = Without(earlier.document, "after");
  TUNE_RETURN_IF_ERROR(ApplyOverrides(again.settings, document));
  if (again.samples) document.Set("samples", *again.samples);
  if (again.name) document.Set("name", *again.name);
  if (!again.name && !IsNamed(earlier.name, document)) document.Set("name", earlier.name);
  const std::vector<Secret> secrets = TakeSecrets(document);
  if (!secrets.empty()) {
    return InvalidArgument("trainable.env." + secrets.front().name +
                           ": is a secret, which is not stored; set it in the environment of the "
                           "head and of its workers");
  }
  Result<ExperimentSpec> spec =
      InterpretSpec(document, again.sweep, earlier.base_dir, /*require_trainable=*/true);
  if (!spec.ok()) return NameOverride(spec.status(), again.settings);
  if (earlier.is_job && spec->samples != 1) {
    return InvalidArgument("samples: read " + std::to_string(spec->samples) +
                           ", expected 1: " + again.sweep + " is a job, which runs once");
  }
  return spec;
}

// What a sweep keeps is a rule for that one.
Tags TagsOfAgain(Tags tags) {
  tags.erase("keep");
  return tags;
}

}  // namespace

Result<std::string> SubmitAgain(const std::string& db_path, const AgainOptions& again,
                                const Clock& clock) {
  const std::unique_ptr<HeadLink> head =
      LinkToHeadOf(db_path, {clock, [](Duration) { return false; }, std::cerr});
  TUNE_RETURN_IF_ERROR(head->Find());
  TUNE_ASSIGN_OR_RETURN(const Earlier earlier, ReadEarlier(db_path, again.sweep));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ChangedSpec(earlier, again));
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(spec.name).At("name"));
  const uint64_t seed = again.seed ? *again.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;
  RunOptions run;
  run.command_line = "tune submit --again " + again.sweep;
  run.data_dir = EnvironmentText("FOOD11_DATA_DIR");
  const bool is_elsewhere = earlier.provenance.is_elsewhere;
  if (!is_elsewhere) TUNE_RETURN_IF_ERROR(CheckTrials(spec, seed, run.data_dir).status());
  Provenance provenance = is_elsewhere ? earlier.provenance : ProvenanceOf(spec, run);
  if (is_elsewhere) {
    provenance.command = run.command_line;
  } else {
    TUNE_ASSIGN_OR_RETURN(provenance.package, head->HandOver(spec));
  }
  provenance.submission = "id " + HashToHex(DrawEntropy()) + HashToHex(DrawEntropy());
  ControlRequest request;
  request.verb = ControlVerb::kSubmit;
  request.sweep = spec.name;
  request.submission = {
      seed, ToJson(spec.document), spec.base_dir, EncodeProvenance(provenance), provenance.package,
      {}};
  request.submission.labels.tags = TagsOfAgain(earlier.labels.tags);
  TUNE_ASSIGN_OR_RETURN(const ControlAnswer answer, head->Ask(request));
  const bool is_folder_gone =
      is_elsewhere && !answer.status.ok() && answer.status.message().starts_with("package");
  if (is_folder_gone) {
    return FailedPrecondition("the folder of " + again.sweep +
                              ", which was submitted from another machine, is no longer kept; "
                              "submit it there again");
  }
  TUNE_RETURN_IF_ERROR(answer.status);
  if (answer.lines.empty()) return Internal("the head's answer names no sweep");
  return answer.lines.front();
}

}  // namespace tune
