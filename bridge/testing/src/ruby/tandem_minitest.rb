# Reports tests and results of minitest to Tandem: `ruby -r tandem_minitest`.
require_relative "tandem_reports"
require "minitest"

module TandemMinitest
  # Where a test is declared.
  def self.place(klass, name)
    file, line = klass.instance_method(name).source_location
    [file && File.expand_path(file), line]
  rescue NameError
    [nil, nil]
  end

  class Reporter < Minitest::AbstractReporter
    def prerecord(klass, name)
      file, line = TandemMinitest.place(klass, name)
      TandemReports.report("started", id: "#{klass}##{name}", file: file, line: line)
    end

    def record(result)
      failure = result.failure
      outcome = result.skipped? ? "skipped" : result.passed? ? "passed" : "failed"
      message, backtrace = nil, nil
      if failure
        error = failure.respond_to?(:error) ? failure.error : failure
        error = error.exception if error.is_a?(Minitest::UnexpectedError)
        backtrace = error.backtrace || failure.backtrace
        message = failure.is_a?(Minitest::UnexpectedError) ? "#{error.class}: #{error.message}" : failure.message
      end
      file, line = outcome == "failed" ? TandemReports.own_place(backtrace) : nil
      expected, actual = message ? TandemReports.compared(message) : nil
      TandemReports.report("finished",
        id: "#{result.respond_to?(:klass) ? result.klass : result.class}##{result.name}", outcome: outcome,
        message: message && TandemReports.shorten(message), expected: expected, actual: actual, file: file, line: line,
        stack: outcome == "failed" ? TandemReports.shorten((backtrace || []).first(30).join("\n")) : nil,
        durationMs: (result.time * 1000).round)
    end
  end

  module Lister
    def run(*)
      # They are shuffled; a list in pages has an order.
      Minitest::Runnable.runnables.sort_by(&:to_s).each do |klass|
        klass.runnable_methods.sort_by { |name| [klass.instance_method(name).source_location.last, name] }.each do |name|
          file, line = TandemMinitest.place(klass, name)
          TandemReports.report("test", id: "#{klass}##{name}", class: klass.to_s, file: file, line: line)
        end
      end
      true
    end
  end
end

if ENV["TANDEM_TEST_LIST"]
  Minitest.singleton_class.prepend(TandemMinitest::Lister)
else
  Minitest.extensions << "tandem"
  def Minitest.plugin_tandem_init(_options)
    reporter << TandemMinitest::Reporter.new
  end
end
