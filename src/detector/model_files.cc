#include "detector/model_files.h"

#include <fmt/format.h>

#include "base/files.h"

namespace sg {
namespace {

Status ListInto(const std::string& folder, const std::string& prefix,
                std::vector<ListedFile>* files) {
  if (!FolderExists(folder)) return OkStatus();
  SG_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    const Result<uint64_t> size = FileSize(JoinPath(folder, name));
    if (FileExists(JoinPath(folder, name)) && size.ok()) files->push_back({prefix + name, *size});
  }
  return OkStatus();
}

}  // namespace

ModelFiles FilesOnDisk(const std::string& source, const std::string& folder,
                       const FileSelection& selection) {
  ModelFiles files;
  files.source = source;
  files.onnx = JoinPath(folder, selection.onnx);
  files.config_folder = folder;
  files.variant = selection.variant;
  files.variants = selection.variants;
  files.selection_line = selection.selection_line;
  files.notes = selection.notes;
  return files;
}

Result<ModelFiles> FindModelFiles(const std::string& source, const std::string& variant) {
  std::string folder = source;
  SelectionWish wish{source, variant, ""};
  if (!FolderExists(source)) {
    if (!FileExists(source)) return UserError(fmt::format("{}: no such file or folder", source));
    if (!source.ends_with(".onnx")) {
      return UserError(fmt::format("{}: is not an .onnx file or a model's folder", source));
    }
    // The configs of a Hugging Face folder lie beside the file or above its onnx/ folder.
    folder = ParentFolder(AbsolutePath(source));
    const std::string above = ParentFolder(folder);
    wish.file = BaseName(source);
    if (!FileExists(JoinPath(folder, "config.json")) &&
        FileExists(JoinPath(above, "config.json"))) {
      wish.file = BaseName(folder) + "/" + wish.file;
      folder = above;
    }
  }
  std::vector<ListedFile> files;
  SG_RETURN_IF_ERROR(ListInto(folder, "", &files));
  SG_RETURN_IF_ERROR(ListInto(JoinPath(folder, "onnx"), "onnx/", &files));
  if (wish.file.find('/') != std::string::npos && !wish.file.starts_with("onnx/")) {
    const std::string middle = ParentFolder(wish.file);
    SG_RETURN_IF_ERROR(ListInto(JoinPath(folder, middle), middle + "/", &files));
  }
  SG_ASSIGN_OR_RETURN(const FileSelection selection, SelectFiles(files, wish));
  if (selection.onnx.empty()) {
    return UnsupportedError(fmt::format(
        "{}: has SafeTensors and no ONNX; this version imports ONNX files: export the model (for "
        "instance with optimum-cli export onnx) and give the .onnx",
        source));
  }
  return FilesOnDisk(source, folder, selection);
}

}  // namespace sg
