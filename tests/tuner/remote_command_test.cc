#include "tuner/cli/remote_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/cli/command_output.h"

namespace tune {
namespace {

using ::testing::HasSubstr;

TEST(RemoteCommands, WhatTellsAndWhatActsMayBeAskedForAndNothingElse) {
  EXPECT_EQ(*CheckRemoteCommand({"results", "a", "--sql", "select 1"}), RemoteKind::kTells);
  EXPECT_EQ(*CheckRemoteCommand({"logs", "a", "-f"}), RemoteKind::kTells);
  EXPECT_EQ(*CheckRemoteCommand({"stop", "a", "--now"}), RemoteKind::kActs);
  EXPECT_EQ(*CheckRemoteCommand({"resume", "a", "--samples", "9"}), RemoteKind::kActs);
  for (const std::string name :
       {"run", "gc", "backup", "tokens", "worker", "head", "ui", "", "--db"}) {
    EXPECT_EQ(CheckRemoteCommand({name}).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckRemoteCommand({}).ok());
}

TEST(RemoteCommands, OptionsAboutFilesAreRefusedHoweverTheyAreWritten) {
  for (const std::string option :
       {"--db", "--svg", "--export", "--space", "--html", "--http", "--detach"}) {
    EXPECT_THAT(CheckRemoteCommand({"list", option, "x"}).status().message(), HasSubstr(option));
    EXPECT_THAT(CheckRemoteCommand({"list", option + "=x"}).status().message(), HasSubstr(option));
  }
}

TEST(CommandOutputReader, ReadsWhatComesInPiecesOfAnySize) {
  const std::string said = "o 5\na\nb\n1e 3\nerro 0\no 2\ncdx 7\n";
  for (size_t size = 1; size <= said.size(); ++size) {
    std::string out, error;
    CommandOutputReader reader([&](std::string_view piece) { out += piece; },
                               [&](std::string_view piece) { error += piece; });
    for (size_t at = 0; at < said.size(); at += size) {
      EXPECT_FALSE(reader.exit_status()) << "it is not whole";
      EXPECT_TRUE(reader.Take(std::string_view(said).substr(at, size)).ok());
    }
    EXPECT_EQ(out, "a\nb\n1cd");
    EXPECT_EQ(error, "err");
    EXPECT_EQ(reader.exit_status(), 7);
  }
}

TEST(CommandOutputReader, WhatIsNothingOfTheKindIsRefused) {
  for (const std::string said :
       {"<html>\n", "o x\n", "o -1\n", "q 3\nabc", "o3\nabc", "o 99999999999999999999\n", "\n"}) {
    CommandOutputReader reader([](std::string_view) {}, [](std::string_view) {});
    EXPECT_EQ(reader.Take(said).code(), StatusCode::kDataLoss) << said;
  }
  CommandOutputReader endless([](std::string_view) {}, [](std::string_view) {});
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
