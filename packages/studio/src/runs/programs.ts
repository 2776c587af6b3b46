import { randomBytes } from 'node:crypto';

import type { CommandBody, CommandResult, ProgramCommand, ProgramIdentity, ProgramItem } from 'troupe/studio';

import type { RunHub } from './run-hub.ts';

/** Carries commands to a program. The result comes later, by `takeResult`. */
export type Deliver = (command: ProgramCommand) => void;

/** One connected program. */
interface Program {
  readonly runIds: Set<string>;
  lastBatch: number;
  deliver: Deliver | undefined;
  /** Commands for a program that is about to connect, or to connect again. */
  readonly queue: ProgramCommand[];
  /** Cancels the timer after which the program counts as lost. */
  stopTimer: () => void;
}

interface OpenCommand {
  readonly programId: string;
  readonly settle: (result: CommandResult) => void;
  readonly stopTimer: () => void;
}

export interface ProgramsOptions {
  readonly startTimer: (ms: number, callback: () => void) => () => void;
  /** Time without a connection after which a program is lost. */
  readonly lostAfterMs: number;
  /** Time in which a program answers a command. */
  readonly commandTimeoutMs: number;
}

/** Connected programs, and the commands on their way. */
export class Programs {
  readonly #hub: RunHub;
  readonly #options: ProgramsOptions;
  readonly #programs = new Map<string, Program>();
  readonly #commands = new Map<string, OpenCommand>();
  #isClosed = false;

  constructor(hub: RunHub, options: ProgramsOptions) {
    this.#hub = hub;
    this.#options = options;
  }

  /** Takes a batch. @returns true if this program is not known, because the Studio was restarted */
  takeBatch(
    identity: ProgramIdentity,
    number: number,
    dropped: number,
    items: readonly ProgramItem[],
  ): boolean {
    const isUnknown = !this.#programs.has(identity.id);
    const program = this.#program(identity.id);
    if (number <= program.lastBatch && !isUnknown) return false; // sent again
    this.#hub.ingest(identity, items, dropped);
    program.lastBatch = number;
    const fresh: string[] = [];
    for (const { runId } of items) {
      if (program.runIds.has(runId) || this.#hub.run(runId) === undefined) continue;
      program.runIds.add(runId);
      fresh.push(runId);
    }
    if (fresh.length > 0) this.#hub.setConnected(fresh, true);
    if (program.deliver === undefined) this.#startLostTimer(identity.id, program);
    return isUnknown;
  }

  /** Connects the commands of a program. The returned function tells that the connection is gone. */
  connect(programId: string, deliver: Deliver): () => void {
    const program = this.#program(programId);
    program.stopTimer();
    program.deliver = deliver;
    for (const command of program.queue.splice(0)) if (this.#commands.has(command.id)) deliver(command);
    this.#hub.setConnected(program.runIds, true);
    return () => {
      if (program.deliver !== deliver) return;
      program.deliver = undefined;
      this.#startLostTimer(programId, program);
    };
  }

  /** Sends a command to the program of a run and waits for its result. */
  command(runId: string, body: CommandBody): Promise<CommandResult> {
    const having = [...this.#programs].filter(([, { runIds }]) => runIds.has(runId));
    const found = having.find(([, { deliver }]) => deliver !== undefined) ?? having.at(-1);
    const id = randomBytes(12).toString('base64url');
    if (found === undefined)
      return Promise.resolve({
        program: '',
        id,
        ok: false,
        code: 'gone',
        message: 'The program is not connected.',
      });
    const [programId, { deliver, queue }] = found;
    return new Promise((resolve) => {
      const settle = (result: CommandResult): void => {
        if (!this.#commands.delete(id)) return;
        stopTimer();
        resolve(result);
      };
      const fail = (code: 'gone' | 'timeout', message: string): void =>
        settle({ program: programId, id, ok: false, code: code === 'timeout' ? 'failed' : code, message });
      const stopTimer = this.#options.startTimer(this.#options.commandTimeoutMs, () =>
        fail('timeout', 'The program did not answer in time.'),
      );
      this.#commands.set(id, { programId, settle, stopTimer });
      if (deliver === undefined) queue.push({ id, runId, ...body });
      else deliver({ id, runId, ...body });
    });
  }

  takeResult(result: CommandResult): void {
    const open = this.#commands.get(result.id);
    if (open?.programId === result.program) open.settle(result);
  }

  /** Forgets all programs, without marking their runs as lost: at the end of the Studio. */
  close(): void {
    this.#isClosed = true;
    for (const { stopTimer } of this.#programs.values()) stopTimer();
    for (const { stopTimer } of this.#commands.values()) stopTimer();
    this.#programs.clear();
  }

  #program(id: string): Program {
    const known = this.#programs.get(id);
    if (known !== undefined) return known;
    const program: Program = {
      runIds: new Set(),
      lastBatch: 0,
      deliver: undefined,
      queue: [],
      stopTimer: () => {},
    };
    this.#programs.set(id, program);
    return program;
  }

  #startLostTimer(id: string, program: Program): void {
    program.stopTimer();
    if (this.#isClosed) return; // connections end after the Studio, and its database is closed by then
    program.stopTimer = this.#options.startTimer(this.#options.lostAfterMs, () => {
      this.#programs.delete(id);
      for (const command of this.#commands.values())
        if (command.programId === id)
          command.settle({ program: id, id: '', ok: false, code: 'gone', message: 'The program has left.' });
      this.#hub.setConnected(program.runIds, false, 'the connection was lost');
    });
  }
}
