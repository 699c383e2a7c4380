// The house's rules, as a test: which room may include which, and what nobody may use where
// (docs/ARCHITECTURE.md).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // Relative to the root: "tuner/sqlite/database.cc".
  std::vector<std::string> lines;
};

std::string Root() {
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  return root != nullptr ? root : ".";
}

std::vector<SourceFile> ReadSources() {
  std::vector<SourceFile> sources;
  for (const char* room :
       {"core", "search", "schedulers", "trial_runner", "tuner", "models", "tests", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(Root()) / room)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".cu" && extension != ".cuh")
        continue;
      SourceFile source;
      source.path = fs::relative(entry.path(), Root()).generic_string();
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) source.lines.push_back(line);
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

// The longest prefix of `path` that the table knows.
std::string RoomOf(const std::string& path,
                   const std::map<std::string, std::set<std::string>>& table) {
  std::string best;
  for (const auto& [room, allowed] : table) {
    if (path.starts_with(room) && room.size() > best.size()) best = room;
  }
  return best;
}

// The rooms of the commands: everything but `models`, which one file bridges to, and these of each
// other.
std::set<std::string> CommandsMay(const std::vector<std::string>& rooms) {
  std::set<std::string> allowed = {"core/",
                                   "core/posix/",
                                   "search/",
                                   "schedulers/",
                                   "trial_runner/",
                                   "trial_runner/bucket/",
                                   "trial_runner/devices/",
                                   "trial_runner/grpc/",
                                   "trial_runner/package/",
                                   "trial_runner/tls/",
                                   "trial_runner/worker/",
                                   "trial_runner/command/",
                                   "tuner/",
                                   "tuner/control/",
                                   "tuner/engines/",
                                   "tuner/export/",
                                   "tuner/http/",
                                   "tuner/page/",
                                   "tuner/sqlite/",
                                   "models/"};
  for (const std::string& room : rooms) allowed.insert("tuner/cli/" + room + "/");
  return allowed;
}

// Which of our own folders a room may include besides itself. A folder below another one is a room
// of its own when it is named here.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"core/", {}},
    {"core/posix/", {"core/"}},
    {"search/", {"core/"}},
    {"schedulers/", {"core/"}},
    {"models/", {"core/", "core/posix/"}},
    {"trial_runner/", {"core/", "models/"}},
    {"trial_runner/wire/", {"core/", "trial_runner/", "proto/"}},
    {"trial_runner/grpc/",
     {"core/", "core/posix/", "trial_runner/", "trial_runner/wire/", "proto/"}},
    {"trial_runner/tls/", {"core/", "core/posix/", "trial_runner/"}},
    {"trial_runner/package/", {"core/", "core/posix/", "trial_runner/"}},
    {"trial_runner/bucket/", {"core/", "core/posix/", "trial_runner/", "trial_runner/package/"}},
    {"trial_runner/devices/", {"core/"}},
    {"trial_runner/worker/",
     {"core/", "core/posix/", "trial_runner/", "trial_runner/bucket/", "trial_runner/devices/",
      "trial_runner/grpc/", "trial_runner/package/", "trial_runner/tls/", "models/"}},
    {"trial_runner/command/",
     {"core/", "core/posix/", "trial_runner/", "trial_runner/package/", "trial_runner/worker/"}},
    {"tuner/", {"core/", "search/", "schedulers/", "trial_runner/"}},
    {"tuner/control/", {"core/", "core/posix/", "trial_runner/", "tuner/"}},
    {"tuner/engines/", {"core/", "core/posix/", "trial_runner/", "trial_runner/bucket/", "tuner/"}},
    {"tuner/export/", {"core/", "core/posix/", "search/", "tuner/", "tuner/sqlite/"}},
    {"tuner/sqlite/", {"core/", "core/posix/", "tuner/", "schedulers/", "trial_runner/"}},
    {"tuner/http/", {"core/", "trial_runner/"}},
    // What a person does, each on what those before it know.
    {"tuner/cli/words/", CommandsMay({})},
    {"tuner/cli/look/", CommandsMay({"words"})},
    {"tuner/cli/keep/", CommandsMay({"words", "look"})},
    {"tuner/cli/steer/", CommandsMay({"words", "look", "keep"})},
    {"tuner/cli/run/", CommandsMay({"words", "look", "keep", "steer"})},
    {"tuner/cli/head/", CommandsMay({"words", "look", "keep", "steer", "run"})},
    {"tuner/cli/", CommandsMay({"words", "look", "keep", "steer", "run", "head"})},
    {"tuner/page/",
     {"core/", "core/posix/", "trial_runner/", "tuner/", "tuner/cli/words/", "tuner/cli/look/",
      "tuner/cli/steer/", "tuner/cli/head/", "tuner/control/", "tuner/http/", "tuner/sqlite/"}},
};

// `models` is bridged to in these files alone.
const std::set<std::string> kModelBridges = {"trial_runner/fusion.cc",
                                             "trial_runner/trainable_catalog.cc",
                                             "trial_runner/worker/food11_attempt.cc",
                                             "trial_runner/worker/food11_attempt.h",
                                             "trial_runner/worker/food11_rank.cc",
                                             "trial_runner/worker/food11_rank.h",
                                             "trial_runner/worker/food11_lanes.cc",
                                             "trial_runner/worker/food11_lanes.h",
                                             "trial_runner/worker/food11_trial_main.cc",
                                             "tuner/cli/look/best_export.cc"};

TEST(Tidy, ArrowsPointInward) {
  const std::regex include("^\\s*#include \"([^\"]+)\"");
  for (const SourceFile& source : ReadSources()) {
    const std::string room = RoomOf(source.path, kArrows);
    if (room.empty()) continue;
    for (size_t i = 0; i < source.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(source.lines[i], match, include)) continue;
      const std::string target = RoomOf(match[1].str(), kArrows);
      const std::string there =
          target.empty() ? match[1].str().substr(0, match[1].str().find('/') + 1) : target;
      if (there == room) continue;
      EXPECT_TRUE(kArrows.at(room).contains(there))
          << source.path << ":" << i + 1 << ": " << room << " may not include " << match[1];
      if (there == "models/" && !room.starts_with("models/")) {
        EXPECT_TRUE(kModelBridges.contains(source.path))
            << source.path << ":" << i + 1 << ": only the bridging files may include models/";
      }
    }
  }
}

struct LibraryRule {
  const char* header;   // Regular expression over what stands in <> or "".
  const char* folders;  // Regular expression over the paths that may include it.
};

// Each is told by values (tuner/lease_event.h): so neither can be called while it is at work, and a
// sweep can be replayed without the workers that it had.
TEST(Tidy, SweepAndClusterDoNotKnowEachOther) {
  const std::regex sweep("^tuner/(sweep|lease_event|trial_record|trial_state)[^/]*$");
  const std::regex cluster("^tuner/(cluster|lease_event|worker_book)[^/]*$");
  const std::regex of_cluster("#include \"tuner/(cluster|worker_book|experiment_controller)\\.h\"");
  const std::regex of_sweep(
      "#include \"tuner/(sweep[a-z_]*|trial_record|experiment_controller)\\.h\"");
  int64_t looked_at = 0;
  for (const SourceFile& source : ReadSources()) {
    const bool is_sweep = std::regex_match(source.path, sweep);
    const bool is_cluster = std::regex_match(source.path, cluster);
    looked_at += is_sweep || is_cluster ? 1 : 0;
    for (const std::string& line : source.lines) {
      EXPECT_FALSE(is_sweep && std::regex_search(line, of_cluster)) << source.path << ": " << line;
      EXPECT_FALSE(is_cluster && std::regex_search(line, of_sweep)) << source.path << ": " << line;
    }
  }
  EXPECT_GT(looked_at, 20);
}

TEST(Tidy, LibrariesStayInTheirFolders) {
  const LibraryRule rules[] = {
      {"^(grpc|grpcpp)/", "^(trial_runner/grpc/|tests/trial_runner/)"},
      {"^openssl/",
       "^(trial_runner/(tls/|package/sha256|bucket/s3_signature)|tuner/http/http_client\\.cc|tests/"
       "trial_runner/)"},
      {"^google/protobuf|\\.pb\\.h$", "^(trial_runner/(grpc|wire)/|tests/(trial_runner|fuzz)/)"},
      {"^sqlite3\\.h$", "^(tuner/sqlite/|tests/|bench/)"},
      {"^yaml-cpp/", "^tuner/(spec_reader|yaml_reader)"},
      {"^opencv2/", "^(models/data/|tests/models/)"},
      {"^gloo/", "^models/ranks/"},
      {"^CLI/",
       "^(tuner/cli/|trial_runner/worker/worker_(main|command_line)\\.|models/"
       "food11_main\\.cc|bench/)"},
      {"^Eigen/", "^search/"},
      {"^absl/", "^trial_runner/grpc/"},
      {"^re2/", "^trial_runner/output_pattern"},
      {"^boost/(asio|beast)",
       "^tuner/http/(http_server\\.cc|http_client\\.cc|answer_pump\\.|beast_message\\.)"},
      {"^curl/", "^trial_runner/bucket/(curl_library\\.h|http_transport\\.cc)"},
      {"^pugixml", "^trial_runner/bucket/s3_answers\\.cc"},
      {"^zlib\\.h$", "^tuner/http/gzip\\.cc"},
  };
  const std::regex include("^\\s*#include [<\"]([^>\"]+)[>\"]");
  for (const SourceFile& source : ReadSources()) {
    for (size_t i = 0; i < source.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(source.lines[i], match, include)) continue;
      const std::string header = match[1].str();
      for (const LibraryRule& rule : rules) {
        if (!std::regex_search(header, std::regex(rule.header))) continue;
        EXPECT_TRUE(std::regex_search(source.path, std::regex(rule.folders)))
            << source.path << ":" << i + 1 << ": <" << header << "> belongs to " << rule.folders;
      }
    }
  }
}

struct Ban {
  const char* pattern;
  const char* instead;
  const char* where;   // Regular expression over paths; the ban holds there ...
  const char* except;  // ... but for these.
};

TEST(Tidy, BannedWordsAreNotUsed) {
  // The folders that decide: nothing there may depend on when, in which order of memory, or on
  // which machine it runs.
  constexpr char kDeciding[] =
      "^(core/|search/|schedulers/|trial_runner/[^/]*$|tuner/[^/]*$|models/train/|trial_runner/"
      "worker/worker_core|tuner/engines/(cluster_file|demand|pool_book|workers_wanted))";
  const Ban bans[] = {
      {"system_clock|steady_clock|high_resolution_clock", "an Instant argument or the Clock seam",
       kDeciding, "^core/posix/"},
      {"random_device|\\brand\\(|mt19937", "KeyedRandom (core/random.h)", kDeciding,
       "^core/posix/"},
      {"sleep_for|sleep_until|usleep|nanosleep", "a deadline as data", kDeciding, "^$"},
      {"std::hash\\b|this_thread", "StableHash (core/random.h)", kDeciding, "^$"},
      {"unordered_map|unordered_set|flat_hash", "std::map or a sorted vector", kDeciding, "^$"},
      {"\\bgetenv\\(", "an argument from the program", kDeciding, "^core/posix/"},
      {"std::function<", "returning a value (decisions return, they do not call out)",
       "^(search/|schedulers/|trial_runner/(placement|lease_table)|tuner/(experiment_controller|"
       "cluster|sweep))",
       "^$"},
      {"SELECT \\*", "the columns by name", "^(tuner/|tests/tuner/)", "^$"},
      {"sleep_for|usleep|[^_]sleep\\(", "waiting for an event", "^tests/",
       "^tests/tidy_test\\.cc$"},
      {"ErrnoStatus\\(\"cannot ", "what was tried alone (ErrnoStatus says that it cannot be)", "",
       "^tests/tidy_test\\.cc$"},
      {"\\bclass \\w*(Manager|Helper|Util)\\b", "the thing's own name (house words)", "",
       "^tests/tidy_test\\.cc$"},
  };
  for (const SourceFile& source : ReadSources()) {
    for (const Ban& ban : bans) {
      if (!std::regex_search(source.path, std::regex(ban.where))) continue;
      if (std::regex_search(source.path, std::regex(ban.except))) continue;
      const std::regex pattern(ban.pattern);
      for (size_t i = 0; i < source.lines.size(); ++i) {
        const std::string code = source.lines[i].substr(0, source.lines[i].find("//"));
        EXPECT_FALSE(std::regex_search(code, pattern))
            << source.path << ":" << i + 1 << ": use " << ban.instead << "\n  " << source.lines[i];
      }
    }
  }
}

TEST(Tidy, ADirectionIsTurnedInOnePlace) {
  // What is chosen by it elsewhere is a word.
  const std::regex chosen(R"(Mode::kM(ax|in)\)? \?)");
  const std::regex word(R"(Mode::kM(ax|in)\)? \? ("|std::string\("|Mode::))");
  for (const SourceFile& source : ReadSources()) {
    const bool is_ours = !source.path.starts_with("tests/") && !source.path.starts_with("bench/");
    if (!is_ours || source.path == "core/metric.h" || source.path == "tuner/best_trial.h") continue;
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      EXPECT_FALSE(std::regex_search(line, chosen) && !std::regex_search(line, word))
          << source.path << ":" << i + 1 << ": use AsLoss, IsBetter or Worse of core/metric.h";
    }
  }
}

TEST(Tidy, HeadersStayShort) {
  for (const SourceFile& source : ReadSources()) {
    if (!source.path.ends_with(".h")) continue;
    EXPECT_LE(source.lines.size(), 300u) << source.path << ": split it; a header is a contract";
    EXPECT_FALSE(source.lines.empty() || !source.lines[0].starts_with("//"))
        << source.path << ": a header says first what it is";
  }
}

// What is measured and tried may be long; a table of numbers may, too.
TEST(Tidy, SourcesAndTheirFunctionsStayShort) {
  constexpr size_t kFileMax = 500, kFunctionMax = 70;
  const std::regex begins(R"(^[A-Za-z_][^=;]*\(.*$)");
  for (const SourceFile& source : ReadSources()) {
    if (source.path.starts_with("tests/") || source.path.starts_with("bench/")) continue;
    EXPECT_LE(source.lines.size(), kFileMax) << source.path << ": split it";
    std::optional<size_t> first;
    for (size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      if (std::regex_match(line, begins)) first = i;
      if (line != "}" || !first) continue;
      EXPECT_LE(i - *first + 1, kFunctionMax)
          << source.path << ":" << *first + 1 << ": make several of it";
      first.reset();
    }
  }
}

// Two types of one name in one program are one to the linker, which takes either's functions.
TEST(Tidy, TypesOfHeadersHaveNamesOfTheirOwn) {
  const std::regex type(R"(^(?:class|struct|enum class) (\w+)(?: final)?(?: :.*)? \{.*)");
  const std::regex space(R"(^namespace ([\w:]+) \{)");
  std::map<std::string, std::string> headers;  // By the type's full name.
  for (const SourceFile& source : ReadSources()) {
    if (!source.path.ends_with(".h") || source.path.starts_with("tests/standin")) continue;
    std::string inside;
    for (const std::string& line : source.lines) {
      std::smatch found;
      if (std::regex_match(line, found, space)) inside = found[1].str() + "::";
      if (!std::regex_match(line, found, type)) continue;
      const auto [other, is_new] = headers.emplace(inside + found[1].str(), source.path);
      EXPECT_TRUE(is_new) << source.path << ": " << other->second << " has a type " << other->first;
    }
  }
  EXPECT_GT(headers.size(), 300u);
}

// What a killed benchmark leaves behind is swept in by `git add -A` (a key once was).
TEST(Tidy, NothingThatAProgramLeftIsKept) {
  const std::set<std::string> rooms = {".ci",
                                       ".clang-format",
                                       ".clang-tidy",
                                       ".gitignore",
                                       "CMakeLists.txt",
                                       "bench",
                                       "CMakePresets.json",
                                       "README.md",
                                       "cmake",
                                       "core",
                                       "docs",
                                       "examples",
                                       "models",
                                       "proto",
                                       "python",
                                       "search",
                                       "schedulers",
                                       "scripts",
                                       "share",
                                       "trial_runner",
                                       "tests",
                                       "tuner",
                                       "web"};
  FILE* const tracked = popen(("git -C '" + Root() + "' ls-files 2>/dev/null").c_str(), "r");
  ASSERT_NE(tracked, nullptr);
  size_t count = 0;
  for (char line[4096]; std::fgets(line, sizeof line, tracked) != nullptr; ++count) {
    const fs::path path(std::string(line).substr(0, std::string(line).find('\n')));
    EXPECT_TRUE(rooms.contains(path.begin()->string())) << path << " lies in no room";
    const std::string extension = path.extension().string();
    EXPECT_TRUE(extension != ".pem" && extension != ".db" && extension != ".lock") << path;
  }
  pclose(tracked);
  if (count == 0) GTEST_SKIP() << "not a git checkout";
}

TEST(Tidy, PathsNamedInDocumentsExist) {
  const std::regex path(
      "`((?:core|search|schedulers|trial_runner|tuner|models|proto|tests|bench|examples|docs|cmake|"
      "scripts)/"
      "[A-Za-z0-9_./-]+\\.(?:h|cc|md|proto|yaml|sh|py))`");
  std::vector<fs::path> documents = {fs::path(Root()) / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(Root()) / "docs")) {
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  size_t count = 0;
  for (const fs::path& document : documents) {
    std::ifstream in(document);
    std::stringstream text;
    text << in.rdbuf();
    const std::string content = text.str();
    for (std::sregex_iterator it(content.begin(), content.end(), path), end; it != end; ++it) {
      EXPECT_TRUE(fs::exists(fs::path(Root()) / (*it)[1].str()))
          << document.filename() << " names " << (*it)[1];
      ++count;
    }
  }
  EXPECT_GT(count, 100u) << "the documents are read otherwise than they are written";
}

}  // namespace
