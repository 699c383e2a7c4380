#include "tuner/cli/words/manual_page.h"

#include <algorithm>
#include <cctype>

namespace tune {
namespace {

// A text in a line of its own: a dot or quote at its begin would be a request, and hyphens of
// options are no soft ones.
std::string Roff(const std::string& text) {
  std::string escaped = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  return escaped;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string Bold(const std::string& text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Roff(text) + "\\fR"; }

std::string Heading(const std::string& page, const std::string& version) {
  return ".TH " + Upper(Roff(page)) + " 1 \"\" \"tune " + Roff(version) + "\" \"tune\"\n";
}

// "[--samples N] SPACE".
std::string Synopsis(const CommandUsage& command, const std::string& program) {
  std::string line = Bold(program) + " [" + Italic("options") + "]";
  for (const OptionText& option : command.options) {
    if (!option.is_positional) continue;
    const std::string word = Italic(Upper(option.name)) + (option.is_many ? " ..." : "");
    line += option.is_required ? " " + word : " [" + word + "]";
  }
  return ".SH SYNOPSIS\n" + line + "\n";
}

std::string Options(const CommandUsage& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    std::string head = option.is_positional ? Italic(Upper(option.name)) : Bold(option.name);
    if (!option.short_name.empty()) head = Bold(option.short_name) + ", " + head;
    if (!option.is_positional && !option.value.empty()) head += " " + Italic(option.value);
    text += ".TP\n" + head + "\n" + Roff(option.about) + ".\n";
  }
  return text.empty() ? "" : ".SH OPTIONS\n" + text;
}

std::string Examples(const CommandUsage& command) {
  if (command.examples.empty()) return "";
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) text += Roff(example) + "\n";
  return text + ".fi\n";
}

std::string NameSection(const std::string& page, const CommandUsage& command) {
  std::string about = command.about.substr(0, command.about.find(". "));
  while (!about.empty() && about.back() == '.') about.pop_back();
  return ".SH NAME\n" + Roff(page) + " \\- " + Roff(about) + "\n";
}

std::string CommandPage(const CommandUsage& command, const std::string& version) {
  const std::string page = "tune-" + command.name;
  return Heading(page, version) + NameSection(page, command) +
         Synopsis(command, "tune " + command.name) + ".SH DESCRIPTION\n" + Roff(command.about) +
         "\n" + Options(command) + Examples(command) + ".SH SEE ALSO\n.BR tune (1)\n";
}

constexpr char kAroundIt[] = R"(.SH ENVIRONMENT
.TP
\fBTUNE_DB\fR
The database where \-\-db is not given. Default: tune.db in the current folder.
.TP
\fBFOOD11_DATA_DIR\fR
The data of the built\-in classifier where a space file names none.
.TP
\fBTUNE_JOIN\fR
The token of tune worker where \-\-join is not given.
.SH EXIT STATUS
.TP
0
The sweep ended and no trial failed; a question was answered.
.TP
1
The program failed.
.TP
2
The command line or a file is wrong; nothing was started or changed.
.TP
3
The sweep ended and at least one trial failed; or no worker could take one for as long as
limits.unplaceable of its space file says.
.TP
130, 143, 129
The sweep was ended by Ctrl\-C, SIGTERM or SIGHUP; the line to resume it was printed.
)";

}  // namespace

std::vector<ManualPage> ManualPages(const std::vector<CommandUsage>& commands,
                                    const std::string& version) {
  std::vector<ManualPage> pages;
  if (commands.empty()) return pages;
  const CommandUsage& program = commands.front();
  std::string text = Heading("tune", version) + NameSection("tune", program) + ".SH SYNOPSIS\n" +
                     Bold("tune") + " [" + Italic("options") + "] " + Italic("COMMAND") +
                     " ...\n.SH DESCRIPTION\n" + Roff(program.about) + "\n.SH COMMANDS\n";
  for (size_t i = 1; i < commands.size(); ++i) {
    text += ".TP\n.BR tune\\-" + Roff(commands[i].name) + " (1)\n" + Roff(commands[i].about) + "\n";
  }
  pages.push_back({"tune.1", text + Options(program) + Examples(program) + kAroundIt});
  for (size_t i = 1; i < commands.size(); ++i) {
    pages.push_back({"tune-" + commands[i].name + ".1", CommandPage(commands[i], version)});
  }
  return pages;
}

}  // namespace tune
