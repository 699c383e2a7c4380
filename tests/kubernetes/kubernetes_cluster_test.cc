// Clusters whose workers are Jobs of a real Kubernetes: API server, controllers and scheduler; its
// nodes run a pod's command as a process of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/e2e/cluster_files.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"
#include "tests/kubernetes/kube.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSpace[] = "/api/v1/namespaces/default";
constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";

class KubernetesCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("TUNE_KUBE"), nullptr) << "run by with_kubernetes";
  }
  void TearDown() override { RunTune(folder_, {"cluster", "down", "--now"}); }

  // One pool of workers of a CPU each.
  void Write(const std::string& kubernetes, const std::string& more = "") {
    folder_.Write("cluster.yaml", "name: lab\nhead: {listen: " + place_ +
                                      "}\npools:\n  burst:\n    kubernetes: {image: \"tune:1\"" +
                                      kubernetes + "}\n    worker: {cpus: 1, gpus: 0}\n" + more);
  }
  ProgramResult Up(const Rows& more = {}) {
    Rows arguments = {"cluster", "up"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunTune(folder_, arguments);
  }
  void ExpectDownLeavesNothing() {
    EXPECT_TRUE(Succeeded(RunTune(folder_, {"cluster", "down"})));
    EXPECT_EQ(Listed(kJobs), Rows());
    EXPECT_EQ(Listed(std::string(kSpace) + "/pods"), Rows());
    // It goes with its Job, a moment later.
    while (!Listed(std::string(kSpace) + "/secrets").empty()) {
    }
  }
  std::string Endless() {
    return folder_.Write("space.yaml",
                         CurveSweep("    iterations: 40\n    seconds: 0.05\n",
                                    "samples: 1\nfailure: {max_failures: 0, backoff: 0s}\n"));
  }
  void WaitForEnd() {
    WaitForRows(folder_, "select status from experiments where name = 'space'", {"FINISHED"});
  }

  TestFolder folder_;
  const std::string place_ = FreePlace();
};

TEST_F(KubernetesCluster, WorkersComeRunTheSweepAndDownLeavesNothing) {
  Write("", "    min: 1\n    max: 3\n    idle: 1s\n");
  ASSERT_TRUE(Succeeded(Up()));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"submit", Endless(), "--samples", "4"})));
  WaitForEnd();
  EXPECT_EQ(Query(folder_, "select count(*), min(status) from trials"), Rows{"4|TERMINATED"});
  EXPECT_EQ(Query(folder_, "select count(distinct name) > 1 from workers"), Rows{"1"});
  // The token is in the Secret alone.
  EXPECT_THAT(Kube("GET", kJobs), Not(HasSubstr("tune1_")));
  ExpectDownLeavesNothing();
}

TEST_F(KubernetesCluster, APodThatIsEvictedChargesNothingAndItsTrialGoesOn) {
  Write(", grace: 5s", "    max: 1\n");
  ASSERT_TRUE(Succeeded(Up()));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"submit", Endless()})));
  WaitForReports(folder_, 4);
  const Rows pods = Listed(std::string(kSpace) + "/pods");
  ASSERT_EQ(pods.size(), 1u);
  const std::string& pod = pods[0];
  Kube("POST", std::string(kSpace) + "/pods/" + pod + "/eviction",
       R"({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": ")" + pod + "\"}}");
  WaitForEnd();
  EXPECT_EQ(Query(folder_, "select status, iterations from trials"), Rows{"TERMINATED|40"});
  EXPECT_EQ(Query(folder_,
                  "select count(*) > 1, sum(outcome in ('completed', 'preempted'))"
                  " = count(*) from attempts"),
            Rows{"1|1"});
  ExpectDownLeavesNothing();
}

TEST_F(KubernetesCluster, AHeadThatIsKilledFindsItsJobsAndStartsNoneTwice) {
  Write("", "    min: 2\n    max: 2\n");
  ASSERT_TRUE(Succeeded(Up()));
  const Rows before = Listed(kJobs);
  KillHead(folder_);
  ASSERT_TRUE(Succeeded(Up()));
  EXPECT_EQ(Listed(kJobs), before);
  KillHead(folder_);
  ExpectDownLeavesNothing();  // Without a head, too.
}

TEST_F(KubernetesCluster, WhatDoesNotStartIsToldInKubernetessWords) {
  Write(", template: {spec: {nodeSelector: {disk: fast}}}", "    min: 1\n");
  const ProgramResult unplaced = Up({"--wait", "5s"});
  EXPECT_EQ(unplaced.exit_status, 1);
  EXPECT_THAT(unplaced.out + unplaced.err, HasSubstr("Unschedulable: 0/2 nodes are available"));
  ExpectDownLeavesNothing();
  Write("", "    min: 1\n");
  folder_.Write("cluster.yaml", [&] {
    std::string text = folder_.Read("cluster.yaml");
    return text.replace(text.find("tune:1"), 6, "missing/tune:1");
  }());
  const ProgramResult missing = Up({"--wait", "5s"});
  EXPECT_THAT(missing.out + missing.err, HasSubstr("ImagePullBackOff: Back-off pulling image"));
  ExpectDownLeavesNothing();
  Write(", namespace: nowhere", "    min: 1\n");
  const ProgramResult nowhere = Up({"--wait", "5s"});
  EXPECT_EQ(nowhere.exit_status, 1);
  EXPECT_THAT(nowhere.out + nowhere.err, HasSubstr("namespaces \"nowhere\" not found"));
}

TEST_F(KubernetesCluster, OneWhoseServerIsNeverReachedCanBeTakenDownAndMended) {
  Write(", context: nope", "    min: 1\n");
  const ProgramResult wrong = Up({"--wait", "1s"});
  EXPECT_EQ(wrong.exit_status, 1);
  EXPECT_THAT(wrong.out + wrong.err, HasSubstr("there is no 'nope'; it has tests"));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"cluster", "down"}))) << "nothing was ever asked for";
  Write("", "    min: 1\n");
  EXPECT_TRUE(Succeeded(Up()));
  ExpectDownLeavesNothing();
}

TEST_F(KubernetesCluster, ASweepGoesOnWhileTheServerDoesNotAnswer) {
  Write("", "    min: 1\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Up()));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"submit", Endless()})));
  WaitForReports(folder_, 2);
  const Rows before = Listed(kJobs);
  const pid_t server = std::atoi(std::getenv("TUNE_KUBE_APISERVER"));
  kill(server, SIGSTOP);
  WaitForEnd();
  kill(server, SIGCONT);
  EXPECT_EQ(Listed(kJobs), before);
  ExpectDownLeavesNothing();
}

TEST_F(KubernetesCluster, APodWhoseJobSomebodyRemovesIsTakenBackAllTheSame) {
  Write("", "    min: 1\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Up()));
  const Rows jobs = Listed(kJobs);
  ASSERT_EQ(jobs.size(), 1u);
  Kube("DELETE", std::string(kJobs) + "/" + jobs[0] + "?propagationPolicy=Orphan");
  while (!Listed(kJobs).empty()) {
  }
  EXPECT_EQ(Listed(std::string(kSpace) + "/pods").size(), 1u);
  ExpectDownLeavesNothing();
}

TEST_F(KubernetesCluster, AQuotaIsTold) {
  Kube("POST", std::string(kSpace) + "/resourcequotas",
       R"({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})");
  // It counts once the controller has seen it.
  while (Kube("GET", std::string(kSpace) + "/resourcequotas/few").find("\"used\"") ==
         std::string::npos) {
  }
  Write("", "    min: 2\n");
  const ProgramResult few = Up({"--wait", "8s"});
  EXPECT_EQ(few.exit_status, 1);
  EXPECT_THAT(few.out + few.err, HasSubstr("exceeded quota: few"));
  ExpectDownLeavesNothing();
  Kube("DELETE", std::string(kSpace) + "/resourcequotas/few");
}

}  // namespace
}  // namespace tune::testing
