// Kubernetes without a cluster: what a kubeconfig says, what is sent, and what answers mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base64.h"
#include "core/json.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/engines/kube_api.h"
#include "tuner/engines/kube_config.h"
#include "tuner/engines/kube_objects.h"
#include "tuner/engines/kube_watch.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Value Json(const std::string& text) {
  const Result<Value> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status().message() << "\n" << text;
  return value.ok() ? *value : Value();
}

// ---- who is asked, and as whom

const char kConfig[] = R"(
apiVersion: v1
kind: Config
current-context: lab
contexts:
- {name: lab, context: {cluster: one, user: ada, namespace: vision}}
- {name: other, context: {cluster: two, user: plugin}}
- {name: blind, context: {cluster: blind, user: ada}}
clusters:
- {name: one, cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: Y2EK}}
- {name: two, cluster: {server: "https://two", certificate-authority: two.pem}}
- {name: blind, cluster: {server: "https://x", insecure-skip-tls-verify: true}}
users:
- {name: ada, user: {client-certificate: ada.pem, client-key-data: a2V5}}
- name: plugin
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./give, args: [a], env: [{name: B, value: c}]}}
)";

TEST(KubeConfig, AContextIsItsServerItsUserAndItsNamespace) {
  const TempFolder folder;
  const auto read = ReadKubeConfig(kConfig, "/etc/kube/config", "", folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->server, "https://10.0.0.1:6443");
  EXPECT_EQ(read->name_space, "vision");
  EXPECT_EQ(read->certificate_file, "/etc/kube/ada.pem");
  EXPECT_EQ(ReadText(read->ca_file), "ca\n");
  EXPECT_EQ(ReadText(read->key_file), "key");
  struct stat info = {};
  ASSERT_EQ(stat(read->key_file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(KubeConfig, WhatIsWrongIsSaidWithTheFileAndTheKey) {
  const TempFolder folder;
  const auto error = [&](const std::string& text, const std::string& context) {
    return ReadKubeConfig(text, "config", context, folder.path()).status().message();
  };
  EXPECT_THAT(error(kConfig, "lib"),
              HasSubstr("config: contexts: there is no 'lib'; it has lab, other, blind"));
  EXPECT_THAT(error(kConfig, "blind"), HasSubstr("insecure-skip-tls-verify: anybody could be"));
  EXPECT_THAT(error("kind: Config\n", ""), HasSubstr("current-context: is missing"));
  EXPECT_THAT(error("", ""), HasSubstr("config: current-context: is missing"));
  EXPECT_THAT(error("[1]", ""), HasSubstr("is no kubeconfig"));
  EXPECT_THAT(error("a: [", ""), HasSubstr("config:"));
  EXPECT_THAT(FindKubeAccess(folder / "none", "", folder.path()).status().message(),
              HasSubstr("none"));
}

TEST(KubeConfig, SeveralFilesOfTheVariableAreOne) {
  const TempFolder folder;
  const auto file = [](const std::string& name, const std::string& port) {
    return "contexts: [{name: " + name + ", context: {cluster: " + name +
           ", user: me}}]\nclusters: [{name: " + name + ", cluster: {server: \"https://a:" + port +
           "\"}}]\n";
  };
  std::filesystem::create_directory(folder / "users");
  WriteText(folder / "home", file("home", "1") + "current-context: home\n");
  WriteText(folder / "lab", file("lab", "2") + "current-context: lab\n");
  WriteText(folder / "users/me", "users: [{name: me, user: {tokenFile: token}}]\n");
  const auto find = [&](const std::string& list, const std::string& context) {
    setenv("KUBECONFIG", list.c_str(), 1);
    const auto access = FindKubeAccess("", context, folder.path());
    unsetenv("KUBECONFIG");
    return access.ok() ? access->server + " " + access->token_file : access.status().message();
  };
  const std::string both =
      folder / "none" + ":" + folder / "home" + ":" + folder / "lab" + "::" + folder / "users/me";
  EXPECT_EQ(find(both, ""), "https://a:1 " + folder / "users/token");
  WriteText(folder / "empty", "");
  WriteText(folder / "remarks", "# nothing yet\n");
  EXPECT_EQ(find(both + ":" + folder / "empty" + ":" + folder / "remarks", ""),
            "https://a:1 " + folder / "users/token");
  EXPECT_EQ(find(both, "lab"), "https://a:2 " + folder / "users/token");
  EXPECT_EQ(find(":" + folder / "lab" + ":" + folder / "users/me", ""),
            "https://a:2 " + folder / "users/token");
  EXPECT_EQ(
      find(folder / "home" + ":" + folder / "lab", "other"),
      folder / "home" + ":" + folder / "lab" + ": contexts: there is no 'other'; it has home, lab");
  EXPECT_THAT(find(folder / "none" + ":" + folder / "nothing", ""), HasSubstr(folder / "none"));
}

TEST(KubeConfig, AProgramGivesTokensUntilTheyExpire) {
  const TempFolder folder;
  WriteText(folder / "give",
            "#!/bin/sh\necho x >> \"$(dirname \"$0\")/asked\"\n"
            "test \"$1$B\" = ac || exit 3\n"
            "echo '{\"status\": {\"token\": \"t'$(wc -l < \"$(dirname \"$0\")/asked\")'\", "
            "\"expirationTimestamp\": \"2026-01-01T01:00:00Z\"}}'\n");
  ASSERT_EQ(chmod((folder / "give").c_str(), 0700), 0);
  const auto access = ReadKubeConfig(kConfig, folder / "config", "other", folder.path());
  ASSERT_TRUE(access.ok()) << access.status().message();
  KubeToken token(*access);
  const std::atomic<bool> is_cancelled = false;
  const Instant noon{1'767'225'600'000'000};  // 2026-01-01T00:00:00Z.
  EXPECT_EQ(*token.Get(noon, is_cancelled), "t1");
  EXPECT_EQ(*token.Get(noon + Seconds(3000), is_cancelled), "t1");
  EXPECT_EQ(*token.Get(noon + Seconds(3550), is_cancelled), "t2");
  token.Refused();
  EXPECT_EQ(*token.Get(noon, is_cancelled), "t3");
}

TEST(KubeConfig, APodsAccountIsReadAnewEachTime) {
  const TempFolder folder;
  WriteText(folder / "token", "one\n");
  WriteText(folder / "namespace", "tune");
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  setenv("HOME", folder.path().c_str(), 1);
  const auto access = FindKubeAccess("", "", folder.path(), folder.path());
  for (const char* const name : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
    unsetenv(name);
  }
  ASSERT_TRUE(access.ok()) << access.status().message();
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->name_space, "tune");
  KubeToken token(*access);
  const std::atomic<bool> is_cancelled = false;
  EXPECT_EQ(*token.Get(Instant{}, is_cancelled), "one");
  WriteText(folder / "token", "two\n");
  EXPECT_EQ(*token.Get(Instant{}, is_cancelled), "two");
}

// ---- what is asked of the server

// Answers in turn, and keeps what it was asked.
class Scripted final : public HttpTransport {
 public:
  explicit Scripted(std::vector<S3Reply> replies) : replies_(std::move(replies)) {}
  S3Reply Do(const HttpExchange& exchange, const std::stop_token&) override {
    asked.push_back(exchange.method + " " + exchange.url);
    if (replies_.empty()) return {};
    S3Reply reply = replies_.front();
    replies_.erase(replies_.begin());
    return reply;
  }
  std::vector<std::string> asked;

 private:
  std::vector<S3Reply> replies_;
};

S3Reply Answer(int status, const std::string& body) {
  S3Reply reply;
  reply.http_status = status;
  reply.body = body;
  return reply;
}

struct AskedApi {
  explicit AskedApi(std::vector<S3Reply> replies) {
    auto owned = std::make_unique<Scripted>(std::move(replies));
    transport = owned.get();
    KubeAccess access;
    access.server = "https://k";
    api = std::make_unique<KubeApi>(access, std::move(owned));
  }
  Scripted* transport;
  std::unique_ptr<KubeApi> api;
};

TEST(KubeApi, AListIsReadPageByPageAndAnewWhereAPageExpired) {
  AskedApi asked({Answer(200, R"({"metadata":{"continue":"a b"},"items":[{"n":1}]})"),
                  Answer(410, R"({"message":"too old"})"),
                  Answer(200, R"({"metadata":{"continue":"c"},"items":[{"n":1}]})"),
                  Answer(200, R"({"metadata":{"resourceVersion":"7"},"items":[{"n":2}]})")});
  const auto items = asked.api->List("/pods?labelSelector=x", {});
  ASSERT_TRUE(items.ok()) << items.status().message();
  EXPECT_EQ(items->items.size(), 2u);
  EXPECT_EQ(items->version, "7");
  EXPECT_THAT(asked.transport->asked,
              ElementsAre("GET https://k/pods?labelSelector=x&limit=500",
                          "GET https://k/pods?labelSelector=x&limit=500&continue=a%20b",
                          "GET https://k/pods?labelSelector=x&limit=500",
                          "GET https://k/pods?labelSelector=x&limit=500&continue=c"));
}

TEST(KubeApi, WhatIsBusyOrBrokeIsAskedAgainAndWhatIsRefusedIsNot) {
  AskedApi busy({Answer(429, "{}"), Answer(0, ""), Answer(503, "no"), Answer(201, "{}")});
  EXPECT_EQ(busy.api->Do("POST", "/x", Value::MakeMap(), {})->http_status, 201);
  AskedApi refused({Answer(403, R"({"message":"pods is forbidden"})"), Answer(200, "{}")});
  EXPECT_EQ(refused.api->Get("/x", {})->http_status, 403);
  EXPECT_EQ(refused.transport->asked.size(), 1u);
  AskedApi unknown({Answer(401, "{}"), Answer(200, "{}")});
  EXPECT_EQ(unknown.api->Get("/x", {})->http_status, 200) << "its token may have been exchanged";
}

TEST(KubeApi, ARefusalIsToldInTheServersWords) {
  const auto told = [](int status, const std::string& message) {
    KubeReply reply;
    reply.http_status = status;
    reply.body = Json("{\"message\": \"" + message + "\"}");
    return KubeRefusal(reply);
  };
  EXPECT_EQ(told(403, "exceeded quota: few").code(), StatusCode::kResourceExhausted);
  const Status forbidden = told(403, "User 'a' cannot create resource 'jobs'");
  EXPECT_EQ(forbidden.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(forbidden.message(), HasSubstr("cannot create resource 'jobs'"));
  EXPECT_EQ(told(404, "namespaces 'x' not found").code(), StatusCode::kNotFound);
  EXPECT_EQ(told(422, "invalid").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(told(500, "etcd").code(), StatusCode::kUnavailable);
}

// ---- what is watched

std::string Event(const std::string& type, const std::string& name, const std::string& version) {
  return "{\"type\": \"" + type + "\", \"object\": {\"metadata\": {\"name\": \"" + name +
         "\", \"resourceVersion\": \"" + version + "\"}}}";
}

TEST(KubeMirror, EventsChangeWhatWasListed) {
  KubeMirror mirror;
  mirror.Reset(
      {{Json(R"({"metadata": {"name": "a", "managedFields": [1]}, "status": {"x": 1}})")}, "3"});
  EXPECT_EQ(ToJson(mirror.items()[0]), R"({"metadata":{"name":"a"},"spec":{},"status":{"x":1}})");
  EXPECT_TRUE(mirror.Take(Json(Event("ADDED", "b", "4"))));
  EXPECT_TRUE(mirror.Take(Json(Event("MODIFIED", "b", "5"))));
  EXPECT_EQ(mirror.items().size(), 2u);
  EXPECT_TRUE(mirror.Take(Json(Event("DELETED", "a", "6"))));
  EXPECT_EQ(KubeText(mirror.items()[0], "metadata.name"), "b");
  EXPECT_TRUE(mirror.Take(Json(Event("BOOKMARK", "", "9"))));
  EXPECT_EQ(mirror.items().size(), 1u);
  EXPECT_EQ(mirror.version(), "9");
  EXPECT_FALSE(mirror.Take(Json(R"({"type": "ERROR", "object": {"code": 410}})")));
  EXPECT_FALSE(mirror.Take(Value()));
  EXPECT_EQ(mirror.version(), "9");
}

// Lists have what was said last; the first watch has `events`, the next ones `status`.
class Watched final : public HttpTransport {
 public:
  S3Reply Do(const HttpExchange& exchange, const std::stop_token& stop) override {
    const std::lock_guard lock(mutex);
    if (exchange.url.find("watch=1") == std::string::npos) {
      ++lists;
      return Answer(200, R"({"metadata": {"resourceVersion": "3"}, "items": [
                             {"metadata": {"name": "listed"}}]})");
    }
    watched.push_back(exchange.url);
    if (watched.size() > 1) return Answer(stop.stop_requested() ? 0 : status, "{}");
    // As they come: in pieces.
    const size_t middle = events.size() / 3;
    exchange.take(events.substr(0, middle));
    exchange.take(events.substr(middle));
    return Answer(200, "");
  }
  std::mutex mutex;
  std::string events;
  int status = 410;
  int lists = 0;
  std::vector<std::string> watched;
};

class KubeWatchTest : public ::testing::Test {
 protected:
  // Each watch has a connection of its own.
  class Shared final : public HttpTransport {
   public:
    explicit Shared(Watched& watched) : watched_(watched) {}
    S3Reply Do(const HttpExchange& exchange, const std::stop_token& stop) override {
      return watched_.Do(exchange, stop);
    }

   private:
    Watched& watched_;
  };
  std::unique_ptr<KubeApi> MakeApi() {
    KubeAccess access;
    access.server = "https://k";
    return std::make_unique<KubeApi>(access, std::make_unique<Shared>(server_));
  }
  std::vector<std::string> Names(const std::vector<Value>& items) {
    std::vector<std::string> names;
    for (const Value& item : items) names.push_back(KubeText(item, "metadata.name"));
    return names;
  }

  Watched server_;
};

TEST_F(KubeWatchTest, AListIsWatchedAndListedAnewWhereItIsTooOldToGoOnFrom) {
  server_.events = Event("ADDED", "came", "4") + "\n" + Event("DELETED", "listed", "5") + "\n";
  const auto api = MakeApi();
  KubeWatch watch("/pods?labelSelector=x",
                  [this]() -> Result<std::unique_ptr<KubeApi>> { return MakeApi(); });
  EXPECT_THAT(Names(*watch.Items(*api, {})), ElementsAre("listed"));
  // The server says 410 to the second watch, so that it is listed again.
  for (bool is_again = false; !is_again;) {
    ASSERT_TRUE(watch.Items(*api, {}).ok());
    const std::lock_guard lock(server_.mutex);
    is_again = server_.lists > 1;
  }
  const std::lock_guard lock(server_.mutex);
  ASSERT_GE(server_.watched.size(), 2u);
  EXPECT_THAT(server_.watched[0], HasSubstr("/pods?labelSelector=x&watch=1"));
  EXPECT_THAT(server_.watched[0], HasSubstr("&resourceVersion=3"));
  EXPECT_THAT(server_.watched[1], HasSubstr("&resourceVersion=5"));
}

TEST_F(KubeWatchTest, AStreamThatIsCutOffAtOnceIsNotAskedForAgainAndAgain) {
  server_.status = 200;  // With nothing in it.
  const auto api = MakeApi();
  KubeWatch watch("/pods", [this]() -> Result<std::unique_ptr<KubeApi>> { return MakeApi(); });
  for (int lists = 0; lists < 20;) {
    ASSERT_TRUE(watch.Items(*api, {}).ok());
    const std::lock_guard lock(server_.mutex);
    lists = server_.lists;
    EXPECT_LE(server_.watched.size(), static_cast<size_t>(lists)) << "one for each listing";
  }
}

TEST_F(KubeWatchTest, WhereWatchingIsForbiddenEachLookIsAListing) {
  server_.status = 403;
  const auto api = MakeApi();
  KubeWatch watch("/pods", [this]() -> Result<std::unique_ptr<KubeApi>> { return MakeApi(); });
  for (int lists = 0; lists < 20;) {
    ASSERT_TRUE(watch.Items(*api, {}).ok());
    const std::lock_guard lock(server_.mutex);
    lists = server_.lists;
  }
  EXPECT_EQ(server_.watched.size(), 2u) << "the one that was allowed, and the one that was not";
}

// ---- what Kubernetes is told

PoolSpec Pool(const std::string& kubernetes, const std::string& worker = "{cpus: 4, gpus: 1}") {
  std::string text = "{\"pools\": {\"burst\": {\"kubernetes\": " + kubernetes + "}}}";
  Result<ClusterSpec> cluster = InterpretCluster(Json(text), "lab.yaml", "/");
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  PoolSpec pool = cluster.ok() ? cluster->pools[0] : PoolSpec{};
  pool.worker.cpus = 4;
  pool.worker.gpus = worker.find("gpus: 1") != std::string::npos ? 1 : 0;
  pool.worker.memory_bytes = 1 << 30;
  return pool;
}

TEST(KubeObjects, AWorkerIsAJobThatIsNotTriedAgainAndWhoseTokenIsInNoField) {
  const PoolSpec pool = Pool(R"({"image": "i:1", "queue": "team", "grace": "90s"})");
  const Value job = KubeJob(pool, "lab-1-burst-", "lab-1-burst-7", "h:1", {"head", "uid-1"});
  const std::string text = ToJson(job);
  EXPECT_EQ(KubeText(job, "metadata.name"), "lab-1-burst-7");
  EXPECT_EQ(job.Find("metadata")->Find("labels")->Find("tune.pool")->AsString(), "lab-1-burst");
  EXPECT_THAT(text, HasSubstr(R"("kueue.x-k8s.io/queue-name":"team")"));
  EXPECT_THAT(text, HasSubstr(R"("kind":"Deployment","name":"head","uid":"uid-1")"));
  EXPECT_EQ(KubeField(job, "spec.backoffLimit")->AsInt(), 0);
  EXPECT_THAT(text,
              HasSubstr(R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget")"));
  EXPECT_EQ(KubeField(job, "spec.template.spec.terminationGracePeriodSeconds")->AsInt(), 90);
  EXPECT_EQ(KubeText(job, "spec.template.spec.restartPolicy"), "Never");
  const Value& container = KubeField(job, "spec.template.spec.containers")->AsList()[0];
  EXPECT_EQ(ToJson(*KubeField(container, "resources.limits")),
            R"({"cpu":"4","memory":"1073741824","nvidia.com/gpu":"1"})");
  const Value& volume = KubeField(job, "spec.template.spec.volumes")->AsList()[0];
  EXPECT_EQ(KubeField(volume, "secret.defaultMode")->AsInt(), 0444)
      << "the image's user is not root, to whom it belongs";
  const Value secret = KubeSecret("lab-1-burst-", "lab-1-burst-7", "tune1_key", "uid-2");
  EXPECT_THAT(ToJson(secret), HasSubstr(R"("kind":"Job","name":"lab-1-burst-7","uid":"uid-2")"));
  EXPECT_EQ(DecodeBase64(KubeText(secret, "data.token"), Base64::kPadded), "tune1_key");
}

TEST(KubeObjects, ATemplateAddsToThePodAndTakesNothingOfOurs) {
  const PoolSpec pool = Pool(R"({"image": "i:1", "template": {"metadata": {"labels": {"team": "v"}},
    "spec": {"nodeSelector": {"disk": "fast"}, "restartPolicy": "Always",
      "tolerations": [{"key": "gpu"}], "volumes": [{"name": "data"}],
      "containers": [{"name": "worker", "image": "other", "env": [{"name": "A", "value": "b"}],
                      "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                     {"name": "side", "image": "s"}]}}})");
  const Value job = KubeJob(pool, "p-", "p-1", "h:1", {});
  const Value& pod = *KubeField(job, "spec.template");
  EXPECT_EQ(KubeText(pod, "spec.nodeSelector.disk"), "fast");
  EXPECT_EQ(KubeText(pod, "spec.restartPolicy"), "Never");
  EXPECT_EQ(KubeText(pod, "metadata.labels.team"), "v");
  EXPECT_EQ(KubeField(pod, "spec.volumes")->AsList().size(), 2u);
  const Value::List& containers = KubeField(pod, "spec.containers")->AsList();
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(KubeText(containers[0], "image"), "i:1");
  EXPECT_EQ(KubeField(containers[0], "volumeMounts")->AsList().size(), 2u);
  EXPECT_EQ(KubeField(containers[0], "env")->AsList().size(), 1u);
  EXPECT_EQ(KubeField(containers[0], "command")->AsList()[0], Value("sh"));
  EXPECT_EQ(KubeText(containers[1], "name"), "side");
}

// ---- what it tells

TEST(KubeObjects, AMachineIsWhatItsJobAndItsLatestPodTell) {
  const auto job = [](const std::string& name, const std::string& rest = "") {
    return Json("{\"metadata\": {\"name\": \"" + name + "\"}" + (rest.empty() ? "" : ", ") + rest +
                "}");
  };
  const auto pod = [](const std::string& of, const std::string& at, const std::string& status) {
    return Json("{\"metadata\": {\"creationTimestamp\": \"" + at +
                "\", \"labels\": {\"batch.kubernetes.io/job-name\": \"" + of +
                "\"}}, \"status\": " + status + "}");
  };
  const std::vector<Value> jobs = {
      job("p-1"),
      job("p-2"),
      job("p-3", R"("status": {"conditions": [{"type": "Failed", "status": "True",
                 "reason": "BackoffLimitExceeded", "message": "reached"}]})"),
      job("p-4"),
      job("p-5"),
      job("p-6", R"("spec": {"suspend": true})"),
      Json(R"({"metadata": {"name": "p-7", "deletionTimestamp": "t"},
               "status": {"conditions": [{"type": "Complete", "status": "True"}]}})"),
      job("other-1")};
  const std::vector<Value> pods = {
      pod("p-1", "2026-01-01T00:00:00Z", R"({"phase": "Failed"})"),
      pod("p-1", "2026-01-01T00:01:00Z", R"({"phase": "Running"})"),
      pod("p-2", "t", R"({"phase": "Pending", "conditions": [{"type": "PodScheduled",
          "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}]})"),
      pod("p-3", "t", R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated":
          {"exitCode": 137, "reason": "OOMKilled"}}}]})"),
      pod("p-4", "t", R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting":
          {"reason": "ImagePullBackOff", "message": "no such image"}}}]})"),
      pod("p-8", "t", R"({"phase": "Running"})"),
      pod("p-9", "t", R"({"phase": "Succeeded"})"),
      pod("other-2", "t", R"({"phase": "Running"})")};
  const std::vector<Value> events = {
      Json(R"({"type": "Warning", "reason": "FailedCreate", "message": "exceeded quota",
               "lastTimestamp": "2", "involvedObject": {"name": "p-5"}})"),
      Json(R"({"type": "Warning", "reason": "Old", "message": "word",
               "lastTimestamp": "1", "involvedObject": {"name": "p-5"}})")};
  std::vector<std::string> told;
  for (const Machine& machine : KubeMachines(jobs, pods, events, "p-")) {
    constexpr const char* kStates[] = {"pending", "running", "ended"};
    told.push_back(machine.name + " " + kStates[static_cast<int>(machine.state)] + " " +
                   machine.reason);
  }
  EXPECT_THAT(told,
              ElementsAre("p-1 running ", "p-2 pending Unschedulable: 0/2 nodes are available",
                          "p-3 ended OOMKilled: it ended with status 137",
                          "p-4 pending ImagePullBackOff: no such image",
                          "p-5 pending FailedCreate: exceeded quota",
                          "p-6 pending it is suspended, and waits in its queue",
                          "p-7 running it is being removed",
                          "p-8 running its Job is gone, and its pod is not"));
}

}  // namespace
}  // namespace tune
