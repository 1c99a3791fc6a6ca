#include "frontend/graphc/datasets.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <filesystem>

namespace graphc::data {
namespace {

namespace fs = std::filesystem;

bool isImage(const fs::path &path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

class Images : public MapSource {
public:
  Images(std::vector<std::string> paths, std::vector<int64_t> labels, int channels)
      : paths_(std::move(paths)), labels_(std::move(labels)), channels_(channels) {}
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  Sample get(int64_t index, RandomStream &) const override {
    Sample sample;
    sample.fields.push_back(readImage(paths_[index], channels_));
    sample.fields.push_back(HostTensor::of<int64_t>({}, {labels_[index]}));
    return sample;
  }

private:
  std::vector<std::string> paths_;
  std::vector<int64_t> labels_;
  int channels_;
};

} // namespace

ImageFolder imageFolder(const std::string &folder, int channels) {
  if (!fs::is_directory(folder))
    raise(Code::ModelUnreadable, "imageFolder: '", folder, "' is not a folder");
  std::vector<std::string> classes, paths;
  std::vector<int64_t> labels;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory())
      classes.push_back(entry.path().filename().string());
  std::sort(classes.begin(), classes.end());
  if (classes.empty())
    raise(Code::ModelUnreadable, "imageFolder: '", folder, "' has no folders; each class needs one of its own");
  for (size_t label = 0; label < classes.size(); ++label) {
    std::vector<std::string> mine;
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(fs::path(folder) / classes[label]))
      if (entry.is_regular_file() && isImage(entry.path()))
        mine.push_back(entry.path().string());
    if (mine.empty())
      raise(Code::ModelUnreadable, "imageFolder: class '", classes[label], "' of '", folder, "' has no .png, .jpg or .jpeg file");
    std::sort(mine.begin(), mine.end());
    paths.insert(paths.end(), mine.begin(), mine.end());
    labels.resize(paths.size(), static_cast<int64_t>(label));
  }
  return {Dataset(std::make_shared<Images>(paths, labels, channels)), std::move(classes), std::move(paths)};
}

} // namespace graphc::data
