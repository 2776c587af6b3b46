import { Writable } from 'node:stream';

export interface GuardedStdout {
  /** The real standard output. */
  readonly stdout: Writable;
  /** Restores standard output for all writers. */
  readonly release: () => void;
}

/** Reserves standard output for one writer. Output of other code goes to standard error. */
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
