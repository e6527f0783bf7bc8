// Draws boxes and labels into pictures of 8-bit planes, without GStreamer.
//
// Everything is cut to the picture, whatever the box: outside, reversed, larger than it. Chroma of
// I420 and NV12 is written for every 2 × 2 block that has a drawn pixel.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace sg {

enum class OsdFormat { kI420, kNv12, kBgr32, kRgb32, kRgb24 };

/// A picture that somebody else owns. Strides are in bytes and may be anything that holds a row.
struct OsdPicture {
  OsdFormat format = OsdFormat::kI420;
  int width = 0;
  int height = 0;
  uint8_t* planes[3] = {};
  int strides[3] = {};
};

/// In pixels of the picture.
struct OsdBox {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  int class_id = 0;   ///< chooses the colour
  std::string label;  ///< UTF-8; empty: none
};

struct OsdSettings {
  int border_width = 2;  ///< pixels, inwards from the box's edge
  bool draw_boxes = true;
  bool draw_labels = true;
};

struct OsdColour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

/// The same colour for the same class in every run; neighbouring ids differ clearly.
OsdColour ClassColour(int class_id);

/// Not thread-safe: it keeps the rendered labels.
class OsdPainter {
 public:
  /// How tall the letters are for a picture of this height, in pixels.
  static int FontHeight(int picture_height);

  void Draw(const OsdPicture& picture, const std::vector<OsdBox>& boxes,
            const OsdSettings& settings);

 private:
  /// Coverage of a text, 0 to 255, row by row.
  struct Mask {
    int width = 0;
    int height = 0;
    std::vector<uint8_t> alpha;
  };
  struct Area {
    int left;
    int top;
    int right;
    int bottom;
  };

  static Mask Render(const std::string& text, int font_height);
  static void Fill(const OsdPicture& picture, Area area, OsdColour colour);
  static void DrawBorder(const OsdPicture& picture, const OsdBox& box, int border_width);
  static void BlendMask(const OsdPicture& picture, const Mask& mask, int left, int top,
                        OsdColour colour);
  const Mask& MaskOf(const std::string& text, int font_height);
  void DrawLabel(const OsdPicture& picture, const OsdBox& box);

  std::unordered_map<std::string, Mask> masks_;  ///< of font_height_
  int font_height_ = 0;
};

}  // namespace sg
