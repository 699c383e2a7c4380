// What is said to object stores and read of them, without any: signatures (AWS's published
// examples), addresses, answers, pauses, and where credentials come from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/random.h"
#include "trial_runner/bucket/checkpoint_manifest.h"
#include "trial_runner/bucket/lent_requests.h"
#include "trial_runner/bucket/s3_answers.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/bucket/s3_retries.h"
#include "trial_runner/bucket/s3_settings.h"
#include "trial_runner/bucket/s3_signature.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// ---- signatures

// "Signature Calculations for the Authorization Header", Amazon S3 API reference: the key, the time
// and the four examples.
const S3Credentials kExampleKey = {"AKIAIOSFODNN7EXAMPLE",
                                   "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr char kExampleDate[] = "20130524T000000Z";

std::string SignExample(S3Request request) {
  if (request.payload_sha256.empty()) request.payload_sha256 = kSha256OfNothing;
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  request.headers.emplace_back("x-amz-date", kExampleDate);
  return SignRequest(request, kExampleKey, "us-east-1", "s3", kExampleDate);
}

TEST(S3Signature, IsAmazonsOfAGetWithARange) {
  EXPECT_EQ(SignExample({"GET", "/test.txt", {}, {{"range", "bytes=0-9"}}}),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

// "Authenticating Requests: Using Query Parameters", the same reference.
TEST(S3Signature, IsAmazonsOfAnAddressThatIsSigned) {
  const S3Pairs query =
      PresignQuery({"GET", "/test.txt", {}, {{"host", "examplebucket.s3.amazonaws.com"}}},
                   kExampleKey, "us-east-1", "s3", kExampleDate, Seconds(86400));
  EXPECT_EQ(CanonicalQuery(query),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F"
            "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
            "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404&"
            "X-Amz-SignedHeaders=host");
}

TEST(S3Signature, IsAmazonsOfAPutWithAnOddKey) {
  EXPECT_THAT(
      SignExample({"PUT",
                   "/" + EncodeForUrl("test$file.text", true),
                   {},
                   {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                    {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                   "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"}),
      EndsWith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(S3Signature, IsAmazonsOfAQueryWithoutAValue) {
  EXPECT_THAT(
      SignExample({"GET", "/", {{"lifecycle", ""}}}),
      EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(S3Signature, IsAmazonsOfAListWhoseQueryIsNotSorted) {
  EXPECT_THAT(
      SignExample({"GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}}),
      EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

// "get-vanilla" of aws-sig-v4-test-suite.
TEST(S3Signature, IsThatOfTheTestSuite) {
  const S3Request request = {
      "GET",
      "/",
      {},
      {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}},
      std::string(kSha256OfNothing)};
  EXPECT_THAT(SignRequest(request, {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""},
                          "us-east-1", "service", "20150830T123600Z"),
              EndsWith("Signature="
                       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
}

TEST(S3Signature, WritesTimesAsAmazonDoes) {
  EXPECT_EQ(AmazonDate(Instant{1'369'353'600'000'000}), kExampleDate);
}

// ---- addresses

TEST(S3Address, IsABucketAndAPrefix) {
  const Result<S3Address> address = ParseS3Url("s3://my-bucket/sweeps/one/");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_EQ(*address, (S3Address{"my-bucket", "sweeps/one"}));
  EXPECT_EQ(address->Below("food11").ToUrl(), "s3://my-bucket/sweeps/one/food11");
  EXPECT_EQ(ParseS3Url("s3://my-bucket")->key, "");
  EXPECT_EQ(ParseS3Url("s3://my-bucket")->Below("x").ToUrl(), "s3://my-bucket/x");
}

TEST(S3Address, SaysWhatIsWrongWithOne) {
  const auto error = [](const char* url) { return ParseS3Url(url).status().message(); };
  EXPECT_THAT(error("gs://bucket/x"), HasSubstr("read 'gs://bucket/x', expected s3://bucket/pre"));
  EXPECT_THAT(error("s3://"), HasSubstr("a bucket's name has 3 to 63"));
  EXPECT_THAT(error("s3://a/b"), HasSubstr("a bucket's name has 3 to 63"));
  for (const char* const url : {"s3://Bucket/x", "s3://my_bucket/x", "s3://-bucket", "s3://a..b"}) {
    EXPECT_THAT(error(url), HasSubstr("a bucket's name has 3 to 63 lower-case letters")) << url;
  }
  EXPECT_THAT(error("s3://bucket/a//b"), HasSubstr("no part of the prefix may be empty"));
  EXPECT_THAT(error("s3://bucket/../b"), HasSubstr("no part of the prefix may be empty"));
  EXPECT_THAT(error("s3://bucket/\xff"), HasSubstr("not UTF-8"));
}

TEST(S3Address, EncodesWhatSignaturesWantEncoded) {
  EXPECT_EQ(EncodeForUrl("a b/ü%~+", true), "a%20b/%C3%BC%25~%2B");
  EXPECT_EQ(EncodeForUrl("a/b", false), "a%2Fb");
  EXPECT_EQ(DecodeFromUrl("a%20b/%C3%BC%25~%2B"), "a b/ü%~+");
}

// ---- what is signed for workers without credentials

TEST(LentRequests, AreThoseThatKeepATrialsCheckpointAndReadTheSweeps) {
  using Query = std::vector<std::pair<std::string, std::string>>;
  const auto may = [](const std::string& method, const std::string& key, const Query& query = {}) {
    SignStoreRequest request;
    request.ref = {TrialNumber{3}, AttemptNumber{2}, LeaseEpoch{9}};
    request.method = method;
    request.key = key;
    request.query = query;
    if (method == "PUT" || method == "POST") request.sha256 = std::string(kSha256OfNothing);
    return CheckLentRequest(request, "p/sweep").ok();
  };
  const std::string own = "p/sweep/3/checkpoint_000004.2";
  EXPECT_TRUE(may("PUT", own + "/manifest.json"));
  EXPECT_TRUE(may("PUT", own + "-2/data/a b/x"));
  EXPECT_TRUE(may("POST", own + "/data/x", {{"uploads", ""}}));
  EXPECT_TRUE(may("PUT", own + "/data/x", {{"partNumber", "1"}, {"uploadId", "u"}}));
  EXPECT_TRUE(may("POST", own + "/data/x", {{"uploadId", "u"}}));
  EXPECT_TRUE(may("DELETE", own + "/data/x", {{"uploadId", "u"}}));
  EXPECT_TRUE(may("HEAD", own + "/data/x"));
  EXPECT_TRUE(may("GET", "p/sweep/7/checkpoint_000001/manifest.json")) << "to go on from it";
  EXPECT_FALSE(may("DELETE", own + "/data/x")) << "the tuner removes";
  EXPECT_FALSE(may("PUT", "p/sweep/3/checkpoint_000004/manifest.json")) << "another attempt's";
  EXPECT_FALSE(may("PUT", "p/sweep/7/checkpoint_000004.2/manifest.json")) << "another trial's";
  EXPECT_FALSE(may("PUT", "p/sweep/owner.json"));
  EXPECT_FALSE(may("GET", "p/sweep/owner.json"));
  EXPECT_FALSE(may("GET", "p/other/3/checkpoint_000004.2/manifest.json"));
  EXPECT_FALSE(may("GET", "p/sweep/3/../../other/data"));
  EXPECT_FALSE(may("GET", "", {{"list-type", "2"}}));
  EXPECT_FALSE(may("PUT", own + "/data/x", {{"acl", ""}}));
}

TEST(LentRequests, NameWhatTheySend) {
  SignStoreRequest request{{TrialNumber{3}, AttemptNumber{1}, LeaseEpoch{9}},
                           "PUT",
                           "p/sweep/3/checkpoint_000004/manifest.json"};
  EXPECT_FALSE(CheckLentRequest(request, "p/sweep").ok());
  request.sha256 = std::string(kSha256OfNothing);
  EXPECT_TRUE(CheckLentRequest(request, "p/sweep").ok());
}

TEST(S3Signature, OfAnAddressHoldsWhatMayBeSentThere) {
  const S3Request request{"PUT", "/b/k", {}, {{"x-amz-content-sha256", "ab"}, {"host", "h"}}, "ab"};
  const auto sign = [&](const S3Request& of) {
    return CanonicalQuery(
        PresignQuery(of, kExampleKey, "us-east-1", "s3", kExampleDate, Seconds(60)));
  };
  EXPECT_THAT(sign(request), HasSubstr("X-Amz-SignedHeaders=host%3Bx-amz-content-sha256"));
  S3Request other = request;
  other.payload_sha256 = other.headers[0].second = "cd";
  EXPECT_NE(sign(request), sign(other));
}

// ---- answers

S3Reply ErrorReply(int status, const std::string& code, const std::string& message = "no") {
  S3Reply reply;
  reply.http_status = status;
  reply.body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
               "</Message></Error>";
  return reply;
}

TEST(S3Answers, AreJudgedByWhatCanBeDone) {
  EXPECT_EQ(JudgeS3Reply({200}).failure, S3Failure::kNone);
  EXPECT_EQ(JudgeS3Reply({0, "connection refused"}).failure, S3Failure::kBroken);
  EXPECT_EQ(JudgeS3Reply({500}).failure, S3Failure::kServer);
  EXPECT_EQ(JudgeS3Reply(ErrorReply(400, "RequestTimeout")).failure, S3Failure::kServer);
  EXPECT_EQ(JudgeS3Reply({503}).failure, S3Failure::kThrottled);
  EXPECT_EQ(JudgeS3Reply(ErrorReply(400, "ExpiredToken")).failure, S3Failure::kCredential);
  EXPECT_EQ(JudgeS3Reply(ErrorReply(403, "AccessDenied")).failure, S3Failure::kRefused);
  EXPECT_EQ(JudgeS3Reply({501}).failure, S3Failure::kRefused);
}

Status StatusOf(const S3Reply& reply, Instant now = {}) {
  return S3ErrorStatus(JudgeS3Reply(reply), reply, "write s3://b/k", now);
}

TEST(S3Answers, BecomeOneLineWithTheRemedy) {
  const Status none = StatusOf(ErrorReply(404, "NoSuchBucket"));
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(none.message(),
            "cannot write s3://b/k: NoSuchBucket (no); make the bucket, or name another one");
  EXPECT_EQ(StatusOf(ErrorReply(404, "NoSuchKey")).code(), StatusCode::kNotFound);
  EXPECT_THAT(StatusOf(ErrorReply(403, "SignatureDoesNotMatch")).message(),
              HasSubstr("the secret access key is another one"));
  EXPECT_EQ(StatusOf(ErrorReply(412, "PreconditionFailed")).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(StatusOf({507}).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(StatusOf(ErrorReply(503, "SlowDown")).code(), StatusCode::kUnavailable);
  S3Reply elsewhere = ErrorReply(301, "PermanentRedirect");
  elsewhere.region = "eu-west-1";
  EXPECT_THAT(StatusOf(elsewhere).message(), HasSubstr("set AWS_REGION=eu-west-1"));
}

TEST(S3Answers, SayHowFarTheClockIsOff) {
  S3Reply reply = ErrorReply(403, "RequestTimeTooSkewed");
  reply.date = "Wed, 12 Oct 2009 17:50:00 GMT";
  const Instant there = *ParseS3Time(reply.date);
  EXPECT_THAT(StatusOf(reply, there + Seconds(1200)).message(),
              HasSubstr("clock is 20 min 00 s ahead of the store's (2009-10-12T17:50:00Z)"));
  EXPECT_THAT(StatusOf(reply, Instant{there.us - Seconds(3600).us}).message(),
              HasSubstr("clock is 1 h 00 min behind the store's"));
}

TEST(S3Answers, ListKeysAsTheyAre) {
  const Result<S3List> list = ParseS3List(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url"
      "</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1"
      "</NextContinuationToken><Contents><Key>a%20b/ends%20</Key><Size>7</Size><LastModified>"
      "2009-10-12T17:50:30.000Z</LastModified><ETag>&quot;ab&quot;</ETag></"
      "Contents><Contents><Key>100%25</Key><Size>0</Size>"
      "</Contents></ListBucketResult>");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->next, "t&1");
  EXPECT_THAT(list->objects,
              ElementsAre(S3Object{"a b/ends ", 7, Instant{1'255'369'830'000'000}, "\"ab\""},
                          S3Object{"100%", 0, {}}));
  EXPECT_FALSE(ParseS3List("<html>a proxy's login</html>").ok());
  EXPECT_FALSE(ParseS3List("not xml").ok());
}

// ---- tries

TEST(S3Retries, PauseByTheKindOfFailureWithFullJitter) {
  for (const auto& [failure, most_ms] :
       {std::pair{S3Failure::kBroken, int64_t{100}}, {S3Failure::kThrottled, int64_t{1000}}}) {
    int64_t least_us = INT64_MAX, greatest_us = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      KeyedRandom random(7, "test", i);
      const auto pause = RetryPause(failure, 1, random);
      ASSERT_TRUE(pause.has_value());
      least_us = std::min(least_us, pause->us);
      greatest_us = std::max(greatest_us, pause->us);
    }
    EXPECT_LT(least_us, most_ms * 100);
    EXPECT_GT(greatest_us, most_ms * 900);
    EXPECT_LE(greatest_us, most_ms * 1000);
  }
  KeyedRandom random(7, "test");
  for (int tries = 1; tries < limits::kS3TriesMax; ++tries) {
    EXPECT_LE(RetryPause(S3Failure::kThrottled, tries, random)->us,
              Milliseconds(limits::kS3PauseMsMax).us);
  }
  EXPECT_FALSE(RetryPause(S3Failure::kServer, limits::kS3TriesMax, random).has_value());
  EXPECT_FALSE(RetryPause(S3Failure::kRefused, 1, random).has_value());
  EXPECT_TRUE(RetryPause(S3Failure::kCredential, 1, random).has_value());
  EXPECT_FALSE(RetryPause(S3Failure::kCredential, 2, random).has_value());
}

TEST(S3Retries, ShareABudgetThatSuccessFills) {
  RetryBudget budget;
  int taken = 0;
  while (budget.Take()) ++taken;
  EXPECT_EQ(taken, 20);
  for (int i = 0; i < 4; ++i) budget.GiveBack();
  EXPECT_FALSE(budget.Take());
  budget.GiveBack();
  EXPECT_TRUE(budget.Take());
}

// ---- settings and credentials

class FakeClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  Instant now = Instant{1'700'000'000'000'000};
};

// Answers by the address that it is asked, and notes it.
class ScriptedTransport final : public HttpTransport {
 public:
  S3Reply Do(const HttpExchange& exchange, const std::stop_token&) override {
    asked.push_back(exchange.method + " " + exchange.url);
    for (const auto& [name, value] : exchange.headers) asked.back() += " " + name + "=" + value;
    if (!exchange.body.empty()) asked.back() += " " + std::string(exchange.body);
    if (on_asked) on_asked();
    const auto found = replies.find(exchange.url);
    if (found == replies.end() || found->second.empty()) return {0, "nobody is there"};
    S3Reply reply = found->second.front();
    if (found->second.size() > 1) found->second.erase(found->second.begin());
    return reply;
  }
  std::function<void()> on_asked;
  std::map<std::string, std::vector<S3Reply>> replies;
  std::vector<std::string> asked;
};

S3Reply Body(const std::string& body) {
  S3Reply reply{200};
  reply.body = body;
  return reply;
}

class S3SettingsTest : public testing::Test {
 protected:
  AwsSurroundings Surroundings() {
    return {[this](const char* name) { return variables[name]; },
            [this](const std::string& path) { return files[path]; }};
  }
  S3Settings Settings() {
    Result<S3Settings> settings = ReadS3Settings(Surroundings());
    EXPECT_TRUE(settings.ok()) << settings.status().message();
    return *settings;
  }
  Result<S3Credentials> Credentials() {
    source.emplace(Surroundings(), Settings(), transport, clock);
    return source->Get({});
  }

  std::map<std::string, std::string> variables = {{"HOME", "/home/u"}};
  std::map<std::string, std::string> files;
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  FakeClock clock;
  std::optional<S3CredentialSource> source;
};

TEST_F(S3SettingsTest, AreAmazonsWhereNothingIsSaid) {
  EXPECT_EQ(Settings().endpoint, "");
  EXPECT_EQ(Settings().region, "us-east-1");
  EXPECT_TRUE(Settings().is_virtual_host);
}

TEST_F(S3SettingsTest, TakeTheEndpointOfTheServiceBeforeThatOfAllBeforeTheProfiles) {
  files["/home/u/.aws/config"] =
      "[default]\nregion = eu-north-1\nservices = here\nendpoint_url = https://all.example\n"
      "[services here]\ns3 =\n  endpoint_url = https://s3.example/\n";
  EXPECT_EQ(Settings().endpoint, "https://s3.example");
  EXPECT_EQ(Settings().region, "eu-north-1");
  EXPECT_FALSE(Settings().is_virtual_host);
  variables["AWS_ENDPOINT_URL"] = "http://10.0.0.1:9000/";
  EXPECT_EQ(Settings().endpoint, "http://10.0.0.1:9000");
  variables["AWS_ENDPOINT_URL_S3"] = "http://10.0.0.2:9000";
  EXPECT_EQ(Settings().endpoint, "http://10.0.0.2:9000");
  variables["AWS_ENDPOINT_URL_S3"] = "10.0.0.2:9000";
  EXPECT_THAT(ReadS3Settings(Surroundings()).status().message(),
              HasSubstr("AWS_ENDPOINT_URL_S3: read '10.0.0.2:9000', expected http://HOST:PORT"));
}

TEST_F(S3SettingsTest, TakeTheNamedProfile) {
  files["/home/u/.aws/config"] =
      "[default]\nregion=r1\n# a note\n[profile lab]\nregion = r2\ns3 =\n"
      "    addressing_style = virtual\nendpoint_url = http://minio:9000\n";
  variables["AWS_PROFILE"] = "lab";
  EXPECT_EQ(Settings().region, "r2");
  EXPECT_EQ(Settings().endpoint, "http://minio:9000");
  EXPECT_TRUE(Settings().is_virtual_host);
  variables["AWS_PROFILE"] = "lob";
  EXPECT_THAT(ReadS3Settings(Surroundings()).status().message(), HasSubstr("read 'lob'"));
}

TEST_F(S3SettingsTest, CredentialsOfVariablesComeFirst) {
  files["/home/u/.aws/credentials"] = "[default]\naws_access_key_id=P\naws_secret_access_key=Q\n";
  EXPECT_EQ(*Credentials(), (S3Credentials{"P", "Q", ""}));
  variables["AWS_ACCESS_KEY_ID"] = "A";
  EXPECT_EQ(Credentials()->access_key, "P");  // Half of them is none.
  variables["AWS_SECRET_ACCESS_KEY"] = "B";
  variables["AWS_SESSION_TOKEN"] = "C";
  EXPECT_EQ(*Credentials(), (S3Credentials{"A", "B", "C"}));
  EXPECT_TRUE(transport->asked.empty());
}

TEST_F(S3SettingsTest, CredentialsOfAWebIdentityAreRenewedBeforeTheyExpire) {
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  variables["AWS_REGION"] = "eu-west-1";
  files["/token"] = "abc\n";
  const auto answer = [](const std::string& key, const std::string& expires) {
    return Body(
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
        "<AccessKeyId>" +
        key +
        "</AccessKeyId><SecretAccessKey>S</SecretAccessKey>"
        "<SessionToken>T</SessionToken><Expiration>" +
        expires +
        "</Expiration>"
        "</Credentials></AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>");
  };
  transport->replies["https://sts.eu-west-1.amazonaws.com/"] = {
      answer("K1", FormatInstant(clock.now + Seconds(3600))),
      answer("K2", FormatInstant(clock.now + Seconds(7200)))};
  EXPECT_EQ(*Credentials(), (S3Credentials{"K1", "S", "T"}));
  EXPECT_THAT(transport->asked.back(), AllOf(HasSubstr("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"),
                                             HasSubstr("WebIdentityToken=abc")));
  clock.now = clock.now + Seconds(3000);
  EXPECT_EQ(source->Get({})->access_key, "K1");
  clock.now = clock.now + Seconds(400);
  EXPECT_EQ(source->Get({})->access_key, "K2");
}

TEST_F(S3SettingsTest, CredentialsOfAContainerComeFromItsAddress) {
  variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/x";
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "secret";
  transport->replies["http://169.254.170.2/v2/x"] = {
      Body(R"({"AccessKeyId":"K","SecretAccessKey":"S","Token":"T"})")};
  EXPECT_EQ(*Credentials(), (S3Credentials{"K", "S", "T"}));
  EXPECT_THAT(transport->asked, ElementsAre("GET http://169.254.170.2/v2/x Authorization=secret"));
}

TEST_F(S3SettingsTest, CredentialsOfAMachineComeLastByIMDSv2) {
  const std::string host = "http://169.254.169.254/latest/";
  transport->replies[host + "api/token"] = {Body("token")};
  transport->replies[host + "meta-data/iam/security-credentials/"] = {Body("role\n")};
  transport->replies[host + "meta-data/iam/security-credentials/role"] = {
      Body(R"({"AccessKeyId":"K","SecretAccessKey":"S","Token":"T"})")};
  EXPECT_EQ(Credentials()->access_key, "K");
  EXPECT_THAT(transport->asked.back(), HasSubstr("X-aws-ec2-metadata-token=token"));
  variables["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_THAT(Credentials().status().message(), HasSubstr("there are no credentials for s3://"));
}

// ---- requests

class S3ClientTest : public S3SettingsTest {
 protected:
  S3ClientTest() {
    variables["AWS_ENDPOINT_URL_S3"] = "http://store:1";
    variables["AWS_ACCESS_KEY_ID"] = "A";
    variables["AWS_SECRET_ACCESS_KEY"] = "B";
  }
  std::unique_ptr<S3Client> Client() {
    return std::make_unique<S3Client>(
        "bkt", S3Client::Parts{Settings(), transport,
                               std::make_shared<S3CredentialSource>(Surroundings(), Settings(),
                                                                    transport, clock),
                               clock, awake, [this](Duration pause, const std::stop_token&) {
                                 pauses.push_back(pause);
                                 awake.now = awake.now + pause;
                                 return true;
                               }});
  }
  FakeClock awake;
  std::vector<Duration> pauses;
};

TEST_F(S3ClientTest, TriesAgainWhatMayPass) {
  transport->replies["http://store:1/bkt/k"] = {{0, "reset"}, {503}, {500}, Body("here")};
  const Result<std::string> got = Client()->Get("k", {});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(*got, "here");
  EXPECT_EQ(pauses.size(), 3u);
}

TEST_F(S3ClientTest, GivesUpAfterItsTriesAndSaysWhatWasAndWhere) {
  transport->replies["http://store:1/bkt/a%20b"] = {{0, "http://store:1: refused"}};
  const Status status = Client()->Get("a b", {}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            "cannot read s3://bkt/a b at http://store:1: http://store:1: refused");
  EXPECT_EQ(pauses.size(), static_cast<size_t>(limits::kS3TriesMax - 1));
}

TEST_F(S3ClientTest, AsksForFreshCredentialsOnceWhenTheyAreExpired) {
  transport->replies["http://store:1/bkt/k"] = {ErrorReply(400, "ExpiredToken")};
  const Status status = Client()->Get("k", {}).status();
  EXPECT_THAT(status.message(), HasSubstr("ExpiredToken"));
  EXPECT_EQ(transport->asked.size(), 2u);
}

TEST_F(S3ClientTest, TakesNoHalfOfARange) {
  const S3Client::RangeTaker taker{[] {}, [](std::string_view) { return true; }};
  transport->replies["http://store:1/bkt/k"] = {{206}};
  EXPECT_EQ(Client()->GetRange("k", 0, 10, taker, {}).code(), StatusCode::kUnavailable);
}

// The object is another one than it was: asking again would never end.
TEST_F(S3ClientTest, SaysThatAnObjectHasFewerBytesThanARange) {
  const S3Client::RangeTaker taker{[] {}, [](std::string_view) { return true; }};
  S3Reply all{206};
  all.content_bytes = 0;
  transport->replies["http://store:1/bkt/k"] = {all};
  EXPECT_EQ(Client()->GetRange("k", 0, 10, taker, {}).code(), StatusCode::kDataLoss);
  transport->replies["http://store:1/bkt/k"] = {ErrorReply(416, "InvalidRange")};
  const Status beyond = Client()->GetRange("k", 5, 10, taker, {});
  EXPECT_EQ(beyond.code(), StatusCode::kDataLoss);
  EXPECT_EQ(beyond.message(),
            "cannot read s3://bkt/k at http://store:1: InvalidRange (no); the object ends before "
            "that");
}

TEST_F(S3ClientTest, HearsTheErrorThatAFinishedUploadMayStillHave) {
  transport->replies["http://store:1/bkt/k?uploadId=u"] = {
      Body("<Error><Code>InternalError</Code><Message>We failed</Message></Error>")};
  EXPECT_THAT(Client()->CompleteUpload("k", "u", {{1, "\"e\""}}, {}).message(),
              HasSubstr("InternalError (We failed)"));
}

TEST_F(S3ClientTest, TakesNoWriteForDoneThatTheAnswerDoesNotSay) {
  S3Reply done{200};
  done.etag = "\"e\"";
  S3Reply failed = Body("<Error><Code>InternalError</Code><Message>We failed</Message></Error>");
  failed.etag = "\"e\"";
  transport->replies["http://store:1/bkt/error"] = {failed};
  transport->replies["http://store:1/bkt/portal"] = {Body("<html>log in</html>")};
  transport->replies["http://store:1/bkt/later"] = {failed, Body(""), done};
  EXPECT_THAT(Client()->Put("error", "x", {}, {}).message(),
              HasSubstr("InternalError (We failed)"));
  EXPECT_THAT(Client()->Put("portal", "x", {}, {}).message(), HasSubstr("has no ETag"));
  EXPECT_THAT(Client()->Delete("error", {}).message(), HasSubstr("InternalError (We failed)"));
  EXPECT_TRUE(Client()->Put("later", "x", {}, {}).ok());
}

// A proxy's page for a store that restarts: the object would be given up.
TEST_F(S3ClientTest, BelievesThatAnObjectIsGoneOnTheStoresWordAlone) {
  S3Reply page = Body("<html>404 page not found</html>");
  page.http_status = 404;
  transport->replies["http://store:1/bkt/later"] = {page, {404}, Body("here")};
  EXPECT_EQ(*Client()->Get("later", {}), "here");
  transport->replies["http://store:1/bkt/page"] = {page};
  const Status status = Client()->Get("page", {}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("it is not from an object store"));
  transport->replies["http://store:1/bkt/gone"] = {ErrorReply(404, "NoSuchKey")};
  EXPECT_EQ(Client()->Get("gone", {}).status().code(), StatusCode::kNotFound);
}

TEST_F(S3ClientTest, NamesTheBucketInTheHostWhereTheProfileSaysSo) {
  files["/home/u/.aws/config"] = "[default]\ns3 =\n  addressing_style = virtual\n";
  transport->replies["http://bkt.store:1/k"] = {Body("here")};
  EXPECT_EQ(*Client()->Get("k", {}), "here");
}

TEST_F(S3ClientTest, TellsOfAFailureThatLastsWhileItTriesAgain) {
  transport->replies["http://store:1/bkt/k"] = {{503}, {503}, {0, "reset"}, Body("here")};
  const auto client = Client();
  std::vector<std::string> told;
  client->SetOnTrouble([&told](const Status& failed) { told.push_back(failed.message()); });
  EXPECT_TRUE(client->Get("k", {}).ok());
  EXPECT_THAT(told, ElementsAre(HasSubstr("reset"))) << "the third in a row";
}

TEST_F(S3ClientTest, TellsOfAStoreThatHangsAtOnce) {
  transport->replies["http://store:1/bkt/k"] = {{0, "nothing moved"}, Body("here")};
  transport->on_asked = [this] { awake.now = awake.now + Seconds(30); };
  const auto client = Client();
  std::vector<std::string> told;
  client->SetOnTrouble([&told](const Status& failed) { told.push_back(failed.message()); });
  EXPECT_TRUE(client->Get("k", {}).ok());
  EXPECT_THAT(told, ElementsAre(HasSubstr("nothing moved")));
}

TEST_F(S3ClientTest, IsNoLessAndNoMorePatientWhenTheMachinesClockIsSet) {
  for (const Duration set : {Seconds(3600), Seconds(-3600)}) {
    pauses.clear();
    transport->replies["http://store:1/bkt/k"] = {{503}, {503}, Body("here")};
    transport->on_asked = [this, set] { clock.now = clock.now + set; };
    const auto client = Client();
    client->SetPatience(Seconds(30));
    EXPECT_TRUE(client->Get("k", {}).ok());

    transport->replies["http://store:1/bkt/k"] = {{503}};
    transport->on_asked = [this, set] {
      clock.now = clock.now + set;
      awake.now = awake.now + Seconds(20);
    };
    pauses.clear();
    EXPECT_FALSE(client->Get("k", {}).ok());
    EXPECT_EQ(pauses.size(), 1u) << "30 s were over after the second try";
  }
}

TEST_F(S3ClientTest, ListsTheUploadsOfMinIOWithoutAPrefix) {
  S3Reply none = Body("<ListMultipartUploadsResult></ListMultipartUploadsResult>");
  none.server = "MinIO";
  S3Reply all = Body(
      "<ListMultipartUploadsResult><Upload><Key>p/a</Key><UploadId>1</UploadId></Upload>"
      "<Upload><Key>q/b</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>");
  all.server = "MinIO";
  transport->replies["http://store:1/bkt?prefix=p%2F&uploads="] = {none};
  transport->replies["http://store:1/bkt?prefix=&uploads="] = {all};
  const auto uploads = Client()->ListUploads("p/", {});
  ASSERT_TRUE(uploads.ok()) << uploads.status().message();
  ASSERT_EQ(uploads->size(), 1u);
  EXPECT_EQ(uploads->front().key, "p/a");
}

// ---- manifests

TEST(CheckpointManifest, ComesBackAsItWas) {
  CheckpointManifest manifest;
  manifest.folders = {"a", "a/ends "};
  manifest.files.push_back(
      {"a/ü % 1", 0, 0755, limits::kS3PartBytes, {std::string(kSha256OfNothing)}});
  manifest.files.push_back({"large",
                            limits::kS3PartBytes + 1,
                            0644,
                            limits::kS3PartBytes,
                            {std::string(64, 'a'), std::string(64, 'b')}});
  const Result<CheckpointManifest> read = ParseManifest(EncodeManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(read->files[1].BytesOfPart(1), 1);
}

TEST(CheckpointManifest, LeadsNowhereElse) {
  CheckpointManifest manifest;
  for (const char* const path : {"../x", "/etc/x", "a/../../x", "", "a/", "a//b", "."}) {
    manifest.files = {{path, 0, 0644, 1, {std::string(kSha256OfNothing)}}};
    EXPECT_EQ(ParseManifest(EncodeManifest(manifest)).status().code(), StatusCode::kDataLoss)
        << path;
    manifest.files.clear();
    manifest.folders = {path};
    EXPECT_EQ(ParseManifest(EncodeManifest(manifest)).status().code(), StatusCode::kDataLoss)
        << path;
    manifest.folders.clear();
  }
  EXPECT_FALSE(ParseManifest("").ok());
  EXPECT_FALSE(ParseManifest("{}").ok());
  EXPECT_FALSE(ParseManifest("{\"format\": \"tune-checkpoint 2\"}").ok());
}

TEST(CheckpointManifest, HasNoMorePartsThanS3Takes) {
  const int64_t terabyte = int64_t{1} << 40;
  EXPECT_LE(PartCountOf(terabyte), limits::kS3PartsMax);
  EXPECT_EQ(PartCountOf(0), 1);
  EXPECT_EQ(PartCountOf(limits::kS3PartBytes), 1);
  EXPECT_EQ(PartCountOf(limits::kS3PartBytes + 1), 2);
}

}  // namespace
}  // namespace tune
