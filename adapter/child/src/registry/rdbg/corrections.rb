# Corrects a gem `debug` before 1.6. It only adds breakpoints and exception filters: what a request replaces is deleted here, and
# everything when the client leaves. It ignores the conditions of filters. A program that it is attached to would end when it stops
# after the client has left.
corrected = lambda do |dap, attached|
  # Ruby before 3.2 crashes when the last breakpoint of a method is disabled while a thread is stopped in that method by a step: it frees
  # the list of the method's hooks, which the thread reads next. An empty hook keeps the list.
  if RUBY_VERSION.to_f < 3.2 && !DEBUGGER__::LineBreakpoint.method_defined?(:__tandem_disable)
    kept = {}.compare_by_identity
    DEBUGGER__::LineBreakpoint.alias_method(:__tandem_disable, :disable)
    DEBUGGER__::LineBreakpoint.define_method(:disable) do
      if @iseq && @tp&.enabled?
        kept[@iseq] ||= TracePoint.new(@type) {}.tap { |hook| @type == :line ? hook.enable(target: @iseq, target_line: @line) : hook.enable(target: @iseq) }
      end
      __tandem_disable
    end
  end
  # After each fork the gem opens the lock of its processes again, in the parent as well. A thread that waits for the lock then keeps it
  # for ever, and no other process stops.
  if defined?(DEBUGGER__::MultiProcessGroup)
    DEBUGGER__::MultiProcessGroup.prepend(Module.new do
      def after_fork(child: true)
        super unless @__tandem_owner == Process.pid
        @__tandem_owner = Process.pid
      end
    end)
  end
  next if DEBUGGER__::Session.method_defined?(:clear_catch_breakpoints) || dap.method_defined?(:__tandem_receive)
  replaced = lambda do |request|
    set = DEBUGGER__::SESSION.instance_variable_get(:@bps)
    gone =
      case request && request["command"]
      when "setBreakpoints"
        path = request.dig("arguments", "source", "path").to_s
        paths = [path, File.exist?(path) ? File.realpath(path) : File.expand_path(path)]
        set.keys.select { |key| key.is_a?(Array) && paths.include?(key[0]) && key[1].is_a?(Integer) }
      when "setExceptionBreakpoints"
        filters, options = %w[filters filterOptions].map { |name| request["arguments"][name] || [] }
        Thread.current[:__tandem_conditions] = filters.map { nil } + options.map { |option| option["condition"] }
        set.keys.select { |key| key.is_a?(Array) && key[0] == :catch }
      when "disconnect", nil then set.keys
      else []
      end
    gone.each { |key| set.delete(key).delete }
  end
  DEBUGGER__::Session.prepend(Module.new do
    def add_catch_breakpoint(pattern)
      condition = Thread.current[:__tandem_conditions]&.shift
      condition ? add_bp(DEBUGGER__::CatchBreakpoint.new(pattern, cond: condition)) : super
    end
  end)
  if attached
    dap.alias_method(:__tandem_send, :send)
    dap.define_method(:send) do |**message|
      __tandem_send(**message) if @sock
    rescue IOError, Errno::EPIPE
      # The client has gone.
    end
    dap.alias_method(:__tandem_readline, :readline)
    dap.define_method(:readline) { |_prompt| (messages = @q_msg) && messages.pop || @__tandem_last || "continue" }
  end
  dap.alias_method(:__tandem_receive, :recv_request)
  dap.define_method(:recv_request) do
    __tandem_receive.tap do |request|
      replaced.call(request)
      if attached && request && request["command"] == "disconnect" && request.dig("arguments", "terminateDebuggee")
        # The gem ends the program when it stops next.
        @__tandem_last = "kill!"
        Process.kill(:URG, Process.pid)
      end
    end
  end
end
