import type { ModelDelta } from '../message/model-delta.ts';
import { ChatModelBase, PLAIN_CAPABILITIES } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import type { ModelCallOptions, ModelRequest } from '../model/model-request.ts';
import type { RealtimeModelBase } from '../realtime/realtime-model-base.ts';
import type { VoiceConversation } from './voice-conversation.ts';

/** A realtime model as the chat model of its agent: each model call is the next response of the conversation. */
export class RealtimeChatModel extends ChatModelBase {
  static override readonly className = 'RealtimeChatModel';
  override readonly capabilities = { ...PLAIN_CAPABILITIES, audio: true, forcedTools: 'never' as const };
  override readonly vendorName: string | undefined;
  override readonly host: string | undefined;
  conversation: VoiceConversation | undefined;

  constructor({ modelName, vendorName, host }: RealtimeModelBase) {
    super(modelName);
    this.vendorName = vendorName;
    this.host = host;
  }

  override stream(
    request: ModelRequest,
    { signal = new AbortController().signal }: ModelCallOptions = {},
  ): AsyncIterable<ModelDelta> {
    if (this.conversation === undefined || this.conversation.isClosed)
      throw new ModelError(
        'The agent is not connected: await agent.connect({ player }) before the agent call.',
        {
          kind: 'bad_request',
          model: this.modelName,
        },
      );
    return this.conversation.answer(request, signal);
  }
}
