#include "trial_runner/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <utility>

#include "core/json.h"
#include "trial_runner/command_text.h"

namespace tune {
namespace {

constexpr char kHidden[] = "***";

void ReplaceAll(const std::string& from, const std::string& to, std::string& text) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// As it may stand in what is printed: alone, without blanks at its ends, line by line, and as JSON,
// Python and addresses write it.
std::vector<std::string> FormsOf(const std::string& value) {
  constexpr size_t kLineBytesMin = 8;
  constexpr std::string_view kBlank = " \t\r\n";
  const auto trimmed = [&](std::string_view text) {
    const size_t first = std::min(text.find_first_not_of(kBlank), text.size());
    text.remove_prefix(first);
    return std::string(text.substr(0, text.find_last_not_of(kBlank) + 1));
  };
  std::vector<std::string> forms = {value, trimmed(value)};
  for (const std::string& form : {value, trimmed(value)}) {
    const std::string json = ToJson(Value(form));
    forms.push_back(json.substr(1, json.size() - 2));
    std::string address;
    for (const char c : form) {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned char>(c));
      const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                            std::string_view("-._~").find(c) != std::string_view::npos;
      address += is_plain ? std::string(1, c) : escape;
    }
    forms.push_back(address);
  }
  for (size_t begin = 0; value.find('\n') != std::string::npos && begin < value.size();) {
    const size_t end = std::min(value.find('\n', begin), value.size());
    const std::string line = trimmed(std::string_view(value).substr(begin, end - begin));
    if (line.size() >= kLineBytesMin) forms.push_back(line);
    begin = end + 1;
  }
  if (const std::string_view password = PasswordIn(value); !password.empty()) {
    forms.emplace_back(password);
  }
  // A longer one may have a shorter one in it.
  std::stable_sort(forms.begin(), forms.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return forms;
}

}  // namespace

bool NamesSecret(std::string_view variable) {
  std::string name(variable);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (name.find("PASSWORD") != std::string::npos) return true;
  constexpr std::array<std::string_view, 11> kWords = {
      "TOKEN",      "SECRET",      "APIKEY",        "PASSWD", "PASSPHRASE", "PAT",
      "CREDENTIAL", "CREDENTIALS", "AUTHORIZATION", "COOKIE", "BEARER"};
  const std::string last_word = name.substr(name.rfind('_') + 1);
  if (std::find(kWords.begin(), kWords.end(), last_word) != kWords.end()) return true;
  // PWD alone is a folder.
  return name.ends_with("_KEY") || name.ends_with("_PASS") || name.ends_with("_PWD") ||
         name.ends_with("_AUTH");
}

std::string_view PasswordIn(std::string_view value) {
  const size_t authority = value.find("://");
  if (authority == std::string_view::npos) return {};
  std::string_view user = value.substr(authority + 3);
  user = user.substr(0, user.find_first_of("/?# "));
  const size_t at = user.rfind('@');
  const size_t colon = user.find(':');
  if (at == std::string_view::npos || colon >= at) return {};
  return user.substr(colon + 1, at - colon - 1);
}

std::string WithoutSecrets(std::string text, const std::vector<Secret>& secrets) {
  constexpr size_t kBytesToStandAlone = 4;  // A shorter one is a part of other words.
  for (const Secret& secret : secrets) {
    ReplaceAll(secret.name + "=" + secret.value, secret.name + "=" + kHidden, text);
    for (const std::string& form : FormsOf(secret.value)) {
      if (form.size() >= kBytesToStandAlone) ReplaceAll(form, kHidden, text);
    }
  }
  return text;
}

std::vector<Secret> TakeSecrets(Value& document) {
  std::vector<Secret> secrets;
  Value* const trainable = document.is_map() ? document.Find("trainable") : nullptr;
  Value* const env = trainable != nullptr && trainable->is_map() ? trainable->Find("env") : nullptr;
  if (env == nullptr || !env->is_map()) return secrets;
  for (MapEntry& variable : env->AsMap()) {
    Value& value = variable.value;
    if (!value.is_string() || value.AsString().empty()) continue;
    if (!NamesSecret(variable.key) && PasswordIn(value.AsString()).empty()) continue;
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

std::vector<std::string> VariablesFromEnvironment(const Value& trainable) {
  std::vector<std::string> names;
  const Value* const env = trainable.is_map() ? trainable.Find("env") : nullptr;
  if (env == nullptr || !env->is_map()) return names;
  for (const MapEntry& variable : env->AsMap()) {
    const Value* const from =
        variable.value.is_map() ? variable.value.Find("from_environment") : nullptr;
    if (from != nullptr && *from == Value(true)) names.push_back(variable.key);
  }
  return names;
}

std::vector<Secret> SecretsOf(const Value& trainable,
                              const std::function<std::string(const char*)>& environment) {
  std::vector<Secret> secrets;
  for (const std::string& name : VariablesFromEnvironment(trainable)) {
    if (std::string value = environment(name.c_str()); !value.empty()) {
      secrets.push_back({name, std::move(value)});
    }
  }
  return secrets;
}

std::string DescribeMissingVariable(const std::string& name) {
  return "trainable: env: " + name +
         " is not set in this environment, and its value is neither stored nor sent; set it (" +
         name + "=...) and start again";
}

}  // namespace tune
