// Texts of a command with places for parameters: "--lr={lr}", "{optimizer.lr}".
//
// {name} is a parameter's value ('.' or '/' between nested names; letters of any script);
// {tune.dir}, {tune.trial}, {tune.attempt}, {tune.seed}, {tune.sweep_seed} and {tune.experiment}
// are the attempt's own. {{ and }} are braces; a brace with anything but a name behind it, as in
// awk's {print $1}, is itself.
//
// Thread rule: values.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

class CommandText {
 public:
  static CommandText Parse(std::string_view text);

  // Flat ("optimizer/lr"), in order of appearance; those of the attempt begin with "tune/".
  std::vector<std::string> ParameterNames() const;

  // What stands between braces that are left as they are: "print $1", "lr:.3f", " lr ".
  const std::vector<std::string>& literal_braces() const { return literal_braces_; }

  // Whether anything but parameters stands in it.
  bool HasLiteral() const;

  // What stands before the first of them.
  std::string LeadingText() const;

  // As it was written, with flat names: "--lr={optimizer/lr}".
  std::string Written() const;

  // `values`: nested, the configuration with the attempt's own under "tune". kNotFound names a
  // parameter that is not there: it is inactive under its `when`.
  Result<std::string> Fill(const Value& values) const;
  // The same with each value quoted for a POSIX shell.
  Result<std::string> FillQuoted(const Value& values) const;

 private:
  struct Parameter {
    std::string name;  // Flat.
  };
  using Part = std::variant<std::string, Parameter>;

  Result<std::string> Filled(const Value& values, bool is_quoted) const;

  std::vector<Part> parts_;
  std::vector<std::string> literal_braces_;
};

// As a program reads it: a string as it is, everything else as JSON.
std::string CommandValueText(const Value& value);

// A text in single quotes of a shell, whatever it holds.
std::string InSingleQuotes(std::string_view text);
// The same; without them where they change nothing, so that a number may
// stand within quotes of one's own.
std::string ShellQuoted(std::string_view text);

// The value under a flat name in a nested tree; null where there is none.
const Value* FindNested(const Value& nested, std::string_view flat_name);

}  // namespace tune
