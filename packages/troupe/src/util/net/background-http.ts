/** Interfaces implemented by `background-http.node.ts` and `background-http.browser.ts`. */

/** A request that does not keep the program running. */
export interface BackgroundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface BackgroundAnswer {
  readonly status: number;
  /** The body as it arrives. Ends early with an error if the connection breaks. */
  readonly chunks: AsyncIterable<string>;
}

/** The whole body of an answer. @throws RangeError beyond `maxChars` */
export async function readAnswer({ chunks }: BackgroundAnswer, maxChars: number): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    text += chunk;
    if (text.length > maxChars) throw new RangeError('The answer is too long.');
  }
  return text;
}
