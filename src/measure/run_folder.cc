#include "measure/run_folder.h"

#include <fmt/format.h>

#include "base/files.h"

namespace sg {
namespace {

Json ToJson(const RunInput& input) {
  return {{"role", input.role},
          {"path", input.path},
          {"sha256", input.sha256},
          {"size_bytes", input.size_bytes}};
}

Json ToJson(const RunPart& part) {
  return {{"samples", part.samples},  {"sha256", part.sha256},     {"role", part.role},
          {"streams", part.streams},  {"batch", part.batch},       {"requests", part.requests},
          {"round", part.round},      {"pace_fps", part.pace_fps}, {"failure", part.failure},
          {"warnings", part.warnings}};
}

RunPart PartFrom(const Json& j) {
  RunPart part;
  part.samples = j.at("samples").get<std::string>();
  part.sha256 = j.at("sha256").get<std::string>();
  part.role = j.at("role").get<std::string>();
  part.streams = j.at("streams").get<int>();
  part.batch = j.at("batch").get<int>();
  part.requests = j.at("requests").get<int>();
  part.round = j.at("round").get<int>();
  part.pace_fps = j.at("pace_fps").get<double>();
  part.failure = j.at("failure").get<std::string>();
  part.warnings = j.at("warnings").get<std::vector<std::string>>();
  return part;
}

}  // namespace

Json RunFolder::ToJson() const {
  Json json = {{"format", kRunFormat},
               {"version", kRunVersion},
               {"kind", kind},
               {"name", name},
               {"created_at", created_at},
               {"tool_version", tool_version},
               {"options", options},
               {"machine", machine},
               {"inputs", Json::array()},
               {"parts", Json::array()},
               {"notes", notes}};
  for (const RunInput& input : inputs) json["inputs"].push_back(sg::ToJson(input));
  for (const RunPart& part : parts) json["parts"].push_back(sg::ToJson(part));
  return json;
}

Result<RunFolder> RunFolder::FromJson(const Json& json, const std::string& where) {
  if (!json.is_object() || json.value("format", Json()) != kRunFormat)
    return UserError(where + ": is not a run of streamgauge bench or run");
  if (json.value("version", Json()) != kRunVersion)
    return UnsupportedError(
        fmt::format("{}: is of format version {}; this program reads version {}", where,
                    ToJsonLine(json.value("version", Json())), kRunVersion));
  RunFolder run;
  try {
    run.kind = json.at("kind").get<std::string>();
    run.name = json.at("name").get<std::string>();
    run.created_at = json.at("created_at").get<std::string>();
    run.tool_version = json.at("tool_version").get<std::string>();
    run.options = json.at("options");
    run.machine = json.at("machine");
    for (const Json& input : json.at("inputs"))
      run.inputs.push_back(
          {input.at("role").get<std::string>(), input.at("path").get<std::string>(),
           input.at("sha256").get<std::string>(), input.at("size_bytes").get<uint64_t>()});
    for (const Json& part : json.at("parts")) run.parts.push_back(PartFrom(part));
    run.notes = json.at("notes").get<std::vector<std::string>>();
  } catch (const Json::exception& e) {
    return UserError(where + ": a value is missing or of the wrong type: " + e.what());
  }
  if (run.kind != "bench" && run.kind != "run")
    return UnsupportedError(where + ": is of an unknown kind, \"" + run.kind + "\"");
  for (const RunPart& part : run.parts)
    if (!IsInnerPath(part.samples))
      return UserError(where + ": \"" + part.samples + "\" is not a file of the folder");
  return run;
}

Result<LoadedRun> LoadRun(const std::string& folder) {
  LoadedRun loaded;
  loaded.path = folder;
  const std::string path = JoinPath(folder, kRunFile);
  if (!FileExists(path))
    return UserError(folder +
                     ": is not a run folder: it has no run.json; make one with streamgauge "
                     "bench or streamgauge run");
  SG_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  SG_ASSIGN_OR_RETURN(loaded.run, RunFolder::FromJson(json, path));
  for (const RunPart& part : loaded.run.parts) {
    loaded.records.emplace_back();
    if (part.sha256.empty()) continue;
    const std::string samples = JoinPath(folder, part.samples);
    SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(samples));
    if (Sha256(text) != part.sha256)
      return UserError(samples + ": is not what was measured: its hash is not the one in run.json");
    SG_ASSIGN_OR_RETURN(loaded.records.back(), ParseSamples(text, samples));
  }
  return loaded;
}

}  // namespace sg
