#include "trial_runner/worker/sweep_here.h"

#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "trial_runner/food11_inputs.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/working_folder.h"

namespace tune {

SweepHere Understand(const SweepInfo& info) {
  SweepHere sweep{info, {}, InvalidArgument("trainable: expected one line of JSON"), ""};
  if (info.trainable.find('\n') != std::string::npos) return sweep;
  sweep.program = [&]() -> Result<std::string> {
    TUNE_ASSIGN_OR_RETURN(sweep.trainable, ParseJson(info.trainable));
    TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(sweep.trainable));
    TUNE_ASSIGN_OR_RETURN(sweep.inputs, ReadCommandInputs(sweep.trainable));
    sweep.working_folder = WorkingFolder(sweep.trainable, info.base_dir);
    return TrialProgram(kind);
  }();
  return sweep;
}

void SweepHere::LearnInputs(const std::string& config) {
  const bool is_command = trainable.is_map() && trainable.Find("command") != nullptr;
  if (std::exchange(knows_inputs, true) || is_command) return;
  const Result<std::string> kind = TrainableKind(trainable);
  if (!kind.ok() || *kind != "food11") return;
  const Result<Value> values = ParseJson(config);
  if (!values.ok()) return;
  Result<std::vector<CommandInput>> found = ReadFood11Inputs(*values);
  if (found.ok()) inputs = *std::move(found);  // A wrong one is the trial's to tell.
}

void SweepHere::Settle(FoundPlace place) {
  found = std::move(place);
  artifacts_there = wanted->artifacts;
  is_outdated = false;
}

void SweepHere::Change(const PackageName& package) {
  info.package = package;
  wanted.reset();
  is_outdated = true;
}

bool SweepHere::SharesProcesses() const {
  const bool is_command = trainable.is_map() && trainable.Find("command") != nullptr;
  return is_command && trainable.Find("serve") == nullptr;
}

std::string SweepHere::DataNote() const {
  if (!found) return "";
  const auto describe = [](const DataSeen& data) {
    return Counted(data.file_count, "file") + ", " + std::to_string(data.bytes) + " bytes, hash " +
           data.hash;
  };
  for (const DataSeen& here : found->data) {
    for (const DataSeen& began : info.data) {
      if (began.url != here.url || began.hash == here.hash) continue;
      // What was read is a part of its kind (DoubtWatch::AddNote).
      return "other data (" + here.hash + "): " + here.url + " was " + describe(began) +
             " when the sweep began; this attempt read " + describe(here);
    }
  }
  return "";
}

std::string SweepHere::FolderHere(const std::string& artifact_dir) const {
  const bool is_elsewhere = found && artifact_dir.starts_with(artifacts_there + "/");
  if (!is_elsewhere) return artifact_dir;
  return found->artifacts + artifact_dir.substr(artifacts_there.size());
}

}  // namespace tune
