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
tandem.setup({ adapter = adapter })
assert(dap.configurations.cs[1].type == "tandem")
dap.run({ type = "tandem", request = "launch", name = "echo", program = program,
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
vim.cmd("DapRiders")
said("Tandem session " .. live[1].id .. " %(stopped%)\n.*neovim.*\n.*neovim %(editor%), you")
vim.cmd("DapAgents readOnly")
said("only the client that launched")
second:ask("disconnect", vim.empty_dict())

dap.set_session(first)
vim.cmd("DapAgents readOnly")
said("agents may now do: readOnly")
vim.cmd("DapJoin nosuch1")
said("no session `nosuch1` lives")
first:ask("setBreakpoints", { source = { path = source }, breakpoints = {} })
first:ask("continue", { threadId = stopped.threadId })
first:printed("echo: hello there\n")
vim.cmd("DapSendInput!")
assert(first:event("exited").exitCode == 0)
first:printed("eof\n")
first:event("terminated")
io.stdout:write("ok\n")
