# Hounds of a kennel that is nowhere; the argument is a seed.
class Hound
  attr_accessor :name, :hunger, :mood, :bones

  def initialize(name, hunger)
    @name = name
    @hunger = hunger
    @mood = :calm
    @bones = []
  end

  def feel
    if @hunger > 10
      @mood = :restless
    elsif @hunger > 20
      @mood = :savage
    else
      @mood = :calm
    end
  end
end

def roam(hound, laps)
  trail = hound.hunger
  laps.times do |lap|
    trail = (trail * 17 + lap * 3) % 433
    hound.bones << trail if trail % 5 == 0
  end
  trail
end

def fetch(hound, stick)
  found = hound.bones.find { |bone| bone % 4 == stick % 4 }
  found && found + stick
end

def feed(hound, amount)
  hound.hunger = (hound.hunger * 3 + amount) % 27
  hound.feel
end

def share(hound, parts)
  hound.bones.sum / (parts - hound.bones.length)
end

seed = (ARGV[0] || "4").to_i
pack = [["brackle", 4], ["sorley", 11], ["mudge", 19]].map { |name, hunger| Hound.new(name, hunger) }
shared = 0
30.times do |day|
  hound = pack[(day * seed + day / 3) % pack.length]
  feed(hound, day + 3)
  roam(hound, 6)
  fetch(hound, day)
  shared += share(hound, 17)
end
puts shared
