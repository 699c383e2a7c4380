# Workers from the engines that people have: what is wanted, what was asked for, and the engines.
tune_library(tune_cluster_file
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/engines/cluster_change.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/cluster_file.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/cluster_schema.cc
  DEPS tune_core tune_spec tune_network_address)
tune_library(tune_pool_book
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/engines/demand.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/pool_book.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/pool_book_answers.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/pool_book_state.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/workers_wanted.cc
  DEPS tune_core tune_placement tune_cluster_file tune_controller)
tune_library(tune_engines
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/engines/command_engine.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/engine_desk.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/kube_api.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/kube_config.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/kube_objects.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/kube_watch.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/kubernetes_engine.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/program_call.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/slurm_engine.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/ssh_engine.cc
    ${CMAKE_CURRENT_LIST_DIR}/engines/worker_programs.cc
  DEPS tune_bucket tune_core tune_core_posix tune_pool_book tune_secrets tune_spec)
