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
--   :DapActivity         what everybody in the session did
--
-- A notification says when an agent joins, is refused something or types into the program; `setup { announce = false }` turns that off.
local M = { activity = {} }

--- Lines of activity that are kept.
local KEPT = 500

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
      vim.notify("Tandem: " .. M.reason(err), vim.log.levels.ERROR)
    elseif done then
      done(body)
    end
  end)
end

--- What a refusal says: nvim-dap gives the answer's body, whose message has places for its parts.
function M.reason(err)
  local told = err.body and err.body.error
  local variables = told and told.variables
  return tostring((variables and variables.message) or err.message or err)
end

--- Most letters of a text in one line.
local function short(text)
  local line = (text or ""):gsub("%s+", " ")
  return vim.fn.strchars(line) > 60 and (vim.fn.strcharpart(line, 0, 59) .. "…") or line
end

local function places(list)
  local told = {}
  for _, mark in ipairs(list or {}) do
    local name = mark.file and ("%s:%d"):format(vim.fs.basename(mark.file), mark.line or 0)
    table.insert(told, (name or mark.name or mark.filterId or "?") .. (mark.owner and (" of " .. mark.owner) or ""))
  end
  return table.concat(told, ", ")
end

--- What a `sessionChanged` event tells, in words; nil for what we do not know.
local WORDS = {
  joined = function(body) return "joined (" .. (body.access or "full") .. ")" end,
  left = function() return "left" end,
  owner = function() return "owns the session now" end,
  agentAccess = function(body) return "decided that agents may do: " .. tostring(body.agentAccess) end,
  resumed = function(body) return "let it run: " .. tostring(body.command) end,
  paused = function() return "paused" end,
  restarted = function() return "restarted" end,
  terminate = function() return "ended the program" end,
  input = function(body)
    local wrote = body.text and body.text ~= "" and ("typed: " .. short(vim.trim(body.text))) or ("typed %d bytes"):format(body.bytes or 0)
    return body.closed and (wrote .. ", and ended the input") or wrote
  end,
  valueSet = function(body) return ("set %s = %s"):format(short(body.name), short(body.value)) end,
  evaluated = function(body) return "evaluated " .. short(body.expression) end,
  breakpoints = function(body)
    local parts = {}
    if body.added then table.insert(parts, "set " .. places(body.added)) end
    if body.removed then table.insert(parts, "removed " .. places(body.removed)) end
    return table.concat(parts, "; ")
  end,
  refused = function(body) return ("was refused `%s` (%s)"):format(tostring(body.command), tostring(body.access)) end,
}

--- Of an agent, these are said at once.
local SAID = { joined = true, refused = true, input = true }

--- Takes a `sessionChanged` event.
function M.changed(_, body)
  local words = body and WORDS[body.change]
  if not words or type(body.client) ~= "string" then
    return
  end
  local line = ("%s (%s) %s"):format(body.client, body.kind or "?", words(body))
  table.insert(M.activity, os.date("%H:%M:%S ") .. line)
  if #M.activity > KEPT then
    table.remove(M.activity, 1)
  end
  if body.kind == "agent" and SAID[body.change] and M.announce then
    vim.notify("Tandem: " .. line, body.change == "refused" and vim.log.levels.WARN or vim.log.levels.INFO)
  end
end

--- What everybody did, in a buffer of its own.
function M.show_activity()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, #M.activity > 0 and M.activity or { "nothing was done yet" })
  vim.bo[buffer].modifiable = false
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, buffer)
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
      local access = client.kind == "agent" and (", " .. tostring(client.access)) or ""
      table.insert(lines, ("  %s (%s)%s%s"):format(client.name, client.kind, access, client.you and ", you" or ""))
    end
    vim.notify(table.concat(lines, "\n"))
  end)
end

--- All live sessions, oldest first; nil, said, when the adapter cannot be asked.
function M.sessions()
  local started, done = pcall(function()
    return vim.system({ M.adapter, "sessions", "--json" }, { text = true }):wait()
  end)
  if not started then
    vim.notify(
      ("Tandem: `%s` cannot be started; put it in PATH, or name it in setup { adapter = … }"):format(M.adapter),
      vim.log.levels.ERROR
    )
    return nil
  end
  return done.code == 0 and vim.json.decode(done.stdout) or {}
end

--- Joins a live session through its own socket.
function M.join(id)
  local live = M.sessions()
  if not live then
    return
  end
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
      local by = entry.client and (", started by " .. entry.client) or ""
      return ("%s  %s (%s%s)"):format(entry.id, entry.title, entry.engine, by)
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

--- The folder of the CMake project that the open file belongs to, or the file.
local function c_program()
  local file = vim.api.nvim_buf_get_name(0)
  local lists = vim.fs.find("CMakeLists.txt", { upward = true, path = vim.fs.dirname(file), limit = math.huge })
  return lists[1] and vim.fs.dirname(lists[#lists]) or file
end

function M.setup(options)
  options = options or {}
  M.adapter = options.adapter or "tandem-dap"
  M.announce = options.announce ~= false
  local nvim = dap()
  nvim.adapters.tandem = { type = "executable", command = M.adapter }
  nvim.adapters.tandem_join = function(callback, config)
    callback({ type = "pipe", pipe = config.socket })
  end
  local function add(language, program)
    nvim.configurations[language] = nvim.configurations[language] or {}
    -- Configurations that are read anew call this again.
    nvim.configurations[language] = vim.tbl_filter(function(one)
      return not (one.type == "tandem" and one.name == "Tandem")
    end, nvim.configurations[language])
    table.insert(nvim.configurations[language], { type = "tandem", request = "launch", name = "Tandem", program = program })
  end
  add("cs", project)
  add("fsharp", project)
  for _, language in ipairs({ "python", "sh", "javascript", "ruby", "go" }) do
    add(language, "${file}")
  end
  -- Built first: a Rust file's package, a C or C++ file by itself unless it belongs to a project of CMake.
  add("rust", "${file}")
  add("c", c_program)
  add("cpp", c_program)
  -- Others' doings are told to who asks; before `configurationDone` nobody is in the session yet.
  nvim.listeners.after.configurationDone.tandem = function(current)
    if current.config and (current.config.type == "tandem" or current.config.type == "tandem_join") then
      current:request("sessionInfo", { subscribe = true }, function() end)
    end
  end
  nvim.listeners.after.event_sessionChanged.tandem = M.changed
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
  command("DapActivity", M.show_activity, { desc = "What everybody in the session did" })
end

return M
