-- Tandem in nvim-dap: adapters to launch and to join, and commands for the program's input.
--
-- Put this file into your `lua` folder and call `require("tandem").setup()` after nvim-dap is loaded. It needs nothing but
-- nvim-dap. `setup { adapter = "/path/to/tandem-dap" }` names the adapter when it is not in PATH.
--
--   :DapSendInput TEXT   a line for the program's stdin
--   :DapSendInput!       end of input
--   :DapJoin [ID]        join a live session; asks which one without ID
--   :DapAgents full|readOnly|none   what agents may do in this session
--   :DapRiders           who is in the session
local M = {}

local function dap()
  return require("dap")
end

--- The session people mean, or an error they can read.
local function session()
  local found = dap().session()
  if not found then
    vim.notify("Tandem: there is no debug session", vim.log.levels.WARN)
  end
  return found
end

--- Sends one of Tandem's own requests; `done` gets the body of the answer.
local function ask(command, arguments, done)
  local current = session()
  if not current then
    return
  end
  current:request(command, arguments, function(err, body)
    if err then
      vim.notify("Tandem: " .. tostring(err.message or err), vim.log.levels.ERROR)
    elseif done then
      done(body)
    end
  end)
end

--- A line for the program's stdin; `close` ends the input, after the text when there is some.
function M.send_input(text, close)
  local data = (close and text == "") and "" or (text .. "\n")
  ask("processWriteInput", { data = data, closeAfter = close or false })
end

--- What agents may do: `full`, `readOnly` or `none`.
function M.agents(access)
  ask("sessionControl", { agentAccess = access }, function(body)
    vim.notify("Tandem: agents may now do: " .. body.agentAccess)
  end)
end

--- Who is in the session.
function M.riders()
  ask("sessionInfo", vim.empty_dict(), function(body)
    local lines = { "Tandem session " .. body.id .. " (" .. body.state .. ")" }
    for _, client in ipairs(body.clients) do
      table.insert(lines, ("  %s (%s)%s"):format(client.name, client.kind, client.you and ", you" or ""))
    end
    vim.notify(table.concat(lines, "\n"))
  end)
end

--- All live sessions, oldest first.
function M.sessions()
  local done = vim.system({ M.adapter, "sessions", "--json" }, { text = true }):wait()
  return done.code == 0 and vim.json.decode(done.stdout) or {}
end

--- Joins a live session through its own socket.
function M.join(id)
  local live = M.sessions()
  local function go(entry)
    if entry then
      dap().run({ type = "tandem_join", request = "attach", name = "join " .. entry.id, socket = entry.socket })
    end
  end
  if id and id ~= "" then
    for _, entry in ipairs(live) do
      if entry.id == id then
        return go(entry)
      end
    end
    return vim.notify("Tandem: no session `" .. id .. "` lives", vim.log.levels.ERROR)
  end
  if #live == 0 then
    return vim.notify("Tandem: no session lives")
  end
  vim.ui.select(live, {
    prompt = "Join which session?",
    format_item = function(entry)
      return ("%s  %s (%s)"):format(entry.id, entry.title, entry.engine)
    end,
  }, go)
end

--- The folder of the nearest project file above the open file, for .NET programs.
local function project()
  local found = vim.fs.find(function(name)
    return name:match("%.csproj$") or name:match("%.fsproj$")
  end, { upward = true, path = vim.fs.dirname(vim.api.nvim_buf_get_name(0)) })
  return found[1] and vim.fs.dirname(found[1]) or vim.fn.getcwd()
end

function M.setup(options)
  M.adapter = (options or {}).adapter or "tandem-dap"
  local nvim = dap()
  nvim.adapters.tandem = { type = "executable", command = M.adapter }
  nvim.adapters.tandem_join = function(callback, config)
    callback({ type = "pipe", pipe = config.socket })
  end
  local function add(language, program)
    nvim.configurations[language] = nvim.configurations[language] or {}
    table.insert(nvim.configurations[language], { type = "tandem", request = "launch", name = "Tandem", program = program })
  end
  add("cs", project)
  add("fsharp", project)
  for _, language in ipairs({ "python", "sh", "javascript", "ruby", "go" }) do
    add(language, "${file}")
  end
  local command = vim.api.nvim_create_user_command
  command("DapSendInput", function(call)
    M.send_input(call.args, call.bang)
  end, { nargs = "*", bang = true, desc = "Send a line to the program's stdin; with ! end it" })
  command("DapJoin", function(call)
    M.join(call.args)
  end, { nargs = "?", desc = "Join a live Tandem session" })
  command("DapAgents", function(call)
    M.agents(call.args)
  end, {
    nargs = 1,
    desc = "What agents may do in this session",
    complete = function()
      return { "full", "readOnly", "none" }
    end,
  })
  command("DapRiders", M.riders, { desc = "Who is in the session" })
end

return M
