#include "tuner/cli/run/secret_environment.h"

#include <cstdlib>
#include <ostream>

#include "core/input_error.h"
#include "trial_runner/secrets.h"

namespace tune {

void SetSecrets(const std::vector<Secret>& secrets, std::ostream& err) {
  for (const Secret& secret : secrets) {
    setenv(secret.name.c_str(), secret.value.c_str(), /*overwrite=*/1);
    err << "note: trainable.env." << secret.name << " is a secret by "
        << (NamesSecret(secret.name) ? "its name" : "what it looks like")
        << ": its value is neither stored nor sent; tune resume and workers "
           "of other machines take it from their environment ({value: ...} says that it is none)\n";
  }
}

Status CheckVariables(const Value& trainable) {
  for (const std::string& name : VariablesFromEnvironment(trainable)) {
    if (std::getenv(name.c_str()) == nullptr) {
      return InvalidAt(trainable.Find("env")->place, DescribeMissingVariable(name));
    }
  }
  return OkStatus();
}

}  // namespace tune
