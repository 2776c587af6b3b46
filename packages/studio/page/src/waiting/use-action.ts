import { useEffect, useState } from 'react';

import type { Action, FieldProblem, Waiting } from '../../../src/protocol.ts';
import { act } from '../server/actions.ts';
import { messageOf, RequestError } from '../server/request.ts';

/** The buttons are off in this time after the card appears, so that nobody approves by accident. */
const GUARD_MS = 400;

/** Sends a decision or an answer; the state of the card then comes from the server. */
export function useAction(waiting: Waiting): {
  readonly isSending: boolean;
  readonly problem: string | undefined;
  readonly problems: readonly FieldProblem[];
  readonly perform: (action: Action) => Promise<void>;
} {
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const perform = async (action: Action): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    setProblems([]);
    try {
      await act(waiting.runId, action);
    } catch (error) {
      setProblem(messageOf(error));
      if (error instanceof RequestError) setProblems(error.problems);
      setSending(false);
    }
  };
  useEffect(() => setSending(false), [waiting.state]);
  return { isSending: isSending || waiting.state === 'sent', problem, problems, perform };
}

/** True when a card has been visible long enough to be decided. */
export function useGuard(): boolean {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setReady(true), GUARD_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return isReady;
}
