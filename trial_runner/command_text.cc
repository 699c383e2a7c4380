#include "trial_runner/command_text.h"

#include <algorithm>
#include <utility>

#include "core/json.h"

namespace tune {
namespace {

bool BeginsName(char c) {
  const bool is_of_other_script = static_cast<unsigned char>(c) >= 0x80;
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_of_other_script;
}

bool ContinuesName(char c) {
  return BeginsName(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
}

// The length of the name behind an opening brace that a closing one follows; 0: there is none.
size_t NameLength(std::string_view rest) {
  if (rest.empty() || !BeginsName(rest.front())) return 0;
  size_t length = 1;
  while (length < rest.size() && ContinuesName(rest[length])) ++length;
  return length < rest.size() && rest[length] == '}' ? length : 0;
}

}  // namespace

CommandText CommandText::Parse(std::string_view text) {
  CommandText parsed;
  std::string literal;
  const auto close_literal = [&] {
    if (!literal.empty()) parsed.parts_.emplace_back(std::exchange(literal, {}));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
      continue;
    }
    const size_t length = c == '{' ? NameLength(text.substr(i + 1)) : 0;
    if (length == 0) {
      const size_t close = c == '{' ? text.find_first_of("{}\n", i + 1) : text.npos;
      if (close != text.npos && text[close] == '}') {
        parsed.literal_braces_.emplace_back(text.substr(i + 1, close - i - 1));
      }
      literal += c;
      continue;
    }
    close_literal();
    std::string name(text.substr(i + 1, length));
    std::replace(name.begin(), name.end(), '.', '/');
    parsed.parts_.emplace_back(Parameter{std::move(name)});
    i += length + 1;
  }
  close_literal();
  return parsed;
}

std::vector<std::string> CommandText::ParameterNames() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    if (const auto* const parameter = std::get_if<Parameter>(&part)) {
      names.push_back(parameter->name);
    }
  }
  return names;
}

bool CommandText::HasLiteral() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return std::holds_alternative<std::string>(part); });
}

std::string CommandText::LeadingText() const {
  const auto* const literal = parts_.empty() ? nullptr : std::get_if<std::string>(&parts_.front());
  return literal == nullptr ? "" : *literal;
}

std::string CommandText::Written() const {
  std::string text;
  for (const Part& part : parts_) {
    const auto* const literal = std::get_if<std::string>(&part);
    text += literal != nullptr ? *literal : "{" + std::get<Parameter>(part).name + "}";
  }
  return text;
}

Result<std::string> CommandText::Filled(const Value& values, bool is_quoted) const {
  std::string text;
  for (const Part& part : parts_) {
    if (const auto* const literal = std::get_if<std::string>(&part)) {
      text += *literal;
      continue;
    }
    const std::string& name = std::get<Parameter>(part).name;
    const Value* const value = FindNested(values, name);
    if (value == nullptr) return NotFound("{" + name + "} has no value in this configuration");
    const std::string shown = CommandValueText(*value);
    text += is_quoted ? ShellQuoted(shown) : shown;
  }
  return text;
}

Result<std::string> CommandText::Fill(const Value& values) const { return Filled(values, false); }

Result<std::string> CommandText::FillQuoted(const Value& values) const {
  return Filled(values, true);
}

std::string CommandValueText(const Value& value) {
  return value.is_string() ? value.AsString() : ToJson(value);
}

std::string InSingleQuotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=,@%+-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  return InSingleQuotes(text);
}

const Value* FindNested(const Value& nested, std::string_view flat_name) {
  const Value* value = &nested;
  while (true) {
    if (!value->is_map()) return nullptr;
    const size_t slash = flat_name.find('/');
    value = value->Find(flat_name.substr(0, slash));
    if (value == nullptr || slash == std::string_view::npos) return value;
    flat_name.remove_prefix(slash + 1);
  }
}

}  // namespace tune
