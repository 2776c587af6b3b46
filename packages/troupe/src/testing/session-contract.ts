import type { Session } from '../session/session.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { SESSION_CASES } from './cases/session-cases.ts';

/** Opens a session on one store, as another program would. */
export type OpenSession = () => Session | Promise<Session>;

/**
 * Cases that every session has to pass, for any test runner: `for (const { name, run } of
 * sessionContract(makeStore)) test(name, run)`.
 * @param makeStore makes an empty store for each case, and returns a function that opens it. Opened sessions
 * are closed at the end
 */
export function sessionContract(
  makeStore: () => OpenSession | Promise<OpenSession>,
): readonly ContractCase[] {
  return SESSION_CASES.map(({ name, run }) => ({
    name,
    run: async () => {
      const open = await makeStore();
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
