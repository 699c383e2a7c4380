# Sweeps in virtual time, over recorded curves or a formula.
tune_library(tune_simulate
  SOURCES
    simulate/compared_scheduler.cc
    simulate/csv_reader.cc
    simulate/curve_table.cc
    simulate/formula_curves.cc
    simulate/recorded_configuration.cc
    simulate/recorded_trials.cc
    simulate/simulation.cc
    simulate/sweep_plan.cc
    simulate/virtual_sweep.cc
  DEPS tune_core tune_search tune_schedulers tune_curve tune_trainables tune_controller tune_repeated_runs tune_spec)

tune_library(tune_simulate_command
  SOURCES cli/run/configuration_check.cc cli/run/plan_command.cc cli/run/simulate_command.cc cli/run/simulate_report.cc cli/look/stored_curves.cc
  DEPS tune_simulate tune_queries tune_fusion)
