#include "tuner/cli/secret_environment.h"

#include <cstdlib>
#include <ostream>

#include "core/input_error.h"

namespace tune {
namespace {

constexpr char kHidden[] = "***";

void ReplaceAll(const std::string& from, const std::string& to, std::string& text) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

void SetSecrets(const std::vector<Secret>& secrets, std::ostream& err) {
  for (const Secret& secret : secrets) {
    setenv(secret.name.c_str(), secret.value.c_str(), /*overwrite=*/1);
    err << "note: trainable.env." << secret.name
        << " is a secret by its name: its value is neither stored nor sent; tune resume and "
           "workers "
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

std::vector<Secret> SecretsOf(const Value& trainable) {
  std::vector<Secret> secrets;
  for (const std::string& name : VariablesFromEnvironment(trainable)) {
    const char* const value = std::getenv(name.c_str());
    if (value != nullptr) secrets.push_back({name, value});
  }
  return secrets;
}

std::string WithoutSecrets(std::string command_line, const std::vector<Secret>& secrets) {
  constexpr size_t kBytesToStandAlone = 4;  // A shorter one is a part of other words.
  for (const Secret& secret : secrets) {
    ReplaceAll(secret.name + "=" + secret.value, secret.name + "=" + kHidden, command_line);
    if (secret.value.size() >= kBytesToStandAlone) ReplaceAll(secret.value, kHidden, command_line);
  }
  return command_line;
}

}  // namespace tune
