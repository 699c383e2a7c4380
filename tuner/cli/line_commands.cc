// The commands that speak in lines of JSON, and ask and tell, which are made of them.
#include "tuner/cli/commands.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/cli/run/lines_command.h"

namespace tune {
namespace {

// What all of them but tell begin with.
std::pair<CLI::App*, std::shared_ptr<LinesOptions>> AddLines(Commands& commands,
                                                             const std::string& name,
                                                             const std::string& about,
                                                             int (*run)(const LinesOptions&)) {
  const auto [command, lines] = commands.Add<LinesOptions>(name, about);
  command->add_option("space", lines->space_path, "The space file")->type_name("FILE")->required();
  TakeOneEachTime(
      command->add_option("--set", lines->overrides, "As for run")->type_name("KEY=VALUE"));
  commands.Bind(command, [lines = lines, run](const Invocation& invocation) {
    lines->db_path = invocation.db_path;
    lines->command_line = invocation.command_line;
    return run(*lines);
  });
  return {command, lines};
}

void AddTell(Commands& commands) {
  const auto [command, tell] = commands.Add<TellOptions>(
      "tell",
      "How a trial went that tune ask gave out.\nExample: tune tell 3 0.42\nExample: tune "
      "tell study/3 0.6 --iteration 2");
  command
      ->add_option_function<std::vector<std::string>>(
          "trial",
          [tell = tell.get()](const std::vector<std::string>& words) {
            tell->values = words;
            tell->trial = TakeTrial(tell->values);
          },
          "A number in the latest such sweep, NAME/NUMBER or NAME NUMBER; then the value of each "
          "metric, NaN or null for none")
      ->type_name("TRIAL VALUE")
      ->required()
      ->expected(-1);
  command->add_option("--iteration", tell->iteration, "An intermediate value; the trial goes on")
      ->type_name("N")
      ->check(IntegerFrom(1));
  command->add_flag("--failed", tell->failed, "It has failed");
  command
      ->add_option("--metric", tell->metrics,
                   "Another metric, which limits on results (feasible) name; once for each")
      ->type_name("NAME=VALUE")
      ->take_all();
  commands.Bind(command, [tell = tell](const Invocation& invocation) {
    tell->db_path = invocation.db_path;
    return TellCommand(*tell);
  });
}

}  // namespace

void AddLineCommands(Commands& commands) {
  AddLines(commands, "decide",
           "The scheduler alone: reports in, decisions out, as JSON lines.\n"
           "Example: echo '{\"trial\": \"a\", \"training_iteration\": 1, \"loss\": "
           "0.5}' | tune decide space.yaml",
           DecideCommand);
  const auto [ask_tell, told] = AddLines(
      commands, "ask-tell",
      "The searcher alone, as JSON lines.\nExample: echo '{\"ask\": 3}' | tune ask-tell space.yaml",
      AskTellCommand);
  ask_tell
      ->add_option("--name", told->name,
                   "Keeps it as this sweep of the database, and goes on with it")
      ->type_name("NAME");
  ask_tell->add_flag(
      "--keep-going", told->keeps_going,
      "Answers a line that cannot be used with {\"error\": ...}, in place of ending");
  const auto [ask, asked] = AddLines(commands, "ask",
                                     "The next configurations of a sweep whose trials you run "
                                     "yourself.\nExample: tune ask space.yaml --count 2",
                                     AskCommand);
  ask->add_option("--name", asked->name, "The sweep, in place of the space file's name")
      ->type_name("NAME");
  ask->add_option("--count", asked->count, "How many")->type_name("N")->capture_default_str();
  AddTell(commands);
}

}  // namespace tune
