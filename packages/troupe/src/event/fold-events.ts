import { notifyOnReturn } from '../util/async/stoppable.ts';
import type { AgentEvent } from './agent-event.ts';
import { ConversationView } from './conversation-view.ts';

/**
 * Folds events into a conversation: yields the same view again after each event, and returns it at the end. Leaving the loop leaves the
 * stream of events, which interrupts its run. A stream that throws, throws here too.
 * @param view the conversation so far
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { foldEvents } from 'troupe/events';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const model = new ScriptedModel([{ text: 'Hello, Ann.', chunkSize: 4 }]);
 * const agent = new ReActAgent({ name: 'Friday', model, console: false });
 * for await (const { messages } of foldEvents(agent.stream('Hi!'))) console.log(messages.at(-1)?.content);
 * ```
 */
export function foldEvents(
  events: AsyncIterable<AgentEvent> | Iterable<AgentEvent>,
  view: ConversationView = new ConversationView(),
): AsyncGenerator<ConversationView, ConversationView, void> {
  const source = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : undefined;
  const all = source === undefined ? events : { [Symbol.asyncIterator]: () => source };
  async function* views(): AsyncGenerator<ConversationView, ConversationView, void> {
    for await (const event of all) {
      view.add(event);
      yield view;
    }
    return view;
  }
  const leave = (): void => void source?.return?.().catch(() => {}); // the reader has left
  return notifyOnReturn(views(), leave);
}
