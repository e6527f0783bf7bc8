#include "gst/osd_core.h"

#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace sg {
namespace {

constexpr size_t kMaxMasks = 1024;
constexpr size_t kMaxLabelBytes = 128;
constexpr int kMinFontHeight = 10;
constexpr int kPadding = 2;  // around a label's letters, in pixels
constexpr OsdColour kWhite = {255, 255, 255};
constexpr OsdColour kBlack = {0, 0, 0};

struct Yuv {
  uint8_t y;
  uint8_t u;
  uint8_t v;
};

// BT.601, limited range.
Yuv ToYuv(OsdColour colour) {
  const int r = colour.red;
  const int g = colour.green;
  const int b = colour.blue;
  return {static_cast<uint8_t>((66 * r + 129 * g + 25 * b + 128) / 256 + 16),
          static_cast<uint8_t>((-38 * r - 74 * g + 112 * b + 128 + 32768) / 256),
          static_cast<uint8_t>((112 * r - 94 * g - 18 * b + 128 + 32768) / 256)};
}

bool IsYuv(OsdFormat format) { return format == OsdFormat::kI420 || format == OsdFormat::kNv12; }
int BytesPerPixel(OsdFormat format) { return format == OsdFormat::kRgb24 ? 3 : 4; }
int RedByte(OsdFormat format) { return format == OsdFormat::kBgr32 ? 2 : 0; }

uint8_t Mix(uint8_t below, uint8_t above, int alpha) {
  return static_cast<uint8_t>((below * (255 - alpha) + above * alpha + 127) / 255);
}

uint8_t* Row(const OsdPicture& picture, int plane, int y) {
  return picture.planes[plane] + static_cast<ptrdiff_t>(y) * picture.strides[plane];
}

// The two chroma values of block (x, y).
struct Chroma {
  uint8_t* u;
  uint8_t* v;
};
Chroma ChromaAt(const OsdPicture& picture, int x, int y) {
  if (picture.format == OsdFormat::kNv12) {
    uint8_t* pair = Row(picture, 1, y) + 2 * x;
    return {pair, pair + 1};
  }
  return {Row(picture, 1, y) + x, Row(picture, 2, y) + x};
}

std::string CutLabel(const std::string& label) {
  if (label.size() <= kMaxLabelBytes) return label;
  size_t end = kMaxLabelBytes;
  while (end > 0 && (static_cast<uint8_t>(label[end]) & 0xC0) == 0x80) --end;
  return label.substr(0, end);
}

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
using Context = std::unique_ptr<cairo_t, void (*)(cairo_t*)>;

Surface NewSurface(int width, int height) {
  return {cairo_image_surface_create(CAIRO_FORMAT_A8, width, height), cairo_surface_destroy};
}

Context NewContext(cairo_surface_t* surface, int font_height) {
  Context context(cairo_create(surface), cairo_destroy);
  cairo_select_font_face(context.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_BOLD);
  cairo_set_font_size(context.get(), font_height);
  return context;
}

}  // namespace

OsdColour ClassColour(int class_id) {
  // Steps of the golden ratio spread any number of hues evenly.
  const double hue = std::fmod(std::abs(static_cast<double>(class_id)) * 0.618033988749895, 1.0);
  const auto channel = [hue](double shift) {
    const double k = std::fmod(shift + hue * 6.0, 6.0);
    const double level = 1.0 - 0.85 * std::clamp(std::min(k, 4.0 - k), 0.0, 1.0);
    return static_cast<uint8_t>(std::lround(level * 240));
  };
  return {channel(5), channel(3), channel(1)};
}

int OsdPainter::FontHeight(int picture_height) {
  return std::max(kMinFontHeight, picture_height / 40);
}

void OsdPainter::Draw(const OsdPicture& picture, const std::vector<OsdBox>& boxes,
                      const OsdSettings& settings) {
  if (picture.width <= 0 || picture.height <= 0) return;
  for (const OsdBox& box : boxes) {
    if (settings.draw_boxes) DrawBorder(picture, box, settings.border_width);
  }
  // Labels last: a box may not cross out its neighbour's text.
  for (const OsdBox& box : boxes) {
    if (settings.draw_labels && !box.label.empty()) DrawLabel(picture, box);
  }
}

void OsdPainter::Fill(const OsdPicture& picture, Area area, OsdColour colour) {
  area.left = std::clamp(area.left, 0, picture.width);
  area.right = std::clamp(area.right, 0, picture.width);
  area.top = std::clamp(area.top, 0, picture.height);
  area.bottom = std::clamp(area.bottom, 0, picture.height);
  if (area.left >= area.right || area.top >= area.bottom) return;

  if (!IsYuv(picture.format)) {
    const int step = BytesPerPixel(picture.format);
    const int red = RedByte(picture.format);
    for (int y = area.top; y < area.bottom; ++y) {
      uint8_t* pixel = Row(picture, 0, y) + static_cast<ptrdiff_t>(area.left) * step;
      for (int x = area.left; x < area.right; ++x, pixel += step) {
        pixel[red] = colour.red;
        pixel[1] = colour.green;
        pixel[2 - red] = colour.blue;
      }
    }
    return;
  }
  const Yuv yuv = ToYuv(colour);
  for (int y = area.top; y < area.bottom; ++y) {
    std::fill_n(Row(picture, 0, y) + area.left, area.right - area.left, yuv.y);
  }
  for (int y = area.top / 2; y < (area.bottom + 1) / 2; ++y) {
    for (int x = area.left / 2; x < (area.right + 1) / 2; ++x) {
      const Chroma chroma = ChromaAt(picture, x, y);
      *chroma.u = yuv.u;
      *chroma.v = yuv.v;
    }
  }
}

void OsdPainter::DrawBorder(const OsdPicture& picture, const OsdBox& box, int border_width) {
  if (box.width <= 0 || box.height <= 0 || border_width <= 0) return;
  // Past these the box's edges are outside anyway, and sums below cannot overflow.
  const auto near_picture = [](int64_t value, int size) {
    return static_cast<int>(std::clamp<int64_t>(value, -int64_t{size} - 1, 2 * int64_t{size} + 1));
  };
  const int left = near_picture(box.x, picture.width);
  const int top = near_picture(box.y, picture.height);
  const int right = near_picture(int64_t{box.x} + box.width, picture.width);
  const int bottom = near_picture(int64_t{box.y} + box.height, picture.height);
  const int border = std::min({border_width, right - left, bottom - top});
  const OsdColour colour = ClassColour(box.class_id);
  Fill(picture, {left, top, right, top + border}, colour);
  Fill(picture, {left, bottom - border, right, bottom}, colour);
  Fill(picture, {left, top, left + border, bottom}, colour);
  Fill(picture, {right - border, top, right, bottom}, colour);
}

OsdPainter::Mask OsdPainter::Render(const std::string& text, int font_height) {
  Mask mask;
  const Surface probe = NewSurface(1, 1);
  const Context measure = NewContext(probe.get(), font_height);
  cairo_text_extents_t text_size;
  cairo_font_extents_t font_size;
  cairo_text_extents(measure.get(), text.c_str(), &text_size);
  cairo_font_extents(measure.get(), &font_size);
  if (cairo_status(measure.get()) != CAIRO_STATUS_SUCCESS) return mask;  // e.g. not UTF-8
  const double width = std::ceil(std::max(text_size.x_advance, 0.0));
  const double height = std::ceil(font_size.ascent + font_size.descent);
  if (!(width >= 1 && width < 32'000 && height >= 1 && height < 32'000)) return mask;

  const Surface surface = NewSurface(static_cast<int>(width), static_cast<int>(height));
  const Context context = NewContext(surface.get(), font_height);
  cairo_move_to(context.get(), 0, font_size.ascent);
  cairo_show_text(context.get(), text.c_str());
  if (cairo_status(context.get()) != CAIRO_STATUS_SUCCESS) return mask;
  cairo_surface_flush(surface.get());
  const uint8_t* rows = cairo_image_surface_get_data(surface.get());
  if (rows == nullptr) return mask;
  const int stride = cairo_image_surface_get_stride(surface.get());
  mask.width = static_cast<int>(width);
  mask.height = static_cast<int>(height);
  mask.alpha.reserve(static_cast<size_t>(mask.width) * static_cast<size_t>(mask.height));
  for (int y = 0; y < mask.height; ++y) {
    const uint8_t* row = rows + static_cast<ptrdiff_t>(y) * stride;
    mask.alpha.insert(mask.alpha.end(), row, row + mask.width);
  }
  return mask;
}

const OsdPainter::Mask& OsdPainter::MaskOf(const std::string& text, int font_height) {
  if (font_height != font_height_ || masks_.size() >= kMaxMasks) masks_.clear();
  font_height_ = font_height;
  const auto it = masks_.find(text);
  if (it != masks_.end()) return it->second;
  return masks_.emplace(text, Render(text, font_height)).first->second;
}

void OsdPainter::BlendMask(const OsdPicture& picture, const Mask& mask, int left, int top,
                           OsdColour colour) {
  const Yuv yuv = ToYuv(colour);
  const int red = RedByte(picture.format);
  const int step = BytesPerPixel(picture.format);
  const int right = std::min(left + mask.width, picture.width);
  const int bottom = std::min(top + mask.height, picture.height);
  for (int y = std::max(top, 0); y < bottom; ++y) {
    const uint8_t* alpha_row =
        mask.alpha.data() + static_cast<size_t>(y - top) * static_cast<size_t>(mask.width);
    for (int x = std::max(left, 0); x < right; ++x) {
      const int alpha = alpha_row[x - left];
      if (alpha == 0) continue;
      if (IsYuv(picture.format)) {
        uint8_t* luma = Row(picture, 0, y) + x;
        *luma = Mix(*luma, yuv.y, alpha);
        // Four pixels share a chroma block; each moves it a quarter of the way.
        const Chroma chroma = ChromaAt(picture, x / 2, y / 2);
        *chroma.u = Mix(*chroma.u, yuv.u, alpha / 4);
        *chroma.v = Mix(*chroma.v, yuv.v, alpha / 4);
      } else {
        uint8_t* pixel = Row(picture, 0, y) + static_cast<ptrdiff_t>(x) * step;
        pixel[red] = Mix(pixel[red], colour.red, alpha);
        pixel[1] = Mix(pixel[1], colour.green, alpha);
        pixel[2 - red] = Mix(pixel[2 - red], colour.blue, alpha);
      }
    }
  }
}

void OsdPainter::DrawLabel(const OsdPicture& picture, const OsdBox& box) {
  if (box.x >= picture.width || box.y >= picture.height || int64_t{box.x} + box.width <= 0 ||
      int64_t{box.y} + box.height <= 0) {
    return;
  }
  const Mask& mask = MaskOf(CutLabel(box.label), FontHeight(picture.height));
  if (mask.alpha.empty()) return;
  const int width = mask.width + 2 * kPadding;
  const int height = mask.height + 2 * kPadding;
  // Above the box; inside it where the picture has no room above.
  const int left = std::clamp(box.x, 0, std::max(0, picture.width - width));
  const int above = box.y - height;
  const int top = above >= 0 ? above : std::max(box.y, 0);
  const OsdColour back = ClassColour(box.class_id);
  const bool dark_text = ToYuv(back).y > 125;
  Fill(picture, {left, top, left + width, top + height}, back);
  BlendMask(picture, mask, left + kPadding, top + kPadding, dark_text ? kBlack : kWhite);
}

}  // namespace sg
