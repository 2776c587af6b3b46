import { randomBytes } from 'node:crypto';

import {
  AgentBase,
  Msg,
  SessionManager,
  UserAgent,
  UserInputBase,
  withRunConfig,
  type CallOptions,
  type JsonObject,
  type Session,
  type StepRunner,
  type UserInputData,
  type UserInputRequest,
} from 'troupe';
import { redactKeys, registerLocalStudio, StudioProgram } from 'troupe/studio';

import type {
  BranchRequest,
  ForkPoint,
  MsgJson,
  OfferedAgent,
  ReplayReport,
  SessionFile,
  SessionList,
  StudioRun,
  StudioSession,
} from '../protocol.ts';
import { firstLine, textOf } from '../runs/live-run.ts';
import type { Programs } from '../runs/programs.ts';
import type { RunHub } from '../runs/run-hub.ts';
import { turnsOf, type TurnAbilities } from '../runs/turns.ts';
import { ApiFailure } from '../server/api-failure.ts';
import { isRecord } from '../store/json-text.ts';
import type { StoredTurn } from '../store/studio-store.ts';
import { LocalFeed } from './local-feed.ts';
import { describeOffer, toOffer, type AgentChoice, type OfferedAgents } from './offered-agent.ts';
import { REPLAY_PREFIX, replayTurn } from './replay.ts';
import {
  pack,
  recordedTools,
  recordingSteps,
  toMsgs,
  unpack,
  unpackCall,
  type CallTape,
  type TapeStep,
} from './tape-steps.ts';

export interface ConversationsOptions {
  readonly hub: RunHub;
  readonly programs: Programs;
  readonly agents: OfferedAgents;
  readonly session?: Session | undefined;
  readonly project: string;
  readonly startTimer: (ms: number, callback: () => void) => () => void;
  readonly onProblem: (error: unknown) => void;
}

/** A conversation whose agent is in memory. */
interface OpenConversation {
  readonly agent: AgentBase;
  readonly session: SessionManager | undefined;
  /** Recorded steps for the first call of a branch. */
  recorded?: readonly TapeStep[] | undefined;
}

const MAX_TAPE_ENTRIES = 200_000;
const MAX_NAME_CHARS = 60;
const ALL: RunStatusAbilities = { send: true, stepIn: true, branch: true, replay: true };
type RunStatusAbilities = StudioRun['can'];

/**
 * Conversations with agents in this process: started, continued after a restart from their session, branched from a turn with the state
 * before it, and replayed from their tape. Folder `conversations`: start here.
 */
export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #hub: RunHub;
  readonly #feed: LocalFeed;
  readonly #program: StudioProgram;
  readonly #open = new Map<string, Promise<OpenConversation>>();
  readonly #disconnect: () => void;
  readonly #restoreInput: () => void;
  readonly #unregister: () => void;
  /** Id by which connections of this process know that the Studio sees their agents already. */
  readonly instance = randomBytes(16).toString('base64url');

  constructor(options: ConversationsOptions) {
    this.#options = options;
    this.#hub = options.hub;
    this.#feed = new LocalFeed(options.programs, options.startTimer, options.onProblem);
    this.#program = new StudioProgram({
      send: (item) => {
        this.#feed.add(item);
        return true;
      },
      callAgent: (agent, msgs, how, runId) => this.#call(agent, msgs, how, runId),
      isIgnored: (runId) => runId.startsWith(REPLAY_PREFIX),
    });
    const { id } = this.#feed.identity;
    this.#disconnect = options.programs.connect(id, (command) => {
      void this.#program.run(command).then((outcome) => {
        this.#feed.flush(); // items of the command come before its result
        options.programs.takeResult({ program: id, id: command.id, ...outcome });
      });
    });
    const input = new LocalInput(this.#program);
    this.#restoreInput = UserAgent.overrideClassInputMethod(input);
    this.#unregister = registerLocalStudio(this.instance, input);
  }

  get offered(): readonly OfferedAgent[] {
    return Object.entries(this.#options.agents).map(([key, agent]) => describeOffer(key, agent));
  }

  get hasSessions(): boolean {
    return this.#options.session !== undefined;
  }

  /** Starts a conversation with an offered agent. @throws ApiFailure */
  async start(body: unknown): Promise<StudioRun> {
    const { agent: key, name } = isRecord(body) ? body : {};
    if (typeof key !== 'string') throw new ApiFailure('invalid', 'The key of an agent is missing.');
    const known = this.#runOfSingleAgent(key);
    if (known !== undefined) return known;
    return this.#begin(key, {}, typeof name === 'string' && name.trim() !== '' ? { name: name.trim() } : {});
  }

  /** Makes sure that the agent of a conversation is in memory. @throws ApiFailure */
  async open(runId: string): Promise<void> {
    await this.#opened(runId);
  }

  /** Forgets the agent of a run that is deleted. */
  async forget(runId: string): Promise<void> {
    const open = this.#open.get(runId);
    this.#open.delete(runId);
    if (open === undefined) return;
    const { agent, session } = await open;
    await agent.interrupt();
    await session?.[Symbol.asyncDispose]();
  }

  /** Turns from which a run can be branched or replayed. */
  turnAbilities(runId: string): TurnAbilities {
    const run = this.#hub.run(runId);
    const offer = run?.agentKey === undefined ? undefined : this.#options.agents[run.agentKey];
    if (offer === undefined || offer instanceof AgentBase) return new Map();
    return new Map(
      this.#hub.store
        .turns(runId)
        .map(({ callId, state, steps }) => [
          callId,
          { canBranch: state !== undefined, canReplay: state !== undefined && steps !== undefined },
        ]),
    );
  }

  /**
   * A new run from a turn of another one: same state, and the turn said again. A turn that is a decision is asked again.
   * @throws ApiFailure
   */
  async branch(runId: string, body: unknown): Promise<StudioRun> {
    const request = readBranch(body);
    const { turn, input, agentKey } = this.#turn(runId, request.callId);
    const content = request.content ?? undefined;
    if (input.length === 0 && content !== undefined)
      throw new ApiFailure('invalid', 'This turn is a decision: it takes no message.');
    const msgs = content === undefined ? toMsgs(input).map(renewed) : [Msg.user(content, { name: 'user' })];
    const choice: AgentChoice = {
      ...(request.model !== undefined && { model: request.model }),
      ...(request.toolSet !== undefined && { toolSet: request.toolSet }),
      ...((request.tools ?? 'ask') === 'ask' && { asksBeforeTools: true }),
    };
    const parent = this.#hub.run(runId);
    const name = `${parent?.name ?? 'conversation'} (branch)`;
    const state = turn.state && unpack<JsonObject>(turn.state);
    const run = await this.#begin(agentKey, choice, { name, state, forkOf: { runId, seq: turn.seq } });
    const open = await this.#opened(run.id);
    if (request.tools === 'recorded' && turn.steps !== undefined)
      open.recorded = unpackCall(turn.steps).steps;
    if (msgs.length > 0)
      void this.#inRun(run, () => this.#call(open.agent, msgs, {}, run.id)).catch(() => {}); // told by its events
    return this.#hub.run(run.id) ?? run;
  }

  /** Runs a turn against the present code with recorded answers. @throws ApiFailure */
  async replay(runId: string, body: unknown): Promise<ReplayReport> {
    const { callId } = isRecord(body) ? body : {};
    if (typeof callId !== 'string') throw new ApiFailure('invalid', 'The id of a turn is missing.');
    const { turn, input, agentKey, answer } = this.#turn(runId, callId);
    if (turn.state === undefined || turn.steps === undefined)
      throw new ApiFailure('unsupported', 'The tape of this turn was not kept.');
    const agent = await this.#create(agentKey, {});
    return replayTurn(this.#hub.store, agent, {
      runId,
      callId,
      state: turn.state,
      steps: turn.steps,
      input,
      answer,
    });
  }

  // Sessions

  async sessions(limit: number, cursor: string | undefined): Promise<SessionList> {
    const { session } = this.#options;
    if (session === undefined) return { sessions: [] };
    const { sessions, next } = await session.list({ limit, cursor });
    return {
      sessions: sessions.map(({ session: id, revision, savedAt }) =>
        this.#sessionInfo(id, revision, savedAt),
      ),
      ...(next !== undefined && { next }),
    };
  }

  async resumeSession(id: string): Promise<StudioRun> {
    const run = this.#hub.store.runOfSession(id);
    if (run !== undefined) {
      await this.#opened(run.id);
      return this.#hub.run(run.id) ?? run;
    }
    const { key, state } = await this.#savedState(id);
    return this.#begin(key, {}, { state, sessionId: id });
  }

  async branchSession(id: string): Promise<StudioRun> {
    const { key, state } = await this.#savedState(id);
    const title = this.#hub.store.runOfSession(id)?.name;
    return this.#begin(key, {}, { state, ...(title !== undefined && { name: `${title} (branch)` }) });
  }

  async exportSession(id: string): Promise<SessionFile> {
    const { key, state } = await this.#savedState(id);
    const title = this.#hub.store.runOfSession(id)?.name;
    return {
      format: 'troupe-studio-session',
      version: 1,
      agentKey: key,
      ...(title !== undefined && { title }),
      state,
    };
  }

  async importSession(body: unknown): Promise<StudioSession> {
    const { format, version, state, agentKey, title } = isRecord(body) ? body : {};
    if (format !== 'troupe-studio-session' || version !== 1 || !isRecord(state))
      throw new ApiFailure('invalid', 'This is not an exported session.');
    const key =
      typeof agentKey === 'string' && Object.hasOwn(this.#options.agents, agentKey)
        ? agentKey
        : this.#onlyKey();
    const name = typeof title === 'string' && title !== '' ? { name: title.slice(0, 200) } : {};
    const run = await this.#begin(key, {}, { state: state as JsonObject, ...name });
    const { sessionId = run.id } = run;
    return this.#sessionInfo(sessionId, 1, Date.now());
  }

  async deleteSessions(ids: readonly string[]): Promise<number> {
    const { session } = this.#options;
    if (session === undefined) return 0;
    let deleted = 0;
    for (const id of ids) {
      const run = this.#hub.store.runOfSession(id);
      if (run !== undefined) await this.forget(run.id);
      if (await session.delete({ session: id })) deleted++;
    }
    return deleted;
  }

  /** Interrupts running agents, saves all sessions and closes. */
  async close(): Promise<void> {
    for (const runId of this.#open.keys()) await this.forget(runId).catch(this.#options.onProblem);
    this.#feed.flush();
    this.#restoreInput();
    this.#unregister();
    this.#program.close();
    this.#disconnect();
    await this.#options.session?.close();
  }

  #turn(
    runId: string,
    callId: string,
  ): { turn: StoredTurn; input: readonly MsgJson[]; agentKey: string; answer: string } {
    const run = this.#hub.run(runId);
    const turn = this.#hub.store.turns(runId).find((one) => one.callId === callId);
    if (run?.agentKey === undefined || turn?.state === undefined)
      throw new ApiFailure(
        'unsupported',
        'This turn has no saved state: its agent belongs to another program.',
      );
    const tape = this.#hub.store.entries(runId, turn.seq - 1, Number.MAX_SAFE_INTEGER, MAX_TAPE_ENTRIES);
    const input = turnsOf(tape, new Map()).find((one) => one.callId === callId)?.input ?? [];
    const end = tape.find(
      (entry) =>
        entry.kind === 'event' &&
        entry.event.type === 'run_end' &&
        entry.event.runId === callId &&
        entry.event.agentPath.length === 1,
    );
    const msg = end?.kind === 'event' && end.event.type === 'run_end' ? end.event.msg : undefined;
    return { turn, input, agentKey: run.agentKey, answer: textOf(msg?.content) };
  }

  async #begin(
    key: string,
    choice: AgentChoice,
    {
      name,
      state,
      forkOf,
      sessionId,
    }: { name?: string; state?: JsonObject | undefined; forkOf?: ForkPoint; sessionId?: string },
  ): Promise<StudioRun> {
    const agent = await this.#create(key, choice);
    if (state !== undefined) agent.loadStateDict(state);
    const id = randomBytes(16).toString('hex');
    const session = this.#options.session === undefined ? {} : { sessionId: sessionId ?? id };
    const isMany = !(this.#options.agents[key] instanceof AgentBase);
    this.#hub.change(() => {
      this.#hub.openRun({
        id,
        project: this.#options.project,
        name: name ?? this.#nameOf(key) ?? key,
        source: 'conversation',
        agentKey: key,
        isConnected: true,
        can: { ...ALL, branch: isMany, replay: isMany },
        ...session,
        ...(forkOf && { forkOf }),
      });
      if (forkOf === undefined) return;
      this.#hub.store.copyTape(forkOf.runId, id, forkOf.seq);
      const parent = this.#hub.run(forkOf.runId);
      this.#hub.updateRun(id, {
        lastSeq: forkOf.seq - 1,
        ...(parent?.rootAgent && { rootAgent: parent.rootAgent }),
      });
    });
    const open = this.#connect(id, agent, session.sessionId, state !== undefined);
    this.#open.set(id, open);
    await open;
    return this.#found(id);
  }

  #opened(runId: string): Promise<OpenConversation> {
    const known = this.#open.get(runId);
    if (known !== undefined) return known;
    const opening = this.#reopen(runId);
    this.#open.set(runId, opening);
    opening.catch(() => this.#open.delete(runId));
    return opening;
  }

  /** Makes the agent of a conversation of an earlier start again, with its saved state. */
  async #reopen(runId: string): Promise<OpenConversation> {
    const run = this.#found(runId);
    if (run.source !== 'conversation' || run.agentKey === undefined)
      throw new ApiFailure('unsupported', 'This run belongs to another program.');
    const agent = await this.#create(run.agentKey, {});
    this.#hub.change(() => {
      this.#hub.store.deleteAgents(runId);
      this.#hub.updateRun(runId, { isConnected: true });
      this.#hub.addEntry(runId, { kind: 'program', state: 'connected' });
    });
    return this.#connect(runId, agent, run.sessionId, false);
  }

  /** @param isFresh whether the agent has a state that its session does not have yet */
  async #connect(
    runId: string,
    agent: AgentBase,
    sessionId: string | undefined,
    isFresh: boolean,
  ): Promise<OpenConversation> {
    const run = this.#found(runId);
    const { session } = this.#options;
    let manager: SessionManager | undefined;
    if (session !== undefined && sessionId !== undefined) {
      manager = SessionManager.forSessionId(sessionId).withSession(session).addComponent('agent', agent);
      if (isFresh) await manager.saveSession();
      else await manager.loadIfExists();
      manager.autoSave();
    }
    this.#program.announceRun(runId, { project: run.project, name: run.name, createdAt: run.createdAt });
    this.#program.addAgent(agent, runId);
    this.#feed.flush();
    return { agent, session: manager };
  }

  /** One agent call of a conversation: keeps the state before it and the results of its steps. */
  async #call(agent: AgentBase, msgs: readonly Msg[], options: CallOptions, runId: string): Promise<Msg> {
    const open = await this.#open.get(runId);
    if (open?.agent !== agent) return agent.call(msgs, options);
    this.#nameAfter(runId, msgs);
    const state = pack(agent.stateDict());
    const steps: TapeStep[] = [];
    const { recorded } = open;
    open.recorded = undefined;
    const runStep: StepRunner =
      recorded === undefined ? recordingSteps(agent, steps) : recordedTools(agent, recorded, steps);
    let callId: string | undefined;
    const stopListening = agent.on('reply_start', (event) => {
      if (callId !== undefined) return;
      callId = event.runId;
      this.#feed.flush();
      this.#putTurn(runId, callId, state, undefined);
    });
    try {
      return await agent.call(msgs, { ...options, runStep });
    } finally {
      stopListening();
      this.#feed.flush();
      const tape: CallTape = { decisions: options.decisions ?? [], steps };
      if (callId !== undefined) this.#putTurn(runId, callId, state, pack(tape));
    }
  }

  /** Names a conversation after its first message, unless it has a name of its own. */
  #nameAfter(runId: string, msgs: readonly Msg[]): void {
    const run = this.#hub.run(runId);
    const said = msgs.find(({ role, text }) => role === 'user' && text.trim() !== '');
    if (
      run === undefined ||
      said === undefined ||
      run.messages > 0 ||
      run.name !== this.#nameOf(run.agentKey)
    )
      return;
    this.#hub.change(() =>
      this.#hub.updateRun(runId, { name: firstLine(redactKeys(said.text), MAX_NAME_CHARS) }),
    );
  }

  /** Name of an offered agent. */
  #nameOf(key: string | undefined): string | undefined {
    const offer = key === undefined ? undefined : this.#options.agents[key];
    return offer === undefined ? undefined : (toOffer(offer).name ?? key);
  }

  #putTurn(
    runId: string,
    callId: string,
    state: Uint8Array | undefined,
    steps: Uint8Array | undefined,
  ): void {
    const { store } = this.#hub;
    const last = this.#hub.run(runId)?.lastSeq ?? 0;
    const known = store.turns(runId).find((turn) => turn.callId === callId);
    const input = store
      .lastEntries(runId, last + 1, 50)
      .find((entry) => entry.kind === 'input' && entry.callId === callId);
    this.#hub.change(() =>
      store.putTurn(runId, { callId, seq: known?.seq ?? input?.seq ?? last, state, steps }),
    );
  }

  #inRun<T>({ id, project, name }: StudioRun, body: () => T): T {
    return withRunConfig({ runId: id, project, name }, body);
  }

  async #create(key: string, choice: AgentChoice): Promise<AgentBase> {
    const offer = Object.hasOwn(this.#options.agents, key) ? this.#options.agents[key] : undefined;
    if (offer === undefined) throw new ApiFailure('not_found', 'There is no such agent.');
    const { models = [], toolSets = [] } = toOffer(offer);
    if (choice.model !== undefined && !models.includes(choice.model))
      throw new ApiFailure('invalid', 'There is no such model.');
    if (choice.toolSet !== undefined && !toolSets.includes(choice.toolSet))
      throw new ApiFailure('invalid', 'There is no such set of tools.');
    return toOffer(offer).create(choice);
  }

  /** The open conversation with an agent that the program gave as an object. */
  #runOfSingleAgent(key: string): StudioRun | undefined {
    if (!(this.#options.agents[key] instanceof AgentBase)) return undefined;
    return [...this.#open.keys()].map((id) => this.#hub.run(id)).find((run) => run?.agentKey === key);
  }

  async #savedState(id: string): Promise<{ key: string; state: JsonObject }> {
    const { session } = this.#options;
    const key = this.#hub.store.runOfSession(id)?.agentKey ?? this.#onlyKey();
    if (session === undefined) throw new ApiFailure('unsupported', 'This Studio keeps no sessions.');
    const agent = await this.#create(key, {});
    const manager = SessionManager.forSessionId(id).withSession(session).addComponent('agent', agent);
    if (!(await manager.loadIfExists())) throw new ApiFailure('not_found', 'There is no such session.');
    return { key, state: agent.stateDict() };
  }

  #onlyKey(): string {
    const [key] = Object.keys(this.#options.agents);
    if (key === undefined) throw new ApiFailure('unsupported', 'This Studio has no agents of its own.');
    return key;
  }

  #sessionInfo(id: string, revision: number, savedAt: number): StudioSession {
    const run = this.#hub.store.runOfSession(id);
    return {
      id,
      revision,
      updatedAt: new Date(savedAt).toISOString(),
      ...(run && { runId: run.id, title: run.name }),
      ...(run?.agentKey !== undefined && { agentKey: run.agentKey }),
    };
  }

  #found(runId: string): StudioRun {
    const run = this.#hub.run(runId);
    if (run === undefined) throw new ApiFailure('not_found', 'There is no such run.');
    return run;
  }
}

/** Questions of `UserAgent`s in this process. */
class LocalInput extends UserInputBase {
  readonly #program: StudioProgram;

  constructor(program: StudioProgram) {
    super();
    this.#program = program;
  }

  ask(request: UserInputRequest): Promise<UserInputData> {
    return this.#program.ask(request);
  }
}

/** The same message under a new id: a branch says it again. */
function renewed(msg: Msg): Msg {
  const { id: _id, timestamp: _timestamp, ...rest } = msg.toJSON();
  return Msg.user(msg.content, { name: typeof rest['name'] === 'string' ? rest['name'] : 'user' });
}

function readBranch(body: unknown): BranchRequest {
  const { callId, content, model, toolSet, tools } = isRecord(body) ? body : {};
  if (typeof callId !== 'string') throw new ApiFailure('invalid', 'The id of a turn is missing.');
  try {
    return {
      callId,
      ...(content !== undefined && { content: Msg.user(content as string).content }),
      ...(typeof model === 'string' && { model }),
      ...(typeof toolSet === 'string' && { toolSet }),
      ...((tools === 'run' || tools === 'ask' || tools === 'recorded') && { tools }),
    };
  } catch {
    throw new ApiFailure('invalid', 'The content of the message is not valid.');
  }
}
