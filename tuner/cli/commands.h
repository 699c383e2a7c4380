// The subcommands of tune: how each is said, in options that CLI11 reads, and the function that it
// stands for. Nothing is decided here.
//
// Thread rule: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/http/http_client.h"

namespace tune {

// What a command is given besides its own options.
struct Invocation {
  std::string db_path;            // Without symbolic links (FollowLinks).
  std::optional<HttpPlace> head;  // In place of the database: one elsewhere.
  std::string program_dir;        // Of this program: the others are beside it.
  std::string command_line;       // Whole, as it was said.
};

class Commands {
 public:
  explicit Commands(CLI::App& app) : app_(app) {}

  // What the commands that are added next stand under in the overview.
  void SetGroup(const std::string& group) { group_ = group; }
  // A command, and what its options are read into.
  template <typename Options>
  std::pair<CLI::App*, std::shared_ptr<Options>> Add(const std::string& name,
                                                     const std::string& about) {
    return {app_.add_subcommand(name, about)->group(group_), std::make_shared<Options>()};
  }
  // `run` returns the exit status.
  void Bind(const CLI::App* command, std::function<int(const Invocation&)> run) {
    bound_.emplace_back(command, std::move(run));
  }
  // Runs the one that was said. Requires that one was, and that it is bound.
  int Run(const Invocation& invocation) const;
  const CLI::App& app() const { return app_; }

 private:
  CLI::App& app_;
  std::string group_;
  std::vector<std::pair<const CLI::App*, std::function<int(const Invocation&)>>> bound_;
};

void AddSweepCommands(Commands& commands);   // run, resume, retrain, attach, pause, stop, ...
void AddAnswerCommands(Commands& commands);  // status, results, best, why, ...
void AddPlanCommands(Commands& commands);    // plan, simulate, import.
void AddLineCommands(Commands& commands);    // decide, ask-tell, ask, tell.
void AddUpkeepCommands(Commands& commands);  // backup, delete, gc, doctor, tokens.
void AddHeadCommands(Commands& commands);    // head, submit, jobs, queue, wait.
void AddHelpCommands(Commands& commands);    // help, completion.

// ---- what several commands share

// --format of the commands that answer.
void AddFormat(CLI::App* command, OutputFormat& format);
// TRIAL of the commands about one trial, in one word or two: "3", "food11/3", "food11 3".
void AddTrial(CLI::App* command, std::string& trial);
// --note and --tag of a new sweep or job.
void AddLabels(CLI::App* command, std::optional<std::string>& note, std::vector<std::string>& tags);
// --tag of the commands that list, of which those with all of them are shown.
void AddTagFilter(CLI::App* command, std::vector<std::string>& tags);
// --http, --tls-cert, --tls-key.
void AddPagePlace(CLI::App* command, PagePlace& place);
// --token-expires of the commands that make tokens.
void AddTokenExpires(CLI::App* command, Duration& validity,
                     const std::string& option = "--token-expires");
// --checkpoint-max of the commands that conduct sweeps.
void AddCheckpointMax(CLI::App* command, int64_t& bytes_max);
// An option that is written once for each of its values: --set a=1 --set b=2.
void TakeOneEachTime(CLI::Option* option);
// --cpus and --gpus, as tune_worker takes them.
extern const CLI::Range kCpuRange;
extern const CLI::Range kGpuRange;
// CLI11 would take a negative number for a very large one, and speaks of doubles.
std::function<std::string(const std::string&)> IntegerFrom(int64_t min);

// The terminal's width if standard output is one, else 0.
size_t OutputWidth();
// Ctrl-C ends the program in the midst of it, as it should. Returns true.
bool Wait(Duration duration);
// Waits; false as soon as Ctrl-C is pressed, which ends nothing else. For one thread alone.
bool WaitForCtrlC(Duration duration);
// An answer that could not be written is none.
int Answered(int exit_status);

}  // namespace tune
