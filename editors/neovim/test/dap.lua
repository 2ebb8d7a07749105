-- A DAP client as small as can be, with as much of nvim-dap's interface as tandem.lua uses. It is not nvim-dap: the real one
-- is tried by hand, this one always.
local M = { adapters = {}, configurations = {}, events = {} }
-- As nvim-dap has them: a table for each event, made when it is asked for.
M.listeners = { after = setmetatable({}, { __index = function(all, name)
  all[name] = {}
  return all[name]
end }) }
local function listen(name, ...)
  for _, listener in pairs(M.listeners.after[name]) do
    listener(...)
  end
end
local Session = {}
Session.__index = Session
local current

local function frame(message)
  local body = vim.json.encode(message)
  return ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
end

function Session:send(message)
  self.seq = self.seq + 1
  message.seq = self.seq
  self.write(frame(message))
  return self.seq
end

function Session:request(command, arguments, done)
  self.waiting[self:send({ type = "request", command = command, arguments = arguments })] = done or function() end
end

--- Waits for one answer; an error fails the test.
function Session:ask(command, arguments)
  local answer
  self:request(command, arguments, function(err, body)
    answer = { err = err, body = body }
  end)
  assert(vim.wait(60000, function() return answer ~= nil end, 5), command .. " is not answered")
  assert(not answer.err, command .. ": " .. vim.inspect(answer.err))
  return answer.body
end

function Session:receive(chunk)
  self.buffer = self.buffer .. chunk
  while true do
    local _, stop, length = self.buffer:find("^Content%-Length: (%d+)\r\n\r\n")
    if not stop or #self.buffer < stop + length then
      return
    end
    local message = vim.json.decode(self.buffer:sub(stop + 1, stop + length))
    self.buffer = self.buffer:sub(stop + length + 1)
    if message.type == "response" then
      local done = self.waiting[message.request_seq]
      self.waiting[message.request_seq] = nil
      if message.success then
        done(nil, message.body)
      else
        done({ message = message.message })
      end
    else
      table.insert(self.events, message)
      listen("event_" .. message.event, self, message.body)
      if message.event == "output" and message.body.category == "stdout" then
        self.output = self.output .. message.body.output
      end
    end
  end
end

--- Waits for an event and gives its body.
function Session:event(name)
  local found
  assert(vim.wait(60000, function()
    for at, event in ipairs(self.events) do
      if event.event == name then
        found = table.remove(self.events, at)
        return true
      end
    end
  end, 5), "no event " .. name)
  return found.body
end

function Session:printed(text)
  assert(vim.wait(60000, function() return self.output:find(text, 1, true) ~= nil end, 5), "not printed: " .. text)
end

local function connect(adapter, config)
  local self = setmetatable({ seq = 0, buffer = "", waiting = {}, events = {}, output = "", config = config }, Session)
  local received = vim.schedule_wrap(function(_, chunk)
    if chunk then
      self:receive(chunk)
    end
  end)
  if adapter.type == "pipe" then
    local pipe, connected = assert(vim.uv.new_pipe()), false
    pipe:connect(adapter.pipe, function(err)
      assert(not err, err)
      connected = true
    end)
    assert(vim.wait(60000, function() return connected end, 5), "cannot connect to " .. adapter.pipe)
    pipe:read_start(received)
    self.write = function(text) pipe:write(text) end
  else
    local process = vim.system({ adapter.command }, { stdin = true, stdout = received })
    self.write = function(text) process:write(text) end
  end
  return self
end

function M.run(config)
  local adapter = M.adapters[config.type]
  if type(adapter) == "function" then
    local made = adapter
    made(function(given) adapter = given end, config)
  end
  current = connect(adapter, config)
  current:ask("initialize", { adapterID = "tandem", clientID = "neovim", clientName = "neovim", linesStartAt1 = true })
  current:request(config.request, config)
  current:event("initialized")
  if config.breakpoint then
    local source = { path = config.breakpoint.path }
    current:ask("setBreakpoints", { source = source, breakpoints = { { line = config.breakpoint.line } } })
  end
  current:ask("configurationDone", vim.empty_dict())
  listen("configurationDone", current)
end

function M.session()
  return current
end

function M.set_session(session)
  current = session
end

return M
