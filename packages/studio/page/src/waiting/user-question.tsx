import { MessageCircleQuestion } from 'lucide-react';
import { useId, useMemo, useState } from 'react';
import type { JsonObject, JsonValue } from 'troupe';

import type { Action, QuestionWaiting } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { fieldOf, initialValue, isObject } from './form-field.ts';
import { Problems } from './problems.tsx';
import { SchemaForm } from './schema-form.tsx';
import { sendOnEnter } from './send-on-enter.ts';
import { useAction } from './use-action.ts';

/** A question of a `UserAgent`: an answer in words, and a form if it wants data. */
export function UserQuestion({ waiting }: { waiting: QuestionWaiting }) {
  const t = useText();
  const { isSending, problem, problems, perform } = useAction(waiting);
  const field = useMemo(
    () => (waiting.schema === null ? undefined : fieldOf(waiting.schema)),
    [waiting.schema],
  );
  const [value, setValue] = useState<JsonValue | undefined>(() => field && initialValue(field));
  const [text, setText] = useState('');
  const id = useId();
  const canAnswer = waiting.state === 'waiting' && !isSending;
  const structured: JsonObject | undefined = isObject(value) ? value : undefined;
  const answer = (): void => {
    if (!canAnswer) return;
    const action: Action = {
      type: 'answer',
      id: waiting.id,
      content: text,
      ...(structured && { structured }),
    };
    void perform(action);
  };
  return (
    <form
      className="question"
      noValidate // the server checks the answer, and names every field at once
      onSubmit={(event) => {
        event.preventDefault();
        answer();
      }}
    >
      <p className="card-tool">
        <MessageCircleQuestion size={16} aria-hidden />
        <strong>{t.asksYou}</strong>
      </p>
      {waiting.about !== undefined && <p className="card-about">{waiting.about}</p>}
      <Problems id={id} problems={problems} />
      {waiting.state === 'waiting' && (
        <>
          {field !== undefined && (
            <SchemaForm id={id} field={field} value={value} onChange={setValue} problems={problems} />
          )}
          <div className="field">
            <label htmlFor={`${id}-text`}>{field === undefined ? t.yourAnswer : t.yourMessage}</label>
            <textarea
              id={`${id}-text`}
              rows={field === undefined ? 3 : 1}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={sendOnEnter}
            />
          </div>
        </>
      )}
      {problem !== undefined && (
        <p className="card-problem" role="alert">
          ✕ {problem}
        </p>
      )}
      {waiting.state === 'waiting' && (
        <div className="card-actions">
          <button type="submit" className="button primary" disabled={!canAnswer}>
            {t.answer}
          </button>
        </div>
      )}
    </form>
  );
}
