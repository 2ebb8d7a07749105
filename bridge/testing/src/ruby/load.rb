# Loads files of tests; minitest runs them when Ruby ends.
require "json"

JSON.parse(File.read(ENV["TANDEM_TEST_FILES"])).each do |file|
  require file
rescue SystemExit => ended
  line = ended.backtrace_locations&.find { |place| place.absolute_path == file }&.lineno
  TandemReports.report("broken", file: file, line: line || 0, message: "ends Ruby with exit code #{ended.status} while it is loaded")
  raise
end
TandemReports.report("planned", count: 0)
