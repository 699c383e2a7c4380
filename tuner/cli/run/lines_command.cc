#include "tuner/cli/run/lines_command.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>

#include "core/json.h"
#include "core/posix/real_clock.h"
#include "core/spaced_number.h"
#include "core/utf8.h"
#include "tuner/ask_tell.h"
#include "tuner/cli/keep/stored_ask_tell.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/words/complain.h"
#include "tuner/decide.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr int kTurnPauseMs = 20;
constexpr size_t kLineBytesMax = size_t{64} << 20;
constexpr int kTurnTriesMax = 250;  // Five seconds, of one holder.
constexpr int kTurnsMax = 1'000;    // Of the others.

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// What a session that keeps what it was told must do before its answers are shown.
template <typename Session>
Status CommitIfKept(Session& session) {
  if constexpr (requires { session.Commit(); }) return session.Commit();
  return OkStatus();
}

std::string ErrorLine(const Status& status) {
  Value line = Value::MakeMap();
  line.Set("error", status.message());
  return ToJson(line) + '\n';
}

// Feeds the lines of standard input to a session until its end, or an error unless it keeps going.
template <typename Session>
int Converse(Session& session, bool keeps_going = false) {
  std::string input;
  std::string output;
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Complain(Internal(std::string("standard input: ") + strerror(errno)));
    size_t searched = input.size();
    input.append(buffer.data(), static_cast<size_t>(count));
    // A last line without its end counts too.
    if (count == 0 && !input.empty()) input.push_back('\n');
    size_t begin = 0;
    for (size_t end = input.find('\n', searched); end != std::string::npos;
         end = input.find('\n', searched)) {
      const auto answers = session.OnLine(std::string_view(input).substr(begin, end - begin));
      searched = begin = end + 1;
      if (!answers.ok() && keeps_going) {
        output += ErrorLine(answers.status());
        continue;
      }
      if (!answers.ok()) {
        if (const Status s = CommitIfKept(session); !s.ok()) return Complain(s);
        WriteAll(output);
        return Complain(answers.status());
      }
      for (const std::string& answer : *answers) output += answer + '\n';
    }
    input.erase(0, begin);
    if (input.size() > kLineBytesMax) {
      return Complain(InvalidArgument("standard input: a line has more than " +
                                      std::to_string(kLineBytesMax >> 20) + " MiB"));
    }
    if (const Status s = CommitIfKept(session); !s.ok()) return Complain(s);
    if (!WriteAll(output)) {
      return Complain(Unavailable("standard output cannot be written; is its disk full?"));
    }
    output.clear();
    if (count == 0) return 0;
  }
}

struct GivenSpec {
  ExperimentSpec spec;
  uint64_t seed = 0;
};

Result<GivenSpec> ReadGivenSpec(const LinesOptions& options) {
  TUNE_ASSIGN_OR_RETURN(ExperimentSpec spec, ReadSpecFile(options.space_path, options.overrides,
                                                          /*require_trainable=*/false));
  const uint64_t seed = spec.seed ? *spec.seed : DrawEntropy() >> 11;
  return GivenSpec{std::move(spec), seed};
}

Status RefuseLimitsOnParameters(const ResultLimits& feasible) {
  if (feasible.parameter_names().empty()) return OkStatus();
  return InvalidArgument("feasible: a limit names the parameter " +
                         Printable(feasible.parameter_names().front()) +
                         ", and tune decide is told no configurations; leave the limit out, or "
                         "run the sweep");
}

}  // namespace

int DecideCommand(const LinesOptions& options) {
  const Result<GivenSpec> given = ReadGivenSpec(options);
  if (!given.ok()) return Complain(given.status());
  auto scheduler = MakeScheduler(given->spec.scheduler, given->spec.mode, given->seed);
  if (!scheduler.ok()) return Complain(scheduler.status());
  if (const Status s = RefuseLimitsOnParameters(given->spec.feasible); !s.ok()) return Complain(s);
  DecideSession session(*std::move(scheduler), {given->spec.metric, given->spec.scores,
                                                given->spec.mode, given->spec.feasible});
  return Converse(session);
}

namespace {

// The sweep of that name, gone on with or made from the space file.
Result<std::unique_ptr<StoredAskTell>> OpenKept(const LinesOptions& options, std::string name,
                                                const GivenSpec& given, const Clock& clock) {
  TUNE_RETURN_IF_ERROR(CheckSweepName(name).At("--name"));
  const std::string provenance = EncodeProvenance(
      GatherProvenance(given.spec, {TUNE_VERSION, options.command_line, /*data_dir=*/""}));
  return StoredAskTell::Open(options.db_path, std::move(name), given.spec, given.seed, provenance,
                             clock);
}

// Trials that run at a time ask and tell at a time: each has the database for a moment, and who has
// it for longer, such as a tuner, keeps it.
template <typename Open>
Result<std::unique_ptr<StoredAskTell>> InTurn(const std::string& db_path, const Open& open) {
  std::optional<Instant> since;  // When the one came who has it.
  int tries = 0;
  int turns = 0;
  while (true) {
    Result<std::unique_ptr<StoredAskTell>> kept = open();
    if (kept.status().code() != StatusCode::kUnavailable) return kept;
    const std::optional<LockHolder> holder = FindLockHolder(db_path);
    const bool is_next = holder && holder->since != since;
    if (is_next) {
      since = holder->since;
      tries = 0;
      ++turns;
    }
    if (++tries > kTurnTriesMax || turns > kTurnsMax) return kept;
    poll(nullptr, 0, kTurnPauseMs);
  }
}

// Whoever said one line need not be told its number.
Status OfTheOnlyLine(const Status& status) {
  constexpr std::string_view kPrefix = "line 1: ";
  const std::string& message = status.message();
  return message.starts_with(kPrefix) ? InvalidArgument(message.substr(kPrefix.size())) : status;
}

}  // namespace

int AskTellCommand(const LinesOptions& options) {
  const Result<GivenSpec> given = ReadGivenSpec(options);
  if (!given.ok()) return Complain(given.status());
  if (!options.name.empty()) {
    const RealClock clock;
    const auto kept = OpenKept(options, options.name, *given, clock);
    if (!kept.ok()) return Complain(kept.status());
    return Converse(**kept, options.keeps_going);
  }
  if (!given->spec.from.empty()) {
    return Complain(InvalidArgument("from: needs a database; keep the sweep with --name"));
  }
  if (const Status s = RefuseDurations(given->spec.search); !s.ok()) return Complain(s);
  const Result<SearchSpace> space = SpaceOf(given->spec);
  if (!space.ok()) return Complain(space.status());
  auto searcher =
      MakeSearcher(given->spec.search, ProblemOf(given->spec, *space, /*samples=*/-1, given->seed));
  if (!searcher.ok()) return Complain(searcher.status());
  AskTellSession session(*std::move(searcher), given->spec.objectives(), given->spec.feasible);
  return Converse(session, options.keeps_going);
}

int AskCommand(const LinesOptions& options) {
  const Result<GivenSpec> given = ReadGivenSpec(options);
  if (!given.ok()) return Complain(given.status());
  const RealClock clock;
  const std::string& name = options.name.empty() ? given->spec.name : options.name;
  const auto kept = InTurn(options.db_path, [&] { return OpenKept(options, name, *given, clock); });
  if (!kept.ok()) return Complain(kept.status());
  const auto answers = (*kept)->OnLine("{\"ask\": " + std::to_string(options.count) + "}");
  if (!answers.ok()) return Complain(OfTheOnlyLine(answers.status()).At("--count"));
  if (const Status s = (*kept)->Commit(); !s.ok()) return Complain(s);
  std::string output;
  for (const std::string& answer : *answers) output += answer + "\n";
  if ((*kept)->is_new()) {
    std::cerr << "sweep " << (*kept)->name() << ": seed " << given->seed << ", database "
              << options.db_path << "\n";
  }
  if (WriteAll(output)) return 0;
  return Complain(Unavailable(
      "standard output cannot be written; is its disk full? What was asked for is kept"));
}

namespace {

// As JSON writes it, or as programs print it: nan, inf, .5, +1.
Result<Value> ReadTold(const std::string& text) {
  const Result<Value> value = ParseJson(text, JsonDialect::kWithNaN);
  if (value.ok() && (value->is_null() || ReadNumber(*value))) return value;
  std::string_view printed = TrimSpace(text);
  if (printed.starts_with('+')) printed.remove_prefix(1);
  double number = 0;
  const char* const end = printed.data() + printed.size();
  const auto read = std::from_chars(printed.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && !printed.empty()) return Value(number);
  return InvalidArgument("read '" + text + "', expected a number, NaN or null");
}

Result<Value> ReadToldMetrics(const std::vector<std::string>& texts) {
  Value metrics = Value::MakeMap();
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("--metric: read '" + text + "', expected NAME=VALUE");
    }
    Result<Value> value = ReadTold(text.substr(equals + 1));
    if (!value.ok()) return value.status().At("--metric " + text.substr(0, equals));
    metrics.Set(text.substr(0, equals), *std::move(value));
  }
  return metrics;
}

// The line that a person could have written to ask-tell.
Result<std::string> TellLine(const TellOptions& options, std::string_view number) {
  Value tell = Value::MakeMap();
  const Result<Value> trial = ParseJson(number);
  if (!trial.ok() || !trial->is_int() || trial->AsInt() < 0) {
    return InvalidArgument("read '" + options.trial + "', expected a trial: 3, or NAME/3");
  }
  tell.Set("trial", *trial);
  if (options.failed != options.values.empty()) {
    return InvalidArgument(options.failed ? "--failed: a failed trial has no value"
                                          : "a value is missing; or write --failed");
  }
  Value values = Value::MakeList();
  for (const std::string& text : options.values) {
    TUNE_ASSIGN_OR_RETURN(Value value, ReadTold(text));
    values.AsList().push_back(std::move(value));
  }
  if (options.failed) {
    tell.Set("failed", true);
  } else {
    tell.Set("value", values.AsList().size() == 1 ? values.AsList().front() : values);
  }
  if (options.iteration > 0) tell.Set("iteration", options.iteration);
  if (!options.metrics.empty()) {
    TUNE_ASSIGN_OR_RETURN(Value metrics, ReadToldMetrics(options.metrics));
    tell.Set("metrics", std::move(metrics));
  }
  Value line = Value::MakeMap();
  line.Set("tell", std::move(tell));
  return ToJson(line);
}

}  // namespace

int TellCommand(const TellOptions& options) {
  const size_t slash = options.trial.rfind('/');
  const std::string name = slash == std::string::npos ? "" : options.trial.substr(0, slash);
  const auto line = TellLine(
      options, std::string_view(options.trial).substr(slash == std::string::npos ? 0 : slash + 1));
  if (!line.ok()) return Complain(line.status());
  const RealClock clock;
  const auto kept = InTurn(options.db_path,
                           [&] { return StoredAskTell::OpenStored(options.db_path, name, clock); });
  if (!kept.ok()) return Complain(kept.status());
  const auto answers = (*kept)->OnLine(*line);
  if (!answers.ok()) {
    return Complain(OfTheOnlyLine(answers.status()).At((*kept)->name()));
  }
  const Status committed = (*kept)->Commit();
  return committed.ok() ? 0 : Complain(committed);
}

}  // namespace tune
