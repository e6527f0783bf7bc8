#include "base/journal.h"

#include <algorithm>
#include <sstream>

#include "base/files.h"

namespace sg {
namespace {

constexpr char kFileName[] = ".journal.jsonl";

std::string Digest(const Json& values, const std::vector<std::string>& hashes) {
  std::string text = ToJsonLine(values);
  for (const std::string& hash : hashes) text += "\n" + hash;
  return Sha256(text);
}

}  // namespace

Result<Journal> Journal::Open(const std::string& folder) {
  Journal journal(folder);
  const std::string path = JoinPath(folder, kFileName);
  if (!FileExists(path)) return journal;
  SG_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;
    try {
      Entry entry;
      entry.record.step = json.at("step").get<std::string>();
      entry.record.key = json.at("key").get<std::string>();
      entry.record.values = json.at("values");
      entry.record.seconds = json.at("seconds").get<double>();
      for (const auto& [file, hash] : json.at("files").items()) {
        entry.record.files.push_back(file);
        entry.hashes.push_back(hash.get<std::string>());
      }
      entry.record.digest = Digest(entry.record.values, entry.hashes);
      journal.entries_.push_back(std::move(entry));
    } catch (const Json::exception&) {
      continue;  // a record of another version: the step is done again
    }
  }
  return journal;
}

std::optional<JournalRecord> Journal::Find(const std::string& step, const std::string& key) const {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(),
                                  [&](const Entry& entry) { return entry.record.step == step; });
  if (found == entries_.rend() || found->record.key != key) return std::nullopt;
  for (size_t i = 0; i < found->hashes.size(); ++i) {
    const Result<std::string> hash = Sha256File(JoinPath(folder_, found->record.files[i]));
    if (!hash.ok() || *hash != found->hashes[i]) return std::nullopt;
  }
  return found->record;
}

Result<JournalRecord> Journal::Append(JournalRecord record) {
  Entry entry;
  Json files = Json::object();
  // A step may name a file twice; the line holds it once, and so must the digest.
  std::vector<std::string> named;
  named.swap(record.files);
  for (const std::string& file : named) {
    if (files.contains(file)) continue;
    record.files.push_back(file);
    Result<std::string> hash = Sha256File(JoinPath(folder_, file));
    if (!hash.ok())
      return InternalError("step " + record.step + " is done but " + hash.error().message);
    files[file] = *hash;
    entry.hashes.push_back(*hash);
  }
  const Json line = {{"step", record.step},
                     {"key", record.key},
                     {"seconds", record.seconds},
                     {"values", record.values},
                     {"files", files}};
  const std::string path = JoinPath(folder_, kFileName);
  std::string text;
  if (FileExists(path)) {
    SG_ASSIGN_OR_RETURN(text, ReadFile(path));
    if (!text.empty() && text.back() != '\n') text.erase(text.rfind('\n') + 1);
  }
  SG_RETURN_IF_ERROR(WriteFileAtomic(path, text + ToJsonLine(line) + "\n"));
  record.digest = Digest(record.values, entry.hashes);
  entry.record = record;
  entries_.push_back(std::move(entry));
  return record;
}

}  // namespace sg
