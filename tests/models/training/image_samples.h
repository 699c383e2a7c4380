// Pictures and data folders for tests of what reads them.
#pragma once

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "core/check.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {

// An encoded picture in one colour with a gradient; `extension` as OpenCV takes it.
inline std::string Encoded(const std::string& extension, int level, int width = 48,
                           int height = 40) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.at<cv::Vec3b>(y, x) = cv::Vec3b(static_cast<uint8_t>(level), static_cast<uint8_t>(x),
                                            static_cast<uint8_t>(255 - level));
    }
  }
  std::vector<uint8_t> bytes;
  TUNE_CHECK(cv::imencode(extension, image, bytes));
  return std::string(bytes.begin(), bytes.end());
}

// Two classes in folders, two images each in every split.
inline void WriteClassFolders(const TempFolder& folder) {
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (int label = 0; label < 2; ++label) {
      for (int i = 0; i < 2; ++i) {
        WriteText(folder / (std::string(split) + "/" + (label == 0 ? "apple" : "pear") + "/" +
                            std::to_string(i) + ".jpg"),
                  Encoded(".jpg", 100 * label + 10 * i));
      }
    }
  }
}

}  // namespace tune::models
