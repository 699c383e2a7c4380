// One rank's part of data-parallel training: of each batch it runs the images that are its share
// and adds up with the other ranks, so that each rank hears of the whole batch, and all of them
// hold the same weights after each step.
//
// The ranks' shares of a batch lie one after the other in the batch's order, as even as can be. So
// a training does with N ranks what it does with one, but for rounding and batch norm: each rank
// normalises by the statistics of its own share, and its running statistics are those of its
// shares until the end of an epoch, when each rank takes the mean of all (what it would be, had
// they been averaged at each step).
//
// Thread rule: as BatchRunner.
// Errors: the inner runner's and AllReduce's.
#pragma once

#include <memory>
#include <string>

#include "models/gradient_exchange.h"
#include "models/ranks/all_reduce.h"
#include "models/train/batch_runner.h"

namespace tune::models {

// A network of one rank takes batches of at most so many images.
int ShareMax(int batch_size, int world_size);

// `inner` runs `network` on this rank's data set; `network` and `ranks` outlive the runner.
// `exchange`: by which the network's gradients are added up; null: by `ranks`. `note`: what a log
// should say besides the inner one's.
std::unique_ptr<BatchRunner> MakeRankBatchRunner(
    std::unique_ptr<BatchRunner> inner, MobileNetV2& network, AllReduce& ranks,
    std::unique_ptr<GradientExchange> exchange = nullptr, std::string note = "");

}  // namespace tune::models
