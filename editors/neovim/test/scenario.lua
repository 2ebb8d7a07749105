-- Launches a program in a headless Neovim, types into it, joins the same session a second time, and leaves it again.
-- Arguments: the adapter, the program, its source, the line to stop at. Prints `ok` at the end.
local adapter, program, source, line = unpack(_G.arg)
local folder = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
package.path = folder .. "/?.lua;" .. folder .. "/../?.lua;" .. package.path
local dap = require("dap")
local messages = {}
vim.notify = function(text) table.insert(messages, text) end

local function wait_for_message(pattern)
  assert(vim.wait(60000, function()
    return vim.iter(messages):any(function(text) return text:find(pattern) ~= nil end)
  end, 5), "no message: " .. pattern .. "\n" .. table.concat(messages, "\n"))
end

local tandem = require("tandem")
local other = { type = "executable", command = "other" }
dap.adapters.go = other
tandem.setup({ adapter = "/no/such/tandem-dap" })
vim.cmd("DapJoin")
wait_for_message("`/no/such/tandem%-dap` cannot be started")
tandem.setup({ adapter = adapter })
assert(dap.configurations.cs[1].type == "tandem")
assert(#dap.configurations.cs == 1, "a second setup adds a configuration")
-- The adapter also handles configurations of other debuggers, unless they have an adapter already.
assert(dap.adapters.coreclr == dap.adapters.tandem and dap.adapters.debugpy.command == adapter)
assert(dap.adapters.go == other)
for _, language in ipairs({ "c", "cpp", "rust" }) do
  assert(#dap.configurations[language] == 1, language)
end
-- The program of a C file is the file, or the outermost CMake project that contains it.
local scratch = vim.fn.tempname()
vim.fn.mkdir(scratch .. "/part", "p")
vim.api.nvim_buf_set_name(0, scratch .. "/part/main.c")
assert(dap.configurations.c[1].program() == scratch .. "/part/main.c")
for _, file in ipairs({ "/CMakeLists.txt", "/part/CMakeLists.txt" }) do
  vim.fn.writefile({ "project(p C)" }, scratch .. file)
end
assert(dap.configurations.c[1].program() == scratch, dap.configurations.c[1].program())
vim.fn.delete(scratch, "rf")
dap.run({ type = "coreclr", request = "launch", name = "echo", program = program, console = "internalConsole",
  breakpoint = { path = source, line = tonumber(line) } })
local first = dap.session()

vim.cmd("DapSendInput hello there")
assert(first:wait_for_event("stopped").reason == "breakpoint")

local live = tandem.sessions()
assert(#live == 1, vim.inspect(live))
vim.cmd("DapJoin " .. live[1].id)
local second = dap.session()
assert(second ~= first)
local stopped = second:wait_for_event("stopped")
local frames = second:send_request("stackTrace", { threadId = stopped.threadId }).stackFrames
assert(frames[1].line == tonumber(line), vim.inspect(frames[1]))
vim.cmd("DapClients")
wait_for_message("Tandem session " .. live[1].id .. " %(stopped%)\n.*neovim.*\n.*neovim %(editor%), you")
-- An editor in the session sets the access of agents, even if an agent launched it.
vim.cmd("DapAgents none")
wait_for_message("agents may now do: none")
second:send_request("disconnect", vim.empty_dict())

dap.set_session(first)
vim.cmd("DapAgents readOnly")
wait_for_message("agents may now do: readOnly")
-- The activity lists actions of others, and those of agents show a notification.
tandem.handle_session_changed(first, { change = "joined", client = "robot", kind = "agent", access = "full" })
wait_for_message("robot %(agent%) joined %(full%)")
tandem.handle_session_changed(first, { change = "input", client = "robot", kind = "agent", text = "1\n", bytes = 2, closed = false })
wait_for_message("robot %(agent%) typed: 1")
tandem.handle_session_changed(first, { change = "invented", client = "robot" })
vim.cmd("DapActivity")
local listed = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
for _, text in ipairs({ "joined", "decided that agents may do: none", "left", "decided that agents may do: readOnly", "typed: 1" }) do
  assert(listed:find(text, 1, true), "not listed: " .. text .. "\n" .. listed)
end
vim.cmd("close")
vim.cmd("DapJoin nosuch1")
wait_for_message("no session `nosuch1` is running")
first:send_request("setBreakpoints", { source = { path = source }, breakpoints = {} })
first:send_request("continue", { threadId = stopped.threadId })
first:wait_for_output("echo: hello there\n")
vim.cmd("DapSendInput!")
assert(first:wait_for_event("exited").exitCode == 0)
first:wait_for_output("eof\n")
first:wait_for_event("terminated")
io.stdout:write("ok\n")
