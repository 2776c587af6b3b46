import type { ChildProcess } from 'node:child_process';

const EXIT_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Leaders of process groups that end with this program. Listeners are attached only while the set is not
 * empty.
 */
const groups = new Set<ChildProcess>();

/** Sends a signal to a process group. Ignores a group that has already ended. */
export function signalGroup(leader: ChildProcess, signal: NodeJS.Signals): void {
  if (leader.pid === undefined) return;
  try {
    if (process.platform === 'win32') leader.kill(signal);
    else process.kill(-leader.pid, signal);
  } catch {
    // The group has already ended.
  }
}

/** Kills a process group when this program ends, except by SIGKILL. The returned function cancels this. */
export function endWithProgram(leader: ChildProcess): () => void {
  if (groups.size === 0) listen();
  groups.add(leader);
  return () => {
    if (groups.delete(leader) && groups.size === 0) stopListening();
  };
}

function listen(): void {
  process.on('exit', endAll);
  // First listener, because a `once` listener of other code would already be removed from the list after its
  // call.
  for (const signal of EXIT_SIGNALS) process.prependListener(signal, exitBySignal);
}

function stopListening(): void {
  process.off('exit', endAll);
  for (const signal of EXIT_SIGNALS) process.off(signal, exitBySignal);
}

function endAll(): void {
  for (const leader of groups) signalGroup(leader, 'SIGKILL');
}

/**
 * Ends the program by the signal as if there were no listener. With other listeners, leaves the decision to
 * them.
 */
function exitBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll();
  stopListening();
  process.kill(process.pid, signal);
}
