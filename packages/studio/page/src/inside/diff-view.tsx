import { diffLines, diffWordsWithSpace } from 'diff';
import { memo, useMemo, type ReactNode } from 'react';
import type { JsonValue } from 'troupe';

import type { PromptChange, PromptDiff } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { formatCount } from '../parts/format.ts';
import { Part } from './prompt-panel.tsx';

/** Longer texts are compared by lines alone. */
const MAX_WORDS = 4000;
/** Lines around a change. */
const CONTEXT = 2;

/** The difference of two prompts, part by part. */
export function PromptDiffView({
  changes,
  settings,
}: {
  changes: readonly PromptChange[];
  settings?: PromptDiff['settings'];
}) {
  const t = useText();
  return (
    <>
      <ol className="parts">
        {changes.map((change, index) => (
          <li key={index}>
            <Change change={change} />
          </li>
        ))}
      </ol>
      {settings !== undefined && Object.keys(settings).length > 0 && (
        <>
          <h3>{t.requestSettings}</h3>
          <table className="plain">
            <tbody>
              {Object.entries(settings).map(([name, [before, after]]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="removed">{shown(before)}</td>
                  <td className="added">{shown(after)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </>
  );
}

function shown(value: JsonValue | null): string {
  return value === null ? '–' : JSON.stringify(value);
}

function Change({ change }: { change: PromptChange }): ReactNode {
  const t = useText();
  switch (change.type) {
    case 'same':
      return <p className="part-same">{t.sameParts(change.count, formatCount(change.tokens))}</p>;
    case 'added':
      return <Part part={change.part} sign="+" />;
    case 'removed':
      return <Part part={change.part} sign="−" />;
    case 'changed':
      return (
        <details className="part" data-sign="~" open>
          <summary>
            <span className="part-sign">~</span>
            <span className="part-kind">{t.partKind[change.after.kind]}</span>
            <span className="meta">
              {formatCount(change.before.tokens)} → {formatCount(change.after.tokens)}
            </span>
          </summary>
          <TextDiff before={change.before.text} after={change.after.text} />
        </details>
      );
  }
}

/** Difference of two texts by lines, with the words marked inside of changed lines. */
export const TextDiff = memo(function TextDiff({ before, after }: { before: string; after: string }) {
  const t = useText();
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  return (
    <div className="diff" tabIndex={0} role="group" aria-label={t.difference}>
      {lines.map((part, index) => {
        const next = lines[index + 1];
        const previous = lines[index - 1];
        if (part.added && previous?.removed === true)
          return <Lines key={index} sign="+" text={marked(previous.value, part.value, 'added')} />;
        if (part.removed && next?.added === true)
          return <Lines key={index} sign="−" text={marked(part.value, next.value, 'removed')} />;
        if (part.added) return <Lines key={index} sign="+" text={part.value} />;
        if (part.removed) return <Lines key={index} sign="−" text={part.value} />;
        return (
          <Same key={index} text={part.value} isFirst={index === 0} isLast={index === lines.length - 1} />
        );
      })}
    </div>
  );
});

function Lines({ sign, text }: { sign: '+' | '−'; text: ReactNode }) {
  return (
    <div className="diff-lines" data-sign={sign}>
      <span className="diff-sign" aria-hidden="true">
        {sign}
      </span>
      <pre>{text}</pre>
    </div>
  );
}

function marked(before: string, after: string, side: 'added' | 'removed'): ReactNode {
  const text = side === 'added' ? after : before;
  if (before.length + after.length > MAX_WORDS) return text;
  return diffWordsWithSpace(before, after)
    .filter((part) => (side === 'added' ? !part.removed : !part.added))
    .map((part, index) => (part[side] ? <mark key={index}>{part.value}</mark> : part.value));
}

/** Lines that are the same, of which only the ones beside a change are shown. */
function Same({ text, isFirst, isLast }: { text: string; isFirst: boolean; isLast: boolean }) {
  const t = useText();
  const lines = text.replace(/\n$/, '').split('\n');
  const head = isFirst ? [] : lines.slice(0, CONTEXT);
  const tail = isLast ? [] : lines.slice(Math.max(head.length, lines.length - CONTEXT));
  const hidden = lines.length - head.length - tail.length;
  if (hidden <= 1) return <pre className="diff-same">{lines.join('\n')}</pre>;
  return (
    <>
      {head.length > 0 && <pre className="diff-same">{head.join('\n')}</pre>}
      <p className="part-same">{t.sameLines(hidden)}</p>
      {tail.length > 0 && <pre className="diff-same">{tail.join('\n')}</pre>}
    </>
  );
}
