# Whether the CUDA sources of models/cuda are compiled: TUNE_HAS_CUDA. Where not, their fallback is. Sanitizers are the host
# compiler's, so those builds have the fallback.

set(TUNE_HAS_CUDA OFF)
if(TUNE_CUDA AND NOT (TUNE_CUDA STREQUAL "AUTO" AND TUNE_SANITIZE))
  # Machine code for A100 and H100/H200, and PTX that newer ones translate when they load it. To be set before the language
  # is enabled: CMake 3.25 would try an architecture that CUDA 13 no longer knows.
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "Architectures of the CUDA sources")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    # CMake 3.25 does not know how the nvcc of CUDA 13 is told the standard.
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    # The kernels call constexpr functions of the standard library. nvcc takes each assignment of a [[nodiscard]] class for
    # a dropped value; the host compiler, which reads the same source, tells the real ones.
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--diag-suppress=2810;-Xcompiler=-Wall,-Wno-unknown-pragmas>")
    if(TUNE_WERROR)
      add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror=unused-result>")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(TUNE_HAS_CUDA ON)
  elseif(NOT TUNE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "TUNE_CUDA is ${TUNE_CUDA} and there is no nvcc; set CMAKE_CUDA_COMPILER, or TUNE_CUDA=OFF")
  endif()
endif()
