#include "hub/source.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "hub/local_repository.h"
#include "hub/repository.h"

namespace sg {
namespace {

ModelSource Parsed(const std::string& text) {
  const Result<ModelSource> source = ParseSource(text);
  EXPECT_TRUE(source.ok()) << text << ": " << (source.ok() ? "" : source.error().message);
  return source.ok() ? *source : ModelSource{};
}

TEST(Source, AHuggingFaceIdMayNameARevision) {
  const ModelSource plain = Parsed("PekingU/rtdetr_r50vd");
  EXPECT_EQ(plain.kind, SourceKind::kHuggingFace);
  EXPECT_EQ(plain.org, "PekingU");
  EXPECT_EQ(plain.name, "rtdetr_r50vd");
  EXPECT_EQ(plain.revision, "");
  EXPECT_EQ(Parsed("a/b@v1.0").revision, "v1.0");
  EXPECT_EQ(Parsed("a/b@refs/pr/7").revision, "refs/pr/7");
}

TEST(Source, EveryFormOfAHuggingFaceUrlIsTheSameModel) {
  for (const char* url :
       {"https://huggingface.co/a/b", "https://huggingface.co/a/b/", "http://hf.co/a/b",
        "https://www.huggingface.co/a/b?library=onnx#x", "huggingface.co/a/b", "hf.co/a/b",
        "hf://a/b", "https://huggingface.co/models/a/b",
        "https://HuggingFace.co/a/b/discussions"}) {
    const ModelSource source = Parsed(url);
    EXPECT_EQ(source.kind, SourceKind::kHuggingFace) << url;
    EXPECT_EQ(source.org + "/" + source.name, "a/b") << url;
    EXPECT_EQ(source.revision, "") << url;
  }
}

TEST(Source, UrlsOfFilesAndFoldersNameThem) {
  const ModelSource tree = Parsed("https://huggingface.co/a/b/tree/dev/onnx/small");
  EXPECT_EQ(tree.revision, "dev");
  EXPECT_EQ(tree.folder, "onnx/small");
  const ModelSource blob = Parsed("https://huggingface.co/a/b/blob/main/onnx/model%20x.onnx");
  EXPECT_EQ(blob.revision, "main");
  EXPECT_EQ(blob.file, "onnx/model x.onnx");
  const ModelSource resolve =
      Parsed("https://huggingface.co/a/b/resolve/refs%2Fpr%2F3/model.onnx?download=true");
  EXPECT_EQ(resolve.revision, "refs/pr/3");
  EXPECT_EQ(resolve.file, "model.onnx");
}

TEST(Source, TheHostOfHfEndpointIsAHub) {
  setenv("HF_ENDPOINT", "http://127.0.0.1:8080/", 1);
  EXPECT_EQ(Parsed("http://127.0.0.1:8080/a/b").kind, SourceKind::kHuggingFace);
  EXPECT_EQ(Parsed("http://127.0.0.1:8081/a/b.onnx").kind, SourceKind::kUrl);
  unsetenv("HF_ENDPOINT");
}

TEST(Source, NgcUrlsWithAndWithoutTeamAndVersion) {
  const ModelSource team = Parsed(
      "https://catalog.ngc.nvidia.com/orgs/nvidia/teams/tao/models/trafficcamnet_transformer_lite/"
      "files?version=deployable_resnet50_v2.0");
  EXPECT_EQ(team.kind, SourceKind::kNgc);
  EXPECT_EQ(team.org, "nvidia");
  EXPECT_EQ(team.team, "tao");
  EXPECT_EQ(team.name, "trafficcamnet_transformer_lite");
  EXPECT_EQ(team.revision, "deployable_resnet50_v2.0");
  const ModelSource plain = Parsed("https://catalog.ngc.nvidia.com/orgs/nvidia/models/peoplenet");
  EXPECT_EQ(plain.team, "");
  EXPECT_EQ(plain.revision, "");
}

/// org/team/name:version, and " FILE" when it names one.
std::string IdOf(const ModelSource& source) {
  return source.org + "/" + source.team + "/" + source.name + ":" + source.revision +
         (source.file.empty() ? "" : " " + source.file);
}

TEST(Source, EveryFormOfAnNgcUrlIsUnderstood) {
  const std::string catalog = "https://catalog.ngc.nvidia.com/orgs/";
  const std::string api = "https://api.ngc.nvidia.com/v2/";
  for (const auto& [url, is] : std::vector<std::pair<std::string, std::string>>{
           {catalog + "o/teams/t/models/m", "o/t/m:"},
           {catalog + "o/teams/t/models/m/files?version=1.0&tab=x", "o/t/m:1.0"},
           {catalog + "o/teams/t/models/m?version=1.0", "o/t/m:1.0"},
           {catalog + "o/models/m/version", "o//m:"},
           {catalog + "o/models/m:1.0", "o//m:1.0"},
           {catalog + "o/t/models/m", "o/t/m:"},
           {catalog + "o/t/models/m/-", "o/t/m:"},
           {catalog + "o/t/models/m/deployable_v1.0/", "o/t/m:deployable_v1.0"},
           {catalog + "o/t/models/m/v1.2/download-file?path=a/b.onnx", "o/t/m:v1.2 a/b.onnx"},
           {catalog + "no-team/models/m--x.", "no-team//m--x.:"},
           {"https://ngc.nvidia.com/catalog/models/o:t:m/files?version=2", "o/t/m:2"},
           {"ngc.nvidia.com/catalog/models/o:m", "o//m:"},
           {api + "models/o/t/m/versions/v2/zip", "o/t/m:v2"},
           {api + "models/o/m/versions/v2/files/a/b.onnx", "o//m:v2 a/b.onnx"},
           {api + "models/o/t/m/versions/v2/files", "o/t/m:v2"},
           {api + "models/o/t/m/versions", "o/t/m:"},
           {api + "org/o/team/t/models/m/versions/v2/files/a.onnx", "o/t/m:v2 a.onnx"},
           {api + "org/o/models/m/versions/v2/zip", "o//m:v2"},
           {api + "org/o/team/t/models/m/v2/files", "o/t/m:v2"},
           {api + "models/org/o/team/t/m/v2/files?redirect=true&path=a%2Fb.onnx",
            "o/t/m:v2 a/b.onnx"},
           {api + "models/org/o/m/v2/files?path=a.onnx", "o//m:v2 a.onnx"}}) {
    const ModelSource source = Parsed(url);
    EXPECT_EQ(source.kind, SourceKind::kNgc) << url;
    EXPECT_EQ(IdOf(source), is) << url;
  }
}

TEST(Source, OtherAddressesOfNgcsHostAreUrls) {
  EXPECT_EQ(Parsed("https://api.ngc.nvidia.com/v3/a.onnx").kind, SourceKind::kUrl);
  EXPECT_EQ(Parsed("https://api.ngc.nvidia.com/v2/resources/o/r/versions/1/files/a.zip").kind,
            SourceKind::kUrl);
  EXPECT_EQ(Parsed("https://ngc.example.com/v2/models/o/m/versions/1/files/a.onnx").kind,
            SourceKind::kUrl);
  setenv("NGC_CLI_API_URL", "ngc.example.com/", 1);
  EXPECT_EQ(Parsed("https://ngc.example.com/v2/models/o/m/versions/1/files/a.onnx").kind,
            SourceKind::kNgc);
  unsetenv("NGC_CLI_API_URL");
}

TEST(Source, LocalPathsWinWhenTheyExist) {
  const TempFolder folder;
  ASSERT_TRUE(MakeFolders(folder / "a/b").ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "a/m.onnx", "x").ok());
  EXPECT_EQ(Parsed(folder / "a/b").kind, SourceKind::kLocalFolder);
  EXPECT_EQ(Parsed(folder / "a/m.onnx").kind, SourceKind::kLocalFile);
  EXPECT_EQ(Parsed("file://" + (folder / "a/m.onnx")).path, folder / "a/m.onnx");
  EXPECT_EQ(Parsed("file:" + (folder / "a/m.onnx")).kind, SourceKind::kLocalFile);
}

TEST(Source, NothingElseIsGuessedAt) {
  for (const char* text :
       {"",
        "the RT-DETR model",
        "rtdetr",
        "a/b/c",
        "a//b",
        "/a",
        "./missing",
        "models/x.onnx",
        "a/b@",
        "a/b@../c",
        "-a/b",
        "a/b.",
        "a/..",
        "ftp://host/x.onnx",
        "s3://bucket/x.onnx",
        "https://",
        "https://huggingface.co/a",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/a/b/resolve/main",
        "https://huggingface.co/a/b/tree",
        "https://catalog.ngc.nvidia.com/orgs/nvidia",
        "https://catalog.ngc.nvidia.com/orgs/nvidia/containers/deepstream",
        "https://catalog.ngc.nvidia.com/orgs/o/models/",
        "https://catalog.ngc.nvidia.com/orgs/../models/m",
        "https://catalog.ngc.nvidia.com/orgs/o/models/m%2F..%2Fx",
        "https://catalog.ngc.nvidia.com/orgs/o/models/m?version=1/../2",
        "https://catalog.ngc.nvidia.com/orgs/o/t/models/m/1/download-file?path=../x",
        "https://ngc.nvidia.com/catalog/models/m",
        "https://ngc.nvidia.com/setup/api-key",
        "file://elsewhere/x.onnx",
        "a/b\n",
        "download yolov8 please",
        "ä/ö"}) {
    const Result<ModelSource> source = ParseSource(text);
    ASSERT_FALSE(source.ok()) << text;
    EXPECT_EQ(source.error().kind, ErrorKind::kUser) << text;
  }
}

TEST(ModelFolder, ConfigsLieBesideTheOnnxOrAboveIt) {
  const TempFolder folder;
  const std::string model = AbsolutePath(folder / "m");
  ASSERT_TRUE(MakeFolders(model + "/onnx").ok());
  EXPECT_EQ(ModelFolderOf(model + "/onnx/model.onnx"), model + "/onnx");
  ASSERT_TRUE(WriteFileAtomic(model + "/config.json", "{}").ok());
  EXPECT_EQ(ModelFolderOf(model + "/onnx/model.onnx"), model);
  EXPECT_EQ(ModelFolderOf(model + "/model.onnx"), model);
  ASSERT_TRUE(WriteFileAtomic(model + "/onnx/config.json", "{}").ok());
  EXPECT_EQ(ModelFolderOf(model + "/onnx/model.onnx"), model + "/onnx");
}

TEST(ModelFolder, ALinkedFileKeepsItsNameAndPlace) {
  const TempFolder folder;
  const std::string snapshot = AbsolutePath(folder.path()) + "/snapshots/x";
  ASSERT_TRUE(MakeFolders(snapshot + "/onnx").ok());
  ASSERT_TRUE(WriteFileAtomic(snapshot + "/config.json", "{}").ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "0a1b", "x").ok());
  const std::string link = snapshot + "/onnx/model.onnx";
  ASSERT_EQ(symlink("../../../0a1b", link.c_str()), 0);
  EXPECT_EQ(ModelFolderOf(link), snapshot);
  const auto repository = OpenRepository(Parsed(link), {});
  ASSERT_TRUE(repository.ok()) << repository.error().message;
  EXPECT_EQ((*repository)->snapshot().folder, snapshot);
  EXPECT_EQ((*repository)->snapshot().file, "onnx/model.onnx");
}

}  // namespace
}  // namespace sg
