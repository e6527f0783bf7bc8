#include "worker/gst_setup.h"

#include <gst/gst.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/environment.h"
#include "base/files.h"

namespace sg {
namespace {

constexpr size_t kHashCharacters = 12;

/// A folder in the temporary folder that only this user can write to; another user's of that name
/// is not used, since a registry decides which libraries are loaded.
std::string PrivateTemporaryFolder() {
  const std::string temporary = Environment("TMPDIR");
  const std::string folder =
      JoinPath(temporary.empty() ? "/tmp" : temporary, "streamgauge-" + std::to_string(getuid()));
  mkdir(folder.c_str(), 0700);
  struct stat facts {};
  const bool ours = lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
                    facts.st_uid == getuid() && (facts.st_mode & 077) == 0;
  return ours ? folder : "";
}

bool CanHold(const std::string& folder) {
  return !folder.empty() && MakeFolders(folder).ok() && access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string RegistryPath(const std::string& version, const std::string& plugin_folder) {
  const std::string name =
      "registry-" + version + "-" + Sha256(plugin_folder).substr(0, kHashCharacters) + ".bin";
  const std::string cache = UserCacheFolder();
  if (CanHold(cache)) return JoinPath(cache, name);
  const std::string temporary = PrivateTemporaryFolder();
  return temporary.empty() ? "" : JoinPath(temporary, name);
}

Status SetUpGStreamer(const std::string& trace_path) {
  const std::string plugin_folder = PluginFolder();
  const std::string others = Environment("GST_PLUGIN_PATH");
  const std::string path = others.empty() ? plugin_folder : plugin_folder + ":" + others;
  setenv("GST_PLUGIN_PATH", path.c_str(), /*overwrite=*/1);
  const std::string registry = RegistryPath(SG_VERSION, plugin_folder);
  if (!registry.empty()) setenv("GST_REGISTRY", registry.c_str(), /*overwrite=*/0);
  if (!trace_path.empty()) {
    const std::string tracers = Environment("GST_TRACERS");
    setenv("GST_TRACERS", tracers.empty() ? "sgtrace" : (tracers + ";sgtrace").c_str(),
           /*overwrite=*/1);
    setenv("SGTRACE_FILE", trace_path.c_str(), /*overwrite=*/1);
  }
  GError* error = nullptr;
  if (gst_init_check(nullptr, nullptr, &error)) return OkStatus();
  const std::string why = error != nullptr ? error->message : "no reason given";
  g_clear_error(&error);
  return EnvironmentError("GStreamer cannot be started: " + why);
}

}  // namespace sg
