import { memo } from 'react';
import type { ContentBlock } from 'troupe';

import type { ActionRecord, Decision } from '../../../src/protocol.ts';
import { useText, type Dictionary } from '../i18n/use-text.ts';
import { useStore } from '../live/store.ts';
import type { Notice } from '../live/tape-fold.ts';
import { formatClock, formatCount } from '../parts/format.ts';
import { WINDOW_ID } from '../server/window-id.ts';
import { settings } from '../settings.ts';

const BAD: readonly Notice['kind'][] = ['error', 'gap', 'dropped'];

/** A line of the conversation that is no message: a stop, an error, a compression, missing entries. */
export const NoticeLine = memo(function NoticeLine({ notice }: { notice: Notice }) {
  const t = useText();
  const { language } = useStore(settings);
  const isBad = BAD.includes(notice.kind) || (notice.kind === 'program' && notice.state === 'lost');
  return (
    <div className="notice" data-bad={isBad} data-kind={notice.kind}>
      <span>{textOf(notice, t)}</span>
      <time dateTime={notice.at}>{notice.at !== '' && formatClock(notice.at, language)}</time>
    </div>
  );
});

function textOf(notice: Notice, t: Dictionary): string {
  switch (notice.kind) {
    case 'action': {
      const { type, content, windowId, decision } = notice.action;
      const who = windowId === WINDOW_ID ? t.you : t.somebody;
      const said = plain(content) || saidBy(decision);
      return said === '' ? actText(type, who, decision, t) : `${actText(type, who, decision, t)}: ${said}`;
    }
    case 'error':
      return `✕ ${notice.agentPath.join(' › ')}: ${notice.error.message}`;
    case 'compression':
      return t.compressed(
        notice.agentPath.join(' › '),
        notice.count,
        formatCount(notice.before),
        notice.after === undefined ? '?' : formatCount(notice.after),
      );
    case 'dropped':
      return t.droppedEntries(notice.count);
    case 'gap':
      return t.missingEntries(notice.from, notice.to);
    case 'program':
      return notice.state === 'lost' ? t.programLost(notice.reason ?? '') : t.programEnded;
    case 'ended':
      return t.callEnded(notice.agentPath.join(' › '), t.callStatus[notice.status]);
  }
}

function actText(
  type: ActionRecord['type'],
  who: string,
  decision: Decision | undefined,
  t: Dictionary,
): string {
  if (type !== 'decide' || decision === undefined) return t.acted[type](who);
  return decision.verdict === 'answer' ? t.acted.answer(who) : t.decided(who, t.verdict[decision.verdict]);
}

/** Words of a decision: the reason of a refusal, or an answer that is text. */
function saidBy(decision: Decision | undefined): string {
  if (decision?.verdict === 'deny') return decision.reason ?? '';
  if (decision?.verdict !== 'answer') return '';
  const { answer } = decision;
  if (typeof answer === 'string') return answer;
  return Array.isArray(answer) ? answer.join(', ') : '';
}

function plain(content: string | readonly ContentBlock[] | undefined): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' ');
}
