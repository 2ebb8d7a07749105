-- A minimal DAP client with the part of nvim-dap's interface that tandem.lua uses. nvim-dap itself is tested by hand.
local M = { adapters = {}, configurations = {}, events = {} }
-- As in nvim-dap: a table for each event, created at the first access.
M.listeners = { after = setmetatable({}, { __index = function(all, name)
  all[name] = {}
  return all[name]
end }) }
local function notify_listeners(name, ...)
  for _, listener in pairs(M.listeners.after[name]) do
    listener(...)
  end
end
local Session = {}
Session.__index = Session
local current

local function encode(message)
  local body = vim.json.encode(message)
  return ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
end

function Session:send(message)
  self.seq = self.seq + 1
  message.seq = self.seq
  self.write(encode(message))
  return self.seq
end

function Session:request(command, arguments, done)
  self.pending[self:send({ type = "request", command = command, arguments = arguments })] = done or function() end
end

--- Sends a request and waits for its response; an error fails the test.
function Session:send_request(command, arguments)
  local response
  self:request(command, arguments, function(err, body)
    response = { err = err, body = body }
  end)
  assert(vim.wait(60000, function() return response ~= nil end, 5), "no response to " .. command)
  assert(not response.err, command .. ": " .. vim.inspect(response.err))
  return response.body
end

function Session:receive(chunk)
  self.buffer = self.buffer .. chunk
  while true do
    local _, header_end, length = self.buffer:find("^Content%-Length: (%d+)\r\n\r\n")
    if not header_end or #self.buffer < header_end + length then
      return
    end
    local message = vim.json.decode(self.buffer:sub(header_end + 1, header_end + length))
    self.buffer = self.buffer:sub(header_end + length + 1)
    if message.type == "response" then
      local done = self.pending[message.request_seq]
      self.pending[message.request_seq] = nil
      if message.success then
        done(nil, message.body)
      else
        done({ message = message.message })
      end
    else
      table.insert(self.events, message)
      notify_listeners("event_" .. message.event, self, message.body)
      if message.event == "output" and message.body.category == "stdout" then
        self.output = self.output .. message.body.output
      end
    end
  end
end

--- Waits for an event and returns its body.
function Session:wait_for_event(name)
  local found
  assert(vim.wait(60000, function()
    for index, event in ipairs(self.events) do
      if event.event == name then
        found = table.remove(self.events, index)
        return true
      end
    end
  end, 5), "no event " .. name)
  return found.body
end

function Session:wait_for_output(text)
  assert(vim.wait(60000, function() return self.output:find(text, 1, true) ~= nil end, 5), "not printed: " .. text)
end

local function connect(adapter, config)
  local self = setmetatable({ seq = 0, buffer = "", pending = {}, events = {}, output = "", config = config }, Session)
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
    local create = adapter
    create(function(created) adapter = created end, config)
  end
  current = connect(adapter, config)
  current:send_request("initialize", { adapterID = "tandem", clientID = "neovim", clientName = "neovim", linesStartAt1 = true })
  current:request(config.request, config)
  current:wait_for_event("initialized")
  if config.breakpoint then
    local source = { path = config.breakpoint.path }
    current:send_request("setBreakpoints", { source = source, breakpoints = { { line = config.breakpoint.line } } })
  end
  current:send_request("configurationDone", vim.empty_dict())
  notify_listeners("configurationDone", current)
end

function M.session()
  return current
end

function M.set_session(session)
  current = session
end

return M
