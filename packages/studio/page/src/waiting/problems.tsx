import { useEffect, useRef } from 'react';

import type { FieldProblem } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { fieldId } from './schema-form.tsx';

/** Summary of problems, which takes the focus and links to the fields. */
export function Problems({ id, problems }: { id: string; problems: readonly FieldProblem[] }) {
  const t = useText();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (problems.length > 0) ref.current?.focus();
  }, [problems]);
  if (problems.length === 0) return null;
  return (
    <div className="problems" ref={ref} tabIndex={-1} role="alert">
      <p>{t.problems(problems.length)}</p>
      <ul>
        {problems.map(({ path, message }, index) => (
          <li key={index}>
            <button
              type="button"
              className="link"
              onClick={() => document.getElementById(fieldId('field', [id, ...path]))?.focus()}
            >
              {path.join('.') || '–'}
            </button>
            : {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
