// Looks at the machine, the code and the data that a sweep is about to use.
//
// Thread rule: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tuner/experiment_spec.h"
#include "tuner/provenance.h"

namespace tune {

struct CommandOrigin {
  std::string version;  // Of this program.
  std::string command_line;
  std::string data_dir;                         // FOOD11_DATA_DIR, or empty.
  std::optional<int64_t> cpus = {}, gpus = {};  // As they were told.
};

// Never fails: what cannot be found out is left out.
Provenance GatherProvenance(const ExperimentSpec& spec, const CommandOrigin& origin);

// Where the paths of the trainable's own files begin.
std::string ProgramFolder(const ExperimentSpec& spec);

// The trainable's own files: path to hash (provenance.h). Those that its command names, their
// neighbours in its language, the modules below the folder that they import, and the scripts and
// settings (YAML, TOML, JSON, INI) in the folder that they name and do not write themselves; and
// "the variable NAME" of each that it takes from the environment and that is no secret by its name.
std::map<std::string, std::string> GatherProgramFiles(const ExperimentSpec& spec);

// The names and sizes of a folder's files, three levels deep (<split>/<class>/<image>); hidden ones
// are left out. Nothing: it cannot be read.
std::optional<DataState> LookAtData(const std::string& folder);

}  // namespace tune
