import { checkBaseUrl } from '../../model/http/headers.ts';

/** A host and its port, of which either may be missing, and the path. */
const HOST = /^(\[[\da-f:.]+\]|[^:/?#@[\]]*)(?::(\d+))?(\/.*)?$/i;

/** Servers listen at these addresses, but nobody can be called there. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/**
 * The address of a server as Ollama itself reads `OLLAMA_HOST`: it may lack the scheme, the host and the port.
 * @throws TroupeError if it is none, or holds a password.
 */
export function ollamaAddress(text: string): string {
  const [, host, port = '11434', path = ''] = HOST.exec(text.trim()) ?? [];
  const whole = host === undefined ? text.trim() : `http://${host || '127.0.0.1'}:${port}${path}`;
  const url = new URL(checkBaseUrl('Ollama', whole));
  url.hostname = LOCAL[url.hostname] ?? url.hostname;
  return url.href.replace(/\/+$/, '');
}
