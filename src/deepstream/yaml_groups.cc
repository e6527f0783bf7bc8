#include "deepstream/yaml_groups.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace sg {
namespace {

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

Result<std::string> ScalarText(const YAML::Node& node, const std::string& where) {
  if (node.IsNull()) return std::string();
  if (!node.IsScalar()) {
    return UserError(
        fmt::format("{}:{}: a value or a list of values is expected here", where, LineOf(node)));
  }
  return EscapeKeyFileValue(node.Scalar());
}

Result<std::string> ValueText(const YAML::Node& node, const std::string& where) {
  if (!node.IsSequence()) return ScalarText(node, where);
  std::string text;
  for (const YAML::Node& part : node) {
    SG_ASSIGN_OR_RETURN(const std::string part_text, ScalarText(part, where));
    text += part_text + ";";
  }
  return text;
}

Status AddGroup(const std::string& name, const YAML::Node& node, const std::string& where,
                KeyFileBuilder* builder) {
  builder->BeginGroup(name, LineOf(node));
  if (node.IsNull()) return OkStatus();
  if (!node.IsMap()) {
    return UserError(
        fmt::format("{}:{}: '{}' must hold key: value lines", where, LineOf(node), name));
  }
  for (const auto& entry : node) {
    SG_ASSIGN_OR_RETURN(const std::string key, ScalarText(entry.first, where));
    SG_ASSIGN_OR_RETURN(const std::string value, ValueText(entry.second, where));
    builder->Add(key, value, LineOf(entry.first));
  }
  return OkStatus();
}

}  // namespace

Result<KeyFile> ParseYamlGroups(const std::string& text, const std::string& where) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return UserError(fmt::format("{}: holds no groups", where));
    KeyFileBuilder builder(where);
    for (const auto& group : root) {
      SG_ASSIGN_OR_RETURN(const std::string name, ScalarText(group.first, where));
      SG_RETURN_IF_ERROR(AddGroup(name, group.second, where, &builder));
    }
    return std::move(builder).Build();
  } catch (const YAML::Exception& exception) {
    return UserError(
        fmt::format("{}:{}: is not YAML: {}", where, exception.mark.line + 1, exception.msg));
  }
}

}  // namespace sg
