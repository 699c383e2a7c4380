// Which values under `env` are secrets, and what is stored in their place.
#include "trial_runner/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Secrets, AreKnownByTheNamesOfTheirVariables) {
  for (const char* const name :
       {"HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "CLIENT_SECRET", "DB_PASSWORD",
        "db_password_2", "PASSWORD", "DB_PASS", "MYSQL_PWD", "GH_PAT", "MY_CREDENTIALS", "COOKIE",
        "TOKEN", "OPENAI_APIKEY", "SSH_PASSPHRASE", "hf_token", "NPM_AUTH"}) {
    EXPECT_TRUE(NamesSecret(name)) << name;
  }
  for (const char* const name :
       {"WANDB_MODE", "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY", "HF_HOME", "PATH",
        "SECRETARY", "AWS_ACCESS_KEY_ID", "PWD", "COMPASS", "PATH_PATTERN", "AUTHOR"}) {
    EXPECT_FALSE(NamesSecret(name)) << name;
  }
}

TEST(Secrets, AreTakenOutOfWhatIsSaidOfAProgram) {
  const std::vector<Secret> secrets = {{"MY_TOKEN", "abc123"}, {"SHORT_KEY", "x"}};
  EXPECT_EQ(WithoutSecrets("fatal: https://abc123@host/abc123: x", secrets),
            "fatal: https://***@host/***: x");
}

TEST(Secrets, AreFoundInTheFormsInWhichTheyArePrinted) {
  const std::vector<Secret> secrets = {{"KEY_TOKEN", " AAAAfirst111\nBBBB second222\n"},
                                       {"DB_PASS", "pass\\word/12345"}};
  EXPECT_EQ(WithoutSecrets("bad key AAAAfirst111", secrets), "bad key ***");
  EXPECT_EQ(WithoutSecrets("BBBB second222 is no key", secrets), "*** is no key");
  EXPECT_EQ(WithoutSecrets("{'key': 'AAAAfirst111\\nBBBB second222'}", secrets), "{'key': '***'}");
  EXPECT_EQ(WithoutSecrets("['pass\\\\word/12345'] ?k=pass%5Cword%2F12345", secrets),
            "['***'] ?k=***");
}

TEST(Secrets, AreAddressesWithAPasswordWhateverTheirVariableIsCalled) {
  EXPECT_EQ(PasswordIn("postgresql://me:s3cret@db:5432/trials?ssl=1"), "s3cret");
  EXPECT_EQ(PasswordIn("redis://:p@ss@host"), "p@ss");
  for (const char* const value :
       {"", "me:s3cret@db", "https://host/a:b@c", "https://host:8080/", "https://me@host",
        "https://me:@host", "https://host?q=a:b@c", "http://127.0.0.1:5000"}) {
    EXPECT_EQ(PasswordIn(value), "") << value;
  }
  Value document = *ParseJson(
      R"({"trainable":{"command":["a"],"env":{"DATABASE_URL":"mysql://u:horse7@db/x","U":"http://db"}}})");
  const std::vector<Secret> secrets = TakeSecrets(document);
  ASSERT_EQ(secrets.size(), 1u);
  EXPECT_EQ(secrets[0].name, "DATABASE_URL");
  EXPECT_EQ(WithoutSecrets("no access to mysql://u:horse7@db/x with horse7", secrets),
            "no access to *** with ***");
}

TEST(Secrets, AreTakenOutOfADocumentAndNothingElseIs) {
  Value document = *ParseJson(
      R"({"name":"s","trainable":{"command":["a"],"env":{"HF_TOKEN":"hf_{{x}}","SORT_KEY":"{lr}",)"
      R"("MAX_TOKEN":512,"MODE":"b","A_KEY":{"value":"c"},"B_KEY":""}}})");
  const std::vector<Secret> secrets = TakeSecrets(document);
  ASSERT_EQ(secrets.size(), 1u);
  EXPECT_EQ(secrets[0].name, "HF_TOKEN");
  EXPECT_EQ(secrets[0].value, "hf_{x}") << "as the program would have got it";
  EXPECT_EQ(ToJson(document),
            R"({"name":"s","trainable":{"command":["a"],"env":{"HF_TOKEN":)"
            R"({"from_environment":true},"SORT_KEY":"{lr}","MAX_TOKEN":512,"MODE":"b",)"
            R"("A_KEY":{"value":"c"},"B_KEY":""}}})");
  EXPECT_THAT(VariablesFromEnvironment(*document.Find("trainable")), ElementsAre("HF_TOKEN"));
  EXPECT_THAT(TakeSecrets(document), IsEmpty());
}

TEST(Secrets, OfWhatIsNoCommandAreNone) {
  for (const char* const text :
       {"[]", "{}", R"({"trainable":"food11"})", R"({"trainable":{"env":["HF_TOKEN"]}})"}) {
    Value document = *ParseJson(text);
    EXPECT_THAT(TakeSecrets(document), IsEmpty()) << text;
    EXPECT_EQ(ToJson(document), text);
  }
}

}  // namespace
}  // namespace tune
