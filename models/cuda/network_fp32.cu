#include "models/cuda/networks_of.cuh"

namespace tune::models::cuda {

template struct NetworksOf<float>;

}  // namespace tune::models::cuda
