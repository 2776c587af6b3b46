import type { AgentBase } from '../../agent/agent-base.ts';
import { MemoryBase } from '../../memory/memory-base.ts';
import { OrderedMemory } from '../../memory/ordered-memory.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import { isInterruptReply } from '../../message/end-reason.ts';
import type { Msg } from '../../message/msg.ts';
import { ReActAgent } from '../../react/react-agent.ts';

/**
 * Cuts messages of an agent, in its memory, to the text that was heard. A message of which nothing was heard is removed, unless it has tool calls. Answers to
 * interrupts, which nobody has heard, are removed too. Later messages keep their order. An agent without a memory is left as it is.
 * @param heard text that was heard of each message, by its id
 * @param isStopped whether the last message may be the answer to an interrupt
 */
export async function keepHeard(
  agent: AgentBase,
  heard: ReadonlyMap<string, string>,
  isStopped: boolean,
): Promise<void> {
  const memory: unknown = Reflect.get(agent, 'memory');
  if (!(memory instanceof MemoryBase)) return;
  const isUnheard = (msg: Msg): boolean =>
    msg.role === 'assistant' && msg.name === agent.name && isInterruptReply(msg) && !heard.has(msg.id);
  const heardOnly = (msgs: readonly Msg[]): readonly Msg[] => {
    const first = msgs.findIndex(
      (msg, i) => heard.has(msg.id) || (isStopped && i === msgs.length - 1 && isUnheard(msg)),
    );
    return msgs.flatMap((msg, i) => {
      if (first === -1 || i < first) return [msg];
      if (isUnheard(msg)) return [];
      const text = heard.get(msg.id);
      return text === undefined ? [msg] : cutTo(msg, text);
    });
  };
  if (agent instanceof ReActAgent) await agent.reviseMemory(heardOnly);
  else await new OrderedMemory(memory).revise(heardOnly);
}

/** The message with the first characters of its text only; nothing if nothing is left of it. */
function cutTo(msg: Msg, text: string): readonly Msg[] {
  if (msg.getContentBlocks('text').length === 0) return [msg];
  if (typeof msg.content === 'string') {
    const kept = msg.content.slice(0, text.length);
    if (kept === msg.content) return [msg];
    return kept.trim() === '' ? [] : [msg.with({ content: kept })];
  }
  let rest = text.length;
  const content = msg.content.flatMap((block): ContentBlock[] => {
    if (block.type !== 'text') return [block];
    const kept = block.text.slice(0, rest);
    rest -= kept.length;
    if (kept === block.text) return [block];
    return kept.trim() === '' ? [] : [{ type: 'text', text: kept }];
  });
  const isEmpty = content.every(({ type }) => type === 'thinking');
  return isEmpty ? [] : [msg.with({ content })];
}
