import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { cutText } from '../util/text.ts';
import { RECORD_TOOL, RETRIEVE_TOOL } from './long-term-tools.ts';
import type { MemoryScheme } from './memory-scheme.ts';

/** Text of one message, for the extraction of memories. */
export interface Said {
  readonly name: string;
  readonly text: string;
  readonly isUser: boolean;
}

const OWN_TOOLS: readonly string[] = [RECORD_TOOL, RETRIEVE_TOOL];
const MAX_RESULT = 1500;

/**
 * Texts of messages, without those of the system and empty ones. For a scheme that uses tools, also tool calls and their results, but
 * not those of the memory itself.
 */
export function saidIn(msgs: readonly Msg[], { usesTools = false }: MemoryScheme): readonly Said[] {
  return msgs.flatMap((msg) => {
    const texts = msg.role === 'system' ? [] : [msg.text.trim()];
    if (usesTools) texts.push(...toolLines(msg));
    const text = texts.filter((part) => part !== '').join('\n');
    return text === '' ? [] : [{ name: msg.name, text, isUser: msg.role === 'user' }];
  });
}

/** Tool results with the input of their tool calls, in the form that the tool `record_to_memory` takes for tool memories. */
export function toolResultsIn(msgs: readonly Msg[]): readonly string[] {
  const calls = new Map(
    msgs.flatMap((msg) => msg.getContentBlocks('tool_use').map(({ id, input }) => [id, input])),
  );
  return msgs
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .filter(({ name }) => !OWN_TOOLS.includes(name))
    .map((result) =>
      JSON.stringify({
        tool_name: result.name,
        input: calls.get(result.id) ?? {},
        output: outputText(result),
        success: result.status === 'ok',
      }),
    );
}

function toolLines(msg: Msg): readonly string[] {
  const calls = msg
    .getContentBlocks('tool_use')
    .filter(({ name }) => !OWN_TOOLS.includes(name))
    .map(({ name, input }) => `calls ${name} with ${cutText(JSON.stringify(input), MAX_RESULT)}`);
  const results = msg
    .getContentBlocks('tool_result')
    .filter(({ name }) => !OWN_TOOLS.includes(name))
    .map((result) => `result of ${result.name} (${result.status}): ${outputText(result)}`);
  return [...calls, ...results];
}

function outputText({ output }: ToolResultBlock): string {
  const text =
    typeof output === 'string'
      ? output
      : output.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
  return cutText(text, MAX_RESULT);
}
