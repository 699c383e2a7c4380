#include "trial_runner/parameter_variables.h"

namespace tune {

std::string ParameterVariable(std::string_view flat_name) {
  std::string name = "TUNE_PARAM_";
  for (const char c : flat_name) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_lower ? static_cast<char>(c - 'a' + 'A') : is_kept ? c : '_';
  }
  return name;
}

std::map<std::string, std::vector<std::string>> SharedVariables(
    const std::vector<std::string>& flat_names) {
  std::map<std::string, std::vector<std::string>> by_variable;
  for (const std::string& name : flat_names) by_variable[ParameterVariable(name)].push_back(name);
  std::erase_if(by_variable, [](const auto& variable) { return variable.second.size() < 2; });
  return by_variable;
}

}  // namespace tune
