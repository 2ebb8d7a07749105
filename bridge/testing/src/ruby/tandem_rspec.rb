# Reports tests and results of RSpec to Tandem: `rspec --require tandem_rspec --format TandemFormatter`.
require_relative "tandem_reports"
require "rspec/core"

class TandemFormatter
  RSpec::Core::Formatters.register self, :start, :example_started, :example_passed, :example_failed, :example_pending, :message

  # Reasons and tags that say how an example runs, not what it is.
  OWN = %i[skip pending focus description_args described_class aggregate_failures].freeze

  def initialize(_output)
    @broken = []
    @names = {}
  end

  # RSpec describes an example without a description while it runs, so its name is the one it began with.
  def name(example)
    @names[example.id] ||= TandemFormatter.name_of(example.metadata)
  end

  def self.name_of(data)
    data[:description].empty? ? "#{data[:full_description]}example at #{data[:location]}" : data[:full_description]
  end

  # An example that specs share is written in another file than the one that runs it.
  def id(example)
    file = example.metadata[:rerun_file_path] || example.metadata[:file_path]
    "#{file.delete_prefix("./")}::#{name(example)}"
  end

  def place(example)
    [File.expand_path(example.metadata[:file_path]), example.metadata[:line_number]]
  end

  # Whether a failed expectation is raised for the first time. RSpec raises those that it collects again.
  def self.first_raised?(failure)
    return false unless defined?(RSpec::Expectations::ExpectationNotMetError) && RSpec::Expectations::ExpectationNotMetError === failure

    !failure.instance_variable_defined?(:@tandem_raised) && !(RSpec::Expectations::MultipleExpectationsNotMetError === failure)
  end

  def lists?
    RSpec.configuration.dry_run?
  end

  def start(notification)
    TandemReports.report("planned", count: notification.count) unless lists?
  end

  def example_started(notification)
    example = notification.example
    file, line = place(example)
    return TandemReports.report("started", id: id(example), file: file, line: line) unless lists?

    data = example.metadata
    tags = data.select { |key, value| value == true && !OWN.include?(key) && key.is_a?(Symbol) }.keys.map(&:to_s)
    skipped = data[:skip] ? (data[:skip] == true ? "skipped" : data[:skip].to_s) : nil
    TandemReports.report("test", id: id(example), name: name(example), file: file, line: line, traits: tags.sort,
                         skipped: skipped, class: example.example_group.description_chain_of_tandem)
  end

  def finish(example, outcome, message = nil, backtrace = nil)
    return if lists?

    file, line = outcome == "failed" ? TandemReports.own_place(backtrace) || place(example) : nil
    expected, actual = message ? TandemReports.compared(message) : nil
    TandemReports.report("finished", id: id(example), name: example.full_description, outcome: outcome,
                         message: message && TandemReports.shorten(message.strip), expected: expected, actual: actual,
                         file: file, line: line, stack: backtrace && TandemReports.shorten(backtrace.first(30).join("\n")),
                         durationMs: (example.execution_result.run_time.to_f * 1000).round)
  end

  def example_passed(notification)
    finish(notification.example, "passed")
  end

  def example_failed(notification)
    error = notification.example.execution_result.exception
    errors = error.respond_to?(:all_exceptions) ? error.all_exceptions : [error]
    known = defined?(RSpec::Expectations::ExpectationNotMetError) ? RSpec::Expectations::ExpectationNotMetError : nil
    message = errors.map { |one| known && one.is_a?(known) ? one.message : "#{one.class}: #{one.message}" }.join("\n\n")
    finish(notification.example, "failed", message, errors.first.backtrace)
  end

  def example_pending(notification)
    finish(notification.example, "skipped", notification.example.execution_result.pending_message.to_s)
  end

  # Errors outside of examples: a file that cannot be loaded.
  def message(notification)
    text = notification.message.to_s
    return unless text.include?("error occurred outside of examples") || text.include?("An error occurred while loading")

    file, line = text.scan(%r{^\s*(?:# )?(\./[^\s:]+|/[^\s:]+\.rb):(\d+)}).first
    TandemReports.report("broken", file: file ? File.expand_path(file) : "", line: line.to_i, message: TandemReports.shorten(text.strip))
  end
end

class RSpec::Core::ExampleGroup
  def self.description_chain_of_tandem
    parent_groups.reverse.map(&:description).join(" ")
  end
end

# Raises a failure that RSpec collects (`aggregate_failures`) at its expectation, where a debugger can stop.
module TandemAggregation
  def call(failure, options)
    begin
      raise failure unless failure.backtrace
    rescue failure.class
      failure.set_backtrace(failure.backtrace.drop(1))
      failure.instance_variable_set(:@tandem_raised, true)
    end
    super
  end
end

if defined?(DEBUGGER__)
  RSpec.configure do |config|
    config.before(:suite) do
      RSpec::Expectations::FailureAggregator.prepend(TandemAggregation) if defined?(RSpec::Expectations::FailureAggregator)
    end
  end
end

if ENV["TANDEM_TEST_NAMES"]
  names = JSON.parse(File.read(ENV["TANDEM_TEST_NAMES"]))
  RSpec.configure do |config|
    config.filter_run_including(full_description: ->(_, data) { names.include?(TandemFormatter.name_of(data)) })
  end
end
