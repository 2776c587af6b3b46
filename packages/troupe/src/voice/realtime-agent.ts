import type { Interrupt } from '../agent/interrupt.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { AgentClosedError, TroupeError } from '../errors.ts';
import { COMPRESSED_MARK } from '../memory/memory-base.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { ReActAgentOptions } from '../react/react-agent-options.ts';
import type { RealtimeModelBase, RealtimeSetup } from '../realtime/realtime-model-base.ts';
import { isSuspended, type SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import { whenAborted } from '../util/abort.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { VoiceConversation } from './voice-conversation.ts';
import { RealtimeChatModel } from './realtime-chat-model.ts';
import type { ConnectOptions, Talk, Talker } from './talk.ts';
import { plainYesOrNo, type VoiceDecision } from './voice-decision.ts';

export interface RealtimeAgentOptions extends Omit<
  ReActAgentOptions,
  'model' | 'ttsModel' | 'speaker' | 'speakable' | 'compression' | 'formatter'
> {
  readonly realtimeModel: RealtimeModelBase;
  /** Name of the person in messages. @default 'user' */
  readonly userName?: string | undefined;
  /**
   * Whether a person may decide about pending tool calls by saying yes or no; a function reads other words. Whoever is heard can then
   * decide. @default false
   */
  readonly approvalByVoice?: boolean | VoiceDecision | undefined;
  /** Time in which words must come after a person begins to speak over the agent; otherwise the agent goes on. @default 2000 */
  readonly falseAlarmMs?: number | undefined;
  /** Longest wait for the words of a turn of the person. @default 5000 */
  readonly transcriptMs?: number | undefined;
  /** Longest wait for the begin of a response that was asked for. @default 30 000 */
  readonly responseMs?: number | undefined;
}

/**
 * An agent that listens and speaks over a realtime model. It is a `ReActAgent` whose model is a conversation: hooks, tools, permission,
 * sub-agents, interrupts, sessions and tracing are the same. When the person speaks, the agent is silent at once, and its memory
 * has the words that were heard. Tool calls run while the conversation goes on; results are spoken when they are there.
 *
 * `connect` opens a conversation; `call` says something in it as text. Folder `voice`: start here.
 *
 * @example
 * ```ts
 * import { RealtimeAgent } from 'troupe/realtime';
 * import { InstantPlayer, ScriptedRealtimeModel } from 'troupe/testing';
 *
 * const realtimeModel = new ScriptedRealtimeModel([{ text: 'It is sunny in Lisbon.' }]);
 * const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
 * await using talk = await agent.connect({ player: new InstantPlayer() });
 * console.log((await agent.call('How is the weather?')).text); // It is sunny in Lisbon.
 * ```
 */
export class RealtimeAgent extends ReActAgent implements Talker {
  static override readonly componentName: string = 'realtimeAgent';

  readonly realtimeModel: RealtimeModelBase;
  readonly #options: RealtimeAgentOptions;
  readonly #chatModel: RealtimeChatModel;
  #isDisposed = false;

  constructor(options: RealtimeAgentOptions) {
    if (typeof options?.realtimeModel?.connect !== 'function')
      throw new TroupeError(
        'invalid_config',
        'A RealtimeAgent needs a realtimeModel, such as an OpenAIRealtimeModel.',
      );
    for (const [name, value] of Object.entries({
      falseAlarmMs: options.falseAlarmMs,
      transcriptMs: options.transcriptMs,
      responseMs: options.responseMs,
    }))
      if (value !== undefined) checkNumber(name, value, { least: 0, most: MAX_TIMER_MS });
    const chatModel = new RealtimeChatModel(options.realtimeModel);
    super({ ...options, model: chatModel });
    this.realtimeModel = options.realtimeModel;
    this.#options = options;
    this.#chatModel = chatModel;
  }

  /** The agent itself, as of every `Talker`. */
  get agent(): this {
    return this;
  }

  /** The open conversation, if there is one. */
  get talk(): Talk | undefined {
    const { conversation } = this.#chatModel;
    return conversation?.isClosed === false ? conversation : undefined;
  }

  /**
   * Opens a conversation, with what is in memory. An earlier one is closed.
   * @throws ModelError if the model can't be reached
   */
  async connect({ player, detector, speakerName }: ConnectOptions): Promise<Talk> {
    if (this.#isDisposed) throw new AgentClosedError(this.name);
    if (typeof player?.play !== 'function')
      throw new TroupeError(
        'invalid_config',
        'connect needs a player: connect({ player: new SinkPlayer(new TerminalSpeaker()) }).',
      );
    await this.#chatModel.conversation?.close();
    const { approvalByVoice = false, userName = 'user' } = this.#options;
    const { falseAlarmMs, transcriptMs = 5000, responseMs = 30_000 } = this.#options;
    const conversation = new VoiceConversation(
      {
        agent: this,
        setup: () => this.#setup(detector === undefined ? 'model' : 'caller'),
        postpone: (msgs) => this.postpone(msgs),
        reviseWords: (text) => this.openExchange?.exchange.reviseText(text),
      },
      {
        model: this.realtimeModel,
        player,
        userName: speakerName ?? (() => userName),
        detector,
        voiceDecision: approvalByVoice === true ? plainYesOrNo : approvalByVoice || undefined,
        falseAlarmMs,
        transcriptMs,
        responseMs,
      },
    );
    this.#chatModel.conversation = conversation;
    await conversation.open();
    return conversation;
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const { conversation } = this.#chatModel;
    const unlink = whenAborted(turn.signal, () => conversation?.silence());
    try {
      return await super.reply(msgs, turn);
    } finally {
      unlink();
    }
  }

  /** Answers with the words that were heard, which are in memory already. */
  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    await this.keepInterrupted(msgs, interrupt);
    const text = this.#chatModel.conversation?.lastHeard ?? '';
    const metadata = { _is_interrupted: true };
    return Msg.assistant(text, { name: this.name, metadata, endReason: 'interrupted' });
  }

  protected override async reasoning(
    ...args: Parameters<ReActAgent['reasoning']>
  ): ReturnType<ReActAgent['reasoning']> {
    const said = (await this.#chatModel.conversation?.takeUtterances()) ?? [];
    if (said.length > 0) await this.observe(said);
    return super.reasoning(...args);
  }

  protected override async acting(
    call: ToolUseBlock,
    turn: Turn,
  ): Promise<ToolResultBlock | SuspendedToolCall> {
    const { conversation } = this.#chatModel;
    const outcome = await super.acting(call, turn);
    if (isSuspended(outcome)) return outcome;
    conversation?.tellResult({ type: 'tool_result', result: outcome });
    await conversation?.wordsHeard(turn.signal); // the exchange is stored with the words that were heard
    return outcome;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#chatModel.conversation?.close();
    await super[Symbol.asyncDispose]();
  }

  async #setup(turns: RealtimeSetup['turns']): Promise<RealtimeSetup> {
    const { sysPrompt } = this;
    return {
      instructions: typeof sysPrompt === 'string' ? sysPrompt : await sysPrompt(),
      tools: this.toolSchemas,
      history: await this.memory.getMemory({ excludeMark: COMPRESSED_MARK }),
      agentName: this.name,
      turns,
    };
  }
}
