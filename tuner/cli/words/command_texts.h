// The commands of a command line with the texts that --help shows, as data: what completions and
// manual pages are made of.
//
// Thread rule: values.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tune {

struct OptionText {
  std::string name;        // "--samples"; of a positional "space".
  std::string short_name;  // "-f", or empty.
  // What it takes: "N", "FILE", "DIR", "NAME" (a sweep's), "TRIAL", "table|csv|json", ...; empty: a
  // flag.
  std::string value;
  std::string about;
  bool is_positional = false;
  bool is_required = false;
  bool is_many = false;  // Several values may follow.
};

struct CommandUsage {
  std::string name;
  std::string group;  // What it stands under in the overview.
  std::string about;
  std::vector<std::string> examples;  // Without "Example: ".
  std::vector<OptionText> options;
};

// The program itself comes first, then its commands in their order.
std::vector<CommandUsage> ReadCommandTexts(const CLI::App& app);

// What `tune` alone shows: a line a command, by group.
std::string Overview(const std::vector<CommandUsage>& commands);
// "Runs a sweep." of a longer text.
std::string FirstSentence(const std::string& text);

}  // namespace tune
