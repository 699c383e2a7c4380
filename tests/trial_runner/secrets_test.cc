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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Secrets, AreKnownByTheNamesOfTheirVariables) {
  for (const char* const name : {"HF_TOKEN",
                                 "WANDB_API_KEY",
                                 "AWS_SECRET_ACCESS_KEY",
                                 "CLIENT_SECRET",
                                 "DB_PASSWORD",
                                 "db_password_2",
                                 "PASSWORD",
                                 "DB_PASS",
                                 "MYSQL_PWD",
                                 "GH_PAT",
                                 "MY_CREDENTIALS",
                                 "COOKIE",
                                 "TOKEN",
                                 "OPENAI_APIKEY",
                                 "SSH_PASSPHRASE",
                                 "hf_token",
                                 "NPM_AUTH",
                                 "DBPASSWD",
                                 "HF_TOKEN_2",
                                 "HF_TOKEN2",
                                 "SECRET_ACCESS_KEY_ID",
                                 "APP_SECRETS",
                                 "accessToken",
                                 "AccessKey",
                                 "AWSSECRET",
                                 "PRIVKEY",
                                 "JWT",
                                 "CONNECTION_STRING"}) {
    EXPECT_TRUE(NamesSecret(name)) << name;
  }
  for (const char* const name :
       {"WANDB_MODE", "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY", "HF_HOME", "PATH",
        "SECRETARY", "AWS_ACCESS_KEY_ID", "PWD", "COMPASS", "PATH_PATTERN", "AUTHOR", "MAX_TOKENS",
        "TOKENIZER_2", "2"}) {
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

// As the command line of a sweep is kept: what a shell is told between quotation marks.
TEST(Secrets, AreFoundInShellQuotes) {
  const std::vector<Secret> secrets = {{"A_KEY", "it's mine"}, {"PIN", "a'b"}};
  EXPECT_EQ(WithoutSecrets("tune --env 'A_KEY=it'\\''s mine' --env 'PIN=a'\\''b' 'it'\\''s mine'",
                           secrets),
            "tune --env 'A_KEY=***' --env 'PIN=***' '***'");
}

// quote(s), quote(s, safe=""), quote_plus(s), and lower-case escapes as some servers print them.
TEST(Secrets, AreFoundAsAddressesWriteThemWhicheverCharactersAreEscaped) {
  const std::vector<Secret> secrets = {{"MY_TOKEN", "tok/MARK 1+xyz="}};
  for (const char* const form :
       {"tok/MARK%201%2Bxyz%3D", "tok%2FMARK%201%2Bxyz%3D", "tok%2FMARK+1%2Bxyz%3D",
        "tok%2fMARK%201+xyz=", "tok%2FMARK%201+xyz%3d"}) {
    EXPECT_EQ(WithoutSecrets("at /?t=" + std::string(form) + "&n=1", secrets), "at /?t=***&n=1");
  }
  EXPECT_EQ(WithoutSecrets("/?t=tok%2FMARK%202&%", secrets), "/?t=tok%2FMARK%202&%");
}

// repr(s), str(KeyError(s)), json.dumps(s), ascii(s) and repr(s.encode()) of one with all of them.
TEST(Secrets, AreFoundAsPythonAndJsonEscapeThem) {
  const std::vector<Secret> secrets = {{"MY_TOKEN", "a'b\"c\\d\té\xF0\x9F\x98\x80z"}};
  for (const char* const form :
       {R"(a\'b"c\\d\té\U0001f600z)", R"(a'b\"c\\d\t\u00e9\ud83d\ude00z)",
        R"(a\'b"c\\d\t\xe9\U0001f600z)", R"(a\'b"c\\d\t\xc3\xa9\xf0\x9f\x98\x80z)"}) {
    EXPECT_EQ(WithoutSecrets("KeyError: '" + std::string(form) + "'", secrets), "KeyError: '***'");
  }
}

// Messages are cut before secrets are looked for.
TEST(Secrets, AreFoundWhereTheirEndIsCut) {
  const std::vector<Secret> secrets = {{"MY_TOKEN", "eyJhbGciOiJIUzI1NiJ9.abcdef"},
                                       {"OTHER_TOKEN", "tok-1234"}};
  EXPECT_EQ(WithoutSecrets("401 for eyJhbGci...", secrets), "401 for ***...");
  EXPECT_EQ(WithoutSecrets("401 for eyJhbGciOiJIUzI1' in the line", secrets),
            "401 for ***' in the line");
  EXPECT_EQ(WithoutSecrets("401 for tok-12", secrets), "401 for ***");
  EXPECT_EQ(WithoutSecrets("tok-12 is no token, nor is tok", secrets),
            "tok-12 is no token, nor is tok");
}

// printf 'u:s3cret/word' | base64, with none, one and two letters before the colon.
TEST(Secrets, AreFoundInBase64WhereverTheyBegin) {
  const std::vector<Secret> secrets = {{"DB_PASS", "s3cret/w?rd>>"}};
  const std::vector<std::string> headers = {"OnMzY3JldC93P3JkPj4=", "dTpzM2NyZXQvdz9yZD4+",
                                            "dXM6czNjcmV0L3c/cmQ+Pg=="};
  for (const std::string& header : headers) {
    const std::string said = WithoutSecrets("Authorization: Basic " + header, secrets);
    EXPECT_THAT(said, HasSubstr("***"));
    EXPECT_LE(said.size(), std::string("Authorization: Basic ***").size() + 8) << said;
  }
  EXPECT_THAT(WithoutSecrets("dXM6czNjcmV0L3c_cmQ-Pg", secrets), HasSubstr("***"));
  EXPECT_EQ(WithoutSecrets("dTpzM2NyZXQ is no whole one", secrets), "dTpzM2NyZXQ is no whole one");
}

TEST(Secrets, AreAllHiddenOfAVariableThatHoldsSeveral) {
  const std::vector<Secret> secrets = {{"JSON", R"({"password": "word1234", "token":"key-5678"})"}};
  EXPECT_EQ(WithoutSecrets("login with word1234 and key-5678", secrets), "login with *** and ***");
}

TEST(Secrets, AreKnownByWhatTheyLookLikeWhateverTheirVariableIsCalled) {
  EXPECT_EQ(SecretIn(R"({"user": "me", "password": "s3c\"ret", "n": 1})"), R"(s3c\"ret)");
  EXPECT_EQ(SecretIn("{'api_key' : 's3cret'}"), "s3cret");
  EXPECT_EQ(SecretIn(R"({"tokenizer": "bert", "max_tokens": "12"})"), "");
  EXPECT_EQ(SecretIn(R"("password": )"), "");
  EXPECT_EQ(SecretIn("machine x login y password s3cret"), "s3cret");
  EXPECT_EQ(SecretIn("machine x\n  login y\n  password s3cret\nmachine z"), "s3cret");
  EXPECT_EQ(SecretIn("the machine has no password"), "");
  EXPECT_EQ(SecretIn("AKIAIOSFODNN7EXAMPLE"), "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(SecretIn("postgresql://me:s3cret@db:5432/trials?ssl=1"), "s3cret");
  EXPECT_EQ(SecretIn("redis://:p@ss@host"), "p@ss");
  EXPECT_EQ(SecretIn("Server=db;User=me; Password=s3cret;"), "s3cret");
  EXPECT_EQ(SecretIn("Server=db;Pwd=s3cret"), "s3cret");
  EXPECT_EQ(SecretIn("https://host/x?n=3&api_key=s3cret&m=4"), "s3cret");
  for (const char* const key :
       {"ghp_0123456789abcdefghij", "hf_0123456789abcdefghij", "sk-proj-0123456789abcdefghij",
        "https://hooks.slack.com/services/T0/B0/x", "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM"}) {
    EXPECT_EQ(SecretIn(key), key);
  }
  EXPECT_EQ(SecretIn("Bearer 0123456789abcdef"), "0123456789abcdef");
  EXPECT_EQ(SecretIn("https://0123456789abcdef0123@github.com/a/b"), "0123456789abcdef0123");
  EXPECT_EQ(SecretIn("https://host/blob?se=2026&sig=s3cret%3D"), "s3cret%3D");
  EXPECT_EQ(SecretIn("AccountName=me;AccountKey=s3cret=="), "s3cret==");
  const std::string pem = "-----BEGIN PRIVATE KEY-----\nMC4\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(SecretIn(pem), pem);
  for (const char* const key : {"sk_live_0123456789abcdef", "dckr_pat_0123456789abcdef",
                                "nvapi-0123456789abcdef", "AGE-SECRET-KEY-0123456789ABCDEF"}) {
    EXPECT_EQ(SecretIn(key), key);
  }
  for (const char* const value :
       {"", "Bearer of news", "me:s3cret@db", "https://host/a:b@c", "https://host:8080/",
        "https://me@host", "https://me:@host", "https://host?q=a:b@c", "http://127.0.0.1:5000",
        "hf_home", "sk-learn-contrib-models-v2", "hf_internal_testing/tiny-random-bert", "a=b;c=d",
        "key=", "--lr=3 --pwd", "eyJ.a"}) {
    EXPECT_EQ(SecretIn(value), "") << value;
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

TEST(Secrets, AreRefusedWhereParametersStandInThem) {
  const auto told = [](const std::string& env) {
    return RefuseSecretsWithParameters(*ParseJson(R"({"trainable":{"env":)" + env + "}}"))
        .message();
  };
  const std::string refused = told(R"({"MODE":"{x}","DB_PASSWORD":"hunter2-{tune.trial}"})");
  EXPECT_THAT(refused, HasSubstr("trainable: env: DB_PASSWORD: read a text that is a secret by its "
                                 "name, with {tune.trial} in it"));
  EXPECT_THAT(refused, Not(HasSubstr("hunter2")));
  EXPECT_THAT(told(R"({"DB":"mysql://u:horse7@db/{x}"})"),
              HasSubstr("DB: read a text that is a secret by what it looks like, with {x} in it"));
  for (const char* const env :
       {R"({"SORT_KEY":"{lr}"})", R"({"A_KEY":{"value":"run-{x}"}})", R"({"MODE":"a-{x}"})",
        R"({"A_TOKEN":"abc"})", R"({"DB":"mysql://u:{password}@db/{x}"})"}) {
    EXPECT_EQ(told(env), "") << env;
  }
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
