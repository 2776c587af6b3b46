// No framework: global fetch + hand-written SSE loop.
import { makeFloor } from './loop.mjs';

export const info = {
  name: 'floor (fetch)',
  packages: [],
  modes: ['stream', 'generate'],
  stores: { memory: 'array' },
};

export const create = makeFloor(async (url, body, signal) => {
  const res = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
    body,
    signal,
  });
  if (!res.ok) throw new Error(`HTTP ${res.status}: ${await res.text()}`);
  return res.body;
});
