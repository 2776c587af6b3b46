import { describe, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../../event/agent-event.ts';
import { ConversationView } from '../../event/conversation-view.ts';
import { Msg } from '../../message/msg.ts';
import type { AudioBlock } from '../../message/blocks.ts';
import { withRunConfig } from '../../config/run-config.ts';
import { findHistoryFaults } from '../../message/history.ts';
import { ReActAgent } from '../../react/react-agent.ts';
import { interruptAtEvery, ScriptedModel, ToneTtsModel } from '../../testing/index.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import type { PrintedMsg } from './printer.ts';

const ANSWER =
  'It is sunny. Take your sunglasses with you. Read `npm start`, not code:\n```\nrm x\n```\nBye!';
const SENTENCES = ['It is sunny.', 'Take your sunglasses with you.', 'Read npm start, not code:', 'Bye!'];

class MemorySink {
  readonly written: PcmAudio[] = [];
  flushes = 0;
  write(audio: PcmAudio): void {
    this.written.push(audio);
  }
  flush(): void {
    this.flushes++;
  }
}

function speakingAgent(ttsModel = new ToneTtsModel(), answers: readonly string[] = [ANSWER]) {
  const sink = new MemorySink();
  const model = new ScriptedModel(answers.map((text) => ({ text, chunkSize: 5 })));
  const agent = new ReActAgent({ name: 'Friday', model, ttsModel, speaker: sink, console: false });
  return { agent, sink, ttsModel };
}

async function eventsOf(agent: ReActAgent, input = 'Hi.'): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.stream(input)) events.push(event);
  return events;
}

describe('ttsModel of an agent', () => {
  it('speaks sentence by sentence, without code, in events and on the sink, each piece once', async () => {
    const { agent, sink, ttsModel } = speakingAgent();
    const events = await eventsOf(agent);
    const speech = events.filter((event) => event.type === 'audio_delta');
    expect(ttsModel.texts).toEqual(SENTENCES);
    expect(speech.map(({ mediaType, isSpeech, index }) => ({ mediaType, isSpeech, index }))).toEqual(
      SENTENCES.map(() => ({ mediaType: 'audio/pcm;rate=24000', isSpeech: true, index: 0 })),
    );
    expect(sink.written.map(({ data }) => Buffer.from(data).toString('base64'))).toEqual(
      speech.map(({ data }) => data),
    );
  });

  it('begins before the text is complete', async () => {
    const events = await eventsOf(speakingAgent().agent);
    const firstSpeech = events.findIndex(({ type }) => type === 'audio_delta');
    const lastText = events.findLastIndex(({ type }) => type === 'text_delta');
    expect(firstSpeech).toBeGreaterThan(0);
    expect(firstSpeech).toBeLessThan(lastText);
  });

  it('ends before the run ends, and leaves the message as it is without speech', async () => {
    const events = await eventsOf(speakingAgent().agent);
    expect(events.at(-1)?.type).toBe('run_end');
    const view = new ConversationView();
    for (const event of events) view.add(event);
    expect(view.messages.map(({ content }) => content)).toEqual([[{ type: 'text', text: ANSWER }]]);
  });

  it('gives text that still grows to a model that takes it', async () => {
    const ttsModel = new ToneTtsModel({ takesTextStream: true });
    const synthesize = vi.spyOn(ttsModel, 'synthesize');
    await speakingAgent(ttsModel).agent.call('Hi.');
    expect(ttsModel.texts).toEqual(SENTENCES);
    expect(synthesize).toHaveBeenCalledTimes(1);
  });

  it('puts message, last and speech into the queue', async () => {
    const { agent } = speakingAgent(new ToneTtsModel(), ['Hello.']);
    const queue = new BoundedQueue<PrintedMsg>(100);
    agent.setMsgQueueEnabled(true, queue);
    await agent.call('Hi.');
    queue.close();
    const printed: PrintedMsg[] = [];
    for await (const one of queue) printed.push(one);
    const spoken = printed.filter(({ speech }) => speech !== undefined);
    expect(spoken.map(({ msg, last, speech }) => [msg.text, last, speech?.source.type])).toEqual([
      ['Hello.', true, 'base64'],
    ]);
  });

  it('speaks what a prePrint hook made of the text', async () => {
    const { agent, ttsModel } = speakingAgent(new ToneTtsModel(), ['The code is 1234. Keep it to yourself.']);
    agent.registerInstanceHook('prePrint', 'redact', (_agent, { msg, speech }) =>
      speech === undefined ? { msg: msg.with({ content: msg.text.replaceAll(/\d/g, '#') }) } : undefined,
    );
    await agent.call('Hi.');
    expect(ttsModel.texts.join(' ')).toBe('The code is ####. Keep it to yourself.');
  });

  it('does not speak tool calls, tool results or hints', async () => {
    const ttsModel = new ToneTtsModel();
    const model = new ScriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, 'Done.']);
    const agent = new ReActAgent({
      name: 'Friday',
      model,
      ttsModel,
      console: false,
      tools: [
        { name: 'look', description: 'Looks.', schema: { type: 'object' }, execute: () => 'Nothing here.' },
      ],
    });
    await agent.call('Hi.');
    expect(ttsModel.texts).toEqual(['Done.']);
  });

  it('is silent at once after an interrupt, and speaks the next answer', async () => {
    const ttsModel = new ToneTtsModel({
      onText: (text) => (text === 'Second.' ? new Promise<void>(() => {}) : undefined),
    });
    const { agent, sink } = speakingAgent(ttsModel, ['First of all, hello. Second. Third.', 'Again.']);
    const stream = agent.stream('Hi.');
    for await (const event of stream) if (event.type === 'audio_delta') break;
    const written = sink.written.length;
    expect(sink.flushes).toBe(1);
    await agent.call('Go on.');
    expect(ttsModel.texts).toEqual(['First of all, hello.', 'Again.']);
    expect(sink.written.length).toBe(written + 1);
  });

  it('reports a failure of speech, and the reply goes on', async () => {
    const lines: string[] = [];
    const logging = { log: (_level: string, line: string) => void lines.push(line) };
    const ttsModel = new ToneTtsModel({
      onText: (text) => {
        if (text.startsWith('Take')) throw new Error('no voice');
      },
    });
    const { agent } = speakingAgent(ttsModel);
    const events = await withRunConfig({ logging }, () => eventsOf(agent));
    expect(
      events.filter(({ type }) => type === 'error').map((event) => event.type === 'error' && event.error),
    ).toEqual([{ message: 'Friday could not speak: no voice' }]);
    expect(lines).toEqual(['Friday could not speak: no voice']);
    expect(ttsModel.texts).toEqual(['It is sunny.']);
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  });

  it('speaks the next answer after an interrupt of a print that never ends', async () => {
    const hanging = Promise.withResolvers<void>();
    class Stuck extends ReActAgent {
      override async print(msg: Msg, last?: boolean, speech?: AudioBlock): Promise<void> {
        if (speech === undefined || msg.text !== 'First.') return super.print(msg, last, speech);
        hanging.resolve();
        return new Promise(() => {});
      }
    }
    const ttsModel = new ToneTtsModel();
    const model = new ScriptedModel(['First.', 'Second.']);
    const agent = new Stuck({ name: 'Friday', model, ttsModel, console: false });
    const first = agent.call('Hi.');
    await hanging.promise;
    await agent.interrupt();
    await first;
    expect((await agent.call('Hi.')).text).toBe('Second.');
    expect(ttsModel.texts).toEqual(['First.', 'Second.']);
  });

  it.each(['new', 'feed', 'end'])(
    'reports a filter that fails at %s once, and the reply goes on',
    async (where) => {
      const at = (place: string): string => {
        if (place === where) throw new Error('no filter');
        return '';
      };
      const speakable = () => {
        at('new');
        return { feed: (text: string) => at('feed') + text, end: () => at('end') };
      };
      const model = new ScriptedModel([{ text: ANSWER, chunkSize: 5 }]);
      const ttsModel = new ToneTtsModel();
      const agent = new ReActAgent({ name: 'Friday', model, ttsModel, speakable, console: false });
      const events = await withRunConfig({ logging: { log: () => {} } }, () => eventsOf(agent));
      expect(events.flatMap((event) => (event.type === 'error' ? [event.error] : []))).toEqual([
        { message: 'Friday could not speak: no filter' },
      ]);
      expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
    },
  );

  it('logs a speaker that can not be stopped', async () => {
    const lines: string[] = [];
    const logging = { log: (_level: string, line: string) => void lines.push(line) };
    const { agent, sink } = speakingAgent();
    sink.flush = () => {
      throw new Error('no device');
    };
    await withRunConfig({ logging }, async () => {
      for await (const event of agent.stream('Hi.')) if (event.type === 'audio_delta') break;
    });
    expect(lines).toEqual(['Speech could not be stopped: no device']);
  });

  it('keeps history and speech right when interrupted at every event and await', async () => {
    const report = await interruptAtEvery(() => {
      const answers = ['One sentence here. And another one.', 'Next.', 'Next.'];
      const { agent, sink, ttsModel } = speakingAgent(new ToneTtsModel(), answers);
      return {
        agent,
        input: 'Hi.',
        check: async () => {
          expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
          const spoken = ttsModel.texts.length;
          expect(sink.written.length).toBeGreaterThanOrEqual(spoken - 1); // the last piece may be dropped
          expect((await agent.call('Go on.')).endReason).toBe('finished');
          expect(
            ttsModel.texts
              .slice(spoken)
              .every((text) => 'One sentence here. And another one. Next.'.includes(text)),
          ).toBe(true);
          expect(ttsModel.texts.length).toBeGreaterThan(spoken);
        },
      };
    });
    expect(report.points).toBeGreaterThan(50);
  });

  it('refuses a ttsModel that is none', () => {
    const options = { name: 'x', model: new ScriptedModel([]), ttsModel: {} as never };
    expect(() => new ReActAgent(options)).toThrow('ttsModel must be a TtsModelBase');
  });
});

describe('print with speech', () => {
  it('sends the speech of a program to the events and the sink', async () => {
    const sink = new MemorySink();
    const speech: AudioBlock = {
      type: 'audio',
      source: {
        type: 'base64',
        mediaType: 'audio/pcm;rate=16000',
        data: Buffer.from([1, 0, 2, 0]).toString('base64'),
      },
    };
    class Echo extends ReActAgent {
      override async reply(): Promise<Msg> {
        const msg = Msg.assistant('Hello.', { name: this.name });
        await this.print(msg, true, speech);
        return msg;
      }
    }
    const agent = new Echo({ name: 'Echo', model: new ScriptedModel([]), speaker: sink, console: false });
    const events = await eventsOf(agent);
    expect(events.map(({ type }) => type)).toEqual([
      'reply_start',
      'block_start',
      'text_delta',
      'block_end',
      'audio_delta',
      'reply_end',
      'run_end',
    ]);
    expect(sink.written).toEqual([{ data: Uint8Array.of(1, 0, 2, 0), rate: 16_000 }]);
  });
});
