// The files of a script that its trials share.
//
// Thread rule: stateless.
#pragma once

#include <string>
#include <vector>

#include "trial_runner/command_spec.h"

namespace tune {

// The files that the script writes under a fixed name and reads again: trials that run side by side
// share them. Nothing where it is not sure, or where the script goes to a folder of its own.
std::vector<std::string> FilesOfAllTrials(const CommandSpec& spec, const std::string& folder);

// The files that a command's shell text makes of a parameter's value under a fixed name, for a
// program to read: `sed "s/LR/{lr}/" base.yaml > run.yaml; ./train run.yaml`. Nothing where it goes
// to a folder of its own.
std::vector<std::string> FilesOfTheCommand(const CommandSpec& spec);

// Of what the script takes the newest or the last, among files that it names so itself:
// "runs/exp*". Nothing where it is not sure.
std::vector<std::string> NewestOnesTaken(const CommandSpec& spec, const std::string& folder);

// Whether the script writes under a name made of the time in whole seconds, which trials that begin
// together share.
bool NamesBySecond(const CommandSpec& spec, const std::string& folder);

}  // namespace tune
