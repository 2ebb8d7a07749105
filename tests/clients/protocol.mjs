// Drives tandem-mcp with the inspector's command line over both transports, and with the scenarios of the protocol's
// conformance suite that need no tools of its own. `cargo build --workspace && node protocol.mjs TANDEM_MCP`; needs Node 22 (the suite
// does).
import { spawn, execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const inspector = join(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const conformance = join(packages, '@modelcontextprotocol/conformance/dist/index.js');
const SCENARIOS = ['server-initialize', 'ping', 'logging-set-level', 'tools-list', 'resources-list', 'prompts-list',
  'server-sse-multiple-streams', 'dns-rebinding-protection'];
const TOKEN = 'a-token-for-these-clients';
const bridge = resolve(process.argv[2]);
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

function check(what, good, result) {
  console.log(`${good ? 'ok    ' : 'FAILED'} ${what}`);
  if (!good) failures.push(`${what}:\n${result.out}${result.err}`);
}

async function inspect(transport, target) {
  const ask = (...method) => run(inspector, ['--cli', ...target, '--method', ...method]);
  const tools = await ask('tools/list', '--strict');
  check(`inspector, ${transport}: tools`, tools.code === 0 && JSON.parse(tools.out).tools.length > 40, tools);
  const read = await ask('tools/call', '--tool-name', 'read_file', '--tool-arg', 'path=a.txt');
  check(`inspector, ${transport}: a call`, read.code === 0 && JSON.parse(read.out).structuredContent.content === 'one\n', read);
  const refused = await ask('tools/call', '--tool-name', 'read_file', '--tool-arg', 'path=../a.txt');
  check(`inspector, ${transport}: a refusal`, JSON.parse(refused.out).structuredContent.error.code === 'PATH_NOT_ALLOWED', refused);
  const prompt = await ask('prompts/get', '--prompt-name', 'hunt_crash', '--prompt-args', 'program=/a.dll');
  check(`inspector, ${transport}: a prompt`, prompt.code === 0 && prompt.out.includes('/a.dll'), prompt);
  const templates = await ask('resources/templates/list');
  check(`inspector, ${transport}: resources`, templates.code === 0 && templates.out.includes('debug://sessions/'), templates);
}

// The suite cannot show a token: what passes here gets one.
function withToken(port) {
  const passing = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` };
    const on = request({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers }, (response) => {
      answer.writeHead(response.statusCode, response.headers).flushHeaders();
      response.pipe(answer);
    });
    on.on('error', () => answer.destroy());
    answer.on('close', () => on.destroy());
    incoming.pipe(on);
  });
  return new Promise((listening) => passing.listen(0, '127.0.0.1', () => listening(passing)));
}

const env = { ...process.env, TANDEM_MCP_TOKEN: TOKEN };
const server = spawn(bridge, ['--http', '127.0.0.1:0'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
try {
  let url;
  for await (const line of createInterface(server.stderr)) {
    url = line.match(/listening on (http:\S+)/)?.[1];
    if (url) break;
  }
  if (!url) throw new Error('tandem-mcp does not listen');
  await inspect('stdio', [bridge]);
  await inspect('HTTP', [url, '--transport', 'http', '--header', `Authorization: Bearer ${TOKEN}`]);
  const passing = await withToken(new URL(url).port);
  for (const scenario of SCENARIOS) {
    const at = `http://localhost:${passing.address().port}/mcp`;
    const result = await run(conformance, ['server', '--url', at, '--scenario', scenario, '-o', join(folder, 'results')]);
    check(`conformance: ${scenario}`, /Passed: (\d+)\/\1, 0 failed/.test(result.out), result);
  }
  passing.close();
  passing.closeAllConnections();
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.error(`\n${failure}`);
process.exitCode = failures.length ? 1 : 0;
