// libFuzzer target: any text of a journal's step, or of a stream's, is read or refused, and what is
// read is written back so that it is read the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/event.h"
#include "tuner/sweep_event.h"

tune::FuzzStart tune::StartOfFuzz() {
  return {
      {R"([["j",5,"far","10.0.0.2:5",7,2000,[[0,"H200",9,"GPU-1b2c"],[1,"L",0]],"9f3c",[[12,2,77,1000,[0,500,1,1000],[5,0]]]]])",
       R"([["r",3,12,2,77,5,9,1,["val_accuracy",0.1,"a\nb",-0.0],"/tmp/it's",1048576,"00ff"],["d"]])",
       R"([["e",3,12,2,77,"device_out_of_memory","no \u0001 room",2],["g",2,1],["l",5,1,"it"]])",
       R"([["i"],["t",1],["z",90000000],["s",-1],["p",3,1],["u",-1],["x",0,0],["c",4],["n","{}"]])",
       R"([["v",[["{}","H200",8,0.1,9],["","",1,0.0,0]]],["m",5,12,2,77,32],["w",4],["h","a"],["a"]])",
       R"([["T",-5],["L"],["D"],["B"],["W",1],["R",["r",3,12,2,77,5,9,0,["v",0.1]],3,"H200"],["."]])",
       R"([["E",["e",3,12,2,77,"lost","why"],0,1,13,1,78],["N","lost",12,2,77,"why",1]])",
       R"([["N","dropped",12,2,77],["N","away",3],["N","back",3,4],["H","kept",[12,2,77,1,5,0,"",[0,500]],3]])",
       R"([["H","unsent",[[12,2,77,1,5,2000,"k",[0,500,1,1000],[9,0]],"H200",41],3],["K",-1],["M"]])",
       R"([["H","unknown",12,2,77,4],["H","left","far"," is lost"],["Q",[[13,1,78,0,6,0,"",[]],"",0]]])",
       R"([["G",12,[[12,2,77,1,5,0,"",[0,500]],"",4],[[13,1,78,0,6,0,"",[]],"",0]],["P"],["P","4 CPUs"]])",
       R"([["U",1000,500,1,2,3,1,4,5,1]])"},
      50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto events = tune::DecodeEvents(text); events.ok()) {
    const std::string written = tune::EncodeEvents(*events);
    const auto again = tune::DecodeEvents(written);
    TUNE_CHECK(again.ok() && tune::EncodeEvents(*again) == written);
  }
  if (const auto stream = tune::DecodeStream(text); stream.ok()) {
    const std::string written = tune::EncodeStream(*stream);
    const auto again = tune::DecodeStream(written);
    TUNE_CHECK(again.ok() && tune::EncodeStream(*again) == written);
  }
  return 0;
}
