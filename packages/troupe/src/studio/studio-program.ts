import type { AgentBase, CallOptions } from '../agent/agent-base.ts';
import {
  observeProgram,
  type ObservedCall,
  type ObservedPrompt,
  type ProgramObserver,
} from '../agent/program-observers.ts';
import { getRunConfig, withRunConfig } from '../config/run-config.ts';
import { AgentBusyError, InputEndedError, TroupeError, type ErrorCode } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { UserInputData, UserInputRequest } from '../user/user-input.ts';
import { whenAborted } from '../util/abort.ts';
import { startTimer } from '../util/clock.ts';
import { fingerprint } from '../util/hash.ts';
import { newId } from '../util/ids.ts';
import { copyJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { toJsonSchema, validateWith } from '../util/schema.ts';
import { fieldProblems } from './field-problems.ts';
import { modelNameOf, readInside, toolSchemaOf } from './agent-inside.ts';
import type {
  AgentFacts,
  CommandFailure,
  CommandResult,
  ProgramCommand,
  ProgramItem,
  ProgramItemBody,
  QuestionFacts,
  RunInfo,
} from './program-protocol.ts';

export interface StudioProgramOptions {
  /** Takes an item on its way to the Studio. @returns false if the item was dropped */
  readonly send: (item: ProgramItem, chars: number) => boolean;
  /** Makes the agent calls that the Studio asks for. @default `agent.call` */
  readonly callAgent?:
    | ((agent: AgentBase, msgs: readonly Msg[], options: CallOptions, runId: string) => Promise<Msg>)
    | undefined;
  /** Whether a run is none of the Studio's business, such as a replay. @default all runs are shown */
  readonly isIgnored?: ((runId: string) => boolean) | undefined;
  /** Called when the first question is open, and when none is: a program must not end while it waits for an answer. */
  readonly onQuestions?: ((isOpen: boolean) => void) | undefined;
}

/** An agent that was called. Agents that nobody uses any more are not kept. */
interface KnownAgent {
  readonly agent: WeakRef<AgentBase>;
  readonly runId: string;
  readonly facts: AgentFacts;
  /** Whether tool calls were pending when last told. */
  hadPending: boolean;
  /** Start of the message with which it was called last. */
  about: string;
}

interface OpenQuestion {
  readonly runId: string;
  readonly facts: QuestionFacts;
  readonly structuredModel: UserInputRequest['structuredModel'];
  readonly answer: (data: UserInputData) => void;
  readonly end: (reason: unknown) => void;
}

type Outcome = Omit<CommandResult, 'program' | 'id'>;

const MAX_AGENTS = 1000;
const MAX_UNSENT_INPUTS = 1000;
const MAX_PARTS = 20_000;
const MAX_ABOUT_CHARS = 1000;
/** Time between the end of a run and the reading of its agent, outside of the run. */
const INSIDE_DELAY_MS = 50;
/** Memories with more messages are read only on request. */
const MAX_UNASKED_MSGS = 300;

/**
 * A program as the Studio sees it: turns agent calls, events, prompts and questions into items, and carries out commands. Works with any
 * connection: `send` takes the items, `run` takes the commands.
 */
export class StudioProgram implements ProgramObserver {
  readonly #options: StudioProgramOptions;
  readonly #stopObserving: () => void;
  readonly #runs = new Map<string, RunInfo>();
  readonly #agents = new Map<string, KnownAgent>();
  /** Inputs of agent calls without an event so far: a refused call has none. */
  readonly #inputs = new Map<string, ObservedCall>();
  readonly #questions = new Map<string, OpenQuestion>();
  readonly #sentParts = new Set<string>();
  readonly #hashes = new WeakMap<object, string>();
  readonly #insidePlanned = new Set<string>();

  constructor(options: StudioProgramOptions) {
    this.#options = options;
    this.#stopObserving = observeProgram(this);
  }

  /** Ends the observation. Open questions end with an error. */
  close(): void {
    this.#stopObserving();
    for (const question of this.#questions.values())
      question.end(new InputEndedError('The connection to the Studio was closed.'));
  }

  /** Tells the Studio of a run before its first event. */
  announceRun(runId: string, { project, name, createdAt }: RunInfo): void {
    if (this.#runs.has(runId)) return;
    const run = { project, name, createdAt };
    this.#runs.set(runId, run);
    this.#send(runId, { kind: 'run', run });
  }

  /** Ids of all runs so far. */
  get runIds(): readonly string[] {
    return [...this.#runs.keys()];
  }

  /** Items about runs, agents, pending tool calls and open questions, for a restarted Studio. */
  openItems(): readonly ProgramItem[] {
    this.#sentParts.clear();
    const items: ProgramItem[] = [...this.#runs].map(([runId, run]) => ({ runId, kind: 'run', run }));
    for (const { runId, facts, agent } of this.#agents.values()) {
      items.push({ runId, kind: 'agent', agent: facts });
      const pending = facts.path.length === 1 ? (agent.deref()?.pendingCalls ?? []) : [];
      if (pending.length > 0) items.push(this.#pendingItem(runId, facts.id, pending));
    }
    for (const { runId, facts } of this.#questions.values())
      items.push({ runId, kind: 'question', question: facts });
    return items;
  }

  /** Makes an agent known before its first call, so that a person can call it. Tells its pending tool calls. */
  addAgent(agent: AgentBase, runId: string): void {
    this.#know({ agent, agentId: agent.id, agentPath: [agent.name] }, runId);
    const known = this.#agents.get(agent.id);
    if (known === undefined || agent.pendingCalls.length === 0) return;
    known.hadPending = true;
    this.#options.send(this.#pendingItem(runId, agent.id, agent.pendingCalls), 0);
  }

  onCall(call: ObservedCall): void {
    const { runId, project, name, createdAt } = getRunConfig();
    if (this.#isIgnored(runId)) return;
    this.announceRun(runId, { project, name, createdAt });
    this.#know(call, runId);
    const known = this.#agents.get(call.agentId);
    if (known !== undefined) known.about = call.msgs.at(-1)?.text.slice(0, MAX_ABOUT_CHARS) ?? '';
    if (this.#inputs.size >= MAX_UNSENT_INPUTS) this.#inputs.delete(firstKey(this.#inputs));
    this.#inputs.set(call.replyId, call);
  }

  onEvent(event: AgentEvent, agent: AgentBase): void {
    const { runId } = getRunConfig();
    if (this.#isIgnored(runId)) return;
    this.#sendInput(runId, event.replyId);
    this.#send(runId, { kind: 'event', event, agentId: agent.id }, sizeOf(event));
    if (event.type === 'run_end') this.#afterRun(runId, agent, event.agentPath.length === 1);
  }

  onPrompt(prompt: ObservedPrompt): void {
    const { runId } = getRunConfig();
    if (this.#isIgnored(runId)) return;
    const { runId: callId, replyId, agentId, agentPath, purpose, modelName } = prompt;
    const parts: Record<string, JsonValue> = {};
    let chars = 0;
    const hashOf = (part: object, toJson: () => JsonValue): string => {
      const known = this.#hashes.get(part);
      if (known !== undefined && this.#sentParts.has(known)) return known;
      const json = toJson();
      const text = JSON.stringify(json);
      const hash = known ?? fingerprint(text) + text.length.toString(36);
      this.#hashes.set(part, hash);
      if (this.#sentParts.has(hash)) return hash;
      parts[hash] = json;
      chars += text.length;
      return hash;
    };
    const messages = prompt.messages.map((msg) => hashOf(msg, () => msg.toJSON()));
    const tools = prompt.tools.map((tool) => hashOf(tool, () => ({ ...tool })));
    const settings = copyJsonObject(
      { ...prompt.generation, ...(prompt.toolChoice !== undefined && { toolChoice: prompt.toolChoice }) },
      'settings',
    );
    const facts = {
      callId,
      replyId,
      agentId,
      agentPath,
      purpose,
      modelName,
      tools,
      messages,
      settings,
      parts,
    };
    if (!this.#send(runId, { kind: 'prompt', prompt: facts }, chars)) return;
    if (this.#sentParts.size > MAX_PARTS) this.#sentParts.clear();
    for (const hash of Object.keys(parts)) this.#sentParts.add(hash);
  }

  /** Asks a person in the Studio. Rejects with the reason of the signal when the question is withdrawn. */
  ask({ agentId, agentName, structuredModel, signal }: UserInputRequest): Promise<UserInputData> {
    const { runId, project, name, createdAt } = getRunConfig();
    this.announceRun(runId, { project, name, createdAt });
    const schema = structuredModel === undefined ? null : toJsonSchema(structuredModel);
    const known = this.#agents.get(agentId);
    const agentPath = known?.facts.path ?? [agentName];
    const about = agentPath.length > 1 && known !== undefined && known.about !== '' && { about: known.about };
    const facts: QuestionFacts = { id: newId(), agentId, agentName, agentPath, ...about, schema };
    return new Promise<UserInputData>((resolve, reject) => {
      let stopWatching = (): void => {};
      const settle = (outcome: string, done: () => void): void => {
        if (!this.#questions.delete(facts.id)) return;
        stopWatching();
        this.#send(runId, { kind: 'question_end', id: facts.id, outcome });
        if (this.#questions.size === 0) this.#options.onQuestions?.(false);
        done();
      };
      this.#questions.set(facts.id, {
        runId,
        facts,
        structuredModel,
        answer: (data) => settle('answered', () => resolve(data)),
        end: (reason) => settle('withdrawn', () => reject(reason)),
      });
      if (this.#questions.size === 1) this.#options.onQuestions?.(true);
      this.#send(runId, { kind: 'question', question: facts });
      stopWatching = whenAborted(signal, (reason) => this.#questions.get(facts.id)?.end(reason));
    });
  }

  /** Carries out a command. Never rejects. */
  async run(command: ProgramCommand): Promise<Outcome> {
    try {
      return await this.#run(command);
    } catch (error) {
      return failure(codeOf(error), redactedMessage(error));
    }
  }

  async #run(command: ProgramCommand): Promise<Outcome> {
    if (command.type === 'answer') return this.#answer(command);
    const known = this.#agents.get(command.agentId);
    const agent = known?.agent.deref();
    if (known === undefined || agent === undefined) return failure('gone', 'The program has no such agent.');
    switch (command.type) {
      case 'send':
        if (agent.isRunning) return failure('busy', `${agent.name} answers another message.`);
        if (agent.pendingCalls.length > 0)
          return failure('busy', `${agent.name} waits for a decision: decide first.`);
        return this.#call(agent, known.runId, [userMsg(command.content)], {});
      case 'decide':
        if (agent.isRunning) return failure('busy', `${agent.name} is running.`);
        return this.#call(agent, known.runId, [], {
          decisions: [command.decision as JsonObject & PendingDecision],
        });
      case 'interrupt': {
        const msgs = command.content === undefined ? [] : [userMsg(command.content)];
        const wasRunning = agent.isRunning;
        void agent.interrupt(msgs);
        return wasRunning ? { ok: true } : failure('gone', `${agent.name} is not running.`);
      }
      case 'steer':
        return agent.steer(userMsg(command.content))
          ? { ok: true }
          : failure('gone', `${agent.name} is not running.`);
      case 'follow_up':
        return agent.followUp(userMsg(command.content))
          ? { ok: true }
          : failure('gone', `${agent.name} is not running.`);
      case 'inside':
        this.#send(known.runId, { kind: 'inside', inside: await readInside(agent) });
        return { ok: true };
    }
  }

  /** Starts an agent call and resolves when it is accepted: at its first event, or at its end. */
  async #call(agent: AgentBase, runId: string, msgs: readonly Msg[], options: CallOptions): Promise<Outcome> {
    const { callAgent = (one, input, how) => one.call(input, how) } = this.#options;
    let stopListening = (): void => {};
    const accepted = new Promise<Outcome>((resolve) => {
      stopListening = agent.on('*', () => resolve({ ok: true }));
    });
    const run = this.#runs.get(runId);
    const ended = withRunConfig({ runId, ...(run && { project: run.project, name: run.name }) }, () =>
      callAgent(agent, msgs, { ...options, lifetime: 'detached' }, runId),
    ).then(
      (): Outcome => ({ ok: true }),
      (error: unknown): Outcome => failure(codeOf(error), redactedMessage(error)),
    );
    return Promise.race([accepted, ended]).finally(stopListening);
  }

  async #answer({ questionId, content, structured }: ProgramCommand & { type: 'answer' }): Promise<Outcome> {
    const question = this.#questions.get(questionId);
    if (question === undefined) return failure('gone', 'Nobody waits for this answer any more.');
    const { structuredModel } = question;
    if (structuredModel === undefined) {
      question.answer({ content });
      return { ok: true };
    }
    const checked = await validateWith(structuredModel, structured ?? {});
    if (!checked.ok) {
      return { ...failure('invalid', 'The answer does not fit.'), problems: fieldProblems(checked.problems) };
    }
    question.answer({ content, structured: copyJsonObject(checked.value, 'the structured answer') });
    return { ok: true };
  }

  #know(
    { agent, agentId, agentPath }: Pick<ObservedCall, 'agent' | 'agentId' | 'agentPath'>,
    runId: string,
  ): void {
    const { hubs } = agent;
    const known = this.#agents.get(agentId);
    if (known?.runId === runId && known.facts.hubs.join() === hubs.join()) return;
    if (known === undefined && this.#agents.size >= MAX_AGENTS) this.#agents.delete(firstKey(this.#agents));
    const modelName = modelNameOf(agent);
    const facts: AgentFacts = {
      id: agentId,
      name: agent.name,
      className: agent.constructor.name,
      path: agentPath,
      hubs,
      hubNames: Object.fromEntries(hubs.map((hub) => [hub, agent.hubName(hub)])),
      ...(modelName !== undefined && { modelName }),
    };
    this.#agents.set(agentId, {
      agent: new WeakRef(agent),
      runId,
      facts,
      hadPending: known?.hadPending ?? false,
      about: known?.about ?? '',
    });
    this.#send(runId, { kind: 'agent', agent: facts });
  }

  #sendInput(runId: string, replyId: string): void {
    const call = this.#inputs.get(replyId);
    if (call === undefined) return;
    this.#inputs.delete(replyId);
    const { runId: callId, agentId, agentPath, toolCallId, msgs } = call;
    const messages = msgs.map((msg) => msg.toJSON());
    const chars = messages.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0);
    const input = { callId, replyId, agentId, agentPath, messages, ...(toolCallId && { toolCallId }) };
    this.#send(runId, { kind: 'input', input }, chars);
  }

  /** Tells which tool calls are pending, and plans to read the agent. */
  #afterRun(runId: string, agent: AgentBase, isRoot: boolean): void {
    const known = this.#agents.get(agent.id);
    const pending = isRoot ? agent.pendingCalls : [];
    if (known !== undefined && (pending.length > 0 || known.hadPending)) {
      known.hadPending = pending.length > 0;
      const item = this.#pendingItem(runId, agent.id, pending);
      this.#options.send(item, JSON.stringify(item).length);
    }
    if (this.#insidePlanned.has(agent.id)) return;
    this.#insidePlanned.add(agent.id);
    startTimer(INSIDE_DELAY_MS, () => {
      this.#insidePlanned.delete(agent.id);
      void this.#readUnasked(runId, agent);
    });
  }

  async #readUnasked(runId: string, agent: AgentBase): Promise<void> {
    try {
      const { memory } = agent as { memory?: { size?: () => Promise<number> } };
      if (((await memory?.size?.()) ?? 0) > MAX_UNASKED_MSGS) return;
      const inside = await readInside(agent);
      this.#send(runId, { kind: 'inside', inside }, JSON.stringify(inside.data).length);
    } catch {
      // an agent that can not be read is not shown
    }
  }

  #pendingItem(runId: string, agentId: string, pending: AgentBase['pendingCalls']): ProgramItem {
    const schemas: Record<string, JsonValue> = {};
    for (const { agentPath, call } of pending) {
      const schema = toolSchemaOf(this.#agentAt(agentPath), call.name);
      if (schema !== undefined) schemas[call.name] = schema;
    }
    return { runId, kind: 'pending', agentId, pending, schemas };
  }

  #agentAt(path: readonly string[]): AgentBase | undefined {
    const wanted = path.join('/');
    const found = [...this.#agents.values()].findLast(({ facts }) => facts.path.join('/') === wanted);
    return found?.agent.deref();
  }

  #isIgnored(runId: string): boolean {
    return this.#options.isIgnored?.(runId) ?? false;
  }

  #send(runId: string, body: ProgramItemBody, chars = 0): boolean {
    return this.#options.send({ runId, ...body }, chars);
  }
}

function userMsg(content: string | readonly unknown[]): Msg {
  return Msg.user(content as Msg['content'], { name: 'user' });
}

function failure(code: CommandFailure, message: string): Outcome {
  return { ok: false, code, message };
}

const CODES: Partial<Record<ErrorCode, CommandFailure>> = {
  agent_busy: 'busy',
  pending_calls: 'busy',
  decision_refused: 'gone',
  invalid_msg: 'invalid',
};

function codeOf(error: unknown): CommandFailure {
  if (AgentBusyError.isInstance(error)) return 'busy';
  return (TroupeError.isInstance(error) ? CODES[error.code] : undefined) ?? 'failed';
}

function firstKey<Key>(map: ReadonlyMap<Key, unknown>): Key {
  return map.keys().next().value as Key;
}

/** Characters of an event that can be long; deltas are counted by the buffer. */
function sizeOf(event: AgentEvent): number {
  switch (event.type) {
    case 'tool_chunk':
    case 'tool_result':
      return outputSize(event.result.output);
    case 'block_end':
      return event.block === undefined ? 0 : JSON.stringify(event.block).length;
    case 'run_end':
      return event.msg === undefined ? 0 : outputSize(event.msg.content);
    default:
      return 0;
  }
}

function outputSize(content: string | readonly unknown[]): number {
  return typeof content === 'string' ? content.length : JSON.stringify(content).length;
}
