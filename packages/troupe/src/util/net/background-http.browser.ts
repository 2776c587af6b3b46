/** Requests for browsers, where nothing keeps a program running. `background-http.node.ts` is the version for Node. */
import type { BackgroundAnswer, BackgroundRequest } from './background-http.ts';
import { platformFetch } from './http.ts';

export async function requestInBackground(
  url: string,
  { method, headers, body, signal }: BackgroundRequest,
): Promise<BackgroundAnswer> {
  const response = await platformFetch(url, {
    method,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
  return { status: response.status, chunks: chunksOf(response) };
}

async function* chunksOf(response: Response): AsyncGenerator<string, void, void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read())
      yield next.value;
  } finally {
    await reader?.cancel();
  }
}

export function holdProgram(): () => void {
  return () => {};
}

export function onProgramEnd(_callback: () => void): () => void {
  return () => {};
}

export function programFacts(): { readonly pid?: number; readonly host?: string } {
  return {};
}

export async function savedStudioToken(_port: string): Promise<string | undefined> {
  return undefined;
}
