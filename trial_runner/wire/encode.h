// Messages into their wire form, which must be empty before.
//
// Thread rule: pure functions.
#pragma once

#include "proto/tune/v1/tune.pb.h"
#include "trial_runner/wire/codec.h"

namespace tune {

void Put(const FromWorker& message, v1::FromWorker* out);
void Put(const ToWorker& message, v1::ToWorker* out);
void Put(const FetchRequest& request, v1::FetchRequest* out);
void Put(const CheckpointCall& call, v1::CheckpointCall* out);
void Put(const CheckpointAnswer& answer, v1::CheckpointAnswer* out);

}  // namespace tune
