// Preloaded into every measured process (node --import ./guard.mjs): refuses any TCP connection that
// does not go to loopback, and remembers who tried, so that telemetry cannot distort a measurement.
import net from 'node:net';

export const refused = (globalThis.__refused ??= []);
const LOCAL = new Set(['127.0.0.1', 'localhost', '::1']);
const { prototype } = net.Socket;
const connect = Reflect.get(prototype, 'connect');
prototype.connect = function (...args) {
  const o = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host =
    o && typeof o === 'object'
      ? o.path && !o.port
        ? 'localhost'
        : (o.host ?? 'localhost')
      : typeof args[1] === 'string'
        ? args[1]
        : 'localhost';
  if (LOCAL.has(host)) return connect.apply(this, args);
  refused.push(`${host}:${o?.port ?? args[0]}`);
  process.nextTick(() =>
    this.destroy(Object.assign(new Error(`guard: no connection to ${host}`), { code: 'ECONNREFUSED' })),
  );
  return this;
};
