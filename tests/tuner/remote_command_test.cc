#include "tuner/cli/head/remote_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/tuner/temp_folder.h"
#include "trial_runner/package/folder_text.h"
#include "tuner/cli/head/command_output.h"
#include "tuner/cli/head/remote_files.h"

namespace tune {
namespace {

using ::testing::HasSubstr;

TEST(RemoteCommands, WhatTellsAndWhatActsMayBeAskedForAndNothingElse) {
  EXPECT_EQ(*CheckRemoteCommand({"results", "a", "--sql", "select 1"}), RemoteKind::kTells);
  EXPECT_EQ(*CheckRemoteCommand({"logs", "a", "-f"}), RemoteKind::kTells);
  EXPECT_EQ(*CheckRemoteCommand({"stop", "a", "--now"}), RemoteKind::kActs);
  EXPECT_EQ(*CheckRemoteCommand({"note", "a", "text", "--tag", "b"}), RemoteKind::kActs);
  EXPECT_EQ(*CheckRemoteCommand({"resume", "a", "--samples", "9"}), RemoteKind::kActs);
  for (const std::string name :
       {"run", "gc", "backup", "tokens", "worker", "head", "ui", "", "--db"}) {
    EXPECT_EQ(CheckRemoteCommand({name}).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckRemoteCommand({}).ok());
}

TEST(RemoteCommands, OptionsAboutFilesOfTheHeadAreRefusedHoweverTheyAreWritten) {
  for (const std::string option : {"--db", "--space", "--http", "--detach", "--head"}) {
    EXPECT_THAT(CheckRemoteCommand({"list", option, "x"}).status().message(), HasSubstr(option));
    EXPECT_THAT(CheckRemoteCommand({"list", option + "=x"}).status().message(), HasSubstr(option));
  }
}

TEST(RemoteCommands, WhatIsWrittenLiesInAFolderOfTheCommands) {
  EXPECT_TRUE(CheckRemoteCommand({"best", "a", "--export=model"}).ok());
  EXPECT_TRUE(CheckRemoteCommand({"report", "a", "--html", "a.html"}).ok());
  EXPECT_FALSE(CheckRemoteCommand({"report", "a"}).ok()) << "a trial's report";
  for (const std::string path : {"/etc/x", "../x", "a/b", "", ".", "..", "-x", ".ssh"}) {
    EXPECT_THAT(CheckRemoteCommand({"plot", "a", "--svg=" + path}).status().message(),
                HasSubstr("expected a plain name"))
        << path;
  }
  EXPECT_FALSE(CheckRemoteCommand({"plot", "a", "--svg"}).ok());
  EXPECT_TRUE(CheckRemoteCommand({"export", "a", "--to", "csv", "tables"}).ok());
  for (const std::string folder : {"/etc/x", "../x", "a/b"}) {
    EXPECT_FALSE(CheckRemoteCommand({"export", "a", "--to", "csv", folder}).ok()) << folder;
  }
  EXPECT_FALSE(CheckRemoteCommand({"export", "--to", "csv"}).ok());
  EXPECT_FALSE(CheckRemoteCommand({"export", "--to", "csv", "--", "/etc/x"}).ok());
  // What reads the arguments there takes a -- for an option's value, and -1/.. for a word.
  EXPECT_FALSE(CheckRemoteCommand({"report", "a", "--html", "ok.html", "--iteration", "--", "--md",
                                   "/home/ada/plan.md"})
                   .ok());
  EXPECT_FALSE(CheckRemoteCommand({"plot", "a", "--", "--svg=/etc/x"}).ok());
  EXPECT_TRUE(CheckRemoteCommand({"note", "a", "--", "a text"}).ok());
  for (const std::string word : {"-1/../../home/ada/x", "-!x", "- x", "--width=1"}) {
    EXPECT_THAT(CheckRemoteCommand({"export", "a", word, "--to", "csv"}).status().message(),
                HasSubstr("expected [NAME] DIR --to FORM"))
        << word;
    EXPECT_FALSE(CheckRemoteCommand({"export", "a", "ok", word, "--to=csv"}).ok()) << word;
  }
  EXPECT_THAT(CheckRemoteCommand({"export", "--to", "mlflow", "x"}).status().message(),
              HasSubstr("on the head's"));
}

TEST(RemoteFiles, AreSaidThereWithoutTheirFolder) {
  const TempFolder folder;
  const auto files = RemoteFiles::Prepare(
      {"report", "a", "--html", folder / "a.html", "--md=" + (folder / "a.md"), "last"});
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_THAT(files->arguments(),
              ::testing::ElementsAre("report", "a", "--html=a.html", "--md=a.md", "last"));
  std::ofstream(folder / "there.svg") << "mine";
  EXPECT_THAT(RemoteFiles::Prepare({"plot", "--svg", folder / "there.svg"}).status().message(),
              HasSubstr("is there already"));
  EXPECT_THAT(RemoteFiles::Prepare({"plot", "--svg", folder / "no/a.svg"}).status().message(),
              HasSubstr("there is no folder"));
  std::filesystem::create_directory(folder / "empty");
  EXPECT_TRUE(RemoteFiles::Prepare({"best", "--export", folder / "empty/"}).ok());
}

TEST(RemoteFiles, ComeAsOneTextAndReplaceNothing) {
  const TempFolder there, here;
  std::filesystem::create_directory(there / "model");
  std::ofstream(there / "model/weights") << std::string(1000, 'w');
  std::ofstream(there / "curves.svg") << "<svg/>";
  const FolderText text = *FolderText::Of(there.path());
  const std::string all = *text.Read(0, 1 << 20);
  const std::vector<std::string> asked = {"best", "--export=" + (here / "model"),
                                          "--svg=" + (here / "curves.svg")};
  for (const bool is_whole : {true, false}) {
    auto files = RemoteFiles::Prepare(asked);
    ASSERT_TRUE(files.ok()) << files.status().message();
    ASSERT_TRUE(files->Take(text.name(), all.substr(0, 100)).ok());
    ASSERT_TRUE(files->Take(text.name(), all.substr(100, is_whole ? all.size() : 200)).ok());
    EXPECT_EQ(files->Keep().ok(), is_whole);
    EXPECT_EQ(std::filesystem::exists(here / "model/weights"), is_whole);
    EXPECT_EQ(std::filesystem::exists(here / "curves.svg"), is_whole);
    std::filesystem::remove_all(here / "model");
    std::filesystem::remove(here / "curves.svg");
  }
  auto files = RemoteFiles::Prepare(asked);
  ASSERT_TRUE(files.ok()) << files.status().message();
  std::ofstream(here / "curves.svg") << "mine";
  ASSERT_TRUE(files->Take(text.name(), all).ok());
  EXPECT_THAT(files->Keep().message(), HasSubstr("curves.svg: is there already"));
}

TEST(RemoteFiles, AFileThatWasNotAskedForIsRefusedWithAllThatCameBesideIt) {
  const TempFolder there, here;
  std::ofstream(there / "curves.svg") << "<svg/>";
  std::ofstream(there / ".envrc") << "whatever the head likes";
  const FolderText text = *FolderText::Of(there.path());
  auto files = RemoteFiles::Prepare({"plot", "--svg", here / "curves.svg"});
  ASSERT_TRUE(files.ok()) << files.status().message();
  ASSERT_TRUE(files->Take(text.name(), *text.Read(0, 1 << 20)).ok());
  const Status kept = files->Keep();
  EXPECT_EQ(kept.code(), StatusCode::kDataLoss);
  EXPECT_THAT(kept.message(), HasSubstr(".envrc, which was not asked for"));
  EXPECT_TRUE(std::filesystem::is_empty(here.path()));
}

class CommandOutputTest : public ::testing::Test {
 protected:
  // In the place of tune.
  void Start(const std::string& script) {
    const std::string program = programs_ / "tune_cli";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    ASSERT_EQ(chmod(program.c_str(), 0700), 0);
    auto started = CommandOutput::Start(programs_.path(), programs_ / "tune.db", {"best"}, 0, {});
    ASSERT_TRUE(started.ok()) << started.status().message();
    command_ = *std::move(started);
  }
  // Once there is something to be read.
  std::optional<std::string> Next() {
    pollfd ready{command_->fd(), POLLIN, 0};
    poll(&ready, 1, -1);
    return command_->Read();
  }

  const TempFolder programs_;
  std::shared_ptr<CommandOutput> command_;
};

TEST_F(CommandOutputTest, WhatItWroteComesBeforeItsExitStatus) {
  Start("echo said; echo text > a.txt\n");
  std::string out, files;
  CommandOutputReader reader([&](std::string_view piece) { out += piece; }, [](std::string_view) {},
                             [&](std::string_view piece) { files += piece; });
  while (const std::optional<std::string> piece = Next()) {
    EXPECT_FALSE(reader.exit_status()) << "that is the last";
    EXPECT_TRUE(reader.Take(*piece).ok());
    if (reader.exit_status()) break;
  }
  EXPECT_EQ(out, "said\n");
  EXPECT_THAT(files, HasSubstr("a.txt"));
  EXPECT_THAT(files, HasSubstr("text\n"));
  EXPECT_EQ(reader.files().bytes, static_cast<int64_t>(files.size()));
  EXPECT_EQ(reader.exit_status(), 0);
  EXPECT_FALSE(command_->Read());
}

// Of so many bytes that it takes a while: nobody waits for it, nor for its end.
TEST_F(CommandOutputTest, WhatItWroteIsReadBesideTheThreadThatAsks) {
  Start("echo $$; truncate -s 256G weights\n");
  std::string said;
  while (said.find("\n", said.find("\n") + 1) == std::string::npos) said += Next().value();
  const pid_t pid = std::stoi(said.substr(said.find('\n') + 1));
  while (kill(pid, 0) == 0) said += Next().value();  // Its end is heeded by a Read().
  for (int i = 0; i < 3; ++i) said += command_->Read().value();
  EXPECT_EQ(said.find_first_of("hx"), std::string::npos) << said;
}

TEST(CommandOutputReader, ReadsWhatComesInPiecesOfAnySize) {
  const std::string hash(64, 'a');
  const std::string said = "o 5\na\nb\n1e 3\nerro 0\no 2\ncdh 67\n" + hash + " 12f 3\nabcx 7\n";
  for (size_t size = 1; size <= said.size(); ++size) {
    std::string out, error, files;
    CommandOutputReader reader([&](std::string_view piece) { out += piece; },
                               [&](std::string_view piece) { error += piece; },
                               [&](std::string_view piece) { files += piece; });
    for (size_t at = 0; at < said.size(); at += size) {
      EXPECT_FALSE(reader.exit_status()) << "it is not whole";
      EXPECT_TRUE(reader.Take(std::string_view(said).substr(at, size)).ok());
    }
    EXPECT_EQ(out, "a\nb\n1cd");
    EXPECT_EQ(error, "err");
    EXPECT_EQ(files, "abc");
    EXPECT_EQ(reader.files(), (PackageName{hash, 12}));
    EXPECT_EQ(reader.exit_status(), 7);
  }
}

TEST(CommandOutputReader, WhatIsNothingOfTheKindIsRefused) {
  for (const std::string said : {"<html>\n", "o x\n", "o -1\n", "q 3\nabc", "o3\nabc", "f 3\nabc",
                                 "h 3\nabc", "o 99999999999999999999\n", "\n"}) {
    CommandOutputReader reader([](std::string_view) {}, [](std::string_view) {},
                               [](std::string_view) {});
    EXPECT_EQ(reader.Take(said).code(), StatusCode::kDataLoss) << said;
  }
  CommandOutputReader endless([](std::string_view) {}, [](std::string_view) {},
                              [](std::string_view) {});
  EXPECT_EQ(endless.Take(std::string(100, 'o')).code(), StatusCode::kDataLoss);
}

TEST(HttpPlaces, TheAddressOfAHeadSaysWhereAndByWhichKey) {
  const auto plain = ReadHttpPlace("http://127.0.0.1:8080/?key=abc");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->is_tls);
  EXPECT_EQ(plain->address.ToText(), "127.0.0.1:8080");
  EXPECT_EQ(plain->key, "abc");
  EXPECT_EQ(plain->certificate, "");
  const std::string hash(64, 'b');
  const auto tls = ReadHttpPlace("https://[::1]:8080/?key=abc&cert=" + hash);
  ASSERT_TRUE(tls.ok());
  EXPECT_TRUE(tls->is_tls);
  EXPECT_EQ(tls->certificate, hash);
  // As it is printed for a person to compare.
  std::string spoken;
  for (int i = 0; i < 32; ++i) spoken += i > 0 ? ":BB" : "BB";
  EXPECT_EQ(ReadHttpPlace("https://lab:8080/?key=abc&cert=" + spoken)->certificate, hash);
  for (const std::string url :
       {"", "lab:8080", "ftp://lab:8080/?key=a", "https://lab/?key=a", "https://lab:8080",
        "https://lab:8080/?key=", "https://lab:8080/?key=a&cert=12", "http://lab:8080/?key=a",
        "https://lab:8080/?key=%zz"}) {
    EXPECT_EQ(ReadHttpPlace(url).status().code(), StatusCode::kInvalidArgument) << url;
  }
}

}  // namespace
}  // namespace tune
