import type { ChildProcess } from 'node:child_process';

const DEADLY_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The processes whose groups go when this program goes. The program is listened to only while there are any. */
const groups = new Set<ChildProcess>();

/** Sends a signal to a process that leads a group, and to whatever it has started. Nobody left is no error. */
export function signalGroup(leader: ChildProcess, signal: NodeJS.Signals): void {
  if (leader.pid === undefined) return;
  try {
    if (process.platform === 'win32') leader.kill(signal);
    else process.kill(-leader.pid, signal);
  } catch {
    // All of them are gone.
  }
}

/** Has a group end with this program, however that ends, short of SIGKILL. The returned function calls that off. */
export function endWithProgram(leader: ChildProcess): () => void {
  if (groups.size === 0) listen();
  groups.add(leader);
  return () => {
    if (groups.delete(leader) && groups.size === 0) stopListening();
  };
}

function listen(): void {
  process.on('exit', endAll);
  // First in line: a `once` of somebody else is gone from the list as soon as it was called.
  for (const signal of DEADLY_SIGNALS) process.prependListener(signal, dieOf);
}

function stopListening(): void {
  process.off('exit', endAll);
  for (const signal of DEADLY_SIGNALS) process.off(signal, dieOf);
}

function endAll(): void {
  for (const leader of groups) signalGroup(leader, 'SIGKILL');
}

/** Dies as a program without listeners does. If others listen, what happens is up to them. */
function dieOf(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll();
  stopListening();
  process.kill(process.pid, signal);
}
