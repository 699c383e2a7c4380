#include "tuner/cli/run/git_state.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tuner/cli/keep/program_output.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kGitPatience = Seconds(5);  // A large folder on a slow disk is not waited for.

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string FirstLineOf(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool IsCommit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

// The repository's folder: .git itself, or what a worktree's file .git names.
fs::path FindGitFolder(const std::string& folder) {
  std::error_code error;
  for (fs::path at = fs::absolute(folder, error);; at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, error)) return git;
    if (fs::is_regular_file(git, error)) {
      constexpr std::string_view kPrefix = "gitdir: ";
      const std::string line = FirstLineOf(git);
      if (!line.starts_with(kPrefix)) return {};
      return (at / line.substr(kPrefix.size())).lexically_normal();
    }
    if (at == at.parent_path()) return {};
  }
}

std::string FindPacked(const fs::path& packed_refs, const std::string& ref) {
  std::ifstream in(packed_refs);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) == ref) return line.substr(0, space);
  }
  return {};
}

}  // namespace

std::optional<GitState> ReadGitFolder(const std::string& folder) {
  const fs::path git = FindGitFolder(folder);
  if (git.empty()) return std::nullopt;
  constexpr std::string_view kRef = "ref: ";
  std::string commit = FirstLineOf(git / "HEAD");
  if (commit.starts_with(kRef)) {
    const std::string ref = commit.substr(kRef.size());
    // A worktree keeps its branches in the repository that it belongs to.
    const std::string common_name = FirstLineOf(git / "commondir");
    const fs::path common = common_name.empty() ? git : (git / common_name).lexically_normal();
    commit = FirstLineOf(common / ref);
    if (commit.empty()) commit = FindPacked(common / "packed-refs", ref);
  }
  if (!IsCommit(commit)) return std::nullopt;
  return GitState{commit, std::nullopt};
}

std::optional<GitState> FindGitState(const std::string& folder) {
  // It takes no lock that another git would wait for.
  const auto git = [&folder](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"git", "--no-optional-locks", "-C", folder});
    return RunForOutput(arguments, kGitPatience);
  };
  const Result<ProgramOutput> head = git({"rev-parse", "--verify", "--quiet", "HEAD"});
  if (!head.ok() || head->exit_status != 0 || !IsCommit(FirstLine(head->out))) {
    return ReadGitFolder(folder);
  }
  GitState state{FirstLine(head->out), std::nullopt};
  const Result<ProgramOutput> status = git({"status", "--porcelain", "--untracked-files=no"});
  if (status.ok() && status->exit_status == 0) state.is_dirty = !status->out.empty();
  return state;
}

}  // namespace tune
