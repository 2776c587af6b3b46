import { Writable } from 'node:stream';

export interface GuardedStdout {
  /** The real standard output. */
  readonly stdout: Writable;
  /** Lets everybody write to it again. */
  readonly release: () => void;
}

/** Keeps standard output for one writer. What others print goes to standard error, where it does no harm. */
export function guardStdout(): GuardedStdout {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    stdout: new Writable({
      write: (chunk: Buffer, _encoding, done) => void write(chunk, (error) => done(error)),
    }),
    release: () => {
      stdout.write = write;
    },
  };
}
