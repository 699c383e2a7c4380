// The trainable `command`: any program, in any language.
//
//   trainable:
//     command: [python3, train.py, --lr, "{lr}", [--momentum, "{momentum}"]]
//         # or one text, with `shell: true`. Texts in a list of their own stand together: they are
//         # left out when a parameter in them is inactive.
//     shell: false              # /bin/sh -c, values quoted
//     env: {LR: "{lr}"}         # added to the environment; {from_environment: true} in place of a
//         # text: it is there, and each machine has its own (secrets.h); {value: TEXT}: no secret
//     working_dir: code         # default: the space file's folder
//     serve: true               # the program takes one trial after another (program_messages.h)
//     setup: ["pip install ..."]  # shell commands, once a worker, before its first trial
//     inputs: [{from: s3://bucket/prefix, to: data}]  # fetched once a machine (command_inputs.h)
//     metrics:                  # for programs that do not report by themselves
//       val_accuracy: {regex: "val acc: {number}"}       # in what it prints (output_metrics.h)
//       area: {json: "out/{tune.trial}.json", key: a.b}  # in a file, read when it has ended
//     report_on: val_accuracy   # whose values are the iterations (output_metrics.h)
//     iteration: {regex: "Epoch {number}"}
//
// Places for parameters: command_text.h.
//
// Thread rule: values; immutable once made.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"
#include "trial_runner/command_inputs.h"
#include "trial_runner/command_text.h"
#include "trial_runner/output_metrics.h"

namespace tune {

// The metric that each program has: 0, reported when it has ended well. One that ends otherwise has
// failed, and reports nothing.
inline constexpr char kExitStatusMetric[] = "exit_status";

// A number in a JSON file.
struct FileMetric {
  std::string metric;
  CommandText path;  // Relative to the working folder.
  std::string key;   // "a.b", a number for an entry of a list; empty: the file is the number.
};

// A command with a configuration's values.
struct FilledCommand {
  std::vector<std::string> arguments;  // At least one.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> metric_files;  // Paths, in the order of CommandSpec::file_metrics.
};

class CommandSpec {
 public:
  // `trainable`: the whole map. Errors carry "line:column: ".
  static Result<CommandSpec> Parse(const Value& trainable);

  // `known`: the space's flat names. Each parameter that a text names must be one of them, or the
  // attempt's own.
  Status CheckParameters(const std::vector<std::string>& known) const;
  // `config`: nested. `own`: what stands under "tune". An error names a parameter that is inactive
  // and does not stand in a list of its own.
  Result<FilledCommand> Fill(const Value& config, const Value& own) const;

  const std::string& working_dir() const { return working_dir_; }
  bool serves() const { return serves_; }
  const std::vector<std::string>& setup() const { return setup_; }
  const std::vector<CommandInput>& inputs() const { return inputs_; }
  const OutputRules& output_rules() const { return output_rules_; }
  const std::vector<FileMetric>& file_metrics() const { return file_metrics_; }
  // Of both kinds, in the order of the text; empty: the program reports by itself.
  const std::vector<std::string>& metric_names() const { return metric_names_; }
  // What is looked for on the disk before anything starts; nothing where a shell will look, or a
  // parameter says which.
  std::optional<std::string> program() const;
  // The program and its arguments, those of groups too; nothing for one that a parameter decides,
  // and none of a shell's text.
  std::vector<std::optional<std::string>> LiteralArguments() const;
  // Its long options whose value a parameter decides: "--lr" of `--lr {lr}` and of `--lr={lr}`.
  // None of a shell's text.
  std::vector<std::string> OptionsOfParameters() const;
  // Those of them whose value is one parameter's, with its flat name.
  std::vector<std::pair<std::string, std::string>> WholeOptions() const;
  // A shell's text, of `shell: true` or of [bash, -c, TEXT], with braces around the flat names of
  // parameters; empty: it is none.
  std::string ShellText() const;
  // Variables of `env` that are one parameter's value, with its flat name: AMP of `AMP: "{amp}"`.
  std::vector<std::pair<std::string, std::string>> WholeVariables() const;
  // Variables of `env` that are a parameter of the same name: LR of `LR: "{lr}"`.
  std::vector<std::string> VariablesOfParameters() const;
  // The parameters (flat names) that the command and `env` name.
  std::vector<std::string> ParameterNames() const;
  // PATH, where `env` sets it without parameters.
  std::optional<std::string> search_path() const;

 private:
  struct Text {
    CommandText text;
    Place place;
  };
  using Group = std::vector<Text>;
  // An option whose value parameters decide; the text holds it too, where it `is_joined`.
  struct OptionText {
    std::string option;
    const CommandText* text;
    bool is_joined;
  };

  std::vector<OptionText> OptionTexts() const;
  Status ReadCommand(const Value& command);
  Status ReadEnvironment(const Value& env);
  Status ReadSetup(const Value& setup);
  Status ReadMetrics(const Value& metrics);
  Status ReadMetric(const std::string& name, const Value& source);
  Status ReadReportOn(const Value& name);
  Status ReadIteration(const Value& source);

  std::vector<Group> arguments_;
  std::vector<bool> is_optional_;  // Of each group.
  bool uses_shell_ = false;
  std::vector<std::pair<std::string, Text>> env_;
  std::string working_dir_;
  bool serves_ = false;
  std::vector<std::string> setup_;
  std::vector<CommandInput> inputs_;
  OutputRules output_rules_;
  std::vector<FileMetric> file_metrics_;
  std::vector<Place> file_places_;
  std::vector<std::string> metric_names_;
};

// The number under a key of a JSON document; an error says what is there instead.
Result<double> NumberUnder(const Value& document, const std::string& key);

}  // namespace tune
