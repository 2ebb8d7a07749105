-- Debugs the test at the cursor of a file in a headless Neovim, which stops where the test fails.
-- Arguments: the adapter, the file of tests, the line where one fails. Says `ok` at the end.
local adapter, file, line = unpack(_G.arg)
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

require("tandem").setup({ adapter = adapter })
vim.cmd.cd(vim.fs.dirname(vim.fs.dirname(file)))
vim.cmd.edit(file)
vim.api.nvim_win_set_cursor(0, { 1, 0 })
vim.cmd("TandemTest")
said("no test is at the cursor")
vim.api.nvim_win_set_cursor(0, { tonumber(line), 0 })
vim.cmd("TandemTest")
said("Tandem debugs tests.test_cart.CartTests.test_fails")
assert(vim.wait(60000, function() return dap.session() ~= nil end, 5), "nothing was launched")
local session = dap.session()
local stopped = session:event("stopped")
assert(stopped.reason == "exception", vim.inspect(stopped))
local frames = session:ask("stackTrace", { threadId = stopped.threadId }).stackFrames
local here = vim.iter(frames):find(function(frame) return frame.source and frame.source.path == file end)
assert(here and here.line == tonumber(line), vim.inspect(frames))
session:ask("continue", { threadId = stopped.threadId })
session:event("terminated")
said("0 passed, 1 failed, 0 skipped")
local failure = vim.fn.getqflist()[1]
assert(failure and failure.lnum == tonumber(line), vim.inspect(failure))
io.stdout:write("ok\n")
