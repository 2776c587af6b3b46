// Loaded before a program that must work offline: connections to other machines fail at once, with a clear message.

import { Socket } from 'node:net';

const LOCAL = new Set(['localhost', '127.0.0.1', '::1', '[::1]']);
const { connect } = Socket.prototype; // oxlint-disable-line typescript/unbound-method -- called with its `this` below

/**
 * @this {Socket}
 * @param {any[]} args the overloads of `Socket.connect`, or its own normalised form `[[options, callback]]`
 */
function connectLocally(...args) {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const options = typeof first === 'object' && first !== null ? first : { port: first, host: args[1] };
  const isLocal = options.path !== undefined || typeof options.host !== 'string' || LOCAL.has(options.host);
  if (!isLocal) throw new Error(`This program must work offline, but it connects to ${options.host}`);
  return Reflect.apply(connect, this, args);
}

Object.defineProperty(Socket.prototype, 'connect', { value: connectLocally });
