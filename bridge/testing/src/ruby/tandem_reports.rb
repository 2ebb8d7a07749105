# Writes reports for Tandem into the pipe that it names: one JSON object a line. Never fails, and never prints.
require "json"

module TandemReports
  MAX_TEXT = 32 * 1024

  def self.shorten(text)
    text = text.to_s.dup.force_encoding("UTF-8").scrub
    text.length <= MAX_TEXT ? text : text[0, MAX_TEXT / 4] + "\n[...]\n" + text[-MAX_TEXT / 4 * 3..]
  end

  def self.report(event, fields)
    @pipe ||= File.open(ENV["TANDEM_TEST_REPORTS"], "ab").tap { |pipe| pipe.sync = true }
    fields = fields.reject { |_, value| value.nil? }
    @pipe.write(JSON.generate({ "event" => event }.merge(fields), ascii_only: true) + "\n")
  rescue StandardError
    nil
  end

  # The innermost call in the project's own files.
  def self.own_place(backtrace)
    own = (backtrace || []).map { |call| call[/\A(.+?):(\d+)/] && [File.expand_path($1), $2.to_i] }.compact
    own.find { |file, _| file.start_with?(Dir.pwd + "/") && !file.include?("/vendor/") && !file.include?("/gems/") }
  end

  # `Expected: 4`, `  Actual: 3` of minitest; `expected: 4`, `got: 3` of RSpec.
  def self.compared(message)
    expected = message[/^\s*expected: (.+)$/i, 1]
    actual = message[/^\s*(?:actual|got): (.+?)(?: \(compared using .*\))?$/i, 1]
    expected && actual ? [expected, actual] : [nil, nil]
  end
end
