// No framework: node:http with a keep-alive agent + the same hand-written SSE loop.
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { makeFloor } from '../floor/loop.mjs';

export const info = {
  name: 'floor (node:http)',
  packages: [],
  modes: ['stream', 'generate'],
  stores: { memory: 'array' },
};

const agent = new http.Agent({ keepAlive: true, noDelay: true });
export const create = makeFloor(
  (url, body, signal) =>
    new Promise((resolve, reject) => {
      const req = http.request(
        url,
        {
          method: 'POST',
          agent,
          signal,
          headers: {
            'content-type': 'application/json',
            authorization: 'Bearer x',
            'content-length': Buffer.byteLength(body),
          },
        },
        (res) => {
          if (res.statusCode === 200) return resolve(res);
          text(res).then((s) => reject(new Error(`HTTP ${res.statusCode}: ${s}`)), reject);
        },
      );
      req.on('error', reject);
      req.end(body);
    }),
);
