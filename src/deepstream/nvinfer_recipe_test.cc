#include "deepstream/nvinfer_recipe.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace sg {
namespace {

class NvinferRecipeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "nvinfer_recipe_test.XXXXXX";
    folder_ = AbsolutePath(mkdtemp(pattern.data()));
  }
  void TearDown() override { EXPECT_TRUE(RemoveAll(folder_).ok()); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(JoinPath(folder_, name), text).ok());
  }
  std::optional<PictureRecipe> Read() {
    const auto recipe = NvinferRecipe(folder_);
    EXPECT_TRUE(recipe.ok());
    return recipe.ok() ? *recipe : std::nullopt;
  }
  /// The card after the recipe, for an input of 960x544.
  Preprocessing Applied() {
    const auto recipe = Read();
    EXPECT_TRUE(recipe.has_value());
    ModelCard card;
    card.input_width = 960;
    card.input_height = 544;
    if (!recipe) return {};
    EXPECT_TRUE(ApplyPictureRecipe(*recipe, &card).ok());
    EXPECT_TRUE(card.notes.empty());
    return card.preprocessing;
  }
  std::string folder_;
};

TEST_F(NvinferRecipeTest, ScaleOffsetsColourAndLetterboxComeBackAsTheyWere) {
  Write("nvinfer_config.txt",
        "[property]\nnet-scale-factor=0.0039215697906911373\noffsets=103.939;116.779;123.68\n"
        "model-color-format=1\nmaintain-aspect-ratio=1\nsymmetric-padding=1\n");
  Preprocessing p = Applied();
  EXPECT_DOUBLE_EQ(p.net_scale_factor, 0.0039215697906911373);
  EXPECT_EQ(p.offsets, (std::vector<double>{103.939, 116.779, 123.68}));
  EXPECT_TRUE(p.bgr);
  EXPECT_EQ(p.resize, ResizeMode::kLetterboxCentre);
  EXPECT_EQ(p.source, "nvinfer_config.txt");
  Write("nvinfer_config.txt", "[property]\nnet-scale-factor=0.00392156862745098\n");
  p = Applied();
  EXPECT_EQ(p.net_scale_factor, 0.00392156862745098);
  EXPECT_TRUE(p.offsets.empty());
  EXPECT_FALSE(p.bgr);
  EXPECT_EQ(p.resize, ResizeMode::kStretch);
}

TEST_F(NvinferRecipeTest, YamlIsReadAndWhatIsNoConfigIsPassedOver) {
  EXPECT_FALSE(Read().has_value());
  Write("inference.yml", "Preprocess:\n- type: Resize\n");
  Write("labels.txt", "person\n");
  Write("infer_notes.txt", "not a config");
  EXPECT_FALSE(Read().has_value());
  Write("pgie_peoplenet_config.yml",
        "property:\n  net-scale-factor: 0.5\n  maintain-aspect-ratio: 1\n");
  EXPECT_EQ(Applied().resize, ResizeMode::kLetterboxCorner);
}

}  // namespace
}  // namespace sg
