#include "gst/kitti_core.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/files.h"

namespace sg {
namespace {

Error CannotWrite(const std::string& path, int error_number) {
  return EnvironmentError(
      fmt::format("cannot write {}: {}", path, std::generic_category().message(error_number)));
}

}  // namespace

std::string KittiFileName(unsigned app_index, unsigned source_id, uint64_t frame_number) {
  return fmt::format("{:02}_{:03}_{:06}.txt", app_index, source_id, frame_number);
}

std::string KittiText(const std::vector<KittiBox>& boxes) {
  std::string text;
  for (const KittiBox& box : boxes) {
    std::string label = box.label;
    for (char& c : label) {
      if (c == '\n' || c == '\r') c = ' ';
    }
    text +=
        fmt::format("{} 0.0 0 0.0 {:.6f} {:.6f} {:.6f} {:.6f} 0.0 0.0 0.0 0.0 0.0 0.0 0.0 {:.6f}\n",
                    label, box.left, box.top, box.right, box.bottom, box.confidence);
  }
  return text;
}

Status WriteKittiFile(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = JoinPath(folder, name);
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return CannotWrite(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  if (std::fclose(file) != 0) return CannotWrite(path, errno);
  if (!written) return CannotWrite(path, write_error);
  return OkStatus();
}

}  // namespace sg
