import type { Session } from '../session/session.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { SESSION_CASES } from './session-cases.ts';

/** Opens the sessions that are kept in one place, as another program would. */
export type OpenSession = () => Session | Promise<Session>;

/**
 * The cases that every session has to pass, for any test runner:
 * `for (const { name, run } of sessionContract(makePlace)) test(name, run)`.
 * @param makePlace makes an empty place for each case, and gives what opens it. What is opened is closed in the end
 */
export function sessionContract(
  makePlace: () => OpenSession | Promise<OpenSession>,
): readonly ContractCase[] {
  return SESSION_CASES.map(({ name, run }) => ({
    name,
    run: async () => {
      const open = await makePlace();
      const opened: Session[] = [];
      try {
        await run(async () => {
          const session = await open();
          opened.push(session);
          return session;
        });
      } finally {
        for (const session of opened) await session.close();
      }
    },
  }));
}
