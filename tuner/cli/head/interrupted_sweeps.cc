#include "tuner/cli/head/interrupted_sweeps.h"

namespace tune {
namespace {

constexpr Duration kTryAgainEvery = Seconds(60);

}  // namespace

void InterruptedSweeps::Add(const std::string& name, const std::string& package, Instant due) {
  entries_[name] = {package, due, ""};
}

std::vector<std::string> InterruptedSweeps::Due(Instant now) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) {
    if (now >= entry.due) names.push_back(name);
  }
  return names;
}

std::string InterruptedSweeps::Refuse(const std::string& name, const Status& why, Instant now) {
  Entry& entry = entries_[name];
  entry.due = now + kTryAgainEvery;
  if (entry.said == why.message()) return "";
  entry.said = why.message();
  return name + " cannot go on: " + why.message() + "; it is tried again each minute";
}

std::set<std::string> InterruptedSweeps::Packages() const {
  std::set<std::string> packages;
  for (const auto& [name, entry] : entries_) {
    if (!entry.package.empty()) packages.insert(entry.package);
  }
  return packages;
}

}  // namespace tune
