import type { ModelDelta } from '../../../message/model-delta.ts';
import { MsgDraft } from '../../../message/msg-draft.ts';
import { addUsage, type Usage } from '../../../message/usage.ts';
import type { ModelRequest } from '../../../model/chat-model-base.ts';
import { objectOf } from '../../../model/http/wire-values.ts';
import { ANTHROPIC_KEY } from './server-tools.ts';

/** Number of times that a paused turn is continued. */
const MAX_CONTINUATIONS = 20;

/**
 * Continues a turn that Claude has paused, because its own tools take long: the answer so far goes back as it is, and what
 * follows is part of the same answer. The usage is the sum of all model calls.
 */
export async function* continuePaused(
  stream: (request: ModelRequest) => AsyncIterable<ModelDelta>,
  request: ModelRequest,
): AsyncGenerator<ModelDelta, void, void> {
  let messages = request.messages;
  let before: Usage | undefined;
  for (let continued = 0; ; continued++) {
    const draft = new MsgDraft(request.agentName ?? 'assistant');
    let isPaused = false;
    let finish: ModelDelta | undefined;
    for await (const delta of stream({ ...request, messages })) {
      draft.add(delta);
      isPaused ||= isPause(delta);
      if (delta.type === 'finish') finish = delta;
      else if (delta.type === 'usage')
        yield { ...delta, usage: addUsage(before, delta.usage) ?? delta.usage };
      else yield isPause(delta) ? withoutPause(delta) : delta;
    }
    const paused = draft.finish();
    if (!isPaused || continued === MAX_CONTINUATIONS || paused.content.length === 0) {
      if (finish !== undefined) yield finish;
      return;
    }
    before = addUsage(before, paused.usage);
    messages = [...messages, paused];
  }
}

/** Whether a delta says that the turn is paused. It says so to this function alone: the answer goes on. */
function isPause(delta: ModelDelta): delta is Extract<ModelDelta, { type: 'provider_meta' }> {
  if (delta.type !== 'provider_meta') return false;
  return objectOf(delta.providerMeta[ANTHROPIC_KEY])['stop_reason'] === 'pause_turn';
}

function withoutPause({ providerMeta }: Extract<ModelDelta, { type: 'provider_meta' }>): ModelDelta {
  const { stop_reason: _, ...rest } = objectOf(providerMeta[ANTHROPIC_KEY]);
  return { type: 'provider_meta', providerMeta: { ...providerMeta, [ANTHROPIC_KEY]: rest } };
}
