import { readdirSync, readFileSync } from 'node:fs';
import { MsgDraft } from '../../src/message/msg-draft.ts';
import type { ContentBlock } from '../../src/message/blocks.ts';
import type { FinishReason } from '../../src/message/model-delta.ts';
import type { Usage } from '../../src/message/usage.ts';
import type { ChatModelBase, ModelRequest } from '../../src/model/chat-model-base.ts';
import { ModelError, type ModelErrorKind } from '../../src/model/model-error.ts';
import { fakeIds } from '../../src/testing/fake-ids.ts';
import type { Fetch } from '../../src/util/net/http.ts';

/** Way of a server to send its answer. */
export interface Delivery {
  readonly pieces: readonly Uint8Array[];
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection breaks behind the last piece, instead of ending. */
  readonly breaks?: boolean;
  /** Nothing comes behind the last piece any more. */
  readonly stalls?: boolean;
}

/** An answer as a caller reads it. */
export interface Outcome {
  readonly content: readonly ContentBlock[];
  readonly usage?: Omit<Usage, 'seconds'>;
  readonly finishReason?: FinishReason;
  readonly responseId?: string;
  readonly error?: ModelErrorKind;
}

export interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A `fetch` that always gets the same delivery. It stops when its signal is aborted, as the real one does. */
export function fetchOf(delivery: Delivery, sent: SentRequest[] = []): Fetch {
  return async (url, init) => {
    const headers = init?.headers as Record<string, string>;
    sent.push({ url: String(url), headers, body: String(init?.body) });
    const signal = init?.signal;
    signal?.throwIfAborted();
    let next = 0;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal?.addEventListener('abort', () => controller.error(signal.reason), { once: true });
      },
      pull(controller) {
        const piece = delivery.pieces[next++];
        if (piece !== undefined) controller.enqueue(piece);
        else if (delivery.stalls) return new Promise<void>(() => {});
        else if (delivery.breaks) controller.error(new TypeError('terminated'));
        else controller.close();
        return undefined;
      },
    });
    return new Response(body, { status: delivery.status ?? 200, headers: delivery.headers ?? {} });
  };
}

/** Reads an answer to its end, however it ends. Ids that the provider did not give are the same every time. */
export async function outcomeOf(model: ChatModelBase, request: ModelRequest): Promise<Outcome> {
  using _ = fakeIds();
  const draft = new MsgDraft('assistant');
  let error: ModelErrorKind | undefined;
  try {
    for await (const delta of model.stream(request)) draft.add(delta);
  } catch (thrown) {
    if (!ModelError.isInstance(thrown)) throw thrown;
    error = thrown.kind;
  }
  const { content, usage } = draft.finish();
  const { seconds: _seconds, ...cost } = usage ?? { seconds: 0 };
  return {
    content: content as readonly ContentBlock[],
    ...(usage && { usage: cost as Usage }),
    ...(draft.finishReason && { finishReason: draft.finishReason }),
    ...(draft.responseId && { responseId: draft.responseId }),
    ...(error && { error }),
  };
}

/** Outcomes of recorded answers with tools of the provider, by name. Checked by hand. */
export function readOutcomes(folder: string): Readonly<Record<string, Outcome>> {
  const text = readFileSync(new URL(`./outcomes/${folder}.json`, import.meta.url), 'utf8');
  return JSON.parse(text) as Readonly<Record<string, Outcome>>;
}

/** The recorded answers of a wire, by name. */
export function readFixtures(folder: string): ReadonlyMap<string, Uint8Array> {
  const url = new URL(`./fixtures/${folder}/`, import.meta.url);
  return new Map(
    readdirSync(url)
      .sort()
      .map((file) => [file.replace(/\.\w+$/, ''), new Uint8Array(readFileSync(new URL(file, url)))]),
  );
}

export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function toText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
