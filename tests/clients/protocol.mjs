// Drives tandem-mcp with the inspector's command line over both transports, and with the scenarios of the protocol's
// conformance suite that need no special tools. `cargo build --workspace && node protocol.mjs TANDEM_MCP`; needs Node 22 (the suite
// does).
import { spawn, execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const inspectorScript = join(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const conformanceScript = join(packages, '@modelcontextprotocol/conformance/dist/index.js');
const SCENARIOS = ['server-initialize', 'ping', 'logging-set-level', 'tools-list', 'resources-list', 'prompts-list',
  'server-sse-multiple-streams', 'dns-rebinding-protection'];
const TOKEN = 'a-token-for-these-clients';
const mcpServer = resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'tandem-clients-'));
writeFileSync(join(folder, 'a.txt'), 'one\n');
const failures = [];
const slowness = Number(process.env.TANDEM_TEST_SLOWNESS || 1);

function run(script, args) {
  const options = { cwd: folder, timeout: 120_000 * slowness, maxBuffer: 1 << 24, env: { ...process.env, HOME: folder } };
  return new Promise((done) => {
    execFile(process.execPath, [script, ...args], options, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
  });
}

function check(name, passed, result) {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  if (!passed) failures.push(`${name}:\n${result.out}${result.err}`);
}

async function inspect(transport, target) {
  const call = (...method) => run(inspectorScript, ['--cli', ...target, '--method', ...method]);
  const tools = await call('tools/list', '--strict');
  check(`inspector, ${transport}: tools`, tools.code === 0 && JSON.parse(tools.out).tools.length > 40, tools);
  const read = await call('tools/call', '--tool-name', 'read_file', '--tool-arg', 'path=a.txt');
  check(`inspector, ${transport}: a call`, read.code === 0 && JSON.parse(read.out).structuredContent.content === 'one\n', read);
  const denied = await call('tools/call', '--tool-name', 'read_file', '--tool-arg', 'path=../a.txt');
  check(`inspector, ${transport}: a refusal`, JSON.parse(denied.out).structuredContent.error.code === 'PATH_NOT_ALLOWED', denied);
  const prompt = await call('prompts/get', '--prompt-name', 'hunt_crash', '--prompt-args', 'program=/a.dll');
  check(`inspector, ${transport}: a prompt`, prompt.code === 0 && prompt.out.includes('/a.dll'), prompt);
  const templates = await call('resources/templates/list');
  check(`inspector, ${transport}: resources`, templates.code === 0 && templates.out.includes('debug://sessions/'), templates);
}

// Starts a proxy that adds the token to requests: the suite cannot send one.
function startTokenProxy(port) {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` };
    const upstream = request({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers }, (response) => {
      outgoing.writeHead(response.statusCode, response.headers).flushHeaders();
      response.pipe(outgoing);
    });
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  });
  return new Promise((listening) => proxy.listen(0, '127.0.0.1', () => listening(proxy)));
}

const env = { ...process.env, TANDEM_MCP_TOKEN: TOKEN };
const server = spawn(mcpServer, ['--http', '127.0.0.1:0'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
try {
  let url;
  for await (const line of createInterface(server.stderr)) {
    url = line.match(/listening on (http:\S+)/)?.[1];
    if (url) break;
  }
  if (!url) throw new Error('tandem-mcp does not listen');
  await inspect('stdio', [mcpServer]);
  await inspect('HTTP', [url, '--transport', 'http', '--header', `Authorization: Bearer ${TOKEN}`]);
  const proxy = await startTokenProxy(new URL(url).port);
  for (const scenario of SCENARIOS) {
    const address = `http://localhost:${proxy.address().port}/mcp`;
    const result = await run(conformanceScript, ['server', '--url', address, '--scenario', scenario, '-o', join(folder, 'results')]);
    check(`conformance: ${scenario}`, /Passed: (\d+)\/\1, 0 failed/.test(result.out), result);
  }
  proxy.close();
  proxy.closeAllConnections();
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.error(`\n${failure}`);
process.exitCode = failures.length ? 1 : 0;
