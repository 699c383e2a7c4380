#include "tuner/http/answer_pump.h"

#include <chrono>
#include <utility>

namespace tune {
namespace {

constexpr std::chrono::seconds kSilence{15};

}  // namespace

AnswerPump::AnswerPump(boost::asio::any_io_executor executor, std::shared_ptr<AnswerSource> source)
    : source_(std::move(source)), descriptor_(executor, source_->fd()), silence_(executor) {}

AnswerPump::~AnswerPump() { (void)descriptor_.release(); }

void AnswerPump::Next(Take take) {
  take_ = std::move(take);
  Wait();
}

void AnswerPump::Stop() {
  take_ = nullptr;
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
  silence_.cancel();
}

// Whoever waits is held by `take_`, which is gone when it has been called or nobody is to be.
void AnswerPump::Wait() {
  silence_.expires_after(kSilence);
  silence_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = error ? nullptr : weak.lock();
    if (self && self->take_) self->Give(self->source_->Silence());
  });
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [weak = weak_from_this()](boost::system::error_code error) {
                           const auto self = error ? nullptr : weak.lock();
                           if (!self || !self->take_) return;
                           std::optional<std::string> piece = self->source_->Read();
                           if (piece && piece->empty()) return self->Wait();
                           self->Give(std::move(piece));
                         });
}

void AnswerPump::Give(std::optional<std::string> piece) {
  const Take take = std::exchange(take_, nullptr);
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
  silence_.cancel();
  take(std::move(piece));
}

}  // namespace tune
