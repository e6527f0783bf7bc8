#include "gst/osd_core.h"

#include <gtest/gtest.h>

#include <random>

namespace sg {
namespace {

constexpr uint8_t kGuard = 0xA5;
constexpr uint8_t kGrey = 0x40;

// A picture with guard bytes after every row and after the last plane.
class Canvas {
 public:
  Canvas(OsdFormat format, int width, int height, int padding) {
    picture_.format = format;
    picture_.width = width;
    picture_.height = height;
    const int half_width = (width + 1) / 2;
    const int half_height = (height + 1) / 2;
    switch (format) {
      case OsdFormat::kI420:
        planes_ = {{width, height}, {half_width, half_height}, {half_width, half_height}};
        break;
      case OsdFormat::kNv12:
        planes_ = {{width, height}, {2 * half_width, half_height}};
        break;
      case OsdFormat::kRgb24:
        planes_ = {{3 * width, height}};
        break;
      default:
        planes_ = {{4 * width, height}};
    }
    size_t size = 0;
    for (const Plane& plane : planes_) {
      size += static_cast<size_t>(plane.row_bytes + padding) * static_cast<size_t>(plane.rows);
    }
    bytes_.assign(size, kGuard);
    size_t offset = 0;
    for (size_t i = 0; i < planes_.size(); ++i) {
      picture_.planes[i] = bytes_.data() + offset;
      picture_.strides[i] = planes_[i].row_bytes + padding;
      for (int y = 0; y < planes_[i].rows; ++y) {
        std::fill_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), planes_[i].row_bytes, kGrey);
        offset += static_cast<size_t>(picture_.strides[i]);
      }
    }
  }
  const OsdPicture& picture() const { return picture_; }
  const uint8_t* At(int plane, int byte, int y) const {
    return picture_.planes[plane] + static_cast<ptrdiff_t>(y) * picture_.strides[plane] + byte;
  }
  bool GuardsAreIntact() const {
    for (size_t i = 0; i < planes_.size(); ++i) {
      for (int y = 0; y < planes_[i].rows; ++y) {
        for (int x = planes_[i].row_bytes; x < picture_.strides[i]; ++x) {
          if (*At(static_cast<int>(i), x, y) != kGuard) return false;
        }
      }
    }
    return true;
  }
  // Bytes of the picture that are not grey any more.
  int Changed(int plane) const {
    int count = 0;
    for (int y = 0; y < planes_[static_cast<size_t>(plane)].rows; ++y) {
      for (int x = 0; x < planes_[static_cast<size_t>(plane)].row_bytes; ++x) {
        count += *At(plane, x, y) != kGrey;
      }
    }
    return count;
  }

 private:
  struct Plane {
    int row_bytes;
    int rows;
  };
  OsdPicture picture_;
  std::vector<Plane> planes_;
  std::vector<uint8_t> bytes_;
};

constexpr OsdFormat kFormats[] = {OsdFormat::kI420, OsdFormat::kNv12, OsdFormat::kBgr32,
                                  OsdFormat::kRgb32, OsdFormat::kRgb24};

TEST(OsdCore, ABorderIsDrawnInwardsInTheClassColour) {
  Canvas canvas(OsdFormat::kBgr32, 20, 10, 0);
  OsdPainter().Draw(canvas.picture(), {{2, 3, 8, 6, 5, ""}}, {.border_width = 1});
  const OsdColour colour = ClassColour(5);
  for (const auto& [x, y] : {std::pair(2, 3), std::pair(9, 3), std::pair(2, 8), std::pair(9, 8)}) {
    EXPECT_EQ(*canvas.At(0, 4 * x, y), colour.blue);
    EXPECT_EQ(*canvas.At(0, 4 * x + 1, y), colour.green);
    EXPECT_EQ(*canvas.At(0, 4 * x + 2, y), colour.red);
    EXPECT_EQ(*canvas.At(0, 4 * x + 3, y), kGrey);  // the fourth byte is not ours
  }
  for (const auto& [x, y] : {std::pair(1, 3), std::pair(10, 3), std::pair(3, 4), std::pair(2, 9)}) {
    EXPECT_EQ(*canvas.At(0, 4 * x, y), kGrey) << x << "," << y;
  }
  EXPECT_TRUE(canvas.GuardsAreIntact());
}

TEST(OsdCore, TheSameColourArrivesInEveryFormat) {
  const OsdColour colour = ClassColour(1);
  const std::vector<OsdBox> whole = {{0, 0, 8, 8, 1, ""}};
  Canvas rgb(OsdFormat::kRgb24, 8, 8, 0);
  Canvas i420(OsdFormat::kI420, 8, 8, 0);
  Canvas nv12(OsdFormat::kNv12, 8, 8, 0);
  for (const Canvas* canvas : {&rgb, &i420, &nv12}) {
    OsdPainter().Draw(canvas->picture(), whole, {.border_width = 8});
  }
  EXPECT_EQ(*rgb.At(0, 9, 3), colour.red);
  EXPECT_EQ(*rgb.At(0, 11, 3), colour.blue);
  const double y = 16 + 0.257 * colour.red + 0.504 * colour.green + 0.098 * colour.blue;
  const double u = 128 - 0.148 * colour.red - 0.291 * colour.green + 0.439 * colour.blue;
  const double v = 128 + 0.439 * colour.red - 0.368 * colour.green - 0.071 * colour.blue;
  EXPECT_NEAR(*i420.At(0, 3, 3), y, 1.5);
  EXPECT_NEAR(*i420.At(1, 1, 1), u, 1.5);
  EXPECT_NEAR(*i420.At(2, 1, 1), v, 1.5);
  EXPECT_EQ(*nv12.At(0, 3, 3), *i420.At(0, 3, 3));
  EXPECT_EQ(*nv12.At(1, 2, 1), *i420.At(1, 1, 1));
  EXPECT_EQ(*nv12.At(1, 3, 1), *i420.At(2, 1, 1));
}

TEST(OsdCore, ALabelIsDrawnAboveItsBox) {
  for (const OsdFormat format : kFormats) {
    Canvas canvas(format, 160, 120, 3);
    OsdPainter().Draw(canvas.picture(), {{20, 60, 40, 40, 0, "person 0.87"}},
                      {.border_width = 2, .draw_boxes = false});
    EXPECT_GT(canvas.Changed(0), 100);
    for (int x = 0; x < 160; ++x) EXPECT_EQ(*canvas.At(0, x, 61), kGrey);
    EXPECT_TRUE(canvas.GuardsAreIntact());
  }
}

TEST(OsdCore, ALabelHasLettersNotOnlyABackground) {
  Canvas canvas(OsdFormat::kRgb24, 160, 120, 0);
  OsdPainter().Draw(canvas.picture(), {{20, 60, 40, 40, 0, "WWW"}}, {.draw_boxes = false});
  const uint8_t back = ClassColour(0).red;
  int letters = 0;
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 160; ++x) {
      const uint8_t red = *canvas.At(0, 3 * x, y);
      letters += red != kGrey && red != back;
    }
  }
  if (letters == 0) GTEST_SKIP() << "no font is installed";
  EXPECT_GT(letters, 20);
}

TEST(OsdCore, NothingIsDrawnThatIsSwitchedOff) {
  Canvas canvas(OsdFormat::kI420, 64, 48, 0);
  OsdPainter().Draw(canvas.picture(), {{4, 4, 20, 20, 0, "a"}},
                    {.draw_boxes = false, .draw_labels = false});
  OsdPainter().Draw(canvas.picture(), {{4, 4, 20, 20, 0, ""}}, {.border_width = 0});
  EXPECT_EQ(canvas.Changed(0), 0);
}

TEST(OsdCore, BoxesOutsideThePictureChangeNothing) {
  for (const OsdFormat format : kFormats) {
    Canvas canvas(format, 33, 17, 5);
    OsdPainter().Draw(canvas.picture(),
                      {{-50, 2, 20, 5, 0, "left"},
                       {40, 2, 20, 5, 1, "right"},
                       {2, -50, 20, 5, 2, "above"},
                       {2, 20, 5, 5, 3, "below"},
                       {3, 3, -5, -5, 4, ""}},
                      {});
    EXPECT_EQ(canvas.Changed(0), 0);
    EXPECT_TRUE(canvas.GuardsAreIntact());
  }
}

TEST(OsdCore, NoBoxHoweverWildLeavesThePicture) {
  std::mt19937 random(7);
  const int extremes[] = {0, 1, -1, 2, 17, 33, 1000, INT32_MAX, INT32_MIN, INT32_MAX / 2};
  const auto pick = [&] { return extremes[random() % std::size(extremes)]; };
  OsdPainter painter;
  for (const OsdFormat format : kFormats) {
    for (const auto& [width, height] :
         {std::pair(1, 1), std::pair(2, 1), std::pair(1, 7), std::pair(33, 17)}) {
      Canvas canvas(format, width, height, 7);
      for (int i = 0; i < 200; ++i) {
        painter.Draw(canvas.picture(), {{pick(), pick(), pick(), pick(), pick(), "wild"}},
                     {.border_width = pick()});
      }
      EXPECT_TRUE(canvas.GuardsAreIntact());
    }
  }
}

TEST(OsdCore, LabelsThatAreNotTextOrTooLongAreSafe) {
  Canvas canvas(OsdFormat::kI420, 64, 48, 0);
  OsdPainter painter;
  painter.Draw(canvas.picture(),
               {{4, 30, 20, 10, 0, "\xff\xfe"}, {4, 30, 20, 10, 0, std::string(100'000, 'x')}}, {});
  std::string many_bytes;
  for (int i = 0; i < 1000; ++i) many_bytes += "ä";
  painter.Draw(canvas.picture(), {{4, 30, 20, 10, 0, "x" + many_bytes}}, {});
  EXPECT_TRUE(canvas.GuardsAreIntact());
}

TEST(OsdCore, ClassColoursAreStableAndDistinct) {
  const auto distance = [](OsdColour a, OsdColour b) {
    return std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
  };
  for (int id = 0; id < 80; ++id) {
    EXPECT_EQ(distance(ClassColour(id), ClassColour(id)), 0);
    for (int next = 1; next < 5; ++next) {
      EXPECT_GT(distance(ClassColour(id), ClassColour(id + next)), 60) << id << "+" << next;
    }
  }
}

}  // namespace
}  // namespace sg
