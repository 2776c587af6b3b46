// Needs its own process: it sets the context manager of OpenTelemetry.
import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { RecordedSpans } from '../../troupe/test/tracing/recorded-spans.ts';
import { createService } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('the spans of a run belong to the trace of the request that started it', async () => {
  using spans = await RecordedSpans.start();
  await using service = await createService({
    agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) }) },
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const start = async (trace: string): Promise<{ readonly id: string }> => {
    const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01`, 'idempotency-key': 'k' };
    const response = await client.send('POST', '/api/sessions/s/runs', { input: 'Hi.' }, headers);
    return (await response.json()) as { id: string };
  };
  const { id } = await start(TRACE);
  await client.ended(id);
  const names = spans.ended.flatMap((span) => (span.spanContext().traceId === TRACE ? [span.name] : []));
  expect(names).toEqual(
    expect.arrayContaining([expect.stringMatching(/^invoke_agent/), expect.stringMatching(/^chat/)]),
  );
  expect((await start(TRACE.replace('0', '1'))).id).toBe(id); // the same request, repeated
});
