#include "detector/parser_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>

#include "base/files.h"

namespace sg {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOurMachine = EM_X86_64;
constexpr const char* kOurMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kOurMachine = EM_AARCH64;
constexpr const char* kOurMachineName = "aarch64";
#else
#error "name this machine's ELF type"
#endif

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit ARM";
    default:
      return fmt::format("ELF machine {}", machine);
  }
}

/// Finds what dlopen would report in the loader's words, or not survive: a library for another
/// machine, and one whose end is missing (mapping it would end in SIGBUS).
Status CheckLibraryFile(const std::string& path) {
  if (FolderExists(path))
    return UserError(fmt::format("{}: is a folder, not a parser library", path));
  if (!FileExists(path)) {
    return UserError(fmt::format(
        "{}: no such parser library; build it with make in its folder, or correct custom-lib-path",
        path));
  }
  SG_ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const auto header_bytes = static_cast<size_t>(file.gcount());
  if (header_bytes < EI_NIDENT || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return UserError(
        fmt::format("{}: is not a shared library ({} bytes, no ELF header)", path, size));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kOurMachine) {
    return UserError(fmt::format("{}: is built for {}, this machine is {}; build it here with make",
                                 path, MachineName(header.e_machine), kOurMachineName));
  }
  const std::string truncated =
      fmt::format("{}: is truncated ({} bytes); build it again with make", path, size);
  if (header_bytes < sizeof header || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return UserError(truncated);
  }
  if (header.e_type != ET_DYN) {
    return UserError(fmt::format("{}: is not a shared library; link it with -shared", path));
  }
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return UserError(truncated);
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
      return UserError(truncated);
    }
  }
  return OkStatus();
}

NvDsInferDataType DataTypeOf(TensorType type) {
  switch (type) {
    case TensorType::kFloat:
      return FLOAT;
    case TensorType::kHalf:
      return HALF;
    case TensorType::kInt32:
      return INT32;
    case TensorType::kInt64:
      return INT64;
  }
  return FLOAT;
}

}  // namespace

void ParserLibrary::Closer::operator()(void* handle) const { dlclose(handle); }

Result<ParserLibrary> ParserLibrary::Load(const std::string& path, const std::string& function) {
  SG_RETURN_IF_ERROR(CheckLibraryFile(path));
  if (function.empty()) {
    return UserError(fmt::format("{}: no parse-bbox-func-name is given for it", path));
  }
  ParserLibrary library;
  library.path_ = AbsolutePath(path);
  library.function_name_ = function;
  library.handle_.reset(dlopen(library.path_.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library.handle_ == nullptr) {
    const char* why = dlerror();
    return UserError(fmt::format("{}: cannot be loaded: {}; build it again with make", path,
                                 why != nullptr ? why : "unknown reason"));
  }
  void* symbol = dlsym(library.handle_.get(), function.c_str());
  if (symbol == nullptr) {
    return UserError(fmt::format(
        "{}: has no function {}; correct parse-bbox-func-name, or build it again with make", path,
        function));
  }
  library.function_ = reinterpret_cast<NvDsInferParseCustomFunc>(symbol);
  return library;
}

bool ParserLibrary::Parse(const std::vector<NvDsInferLayerInfo>& outputs,
                          const NvDsInferNetworkInfo& network,
                          const NvDsInferParseDetectionParams& params,
                          std::vector<Box>* boxes) const {
  boxes->clear();
  std::vector<NvDsInferObjectDetectionInfo> objects;
  try {
    if (!function_(outputs, network, params, objects)) return false;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s: %s threw: %s\n", path_.c_str(), function_name_.c_str(),
                 exception.what());
    return false;
  } catch (...) {
    std::fprintf(stderr, "%s: %s threw\n", path_.c_str(), function_name_.c_str());
    return false;
  }
  boxes->reserve(objects.size());
  for (const NvDsInferObjectDetectionInfo& object : objects) {
    boxes->push_back({static_cast<int>(object.classId), object.left, object.top, object.width,
                      object.height, object.detectionConfidence});
  }
  return true;
}

NvDsInferLayerInfo DescribeOutput(const TensorView& output) {
  SG_CHECK_OP(output.dims.size(), <=, static_cast<size_t>(kNvDsInferMaxDims));
  NvDsInferLayerInfo layer = {};
  layer.dataType = DataTypeOf(output.type);
  layer.inferDims.numDims = static_cast<unsigned>(output.dims.size());
  layer.inferDims.numElements = static_cast<unsigned>(output.Size());
  for (size_t i = 0; i < output.dims.size(); ++i)
    layer.inferDims.d[i] = static_cast<unsigned>(output.dims[i]);
  layer.layerName = output.name;
  layer.buffer = const_cast<void*>(output.data);
  return layer;
}

NvDsInferParseDetectionParams DetectionParams(const std::vector<float>& pre_cluster_thresholds,
                                              const std::vector<float>& post_cluster_thresholds) {
  // One expression, so that the reference member binds to the caller's own object.
  return NvDsInferParseDetectionParams{static_cast<unsigned>(pre_cluster_thresholds.size()),
                                       pre_cluster_thresholds, post_cluster_thresholds};
}

}  // namespace sg
