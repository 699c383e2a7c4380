// Why a program failed, by the end of what it printed.
#include "trial_runner/command/output_tail.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tune {
namespace {

TEST(OutputTail, TheCauseIsWhatATracebackEndsWithAndNotWhatIsSaidBehindIt) {
  const std::string traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1\n";
  const std::string error = traceback + "ValueError: lr must be positive\n";
  const std::pair<std::string, std::string> cases[] = {
      {error + "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n",
       "ValueError: lr must be positive"},
      // Of the program that ran it.
      {error + traceback + "subprocess.CalledProcessError: Command '['python3']' returned 1.\n",
       "ValueError: lr must be positive"},
      {error + traceback +
           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n=====\n"
           "a.py FAILED\n-----\nRoot Cause\nrank: 0\nexitcode: 1\n=====\n",
       "ValueError: lr must be positive"},
      {traceback + "subprocess.CalledProcessError: Command '['make']' returned 2.\n",
       "subprocess.CalledProcessError: Command '['make']' returned 2."},
      {error + "\nDuring handling of the above exception, another exception occurred:\n\n" +
           traceback + "KeyError: 'lr'\n",
       "KeyError: 'lr'"},
      {traceback +
           "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for fc\n",
       "RuntimeError: Error(s) in loading state_dict for Net: size mismatch for fc"},
      {traceback + "ModuleNotFoundError: No module named 'x'\nsee README\n",
       "ModuleNotFoundError: No module named 'x'"},
      // It went on after that one.
      {error + "1\n2\n3\n4\n5\nno more data\n", "no more data"},
      {"a warning\nerror: no such file\n", "error: no such file"},
      // R, Node.js, Java, Rust, Go and Julia.
      {"Error in f(0.1) : lr is too high\nCalls: f\nExecution halted\n",
       "Error in f(0.1) : lr is too high"},
      {"Error in eval(x) :\n  object 'lr' not found\nExecution halted\n",
       "Error in eval(x) : object 'lr' not found"},
      {"/a.js:1\nthrow new TypeError('no lr')\n^\n\nTypeError: no lr\n    at Object.<anonymous> "
       "(/a.js:1:7)\n\nNode.js v18.19.0\n",
       "TypeError: no lr"},
      {"Exception in thread \"main\" java.lang.RuntimeException: epoch 1\n\tat A.main(A.java:3)\n"
       "Caused by: java.io.IOException: no data\n\tat A.read(A.java:9)\n\t... 1 more\n",
       "Caused by: java.io.IOException: no data"},
      {"thread 'main' panicked at src/main.rs:2:5:\nlr is too high\nnote: run with "
       "`RUST_BACKTRACE=1` environment variable to display a backtrace\n",
       "thread 'main' panicked at src/main.rs:2:5: lr is too high"},
      {"panic: lr is too high\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:4 +0x25\n",
       "panic: lr is too high"},
      {"panic: no data\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:4 +0x25\nexit status 2\n",
       "panic: no data"},
      {"ERROR: LoadError: lr is too high\nStacktrace:\n [1] top-level scope\n   @ /a.jl:1\n"
       "in expression starting at /a.jl:1\n",
       "ERROR: LoadError: lr is too high"},
      {"exit status 2\n", "exit status 2"},
      // Of what ran it.
      {"cannot open data\nmake: *** [Makefile:2: train] Error 1\n", "cannot open data"},
      {"0.532\nIndexError: no rank 3\n-----\nPrimary job terminated normally, but 1 process "
       "returned\na non-zero exit code.\n-----\nmpirun detected that\none process\nended\n-----\n",
       "IndexError: no rank 3"},
      {"0.532\nno such partition\nsrun: error: node1: task 0: Exited with exit code 1\n",
       "no such partition"},
  };
  for (const auto& [printed, cause] : cases) {
    OutputTail tail;
    tail.Add(printed);
    EXPECT_EQ(tail.Cause(), cause) << printed;
  }
}

TEST(OutputTail, WhatWasCaughtBeforeAReportIsNoCause) {
  OutputTail tail;
  tail.Add("Traceback (most recent call last):\n  File \"a.py\"\nValueError: caught\n");
  tail.Mark();
  tail.Add("no more data\n");
  EXPECT_EQ(tail.Cause(), "no more data");
}

TEST(OutputTail, ACauseIsCutToWhatFitsAMessage) {
  OutputTail tail;
  tail.Add("Traceback (most recent call last):\n  File \"a.py\"\nValueError: " +
           std::string(1'000, 'x') + "\n");
  EXPECT_EQ(tail.Cause().size(), 303u);
  EXPECT_EQ(OutputTail().Cause(), "");
}

}  // namespace
}  // namespace tune
