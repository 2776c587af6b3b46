import { checkBaseUrl, joinUrl } from '../../model/http/headers.ts';

/** A host and its port, of which either may be missing, and the path and query. */
const HOST = /^(\[[\da-f:.]+\]|[^:/?#@[\]]*)(?::(\d+))?([/?].*)?$/i;

/** Listening addresses that clients can't connect to, with the address to use instead. */
const LOCAL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/**
 * Reads a server address as Ollama reads `OLLAMA_HOST`: scheme, host and port may be missing.
 * @throws TroupeError if the address is invalid or holds a password.
 */
export function ollamaAddress(text: string): string {
  const [, host, port = '11434', path = ''] = HOST.exec(text.trim()) ?? [];
  const whole = host === undefined ? text.trim() : `http://${host || '127.0.0.1'}:${port}${path}`;
  const url = new URL(checkBaseUrl('Ollama', whole));
  url.hostname = LOCAL[url.hostname] ?? url.hostname;
  return joinUrl(url.href, '');
}
