#include "tuner/cli/commands.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <iostream>

#include "core/check.h"
#include "core/posix/environment.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/cli/run/listening.h"

namespace tune {

const CLI::Range kCpuRange(0, 1'000'000);
const CLI::Range kGpuRange(0, 1'024);

int Commands::Run(const Invocation& invocation) const {
  for (const auto& [command, run] : bound_) {
    if (command->parsed()) return run(invocation);
  }
  TUNE_CHECK(false);
  return 2;
}

void AddFormat(CLI::App* command, OutputFormat& format) {
  command
      ->add_option_function<std::string>(
          "--format",
          [&format](const std::string& name) {
            const auto parsed = ParseOutputFormat(name);
            if (!parsed.ok()) throw CLI::ValidationError("--format", parsed.status().message());
            format = *parsed;
          },
          "table, csv or json")
      ->type_name("table|csv|json")
      ->default_str("table");
}

void AddTrial(CLI::App* command, std::string& trial) {
  command
      ->add_option_function<std::vector<std::string>>(
          "trial",
          [&trial](const std::vector<std::string>& words) {
            std::vector<std::string> rest = words;
            trial = TakeTrial(rest);
            if (rest.empty()) return;
            throw CLI::ValidationError("trial", "read '" + rest[0] + "' after the trial " + trial +
                                                    ", expected one trial alone");
          },
          "A number in the latest sweep, or a sweep and a number: NAME/NUMBER or NAME NUMBER")
      ->type_name("TRIAL")
      ->required()
      ->expected(1, 2);
}

void AddLabels(CLI::App* command, std::optional<std::string>& note,
               std::vector<std::string>& tags) {
  command->add_option("--note", note, "What you want to remember of it; tune note changes it")
      ->type_name("TEXT");
  TakeOneEachTime(
      command->add_option("--tag", tags, "To find it by, such as team=vision; may be repeated")
          ->type_name("KEY[=VALUE]"));
}

void AddTagFilter(CLI::App* command, std::vector<std::string>& tags) {
  TakeOneEachTime(command
                      ->add_option("--tag", tags,
                                   "Only those with this tag; may be repeated, all must be there")
                      ->type_name("KEY[=VALUE]"));
}

void AddPagePlace(CLI::App* command, PagePlace& place) {
  command
      ->add_option(
          "--http", place.http,
          std::string("Where the page is served; ") + kUsualPageAddress +
              " by default. Beyond this machine over TLS; 0.0.0.0 stands for all addresses, "
              "port 0 for any")
      ->type_name("HOST:PORT");
  command
      ->add_option("--tls-cert", place.tls_certificate,
                   "The page's certificate, PEM; beyond this machine one of its own by default")
      ->type_name("FILE");
  command->add_option("--tls-key", place.tls_key, "The key of --tls-cert, PEM")->type_name("FILE");
}

void TakeOneEachTime(CLI::Option* option) {
  option->allow_extra_args(false)->expected(1)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeAll);
}

void AddTokenExpires(CLI::App* command, Duration& validity, const std::string& option) {
  validity = kTokenValidity;
  command
      ->add_option_function<std::string>(
          option,
          [&validity, named = option.substr(0, option.find(','))](const std::string& text) {
            const auto parsed = ParseDuration(text);
            if (!parsed.ok()) throw CLI::ValidationError(named, parsed.status().message());
            if (parsed->us == 0 || *parsed > kTokenValidityMax) {
              throw CLI::ValidationError(named,
                                         "read " + text + ", expected more than 0 up to 3650d");
            }
            validity = *parsed;
          },
          "How long the printed token can be used to join, such as 12h")
      ->type_name("DURATION")
      ->default_str("30d");
}

void AddCheckpointMax(CLI::App* command, int64_t& bytes_max) {
  command
      ->add_option_function<std::string>(
          "--checkpoint-max",
          [&bytes_max](const std::string& text) {
            const auto parsed = ParseBytes(text);
            if (!parsed.ok()) {
              throw CLI::ValidationError("--checkpoint-max", parsed.status().message());
            }
            bytes_max = *parsed;
          },
          "The largest checkpoint that a worker without this disk may send")
      ->type_name("SIZE")
      ->default_str("64GiB");
}

std::function<std::string(const std::string&)> IntegerFrom(int64_t min) {
  return [min](const std::string& text) -> std::string {
    int64_t read = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, read);
    if (error == std::errc() && stop == end && read >= min) return "";
    const bool is_too_large = error == std::errc::result_out_of_range && !text.starts_with('-');
    return "read " + text + ", expected an integer of " + std::to_string(min) +
           (is_too_large ? " or more, below 2^63" : " or more");
  };
}

size_t OutputWidth() {
  if (const std::string width = EnvironmentText(kRemoteWidth); !width.empty()) {
    return static_cast<size_t>(std::atoi(width.c_str()));
  }
  winsize window{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

bool Wait(Duration duration) {
  poll(nullptr, 0, static_cast<int>(duration.us / 1000));
  return true;
}

int Answered(int exit_status) {
  std::cout.flush();
  if (std::cout) return exit_status;
  std::cerr << "tune: standard output cannot be written; is its disk full?\n";
  return 1;
}

bool WaitForCtrlC(Duration duration) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const timespec time{static_cast<time_t>(duration.us / 1'000'000),
                      static_cast<long>(duration.us % 1'000'000 * 1'000)};
  return sigtimedwait(&interrupt, nullptr, &time) != SIGINT;
}

}  // namespace tune
