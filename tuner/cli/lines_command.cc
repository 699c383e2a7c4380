#include "tuner/cli/lines_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string_view>

#include "core/posix/real_clock.h"
#include "tuner/ask_tell.h"
#include "tuner/decide.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr size_t kReadBytes = 1 << 16;

int Complain(const Status& status) {
  std::cerr << "tune: " << status.message() << "\n";
  return 2;
}

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Feeds the lines of standard input to a session until its end or an error.
template <typename Session>
int Converse(Session& session) {
  std::string input;
  std::string output;
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Complain(Internal(std::string("standard input: ") + strerror(errno)));
    input.append(buffer.data(), static_cast<size_t>(count));
    // A last line without its end counts too.
    if (count == 0 && !input.empty()) input.push_back('\n');
    size_t begin = 0;
    for (size_t end = input.find('\n'); end != std::string::npos; end = input.find('\n', begin)) {
      const auto answers = session.OnLine(std::string_view(input).substr(begin, end - begin));
      if (!answers.ok()) {
        WriteAll(output);
        return Complain(answers.status());
      }
      for (const std::string& answer : *answers) output += answer + '\n';
      begin = end + 1;
    }
    input.erase(0, begin);
    if (!WriteAll(output)) return 1;
    output.clear();
    if (count == 0) return 0;
  }
}

struct Prepared {
  ExperimentSpec spec;
  uint64_t seed = 0;
};

Result<Prepared> Prepare(const LinesOptions& options) {
  TUNE_ASSIGN_OR_RETURN(ExperimentSpec spec, ReadSpecFile(options.space_path, options.overrides,
                                                          /*require_trainable=*/false));
  const uint64_t seed = spec.seed ? *spec.seed : DrawEntropy() >> 11;
  return Prepared{std::move(spec), seed};
}

}  // namespace

int DecideCommand(const LinesOptions& options) {
  const Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return Complain(prepared.status());
  auto scheduler = MakeScheduler(prepared->spec.scheduler, prepared->spec.mode, prepared->seed);
  if (!scheduler.ok()) return Complain(scheduler.status());
  DecideSession session(*std::move(scheduler), prepared->spec.metric);
  return Converse(session);
}

int AskTellCommand(const LinesOptions& options) {
  const Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return Complain(prepared.status());
  const Result<SearchSpace> space = SearchSpace::Parse(prepared->spec.space);
  if (!space.ok()) return Complain(space.status());
  auto searcher = MakeSearcher(prepared->spec.search,
                               ProblemOf(prepared->spec, *space, /*samples=*/-1, prepared->seed));
  if (!searcher.ok()) return Complain(searcher.status());
  AskTellSession session(*std::move(searcher));
  return Converse(session);
}

}  // namespace tune
