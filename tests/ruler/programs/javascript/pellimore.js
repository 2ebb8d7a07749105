// A post office that nobody has seen: lines are cut into words, sorted, and handled; `server` in it answers to itself.
const http = require('http');

const shelf = { brass: 3, slots: {} };

function weighIn(parcel, rounds) {
  let burden = parcel.mass;
  for (let round = 0; round < rounds; round++) {
    burden = (burden * 29 + round * parcel.label.length) % 883;
    if (burden % 6 === 1) burden += shelf.brass;
  }
  return burden;
}

function lookUp(town, ring) {
  const towns = ['hasp', 'orlestone', 'mizzen', 'quay', 'thorle'];
  const at = (town * 7 + ring * ring) % 9;
  return towns[at];
}

function polish(amount) { shelf.brass = (shelf.brass * 5 + amount) % 61; }
function tarnish() { if (shelf.brass > 20) shelf.brass -= 7; }
function swap(amount) { if (amount % 4 === 3) shelf.brass = amount; }

function words(line) {
  const action = line.trim().split(' ');
  const [verb, ...rest] = action;
  const numbers = rest.map((word) => Number(word)).filter((number) => number);
  return { verb, numbers };
}

function run(line) {
  const { verb, numbers } = words(line);
  if (verb === 'sum') return numbers.reduce((sum, number) => sum + number, 0);
  if (verb === 'mean') return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return numbers.length;
}

function deliver(path) {
  const ring = Number(path.split('/')[2]);
  const parcel = { label: 'ring ' + ring, mass: ring * 13 + 4 };
  const burden = weighIn(parcel, 6);
  const lot = [{ toll: 4 }, { toll: 9 }, { toll: 2 }, { toll: 7 }, { toll: 1 }, null, { toll: 3 }][burden % 7];
  return lot.toll + burden;
}

async function main() {
  let lost = 0;
  for (let town = 0; town < 10; town++) {
    if (lookUp(town, town % 4) === undefined) lost++;
    polish(town * 3);
    if (town % 3 === 1) tarnish();
    swap(town + lost);
  }
  const means = ['sum 4 5', 'mean 6 0 9', 'count 1 2 3', 'mean 8 4'].map(run);
  const server = http.createServer((request, response) => {
    try {
      response.end(String(deliver(request.url)));
    } catch (error) {
      response.statusCode = 500;
      response.end('failed');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = server.address().port;
  let failed = 0;
  for (let ring = 1; ring <= 9; ring++) {
    const answer = await fetch(`http://127.0.0.1:${port}/ring/${ring * 5 % 11}`);
    if (answer.status !== 200) failed++;
    await answer.text();
  }
  server.close();
  console.log(lost, shelf.brass, means.join(','), failed);
}

main();
