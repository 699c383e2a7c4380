// Joining from other machines: tokens, keys, and the encrypted port, over real gRPC.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>

#include "core/clock.h"
#include "core/limits.h"
#include "tests/trial_runner/gathering_tuner_sink.h"
#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/scripted_tuner.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/grpc/checkpoint_channel.h"
#include "trial_runner/grpc/package_channel.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/tls/openssl_types.h"
#include "trial_runner/tls/token_gate.h"
#include "trial_runner/tls/tuner_probe.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr Instant kStart{1'800'000'000'000'000};
constexpr Duration kDay = Seconds(86'400);
constexpr Duration kPatience = Seconds(20);
const PackageName kNoPackage{std::string(64, 'a'), 1};

// ---- tokens

JoinToken SomeToken() {
  JoinToken token;
  for (size_t i = 0; i < token.authority.size(); ++i) token.authority[i] = static_cast<uint8_t>(i);
  token.id = {0x01, 0xfe, 0x00, 0xaa};
  token.secret.fill(0xee);
  return token;
}

TEST(JoinTokenText, IsOneWordThatReadsBack) {
  const std::string text = FormatJoinToken(SomeToken());
  EXPECT_EQ(text.size(), 86u);
  EXPECT_EQ(
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);
  const auto read = ParseJoinToken(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, SomeToken());
  EXPECT_EQ(read->id_text(), "01fe00aa");
}

TEST(JoinTokenText, EachMistypedLetterIsNoticedAndNotRepeated) {
  const std::string text = FormatJoinToken(SomeToken());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = text[i] == 'x' ? 'y' : 'x';
    const auto read = ParseJoinToken(wrong);
    ASSERT_FALSE(read.ok()) << i;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(read.status().message().find(wrong.substr(20, 20)), std::string::npos);
  }
  EXPECT_THAT(ParseJoinToken(text.substr(1)).status().message(), HasSubstr("begins with tune1_"));
  EXPECT_THAT(ParseJoinToken(text + "A").status().message(), HasSubstr("86 characters, read 87"));
  EXPECT_THAT(ParseJoinToken(text.substr(0, 40)).status().message(), HasSubstr("read 40"));
}

TEST(JoinTokenText, NoTwoDrawnOnesAreAlike) {
  std::set<std::string> drawn;
  for (int i = 0; i < 1'000; ++i) drawn.insert(FormatJoinToken(*DrawJoinToken({})));
  EXPECT_EQ(drawn.size(), 1'000u);
}

TokenRecord Record(const std::string& id, Instant created, Duration validity) {
  TokenRecord record;
  record.id = id;
  record.key_hash = "key of " + id;
  record.created_at = created;
  record.expires_at = created + validity;
  return record;
}

TEST(TokenList, ATokenIsValidUntilItExpiresOrIsRevoked) {
  TokenList tokens;
  ASSERT_TRUE(tokens.Add(Record("a", kStart, kDay)).ok());
  ASSERT_TRUE(tokens.Add(Record("b", kStart, kDay)).ok());
  ASSERT_TRUE(tokens.Revoke("b", kStart + Seconds(5)).ok());
  EXPECT_FALSE(tokens.Revoke("b", kStart + Seconds(9)).ok());
  const TokenRecord& a = *tokens.FindById("a");
  const TokenRecord& b = *tokens.FindByKey("key of b");
  EXPECT_TRUE(MayJoin(a, kStart + kDay + Duration{-1}).ok());
  EXPECT_THAT(MayJoin(a, kStart + kDay).message(), HasSubstr("the token a expired at 2027-01-16"));
  EXPECT_EQ(b.revoked_at, kStart + Seconds(5));
  EXPECT_THAT(MayJoin(b, kStart).message(), HasSubstr("the token b was revoked at"));
  EXPECT_THAT(tokens.Revoke("c", kStart).message(), HasSubstr("no token 'c'; there are a, b"));
}

TEST(TokenList, ReadsBackWhatItWrote) {
  TokenList tokens;
  ASSERT_TRUE(tokens.Add(Record("a", kStart, kDay)).ok());
  ASSERT_TRUE(tokens.Add(Record("b", kStart, kDay)).ok());
  ASSERT_TRUE(tokens.Revoke("a", kStart + Seconds(1)).ok());
  tokens.MarkUsed("b", kStart + Seconds(2));
  const auto read = TokenList::Parse(tokens.ToText());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, tokens);
  for (const char* damaged : {"", "[]", "{}", "{\"tokens\":[{}]}", "{\"tokens\":[1]}",
                              "{\"tokens\":[{\"id\":\"a\",\"key_sha256\":\"k\"}]}"}) {
    EXPECT_FALSE(TokenList::Parse(damaged).ok()) << damaged;
  }
}

TEST(TokenList, ForgetsWhatIsLongOverAndHasAnEnd) {
  TokenList tokens;
  ASSERT_TRUE(tokens.Add(Record("old", kStart, kDay)).ok());
  EXPECT_FALSE(tokens.Add(Record("old", kStart, kDay)).ok());
  ASSERT_TRUE(tokens.Add(Record("new", kStart + Seconds(40 * 86'400.0), kDay)).ok());
  EXPECT_EQ(tokens.FindById("old"), nullptr);
  for (size_t i = 1; i < limits::kJoinTokensMax; ++i) {
    ASSERT_TRUE(tokens.Add(Record(std::to_string(i), kStart, kDay + kDay)).ok());
  }
  EXPECT_EQ(tokens.Add(Record("one more", kStart, kDay)).code(), StatusCode::kResourceExhausted);
}

// ---- keys and files

TEST(Certificates, AWorkersKeyFollowsFromItsTokenAndItsTunerAlone) {
  const auto key_hash = [](const JoinToken& token) {
    return *KeyHashOf(DeriveWorkerIdentity(token)->certificate);
  };
  JoinToken other_tuner = SomeToken();
  other_tuner.authority[0] ^= 1;
  JoinToken other_secret = SomeToken();
  other_secret.secret[19] ^= 1;
  JoinToken other_id = SomeToken();
  other_id.id[0] ^= 1;
  EXPECT_EQ(key_hash(SomeToken()), key_hash(SomeToken()));
  EXPECT_EQ(key_hash(SomeToken()), key_hash(other_id));
  EXPECT_NE(key_hash(SomeToken()), key_hash(other_tuner));
  EXPECT_NE(key_hash(SomeToken()), key_hash(other_secret));
}

TEST(Certificates, AnIdentityReadsBackAndAMixtureOfTwoDoesNot) {
  const TunerIdentity one = *MakeTunerIdentity();
  const TunerIdentity other = *MakeTunerIdentity();
  const auto read = ParseTunerIdentity(FormatTunerIdentity(one));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(FormatTunerIdentity(*read), FormatTunerIdentity(one));
  EXPECT_NE(*FingerprintOf(one.authority), *FingerprintOf(other.authority));
  TunerIdentity mixed = one;
  mixed.authority = other.authority;
  mixed.authority_key = other.authority_key;
  EXPECT_EQ(ParseTunerIdentity(FormatTunerIdentity(mixed)).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseTunerIdentity(one.key + one.certificate).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseTunerIdentity("").status().code(), StatusCode::kDataLoss);
}

int ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(TlsFolderFiles, AreForTheirOwnerAloneAndMadeOnce) {
  TempFolder temp;
  const std::string path = TlsFolderOf(temp / "tune.artifacts");
  EXPECT_EQ(TlsFolder::Open(path).status().code(), StatusCode::kNotFound);
  umask(0);
  auto folder = TlsFolder::OpenOrMake(path);
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  ASSERT_TRUE(MakeToken(*folder, kStart, kDay).ok());
  ASSERT_TRUE(folder->KeepListenAddress("sweep", "127.0.0.1:7000").ok());
  EXPECT_EQ(ModeOf(path), 0700);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    EXPECT_EQ(ModeOf(entry.path()), 0600) << entry.path();
  }
  umask(022);
  const auto again = TlsFolder::OpenOrMake(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(FormatTunerIdentity(again->identity()), FormatTunerIdentity(folder->identity()));
  EXPECT_EQ(again->ReadTokens()->records().size(), 1u);
  EXPECT_EQ(*again->ListenAddressOf("sweep"), "127.0.0.1:7000");
}

TEST(TlsFolderFiles, KeepNoSecretOfAToken) {
  TempFolder temp;
  const auto folder = TlsFolder::OpenOrMake(temp / "tls");
  const NewToken made = *MakeToken(*folder, kStart, kDay);
  const JoinToken token = *ParseJoinToken(made.text);
  const std::string kept = ReadText(temp / "tls/tokens.json");
  EXPECT_THAT(kept, HasSubstr(token.id_text()));
  EXPECT_EQ(kept.find(made.text.substr(54, 26)), std::string::npos);  // The secret's part.
  EXPECT_EQ(kept.find(std::string(token.secret.begin(), token.secret.end())), std::string::npos);
}

TEST(TlsFolderFiles, ThatOthersCanReadAreRefused) {
  TempFolder temp;
  ASSERT_TRUE(TlsFolder::OpenOrMake(temp / "tls").ok());
  ASSERT_EQ(chmod((temp / "tls/identity.pem").c_str(), 0640), 0);
  EXPECT_THAT(TlsFolder::OpenOrMake(temp / "tls").status().message(),
              HasSubstr("identity.pem can be read by other users"));
  ASSERT_EQ(chmod((temp / "tls/identity.pem").c_str(), 0600), 0);
  ASSERT_EQ(chmod((temp / "tls").c_str(), 0755), 0);
  EXPECT_EQ(TlsFolder::OpenOrMake(temp / "tls").status().code(), StatusCode::kFailedPrecondition);
}

TEST(TlsFolderFiles, ThatAreDamagedAreNamed) {
  TempFolder temp;
  ASSERT_TRUE(TlsFolder::OpenOrMake(temp / "tls").ok());
  WriteText(temp / "tls/identity.pem", "-----BEGIN");
  EXPECT_THAT(TlsFolder::OpenOrMake(temp / "tls").status().message(), HasSubstr("identity.pem"));
}

TEST(TlsFolderFiles, RememberWhereEachSweepListened) {
  TempFolder temp;
  auto folder = *TlsFolder::OpenOrMake(temp / "tls");
  EXPECT_EQ(*folder.LastListenAddress(), std::nullopt);
  ASSERT_TRUE(folder.KeepListenAddress("a", "0.0.0.0:1").ok());
  ASSERT_TRUE(folder.KeepListenAddress("b", "0.0.0.0:2").ok());
  ASSERT_TRUE(folder.KeepListenAddress("a", "0.0.0.0:3").ok());
  EXPECT_EQ(*folder.ListenAddressOf("b"), "0.0.0.0:2");
  EXPECT_EQ(*folder.LastListenAddress(), "0.0.0.0:3");
  ASSERT_TRUE(folder.KeepListenAddress("a", std::nullopt).ok());
  EXPECT_EQ(*folder.ListenAddressOf("a"), std::nullopt);
  EXPECT_EQ(*folder.LastListenAddress(), "0.0.0.0:2");
}

// ---- the encrypted port

class SettableClock final : public Clock {
 public:
  Instant Now() const override { return Instant{now_us_}; }
  void Set(Instant now) { now_us_ = now.us; }

 private:
  std::atomic<int64_t> now_us_ = kStart.us;
};

// A tuner that listens for other machines; `plain` also for its own worker.
class ListeningTuner {
 public:
  ListeningTuner() : folder_(*TlsFolder::OpenOrMake(temp_ / "tls")), gate_(folder_, clock_) {
    const TunerIdentity& identity = folder_.identity();
    WorkerGateway::Options options;
    options.local_secret = "swordfish";
    options.tls = {"127.0.0.1:0", identity.certificate + identity.authority, identity.key, &gate_};
    auto gateway = WorkerGateway::Start(options, sink_);
    EXPECT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = *std::move(gateway);
  }

  NetworkAddress address() const { return *ParseNetworkAddress(gateway_->tls_address()); }
  NewToken Invite(Duration validity = kDay) { return *MakeToken(folder_, clock_.Now(), validity); }
  void Revoke(const std::string& id) {
    const Status status =
        folder_.ChangeTokens([&](TokenList& tokens) { return tokens.Revoke(id, clock_.Now()); });
    EXPECT_TRUE(status.ok()) << status.message();
  }

  // What a worker does with a token, but for the probe.
  TunerEndpoint EndpointFor(const std::string& token) const {
    const WorkerIdentity worker = *DeriveWorkerIdentity(*ParseJoinToken(token));
    return {address(), "",
            TunerEndpoint::Tls{folder_.identity().authority, kTunerCertificateName,
                               worker.certificate, worker.key}};
  }
  Result<std::string> Probe(const std::string& token) const {
    const JoinToken parsed = *ParseJoinToken(token);
    return ProbeTuner(address(), parsed, *DeriveWorkerIdentity(parsed), kPatience);
  }

  TempFolder temp_;
  SettableClock clock_;
  TlsFolder folder_;
  TokenGate gate_;
  GatheringSink sink_;
  std::unique_ptr<WorkerGateway> gateway_;
};

// A worker's connection that has said Hello.
struct Caller {
  explicit Caller(const TunerEndpoint& tuner) : channel(tuner, sink) { channel.Send({Greeting()}); }
  std::string Refusal() {
    const auto messages = sink.WaitForMessages(1);
    if (messages.empty()) return "";
    const auto* const refused = std::get_if<Refused>(&messages[0]);
    return refused == nullptr ? "" : refused->reason;
  }
  GatheringTunerSink sink;
  TunerChannel channel;
};

// How a call for a package ends.
Status Fetch(const TunerEndpoint& tuner) {
  PackageChannel package(tuner, kNoPackage, 0);
  while (true) {
    const Result<std::optional<std::string>> piece = package.Next();
    if (!piece.ok() || !*piece) return piece.status();
  }
}

TEST(Tls, AWorkerWithATokenJoinsAndBothSidesSpeak) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  const auto authority = tuner.Probe(token.text);
  ASSERT_TRUE(authority.ok()) << authority.status().message();
  EXPECT_EQ(*authority, tuner.folder_.identity().authority);
  Caller worker(tuner.EndpointFor(token.text));
  const auto hello = tuner.sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  tuner.gateway_->Send(hello->first, {Shutdown{}});
  EXPECT_TRUE(std::holds_alternative<Shutdown>(worker.sink.WaitForMessages(1).at(0)));
  EXPECT_EQ(tuner.folder_.ReadTokens()->FindById(token.record.id)->last_used_at, kStart);
}

// What a local worker ran ends with its tuner: nobody far away may say that of its trials.
TEST(Tls, AWorkerThatClaimsToBeTheTunersOwnIsRefused) {
  ListeningTuner tuner;
  GatheringTunerSink sink;
  TunerChannel channel(tuner.EndpointFor(tuner.Invite().text), sink);
  Hello hello = Greeting();
  hello.is_local = true;
  hello.name = kLocalWorkerName;
  channel.Send({hello});
  const auto messages = sink.WaitForMessages(1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_THAT(std::get<Refused>(messages[0]).reason,
              HasSubstr("it says that it is the tuner's own worker, and is not"));
  EXPECT_TRUE(sink.WaitForClose());
}

// A list that cannot be read for a moment says nothing about who may join.
TEST(Tls, TokensThatCannotBeReadNowAreNoRefusal) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  const std::string path = tuner.temp_ / "tls/tokens.json";
  std::filesystem::rename(path, path + ".away");
  std::filesystem::create_directory(path);
  {
    Caller worker(tuner.EndpointFor(token.text));
    const auto closed = worker.sink.WaitForClose();
    ASSERT_TRUE(closed);
    EXPECT_EQ(closed->code(), StatusCode::kUnavailable);
    EXPECT_THAT(closed->message(), HasSubstr("its list of tokens cannot be read"));
    EXPECT_EQ(worker.Refusal(), "");
  }
  std::filesystem::remove(path);
  std::filesystem::rename(path + ".away", path);
  Caller worker(tuner.EndpointFor(token.text));
  EXPECT_TRUE(tuner.sink_.WaitForMessage<Hello>());
}

TEST(Tls, OneTokenServesManyWorkers) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  Caller first(tuner.EndpointFor(token.text));
  ASSERT_TRUE(tuner.sink_.WaitForMessage<Hello>());
  Caller second(tuner.EndpointFor(token.text));
  const auto hello = tuner.sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->first, WorkerId{2});
}

TEST(Tls, ARevokedTokenIsRefusedWithItsReason) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  tuner.Revoke(token.record.id);
  EXPECT_TRUE(tuner.Probe(token.text).ok());  // It is known: the reason comes with the answer.
  Caller worker(tuner.EndpointFor(token.text));
  EXPECT_THAT(worker.Refusal(), HasSubstr("the token " + token.record.id + " was revoked at"));
  EXPECT_TRUE(worker.sink.WaitForClose());
}

TEST(Tls, AnExpiredTokenIsRefusedWithItsReason) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite(Seconds(60));
  tuner.clock_.Set(kStart + Seconds(60));
  Caller worker(tuner.EndpointFor(token.text));
  EXPECT_THAT(worker.Refusal(), HasSubstr("the token " + token.record.id + " expired at"));
}

TEST(Tls, AnUnknownTokenIsClosedInTheHandshake) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  std::filesystem::remove(tuner.temp_ / "tls/tokens.json");
  const auto probed = tuner.Probe(token.text);
  ASSERT_FALSE(probed.ok());
  EXPECT_EQ(probed.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(probed.status().message(), HasSubstr("does not know the token " + token.record.id));
  Caller worker(tuner.EndpointFor(token.text));
  const auto closed = worker.sink.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->code(), StatusCode::kUnavailable);
}

TEST(Tls, ATokenMadeWhileTheTunerLivesIsGoodAtOnce) {
  ListeningTuner tuner;
  Caller first(tuner.EndpointFor(tuner.Invite().text));
  ASSERT_TRUE(tuner.sink_.WaitForMessage<Hello>());
  // As `tune tokens --new` does: another process's view of the folder.
  const auto elsewhere = TlsFolder::Open(tuner.temp_ / "tls");
  const NewToken fresh = *MakeToken(*elsewhere, kStart, kDay);
  Caller second(tuner.EndpointFor(fresh.text));
  EXPECT_TRUE(tuner.sink_.WaitForMessage<Hello>());
}

TEST(Tls, RevokingEndsAConnectedWorkerAtItsNextMessageWhichIsNotHeard) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  const NewToken other_token = tuner.Invite();
  Caller worker(tuner.EndpointFor(token.text));
  const auto hello = tuner.sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  Caller other(tuner.EndpointFor(other_token.text));
  ASSERT_TRUE(tuner.sink_.WaitForMessage<Hello>());
  tuner.Revoke(token.record.id);
  worker.channel.Send({SampleReport()});
  EXPECT_THAT(worker.Refusal(), HasSubstr("was revoked at"));
  const auto last = tuner.sink_.WaitFor([](const Incoming& incoming) {
    return std::holds_alternative<WorkerDisconnected>(incoming.message);
  });
  ASSERT_TRUE(last);
  EXPECT_EQ(last->worker, hello->first);
  EXPECT_TRUE(std::get<WorkerDisconnected>(last->message).is_expelled);
  other.channel.Send({Goodbye{}});
  EXPECT_TRUE(tuner.sink_.WaitForMessage<Goodbye>());
}

TEST(Tls, ATokenThatExpiresMeanwhileEndsNothing) {
  ListeningTuner tuner;
  Caller worker(tuner.EndpointFor(tuner.Invite(Seconds(60)).text));
  ASSERT_TRUE(tuner.sink_.WaitForMessage<Hello>());
  tuner.clock_.Set(kStart + kDay);
  worker.channel.Send({SampleReport()});
  EXPECT_TRUE(tuner.sink_.WaitForMessage<AttemptReport>());
}

// Each call of an attached worker is a connection of its own: its token may have expired by then.
TEST(Tls, AWorkersCallsAreServedAfterItsTokenHasExpired) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite(Seconds(60));
  const TunerEndpoint endpoint = tuner.EndpointFor(token.text);
  Caller worker(endpoint);
  ASSERT_TRUE(tuner.sink_.WaitForMessage<Hello>());
  tuner.clock_.Set(kStart + kDay);
  EXPECT_EQ(Fetch(endpoint).code(), StatusCode::kNotFound) << "this tuner has no packages";
  CheckpointChannel checkpoints(endpoint, "session");
  const auto seen = checkpoints.Sees({std::string(kNonceBytes, '7')}, {});
  EXPECT_THAT(seen.status().message(), HasSubstr("no checkpoints are taken here"));
}

TEST(Tls, ACallWithARevokedTokenIsRefused) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  tuner.Revoke(token.record.id);
  const Status status = Fetch(tuner.EndpointFor(token.text));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("was revoked at"));
}

// A worker calls many times a second, and each write of the list is synced.
TEST(Tls, OnlyJoiningCountsAsAUseOfAToken) {
  ListeningTuner tuner;
  const NewToken token = tuner.Invite();
  const TunerEndpoint endpoint = tuner.EndpointFor(token.text);
  const std::string before = tuner.folder_.TokensVersion();
  EXPECT_TRUE(tuner.gate_.AdmitCall(endpoint.tls->certificate).ok());
  EXPECT_EQ(tuner.folder_.TokensVersion(), before);
  EXPECT_TRUE(tuner.gate_.Admit(endpoint.tls->certificate).ok());
  EXPECT_NE(tuner.folder_.TokensVersion(), before);
}

TEST(Tls, ATokenOfAnotherTunerIsRefusedByTheWorkerItself) {
  ListeningTuner tuner;
  ListeningTuner other;
  const NewToken token = other.Invite();
  const auto probed = tuner.Probe(token.text);
  ASSERT_FALSE(probed.ok());
  EXPECT_EQ(probed.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(probed.status().message(), HasSubstr("is not the one that made the token"));
  // gRPC too trusts that tuner's authority alone.
  TunerEndpoint endpoint = other.EndpointFor(token.text);
  endpoint.address = tuner.address();
  Caller worker(endpoint);
  const auto closed = worker.sink.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_FALSE(closed->ok());
}

TEST(Tls, TheProbeTellsWhatIsThere) {
  ListeningTuner tuner;
  const JoinToken token = *ParseJoinToken(tuner.Invite().text);
  const WorkerIdentity worker = *DeriveWorkerIdentity(token);
  const NetworkAddress plain = *ParseNetworkAddress(tuner.gateway_->address());
  const auto no_tls = ProbeTuner(plain, token, worker, kPatience);
  EXPECT_EQ(no_tls.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(no_tls.status().message(), HasSubstr("does not speak TLS"));
  const auto unknown = ProbeTuner({"no.such.host.invalid", 1}, token, worker, kPatience);
  EXPECT_EQ(unknown.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.status().message(), HasSubstr("'no.such.host.invalid' is not known"));
  const NetworkAddress gone = tuner.address();
  tuner.gateway_.reset();
  const auto nobody = ProbeTuner(gone, token, worker, kPatience);
  EXPECT_EQ(nobody.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(nobody.status().message(), HasSubstr("nobody listens there"));
}

// A socket that somebody may connect to, and its port; port 0: there is none.
std::pair<int, uint16_t> ListenOnLoopback() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool listens = bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                       listen(fd, 1) == 0 &&
                       getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return {fd, listens ? ntohs(address.sin_port) : uint16_t{0}};
}

TEST(Tls, TheProbeOfSomebodyWhoNeverAnswersEnds) {
  const auto [fd, port] = ListenOnLoopback();
  ASSERT_NE(port, 0);
  const auto probed = ProbeTuner({"127.0.0.1", port}, SomeToken(),
                                 *DeriveWorkerIdentity(SomeToken()), Milliseconds(50));
  EXPECT_EQ(probed.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(probed.status().message(), HasSubstr("does not answer"));
  close(fd);
}

// As a listener does that has too many connections of one address. Often, since what the probe says
// first arrives before the end or behind it.
TEST(Tls, TheProbeOfSomebodyWhoClosesAtOnceMayBeTriedAgain) {
  for (int round = 0; round < 100; ++round) {
    const bool resets = round % 2 == 0;
    const auto [socket, port] = ListenOnLoopback();
    const int fd = socket;  // A lambda takes no part of a pair.
    ASSERT_NE(port, 0);
    std::thread closer([fd, resets] {
      const int accepted = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
      const linger at_once = {1, 0};
      if (resets) setsockopt(accepted, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      close(accepted);
    });
    const auto probed =
        ProbeTuner({"127.0.0.1", port}, SomeToken(), *DeriveWorkerIdentity(SomeToken()), kPatience);
    closer.join();
    close(fd);
    EXPECT_EQ(probed.status().code(), StatusCode::kUnavailable) << resets;
    EXPECT_THAT(probed.status().message(), HasSubstr("it may have too many connections")) << resets;
  }
}

// ---- strangers

// What comes back from a port to these bytes, until it is closed.
std::string AnswerTo(const NetworkAddress& address, const std::string& bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(address.port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t count; (count = recv(fd, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(count));
  }
  close(fd);
  return answer;
}

TEST(Tls, APlainClientIsToldNothing) {
  ListeningTuner tuner;
  // An HTTP/2 server would answer with its settings, frame type 4; a TLS alert is record type 21.
  for (const std::string& bytes :
       {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33),
        std::string("GET / HTTP/1.1\r\nHost: tuner\r\n\r\n")}) {
    const std::string answer = AnswerTo(tuner.address(), bytes);
    EXPECT_LE(answer.size(), 7u);
    EXPECT_TRUE(answer.empty() || answer[0] == 21) << static_cast<int>(answer[0]);
  }
}

struct HandshakeWish {
  std::string certificate;  // PEM; empty: none.
  EVP_PKEY* key = nullptr;
  int version = TLS1_3_VERSION;
};

// A handshake by hand; the first byte that the server says after it, or nothing.
std::string FirstWordTo(const NetworkAddress& address, const HandshakeWish& wish) {
  const OwnedSslContext context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), wish.version);
  SSL_CTX_set_max_proto_version(context.get(), wish.version);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
  if (!wish.certificate.empty()) {
    const OwnedBio bio(
        BIO_new_mem_buf(wish.certificate.data(), static_cast<int>(wish.certificate.size())));
    const OwnedCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    EXPECT_EQ(SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), wish.key), 1) << TakeOpensslError();
  }
  const OwnedBio connection(BIO_new_connect(address.ToText().c_str()));
  EXPECT_EQ(BIO_do_connect(connection.get()), 1);
  const OwnedSsl ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), static_cast<int>(BIO_get_fd(connection.get(), nullptr)));
  char byte = 0;
  const bool has_word = SSL_connect(ssl.get()) == 1 && SSL_read(ssl.get(), &byte, 1) == 1;
  ERR_clear_error();
  return has_word ? std::string(1, byte) : "";
}

OwnedKey KeyFromPem(const std::string& pem) {
  const OwnedBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return OwnedKey(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

// A key that claims to be `claimed` but signs as `own`: what somebody has who knows a worker's
// certificate, but not its secret.
OwnedKey ForgedKey(EVP_PKEY* claimed, EVP_PKEY* own) {
  unsigned char public_part[32];
  unsigned char private_part[32];
  size_t public_size = sizeof public_part;
  size_t private_size = sizeof private_part;
  EXPECT_EQ(EVP_PKEY_get_raw_public_key(claimed, public_part, &public_size), 1);
  EXPECT_EQ(EVP_PKEY_get_raw_private_key(own, private_part, &private_size), 1);
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, public_part, public_size),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PRIV_KEY, private_part, private_size),
      OSSL_PARAM_construct_end()};
  EVP_PKEY* forged = nullptr;
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(nullptr, "ED25519", nullptr);
  EXPECT_EQ(EVP_PKEY_fromdata_init(context), 1);
  EXPECT_EQ(
      EVP_PKEY_fromdata(context, &forged, EVP_PKEY_KEYPAIR, const_cast<OSSL_PARAM*>(parameters)),
      1);
  EVP_PKEY_CTX_free(context);
  return OwnedKey(forged);
}

TEST(Tls, WhoHasACertificateButNotItsKeyIsNotSpokenTo) {
  ListeningTuner tuner;
  const WorkerIdentity victim = *DeriveWorkerIdentity(*ParseJoinToken(tuner.Invite().text));
  const WorkerIdentity thief = *DeriveWorkerIdentity(SomeToken());
  const OwnedKey key = KeyFromPem(victim.key);
  const OwnedKey forged = ForgedKey(key.get(), KeyFromPem(thief.key).get());
  ASSERT_EQ(EVP_PKEY_eq(key.get(), forged.get()), 1);  // It looks like the victim's.
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_NE(FirstWordTo(tuner.address(), {victim.certificate, key.get(), version}), "");
    EXPECT_EQ(FirstWordTo(tuner.address(), {victim.certificate, forged.get(), version}), "");
  }
}

TEST(Tls, StrangersAreNotSpokenTo) {
  ListeningTuner tuner;
  tuner.Invite();
  const WorkerIdentity stranger = *DeriveWorkerIdentity(SomeToken());
  const OwnedKey key = KeyFromPem(stranger.key);
  const TunerIdentity other_tuner = *MakeTunerIdentity();
  const OwnedKey other_key = KeyFromPem(other_tuner.key);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(FirstWordTo(tuner.address(), {"", nullptr, version}), "");
    EXPECT_EQ(FirstWordTo(tuner.address(), {stranger.certificate, key.get(), version}), "");
    EXPECT_EQ(FirstWordTo(tuner.address(), {other_tuner.certificate, other_key.get(), version}),
              "");
  }
  EXPECT_EQ(FirstWordTo(tuner.address(), {"", nullptr, TLS1_1_VERSION}), "");
}

TEST(Tls, AKnownWorkerIsAnsweredOneMethodOnly) {
  ListeningTuner tuner;
  const TunerEndpoint endpoint = tuner.EndpointFor(tuner.Invite().text);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = endpoint.tls->authority;
  options.pem_private_key = endpoint.tls->key;
  options.pem_cert_chain = endpoint.tls->certificate;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kTunerCertificateName);
  grpc::GenericStub stub(grpc::CreateCustomChannel("ipv4:" + tuner.address().ToText(),
                                                   grpc::SslCredentials(options), arguments));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/other.Service/Method", {}, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, this);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(Tls, TheSecretOfThePlainPortOpensTheEncryptedOneToNobody) {
  ListeningTuner tuner;
  TunerEndpoint endpoint{tuner.address(), "swordfish"};
  Caller stranger(endpoint);
  const auto closed = stranger.sink.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_FALSE(closed->ok());
}

}  // namespace
}  // namespace tune
