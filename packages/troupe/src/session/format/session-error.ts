import { messageOf, TroupeError, type ErrorCode } from '../../errors.ts';
import { keyName, type CheckedKey } from './session-key.ts';

/** Failed operation on sessions. Earlier saves are unchanged. */
export class SessionError extends TroupeError {
  override readonly name: string = 'SessionError';

  constructor(problem: string, options?: ErrorOptions, code: ErrorCode = 'store_failed') {
    super(code, problem, options);
  }

  /** Wraps an error thrown by a store. */
  static from(thrown: unknown, what: string): TroupeError {
    if (TroupeError.isInstance(thrown)) return thrown;
    return new SessionError(`${what} failed: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** Conflict: another program has saved the session meanwhile, or it was never loaded. Nothing was saved. */
export class SessionConflictError extends SessionError {
  override readonly name = 'SessionConflictError';

  constructor(key: CheckedKey, problem = 'was saved by another program, or deleted, since it was loaded') {
    const advice =
      'Load the session (loadIfExists() at the start of a program) and repeat the change, or save once with { overwrite: true }, such as saveSession({ overwrite: true }). ' +
      'Until then every save fails, also an automatic one.';
    super(`Session ${keyName(key)} ${problem}. ${advice}`, undefined, 'session_conflict');
  }
}

/** Session that does not exist. */
export class SessionNotFoundError extends SessionError {
  override readonly name = 'SessionNotFoundError';

  constructor(key: CheckedKey, what = 'There is no session') {
    super(`${what} ${keyName(key)}.`, undefined, 'session_not_found');
  }
}

/** Damaged or foreign data in place of a session. The data is left unchanged. */
export class SessionCorruptError extends SessionError {
  override readonly name = 'SessionCorruptError';

  readonly #problem: string;

  /** @param location damaged data: a file and an offset, or a row */
  constructor(
    readonly location: string,
    problem: string,
    options?: ErrorOptions,
    advice = 'restorePrevious() restores the previous save, if there is one.',
  ) {
    super(
      `The saved session is damaged: ${location} ${problem}. Nothing was changed. ${advice}`,
      options,
      'session_corrupt',
    );
    this.#problem = problem;
  }

  /** Same error for a failed `restorePrevious`. */
  withoutPrevious(): SessionCorruptError {
    const advice = 'This is the previous save, and there is no older one.';
    return new SessionCorruptError(this.location, this.#problem, { cause: this }, advice);
  }
}

/** Session saved by a newer version of this package. The data is left unchanged. */
export class SessionVersionError extends SessionError {
  override readonly name = 'SessionVersionError';

  constructor(location: string, found: number, known: number) {
    super(
      `${location} has format ${found}; this program knows formats up to ${known}. Update it. Nothing was changed.`,
      undefined,
      'session_version',
    );
  }
}
