-- Tandem in nvim-dap: adapters to launch and to join, and commands for the program's input.
--
-- Put this file into your `lua` folder and call `require("tandem").setup()` after nvim-dap is loaded. It needs only
-- nvim-dap. `setup { adapter = "/path/to/tandem-dap" }` names the adapter if it is not in PATH.
--
--   :DapSendInput TEXT   writes a line to the program's stdin
--   :DapSendInput!       ends the input
--   :DapJoin [ID]        joins a live session; without ID, lists them to choose from
--   :DapAgents full|readOnly|none   sets what agents may do in this session
--   :DapClients          lists the clients of the session
--   :DapActivity         lists what the clients of the session did
--   :TandemTest          debugs the test at the cursor and stops where it fails; :TandemTest! debugs all tests of the file
--
-- :TandemTest needs `tandem-mcp`, next to the adapter or in PATH, or `setup { bridge = … }`.
-- A notification appears when an agent joins, types into the program or has a request refused; `setup { announce = false }` turns these off.
local M = { activity = {} }

--- Types of other debuggers' configurations that `tandem-dap` understands: it debugs them unless another adapter is registered.
M.types = { "coreclr", "dotnet", "debugpy", "python", "lldb", "lldb-dap", "cppdbg", "go", "node", "pwa-node", "rdbg" }

--- Maximum number of lines of activity.
local MAX_ACTIVITY_LINES = 500

local function dap()
  return require("dap")
end

--- The current debug session; without one, notifies the user and returns nil.
local function current_session()
  local found = dap().session()
  if not found then
    vim.notify("Tandem: there is no debug session", vim.log.levels.WARN)
  end
  return found
end

--- Sends one of Tandem's own requests; `done` gets the body of the response.
local function request(command, arguments, done)
  local current = current_session()
  if not current then
    return
  end
  current:request(command, arguments, function(err, body)
    if err then
      vim.notify("Tandem: " .. M.format_error(err), vim.log.levels.ERROR)
    elseif done then
      done(body)
    end
  end)
end

--- Returns the message of an error response. nvim-dap passes its body, whose `format` contains placeholders.
function M.format_error(err)
  local failure = err.body and err.body.error
  local variables = failure and failure.variables
  return tostring((variables and variables.message) or err.message or err)
end

--- Shortens a text to one line of at most 60 characters.
local function shorten(text)
  local line = (text or ""):gsub("%s+", " ")
  return vim.fn.strchars(line) > 60 and (vim.fn.strcharpart(line, 0, 59) .. "…") or line
end

--- Describes breakpoints by their locations or names, and their owners.
local function describe_breakpoints(list)
  local names = {}
  for _, breakpoint in ipairs(list or {}) do
    local location = breakpoint.file and ("%s:%d"):format(vim.fs.basename(breakpoint.file), breakpoint.line or 0)
    local name = location or breakpoint.name or breakpoint.filterId or "?"
    table.insert(names, name .. (breakpoint.owner and (" of " .. breakpoint.owner) or ""))
  end
  return table.concat(names, ", ")
end

--- Functions that describe a `sessionChanged` event, by its `change`.
local DESCRIPTIONS = {
  joined = function(body) return "joined (" .. (body.access or "full") .. ")" end,
  left = function() return "left" end,
  owner = function() return "owns the session now" end,
  agentAccess = function(body) return "decided that agents may do: " .. tostring(body.agentAccess) end,
  resumed = function(body) return "resumed with: " .. tostring(body.command) end,
  paused = function() return "paused" end,
  restarted = function() return "restarted" end,
  terminate = function() return "ended the program" end,
  input = function(body)
    local text = body.text and body.text ~= "" and ("typed: " .. shorten(vim.trim(body.text))) or ("typed %d bytes"):format(body.bytes or 0)
    return body.closed and (text .. ", and ended the input") or text
  end,
  valueSet = function(body) return ("set %s = %s"):format(shorten(body.name), shorten(body.value)) end,
  evaluated = function(body) return "evaluated " .. shorten(body.expression) end,
  breakpoints = function(body)
    local parts = {}
    if body.added then table.insert(parts, "set " .. describe_breakpoints(body.added)) end
    if body.removed then table.insert(parts, "removed " .. describe_breakpoints(body.removed)) end
    return table.concat(parts, "; ")
  end,
  refused = function(body) return ("was refused `%s` (%s)"):format(tostring(body.command), tostring(body.access)) end,
}

--- Changes by an agent that show a notification.
local NOTIFIED_CHANGES = { joined = true, refused = true, input = true }

--- Handles a `sessionChanged` event.
function M.handle_session_changed(_, body)
  local describe = body and DESCRIPTIONS[body.change]
  if not describe or type(body.client) ~= "string" then
    return
  end
  local line = ("%s (%s) %s"):format(body.client, body.kind or "?", describe(body))
  table.insert(M.activity, os.date("%H:%M:%S ") .. line)
  if #M.activity > MAX_ACTIVITY_LINES then
    table.remove(M.activity, 1)
  end
  if body.kind == "agent" and NOTIFIED_CHANGES[body.change] and M.announce then
    vim.notify("Tandem: " .. line, body.change == "refused" and vim.log.levels.WARN or vim.log.levels.INFO)
  end
end

--- Shows the actions of the clients in a new buffer.
function M.show_activity()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, #M.activity > 0 and M.activity or { "nothing was done yet" })
  vim.bo[buffer].modifiable = false
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, buffer)
end

--- Writes a line to the program's stdin. `close` ends the input, after the text if it is not empty.
function M.send_input(text, close)
  local data = (close and text == "") and "" or (text .. "\n")
  request("processWriteInput", { data = data, closeAfter = close or false })
end

--- Sets what agents may do: `full`, `readOnly` or `none`.
function M.agents(access)
  request("sessionControl", { agentAccess = access }, function(body)
    vim.notify("Tandem: agents may now do: " .. body.agentAccess)
  end)
end

--- Lists the clients of the session.
function M.clients()
  request("sessionInfo", vim.empty_dict(), function(body)
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
  local function attach(entry)
    if entry then
      dap().run({ type = "tandem_join", request = "attach", name = "join " .. entry.id, socket = entry.socket })
    end
  end
  if id and id ~= "" then
    for _, entry in ipairs(live) do
      if entry.id == id then
        return attach(entry)
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
  }, attach)
end

--- Runs `tandem-mcp tests`: sends a request, passes each event to `on_event`, and the last one to `on_end`.
local function run_tests(arguments, on_event, on_end)
  local rest, last, job = "", nil, nil
  local function read_line(text)
    local ok, event = pcall(vim.json.decode, text, { luanil = { object = true } })
    if ok and type(event) == "table" then
      last = event.event == "end" and event or last
      on_event(event, function(message)
        vim.fn.chansend(job, vim.json.encode(message) .. "\n")
      end)
    end
  end
  local started
  started, job = pcall(vim.fn.jobstart, { M.bridge, "tests" }, {
    on_stdout = function(_, data)
      data[1] = rest .. data[1]
      rest = table.remove(data)
      vim.iter(data):each(read_line)
    end,
    on_exit = function(_, code)
      on_end(last or { error = { message = ("`%s tests` ended with exit code %d"):format(M.bridge, code) } })
    end,
  })
  if not started or job <= 0 then
    on_end({ error = { message = ("`%s` cannot be started; put it in PATH, or name it in setup { bridge = … }"):format(M.bridge) } })
    return
  end
  vim.fn.chansend(job, vim.json.encode(arguments) .. "\n")
end

--- Debugs a process of a test run; `respond` sends its result to `tandem-mcp`.
local function debug_test(event, respond)
  local output, nvim = { stdout = "", stderr = "" }, dap()
  local exit_code, test_session = -1, nil
  local function listen(name, handle)
    nvim.listeners.after["event_" .. name].tandem_test = function(session, body)
      test_session = test_session or session
      if session == test_session then
        handle(body or {})
      end
    end
  end
  listen("process", function(body)
    respond({ started = body.systemProcessId })
  end)
  listen("output", function(body)
    if output[body.category] then
      output[body.category] = output[body.category] .. body.output
    end
  end)
  listen("exited", function(body)
    exit_code = body.exitCode
  end)
  listen("terminated", function()
    for _, name in ipairs({ "process", "output", "exited", "terminated" }) do
      nvim.listeners.after["event_" .. name].tandem_test = nil
    end
    respond({ ended = exit_code, stdout = output.stdout, stderr = output.stderr })
  end)
  nvim.run(vim.tbl_extend("force", event.attributes, { type = "tandem", request = "launch", name = "test" }))
end

--- Finds the ids of the test at a line of a file: the last one that begins at or above it, with all its data rows.
local function find_tests_at_line(list, file, line)
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
  local working_folder = vim.startswith(file, vim.fn.getcwd() .. "/") and vim.fn.getcwd()
  local folder = vim.fs.root(file, { ".git" }) or working_folder or vim.fs.dirname(file)
  local list, failures, counts = {}, {}, { passed = 0, failed = 0, skipped = 0 }
  local function notify_error(last)
    if last.error and last.error.code ~= "TESTS_FAILED" then
      vim.notify("Tandem: " .. last.error.message .. (last.error.hint and ("; " .. last.error.hint) or ""), vim.log.levels.ERROR)
      return true
    end
  end
  local function on_end(last)
    if notify_error(last) then
      return
    end
    vim.fn.setqflist({}, " ", { title = "Tandem: tests that failed", items = failures })
    local level = counts.failed > 0 and vim.log.levels.ERROR or vim.log.levels.INFO
    vim.notify(("Tandem: %d passed, %d failed, %d skipped"):format(counts.passed, counts.failed, counts.skipped), level)
  end
  local function on_event(event, respond)
    if event.event == "launch" then
      debug_test(event, respond)
    elseif event.event == "finished" then
      counts[event.outcome] = counts[event.outcome] + 1
      if event.outcome == "failed" then
        table.insert(failures, { filename = event.file, lnum = event.line, text = event.id .. ": " .. (event.message or "") })
      end
    end
  end
  local list_request = { action = "list", folder = folder, projectPath = file }
  run_tests(list_request, function(event)
    if event.event == "test" then
      table.insert(list, event)
    end
  end, function(last)
    if notify_error(last) then
      return
    end
    local ids = all and vim.tbl_map(function(test) return test.id end, vim.tbl_filter(function(test)
      return test.file == file
    end, list)) or find_tests_at_line(list, file, line)
    if #ids == 0 then
      return vim.notify("Tandem: no test is at the cursor; `:TandemTest!` debugs those of the file", vim.log.levels.WARN)
    end
    vim.notify("Tandem debugs " .. (all and "the tests of the file" or table.concat(ids, ", ")))
    run_tests(vim.tbl_extend("force", list_request, { action = "debug", tests = ids }), on_event, on_end)
  end)
end

--- Finds the folder of the nearest .NET project file above the open file.
local function find_project()
  local found = vim.fs.find(function(name)
    return name:match("%.csproj$") or name:match("%.fsproj$")
  end, { upward = true, path = vim.fs.dirname(vim.api.nvim_buf_get_name(0)) })
  return found[1] and vim.fs.dirname(found[1]) or vim.fn.getcwd()
end

--- Finds the folder of the CMake project of the open file; otherwise returns the file.
local function find_c_program()
  local file = vim.api.nvim_buf_get_name(0)
  local lists = vim.fs.find("CMakeLists.txt", { upward = true, path = vim.fs.dirname(file), limit = math.huge })
  return lists[1] and vim.fs.dirname(lists[#lists]) or file
end

function M.setup(options)
  options = options or {}
  M.adapter = options.adapter or "tandem-dap"
  local folder_of_adapter = M.adapter:match("^(.*/)[^/]*$")
  M.bridge = options.bridge or (folder_of_adapter and vim.fn.executable(folder_of_adapter .. "tandem-mcp") == 1 and folder_of_adapter .. "tandem-mcp") or "tandem-mcp"
  M.announce = options.announce ~= false
  local nvim = dap()
  local previous, adapter = nvim.adapters.tandem, { type = "executable", command = M.adapter }
  nvim.adapters.tandem = adapter
  for _, type in ipairs(M.types) do
    if nvim.adapters[type] == nil or nvim.adapters[type] == previous then
      nvim.adapters[type] = adapter
    end
  end
  nvim.adapters.tandem_join = function(callback, config)
    callback({ type = "pipe", pipe = config.socket })
  end
  local function add(language, program)
    nvim.configurations[language] = nvim.configurations[language] or {}
    -- A second call of `setup` replaces the configurations of the first.
    nvim.configurations[language] = vim.tbl_filter(function(one)
      return not (one.type == "tandem" and one.name == "Tandem")
    end, nvim.configurations[language])
    table.insert(nvim.configurations[language], { type = "tandem", request = "launch", name = "Tandem", program = program })
  end
  add("cs", find_project)
  add("fsharp", find_project)
  for _, language in ipairs({ "python", "sh", "javascript", "ruby", "go" }) do
    add(language, "${file}")
  end
  -- The adapter builds these first: the package of a Rust file; the CMake project of a C or C++ file, or the file alone.
  add("rust", "${file}")
  add("c", find_c_program)
  add("cpp", find_c_program)
  -- Only subscribers receive the actions of other clients. A client joins the session at `configurationDone`.
  nvim.listeners.after.configurationDone.tandem = function(current)
    local type = current.config and current.config.type
    if type and (type == "tandem_join" or nvim.adapters[type] == nvim.adapters.tandem) then
      current:request("sessionInfo", { subscribe = true }, function() end)
    end
  end
  nvim.listeners.after.event_sessionChanged.tandem = M.handle_session_changed
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
  -- The former name of the command, for existing configurations.
  command("DapRiders", M.clients, { desc = "Former name of :DapClients" })
  command("TandemTest", function(call)
    M.test(call.bang)
  end, { bang = true, desc = "Debug the test at the cursor; with ! all tests of the file" })
  command("DapActivity", M.show_activity, { desc = "List what the clients of the session did" })
end

return M
