// What a space file may say of data in an object store.
#include "trial_runner/command_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/json.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<std::vector<CommandInput>> Read(const std::string& inputs) {
  return ReadCommandInputs(*ParseJson(R"({"command":["x"],"inputs":)" + inputs + "}"));
}
std::string Refusal(const std::string& inputs) { return Read(inputs).status().message(); }

TEST(CommandInputs, AreReadWithTheLastPartOfTheirAddressAsName) {
  const auto inputs = Read(R"([{"from":"s3://bucket/a b/photos/","to":"data/train"},
                               {"from":"s3://bucket/words.txt"}])");
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  EXPECT_THAT(*inputs, ElementsAre(CommandInput{{"bucket", "a b/photos"}, "data/train"},
                                   CommandInput{{"bucket", "words.txt"}, "words.txt"}));
  EXPECT_THAT(*ReadCommandInputs(*ParseJson(R"({"command":["x"]})")), IsEmpty());
}

TEST(CommandInputs, MistakesAreToldWithWhatIsExpected) {
  EXPECT_THAT(Refusal(R"({"from":"s3://bucket/x"})"),
              HasSubstr("expected a list, [{from: s3://bucket/prefix, to: data}]"));
  EXPECT_THAT(Refusal(R"([{"to":"x"}])"), HasSubstr("from is missing"));
  EXPECT_THAT(Refusal(R"([{"form":"s3://bucket/x"}])"),
              HasSubstr("trainable: inputs: unknown key 'form'; did you mean 'from'?"));
  EXPECT_THAT(Refusal(R"([{"from":"/home/me/data"}])"),
              HasSubstr("inputs: from: read '/home/me/data', expected s3://bucket/prefix"));
  EXPECT_THAT(Refusal(R"([{"from":"s3://bucket"}])"), HasSubstr("a name for a whole bucket"));
  for (const char* const to : {"", "/data", "../data", "a//b", "."}) {
    EXPECT_THAT(Refusal(R"([{"from":"s3://bucket/x","to":")" + std::string(to) + R"("}])"),
                HasSubstr("a relative path without '..'"))
        << to;
  }
  EXPECT_THAT(Refusal(R"([{"from":"s3://bucket/x","to":"a"},{"from":"s3://bucket/y","to":"a/b"}])"),
              HasSubstr("'a/b' and 'a' would lie at one place"));
}

}  // namespace
}  // namespace tune
