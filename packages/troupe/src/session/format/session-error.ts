import { messageOf, TroupeError, type ErrorCode } from '../../errors.ts';
import { keyName, type CheckedKey } from './session-key.ts';

/** A session could not be saved, loaded, listed or deleted. What was saved before is still there. */
export class SessionError extends TroupeError {
  override readonly name: string = 'SessionError';

  constructor(problem: string, options?: ErrorOptions, code: ErrorCode = 'store_failed') {
    super(code, problem, options);
  }

  /** What a store threw, as an error of this kind. */
  static from(thrown: unknown, what: string): TroupeError {
    if (TroupeError.isInstance(thrown)) return thrown;
    return new SessionError(`${what} failed: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** Somebody else has saved the session meanwhile, or it was never loaded. Nothing was saved. */
export class SessionConflictError extends SessionError {
  override readonly name = 'SessionConflictError';

  constructor(key: CheckedKey, problem = 'was saved by somebody else, or deleted, since it was loaded') {
    const advice = 'Load it and make the change again, or save with { overwrite: true }.';
    super(`Session ${keyName(key)} ${problem}. ${advice}`, undefined, 'session_conflict');
  }
}

/** There is no such session. */
export class SessionNotFoundError extends SessionError {
  override readonly name = 'SessionNotFoundError';

  constructor(key: CheckedKey, what = 'There is no session') {
    super(`${what} ${keyName(key)}.`, undefined, 'session_not_found');
  }
}

/** What was saved is damaged, or was never a session. It is left as it is. */
export class SessionCorruptError extends SessionError {
  override readonly name = 'SessionCorruptError';

  readonly #problem: string;

  /** @param place what is damaged, and where: a file and an offset, or a row */
  constructor(
    readonly place: string,
    problem: string,
    options?: ErrorOptions,
    advice = 'restorePrevious() goes back to the save before, if there is one.',
  ) {
    super(
      `The saved session is damaged: ${place} ${problem}. Nothing was changed. ${advice}`,
      options,
      'session_corrupt',
    );
    this.#problem = problem;
  }

  /** The same when going back is what has failed. */
  withoutWayBack(): SessionCorruptError {
    const advice = 'This is the save before the last, and there is no older one.';
    return new SessionCorruptError(this.place, this.#problem, { cause: this }, advice);
  }
}

/** The session was saved by a newer version of this library. It is left as it is. */
export class SessionVersionError extends SessionError {
  override readonly name = 'SessionVersionError';

  constructor(place: string, found: number, known: number) {
    super(
      `${place} has format ${found}; this program knows formats up to ${known}. Update it. Nothing was changed.`,
      undefined,
      'session_version',
    );
  }
}
