#include "trial_runner/secrets.h"

#include <algorithm>
#include <array>

#include "trial_runner/command_text.h"

namespace tune {

bool NamesSecret(std::string_view variable) {
  std::string name(variable);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (name.find("PASSWORD") != std::string::npos) return true;
  constexpr std::array<std::string_view, 5> kWords = {"TOKEN", "SECRET", "APIKEY", "PASSWD",
                                                      "PASSPHRASE"};
  const std::string last_word = name.substr(name.rfind('_') + 1);
  if (std::find(kWords.begin(), kWords.end(), last_word) != kWords.end()) return true;
  return name.ends_with("_KEY");
}

std::vector<Secret> TakeSecrets(Value& document) {
  std::vector<Secret> secrets;
  Value* const trainable = document.is_map() ? document.Find("trainable") : nullptr;
  Value* const env = trainable != nullptr && trainable->is_map() ? trainable->Find("env") : nullptr;
  if (env == nullptr || !env->is_map()) return secrets;
  for (MapEntry& variable : env->AsMap()) {
    Value& value = variable.value;
    if (!value.is_string() || value.AsString().empty() || !NamesSecret(variable.key)) continue;
    const CommandText text = CommandText::Parse(value.AsString());
    const Result<std::string> literal = text.Fill(Value::MakeMap());
    if (!literal.ok()) continue;  // It has parameters.
    secrets.push_back({variable.key, *literal});
    const Place place = value.place;
    value = Value::MakeMap();
    value.place = place;
    value.Set("from_environment", true);
  }
  return secrets;
}

}  // namespace tune
