import { useState, type KeyboardEvent } from 'react';

import { useText } from '../i18n/use-text.ts';
import { Dialog } from '../parts/dialog.tsx';
import { RunStatus } from '../parts/status.tsx';
import { goTo } from '../route.ts';
import { useRuns } from './queries.ts';

const MAX = 12;

/** Finds runs by name, agent and the text of messages, and goes to views. */
export function Finder({ onClose }: { onClose: () => void }) {
  const t = useText();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const runs = useRuns({ q: text || undefined, limit: MAX });
  const views = (
    [
      [t.now, []],
      [t.runs, ['runs']],
      [t.sessions, ['sessions']],
      [t.traces, ['traces']],
      [t.charts, ['charts']],
      [t.settings, ['settings']],
    ] as const
  ).filter(([name]) => text !== '' && name.toLowerCase().includes(text.toLowerCase()));
  const found: { readonly key: string; readonly path: readonly string[]; readonly label: React.ReactNode }[] =
    [
      ...views.map(([name, path]) => ({ key: `view-${name}`, path, label: name })),
      ...(runs.data?.runs ?? []).map((run) => ({
        key: run.id,
        path: ['runs', run.id],
        label: (
          <>
            <span>{run.name}</span> <RunStatus status={run.status} />{' '}
            <span className="sub">{run.preview}</span>
          </>
        ),
      })),
    ];
  const go = (path: readonly string[]): void => {
    onClose();
    goTo(path);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((before) => Math.max(0, Math.min(found.length - 1, before + step)));
    else if (event.key !== 'Enter') return;
    else if (found[at] !== undefined) go(found[at].path);
    event.preventDefault();
  };
  return (
    <Dialog title={t.find} onClose={onClose} className="finder">
      <input
        type="search"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="finder-list"
        aria-activedescendant={found[at] === undefined ? undefined : `finder-${at}`}
        aria-label={t.find}
        placeholder={t.findWhat}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="finder-list" role="listbox" aria-label={t.find}>
        {found.map(({ key, path, label }, index) => (
          <li
            key={key}
            id={`finder-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(path)}
          >
            {label}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="sub">{t.noMatch}</p>}
    </Dialog>
  );
}
