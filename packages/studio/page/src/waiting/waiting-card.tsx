import type { ReactNode } from 'react';

import type { Waiting } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import { formatAgo, useNow } from '../parts/format.ts';
import { WINDOW_ID } from '../server/window-id.ts';
import { settings } from '../settings.ts';
import { hrefOf } from '../route.ts';
import { Approval } from './approval.tsx';
import { ToolQuestion } from './tool-question.tsx';
import { UserQuestion } from './user-question.tsx';

interface CardProps {
  readonly waiting: Waiting;
  /** Link to the run, outside of the run's page. */
  readonly hasRunLink?: boolean;
  /** Position among all that wait, such as `1 of 3`. */
  readonly position?: ReactNode;
}

/** A question or an approval that waits for a person. Shows the innermost tool with its arguments. Folder `waiting`: start here. */
export function WaitingCard({ waiting, hasRunLink = false, position }: CardProps) {
  const t = useText();
  const { language } = useStore(settings);
  const now = useNow(5000);
  const isOpen = waiting.state === 'waiting';
  return (
    <section
      className="card"
      data-state={waiting.state}
      aria-label={t.waitsFor(waiting.agentPath.join(' › '))}
    >
      <header className="card-head">
        <span className="card-sign" aria-hidden="true">
          ◆
        </span>
        <span className="card-path">{waiting.agentPath.join(' › ')}</span>
        {hasRunLink && <a href={hrefOf(['runs', waiting.runId])}>{waiting.runName}</a>}
        {position}
        <span className="meta">{formatAgo(waiting.askedAt, now, language)}</span>
      </header>
      <Body key={waiting.id} waiting={waiting} />
      {!isOpen && <p className="card-outcome">{outcomeOf(waiting, t)}</p>}
    </section>
  );
}

function Body({ waiting }: { waiting: Waiting }) {
  if (waiting.kind === 'question') return <UserQuestion waiting={waiting} />;
  const { question } = waiting.pending;
  if (question !== undefined) return <ToolQuestion waiting={waiting} question={question} />;
  return <Approval waiting={waiting} />;
}

function outcomeOf(waiting: Waiting, t: ReturnType<typeof useText>): string {
  if (waiting.state === 'sent') return t.sending;
  if (waiting.state === 'gone') return t.noLongerWaiting;
  const outcome = waiting.outcome ?? '';
  const word = Object.hasOwn(t.outcome, outcome) ? t.outcome[outcome as keyof typeof t.outcome] : outcome;
  return waiting.decidedBy === WINDOW_ID ? t.decidedHere(word) : t.decidedElsewhere(word);
}
