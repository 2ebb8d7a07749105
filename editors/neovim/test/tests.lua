-- Debugs the test at the cursor in a headless Neovim, and stops where it fails.
-- Arguments: the adapter, the test file, the line where a test fails. Prints `ok` at the end.
local adapter, file, line = unpack(_G.arg)
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

require("tandem").setup({ adapter = adapter })
vim.cmd.cd(vim.fs.dirname(vim.fs.dirname(file)))
vim.cmd.edit(file)
vim.api.nvim_win_set_cursor(0, { 1, 0 })
vim.cmd("TandemTest")
wait_for_message("no test is at the cursor")
vim.api.nvim_win_set_cursor(0, { tonumber(line), 0 })
vim.cmd("TandemTest")
wait_for_message("Tandem debugs tests.test_cart.CartTests.test_fails")
assert(vim.wait(60000, function() return dap.session() ~= nil end, 5), "nothing was launched")
local session = dap.session()
local stopped = session:wait_for_event("stopped")
assert(stopped.reason == "exception", vim.inspect(stopped))
local frames = session:send_request("stackTrace", { threadId = stopped.threadId }).stackFrames
local frame = vim.iter(frames):find(function(frame) return frame.source and frame.source.path == file end)
assert(frame and frame.line == tonumber(line), vim.inspect(frames))
session:send_request("continue", { threadId = stopped.threadId })
session:wait_for_event("terminated")
wait_for_message("0 passed, 1 failed, 0 skipped")
local failure = vim.fn.getqflist()[1]
assert(failure and failure.lnum == tonumber(line), vim.inspect(failure))
io.stdout:write("ok\n")
