// Where the values go that a space file may say and a database must not: into the environment of
// this process, which its local worker and their programs inherit.
//
// Thread rule: one thread, before others start.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/experiment_spec.h"

namespace tune {

// Sets the variables, and says which, and what follows from it.
void SetSecrets(const std::vector<Secret>& secrets, std::ostream& err);

// Each variable that the trainable takes from the environment is set in this one.
Status CheckVariables(const Value& trainable);

}  // namespace tune
