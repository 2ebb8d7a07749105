// Birds on a cliff: a map of nests, written by several members.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct Nest {
    std::string keeper;
    int eggs = 0;
    std::vector<int> visits;
};

class Cliff {
    std::map<std::string, Nest> nests;
    int tide = 17;

public:
    void lay(const std::string &name, int eggs) {
        Nest &nest = nests[name];
        nest.eggs = (nest.eggs * 3 + eggs) % 29;
        nest.visits.push_back(tide);
    }
    void rob(const std::string &name) {
        auto found = nests.find(name);
        if (found != nests.end() && found->second.eggs > 10)
            found->second.eggs -= 9;
    }
    void count(const std::string &name) {
        if (tide % 4 == 1)
            nests[name].eggs += tide % 3;
    }
    std::optional<int> find(int eggs) const {
        for (const auto &[name, nest] : nests)
            if (nest.eggs == eggs)
                return int(nest.visits.size());
        return std::nullopt;
    }
    int ebb() {
        tide = (tide * 23 + 5) % 89;
        return tide;
    }
    int eggs(const std::string &name) const { return nests.at(name).eggs; }
    size_t size() const { return nests.size(); }
};

int main() {
    const std::string names[] = {"skarn", "tolmen", "ruddock", "quoit", "helve"};
    Cliff cliff;
    int found = 0;
    for (int round = 0; round < 15; round++) {
        int tide = cliff.ebb();
        const std::string &name = names[tide % 5];
        cliff.lay(name, tide % 13);
        cliff.rob(names[(tide + round) % 5]);
        cliff.count(name);
        auto seen = cliff.find(round % 12);
        found += seen.value_or(0);
    }
    std::printf("%zu %d %d\n", cliff.size(), cliff.eggs("quoit"), found);
}
