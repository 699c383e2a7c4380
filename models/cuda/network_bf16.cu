#include "models/cuda/networks_of.cuh"

namespace tune::models::cuda {

template struct NetworksOf<Bf16>;

}  // namespace tune::models::cuda
