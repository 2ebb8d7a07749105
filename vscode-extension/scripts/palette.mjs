/** Shrinks an image by a palette of 256 colours, to the nearest of which it maps all others. Groups similar colours, so that the shades of grey at
 * the edges of letters leave room for rare colours. Reads what Chromium writes as PNG (8 bits, RGB, not interlaced). */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLOURS = 256;

export function reduceColours(png) {
  const { width, height, pixels } = decode(png);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += 3) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const frequent = [...counts].sort((one, other) => other[1] - one[1]);
  // The most frequent colour of those that share the first half of each byte.
  const distinct = [...new Map(frequent.toReversed().map((entry) => [entry[0] & 0xf0f0f0, entry])).values()].sort((one, other) => other[1] - one[1]);
  const palette = [...new Set([...distinct.slice(0, MAX_COLOURS), ...frequent].map(([colour]) => colour))].slice(0, MAX_COLOURS);
  const index = new Map([...counts.keys()].map((colour) => [colour, findNearest(palette, colour)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      rows[y * (width + 1) + 1 + x] = index.get(pixels.readUIntBE((y * width + x) * 3, 3));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE, createChunk("IHDR", header), createChunk("PLTE", colours), createChunk("IDAT", deflateSync(rows, { level: 9 })), createChunk("IEND", Buffer.alloc(0)),
  ]);
}

function findNearest(palette, colour) {
  const distance = (other) => [16, 8, 0].reduce((sum, bits) => sum + (((colour >> bits) & 255) - ((other >> bits) & 255)) ** 2, 0);
  let best = 0;
  for (let at = 1; at < palette.length; at++) {
    best = distance(palette[at]) < distance(palette[best]) ? at : best;
  }
  return best;
}

function createChunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

function decode(png) {
  const [width, height, bits, kind, , , interlaced] = [png.readUInt32BE(16), png.readUInt32BE(20), ...png.subarray(24, 29)];
  if (bits !== 8 || kind !== 2 || interlaced !== 0) {
    throw new Error(`a PNG of ${bits} bits, colour type ${kind}, interlace ${interlaced} cannot be read`);
  }
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") {
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  const data = inflateSync(Buffer.concat(parts));
  const length = width * 3;
  const pixels = Buffer.alloc(height * length);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const left = x < 3 ? 0 : pixels[y * length + x - 3];
      const up = y === 0 ? 0 : pixels[(y - 1) * length + x];
      const corner = x < 3 || y === 0 ? 0 : pixels[(y - 1) * length + x - 3];
      const predicted = [0, left, up, (left + up) >> 1, predict(left, up, corner)][filter];
      pixels[y * length + x] = data[y * (length + 1) + 1 + x] + predicted;
    }
  }
  return { width, height, pixels };
}

function predict(left, up, corner) {
  const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner;
}
