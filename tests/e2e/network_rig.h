// Two machines on one: network namespaces with a link between them that can be cut, made slow or
// lossy. Needs root, iproute2 and nftables; WhyNoNetwork says what is missing.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

namespace tune::testing {

// Empty where such networks can be made, else the reason for a test to skip.
std::string WhyNoNetwork();

class NetworkRig {
 public:
  NetworkRig();
  ~NetworkRig();
  NetworkRig(const NetworkRig&) = delete;
  NetworkRig& operator=(const NetworkRig&) = delete;

  // For Program: the namespaces' files.
  std::string tuner_network() const { return "/run/netns/" + tuner_; }
  std::string worker_network() const { return "/run/netns/" + worker_; }
  const char* tuner_host() const { return "10.77.0.1"; }

  // Each replaces what was before. Packets of both directions are meant.
  void Heal();
  void Partition();        // Swallowed without a word: a pulled cable.
  void Reset();            // Connections are broken, new ones refused.
  void Lose(int percent);  // Of the packets, at random.
  // Packets that were not let through since the last change of the filter.
  int64_t DroppedCount() const;
  // Bits a second, "256kbit"; stays until the end.
  void SlowDown(const std::string& rate);

 private:
  void Filter(const std::string& verdict);

  std::string tuner_;
  std::string worker_;
};

}  // namespace tune::testing
