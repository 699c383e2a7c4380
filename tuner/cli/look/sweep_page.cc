#include "tuner/cli/look/sweep_page.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace tune {
namespace {

constexpr Duration kPatience = Seconds(10);

}  // namespace

void SweepPage::Start(const std::string& program_dir, const std::string& db_path,
                      const PagePlace& place, Instant now, const std::string& key_file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    lines_.push_back("warning: there will be no page: no pipe");
    return;
  }
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor writing(ends[1]);
  std::vector<std::string> arguments = {"ui", "--act", "--db", db_path};
  const std::vector<std::string> said = place.ToArguments();
  arguments.insert(arguments.end(), said.begin(), said.end());
  if (!key_file.empty()) arguments.insert(arguments.end(), {"--key-file", key_file});
  auto process = ChildProcess::Start(program_dir + "/tune_cli", arguments, {}, writing.get());
  if (!process.ok()) {
    lines_.push_back("warning: there will be no page: " + process.status().message());
    return;
  }
  process_ = *std::move(process);
  settled_at_ = now + kPatience;
  is_settled_ = false;
}

std::vector<std::string> SweepPage::TakeLines() {
  if (process_ == nullptr) return std::exchange(lines_, {});
  const bool has_ended = process_->HasEnded();  // Before the last words are read.
  char bytes[4096];
  for (ssize_t size; (size = read(output_.get(), bytes, sizeof bytes)) > 0;) {
    read_.append(bytes, static_cast<size_t>(size));
  }
  for (size_t end = 0; (end = read_.find('\n')) != std::string::npos; read_.erase(0, end + 1)) {
    lines_.push_back(read_.substr(0, end));
  }
  if (has_ended) {
    lines_.push_back("warning: the page ended with " + process_->ending() +
                     "; what runs goes on without it, and tune ui shows it");
    process_.reset();
  }
  is_settled_ = is_settled_ || !lines_.empty();
  return std::exchange(lines_, {});
}

bool SweepPage::is_settled(Instant now) const { return is_settled_ || now >= settled_at_; }

}  // namespace tune
