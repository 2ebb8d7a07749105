plain = lambda do |value|
  case value
  when String
    binary = [Encoding::UTF_8, Encoding::US_ASCII, Encoding::BINARY].include?(value.encoding)
    text = binary ? value.dup.force_encoding(Encoding::UTF_8) : value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    text.valid_encoding? ? text : text.scrub { |bytes| bytes.unpack("C*").map { |byte| format("\\x%02X", byte) }.join }
  when Hash then value.transform_values(&plain)
  when Array then value.map(&plain)
  else value
  end
end
given = ENV.delete("TANDEM_RUBYOPT")
ENV["RUBYOPT"] = given if ENV["RUBYOPT"]&.match?(%r{\A-r \S+/debug/(open|start)\z}) && !ENV["RUBY_DEBUG_ADDED_RUBYOPT"]
launched = Process.pid
module_name = Module.instance_method(:name)
# The gem reads lines as the program's `$/` says.
lines = Module.new do
  def gets(*given)
    given.empty? ? super("\n") : super
  end
end
ends = TracePoint.new(:end) do |point|
  dap = point.self
  next unless Module === dap && module_name.bind(dap).call == "DEBUGGER__::UI_DAP" && dap.instance_methods(false).include?(:send)
  ends.disable
  ENV.delete("RUBY_DEBUG_STOP_AT_LOAD")
  original = dap.instance_method(:send)
  dap.send(:remove_method, :send)
  dap.send(:define_method, :send) do |**message|
    # A forked process shares the session of its parent.
    if message[:event].to_s == "stopped" && Process.pid != launched
      message[:body] = (message[:body] || {}).merge(processId: Process.pid)
    end
    @sock.extend(lines)
    original.bind(self).call(**plain.call(message))
  end
  corrected.call(dap, false)
end
ends.enable
