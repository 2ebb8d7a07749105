-- Launches a program in a headless Neovim, types into it, joins the same session a second time, and leaves it again.
-- Arguments: the adapter, the program, its source, the line to stop at. Says `ok` at the end.
local adapter, program, source, line = unpack(_G.arg)
local own = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
package.path = own .. "/?.lua;" .. own .. "/../?.lua;" .. package.path
local dap = require("dap")
local told = {}
vim.notify = function(text) table.insert(told, text) end

local function said(pattern)
  assert(vim.wait(60000, function()
    return vim.iter(told):any(function(text) return text:find(pattern) ~= nil end)
  end, 5), "never said: " .. pattern .. "\n" .. table.concat(told, "\n"))
end

local tandem = require("tandem")
local other = { type = "executable", command = "other" }
dap.adapters.go = other
tandem.setup({ adapter = "/no/such/tandem-dap" })
vim.cmd("DapJoin")
said("`/no/such/tandem%-dap` cannot be started")
tandem.setup({ adapter = adapter })
assert(dap.configurations.cs[1].type == "tandem")
assert(#dap.configurations.cs == 1, "a second setup adds nothing")
-- Configurations of other debuggers, as in a launch.json, unless they have an adapter already.
assert(dap.adapters.coreclr == dap.adapters.tandem and dap.adapters.debugpy.command == adapter)
assert(dap.adapters.go == other)
for _, language in ipairs({ "c", "cpp", "rust" }) do
  assert(#dap.configurations[language] == 1, language)
end
-- A C file is built by itself, or with the CMake project around it: the outermost.
local scratch = vim.fn.tempname()
vim.fn.mkdir(scratch .. "/part", "p")
vim.api.nvim_buf_set_name(0, scratch .. "/part/main.c")
assert(dap.configurations.c[1].program() == scratch .. "/part/main.c")
for _, place in ipairs({ "/CMakeLists.txt", "/part/CMakeLists.txt" }) do
  vim.fn.writefile({ "project(p C)" }, scratch .. place)
end
assert(dap.configurations.c[1].program() == scratch, dap.configurations.c[1].program())
vim.fn.delete(scratch, "rf")
dap.run({ type = "coreclr", request = "launch", name = "echo", program = program, console = "internalConsole",
  breakpoint = { path = source, line = tonumber(line) } })
local first = dap.session()

vim.cmd("DapSendInput hello there")
assert(first:event("stopped").reason == "breakpoint")

local live = tandem.sessions()
assert(#live == 1, vim.inspect(live))
vim.cmd("DapJoin " .. live[1].id)
local second = dap.session()
assert(second ~= first)
local stopped = second:event("stopped")
local frames = second:ask("stackTrace", { threadId = stopped.threadId }).stackFrames
assert(frames[1].line == tonumber(line), vim.inspect(frames[1]))
vim.cmd("DapClients")
said("Tandem session " .. live[1].id .. " %(stopped%)\n.*neovim.*\n.*neovim %(editor%), you")
-- A person in the session decides about agents, even if an agent launched it.
vim.cmd("DapAgents none")
said("agents may now do: none")
second:ask("disconnect", vim.empty_dict())

dap.set_session(first)
vim.cmd("DapAgents readOnly")
said("agents may now do: readOnly")
-- Actions of others are listed, and those of agents are announced.
tandem.changed(first, { change = "joined", client = "robot", kind = "agent", access = "full" })
said("robot %(agent%) joined %(full%)")
tandem.changed(first, { change = "input", client = "robot", kind = "agent", text = "1\n", bytes = 2, closed = false })
said("robot %(agent%) typed: 1")
tandem.changed(first, { change = "invented", client = "robot" })
vim.cmd("DapActivity")
local listed = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
for _, words in ipairs({ "joined", "decided that agents may do: none", "left", "decided that agents may do: readOnly", "typed: 1" }) do
  assert(listed:find(words, 1, true), "not listed: " .. words .. "\n" .. listed)
end
vim.cmd("close")
vim.cmd("DapJoin nosuch1")
said("no session `nosuch1` is running")
first:ask("setBreakpoints", { source = { path = source }, breakpoints = {} })
first:ask("continue", { threadId = stopped.threadId })
first:printed("echo: hello there\n")
vim.cmd("DapSendInput!")
assert(first:event("exited").exitCode == 0)
first:printed("eof\n")
first:event("terminated")
io.stdout:write("ok\n")
