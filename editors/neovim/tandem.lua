-- Tandem in nvim-dap: adapters to launch and to join, and commands for the program's input.
--
-- Put this file into your `lua` folder and call `require("tandem").setup()` after nvim-dap is loaded. It needs nothing but
-- nvim-dap. `setup { adapter = "/path/to/tandem-dap" }` names the adapter if it is not in PATH.
--
--   :DapSendInput TEXT   writes a line to the program's stdin
--   :DapSendInput!       ends the input
--   :DapJoin [ID]        joins a live session; without ID it asks which
--   :DapAgents full|readOnly|none   sets what agents may do in this session
--   :DapClients          lists the clients of the session
--   :DapActivity         lists what the clients of the session did
--   :TandemTest          debugs the test at the cursor and stops where it fails; :TandemTest! debugs all tests of the file
--
-- :TandemTest needs `tandem-mcp`, beside the adapter or in PATH, or `setup { bridge = … }`.
-- A notification appears when an agent joins, types into the program or has a request refused; `setup { announce = false }` turns these off.
local M = { activity = {} }

--- Types of other debuggers' configurations that `tandem-dap` understands: it debugs them unless another adapter is registered.
M.types = { "coreclr", "dotnet", "debugpy", "python", "lldb", "lldb-dap", "cppdbg", "go", "node", "pwa-node", "rdbg" }

--- How many lines of activity are kept.
local KEPT = 500

local function dap()
  return require("dap")
end

--- The current debug session; without one, notifies the user and returns nil.
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

--- The text of a refusal: nvim-dap passes the body of the response, whose `format` has placeholders for its variables.
function M.reason(err)
  local failure = err.body and err.body.error
  local variables = failure and failure.variables
  return tostring((variables and variables.message) or err.message or err)
end

--- Shortens a text to one line of at most 60 characters.
local function short(text)
  local line = (text or ""):gsub("%s+", " ")
  return vim.fn.strchars(line) > 60 and (vim.fn.strcharpart(line, 0, 59) .. "…") or line
end

local function places(list)
  local names = {}
  for _, mark in ipairs(list or {}) do
    local name = mark.file and ("%s:%d"):format(vim.fs.basename(mark.file), mark.line or 0)
    table.insert(names, (name or mark.name or mark.filterId or "?") .. (mark.owner and (" of " .. mark.owner) or ""))
  end
  return table.concat(names, ", ")
end

--- Describes a `sessionChanged` event; nil for an unknown change.
local WORDS = {
  joined = function(body) return "joined (" .. (body.access or "full") .. ")" end,
  left = function() return "left" end,
  owner = function() return "owns the session now" end,
  agentAccess = function(body) return "decided that agents may do: " .. tostring(body.agentAccess) end,
  resumed = function(body) return "resumed with: " .. tostring(body.command) end,
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

--- Changes by an agent that are notified immediately.
local SAID = { joined = true, refused = true, input = true }

--- Handles a `sessionChanged` event.
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

--- Shows what the clients did, in a new buffer.
function M.show_activity()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, #M.activity > 0 and M.activity or { "nothing was done yet" })
  vim.bo[buffer].modifiable = false
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, buffer)
end

--- Writes a line to the program's stdin; `close` ends the input, after the text if there is any.
function M.send_input(text, close)
  local data = (close and text == "") and "" or (text .. "\n")
  ask("processWriteInput", { data = data, closeAfter = close or false })
end

--- Sets what agents may do: `full`, `readOnly` or `none`.
function M.agents(access)
  ask("sessionControl", { agentAccess = access }, function(body)
    vim.notify("Tandem: agents may now do: " .. body.agentAccess)
  end)
end

--- Lists the clients of the session.
function M.clients()
  ask("sessionInfo", vim.empty_dict(), function(body)
    local lines = { "Tandem session " .. body.id .. " (" .. body.state .. ")" }
    for _, client in ipairs(body.clients) do
      local access = client.kind == "agent" and (", " .. tostring(client.access)) or ""
      table.insert(lines, ("  %s (%s)%s%s"):format(client.name, client.kind, access, client.you and ", you" or ""))
    end
    vim.notify(table.concat(lines, "\n"))
  end)
end

--- Returns all live sessions, oldest first; if the adapter cannot be started, notifies the user and returns nil.
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
    return vim.notify("Tandem: no session `" .. id .. "` is running", vim.log.levels.ERROR)
  end
  if #live == 0 then
    return vim.notify("Tandem: no session is running")
  end
  vim.ui.select(live, {
    prompt = "Join which session?",
    format_item = function(entry)
      local by = entry.client and (", started by " .. entry.client) or ""
      return ("%s  %s (%s%s)"):format(entry.id, entry.title, entry.engine, by)
    end,
  }, go)
end

--- Runs `tandem-mcp tests`: sends a request and passes on each event; `over` gets the last one.
local function tests(request, heard, over)
  local rest, last, job = "", nil, nil
  local function line(text)
    local ok, event = pcall(vim.json.decode, text, { luanil = { object = true } })
    if ok and type(event) == "table" then
      last = event.event == "end" and event or last
      heard(event, function(answer)
        vim.fn.chansend(job, vim.json.encode(answer) .. "\n")
      end)
    end
  end
  local started
  started, job = pcall(vim.fn.jobstart, { M.bridge, "tests" }, {
    on_stdout = function(_, data)
      data[1] = rest .. data[1]
      rest = table.remove(data)
      vim.iter(data):each(line)
    end,
    on_exit = function(_, code)
      over(last or { error = { message = ("`%s tests` ended with exit code %d"):format(M.bridge, code) } })
    end,
  })
  if not started or job <= 0 then
    over({ error = { message = ("`%s` cannot be started; put it in PATH, or name it in setup { bridge = … }"):format(M.bridge) } })
    return
  end
  vim.fn.chansend(job, vim.json.encode(request) .. "\n")
end

--- Debugs a process that a test run asks to launch; `answer` gets the result.
local function debug_test(event, answer)
  local output, nvim = { stdout = "", stderr = "" }, dap()
  local code, mine = -1, nil
  local function on(name, act)
    nvim.listeners.after["event_" .. name].tandem_test = function(session, body)
      mine = mine or session
      if session == mine then
        act(body or {})
      end
    end
  end
  on("process", function(body)
    answer({ started = body.systemProcessId })
  end)
  on("output", function(body)
    if output[body.category] then
      output[body.category] = output[body.category] .. body.output
    end
  end)
  on("exited", function(body)
    code = body.exitCode
  end)
  on("terminated", function()
    for _, name in ipairs({ "process", "output", "exited", "terminated" }) do
      nvim.listeners.after["event_" .. name].tandem_test = nil
    end
    answer({ ended = code, stdout = output.stdout, stderr = output.stderr })
  end)
  nvim.run(vim.tbl_extend("force", event.attributes, { type = "tandem", request = "launch", name = "test" }))
end

--- Returns the tests at a line of a file: the last one that begins at or above it, with all its data rows.
local function at_cursor(list, file, line)
  local best, ids = 0, {}
  for _, test in ipairs(list) do
    if test.file == file and test.line and test.line <= line and test.line >= best then
      ids = test.line > best and {} or ids
      best = test.line
      table.insert(ids, test.id)
    end
  end
  return ids
end

--- Debugs the test at the cursor, or all tests of the file, and stops where one fails; notifies the user of the results, and puts failures
--- into the quickfix list.
function M.test(all)
  local file, line = vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1]
  local within = vim.startswith(file, vim.fn.getcwd() .. "/") and vim.fn.getcwd()
  local folder = vim.fs.root(file, { ".git" }) or within or vim.fs.dirname(file)
  local list, failures, counts = {}, {}, { passed = 0, failed = 0, skipped = 0 }
  local function complain(finish)
    if finish.error and finish.error.code ~= "TESTS_FAILED" then
      vim.notify("Tandem: " .. finish.error.message .. (finish.error.hint and ("; " .. finish.error.hint) or ""), vim.log.levels.ERROR)
      return true
    end
  end
  local function over(finish)
    if complain(finish) then
      return
    end
    vim.fn.setqflist({}, " ", { title = "Tandem: tests that failed", items = failures })
    local level = counts.failed > 0 and vim.log.levels.ERROR or vim.log.levels.INFO
    vim.notify(("Tandem: %d passed, %d failed, %d skipped"):format(counts.passed, counts.failed, counts.skipped), level)
  end
  local function heard(event, answer)
    if event.event == "launch" then
      debug_test(event, answer)
    elseif event.event == "finished" then
      counts[event.outcome] = counts[event.outcome] + 1
      if event.outcome == "failed" then
        table.insert(failures, { filename = event.file, lnum = event.line, text = event.id .. ": " .. (event.message or "") })
      end
    end
  end
  local request = { action = "list", folder = folder, projectPath = file }
  tests(request, function(event)
    if event.event == "test" then
      table.insert(list, event)
    end
  end, function(finish)
    if complain(finish) then
      return
    end
    local wanted = all and vim.tbl_map(function(test) return test.id end, vim.tbl_filter(function(test)
      return test.file == file
    end, list)) or at_cursor(list, file, line)
    if #wanted == 0 then
      return vim.notify("Tandem: no test is at the cursor; `:TandemTest!` debugs those of the file", vim.log.levels.WARN)
    end
    vim.notify("Tandem debugs " .. (all and "the tests of the file" or table.concat(wanted, ", ")))
    tests(vim.tbl_extend("force", request, { action = "debug", tests = wanted }), heard, over)
  end)
end

--- Returns the folder of the nearest .NET project file above the open file.
local function project()
  local found = vim.fs.find(function(name)
    return name:match("%.csproj$") or name:match("%.fsproj$")
  end, { upward = true, path = vim.fs.dirname(vim.api.nvim_buf_get_name(0)) })
  return found[1] and vim.fs.dirname(found[1]) or vim.fn.getcwd()
end

--- Returns the folder of the CMake project that the open file belongs to, or the file.
local function c_program()
  local file = vim.api.nvim_buf_get_name(0)
  local lists = vim.fs.find("CMakeLists.txt", { upward = true, path = vim.fs.dirname(file), limit = math.huge })
  return lists[1] and vim.fs.dirname(lists[#lists]) or file
end

function M.setup(options)
  options = options or {}
  M.adapter = options.adapter or "tandem-dap"
  local beside = M.adapter:match("^(.*/)[^/]*$")
  M.bridge = options.bridge or (beside and vim.fn.executable(beside .. "tandem-mcp") == 1 and beside .. "tandem-mcp") or "tandem-mcp"
  M.announce = options.announce ~= false
  local nvim = dap()
  local previous, own = nvim.adapters.tandem, { type = "executable", command = M.adapter }
  nvim.adapters.tandem = own
  for _, type in ipairs(M.types) do
    if nvim.adapters[type] == nil or nvim.adapters[type] == previous then
      nvim.adapters[type] = own
    end
  end
  nvim.adapters.tandem_join = function(callback, config)
    callback({ type = "pipe", pipe = config.socket })
  end
  local function add(language, program)
    nvim.configurations[language] = nvim.configurations[language] or {}
    -- Reloading the configuration calls this again.
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
  -- Built first: the package of a Rust file; the CMake project of a C or C++ file, or the file alone.
  add("rust", "${file}")
  add("c", c_program)
  add("cpp", c_program)
  -- Only subscribers learn what other clients do; before `configurationDone` this client is not in the session yet.
  nvim.listeners.after.configurationDone.tandem = function(current)
    local type = current.config and current.config.type
    if type and (type == "tandem_join" or nvim.adapters[type] == nvim.adapters.tandem) then
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
    desc = "Set what agents may do in this session",
    complete = function()
      return { "full", "readOnly", "none" }
    end,
  })
  command("DapClients", M.clients, { desc = "List the clients of the session" })
  -- The former name of the command, in configurations that people have.
  command("DapRiders", M.clients, { desc = "Former name of :DapClients" })
  command("TandemTest", function(call)
    M.test(call.bang)
  end, { bang = true, desc = "Debug the test at the cursor; with ! all tests of the file" })
  command("DapActivity", M.show_activity, { desc = "List what the clients of the session did" })
end

return M
