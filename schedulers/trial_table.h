// What a scheduler knows of each trial, by number. T is default-constructible: a trial that was
// never added.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "core/check.h"
#include "core/ids.h"

namespace tune {

template <typename T>
class TrialTable {
 public:
  // Makes room for it; one that is there already stays as it is.
  T& Add(TrialNumber trial) {
    TUNE_CHECK(trial.value >= 0);
    const size_t index = static_cast<size_t>(trial.value);
    if (index >= rows_.size()) rows_.resize(index + 1);
    return rows_[index];
  }
  // Require that it was added.
  T& operator[](TrialNumber trial) { return rows_[IndexOf(trial)]; }
  const T& operator[](TrialNumber trial) const { return rows_[IndexOf(trial)]; }

  // In order of number.
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  size_t size() const { return rows_.size(); }

 private:
  size_t IndexOf(TrialNumber trial) const {
    TUNE_CHECK(trial.value >= 0 && static_cast<size_t>(trial.value) < rows_.size());
    return static_cast<size_t>(trial.value);
  }

  std::vector<T> rows_;
};

}  // namespace tune
