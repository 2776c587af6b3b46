import { describe, test } from 'vitest';
import { sessionContract } from '../testing/session-contract.ts';
import { InMemorySession } from './in-memory-session.ts';

describe('InMemorySession', () => {
  const place = () => {
    const session = new InMemorySession();
    return () => session;
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());
});
