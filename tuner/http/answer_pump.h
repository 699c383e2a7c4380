// Hands on what an answer says as it comes about (http_message.h), a piece at a time.
//
// Thread rule: the executor's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/http/http_message.h"

namespace tune {

class AnswerPump : public std::enable_shared_from_this<AnswerPump> {
 public:
  AnswerPump(boost::asio::any_io_executor executor, std::shared_ptr<AnswerSource> source);
  ~AnswerPump();

  // Calls `take` once, later: with the next piece, never empty, or with nothing: it is over. Not
  // before `take` of the last call was called.
  using Take = std::function<void(std::optional<std::string>)>;
  void Next(Take take);
  // Nothing is called any more.
  void Stop();

 private:
  void Wait();
  void Give(std::optional<std::string> piece);

  std::shared_ptr<AnswerSource> source_;
  boost::asio::posix::stream_descriptor descriptor_;  // The source's.
  boost::asio::steady_timer silence_;
  Take take_;
};

}  // namespace tune
