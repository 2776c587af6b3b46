// A `prePrint` hook that changes text which is on the stream already: readers see the changed text in the end, and nothing garbled.
import { expect, test } from 'vitest';

import { ConversationView } from '../src/entries/events.ts';
import { ReActAgent, type AgentEvent, type Msg } from '../src/index.ts';
import { ScriptedModel } from '../src/testing/index.ts';

const redact = (msg: Msg): Msg =>
  typeof msg.content === 'string' || !msg.text.includes('SECRET-42')
    ? msg
    : msg.with({ content: [{ type: 'text', text: msg.text.replaceAll('SECRET-42', '***') }] });

test.each([1, 3, 100])(
  'a redaction restarts the message where it changes what was shown (deltas of %i)',
  async (chunkSize) => {
    const text = 'The code is SECRET-42, keep it. SECRET-42 again.';
    const agent = new ReActAgent({
      name: 'F',
      model: new ScriptedModel([{ text, chunkSize }]),
      console: false,
    });
    agent.registerInstanceHook('prePrint', 'redact', (_agent, { msg }) => ({ msg: redact(msg) }));
    agent.registerInstanceHook('postReply', 'redact', (_agent, _args, msg) =>
      msg.with({ content: redact(msg).text.replaceAll('SECRET-42', '***') }),
    );
    const events: AgentEvent[] = [];
    const view = new ConversationView();
    let shown = '';
    for await (const event of agent.stream('?')) {
      events.push(event);
      view.add(event);
      if (event.type === 'msg_reset') shown = '';
      if (event.type === 'text_delta') shown += event.text;
    }
    expect(shown).toBe('The code is ***, keep it. *** again.');
    expect(view.messages.at(-1)?.content).toEqual([{ type: 'text', text: shown }]);
    const resets = events.filter(({ type }) => type === 'msg_reset').length;
    expect(resets > 0).toBe(chunkSize !== 100);
  },
);
