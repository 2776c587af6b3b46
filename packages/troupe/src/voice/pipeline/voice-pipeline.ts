import type { AgentBase } from '../../agent/agent-base.ts';
import { TroupeError } from '../../errors.ts';
import { EnergyDetector } from '../../realtime/speech-detector.ts';
import type { SttModelBase } from '../../stt/stt-model-base.ts';
import type { SpeakableFilter } from '../../tts/speech-text.ts';
import type { TtsModelBase } from '../../tts/tts-model-base.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import type { ConnectOptions, Talk, Talker } from '../talk.ts';
import { plainYesOrNo, type VoiceDecision } from '../voice-decision.ts';
import { PipelineTalk } from './pipeline-talk.ts';

export interface VoicePipelineOptions {
  /** The agent: of any class, with any model. It needs no `ttsModel` of its own. */
  readonly agent: AgentBase;
  readonly sttModel: SttModelBase;
  readonly ttsModel: TtsModelBase;
  /** Makes the filter of a spoken text. @default leaves out code, tables and marks of Markdown */
  readonly speakable?: (() => SpeakableFilter) | undefined;
  /** Name of the person in messages. @default 'user' */
  readonly userName?: string | undefined;
  /**
   * Whether a person may decide about pending tool calls by saying yes or no; a function reads other words. Whoever is heard can then
   * decide. @default false
   */
  readonly approvalByVoice?: boolean | VoiceDecision | undefined;
  /** Time in which words must come after a person begins to speak over the agent; otherwise the agent goes on. @default 2000 */
  readonly falseAlarmMs?: number | undefined;
  /** Longest turn of the person. @default 60 000 */
  readonly maxTurnMs?: number | undefined;
}

/** Speech before the agent is silent. */
const START_MS = 60;

/**
 * Lets a person talk with any agent: speech in, the agent, speech out. The person can speak over the agent; then the agent is silent at once, and its
 * memory keeps the text that was heard. Folder `voice/pipeline`: start here.
 *
 * @example
 * ```ts no-run
 * import { ReActAgent } from 'troupe';
 * import { OllamaChatModel } from 'troupe/ollama';
 * import { VoicePipeline } from 'troupe/realtime';
 * import { CommandSttModel, CommandTtsModel, SinkPlayer, TerminalSpeaker } from 'troupe/speech';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OllamaChatModel({ modelName: 'qwen3' }) });
 * const sttModel = new CommandSttModel({ command: 'whisper-cli', args: ['-m', 'ggml-base.bin', '-nt', '-np', '-f', '{file}'] });
 * const pipeline = new VoicePipeline({ agent, sttModel, ttsModel: CommandTtsModel.espeak() });
 * const talk = await pipeline.connect({ player: new SinkPlayer(new TerminalSpeaker()) });
 * console.log(talk.isClosed);
 * ```
 */
export class VoicePipeline implements Talker {
  readonly #options: VoicePipelineOptions;
  #talk: Talk | undefined;

  /** @throws TroupeError if a part is missing */
  constructor(options: VoicePipelineOptions) {
    if (typeof options?.agent?.call !== 'function')
      throw new TroupeError('invalid_config', 'A VoicePipeline needs an agent, such as a ReActAgent.');
    if (typeof options.sttModel?.transcribe !== 'function')
      throw new TroupeError(
        'invalid_config',
        'A VoicePipeline needs an sttModel, such as an OpenAISttModel.',
      );
    if (typeof options.ttsModel?.synthesize !== 'function')
      throw new TroupeError('invalid_config', 'A VoicePipeline needs a ttsModel, such as an OpenAITtsModel.');
    for (const name of ['falseAlarmMs', 'maxTurnMs'] as const)
      if (options[name] !== undefined) checkNumber(name, options[name], { least: 0, most: MAX_TIMER_MS });
    this.#options = options;
  }

  get agent(): AgentBase {
    return this.#options.agent;
  }

  /** The open conversation, if there is one. */
  get talk(): Talk | undefined {
    return this.#talk?.isClosed === false ? this.#talk : undefined;
  }

  /** Opens a conversation. An earlier one is closed. */
  async connect({ player, detector, speakerName }: ConnectOptions): Promise<Talk> {
    if (typeof player?.play !== 'function')
      throw new TroupeError(
        'invalid_config',
        'connect needs a player: connect({ player: new SinkPlayer(new TerminalSpeaker()) }).',
      );
    await this.#talk?.close();
    const {
      agent,
      sttModel,
      ttsModel,
      speakable,
      userName = 'user',
      approvalByVoice = false,
    } = this.#options;
    const { falseAlarmMs, maxTurnMs = 60_000 } = this.#options;
    return (this.#talk = new PipelineTalk({
      agent,
      sttModel,
      ttsModel,
      player,
      detector: detector ?? new EnergyDetector({ startMs: START_MS }),
      newFilter: speakable,
      userName: speakerName ?? (() => userName),
      voiceDecision: approvalByVoice === true ? plainYesOrNo : approvalByVoice || undefined,
      falseAlarmMs,
      maxTurnMs,
    }));
  }
}
