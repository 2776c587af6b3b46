// Errors of each wire: the side that failed, the next thing to do, and the same as JSON. Over real connections.
import { createServer, type AddressInfo } from 'node:net';

import { describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { FallbackModel } from '../../src/model/wrappers/fallback-model.ts';
import { RetryModel } from '../../src/model/wrappers/retry-model.ts';
import { AnthropicTokenCounter } from '../../src/providers/anthropic/index.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { toText } from './replay.ts';
import { LOOPBACK_WIRES, serve } from './loopback-wires.ts';

const KEY = 'sk-secret-4711-do-not-show';
const ASK = { messages: [Msg.user('My diary says: hush.')] };
const BOTH = 'Wrap the model in a RetryModel, or in a FallbackModel with another model.';
const FALLBACK = 'Wrap the model in a FallbackModel with another model.';

async function failureOf(model: ChatModelBase): Promise<ModelError> {
  const error: unknown = await model.call(ASK).catch((thrown: unknown) => thrown);
  if (ModelError.isInstance(error)) return error;
  throw new Error('It did not fail as a model does.');
}

const busy = JSON.stringify({ error: { message: `Busy. You sent ${KEY}` } });

describe.each(LOOPBACK_WIRES)('$name', ({ vendor, modelName, make, answers, contentType }) => {
  test('an error has the vendor, the model and the host, in its message and as JSON', async () => {
    await using there = await serve((_request, response) => {
      response.writeHead(503, { 'x-request-id': 'r1' }).end(busy);
    });
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}` }));
    const message = `${vendor} (${modelName} at ${there.host}) is overloaded or has a fault (503). It said: Busy. You sent [redacted]. ${BOTH}`;
    expect(error.message).toBe(message);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'ModelError',
      code: 'model_failed',
      message,
      kind: 'overloaded',
      isRetryable: true,
      vendor,
      model: modelName,
      host: there.host,
      status: 503,
      requestId: 'r1',
    });
    expect(JSON.stringify(error)).not.toContain(KEY);
  });

  test('a key that is refused is advised to be checked, and nothing else', async () => {
    await using there = await serve((_request, response) => response.writeHead(401).end('{}'));
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}` }));
    expect(error.message).toBe(
      `${vendor} (${modelName} at ${there.host}) did not accept the key (401). Check the key and what it may be used for.`,
    );
  });

  test('a connection that is lost in the middle is lost to somebody', async () => {
    const text = toText(answers.get('plain')!);
    await using there = await serve((_request, response) => {
      const begun = text.slice(0, text.indexOf('\n', text.length / 3) + 1);
      response
        .writeHead(200, { 'content-type': contentType })
        .write(begun, () => response.socket?.resetAndDestroy());
    });
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}` }));
    expect(error).toMatchObject({ kind: 'network', vendor, model: modelName, host: there.host });
    expect(error.message).toMatch(
      new RegExp(
        `^(The connection to )?${vendor} \\(${modelName} at ${there.host}\\) (was lost|could not be reached): .*\\. Check the network and the baseUrl\\. ${BOTH}$`,
      ),
    );
  });

  test('nobody who listens is named', async () => {
    const host = `127.0.0.1:${await portWithoutListener()}`;
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${host}` }));
    expect(error).toMatchObject({ kind: 'network', vendor, model: modelName, host });
    expect(error.message).toBe(
      `${vendor} (${modelName} at ${host}) could not be reached: ECONNREFUSED connect ECONNREFUSED ${host}. Check the network and the baseUrl. ${BOTH}`,
    );
  });

  test('a deadline that is missed is advised to be raised', async () => {
    await using there = await serve(() => {});
    const deadlines = { firstByteMs: 20 };
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}`, deadlines }));
    expect(error.message).toBe(
      `${vendor} (${modelName} at ${there.host}) did not begin to answer within 0.02 seconds. Raise deadlines.firstByteMs. ${BOTH}`,
    );
  });

  test('an answer that is none names who gave it', async () => {
    await using there = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    });
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}` }));
    expect(error).toMatchObject({ kind: 'malformed', vendor, model: modelName, host: there.host });
    expect(error.message).toBe(
      `${vendor} (${modelName} at ${there.host}) sent an invalid response: a web page. Check the baseUrl and the vendor.`,
    );
  });

  test('an error inside of the stream names who sent it', async () => {
    await using there = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': contentType }).end(answers.get('error-in-stream'));
    });
    const error = await failureOf(make({ apiKey: KEY, baseUrl: `http://${there.host}` }));
    expect(error).toMatchObject({ vendor, model: modelName, host: there.host });
    expect(error.message).toContain(`${vendor} (${modelName} at ${there.host}) `);
  });
});

describe('the next step', () => {
  const model = (host: string, modelName = 'gpt-4.1'): OpenAIChatModel =>
    new OpenAIChatModel({ vendor: 'openai', modelName, apiKey: KEY, baseUrl: `http://${host}` });
  const retried = (inner: ChatModelBase): RetryModel =>
    new RetryModel(inner, { maxAttempts: 3, baseDelayMs: 0 });

  test('after a RetryModel that has given up is no RetryModel', async () => {
    await using there = await serve((_request, response) => response.writeHead(503).end('{}'));
    const error = await failureOf(retried(model(there.host)));
    const problem = `OpenAI (gpt-4.1 at ${there.host}) is overloaded or has a fault (503).`;
    expect(error).toMatchObject({ kind: 'overloaded', status: 503, host: there.host, attempts: 3 });
    expect(error.message).toBe(`${problem} It was tried 3 times. ${FALLBACK}`);
    expect(error.cause).toMatchObject({ message: `${problem} ${BOTH}` });
  });

  test('after models that have all failed is to retry', async () => {
    await using there = await serve((_request, response) => response.writeHead(503).end('{}'));
    const error = await failureOf(new FallbackModel([model(there.host, 'a'), model(there.host, 'b')]));
    expect(error.message).toBe(
      `All 2 models failed: a at ${there.host} (overloaded), b at ${there.host} (overloaded). Wrap each model in a RetryModel.`,
    );
    expect(error).toMatchObject({ models: 2, isRetryable: true });
  });

  test.each<[string, (host: string) => ChatModelBase]>([
    ['each retried', (host) => new FallbackModel([retried(model(host, 'a')), retried(model(host, 'b'))])],
    ['retried together', (host) => retried(new FallbackModel([model(host, 'a'), model(host, 'b')]))],
  ])('after models %s is to wait', async (_, make) => {
    await using there = await serve((_request, response) => response.writeHead(503).end('{}'));
    const { message } = await failureOf(make(there.host));
    expect(message).toMatch(/^All 2 models failed: .*\. Try again later\.$/);
    expect(message).not.toMatch(/RetryModel|FallbackModel/);
  });

  test('after an answer that broke off, which a RetryModel does not repeat', async () => {
    const text = toText(LOOPBACK_WIRES[0]!.answers.get('plain')!);
    await using there = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(text.split('\n\n').slice(0, 3).join('\n\n') + '\n\n');
    });
    const { message } = await failureOf(retried(model(there.host)));
    expect(message).toBe(
      `The connection to OpenAI (gpt-4.1 at ${there.host}) was lost: it ended before the answer did. The answer had begun, so it was not tried again. Check the network and the baseUrl. ${FALLBACK}`,
    );
  });

  test('after a delay that is too long names the option', async () => {
    await using there = await serve((_request, response) => {
      response.writeHead(429, { 'retry-after': '3600' }).end('{}');
    });
    const { message } = await failureOf(retried(model(there.host)));
    expect(message).toBe(
      `OpenAI (gpt-4.1 at ${there.host}) has had too many requests (429). It asks to wait for 3600 s, and maxRetryAfterMs allows 60 s. Raise maxRetryAfterMs. ${FALLBACK}`,
    );
  });

  test('without credit is neither', async () => {
    await using there = await serve((_request, response) => response.writeHead(402).end('{}'));
    const { message } = await failureOf(model(there.host));
    expect(message).toBe(
      `OpenAI (gpt-4.1 at ${there.host}) says that the account has no credit left (402). Check the plan.`,
    );
  });

  test('for a name that nobody knows is to check it', async () => {
    await using there = await serve((_request, response) => response.writeHead(404).end('{}'));
    const { message } = await failureOf(model(there.host));
    expect(message).toBe(
      `OpenAI (gpt-4.1 at ${there.host}) rejected the request (404). Check the name of the model and the baseUrl.`,
    );
  });
});

test('a server of no known vendor is called what it is', async () => {
  await using there = await serve((_request, response) => response.writeHead(500).end('{}'));
  const error = await failureOf(new OpenAIChatModel({ modelName: 'm', baseUrl: `http://${there.host}/v1` }));
  expect(error.message).toMatch(`OpenAI-compatible server (m at ${there.host}) is overloaded or has a fault`);
  expect(error.vendor).toBe('OpenAI-compatible server');
});

test('a token counter names who failed', async () => {
  await using there = await serve((_request, response) => response.writeHead(500).end('{}'));
  const options = { modelName: 'claude-sonnet-4-5', apiKey: KEY, baseUrl: `http://${there.host}` };
  await expect(new AnthropicTokenCounter(options).count(ASK.messages)).rejects.toMatchObject({
    vendor: 'Anthropic',
    model: 'claude-sonnet-4-5',
    host: there.host,
  });
});

/** A port that was free a moment ago. */
async function portWithoutListener(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => void server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}
