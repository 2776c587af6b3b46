// A program with a Studio of its own that also connects to it by `init`: everything is recorded once.

import { afterEach, expect, test } from 'vitest';

import { init, ReActAgent, UserAgent, withRunConfig } from 'troupe';
import { disconnectStudio } from 'troupe/studio';
import { ScriptedModel } from 'troupe/testing';

import { Studios, type StudioClient } from './studio-client.ts';

const studios = new Studios();
afterEach(async () => {
  await disconnectStudio();
  await studios.closeAll();
});

/** Types of the events of a run on its tape. */
async function eventsOf(page: StudioClient, runId: string): Promise<string[]> {
  const { body } = await page.get(`api/runs/${runId}/entries`);
  return body.entries.flatMap((entry: any) => (entry.kind === 'event' ? [entry.event.type] : []));
}

test('init with the address of a Studio in the same process records a run once', async () => {
  const page = await studios.start();
  const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hello.']), console: false });
  init({ studioUrl: page.studio.loginUrl, logging: 'silent' });
  const live = await page.live();
  live.send({ type: 'watch_runs' });
  await withRunConfig({ runId: 'own-run' }, () => agent.call('Hi.'));
  await live.until(({ messages }) =>
    messages.find((one) => one.type === 'run' && one.run.id === 'own-run' && one.run.preview === 'Hello.'),
  );
  await disconnectStudio(); // sends whatever a connection still holds
  const events = await eventsOf(page, 'own-run');
  expect(events.filter((type) => type === 'run_end')).toEqual(['run_end']);
  expect(events.filter((type) => type === 'reply_start')).toEqual(['reply_start']);
  expect((await page.get('api/runs/own-run')).body.run.messages).toBe(2);
});

test('a UserAgent asks once, and goes on after the connection has found the Studio in its own process', async () => {
  const page = await studios.start();
  init({ studioUrl: page.studio.loginUrl, logging: 'silent' });
  const live = await page.live();
  const user = new UserAgent({ name: 'ann', console: false });
  for (const answer of ['One.', 'Two.']) {
    const asked = withRunConfig({ runId: 'own-run' }, () => user.call());
    const waiting = await live.until(({ messages }) => {
      const last = messages.findLast((one) => one.type === 'waiting');
      return last?.type === 'waiting' && last.waiting.length > 0 ? last.waiting : undefined;
    });
    expect(waiting.map(({ runId, state }) => [runId, state])).toEqual([['own-run', 'waiting']]);
    expect(await page.act('own-run', { type: 'answer', id: waiting[0]?.id, content: answer })).toMatchObject({
      status: 200,
    });
    expect((await asked).text).toBe(answer);
    await live.until(({ messages }) => {
      const last = messages.findLast((one) => one.type === 'waiting');
      return last?.type === 'waiting' && last.waiting.length === 0 ? true : undefined;
    });
  }
});
