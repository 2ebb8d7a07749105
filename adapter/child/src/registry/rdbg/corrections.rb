# Corrects the gem `debug`. Before 1.6 it only adds breakpoints and exception filters: what a request replaces is deleted here, and
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
  # A step skips the line of any breakpoint (before 1.7) or is lost there (from 1.7 on), although the breakpoint's condition does not hold
  # or the breakpoint is about another event of the line. Instead, a step that would stop where a breakpoint comes next waits for its
  # decision. The methods count as the gem's file, because the gem leaves its own frames out of stacks.
  unless DEBUGGER__::ThreadClient.method_defined?(:__tandem_end_step)
    file = DEBUGGER__::ThreadClient.instance_method(:suspend).source_location[0]
    RubyVM::InstructionSequence.compile(<<~'RUBY', file, file).eval
      DEBUGGER__::Session.prepend(Module.new do
        def stop_stepping?(_path, _line, subsession = nil)
          subsession && @subsession_id != subsession
        end

        def break_at?(_path, _line)
          false
        end

        # A thread that stops while another is stopped is reported when the program continues. 1.4 ends when it hears of a second stop, and
        # 1.5 and newer need a command for each.
        def process_event(event)
          client, _, kind, _, reason = event
          if kind == :suspend && reason != :replay && !client.__tandem_nested?
            if in_subsession?
              (@__tandem_stops ||= []) << event if reason != :trap
              return
            end
            @__tandem_stopped = client
          end
          super
        end

        private def leave_subsession(command)
          events = Array.new(@q_evt.size) { @q_evt.pop }
          stops, others = events.partition { |event| event[2] == :suspend }
          later = (@__tandem_stops || []) + stops.reject { |event| event[4] == :trap }
          # The thread that is stopped gets the command, not the one that was last looked at.
          @tc = @__tandem_stopped if @__tandem_stopped&.waiting? && !@tc&.__tandem_nested?
          @__tandem_stays = later.map(&:first)
          # The stops that were reported before this correction.
          @subsession_stack.pop while @subsession_stack && @subsession_stack.size > 1 && @th_clients.each_value.none?(&:__tandem_nested?)
          super
        ensure
          @__tandem_stops, @__tandem_stays = nil
          [*others, *later].each { |event| @q_evt << event }
        end

        private def waiting_thread_clients
          super - (@__tandem_stays || [])
        end
      end)
      DEBUGGER__::ThreadClient.prepend(Module.new do
        def suspend(event, point = nil, **given)
          held, @__tandem_held = @__tandem_held, nil
          entered, @__tandem_entered = @__tandem_entered, nil
          if given[:bp]
            # Before 1.7 a step continues with the program although another stop has ended it.
            @step_tp&.disable
            @__tandem_entered = given[:bp] if event == :call
          elsif point && !held && (breakpoint = __tandem_breakpoint(event, point.lineno))
            is_next = breakpoint.instance_variable_get(:@type) == event
            return @__tandem_held = event if is_next
            # The breakpoint has stopped here when the method was entered.
            return point.enable(**__tandem_target) if breakpoint.equal?(entered)
          end
          depth = @__tandem_depth || 0
          @__tandem_depth = depth + 1
          super
        ensure
          @__tandem_depth = depth if depth
        end

        # Whether it has stopped in what it evaluates while it is stopped.
        def __tandem_nested?
          (@__tandem_depth || 0) > 1
        end

        # The condition of the breakpoint that a step waits for does not hold.
        def __tandem_end_step(point)
          suspend(@__tandem_held, point) if @__tandem_held
        end

        private def __tandem_breakpoint(event, line)
          types = event == :line ? %i[line call] : [event]
          set = DEBUGGER__::SESSION.instance_variable_get(:@bps).values.select do |breakpoint|
            DEBUGGER__::LineBreakpoint === breakpoint && breakpoint.line == line && breakpoint.enabled? &&
              types.include?(breakpoint.instance_variable_get(:@type))
          end
          return if set.empty?
          code = DEBUGGER__.capture_frames(__dir__).first&.iseq
          set.find { |breakpoint| __tandem_within?(code, breakpoint.iseq) }
        end

        # A breakpoint is also about the blocks in its code.
        private def __tandem_within?(inner, outer)
          return true if outer.equal?(inner)
          outer.each_child { |child| return true if __tandem_within?(inner, child) }
          false
        end

        private def __tandem_target
          self.class::SUPPORT_TARGET_THREAD ? { target_thread: Thread.current } : {}
        end
      end)
      DEBUGGER__::LineBreakpoint.prepend(Module.new do
        def safe_eval(scope, condition)
          holds = super
          DEBUGGER__::ThreadClient.current.__tandem_end_step(@tp) unless holds
          holds
        end
      end)
    RUBY
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
