import type { Msg } from './msg.ts';

/**
 * Faults for which a strict provider rejects a history: tool calls without exactly
 * one result directly after them, results without a tool call, ids used twice. An
 * empty list means that the history is valid.
 *
 * @example
 * ```ts
 * import { findHistoryFaults, Msg } from 'troupe';
 *
 * const history = [
 *   Msg.user('What is the time?'),
 *   Msg.assistant([{ type: 'tool_use', id: 'c1', name: 'get_time', input: {} }]),
 * ];
 * console.log(findHistoryFaults(history)); // one fault: the tool call c1 has no result
 * ```
 */
export function findHistoryFaults(history: readonly Msg[]): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  let open = new Set<string>();

  for (const [i, msg] of history.entries()) {
    const results = msg.getContentBlocks('tool_result');
    const calls = msg.getContentBlocks('tool_use');
    for (const result of results) {
      if (!open.delete(result.id))
        faults.push(`message ${i} has a result for '${result.id}', but no tool call waits for it`);
    }
    if (open.size > 0 && (results.length === 0 || calls.length > 0)) {
      for (const id of open) faults.push(`message ${i} comes before the result of the tool call '${id}'`);
      open = new Set();
    }
    for (const call of calls) {
      if (seen.has(call.id)) faults.push(`message ${i} uses the tool call id '${call.id}' again`);
      seen.add(call.id);
      open.add(call.id);
    }
  }
  for (const id of open) faults.push(`the tool call '${id}' at the end has no result`);
  return faults;
}
