// What each trainable is: which metrics it can report, which parameters it takes, and which program
// runs it. The tuner checks a sweep against it before anything starts; the worker looks up the
// program.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "trial_runner/script_booleans.h"

namespace tune {

struct TrainableInfo {
  std::string kind;     // "food11", "curve", "command" or "ask-tell".
  std::string program;  // Of the trial process, in the folder of our programs: "tune_trial_food11",
                        // "tune_trial". Empty: there is none, as for ask-tell.
  // All that it can report; of a command that reports by itself, what it is asked for.
  std::vector<std::string> metrics;
  bool reports_others = false;     // It may report others too.
  std::vector<std::string> fixed;  // Parameters that cannot change in the middle of training.
};

// Where a space file says what a trainable is asked for; what has no place here is told at the
// trainable's value.
struct TrainablePlaces {
  Place metric;
  std::vector<Place> parameters;  // Of each parameter, or empty.
};

// Checks the spec's `trainable` value ("food11", {curve: {...}}, {command: [...]}) and that it
// reports each of `metrics`, of which the first names a curve's lone `value`. `parameters`: the
// space's flat names; one the trainable does not know is an error (nearest named), as is a name
// missing that a curve's expression uses. Errors carry "line:column: ".
Result<TrainableInfo> DescribeTrainable(const Value& trainable,
                                        const std::vector<std::string>& metrics,
                                        const std::vector<std::string>& parameters,
                                        const TrainablePlaces& places = {});

// Whether the trainable can see a parameter of this name in a new sweep, beyond what
// DescribeTrainable says of any sweep.
Status CheckParameterName(const Value& trainable, std::string_view name);

// Whether a parameter may have this value, whatever the others have, as far as that is known.
Status CheckParameter(const Value& trainable, std::string_view name, const Value& value);

// Whether a concrete configuration can run, on so many data-parallel ranks: types and ranges of
// each parameter, one clear line naming it.
Status CheckConfiguration(const Value& trainable, const Configuration& configuration,
                          int64_t workers = 1);

// One line of advice about a configuration that can run but is hardly what anybody wants, or "".
// Requires a configuration that CheckConfiguration takes.
std::string ConfigurationAdvice(const Value& trainable, const Configuration& configuration);

// How many iterations a trial with this configuration has if nothing ends it sooner; nothing where
// only the trainable knows. Requires a configuration that CheckConfiguration takes.
std::optional<int64_t> TrialIterations(const Value& trainable, const Configuration& configuration);

// How large a checkpoint of it is, at most; 0: nothing on disk; nothing where only the trainable
// knows. Requires the same.
std::optional<int64_t> CheckpointBytes(const Value& trainable, const Configuration& configuration);

// Where the trainable's files are looked for.
struct InputPlaces {
  std::string base_dir;     // Relative paths are relative to it.
  std::string data_dir;     // FOOD11_DATA_DIR, or empty.
  std::string search_path;  // PATH.
};

// Data and files that the trainable needs, looked at before the start: the data folder's layout,
// weights files, the program of a command.
Status CheckInputs(const Value& trainable, const Configuration& configuration,
                   const InputPlaces& places);

// Of a value that the space lists for a parameter: where it names a folder or file of the
// trainable's, whether there is one.
Status CheckListedInput(const Value& trainable, const std::string& parameter, const Value& value,
                        const InputPlaces& places);

// The metrics that a command reads from files whose paths name none of `telling` (flat names):
// trials share them.
std::vector<std::string> SharedFileMetrics(const Value& trainable,
                                           const std::vector<std::string>& telling);

// Whether a command's iterations are counted in what it prints, without a place where they stand.
bool CountsItsOutput(const Value& trainable);

// Whether a command is a shell's text with a pipe, whose status is that of its last program alone.
bool HidesStatus(const Value& trainable);

// Those of `parameters` (flat names) that a command's program will surely not see (find_script.h);
// none for other trainables.
std::vector<std::string> UncarriedParameters(const Value& trainable,
                                             const std::vector<std::string>& parameters,
                                             const std::string& base_dir);
// The options of a command's program that would take each text for true (script_booleans.h).
std::vector<std::string> OptionsReadAsBool(const Value& trainable, const std::string& base_dir);
// Those of its options, and of its variables, that it passes over (find_script.h).
std::vector<std::string> OptionsPassedOver(const Value& trainable, const std::string& base_dir);
std::vector<std::string> VariablesPassedOver(const Value& trainable, const std::string& base_dir);
// What it reads so that true and false are the same (script_booleans.h).
std::vector<MisreadBoolean> MisreadBooleans(const Value& trainable, const std::string& base_dir);
// What it reads and may be another trial's (script_files.h).
struct SharedOutputs {
  std::vector<std::string> files;          // FilesOfAllTrials.
  std::vector<std::string> command_files;  // FilesOfTheCommand.
  std::vector<std::string> newest;         // NewestOnesTaken.
  bool are_named_by_second = false;        // NamesBySecond.
};
SharedOutputs FindSharedOutputs(const Value& trainable, const std::string& base_dir);

}  // namespace tune
